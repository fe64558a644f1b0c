"""Random pairs of sequences in batches of one length, edge cases among them."""

import functools
import itertools

import numpy as np

from tests.support import nightly

TOTAL = 20_000 if nightly.EVERYTHING else 2_000
"""How many pairs each library is compared on."""


def batches(labels, lengths, seed, total=TOTAL):
    """Arrays (z, y) of label indices, one pair of arrays per length, ``total`` rows in all or more.

    Some hypotheses are the reference, some keep most of it, some have nothing to do with it. The
    first rows are constant sequences in all combinations.
    """
    rows = -(-total // len(lengths))
    return [_batch(labels, n, rows, seed) for n in lengths]


@functools.lru_cache(maxsize=256)
def _batch(labels, n, rows, seed):
    rng = np.random.default_rng((labels, n, rows, seed))
    bounds = np.cumsum(rng.dirichlet(np.ones(labels), rows), axis=1)[:, None, :-1]
    y = (rng.random((rows, n, 1)) > bounds).sum(axis=2)
    kept = rng.random((rows, n)) < rng.choice([0, 0.5, 0.9, 1], rows)[:, None]
    z = np.where(kept, y, rng.integers(0, labels, (rows, n)))
    for k, (a, b) in enumerate(itertools.product(range(labels), repeat=2)):
        z[k], y[k] = a, b
    for side in (z, y):
        side.flags.writeable = False
    return z, y


def confusion(z, y):
    """True positives, false positives, false negatives, true negatives of each pair of rows."""
    table = [((z == a) & (y == b)).sum(axis=1) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
    return np.array(table).T


def by_table(score, z, y):
    """The score of each pair, asked once for each confusion table: score(table, row of a pair)."""
    tables, first, which = np.unique(
        confusion(z, y), axis=0, return_index=True, return_inverse=True
    )
    scores = [score(table, k) for table, k in zip(tables.tolist(), first, strict=True)]
    return np.array(scores, float)[which.reshape(-1)]


def close(found, wanted):
    """Agreement to 1e-12, relative above 1 and absolute below."""
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
