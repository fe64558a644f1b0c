"""Losses that are defined for some hypotheses alone: every method decides among these."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.choice import METHODS
from fsmeu.errors import EmptyError, InputError
from fsmeu.models import Bernoulli, Markov, NBest
from tests.grammars.test_events import fscore, matched, stand_apart
from tests.label_models import random_model
from tests.strategies import listed

KINDS = ("bernoulli", "independent", "markov", "potentials")
# Methods whose conditions event_fscore of short sequences does not satisfy.
NOT_FOR_IT = ("ratios", "chain_ratios", "additive", "lanes", "viterbi", "ranking")
FAR = 12  # a tolerance at which no two events are allowed


def truths(distribution, n, tolerance):
    """The expected value of each allowed hypothesis, by scipy's matching."""
    sequences = list(itertools.product((0, 1), repeat=n))
    return {
        z: math.fsum(
            p * fscore(matched(z, y, tolerance), np.array(z), np.array(y))
            for y, p in distribution.items()
            if p
        )
        for z in sequences
        if stand_apart(z, tolerance)
    }


@cache
def cases(count, seed, most=7):
    """Models with a tolerance each, and the expected value of each allowed hypothesis."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        n = int(rng.integers(1, most))
        case = listed(random_model(rng, (0, 1), n, KINDS))
        tolerance = int(rng.choice([0, 1, 1, 2, 3, FAR]))
        drawn.append((case, tolerance, truths(case.distribution, n, tolerance)))
    return drawn


@pytest.mark.parametrize("engine", ["auto", "openfst"])
@pytest.mark.thirds
def test_decisions_are_best_among_allowed_hypotheses(engine):
    for case, tolerance, worths in cases(25, seed=1):
        loss = fsmeu.load("event_fscore", tolerance=tolerance)
        decision = fsmeu.decode(loss, case.model, engine=engine)
        assert decision.exact
        assert decision.value == pytest.approx(max(worths.values()), rel=1e-9)
        assert worths[tuple(decision.labels)] == pytest.approx(decision.value, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thirds
def test_no_method_leaves_the_allowed_hypotheses(method):
    decided = 0
    for case, tolerance, worths in cases(12, seed=2):
        loss = fsmeu.load("event_fscore", tolerance=tolerance)
        try:
            decision = fsmeu.decode(loss, case.model, method=method)
        except InputError:
            continue
        decided += 1
        value = worths[tuple(decision.labels)]
        assert decision.value == pytest.approx(value, rel=1e-9)
        if decision.exact:
            assert value == pytest.approx(max(worths.values()), rel=1e-9)
    assert decided or method in NOT_FOR_IT


def test_expectations_are_those_of_the_matching():
    for case, tolerance, worths in cases(10, seed=3):
        loss = fsmeu.load("event_fscore", tolerance=tolerance)
        for z in list(worths)[:6]:
            assert fsmeu.expect(loss, z, case.model).value == pytest.approx(worths[z], rel=1e-9)


def test_many_models_are_decided_as_one_by_one():
    rng = np.random.default_rng(4)
    loss = fsmeu.load("event_fscore", tolerance=1)
    models = [Bernoulli(rng.random(n)) for n in (5, 6, 6, 1, 0)]
    models += [Markov([0.6, 0.4], rng.dirichlet([1, 1], 2), n) for n in (4, 4, 7)]
    for decision, model in zip(fsmeu.decode_many(loss, models), models, strict=True):
        assert decision.value == pytest.approx(fsmeu.decode(loss, model).value)
        assert stand_apart(decision.labels, 1)


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_corpora_are_decided_among_allowed_hypotheses(engine):
    rng = np.random.default_rng(6)
    loss = fsmeu.load("event_fscore", tolerance=1)
    for _ in range(4):
        rows = [rng.random(n) for n in (3, 4)]
        found = fsmeu.decode_corpus(loss, [Bernoulli(p) for p in rows], engine=engine)
        tables = [[listed_row(p, z) for z in allowed(len(p), 1)] for p in rows]
        best = max(corpus_value(first, second) for first, second in itertools.product(*tables))
        assert found.value == pytest.approx(best, rel=1e-9)
        assert found.exact
        assert all(stand_apart(z, 1) for z in found.labels)


def allowed(n, tolerance):
    return [z for z in itertools.product((0, 1), repeat=n) if stand_apart(z, tolerance)]


def listed_row(p, z):
    """Probability, matches and ones of z and y, for each y."""
    table = []
    for y in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod(p[i] if y[i] else 1 - p[i] for i in range(len(p)))
        table.append((chance, matched(z, y, 1), sum(z) + sum(y)))
    return table


def corpus_value(first, second):
    return math.fsum(
        a[0] * b[0] * (2 * (a[1] + b[1]) / (a[2] + b[2]) if a[2] + b[2] else 1.0)
        for a, b in itertools.product(first, second)
    )


@pytest.mark.nightly
def test_a_constraint_restricts_further():
    loss = fsmeu.load("event_fscore", tolerance=1)
    model = Bernoulli([0.9, 0.8, 0.9, 0.9, 0.7, 0.9, 0.9, 0.6])
    for constraint, allows in (
        (fsmeu.constraints.min_gap(5), lambda z: stand_apart(z, 2)),
        ("0 0 (0 | 1)*", lambda z: not any(z[:2])),
    ):
        decision = fsmeu.decode(loss, model, constraint=constraint)
        distribution = {
            y: math.prod(p if b else 1 - p for p, b in zip(model.p, y, strict=True))
            for y in itertools.product((0, 1), repeat=8)
        }
        worths = truths(distribution, 8, 1)
        best = max(value for z, value in worths.items() if allows(z))
        assert decision.exact
        assert decision.value == pytest.approx(best)
        assert allows(decision.labels)


def test_a_constraint_that_leaves_nothing_is_refused():
    loss = fsmeu.load("event_fscore", tolerance=1)
    with pytest.raises(EmptyError, match="events of z stand more than 2 \\* tolerance apart"):
        fsmeu.decode(loss, [0.5] * 4, constraint="0 1 1 0")


def test_long_sequences_are_decided_alike_by_counts_and_by_generating_functions():
    rng = np.random.default_rng(7)
    steps = rng.dirichlet([9, 1], (279, 2))
    model = Markov([0.9, 0.1], steps)
    loss = fsmeu.load("event_fscore", tolerance=3)
    counted = fsmeu.decode(loss, model, method="counting")
    lanes = fsmeu.decode(loss, model, method="lanes")
    assert counted.exact
    assert lanes.exact
    assert counted.labels == lanes.labels
    assert counted.value == pytest.approx(lanes.value, rel=1e-9)
    assert stand_apart(lanes.labels, 3)


BAD = [0, 1, 0, 1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda loss: loss(BAD, BAD),
        lambda loss: fsmeu.evaluate_many(loss, [[0, 0, 0, 0], BAD], [BAD, BAD]),
        lambda loss: fsmeu.evaluate_outputs(loss, BAD, BAD),
        lambda loss: fsmeu.evaluate_corpus(loss, [BAD], [BAD]),
        lambda loss: fsmeu.expect(loss, BAD, [0.5] * 4),
        lambda loss: fsmeu.expect_many(loss, [BAD], [[0.5] * 4]),
        lambda loss: fsmeu.expect_corpus(loss, [BAD], [[0.5] * 4]),
        lambda loss: fsmeu.compose(loss, BAD, [0.5] * 4),
        lambda loss: fsmeu.gradient(loss, BAD, [0.5] * 4),
        lambda loss: fsmeu.expect(loss, Bernoulli([0.5] * 4), Bernoulli([0.5] * 4)),
        lambda loss: fsmeu.expect(loss, NBest([BAD, [0] * 4]), Bernoulli([0.5] * 4)),
        lambda loss: loss.compile(4, BAD),
        lambda loss: fsmeu.compile_summed(loss, 4, BAD),
    ],
)  # fmt: skip
def test_other_hypotheses_are_refused(ask):
    loss = fsmeu.load("event_fscore", tolerance=1)
    with pytest.raises(InputError, match=r"stand more than 2 \* tolerance apart \(tolerance = 1\)"):
        ask(loss)


def test_the_position_that_fails_is_named():
    loss = fsmeu.load("event_fscore", tolerance=1)
    with pytest.raises(InputError, match="0101, which fails at entry 3"):
        loss(BAD, BAD)


def test_a_distribution_of_allowed_hypotheses_has_an_expectation():
    loss = fsmeu.load("event_fscore", tolerance=1)
    hypotheses = Bernoulli([0.3, 0.6, 0.2, 0.5]).given(fsmeu.constraints.min_gap(3))
    model = Bernoulli([0.5, 0.1, 0.7, 0.4])
    wanted = 0.0
    for z in allowed(4, 1):
        chance = math.exp(hypotheses.log_probability(z))
        wanted += chance * fsmeu.expect(loss, z, model).value
    assert fsmeu.expect(loss, hypotheses, model).value == pytest.approx(wanted)


@pytest.mark.parametrize("tolerance", [0, 1, 2])
def test_machines_have_paths_for_allowed_hypotheses_alone(tolerance):
    n = 5
    loss = fsmeu.load("event_fscore", tolerance=tolerance, empty=-1)  # no value is 0 after a shift
    sequences = list(itertools.product((0, 1), repeat=n))
    for machine in (loss.compile(n), loss.compile(n, minimize=True), fsmeu.compile_summed(loss, n)):
        graph = fsmeu.to_networkx(machine)
        read = {((), ()): {graph.graph["start"]}}
        for _ in range(n):
            after = {}
            for (z, y), states in read.items():
                for state in states:
                    for _, target, arc in graph.out_edges(state, data=True):
                        key = (*z, int(arc["input"])), (*y, int(arc["output"]))
                        after.setdefault(key, set()).add(target)
            read = after
        assert {z for z, _ in read} == {z for z in sequences if stand_apart(z, tolerance)}


def test_the_acceptor_of_one_length_does_not_spoil_others():
    loss = fsmeu.load("event_fscore", tolerance=3)
    for n in (1, 0, 2, 9, 5):
        for z in itertools.product((0, 1), repeat=n):
            acceptor = loss.allowed(n)
            assert acceptor is not None
            assert acceptor.accepts(np.array(z, int)) == stand_apart(z, 3)


def test_a_swapped_loss_and_what_needs_one_are_refused():
    loss = fsmeu.load("event_fscore", tolerance=1)
    with pytest.raises(InputError, match="restricts its hypotheses cannot be swapped"):
        _ = loss.swapped
    with pytest.raises(InputError, match="must be defined for all hypotheses"):
        fsmeu.searn.CostOracle(loss, [0, 1, 0])
