"""Decisions about long sequences of two labels: none is better among all that may be best."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from tests.support.ratios import loaded
from tests.trellis import long_values
from tests.trellis.long_values import CHAINS, CHANCES, RATIOS


@pytest.mark.thirds
@pytest.mark.parametrize("kind", CHANCES)
@pytest.mark.parametrize(("name", "params"), RATIOS)
def test_independent_labels(name, params, kind):
    """The best is among those with ones where they are most probable."""
    n, random, loss = 10, np.random.default_rng(6), loaded(name, params)
    tables, model = long_values.tables(kind, random, n)
    order = np.argsort(-np.asarray(model.p), kind="stable")
    ranked = [np.isin(np.arange(n), order[:k]).astype(int).tolist() for k in range(n + 1)]
    values = [long_values.expected(loss, z, *tables) for z in ranked]
    best = max(values) if loss.kind == "utility" else min(values)
    for way in ({}, limits.LONG):
        with limits.lowered(way):
            found = fsmeu.decode(loss, model)
        assert found.exact or abs(best) < 1e-12
        assert found.value == pytest.approx(best, rel=1e-12, abs=1e-12)
        true = long_values.expected(loss, found.labels, *tables)
        assert true == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.thirds
@pytest.mark.parametrize("name", ["fscore", "recall", "precision", "g_tp_pr"])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from([*CHAINS]), n=st.integers(4, 40))
def test_chains(name, seed, kind, n):
    """As by counting."""
    loss, (_, model) = loaded(name), long_values.tables(kind, np.random.default_rng(seed), n)
    best = fsmeu.decode(loss, model, method="counting").value
    with limits.lowered(limits.LONG):
        found = fsmeu.decode(loss, model, method="lanes")
    assert found.exact
    assert found.value == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert found.lower <= best <= found.upper


@pytest.mark.parametrize("n", [1, 7, 1200])
@pytest.mark.parametrize("name", ["fscore", "recall", "balanced_accuracy"])
def test_labels_that_are_nearly_sure(name, n):
    """All the same: the best value is next to that of the sure reference."""
    for p in (0.0, 5e-324, 1e-9, 1.0 - 1e-9, 1.0):
        found = fsmeu.decode(fsmeu.load(name), np.full(n, p))
        assert (found.method, found.exact) == ("ratios", True)
        assert found.value == pytest.approx(1.0, abs=1e-5)
