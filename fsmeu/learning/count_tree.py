"""How many of some independent events happen: the distribution, and derivatives of expectations.

The distribution of a sum of independent counts is a convolution, made by a balanced tree whose
leaves are single events. From the root down, each node learns what its own count is worth when the
counts of all others are summed out; at a leaf, the difference between one and none is the
derivative with respect to the event's probability. O(n^2) additions and multiplications, all of
nonnegative numbers on the way up, so that small probabilities are as accurate as large ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CountTree"]

Floats = NDArray[np.float64]

_TOGETHER = 32
"""Nodes of up to this many events are convolved all at once, larger ones each by itself."""


class CountTree:
    """The number of independent events that happen.

    Args:
        p: the probability of each event, (n,).

    Attributes:
        n: the number of events.
        levels: for each level from the leaves up, the distribution of the count of each node,
            (nodes, events of a node + 1); an odd node is paired with one that never counts.
    """

    def __init__(self, p: Floats) -> None:
        self.n = len(p)
        level = np.stack((1.0 - p, p), axis=1) if self.n else np.ones((1, 1))
        self.levels = [level]
        while len(level) > 1:
            if len(level) % 2:
                level = self.levels[-1] = np.concatenate((level, _nothing(level.shape[1])))
            level = _sums(level[0::2], level[1::2])
            self.levels.append(level)

    @property
    def distribution(self) -> Floats:
        """P(k events happen) for k = 0, ..., n, shape (n + 1,)."""
        return self.levels[-1][0, : self.n + 1]

    def derivatives(self, worth: Floats) -> Floats:
        """The derivatives of the expected worth of the count with respect to p, shape (n,).

        Args:
            worth: what each count is worth, (n + 1,).
        """
        if not self.n:
            return np.zeros(0)
        down: Floats = np.zeros((1, self.levels[-1].shape[1]))
        down[0, : self.n + 1] = worth
        for level in reversed(self.levels[:-1]):
            below, down = np.empty(level.shape), down[: len(level) // 2]
            below[0::2] = _means(down, level[1::2])
            below[1::2] = _means(down, level[0::2])
            down = below
        found: Floats = (down[:, 1] - down[:, 0])[: self.n]
        return found


def _nothing(size: int) -> Floats:
    """The distribution of a count that is always 0, (1, size)."""
    return np.eye(1, size)


def _sums(left: Floats, right: Floats) -> Floats:
    """The distribution of the sum of two counts, row by row, (nodes, 2 size - 1)."""
    nodes, size = left.shape
    if size > _TOGETHER:
        return np.array([np.convolve(*both) for both in zip(left, right, strict=True)])
    found = np.zeros((nodes, 2 * size - 1))
    for k in range(size):
        found[:, k : k + size] += left[:, k : k + 1] * right
    return found


def _means(worth: Floats, other: Floats) -> Floats:
    """What a count is worth in the mean over another that adds to it, row by row, (nodes, size)."""
    nodes, size = other.shape
    if size > _TOGETHER:
        both = zip(worth, other, strict=True)
        return np.array([np.correlate(whole, part, "valid") for whole, part in both])
    found = np.zeros((nodes, size))
    for k in range(size):
        found += other[:, k : k + 1] * worth[:, k : k + size]
    return found
