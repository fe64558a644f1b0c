"""The best number of ones, or of what hypotheses count: branch and bound over the numbers.

Let a hypothesis with the number k have the value  gain(k) sum of Q_i(u(k)) + offset(k)  over what
it chooses, Q_i convex in u. Between two numbers k1 and k2 that were tried, with A_m(k) the greatest
sum of k of the Q_i(u_m) and u = (1 - t) u_1 + t u_2,

    sum of the Q_i(u)  <=  (1 - t) A_1(k) + t A_2(k)                                 (chord bound)

because a maximum of sums is at most the sum of the maxima. Numbers whose bound is above the best
value are tried themselves, until none is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints

_CLOSE = 1e-10  # numbers whose bound exceeds the best value by less than this part are not tried
_WIDE = 1e-7  # a bound that is higher than the best value by this part is not so by rounding


@dataclass(eq=False)
class CountSearch:
    """Best values by a number k from low to high: gain * sum of scores + offset, greater is better.

    For a long sequence, k is its number of ones; for a corpus, the total of the hypotheses' counts.
    """

    low: int
    high: int
    first: int  # a number that seems best
    gain: Floats  # what sums of scores are multiplied by, by k
    offset: Floats  # what is added, whatever the hypothesis, by k
    errors: Floats  # bounds on the errors of ``offset``, by k
    # Upper bounds on the best values by k, -inf where there is none: lowered as more is known.
    caps: Floats
    sums_at: Callable[[int], Floats]  # the greatest sums of the scores at k, by number
    # Upper bounds on values at some numbers, between two that were tried, or at one.
    bounds_at: Callable[[CountSearch, Ints, int, int], Floats]
    best_at: Callable[[int], Any]  # a hypothesis of the greatest sum at k, and more of a corpus
    tried: dict[int, Floats] = field(default_factory=dict)  # the sums by the number that was tried
    # Bounds on the sums of the scores at numbers that need not be tried themselves.
    ends: dict[int, Floats] = field(default_factory=dict)

    def sums(self, k: int) -> Floats:
        """The greatest sums of the scores at k, by number; k is tried."""
        if k not in self.tried:
            self.tried[k] = self.sums_at(k)
        return self.tried[k]

    def bounds(self, k: int) -> Floats:
        """Bounds on the sums of the scores at k, by number; k was tried or is an end."""
        if k in self.tried and k in self.ends:
            return np.minimum(self.tried[k], self.ends[k])
        return self.ends[k] if k in self.ends else self.sums(k)

    def value(self, k: int) -> float:
        """The best value at k, roundings and the remainder aside."""
        return float(self.gain[k] * self.sums(k)[k] + self.offset[k])

    def lower_caps(self, ks: Ints, low: int, high: int) -> float:
        """The greatest cap of some numbers, lowered by the bounds between two that were tried."""
        caps = np.fmin(self.caps[ks], self.bounds_at(self, ks, low, high))
        self.caps[ks] = caps
        return float(caps.max())

    def narrow(self, level: float) -> None:
        """Excludes numbers at both ends whose caps are below a level, but not ``first``."""
        near = self.low + np.flatnonzero(self.caps[self.low : self.high + 1] >= level)
        self.low = min([self.first, *near[:1].tolist()])
        self.high = max([self.first, *near[-1:].tolist()])

    def between(self, low: int, high: int) -> Ints:
        """The numbers from one to another whose values are not known."""
        ks = np.arange(low, high + 1)
        is_known = np.zeros(len(ks), bool)
        for k in (*self.tried, *({low, high} - self.ends.keys())):
            if low <= k <= high:
                is_known[k - low] = True
        return ks[~is_known]


def chords(
    u: Floats, over_at: Callable[[int, Ints], Floats]
) -> Callable[[CountSearch, Ints, int, int], Floats]:
    """The chord bound as ``bounds_at``, given the factor u of x in D / d, by k.

    ``over_at`` bounds what the sums at one k lack of the true ones, for several numbers.
    """

    def bounds_at(search: CountSearch, ks: Ints, first: int, last: int) -> Floats:
        span = float(u[last] - u[first])
        t = (u[ks] - u[first]) / span if span else np.zeros(len(ks))
        between = (t > -1e-12) & (t < 1.0 + 1e-12)
        ends = [search.bounds(k)[ks] + over_at(k, ks) for k in (first, last)]
        some = (ends[0] > -np.inf) & (ends[1] > -np.inf)  # that some hypothesis has
        total = np.zeros(len(ks))
        total[some] = (1.0 - t[some]) * ends[0][some] + t[some] * ends[1][some]
        bounds = search.gain[ks] * total + search.offset[ks] + search.errors[ks]
        return np.where(some, np.where(between, bounds, np.inf), -np.inf)

    return bounds_at


def branch_and_bound(
    search: CountSearch,
    lower: float = -np.inf,
    gap: float = 0.0,
    stop: Callable[[float, float], bool] | None = None,
) -> tuple[int, float]:
    """The best number of ones, and an upper bound on all values: branch and bound, best first.

    All numbers between ``low`` and ``high`` are bounded; whoever allows these themselves tries them
    before, or gives them as ``ends``.
    ``lower`` is a value that is known to be reached; the best one and the bound may stay ``gap``
    apart. ``stop`` is called with both before a number is tried; True ends the search. Without it,
    ``limits.MOST_TRIES`` numbers are tried at most.
    """
    search.value(search.first)
    todo: list[tuple[float, int, int, Ints]] = []  # the greatest bound first

    def add(low: int, high: int, ks: Ints) -> None:
        if len(ks):
            greatest = search.lower_caps(ks, low, high)
            heappush(todo, (-greatest, low, high, ks))

    for low, high in pairwise(sorted({search.low, search.high, *search.tried, *search.ends})):
        add(low, high, search.between(low, high))
    for k in list(search.tried):
        search.lower_caps(np.array([k]), k, k)
    in_vain = 0
    while True:
        best = max(search.tried, key=search.value)
        level = max(lower, search.value(best))
        enough = level  # minus infinity where no hypothesis has the numbers that were tried
        if level > -np.inf:
            enough += max(gap, _CLOSE * abs(level))
        greatest = -todo[0][0] if todo else -np.inf
        late = len(search.tried) >= limits.MOST_TRIES
        if stop is not None:
            late = stop(level, max(level, float(search.caps.max())))
        if greatest <= enough or late:
            break
        _, low, high, ks = heappop(todo)
        left = ks[search.caps[ks] > enough]
        k = int(left[search.caps[left].argmax()])
        if min(k - left[0], left[-1] - k) * 8 < left[-1] - left[0]:
            k = int(left[len(left) // 2])  # a greatest bound at the edge would cut off little
        search.sums(k)
        # Where bounds are too wide to exclude what was tried, those beyond it are not looked at.
        above = search.lower_caps(np.array([k]), k, k) - enough
        is_in_vain = above > _WIDE * abs(level) and search.value(k) < enough
        in_vain += is_in_vain
        if not is_in_vain or (k > search.first and in_vain < limits.TRIED_IN_VAIN):
            add(low, k, left[left < k])
        if not is_in_vain or (k < search.first and in_vain < limits.TRIED_IN_VAIN):
            add(k, high, left[left > k])
    return best, float(search.caps.max())
