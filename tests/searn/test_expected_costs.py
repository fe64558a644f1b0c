"""Cost oracles of a reference that is not known but modelled: expected costs, by both engines."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.expectation.expect import ENGINES
from fsmeu.searn import CostOracle
from tests import brute_force, shelf
from tests.label_models import plain_model
from tests.searn.stubs import best_ahead, listed
from tests.strategies import LossCase

LOSSES = ("fscore", "chunk_fscore", "pk", "mcc", "cost_matrix")
MODELS = ("independent", "markov", "potentials", "nbest")


def prefixes(labels, n):
    """All prefixes that leave a label to decide."""
    return [prefix for k in range(n) for prefix in product(labels, repeat=k)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.thirds
def test_costs_equal_enumeration_after_prefixes(name, kind, engine):
    case = shelf.case(name)
    loss, n = shelf.load(name), 2 if len(case.labels) > 2 else 3
    model = plain_model(np.random.default_rng([*map(ord, name + kind)]), kind, case.labels, n)
    every = listed(case.world(n), model.listed())
    oracle = CostOracle(loss, model=model.build(), engine=engine)
    assert (len(oracle), oracle.labels) == (n, loss.labels)
    assert 0.0 <= oracle.rounding < 1e-7
    for prefix in prefixes(case.labels, n)[:4]:
        ideal, want = best_ahead(every, prefix, oracle.labels, loss.kind)
        costs = oracle.costs(prefix)
        np.testing.assert_allclose(costs, want, rtol=0, atol=1e-12)
        assert costs.min() == 0.0
        assert oracle.value(prefix) == pytest.approx(ideal, rel=0, abs=1e-12)
        assert oracle.exact(prefix)
        least, greatest = oracle.bounds(prefix)
        assert (least <= want).all()
        assert (want <= greatest).all()
        assert (greatest - least <= 4 * oracle.rounding).all()
        close = {label for label, cost in zip(oracle.labels, want, strict=True) if cost < 1e-13}
        assert close <= set(oracle.best_all(prefix))
        assert oracle.best(prefix) == oracle.best_all(prefix)[0]
    for z, value in list(every.items())[::4]:
        assert oracle.value(z) == pytest.approx(value, rel=0, abs=1e-12)


@pytest.mark.parametrize("labels", [None, (1, 0)])
def test_labels_are_in_the_order_that_is_asked_for(labels):
    """The loss's own order, whatever that of the model is; states are walked as prefixes are."""
    model = fsmeu.models.Independent([[0.9, 0.1], [0.4, 0.6]], labels=(1, 0))
    oracle = CostOracle("fscore", model=model, labels=labels)
    assert oracle.labels == (labels or (0, 1))
    # P(y = 11, 10, 01, 00) = .36, .54, .04, .06; the best answers are 10 and 01.
    best = {0: 0.04 + 2 / 3 * 0.36, 1: 0.54 + 2 / 3 * 0.36}
    want = [best[1] - best[label] for label in oracle.labels]
    assert oracle.costs([]).tolist() == pytest.approx(want, abs=1e-12)
    state = oracle.step(oracle.start, oracle.labels.index(1))
    assert oracle.costs_at(state).tolist() == oracle.costs([1]).tolist()
    assert oracle.value_at(state) == oracle.value([1]) == pytest.approx(best[1])


# No change of a single label helps, as the number of ones must be even, so that a search is stuck;
# and the value is not linear in what reads both tapes.
EVEN = """utility f labels 0 1
memory m of y last 1
register odd in 0..1 start 0 next if z == 1 then 1 - odd else odd
count a by 1 + m[0] when z != y
value if odd == 0 then a * a / (4 * n * n) else 0
range 0 .. 1"""
UNSURE = [0.3, 0.8, 0.4, 0.6, 0.55]


def test_bounds_hold_what_is_not_proven():
    """More sequences than the budget allows: some costs are wrong, and bounds hold the true."""
    model = fsmeu.models.Bernoulli(UNSURE)
    case = LossCase(EVEN, (0, 1), False, {})
    every, wrong = listed(case.world(5), brute_force.bernoulli(UNSURE)), 0
    oracle, whole = (CostOracle(case.load(), model=model, budget=size) for size in (2, 10**6))
    for prefix in prefixes((0, 1), 2):
        ideal, want = best_ahead(every, prefix, (0, 1), "utility")
        least, greatest = oracle.bounds(prefix)
        assert (least >= 0.0).all()
        assert (least <= np.array(want) + 1e-15).all()
        assert (want <= greatest + 1e-15).all()
        assert (greatest <= 1).all()
        assert oracle.value(prefix) <= ideal + 1e-12
        off = np.abs(oracle.costs(prefix) - want).max()
        wrong += off > 0.01
        assert off < 1e-9 or not oracle.exact(prefix)
        assert whole.exact(prefix)
    assert wrong
    better = CostOracle(case.load(), model=model, budget=31)
    assert not better.exact([])
    assert better.bounds([])[1].max() < 0.2  # of one who sees the labels so far, not 1
