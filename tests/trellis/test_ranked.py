"""Independent labels of two kinds, ranked: values and decisions are those of tables of counts."""

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.losses.algebra.confusion import value_of_counts
from tests.support.ratios import LOSSES, chances, loaded

NEAR = {"rel": 1e-11, "abs": 1e-12}
LONG = {"SHORT_RULE": 1, "FEW_NUMBERS": 1, "LONG_SEQUENCE": 2}


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
def test_rows_and_single_sequences(name, params):
    """Together, one by one, and as long ones: the best of all k; given each k, its value."""
    loss = loaded(name, params)
    better = np.max if loss.kind == "utility" else np.min
    for seed, n in enumerate((1, 2, 3, 7, 20)):
        p = np.stack([chances(10 * seed + k, n) for k in range(3)])
        wanted = np.stack([by_tables(loss.confusion, row) for row in p])
        best = better(wanted, axis=1)
        assert [d.value for d in fsmeu.decode_many(loss, p)] == pytest.approx(best, **NEAR)
        z = (np.arange(n) < np.arange(n + 1)[:, None]).astype(int)
        for row, values in zip(p, wanted, strict=True):
            with limits.lowered(LONG):
                found = fsmeu.decode(loss, row)
                given = [fsmeu.expect(loss, labels, row).value for labels in z]
            assert found.exact or abs(found.value) < 1e-12
            assert found.value == pytest.approx(better(values), **NEAR)
            assert given == pytest.approx(values, **NEAR)


@pytest.mark.parametrize("name", ["g_mean", "h_mean", "q_mean", "mcc"])
@pytest.mark.parametrize("way", [{}, {"COUNTED_AT_ONCE": 0}, {"LONGEST_RANKED": 10}])
def test_other_values(name, way):
    """By tables of all counts, by windows, or by a search along the ranking."""
    loss = fsmeu.load(name)
    for kind, n in (((1, 2), 60), ((0.1, 3), 40), ((5, 5), 25)):
        p = np.sort(np.random.default_rng(n).beta(*kind, size=n))[::-1]
        with limits.lowered(**way) if way else limits.lowered(LONGEST_TABLED=300):
            found = fsmeu.decode(loss, p)
        assert found.value == pytest.approx(by_tables(loss.confusion, p).max(), rel=1e-11)
        assert found.exact or "LONGEST_RANKED" in way


def test_halves_of_a_thousand_labels():
    """Nothing is divided by a generating function that is 0, at t = -1 and p = 1/2."""
    found = fsmeu.decode("mcc", np.full(301, 0.5))
    assert found.value == pytest.approx(0.0, abs=1e-12)
    found = fsmeu.decode("g_mean", np.full(1000, 0.5))
    assert found.exact
    assert sum(found.labels) == 500
