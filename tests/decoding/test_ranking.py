"""Sequences that rank positions by probability, where values are no sums of ratios of counts."""

import math
from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import ranking

# Values by the rates of both labels, of which one is left out where the reference lacks its label.
MEANS = {
    "g_mean": lambda tpr, tnr: np.sqrt(tpr * tnr),
    "h_mean": lambda tpr, tnr: np.where(tpr + tnr > 0, 2 * tpr * tnr / (tpr + tnr), 0.0),
}


@np.errstate(divide="ignore", invalid="ignore")
def values(name, n, k, tp, ref):
    tpr, tnr = tp / ref, (n - k - ref + tp) / (n - ref)
    one = np.where(ref == 0, tnr, tpr)
    return np.where((ref == 0) | (ref == n), one, MEANS[name](tpr, tnr))


def count_of(p):
    masses = np.ones(1)
    for one in p:
        masses = np.convolve(masses, [1 - one, one])
    return masses


def best_ranked(name, p):
    """The greatest expected value with ones at the most probable labels, from all tables."""
    p = np.sort(p)[::-1]
    n = len(p)
    found = []
    for k in range(n + 1):
        tp, fn = np.arange(k + 1.0)[:, None], np.arange(n - k + 1.0)
        table = values(name, n, k, tp, tp + fn)
        found.append(count_of(p[:k]) @ table @ count_of(p[k:]))
    return int(np.argmax(found)), max(found)


def best_of_all(name, p):
    n = len(p)
    y = np.array(list(product((0, 1), repeat=n)))
    chances = np.where(y == 1, p, 1 - p).prod(axis=1)
    z = y[:, None]
    tables = values(name, n, z.sum(axis=2), (z & y).sum(axis=2), y.sum(axis=1))
    return (tables @ chances).max()


@pytest.mark.parametrize("name", list(MEANS))
def test_many_labels(name):
    p = np.random.default_rng(3).random(300) ** 3
    k, wanted = best_ranked(name, p)
    found = fsmeu.decode(name, p)
    assert found.exact
    assert found.method == "ranking"
    assert found.value == pytest.approx(wanted, rel=1e-12)
    assert np.flatnonzero(found.labels).tolist() == sorted(np.argsort(-p)[:k].tolist())


@pytest.mark.parametrize("name", list(MEANS))
@pytest.mark.parametrize("cut", [1e-20, 1e-4, 1e-2])
def test_counts_that_are_left_out_are_bounded(name, cut, monkeypatch):
    """Cuts that doubles would notice widen the bounds; a claim holds by enumeration."""
    monkeypatch.setattr(ranking, "_CUT", cut)
    monkeypatch.setattr(ranking, "_APART", 2)
    proven = []
    for p in np.random.default_rng(4).random((6, 8)):
        found = fsmeu.decode(name, p, method="ranking")
        best = best_of_all(name, p)
        assert found.lower - 1e-12 <= best <= found.upper + 1e-12
        assert not found.exact or found.value == pytest.approx(best, rel=1e-9)
        proven.append(found.exact)
    assert all(proven) == (cut < 1e-9)


def test_unlikely_counts_do_not_tell_whether_more_is_worse():
    """More true positives are worse where half of the labels are ones, which are not likely."""
    loss = fsmeu.loads(
        "utility odd labels 0 1 count tp when z == 1 and y == 1 count ref when y == 1 "
        "value if ref > 0.4 * n then 1 - tp / n else tp / n range 0 .. 1"
    )
    p = np.full(400, 0.05)
    assert fsmeu.decode(loss, p, method="ranking").labels == [1] * 400
    with pytest.raises(fsmeu.InputError, match="never make it worse; with n=400"):
        fsmeu.decode(loss, p + 0.35, method="ranking")


def test_too_many_tables_are_not_looked_at(monkeypatch):
    """The ranked sequences are valued all the same, and nothing is claimed."""
    p = np.random.default_rng(5).random(140)
    monkeypatch.setenv("FSMEU_MAX_STATES", "10000")
    found = fsmeu.decode("g_mean", p, method="ranking")
    assert not found.exact
    assert found.value == pytest.approx(best_ranked("g_mean", p)[1], rel=1e-12)
    assert (found.lower, found.upper) == (pytest.approx(found.value, rel=1e-8), 1.0)
    assert "there are too many tables" in found.why
    assert math.isclose(found.value, fsmeu.expect("g_mean", found.labels, p).value, rel_tol=1e-9)
