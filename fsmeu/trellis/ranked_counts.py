"""Distributions of counts of ranked independent labels, for values that are no sum of quotients.

With ones of z at the first k of n labels, the ones A of y among them and the ones B among the
others are independent, so that the expectation of any value of the confusion table is a sum over
all A and B that have mass. What a value that is linear in tp needs is less: E[A; A + B = s], for
all k together from the generating function at roots of unity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.trellis.windows import Window, count_window

_GRID = 16  # numbers of ones at which a search begins, and between two of which it goes on


@dataclass(frozen=True, eq=False)
class RankedCounts:
    """Numbers of ones of y among the first k of n labels, P(1) descending, and among the others.

    Ends of their distributions of a mass up to ``cut`` are left out.
    """

    p: Floats
    cut: float

    @cached_property
    def _first(self) -> Floats:
        return _prefix_counts(self.p)

    @cached_property
    def _last(self) -> Floats:
        return _prefix_counts(self.p[::-1])

    def windows(self, k: int) -> tuple[Window, Window]:
        """The distributions of both numbers."""
        n = len(self.p)
        if n > limits.LONGEST_RANKED:
            sides = count_window(self.p[:k]), count_window(self.p[k:])
        else:
            first = self._first[k, : k + 1]
            last = self._last[n - k, : n - k + 1]
            sides = Window(0, first[None]), Window(0, last[None])
        return sides[0].without_ends(self.cut), sides[1].without_ends(self.cut)

    def value(self, form: Confusion, k: int) -> float:
        """The expected value with ones of z at the first k labels."""
        hits, missed = self.windows(k)
        tp = hits.counts[:, None]
        table = value_of_counts(form, len(self.p), tp, float(k), tp + missed.counts)
        return float(hits.masses @ table @ missed.masses)


def _prefix_counts(p: Floats) -> Floats:
    """P(the first k labels hold c ones), (n + 1, n + 1), given P(1)."""
    counts = np.zeros((len(p) + 1, len(p) + 1))
    counts[0, 0] = 1.0
    for k, one in enumerate(p.tolist()):
        counts[k + 1, : k + 1] = counts[k, : k + 1] * (1.0 - one)
        counts[k + 1, 1 : k + 2] += counts[k, : k + 1] * one
    return counts


def search_along(score: Callable[[int], float], n: int) -> int:
    """The number from 0 to n of the greatest score on a grid, then on finer ones next to it."""
    low = 0
    high = n
    while True:
        grid = np.unique(np.rint(np.linspace(low, high, _GRID + 1)).astype(int)).tolist()
        place = int(np.argmax([score(k) for k in grid]))
        if len(grid) == high - low + 1:
            return int(grid[place])
        low = grid[max(place - 1, 0)]
        high = grid[min(place + 1, len(grid) - 1)]


def hits_by_ref(p: Floats, window: Window) -> Iterator[Floats]:
    """E[A; ref = s] for k = 0, 1, ..., n, in blocks of k, (ks, width), s being in a window of ref.

    At t on the unit circle, E[A t^ref] is the product of all f_i = 1 - p_i + p_i t times the sum of
    p_i t / f_i over the first k labels.
    """
    width = len(window.counts) | 1  # odd: t is never -1, and no f_i is 0
    t = np.exp(2j * np.pi * np.arange(width // 2 + 1) / width)
    place = window.counts.astype(np.int64) % width
    size = max(1, limits.WINDOW_CELLS // width)
    blocks = [p[begin : begin + size, None] for begin in range(0, len(p), size)]
    mass = np.ones(len(t), complex)
    for some in blocks:
        mass *= np.prod(1.0 - some + some * t, axis=0)
    shares = np.zeros((1, len(t)), complex)
    yield np.zeros((1, len(window.counts)))
    for some in blocks:
        shares = shares[-1] + np.cumsum(some * t / (1.0 - some + some * t), axis=0)
        yield np.fft.irfft(np.conj(mass * shares), width, axis=1)[:, place]
