"""One sentence of great length: bounds on best sums of scores by count, from best paths at prices.

At a price p for each item counted, a best path needs no table by count (``trellis/price_kernels``):

    A(k)  <=  F(p) + p k        for every price p and count k                 (Lagrangian bound),

with equality for the count of the path found. The least bound at k is found by cutting planes: the
price where the two lines that are lowest there, one of fewer and one of more items, meet. It is the
concave hull of A at k. What is left between that and the best path with k items is closed by paths
that are near the best at this price (``trellis/near_best.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.scored import Best, Sums, Worth, scores_of_one
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.lanes import CountRange, LaneGroup
from fsmeu.trellis.near_best import NearBest
from fsmeu.trellis.price_kernels import PriceBuffers, best_at_prices, set_priced_steps

_SAME = 1e-13  # the part of a value by which lines must differ to be told apart
_AT_ONCE = 2  # prices
_UNKNOWN = 1e-3  # the part of the best score in which paths are looked for where none is known
_BESIDE = 12  # totals on either side of one whose sums are found with it,
_PART_BESIDE = 64  # and one more for so many labels
_ASIDE = 0.01  # the part of a price by which two that are tried together differ


class PricedSentence:
    """One sentence of any loss, by prices of items."""

    def __init__(self, group: LaneGroup, nodes: Floats, reach: CountRange) -> None:
        self.group = group
        self.logs = np.zeros(len(nodes))
        self.scores = scores_of_one(group, nodes, reach)
        self.trellis = group.trellis
        self.buffers = group.trellis.workspace.price_buffers(group.n)
        self.ks = np.arange(group.most_counted[0] + 1)
        # Counts that paths may have: multiples of what divides all that steps count.
        divisor = int(np.gcd.reduce(group.trellis.paths.arrivals.counted))
        self.may_be = self.ks % divisor == 0 if divisor else self.ks == 0
        self._weights = np.zeros(0)  # of which steps have scores
        self._lines = np.zeros((0, 3))  # prices, values and counts of best paths at a weighting
        self._known: dict[bytes, Floats] = {}  # these lines by weighting

    def sums(self, weights: Floats, near: Sequence[int], worth: Worth | None = None) -> Sums:
        """Bounds on the best sums at a weighting by total, close at some totals.

        If it is told what sums are worth, bounds are close at the best total as well.
        """
        self._weigh(weights, near, worth is None)
        if worth is not None:
            self._climb(weights, worth)
        price, value, count = self._lines.T
        bounds = (value[:, None] + price[:, None] * self.ks).min(axis=0)
        bounds[~self.may_be] = -np.inf
        is_reached = np.zeros(len(bounds), bool)
        is_reached[count.astype(int)] = True
        return Sums(bounds, is_reached)

    def _climb(self, weights: Floats, worth: Worth) -> None:
        """Adds lines at prices that are what an item costs, until the best total stays."""
        for _ in range(limits.MOST_PRICES):
            price, value, count = self._lines.T
            totals = count.astype(int)
            values = worth.gain[totals] * (value + price * count) + worth.offset[totals]
            values[totals < worth.begin] = -np.inf
            best = int(values.argmax())
            k = max(int(totals[best]), worth.begin)
            cost = worth.price(k, float(value[best] + price[best] * count[best]))
            aside = _ASIDE * abs(cost)
            if np.abs(price - cost).min() <= 2 * aside:
                return
            self._price(weights, cost - aside, cost + aside)

    def best(self, weights: Floats, total: int, needed: Floats) -> Best:
        """The best path with a total, if its sum is above what is needed."""
        if self.has_table(total):
            return self._tabled(weights, total)
        self._weigh(weights, [total])
        price = _lowest(self._lines, total)[0]
        paths = NearBest(self.trellis.paths, self._filled(weights).score, float(price))
        is_open = not np.isfinite(needed[total])
        if is_open:  # no path with the total is known
            hull = paths.best + price * self.ks
            needed = np.where(self.ks == total, hull - _UNKNOWN * np.abs(hull), np.inf)
        found = paths.path(total, needed)
        if not found.is_known or (is_open and found.labels is None):
            return Best(False)
        sums = np.maximum(found.by_count, paths.best - found.gap) + price * self.ks
        labels = None if found.labels is None else [found.labels]
        return Best(True, float(sums[total]), labels, sums)

    def _counts(self, total: int) -> Ints:
        """The counts after each position on the way to a total, or to one beside it, (2, n + 1)."""
        n = self.group.n
        beside = _BESIDE + n // _PART_BESIDE
        return self.trellis.workspace.all_counts(n, total + beside, total - beside)

    def has_table(self, total: int) -> bool:
        """Whether a table of the counts on the way to a total is small."""
        cells = self.trellis.workspace.cells_of_best(self.group.n, self._counts(total))
        return cells <= limits.MOST_SCORES

    def _tabled(self, weights: Floats, total: int) -> Best:
        """The best path with a total by a table of counts, and best sums of those beside it."""
        n = self.group.n
        counts = self._counts(total)
        found = self.trellis.best(self.scores, weights[None], n, np.array([total]), counts)
        some = slice(counts[0, n], counts[1, n] + 1)
        sums = np.full(len(self.ks), np.inf)
        sums[some] = found.by_count[0, some]
        score = float(sums[total])
        return Best(True, score, list(found.labels) if score > -np.inf else None, sums)

    def _weigh(self, weights: Floats, near: Sequence[int], is_close: bool = True) -> None:
        """Finds lines of a weighting that bound some totals closely, if they are not known."""
        before = self._lines
        self._lines = self._known.get(weights.tobytes(), np.zeros((0, 3)))
        if not len(self._lines):
            if not len(before):
                self._price(weights, 0.0)
                likely = float(self._lines[0, 1]) / max(1.0, 2.0 * near[0])
                self._price(weights, likely, 3.0 * likely)
            else:
                lines = np.concatenate(list(self._known.values()))
                price, _, count = lines[lines[:, 2].argsort(kind="stable")].T
                self._price(weights, *np.interp(near, count, price).tolist())
        for k in near if is_close else ():
            self._tighten(weights, k)

    def _filled(self, weights: Floats) -> PriceBuffers:
        """Arrays with the scores of steps at a weighting."""
        if self._weights.tobytes() != weights.tobytes():
            fill = kernel(set_priced_steps, self.scores.value.size)
            fill(self.trellis.paths, self.group.n, self.scores, weights, self.buffers)
            self._weights = weights
        return self.buffers

    def _price(self, weights: Floats, *prices: float) -> None:
        """Adds the lines of some prices."""
        tables = self.trellis.paths
        work = self.group.n * (len(tables.entries.source) + len(tables.arrivals.source))
        buffers = self._filled(weights)
        run = kernel(best_at_prices, work)
        for begin in range(0, len(prices), _AT_ONCE):
            lines = np.zeros((_AT_ONCE, 3))
            lines[:, 0] = [*prices[begin : begin + _AT_ONCE], prices[begin]][:_AT_ONCE]
            run(tables, self.group.n, buffers, lines)
            self._lines = np.append(self._lines, lines, axis=0)
        self._known[weights.tobytes()] = self._lines

    def _tighten(self, weights: Floats, k: int) -> None:
        """Adds lines until the bound at a count is that of the concave hull."""
        for _ in range(limits.MOST_PRICES):
            price, value, count = self._lines.T
            if (count == k).any() or not ((count < k).any() and (count > k).any()):
                return
            a = int(np.where(count < k, count, -np.inf).argmax())
            b = int(np.where(count > k, count, np.inf).argmin())
            score = value + price * count
            steps = count[b] - count[a]
            meet = float((score[b] - score[a]) / steps)
            between = float(price[b] + (price[a] - price[b]) * (count[b] - k) / steps)
            before = len(self._lines)
            self._price(weights, meet, between)
            new = float(self._lines[before, 1] + meet * k)
            if new >= score[a] + meet * (k - count[a]) - _SAME * abs(new):
                return  # no path is above the edge of the hull between both


def _lowest(lines: Floats, k: int) -> Floats:
    """Price, value and count of the line that is lowest at a count, (3,)."""
    lowest: Floats = lines[(lines[:, 1] + lines[:, 0] * k).argmin()]
    return lowest
