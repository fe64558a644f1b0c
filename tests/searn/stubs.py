"""What tests of search-based prediction share: small corpora, and models with drawn weights."""

import numpy as np

from fsmeu.searn.features.sentences import mixed


class Drawn:
    """A model whose score of a row and action is a sum of hashes: any function of the features."""

    def __init__(self, seed, actions, probabilistic=True):
        self.seed, self.actions, self.probabilistic = seed, actions, probabilistic

    def scores(self, rows):
        found = np.zeros((rows.shape[0], self.actions))
        for a in range(self.actions):
            keys = mixed(np.uint64(self.seed * 1000 + a), rows.indices.astype(np.uint64))
            numbers = (keys >> np.uint64(11)) * 2.0**-53 - 0.5
            sums = np.concatenate(([0.0], np.cumsum(numbers * rows.data)))
            found[:, a] = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        return 3 * found


def words(rng, lengths, kinds=4):
    """Sentences with one feature, a word, at each position."""
    return [[{"w": str(rng.integers(kinds))} for _ in range(n)] for n in lengths]


def running_sums(rng, count, longest=7):
    """Sentences whose label is the sum of all numbers so far, modulo 3."""
    X, y = [], []
    for n in rng.integers(1, longest + 1, count):
        numbers = rng.integers(3, size=n)
        X.append([{"number": str(k), "one": 1} for k in numbers])
        y.append(["abc"[k % 3] for k in np.cumsum(numbers)])
    return X, y
