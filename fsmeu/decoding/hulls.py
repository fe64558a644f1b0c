"""The best sums of scores of several sentences, by the total of their counts.

Each sentence has a table of the best score of a hypothesis for each count of its own. Of few
sentences the best sums of all totals are found one sentence after the other; of many, they are
bounded by concave hulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.trellis.best_kernels import corners
from fsmeu.trellis.kernels import kernel


class BestSums(NamedTuple):
    """The best sums of scores of several sentences.

    Where there are many, sums are bounds from above, and ``ends`` has the counts of the sentences
    for the next smaller total for which they reach the bound.
    """

    sums: Floats  # by total, (totals,)
    is_reached: Bools  # whether hypotheses with this total reach it, (totals,)
    ends: Callable[[int], Ints]  # the counts of the sentences, (sentences,), by total


class Hulls:
    """The sum of the concave hulls of the sentences' best scores by count: Lagrangian relaxation.

    The tables hold the best score of each count of a sentence, -inf where there is none.

    For a price p of an item, the sum over sentences s of max over j of (U_s(j) - p j), and p k, is
    at least the best sum of scores of hypotheses that count k together. The least such bound over
    all prices is the sum of the concave hulls of U_s, whose pieces are taken in the order of their
    slopes. Where a total falls between two pieces, hypotheses with this total reach the bound.
    """

    def __init__(self, tables: Sequence[Floats]) -> None:
        widest = max(map(len, tables), default=0)
        scores = np.full((len(tables), widest), -np.inf)
        for row, table in zip(scores, tables, strict=True):
            row[: len(table)] = table
        slopes = np.empty(scores.shape)
        kernel(corners, scores.size)(scores, slopes, np.zeros(widest, np.int64))
        sentence, end = np.nonzero(~np.isnan(slopes))  # all corners, by sentence and count
        opens = np.diff(sentence, prepend=-1) != 0
        heights = scores[sentence, end]
        gains = np.diff(heights, prepend=0.0)[~opens]
        lengths = np.diff(end, prepend=0)[~opens]
        self.first = end[opens]  # the least count of each sentence
        sentence = sentence[~opens]
        end = end[~opens]
        order = np.argsort(-slopes[sentence, end], kind="stable")  # by sentence in their order
        # The totals between pieces, ascending, and the bound there, (pieces + 1,).
        self.knots: Ints = int(self.first.sum()) + np.append(0, np.cumsum(lengths[order]))
        self.values: Floats = heights[opens].sum() + np.append(0.0, np.cumsum(gains[order]))
        self.sentence = sentence[order]  # the sentence of each piece
        self.end = end[order]  # and its count after that

    def ends(self, total: int) -> Ints:
        """The counts of the sentences when all pieces up to a total are taken, (sentences,)."""
        counts: Ints = self.first.copy()
        pieces = int(np.searchsorted(self.knots, total, side="right")) - 1
        np.maximum.at(counts, self.sentence[:pieces], self.end[:pieces])
        return counts

    def sums(self, size: int) -> BestSums:
        """The bounds for totals below ``size``."""
        totals = np.arange(size)
        bounds = np.interp(totals, self.knots, self.values)
        bounds[(totals < self.knots[0]) | (totals > self.knots[-1])] = -np.inf
        return BestSums(bounds, np.isin(totals, self.knots), self.ends)


def best_sums(tables: Sequence[Floats]) -> BestSums:
    """The best sums of scores of sentences, given their best scores by count."""
    size = 1 + sum(len(table) - 1 for table in tables)
    if len(tables) > 1 and size * sum(map(len, tables)) > limits.EXACT_SUMS:
        return Hulls(tables).sums(size)
    sums = [np.zeros(1)]
    for table in tables:
        before = sums[-1]
        after = np.full(len(before) + len(table) - 1, -np.inf)
        for j, score in enumerate(table):
            part = after[j : j + len(before)]
            np.maximum(part, before + score, out=part)
        sums.append(after)

    def ends(total: int) -> Ints:
        counts = np.zeros(len(tables), np.int64)
        for s in range(len(tables) - 1, -1, -1):
            j = np.arange(max(0, total - len(sums[s]) + 1), min(total, len(tables[s]) - 1) + 1)
            counts[s] = j[(sums[s][total - j] + tables[s][j]).argmax()]
            total -= int(counts[s])
        return counts

    return BestSums(sums[-1], np.isfinite(sums[-1]), ends)
