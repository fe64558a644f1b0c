"""Values of ranked labels in product form: those of tables of all counts."""

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.algebra.value import value_at_length
from fsmeu.trellis.given_labels import expected_values
from fsmeu.trellis.ranked import RankedRows, ranked_values
from fsmeu.trellis.ranked_counts import RankedCounts, hits_by_ref, search_along
from fsmeu.trellis.windows import count_window
from tests.support.ratios import LOSSES, chances, loaded

NEAR = {"rel": 1e-11, "abs": 1e-12}


def by_tables(form, p):
    """E[value] with ones at the first k labels, for every k, by convolutions."""
    n = len(p)
    sides = []
    for row in (p, p[::-1]):
        counts = [np.ones(1)]
        for one in row:
            counts.append(np.convolve(counts[-1], [1 - one, one]))
        sides.append(counts)
    values = []
    for k in range(n + 1):
        tp, missed = np.arange(k + 1.0)[:, None], np.arange(n - k + 1.0)
        table = value_of_counts(form, n, tp, float(k), tp + missed)
        values.append(sides[0][k] @ table @ sides[1][n - k])
    return np.array(values)


@pytest.mark.parametrize(("name", "params"), LOSSES)
def test_all_numbers_of_ones(name, params):
    """For rows, for one row by bounds, and given each hypothesis."""
    form = loaded(name, params).confusion
    for seed, n in enumerate((1, 2, 3, 7, 20, 45)):
        p = np.stack([chances(10 * seed + k, n) for k in range(6)])
        value = value_at_length(form, n)
        wanted = np.stack([by_tables(form, row) for row in p])
        assert RankedRows(value).values(p) == pytest.approx(wanted, **NEAR)
        z = (np.arange(n) < np.arange(n + 1)[:, None]).astype(int)
        for row, values in zip(p, wanted, strict=True):
            given = expected_values(value, z, np.broadcast_to(row, z.shape))
            assert given.values == pytest.approx(values, **NEAR)
            assert (given.sizes >= np.abs(given.values) - 1e-12).all()
            few = expected_values(value, z[-1:], row[None])
            assert few.values == pytest.approx(values[-1:], **NEAR)
            if n > 1:
                _check_search(value, row, values)


def _check_search(value, row, values):
    for sign in (1.0, -1.0):
        with limits.lowered(FEW_NUMBERS=1):
            found = ranked_values(value, row, sign)
        assert found.scores == pytest.approx(sign * values[found.ks], **NEAR)
        others = np.setdiff1d(np.arange(len(values)), found.ks)
        assert (sign * values[others] <= found.outside + 1e-12).all()
        assert found.scores.max() == pytest.approx((sign * values).max(), **NEAR)


@pytest.mark.parametrize("name", ["g_mean", "mcc", "fscore"])
def test_tables_of_counts(name):
    """Cut or not; a search along the ranking finds the best of a value with one top."""
    form = fsmeu.load(name).confusion
    p = np.sort(np.random.default_rng(1).beta(1, 2, 60))[::-1]
    wanted = by_tables(form, p)
    for cut in (0.0, 1e-14):
        counts = RankedCounts(p, cut)
        values = [counts.value(form, k) for k in range(61)]
        assert values == pytest.approx(wanted, rel=1e-11)
    assert search_along(lambda k: wanted[k], 60) == wanted.argmax()
    with limits.lowered(LONGEST_RANKED=10):
        assert counts.value(form, 20) == pytest.approx(wanted[20], rel=1e-11)
        found = fsmeu.decode(fsmeu.load("g_mean"), p)
    if name == "g_mean":
        assert found.value == pytest.approx(wanted.max(), rel=1e-11)


def test_hits_by_number_of_ones():
    """E[A; A + B = s] is a sum over pairs of counts; a probability of 1/2 divides by nothing."""
    p = np.array([0.9, 0.5, 0.5, 0.2, 0.0])
    window = count_window(p)
    rows = np.concatenate(list(hits_by_ref(p, window)))
    for k in range(6):
        first, last = np.ones(1), np.ones(1)
        for i, one in enumerate(p):
            if i < k:
                first = np.convolve(first, [1 - one, one])
            else:
                last = np.convolve(last, [1 - one, one])
        wanted = np.convolve(first * np.arange(len(first)), last)
        assert rows[k] == pytest.approx(wanted[window.counts.astype(int)], abs=1e-15)
