"""Bounds on the best sums of scores of one sentence by its count, from best paths at prices.

At a price for each item counted, a best path needs no table by count, and its value bounds the best
sums of all counts (``trellis/price_kernels.py``): a few prices take the place of tables where sums
need not be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.price_kernels import PriceBuffers, best_at_prices, set_priced_steps
from fsmeu.trellis.roundings import relative_error

_ASIDE = 0.04  # the part of a price by which those differ that tell how fast counts fall
_BETWEEN = (0.1, 0.7)  # where bounds are close between two counts, of which the first is nearer
_FARTHER = (0.0, 0.1, 0.4)  # parts of a price by which those for farther counts differ


class CountsAsked(NamedTuple):
    """Near which counts bounds are to be close."""

    near: int
    far: int
    like: Floats  # sums by count, (k,), of scores that are about the same
    size: float  # a bound on sums of scores, signs aside

    def prices(self, parts: tuple[float, float]) -> tuple[float, float]:
        """Prices at which best paths have counts that are such parts of the way between them."""
        counts = np.flatnonzero(np.isfinite(self.like))
        if len(counts) < 2:
            return 0.0, 0.0
        places = [self.near + part * (self.far - self.near) for part in parts]
        prices = np.interp(places, counts, np.gradient(self.like[counts], counts))
        return float(prices[0]), float(prices[1])


class _Filled(NamedTuple):
    """Which scores of steps arrays have."""

    scores: Scores
    factors: Floats  # what their lanes are multiplied by, (lanes,)


@contextmanager
def priced_sums(trellis: SplitTrellis, n: int, totals: int) -> Iterator[PricedSums]:
    """Bounds on sums of scores of a sentence of length n by count, from 0 to totals - 1."""
    workspace = trellis.workspace
    with workspace.borrowed("prices", n, workspace.price_buffers) as buffers:
        yield PricedSums(trellis, n, totals, buffers)


class PricedSums:
    """Bounds on sums of scores of a sentence of length n by count, from 0 to totals - 1."""

    def __init__(self, trellis: SplitTrellis, n: int, totals: int, buffers: PriceBuffers) -> None:
        self.trellis = trellis
        self.n = n
        self.buffers = buffers
        self.filled: _Filled | None = None
        self.ks = np.arange(totals)
        # Counts that paths may have: multiples of what divides all that ways count.
        divisor = int(np.gcd.reduce(trellis.z_tables.arrivals.counted))
        self.may_be = self.ks % divisor == 0 if divisor else self.ks == 0
        self.size = 0.0  # a bound on sums of scores, signs aside
        self.rounding = relative_error((len(trellis.tapes.terms) + 4) * n + 64)
        self.likeliest = 0  # the count whose bound is worth most; 0 before it is known
        self.reached = 0  # the count of the path that is worth most
        self.lines = np.zeros((0, 3))  # prices, values and counts of paths

    @property
    def rounded(self) -> float:
        """A bound on the roundings of bounds at counts of paths, and of these paths themselves."""
        most = np.abs(self.lines[:, 0] * self.lines[:, 2]).max()
        return 4 * self.rounding * (self.size + float(most))

    def greatest_sums(self, plain: Scores, size: float, worth: Floats, offset: Floats) -> Floats:
        """Bounds on the sums of scores by count, (k,), close where values are greatest.

        Args:
            plain: scores of the steps, of one lane.
            size: a bound on sums of scores, signs aside.
            worth: what sums are multiplied by for values, by count, (k,).
            offset: what is added to them, (k,).
        """
        falls = -np.gradient(np.log(worth))
        added = np.gradient(offset) / worth
        self.size = size
        scale = size or 1.0  # without scores, as where y surely has no item, any will do
        price = scale * float(falls[len(falls) // 2])
        self._set_steps(plain, np.ones(1))
        sides = self._at_prices(0.4 * price, 0.8 * price)
        lines = sides
        for _ in range(limits.MOST_PRICES):
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
        self.lines = lines
        bounds = self._bounds(lines, self.size)
        near = slice(max(1, int(sides[1, 2])), max(1, int(sides[0, 2])) + 1)
        self.likeliest = near.start + int(np.argmax((worth * bounds + offset)[near]))
        return bounds

    def bounds_between(self, scores: Scores, factors: Floats, ask: CountsAsked) -> Floats:
        """Bounds on the sums of scores by count, (k,), close between two counts, by one pass.

        Args:
            scores: scores of the steps.
            factors: what their lanes are multiplied by, (1, lanes).
            ask: the counts; bounds are closest near the first.
        """
        self._set_steps(scores, factors[0])
        return self._bounds(self._at_prices(*ask.prices(_BETWEEN)), ask.size)

    def bounds_beside(self, scores: Scores, factors: Floats, ask: CountsAsked) -> Floats:
        """Bounds on the sums of scores by count, (k,), of fewer and of more than two counts.

        Args:
            scores: scores of the steps.
            factors: what their lanes are multiplied by, (1, lanes).
            ask: the counts.
        """
        self._set_steps(scores, factors[0])
        dear, cheap = ask.prices((0.0, 1.0))
        scale = max(abs(dear), abs(cheap), ask.size / len(self.ks))
        lines = [self._at_prices(cheap - x * scale, dear + x * scale) for x in _FARTHER]
        return self._bounds(np.concatenate(lines), ask.size)

    def _set_steps(self, scores: Scores, factors: Floats) -> None:
        """Fills the scores of steps, whose lanes are multiplied by factors; unless they are it."""
        filled = self.filled
        if filled is not None and filled.scores is scores and (filled.factors == factors).all():
            return
        run = kernel(set_priced_steps, self._work(1))
        run(self.trellis.z_tables, self.n, scores, factors, self.buffers)
        self.filled = _Filled(scores, factors.copy())

    def _at_prices(self, cheap: float, dear: float) -> Floats:
        """Prices, values and counts of best paths at two prices, (2, 3)."""
        lines = np.array([[cheap, 0.0, 0.0], [dear, 0.0, 0.0]])
        run = kernel(best_at_prices, self._work(2))
        run(self.trellis.z_tables, self.n, self.buffers, lines)
        return lines

    def _work(self, passes: int) -> int:
        """Sums and maxima of so many passes, about."""
        tables = self.trellis.z_tables
        return passes * (len(tables.entries.source) + len(tables.arrivals.source)) * self.n

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
