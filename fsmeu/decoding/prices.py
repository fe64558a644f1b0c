"""The best sums of scores of one sentence by its count: exact near a count, bounded elsewhere.

At a price for each item counted, a best path needs no table by count, and its value bounds the best
sums of all counts (``trellis/price_kernels.py``). Where the sums near a count are asked for, two
prices tell which counts paths may have after each position, and only these are looked at: some
dozens, however long the sentence is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import CountRanges, Scores
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.price_kernels import (
    MOST_PRICES,
    CountsAsked,
    FoundPrices,
    PriceBuffers,
    best_at_prices,
    best_in_ranges,
    counts_of_best,
    set_priced_steps,
)
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.z_tables import COUNTED

_MOST_LINES = 12  # pairs of prices that are tried to find the best of all counts
_ASIDE = 0.04  # the part of a price by which those differ that tell how fast counts fall
_WIDTH = 24.0  # counts by which prices are meant to differ at first
_MOST_CUTS = 2  # pairs of prices that are tried to exclude counts far from the likeliest
_PARTS = (0.1, 0.7)  # where between two counts those are for which there are prices
BESIDE = 12  # counts on either side of the one asked for that are exact, too


class BestPath(NamedTuple):
    """A path with the best sum of scores of its count."""

    score: float
    labels: Ints  # (n,)


class Cuts(NamedTuple):
    """Bounds on sums of scores by count, and where lower ones are looked for."""

    sums: Floats  # the bounds, (k,)
    values: Callable[[Floats], Floats]  # bounds on values, (k,), by bounds on sums
    level: float  # values that are lower are not looked at
    known: slice  # counts that are not looked at
    size: float  # a bound on sums of scores, signs aside


class _Filled(NamedTuple):
    """Which scores of steps arrays have."""

    scores: Scores
    factors: Floats  # what their lanes are multiplied by, (lanes,)


@contextmanager
def priced_sums(trellis: SplitTrellis, n: int, totals: int) -> Iterator[PricedSums]:
    """Best sums of scores of a sentence of length n by count, from 0 to totals - 1."""
    workspace = trellis.workspace
    with workspace.borrowed("prices", n, workspace.price_buffers) as buffers:
        yield PricedSums(trellis, n, totals, buffers)


class PricedSums:
    """Best sums of scores of a sentence of length n by count, from 0 to totals - 1."""

    def __init__(self, trellis: SplitTrellis, n: int, totals: int, buffers: PriceBuffers) -> None:
        self.trellis = trellis
        self.n = n
        self.buffers = buffers
        self.filled: _Filled | None = None
        self.ks = np.arange(totals)
        # Counts that paths may have: multiples of what divides all that ways count.
        divisor = int(np.gcd.reduce(trellis.z_tables.way[:, COUNTED]))
        self.may_be = self.ks % divisor == 0 if divisor else self.ks == 0
        self.size = float(trellis.greatest[0, n])  # a bound on sums of scores, signs aside
        self.rounding = relative_error((len(trellis.tapes.terms) + 4) * n + 64)
        self.likeliest = 0  # the count whose bound is worth most; 0 before it is known
        self.reached = 0  # the count of the path that is worth most
        self.lines = np.zeros((0, 3))  # prices, values and counts of paths
        self.prices = np.zeros((0, 2))  # counts of best paths, ascending, and prices
        self.rate = 1.0  # items less for a price that is greater by 1
        self.ranges: dict[int, CountRanges] = {}  # by count, those of the last scores

    def greatest_without_signs(self, plain: Scores, limit: float) -> float:
        """A bound on the sums of scores over the steps of any path, signs aside, of one lane.

        Where all amounts of a score row have one sign, a score tells it. ``limit`` is a bound that
        is known.
        """
        self.size = limit
        amounts = self.trellis.amounts
        for begins in amounts.row_begins:
            row = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
            amount = amounts.row_amount[begins[0] : begins[-1]]
            if np.intersect1d(row[amount < 0], row[amount > 0]).size:
                return self.size
        self._set_steps(plain._replace(value=np.abs(plain.value)), np.ones(1))
        most = float(self._at_prices(0.0, 0.0)[0, 1])
        self.size = min(self.size, most * (1 + 1e-6))
        return self.size

    @property
    def rounded(self) -> float:
        """A bound on the roundings of bounds at counts of paths, and of these paths themselves."""
        most = np.abs(self.lines[:, 0] * self.lines[:, 2]).max()
        return 4 * self.rounding * (self.size + float(most))

    def greatest_sums(self, plain: Scores, worth: Floats, offset: Floats) -> Floats:
        """Bounds on the sums of scores by count, (k,), close where values are greatest.

        Args:
            plain: scores of the steps, of one lane.
            worth: what sums are multiplied by for values, by count, (k,).
            offset: what is added to them, (k,).
        """
        falls = -np.gradient(np.log(worth))
        added = np.gradient(offset) / worth
        scale = self.size or 1.0  # without scores, as where y surely has no item, any will do
        price = scale * float(falls[len(falls) // 2])
        self._set_steps(plain, np.ones(1))
        sides = self._at_prices(0.4 * price, 0.8 * price)
        lines = sides
        for _ in range(_MOST_LINES):
            self.reached = k = _most_worth(lines, worth, offset)
            best = float(self._bounds(lines, self.size)[k])
            price = best * float(falls[k]) - float(added[k]) if k else 0.25 * price
            if len(lines) > 2 and sides[0, 0] <= price <= sides[1, 0]:
                break
            aside = _ASIDE * max(abs(price), 1e-9 * scale)
            sides = self._at_prices(price - aside, price + aside)
            lines = np.append(lines, sides, axis=0)
        far = self._at_prices(2.0 * abs(price), 6.0 * abs(price))
        lines = np.append(lines, far, axis=0)
        self.rate = max(1.0, float(sides[0, 2] - sides[1, 2])) / float(sides[1, 0] - sides[0, 0])
        self.lines = lines
        self._add_prices(lines)
        bounds = self._bounds(lines, self.size)
        near = slice(max(1, int(sides[1, 2])), max(1, int(sides[0, 2])) + 1)
        self.likeliest = near.start + int(np.argmax((worth * bounds + offset)[near]))
        return bounds

    def sums(self, scores: Scores, factors: Floats, k: int, size: float) -> Floats:
        """Bounds on the sums of scores by count, (k,), exact at k and mostly beside it.

        Args:
            scores: scores of the steps.
            factors: what their lanes are multiplied by, (1, lanes).
            k: the count.
            size: a bound on sums of scores, signs aside.
        """
        first = max(0, k - BESIDE)
        last = min(len(self.ks) - 1, k + BESIDE)
        near = slice(first, last + 1)
        price = self._price(k)
        slack = 1.0
        run = kernel(counts_of_best, self._work(4))
        self._set_steps(scores, factors[0])
        while True:
            spread = _WIDTH / self.rate
            ask = CountsAsked(first, last, price, spread, slack, self.rounding, size)
            found = _found_prices()
            ranges = self.trellis.workspace.all_counts(self.n)
            run(self.trellis.z_tables, self.n, ask, self.buffers, found, ranges)
            own = self._by_count(ranges)[near]
            bounds = self._bounds(found.tried[: found.number[0]], size)
            is_best = own >= bounds[near] - found.gap[0]
            if is_best[k - first] or found.gap[0] > size + bounds[k]:
                break
            slack *= 16
        self.ranges[k] = ranges
        self._add_prices(found.tried[: found.number[0]])
        bounds[near] = np.where(is_best, own, bounds[near])
        bounds[k] = own[k - first]
        return bounds

    def bounds_between(
        self, scores: Scores, factors: Floats, span: tuple[int, int], size: float
    ) -> Floats:
        """Bounds on the sums of scores by count, (k,), close between two counts, by one pass.

        Args:
            scores: scores of the steps.
            factors: what their lanes are multiplied by, (1, lanes).
            span: the counts; bounds are closest near the first.
            size: a bound on sums of scores, signs aside.
        """
        near, far = span
        prices = [self._price(near + part * (far - near)) for part in _PARTS]
        self._set_steps(scores, factors[0])
        return self._bounds(self._at_prices(min(prices), max(prices)), size)

    def lower_bounds(self, scores: Scores, factors: Floats, ask: Cuts) -> Floats:
        """Bounds on the sums of scores by count, (k,), lowered where values may be as great.

        Args:
            scores: scores of the steps.
            factors: what their lanes are multiplied by, (1, lanes).
            ask: bounds that are known, and where they are to be lowered.
        """
        sums = ask.sums
        cuts: list[int] = []
        self._set_steps(scores, factors[0])
        for _ in range(_MOST_CUTS):
            values = ask.values(sums)
            values[ask.known] = -np.inf
            left = np.flatnonzero(values >= ask.level)
            few = left[left < ask.known.start]
            many = left[left >= ask.known.stop]
            last = cuts
            cuts = [int(side[len(side) // 2]) for side in (few, many) if len(side)]
            if not cuts or cuts == last:
                break
            lines = self._at_prices(self._price(cuts[-1]), self._price(cuts[0]))
            sums = np.minimum(sums, self._bounds(lines, ask.size))
        return sums

    def path(self, scores: Scores, factors: Floats, k: int) -> BestPath:
        """A path with the best sum of scores of count k, which was asked for, or is 0."""
        ranges = self.ranges[k] if k else self.trellis.workspace.all_counts(self.n, 0)
        labels = np.zeros(self.n, np.int64)
        self._set_steps(scores, factors[0])
        by_count = self._by_count(ranges, k, labels)
        return BestPath(float(by_count[k]), labels)

    def _by_count(
        self, ranges: CountRanges, k: int | None = None, labels: Ints | None = None
    ) -> Floats:
        """The best sums of scores by count, of what is looked at; and labels of a path of count k.

        Without k, counts are all that are looked at at the end.
        """
        most = int(ranges.high[self.n]) if k is None else k
        by_count = np.full(most + 1, -np.inf)
        none = np.zeros(0, np.int64)
        layers = self.trellis.workspace.best_layers(self.n, ranges)
        run = kernel(best_in_ranges, self._work(1))
        labels = none if labels is None else labels
        run(self.trellis.z_tables, self.n, self.buffers.steps, layers, by_count, labels)
        return by_count

    def _set_steps(self, scores: Scores, factors: Floats) -> None:
        """Fills the scores of steps, whose lanes are multiplied by factors; unless they are it."""
        filled = self.filled
        if filled is not None and filled.scores is scores and (filled.factors == factors).all():
            return
        run = kernel(set_priced_steps, self._work(1))
        run(self.trellis.z_tables, self.n, scores, factors, self.buffers)
        self.filled = _Filled(scores, factors.copy())

    def _price(self, k: float) -> float:
        """A price at which best paths count about k items."""
        return float(np.interp(k, self.prices[:, 0], self.prices[:, 1]))

    def add_sums(self, sums: Floats) -> None:
        """Keeps the prices at which best paths have each count, by the best sums of all, (k,)."""
        counts = np.flatnonzero(np.isfinite(sums))
        if len(counts) > 1:
            prices = np.gradient(sums[counts], counts)
            self._add_prices(np.stack([prices, sums[counts], counts], axis=1))

    def _add_prices(self, lines: Floats) -> None:
        """Keeps the counts of best paths at prices, given with prices and values, (prices, 3)."""
        prices = np.append(self.prices, lines[:, [2, 0]], axis=0)
        self.prices = prices[np.argsort(prices[:, 0], kind="stable")]

    def _at_prices(self, cheap: float, dear: float) -> Floats:
        """Prices, values and counts of best paths at two prices, (2, 3)."""
        found = _found_prices()
        run = kernel(best_at_prices, self._work(2))
        run(self.trellis.z_tables, self.n, np.array([cheap, dear]), self.buffers, found)
        return found.tried[:2]

    def _work(self, passes: int) -> int:
        """Sums and maxima of so many passes, about."""
        tables = self.trellis.z_tables
        return passes * (len(tables.member) + len(tables.way)) * self.n

    def _bounds(self, lines: Floats, size: float) -> Floats:
        """The least bounds of some prices on sums by count, their roundings in it, (k,)."""
        price, value, counted = lines.T[:, :, None]
        off = self.rounding * (size + np.abs(price) * np.maximum(self.ks, counted))
        bounds: Floats = (value + price * self.ks + off).min(axis=0)
        bounds[~self.may_be] = -np.inf
        return bounds


def _most_worth(lines: Floats, worth: Floats, offset: Floats) -> int:
    """The count above 0 of the path whose value is greatest; 0 where all count nothing."""
    counts = lines[:, 2].astype(int)
    values = worth[counts] * (lines[:, 1] + lines[:, 0] * counts) + offset[counts]
    return int(counts[np.where(counts > 0, values, -np.inf).argmax()])


def _found_prices() -> FoundPrices:
    """An empty list of prices."""
    return FoundPrices(np.zeros((MOST_PRICES, 3)), np.zeros(1, np.int64), np.zeros(1))
