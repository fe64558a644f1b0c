"""What the pairs after a position are made of in best paths: bases and the offsets on them.

A pair that is reached in one way, from cells with one base, keeps that base. A base is made for a
set of cells with several bases, whichever pairs are reached from it; and one where several ways,
which count different amounts, meet in a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct_rows

__all__ = ["Ends", "Moved", "Runs", "ends_of"]

Ints = NDArray[np.int64]
Way = tuple[int, int, int, Ints]

_KEPT, _MADE, _JOINED = range(3)
"""A base after is one of before, comes from one set of several runs, or joins several ways."""


@dataclass(frozen=True, eq=False)
class Moved:
    """Bases after a position that are those of before, or of sets, with an amount counted.

    Attributes:
        amount: what is counted.
        old: the bases before, or the places of the sets among those with a base of their own.
        new: the bases after.
    """

    amount: int
    old: Ints
    new: Ints


class Runs:
    """The runs of all sets.

    Attributes:
        base: the base of each run.
        first: the first run of each set.
        place: for each set, its place among the sets of several runs, -1 for sets of one.
        several: for these, the first run and the one after the last.
    """

    def __init__(self, sets: Ints, base: Ints) -> None:
        self.base = base
        count = int(sets.max(initial=-1)) + 1
        sizes = np.bincount(sets, minlength=count)
        self.first = np.cumsum(sizes) - sizes
        many = np.flatnonzero(sizes > 1)
        self.place = np.full(count, -1, np.int64)
        self.place[many] = np.arange(len(many))
        begins = self.first[many].tolist()
        self.several = tuple(zip(begins, (self.first + sizes)[many].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Ends:
    """What the pairs after are made of: fields of a plan."""

    kept: tuple[Moved, ...]
    made: tuple[Moved, ...]
    joined: tuple[tuple[int, tuple[Way, ...]], ...]
    bases: int
    base: Ints
    run: Ints
    late: Ints


def ends_of(target: Ints, counted: Ints, number: Ints, late: Ints, runs: Runs, none: int) -> Ends:
    """What each pair after is made of; bases are numbered in the order of the pairs.

    Args:
        target: the pair after of each way; a way is a target and an amount, ways are in order.
        counted: its amount.
        number: its set of cells.
        late: its score rows, (terms, ways).
        runs: the runs of all sets.
        none: the score row that is 0.
    """
    ways = np.bincount(target)
    begins = np.cumsum(ways) - ways
    joined, place = ways > 1, runs.place[number[begins]]
    run = runs.first[number[begins]]
    kind = np.where(joined, _JOINED, np.where(place < 0, _KEPT, _MADE))
    which = np.choose(kind, [runs.base[run], place, np.arange(len(ways))])
    amount = np.where(joined, 0, counted[begins])
    first, base = _in_order_of_pairs(kind, which, amount)
    kinds, old, amounts = kind[first], which[first], amount[first]
    meet: list[tuple[int, tuple[Way, ...]]] = []
    if joined.any():
        listed = _ways(counted, number, late, runs)
        parts = zip(base[joined], begins[joined], (begins + ways)[joined], strict=True)
        meet = [(int(new), tuple(listed[begin:end])) for new, begin, end in parts]
    return Ends(
        kept=_moved(kinds == _KEPT, old, amounts),
        made=_moved(kinds == _MADE, old, amounts),
        joined=tuple(meet),
        bases=len(first),
        base=base,
        run=np.where(kind == _KEPT, run, len(runs.base)),
        late=np.ascontiguousarray(np.where(joined, none, late[:, begins])),
    )


def _in_order_of_pairs(*columns: Ints) -> tuple[Ints, Ints]:
    """The first pair of each distinct row of columns, ascending, and the number of each pair."""
    first, number = distinct_rows(columns)
    order = np.argsort(first)
    return first[order], np.argsort(order)[number]


def _moved(these: NDArray[np.bool_], old: Ints, amounts: Ints) -> tuple[Moved, ...]:
    """Bases of a kind, by what is counted, in the order in which the amounts occur.

    Args:
        these: which bases after are of the kind.
        old: for each base after, what it comes from.
        amounts: for each base after, what is counted.
    """
    found = dict.fromkeys(amounts[these].tolist())
    groups = ((amount, np.flatnonzero(these & (amounts == amount))) for amount in found)
    return tuple(Moved(amount, old[new], new) for amount, new in groups)


def _ways(counted: Ints, number: Ints, late: Ints, runs: Runs) -> list[Way]:
    """For each way its amount, run, place among the sets of several runs, and score rows."""
    place = runs.place[number]
    run = np.where(place < 0, runs.first[number], -1)
    return list(zip(counted.tolist(), run.tolist(), place.tolist(), late.T, strict=True))
