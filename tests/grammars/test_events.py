"""Events within a tolerance: mir_eval's matching, where events of z stand apart."""

import functools
import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

import fsmeu
from tests.grammars.pairs import close

load = functools.lru_cache(fsmeu.load)
MISSING = "is not installed; it is one of the requirements of development: ./run setup"


def events(row):
    return np.flatnonzero(row).tolist()


def stand_apart(z, tolerance):
    return all(b - a > 2 * tolerance for a, b in itertools.pairwise(events(z)))


def all_pairs(n, tolerance):
    rows = [np.array(row) for row in itertools.product((0, 1), repeat=n)]
    allowed = [z for z in rows if stand_apart(z, tolerance)]
    return list(itertools.product(allowed, rows))


def matched(z, y, tolerance):
    """The size of the greatest matching, by scipy."""
    ours, theirs = np.flatnonzero(z), np.flatnonzero(y)
    near = np.abs(ours[:, None] - theirs) <= tolerance
    if not near.size:
        return 0
    return int((maximum_bipartite_matching(csr_matrix(near)) >= 0).sum())


def random_pair(rng, n, tolerance):
    """A pair of which the hypothesis' events stand apart, often near those of the reference."""
    y = (rng.random(n) < rng.choice([0.05, 0.2, 0.6])).astype(int)
    z = np.zeros(n, int)
    last = -n
    for i in range(n):
        likely = 0.7 if y[max(0, i - tolerance) : i + tolerance + 1].any() else 0.1
        if i - last > 2 * tolerance and rng.random() < likely:
            z[i] = 1
            last = i
    return z, y


def random_pairs(count=100):
    rng = np.random.default_rng(5)
    for _ in range(count):
        tolerance = int(rng.integers(0, 6))
        yield tolerance, *random_pair(rng, int(rng.integers(1, 40)), tolerance)


def found_fscores(pairs, tolerance):
    """The value of each pair."""
    zs, ys = zip(*pairs, strict=True)
    return fsmeu.evaluate_many(load("event_fscore", tolerance=tolerance), zs, ys)


def fscore(tp, z, y):
    total = int(z.sum() + y.sum())
    return 2 * tp / total if total else 1.0


@pytest.mark.parametrize("tolerance", range(3))
@pytest.mark.parametrize("n", [0, 1, 3, 5, pytest.param(7, marks=pytest.mark.nightly)])
def test_true_positives_are_the_greatest_matching_of_all_pairs(n, tolerance):
    pairs = all_pairs(n, tolerance)
    wanted = [fscore(matched(z, y, tolerance), z, y) for z, y in pairs]
    close(found_fscores(pairs, tolerance), wanted)


def test_the_value_is_mir_evals():
    """F, precision and recall of onsets; mir_eval takes 0 where a sequence has no events."""
    onset = pytest.importorskip("mir_eval.onset", reason=f"mir_eval {MISSING}")
    for tolerance, z, y in random_pairs():
        loss = load("event_fscore", tolerance=tolerance, empty=0)
        ours, theirs = np.flatnonzero(z).astype(float), np.flatnonzero(y).astype(float)
        wanted = onset.f_measure(theirs, ours, window=tolerance) if z.any() and y.any() else [0] * 3
        outputs = fsmeu.evaluate_outputs(loss, z, y)
        close([loss(z, y), outputs["precision"], outputs["recall"]], wanted)
