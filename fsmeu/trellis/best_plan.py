"""The structure of best paths at a position: which maxima are taken, and which values are shared.

The best worth of reaching a pair, for a count so far and a count k at the end, is a *base* plus an
*offset*. A base depends on both counts, an offset on k alone. Pairs that are reached from one pair,
or from pairs with one base, keep that base, and only their offsets change; a new base is made where
the maximum over several bases is taken. In the F-score of chunks there is one base for each
position where a chunk may have begun, whatever its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct, distinct_rows, first_places, row_keys
from fsmeu.trellis.product import ProductLayer
from fsmeu.trellis.sparse import distinct_sets
from fsmeu.trellis.tape import TapeLayer

__all__ = ["BestLayer", "BestPlan", "Moved", "plan_best"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class BestPlan:
    """The maxima of one position.

    Score rows are features of all terms, one term after the other; one more row past them is 0. A
    cell is a pair before with the scores that are added to it before a maximum is taken; cells of
    one set that have one base are a run.

    Attributes:
        features: for each term, the numbers of its rows of feature values that occur.
        most: the greatest amount that a step of the tape counts, allowed or not.
        source: for each cell, the pair before; the cells of a run, and the runs of a set, stand
            together.
        early: for each cell, the score rows that are added to it, (terms, cells).
        runs: where each run begins.
        run_base: the base before of each run.
        several: for each set of several runs, its first run and the one after its last.
        kept: bases of before that are bases after.
        made: bases after that come from the sets of several runs.
        joined: for each base after in which several ways to one pair meet, the ways: (amount, run
            or -1, place among the sets of several runs or -1, score rows).
        bases: the number of bases after.
        base: for each pair after, its base.
        run: for each pair after, the run whose offset it takes over; past the last run for none.
        late: for each pair after, the score rows that are added, (terms, pairs).
        product: the arcs from pair to pair, for tracing.
        rows: for each of these, its score rows, (terms, arcs).
        adds: for each of these, what it counts.
    """

    features: tuple[Ints, ...]
    most: int
    source: Ints
    early: Ints
    runs: Ints
    run_base: Ints
    several: tuple[tuple[int, int], ...]
    kept: tuple[Moved, ...]
    made: tuple[Moved, ...]
    joined: tuple[tuple[int, tuple[tuple[int, int, int, Ints], ...]], ...]
    bases: int
    base: Ints
    run: Ints
    late: Ints
    product: ProductLayer
    rows: Ints
    adds: Ints

    @cached_property
    def tables(self) -> BestTables:
        """What is found by several runs, moved and joined, as arrays."""
        ways = [(base, *way) for base, found in self.joined for way in found]
        late = [rows for *_, rows in ways]
        return BestTables(
            several=np.array(self.several, np.int64).reshape(-1, 2),
            kept=_moves(self.kept),
            made=_moves(self.made),
            ways=np.array([way[:4] for way in ways], np.int64).reshape(-1, 4),
            late=np.array(late, np.int64).reshape(len(ways), len(self.rows)).T.copy(),
        )

    @cached_property
    def is_stateless(self) -> bool:
        """True when there is one pair before and one after, and no step counts more than 1."""
        pairs = (len(self.product.before), len(self.product.after))
        return pairs == (1, 1) and bool(self.adds.max(initial=0) <= 1)

    @cached_property
    def arcs_to(self) -> tuple[Ints, Ints]:
        """The arcs in the order of the pairs after, and where those of each pair begin."""
        order = np.argsort(self.product.target, kind="stable")
        begins = np.searchsorted(self.product.target[order], np.arange(len(self.base) + 1))
        return order, begins


@dataclass(frozen=True, eq=False)
class BestTables:
    """Parts of a plan as arrays.

    Attributes:
        several: for each set of several runs, its first run and the one after its last.
        kept: amount, old and new base of each base that is kept.
        made: amount, place of the set and new base of each base that is made.
        ways: base, amount, run, and place among the sets of several runs, of each way to a pair to
            which there are several.
        late: the score rows of each way, (terms, ways).
    """

    several: Ints
    kept: Ints
    made: Ints
    ways: Ints
    late: Ints


def _moves(moves: Sequence[Moved]) -> Ints:
    """Amount, old and new of all moves, (moves, 3)."""
    rows = [np.stack([np.full(len(one.old), one.amount), one.old, one.new]) for one in moves]
    table: Ints = np.concatenate([np.zeros((3, 0), np.int64), *rows], axis=1).T
    return np.ascontiguousarray(table)


@dataclass(frozen=True, eq=False)
class BestLayer:
    """The best worth of reaching each pair of a layer: that of its base, plus its offset.

    Attributes:
        bases: (bases, counts so far, counts to come); the count k at the end is the sum of both.
        base: the base of each pair.
        offsets: (pairs, k).
    """

    bases: Floats
    base: Ints
    offsets: Floats


def plan_best(product: ProductLayer, tape: TapeLayer, base: Ints) -> BestPlan:
    """The plan of a position.

    Args:
        product: the arcs between pairs of tape states and states of what is allowed.
        tape: the steps of the tape at the position.
        base: the base of each pair before.
    """
    state = product.before.tape[product.source]
    counted = tape.counted[state, product.label]
    features, rows, known = _score_rows(tape, state, product.label)
    kinds = int(counted.max(initial=0)) + 1
    way, group = distinct(product.target * kinds + counted)
    first = first_places(group, len(way))
    apart = _told_apart(rows, first, group, len(way))
    early = np.where(apart[:, group], rows, known)
    late = np.where(apart, known, rows[:, first])
    place, cell = distinct_rows([product.source, *early])
    cells = np.stack([product.source, *early])[:, place]
    place = distinct_rows([group, cell])[0]
    owner, member = group[place], cell[place]
    number, sets, members = distinct_sets(owner, member, len(way))
    order = np.argsort(row_keys([sets, base[cells[0, members]]]), kind="stable")
    sets, members = sets[order], members[order]
    held = base[cells[0, members]]
    starts = np.flatnonzero((np.diff(sets, prepend=-1) != 0) | (np.diff(held, prepend=-1) != 0))
    runs = _Runs(sets[starts], held[starts])
    ends = _ends(product.target[first], counted[first], number, late, runs, known)
    return BestPlan(
        features=features,
        most=int(tape.counted.max(initial=0)),
        source=cells[0, members],
        early=cells[1:, members],
        runs=starts,
        run_base=runs.base,
        several=runs.several,
        kept=ends.moved("old"),
        made=ends.moved("new"),
        joined=tuple(ends.joined),
        bases=ends.bases,
        base=ends.base,
        run=ends.run,
        late=ends.late,
        product=product,
        rows=rows,
        adds=counted,
    )


def _score_rows(tape: TapeLayer, state: Ints, label: Ints) -> tuple[tuple[Ints, ...], Ints, int]:
    """The features that occur, the score rows (terms, arcs) of each arc, and the number of rows."""
    features, rows, known = [], [], 0
    for ids in tape.features:
        found, place = distinct(ids[state, label])
        features.append(found)
        rows.append(place + known)
        known += len(found)
    table = np.array(rows, np.int64).reshape(len(rows), len(state))
    return tuple(features), table, known


def _told_apart(rows: Ints, first: Ints, group: Ints, groups: int) -> NDArray[np.bool_]:
    """For each term and group of arcs, whether the arcs have different score rows."""
    differs = [np.bincount(group[row != row[first][group]], minlength=groups) > 0 for row in rows]
    return np.array(differs, bool).reshape(len(rows), groups)


class _Runs:
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


class _Ends:
    """What each pair after is made of, as it is found."""

    def __init__(self, pairs: int, terms: int, none: int, runs: int) -> None:
        self.base = np.zeros(pairs, np.int64)
        self.run = np.full(pairs, runs, np.int64)
        self.late = np.full((terms, pairs), none, np.int64)
        self.known: dict[tuple[str, int, int], int] = {}
        self.joined: list[tuple[int, tuple[tuple[int, int, int, Ints], ...]]] = []

    @property
    def bases(self) -> int:
        """The number of bases so far."""
        return len(self.known) + len(self.joined)

    def number(self, kind: str, which: int, amount: int) -> int:
        """The base that comes from one of before ("old") or from a set ("new")."""
        return self.known.setdefault((kind, which, amount), self.bases)

    def moved(self, kind: str) -> tuple[Moved, ...]:
        """The bases of a kind, by what is counted."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        for (of, which, amount), number in self.known.items():
            if of == kind:
                old, new = found.setdefault(amount, ([], []))
                old.append(which)
                new.append(number)
        return tuple(Moved(a, np.array(old), np.array(new)) for a, (old, new) in found.items())


def _ends(target: Ints, counted: Ints, number: Ints, late: Ints, runs: _Runs, none: int) -> _Ends:
    """What each pair after is made of.

    Args:
        target: the pair after of each way; a way is a target and an amount, ways are in order.
        counted: its amount.
        number: its set of cells.
        late: its score rows, (terms, ways).
        runs: the runs of all sets.
        none: the score row that is 0.
    """
    ends = _Ends(int(target.max(initial=-1)) + 1, len(late), none, len(runs.base))
    ways: dict[int, list[int]] = {}
    for way, pair in enumerate(target.tolist()):
        ways.setdefault(pair, []).append(way)
    for pair, found in ways.items():
        if len(found) > 1:
            ends.base[pair] = ends.bases
            ends.joined.append((ends.bases, _joined(found, counted, number, late, runs)))
            continue
        way = found[0]
        amount, which = int(counted[way]), int(number[way])
        place, run = int(runs.place[which]), int(runs.first[which])
        ends.late[:, pair] = late[:, way]
        if place < 0:
            ends.base[pair] = ends.number("old", int(runs.base[run]), amount)
            ends.run[pair] = run
        else:
            ends.base[pair] = ends.number("new", place, amount)
    return ends


def _joined(
    ways: Sequence[int], counted: Ints, number: Ints, late: Ints, runs: _Runs
) -> tuple[tuple[int, int, int, Ints], ...]:
    """The ways that meet in one pair: amount, run, place among the sets of several, score rows."""
    found = []
    for way in ways:
        which = int(number[way])
        place = int(runs.place[which])
        run = int(runs.first[which]) if place < 0 else -1
        found.append((int(counted[way]), run, place, late[:, way]))
    return tuple(found)
