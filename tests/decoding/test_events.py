"""Losses that are defined for some hypotheses alone: every method decides among these."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from fsmeu.models import Bernoulli, Markov
from tests.decoding.listing import METHODS, ask, random_model
from tests.grammars.test_events import fscore, matched, stand_apart

# Methods whose conditions event_fscore of short sequences does not satisfy.
NOT_FOR_IT = {"ratios", "chain_ratios", "additive", "ranking"}
FAR = 12  # a tolerance at which no two events are allowed


def allowed(n, tolerance):
    return [z for z in itertools.product((0, 1), repeat=n) if stand_apart(z, tolerance)]


@cache
def cases():
    """Models with a tolerance each, and the expected value of each allowed hypothesis.

    Matchings are those of scipy.
    """
    rng, drawn = np.random.default_rng(1), []
    for n, tolerance in ((1, 1), (3, 2), (5, 0), (5, 1), (5, FAR), (6, 1), (6, 2)):
        case = random_model(rng, (0, 1), n)
        worths = {
            z: math.fsum(
                p * fscore(matched(z, y, tolerance), np.array(z), np.array(y))
                for y, p in case.distribution.items()
                if p
            )
            for z in allowed(n, tolerance)
        }
        drawn.append((case.model, fsmeu.load("event_fscore", tolerance=tolerance), worths))
    return drawn


def check(decision, worths):
    """The value is that of an allowed hypothesis, and the best one if it is called so."""
    value = worths[tuple(decision.labels)]
    assert decision.value == pytest.approx(value, rel=1e-9)
    assert decision.lower - 1e-12 <= max(worths.values()) <= decision.upper + 1e-12
    if decision.exact:
        assert value == pytest.approx(max(worths.values()), rel=1e-9)


def test_decisions_are_best_among_allowed_hypotheses():
    """By every method that takes them, by both engines, the k best, and where more is forbidden."""
    taken = set()
    for model, loss, worths in cases():
        for options in ({}, {"engine": "openfst"}, *({"method": name} for name in METHODS)):
            decision = ask(loss, model, **options)
            if decision is not None:
                taken.add(options.get("method"))
                check(decision, worths)
                assert decision.exact or "method" in options
        few = {z: x for z, x in worths.items() if not any(z[:2])}
        check(fsmeu.decode(loss, model, constraint=". .? & 0* | 0 0 .*"), few)
        several = fsmeu.decode(loss, model, k=40)
        best = sorted(worths.values(), reverse=True)
        assert [one.value for one in several] == pytest.approx(best, rel=1e-9)
        sums = {
            z: model.log_probability(z) - loss(z, [0] * model.n)
            for z in worths
            if model.probability(z) > 0
        }
        augmented = fsmeu.decode(loss, model, augment=[0] * model.n)
        assert augmented.value == pytest.approx(max(sums.values()), rel=1e-9)
        assert tuple(augmented.labels) in sums
    assert taken == {None, *METHODS} - NOT_FOR_IT


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_corpora_are_decided_among_allowed_hypotheses(engine):
    """All pairs of two sentences, counts added up."""
    loss = fsmeu.load("event_fscore", tolerance=1)
    rows = [np.random.default_rng(6).random(n) for n in (3, 4)]
    tables = []
    for p in rows:
        ys = list(itertools.product((0, 1), repeat=len(p)))
        chances = [math.prod(q if a else 1 - q for a, q in zip(y, p, strict=True)) for y in ys]
        tables.append(
            [
                [(c, matched(z, y, 1), sum(z) + sum(y)) for y, c in zip(ys, chances, strict=True)]
                for z in allowed(len(p), 1)
            ]
        )
    best = max(
        math.fsum(
            a[0] * b[0] * (2 * (a[1] + b[1]) / (a[2] + b[2]) if a[2] + b[2] else 1.0)
            for a, b in itertools.product(first, second)
        )
        for first, second in itertools.product(*tables)
    )
    found = fsmeu.decode_corpus(loss, [Bernoulli(p) for p in rows], engine=engine)
    assert found.value == pytest.approx(best, rel=1e-9)
    assert found.exact
    assert all(stand_apart(z, 1) for z in found.labels)


def test_long_sequences_are_decided_alike_by_counts_and_by_generating_functions():
    rng = np.random.default_rng(7)
    model = Markov([0.9, 0.1], rng.dirichlet([9, 1], (199, 2)))
    loss = fsmeu.load("event_fscore", tolerance=3)
    counted, lanes = (fsmeu.decode(loss, model, method=name) for name in ("counting", "lanes"))
    assert counted.exact
    assert lanes.exact
    assert counted.labels == lanes.labels
    assert counted.value == pytest.approx(lanes.value, rel=1e-9)
    assert stand_apart(lanes.labels, 3)


BAD = [0, 1, 0, 1]
REFUSED = {
    "loss": lambda loss: loss(BAD, BAD),
    "evaluate_many": lambda loss: fsmeu.evaluate_many(loss, [[0, 0, 0, 0], BAD], [BAD, BAD]),
    "evaluate_corpus": lambda loss: fsmeu.evaluate_corpus(loss, [BAD], [BAD]),
    "expect": lambda loss: fsmeu.expect(loss, BAD, [0.5] * 4),
    "expect_corpus": lambda loss: fsmeu.expect_corpus(loss, [BAD], [[0.5] * 4]),
    "compose": lambda loss: fsmeu.compose(loss, BAD, [0.5] * 4),
    "gradient": lambda loss: fsmeu.gradient(loss, BAD, [0.5] * 4),
    "expect model": lambda loss: fsmeu.expect(loss, Bernoulli([0.5] * 4), Bernoulli([0.5] * 4)),
    "compile_summed": lambda loss: fsmeu.compile_summed(loss, 4, BAD),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_hypotheses_are_refused(name):
    loss = fsmeu.load("event_fscore", tolerance=1)
    with pytest.raises(InputError, match=r"stand more than 2 \* tolerance apart \(tolerance = 1\)"):
        REFUSED[name](loss)
