"""The best sum of worths over sentences, for every total of their counts: Lagrangian relaxation.

Sentence s has the worth U_s(j) of its best hypothesis that counts j. For a price p of an item,

    sum over s of  max over j of (U_s(j) - p j)   +   p k

is at least the best sum of worths of hypotheses that count k together, and the least such bound
over all prices is the sum of the concave hulls of U_s, whose pieces are taken in the order of their
slopes. Where a total falls between two pieces, hypotheses with this total reach the bound; inside
a piece it may lie above them, and the total is met by giving up a little in some sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.compiled import kernels
from fsmeu.trellis.roundings import relative_error

EXACT_SUMS = 1 << 26  # sums of worths up to which those of all totals are exact: .1 s


@dataclass(frozen=True, eq=False)
class Hulls:
    """The sum of the concave hulls of the sentences' worths.

    Attributes:
        knots: the totals between pieces, ascending, (pieces + 1,).
        values: the bound there, (pieces + 1,).
        first: the least count of each sentence, (sentences,).
        sentence: the sentence of each piece, in the order of the totals.
        end: the count of that sentence after the piece.
        size: the sum of the absolute values of all that was added.
    """

    knots: Ints
    values: Floats
    first: Ints
    sentence: Ints
    end: Ints
    size: float

    def bounds(self, size: int) -> Floats:
        """The bound for totals 0, ..., size - 1, (size,), wrong where no hypotheses have them."""
        return np.interp(np.arange(size), self.knots, self.values)

    def piece(self, total: int) -> int:
        """How many pieces are taken up to a total."""
        return int(np.searchsorted(self.knots, total, side="right")) - 1

    def ends(self, pieces: int) -> Ints:
        """The counts of the sentences when so many pieces are taken, (sentences,)."""
        found: Ints = self.first.copy()
        np.maximum.at(found, self.sentence[:pieces], self.end[:pieces])
        return found


def hulls_of(tables: Sequence[Floats]) -> Hulls:
    """The hulls of the best worth of each count of all sentences, -inf where there is none."""
    widest = max(map(len, tables), default=0)
    held = np.full((len(tables), widest), -np.inf)
    for row, table in zip(held, tables, strict=True):
        row[: len(table)] = table
    slopes = np.empty(held.shape)
    kernels("best_kernels", held.size).corners(held, slopes, np.zeros(widest, np.int64))
    sentence, end = np.nonzero(~np.isnan(slopes))  # all corners, by sentence and count
    opens = np.diff(sentence, prepend=-1) != 0
    first, worth = end[opens], held[sentence, end]
    gains = np.diff(worth, prepend=0.0)[~opens]
    lengths = np.diff(end, prepend=0)[~opens]
    sentence, end = sentence[~opens], end[~opens]
    order = np.argsort(-slopes[sentence, end], kind="stable")  # those of a sentence in their order
    return Hulls(
        knots=int(first.sum()) + np.append(0, np.cumsum(lengths[order])),
        values=worth[opens].sum() + np.append(0.0, np.cumsum(gains[order])),
        first=first,
        sentence=sentence[order],
        end=end[order],
        size=float(np.abs(worth[opens]).sum() + np.abs(gains).sum()),
    )


def best_sums(tables: Sequence[Floats]) -> tuple[Floats, Callable[[int], Ints], float]:
    """The best sum of worths for each total, counts of the sentences, and a bound on roundings.

    Where there are many, sums are bounds from above, and the counts that a function gives for a
    total have the total of the knot below it.
    """
    size = 1 + sum(len(table) - 1 for table in tables)
    if size * sum(map(len, tables)) > EXACT_SUMS:
        hulls = hulls_of(tables)
        error = relative_error(2 * len(hulls.knots) + 8) * hulls.size
        return hulls.bounds(size), lambda total: hulls.ends(hulls.piece(total)), error
    sums, greatest = [np.zeros(1)], 0.0
    for table in tables:
        before, after = sums[-1], np.full(len(sums[-1]) + len(table) - 1, -np.inf)
        for j, worth in enumerate(table):
            part = after[j : j + len(before)]
            np.maximum(part, before + worth, out=part)
        sums.append(after)
        greatest += float(np.abs(table[np.isfinite(table)]).max())

    def counts(total: int) -> Ints:
        found = np.zeros(len(tables), np.int64)
        for s in range(len(tables) - 1, -1, -1):
            j = np.arange(max(0, total - len(sums[s]) + 1), min(total, len(tables[s]) - 1) + 1)
            found[s] = j[(sums[s][total - j] + tables[s][j]).argmax()]
            total -= int(found[s])
        return found

    return sums[-1], counts, relative_error(len(tables) + 8) * greatest
