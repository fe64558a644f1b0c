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
from fsmeu.trellis.bases import Moved, Runs, ends_of
from fsmeu.trellis.product import ProductLayer
from fsmeu.trellis.sparse import distinct_sets
from fsmeu.trellis.tape import TapeLayer

__all__ = ["BestLayer", "BestPlan", "plan_best"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    runs = Runs(sets[starts], held[starts])
    ends = ends_of(product.target[first], counted[first], number, late, runs, known)
    return BestPlan(
        features=features,
        most=int(tape.counted.max(initial=0)),
        source=cells[0, members],
        early=cells[1:, members],
        runs=starts,
        run_base=runs.base,
        several=runs.several,
        kept=ends.kept,
        made=ends.made,
        joined=ends.joined,
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
