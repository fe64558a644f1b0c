"""Losses that are defined for some hypotheses alone: every method decides among these."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov
from tests.decoding.listing import METHODS, ask, random_model
from tests.grammars.test_events import fscore, matched, stand_apart

# Methods whose conditions event_fscore of short sequences does not satisfy.
NOT_FOR_IT = {"ratios", "additive", "ranking"}
FAR = 12  # a tolerance at which no two events are allowed


def allowed(n, tolerance):
    return [z for z in itertools.product((0, 1), repeat=n) if stand_apart(z, tolerance)]


@cache
def cases():
    """Models with a tolerance each, and the expected value of each allowed hypothesis.

    Matchings are those of scipy.
    """
    rng, drawn = np.random.default_rng(1), []
    for n, tolerance in ((1, 1), (4, 0), (5, 1), (4, FAR), (5, 2)):
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
