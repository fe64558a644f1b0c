"""Long sequences by windows of counts: against whole numbers without rounding, and the machine."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from fsmeu.errors import SizeLimitError
from tests.support.nightly import mostly_nightly
from tests.support.values import count_weights

OF_TABLES = [
    "accuracy", "balanced_accuracy", "fscore", "g_mean", "g_tp_pr", "h_mean", "hamming", "jaccard",
    "kappa", "mcc", "precision", "q_mean", "recall", "sec", "specificity", "weighted_cost",
]  # fmt: skip


@pytest.mark.parametrize("n", mostly_nightly([1000, 2000], quick=1))
def test_expected_fscore_without_rounding(n):
    random = np.random.default_rng(3)
    eighths, z = random.integers(0, 9, size=n), random.integers(0, 2, size=n)
    first, last = (count_weights([(8 - p, p) for p in eighths[z == k].tolist()]) for k in (1, 0))
    hyp, whole = int(z.sum()), 8**n
    hits, terms = first * np.arange(len(first)), []
    for ref in range(n + 1):
        low, high = max(0, ref - len(last) + 1), min(ref, len(first) - 1)
        if low <= high:
            met = (hits[low : high + 1] * last[ref - high : ref - low + 1][::-1]).sum()
            terms.append(float(Fraction(2 * int(met), (hyp + ref) * whole)))
    wanted = math.fsum(terms)
    found = fsmeu.expect(fsmeu.load("fscore"), z, eighths / 8)
    assert found.value == pytest.approx(wanted, rel=1e-12)
    assert found.lower <= wanted <= found.upper
    assert found.upper - found.lower <= 4e-12 * found.value
    assert found.kept == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", OF_TABLES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 7))
@pytest.mark.thirds
def test_short_sequences_as_by_machines(name, seed, n):
    """Values, bounds and levels; probabilities 0 and 1 among the others."""
    random = np.random.default_rng(seed)
    p, z = random.choice([0.0, 1.0, 0.3, random.random()], size=n), random.integers(0, 2, size=n)
    loss = fsmeu.load(name)
    wanted = fsmeu.expect(loss, z, p, engine="openfst")
    with limits.lowered(LONG_SEQUENCE=0):
        found = fsmeu.expect(loss, z, p)
    assert found.value == pytest.approx(wanted.value, rel=1e-12, abs=1e-12)
    assert found.lower <= min(found.value, wanted.value + 1e-13)
    assert found.upper >= max(found.value, wanted.value - 1e-13)
    np.testing.assert_allclose(found.levels.values, wanted.levels.values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        found.levels.probabilities, wanted.levels.probabilities, rtol=1e-9, atol=1e-12
    )


def test_distributions_of_too_many_tables_are_refused(lowered):
    lowered(MOST_LEVEL_CELLS=1000)
    found = fsmeu.expect(fsmeu.load("fscore"), [1, 0] * 1500, np.full(3000, 0.5))
    assert found.value == pytest.approx(0.5, abs=0.01)
    with pytest.raises(SizeLimitError, match="may have up to 1,000 tables"):
        _ = found.levels


@pytest.mark.parametrize("amounts", [("0.1", "0"), ("2^20", "0.1"), ("0.3", "0.1"), ("7", "3")])
@pytest.mark.parametrize("n", [1000, 4000])
@pytest.mark.thirds
def test_amounts_that_cancel_keep_their_bounds(amounts, n):
    """A count of zeros of z where nearly all are ones, as a fraction."""
    of_zero, of_one = amounts
    loss = fsmeu.loads(
        f"utility u labels 0 1 count c by (if z == 0 then {of_zero} else {of_one}) value c"
    )
    at_zero, at_one = (Fraction(eval(text.replace("^", "**"))) for text in amounts)
    for zeros in (0, 1, n // 2, n):
        z = [0] * zeros + [1] * (n - zeros)
        true = zeros * at_zero + (n - zeros) * at_one
        chain = fsmeu.models.Markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], n)
        for model in (fsmeu.models.Bernoulli(np.full(n, 0.5)), chain):
            found = fsmeu.expect(loss, z, model)
            assert Fraction(found.lower) <= true <= Fraction(found.upper)
            assert abs(Fraction(found.value) - true) <= Fraction(1e-12) * abs(true)
