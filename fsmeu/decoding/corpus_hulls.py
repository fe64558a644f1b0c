"""The best sum of worths over sentences, for every total of their counts: Lagrangian relaxation.

Sentence s has the worth U_s(j) of its best hypothesis that counts j. For a price p of an item,

    sum over s of  max over j of (U_s(j) - p j)   +   p k

is at least the best sum of worths of hypotheses that count k together, and the least such bound
over all prices is the sum of the concave hulls of U_s, whose pieces are taken in the order of their
slopes. Where a total falls between two pieces, hypotheses with this total reach the bound; inside
a piece it may lie above them, and the total is met by giving up a little in some sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.compiled import kernels

__all__ = ["Hulls", "best_with_total", "hulls_of"]

CORPUS_EXCHANGES = 2_000_000  # exchanges between sentences that are tried to meet a total: a second


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


def best_with_total(
    tables: Sequence[Floats], hulls: Hulls, total: int, enough: float
) -> tuple[float, Ints | None] | None:
    """The best sum of worths with a total inside a piece, and the counts of the sentences.

    Starts from the counts at the end of the piece before, and exchanges in all sentences what does
    not cost more at the price of the piece than there is between the bound and what is known: this
    is a shortest path over sums of exchanges.

    Returns:
        The best sum of worths, or ``enough`` and None where none is greater; None where there are
        too many ways to exchange.
    """
    pieces = hulls.piece(total)
    ends, short = hulls.ends(pieces), total - int(hulls.knots[pieces])
    width = int(hulls.knots[pieces + 1] - hulls.knots[pieces])
    price = float(hulls.values[pieces + 1] - hulls.values[pieces]) / width
    bound = float(hulls.values[pieces]) + price * short
    spare = bound - enough
    if spare < 0:
        return enough, None
    states: dict[int, float] = {0: 0.0}
    taken: list[tuple[int, dict[int, int]]] = []
    work = 0
    for s, table in enumerate(tables):
        held = int(ends[s])
        costs = (table[held] - price * held) - (table - price * np.arange(len(table)))
        options = [int(j) for j in np.flatnonzero(costs <= spare) if j != held]
        work += len(states) * (1 + len(options))
        if work > CORPUS_EXCHANGES:
            return None
        if options:
            states, chosen = _exchanged(states, costs, options, held, spare)
            taken.append((s, chosen))
    if short not in states:
        return enough, None
    offset, found = short, ends.copy()
    for s, chosen in reversed(taken):
        if offset in chosen:
            change = chosen[offset]
            found[s] += change
            offset -= change
    return bound - states[short], found


def _exchanged(
    states: dict[int, float], costs: Floats, options: list[int], held: int, spare: float
) -> tuple[dict[int, float], dict[int, int]]:
    """The least cost of each sum of changes with one more sentence, and what it changes there.

    A sum that is not in the second is reached without a change of this sentence.
    """
    after, chosen = dict(states), {}
    for offset, cost in states.items():
        for j in options:
            reached, sum_of_costs = offset + j - held, cost + max(0.0, float(costs[j]))
            if sum_of_costs <= spare and sum_of_costs < after.get(reached, np.inf):
                after[reached] = sum_of_costs
                chosen[reached] = j - held
    return after, chosen
