"""The tape of z with the sequences that are allowed, factored for maxima.

Made of the arcs of a tape composed with an acceptor (``composed.py``), which are few once pairs of
states that go on alike share an *exit*:

    pair p  --enter-->  exit h  --arrive-->  pair q of the next layer

An exit is a set of pairs from which the same step leads on, so that its maximum is taken once. A
step of a single pair, as where the age of a chunk goes on, arrives from that pair. What all steps
of an arrival show is shown by the arrival, the rest by entries. With score(.) for the sum of the
scores of all that one shows, the best score of a prefix of z is

    best(h) = max over p that enter h of        best(p) + score(p's entry)
    best(q) = max over arrivals a at q of       best(exit or pair of a) + score(a)

resolved by what z has counted (``best_kernels.py``), or at a price for each item that it counts
(``price_kernels.py``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Ints, Places
from fsmeu.fst.distinct import by_first, distinct_rows, distinct_sets
from fsmeu.trellis.composed import Composed, begins_of


class Entries(NamedTuple):
    """Pairs that enter exits, by exit and pair."""

    source: Ints  # the pair
    shown: Ints  # the set of score rows that its steps show beside what arrivals do


class Arrivals(NamedTuple):
    """What leads to pairs, by pair; it comes from an exit, or from a pair alone."""

    target: Ints  # the pair after
    exit: Ints  # the exit, or -1
    source: Ints  # the pair before, or -1
    shown: Ints  # the set of score rows that all its steps show
    counted: Ints  # what it counts
    label: Ints
    is_only: Bools  # whether nothing else leads to the pair


class Paths(NamedTuple):
    """The tape of z with the sequences that are allowed, for kernels.

    Tables of several kinds of positions are concatenated: ``exits[k]`` is the first exit of kind k.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        rows: rows of maxima of the layers before each, at most, (n + 2,).
        shown: score rows of each set, (sets, terms).
        exits: where those of each kind begin, (kinds + 1,).
        entries_at: where the entries of each exit begin, (exits + 1,).
        entries: pairs that enter exits.
        arrivals_at: where the arrivals at each pair begin, (kinds, pairs + 1).
        arrivals: what leads to pairs.
        step: pair after, set of score rows, counted, by kind, pair before and label; -1 where there
            is none.
    """

    kind: Ints
    width: Ints
    columns: Ints
    rows: Ints
    shown: Places
    exits: Ints
    entries_at: Ints
    entries: Entries
    arrivals_at: Ints
    arrivals: Arrivals
    step: Ints


def paths_of(composed: Composed, labels: int, adds: Bools) -> Paths:
    """The tape of z, factored; ``adds`` says which of its features add to joint counts."""
    width = int(composed.width[-1])
    kinds = len(composed.kinds)
    arcs = _arcs_of(composed, adds)
    found = _factored(arcs.once(), int(composed.first_feature[-1]))
    rows = np.concatenate([found.entry_shown, found.shown, arcs.shown])
    places, sets = distinct_rows([np.zeros(len(rows), np.int64), *rows.T])
    ends = np.cumsum([len(found.entry_shown), len(found.shown)])
    of_entry, of_arrival, of_arc = np.split(sets, ends)
    step = np.full((kinds * width, labels, 3), -1, np.int64)
    step[arcs.source, arcs.label] = np.stack([arcs.target % width, of_arc, arcs.counted], axis=1)
    arrivals = begins_of(found.target, kinds * width)
    entries = begins_of(found.entry_exit, int(found.exit.max(initial=-1)) + 1)
    exits = begins_of(found.entry_source[entries[:-1]] // width, kinds)
    opened = (np.diff(arrivals).reshape(kinds, width) > 1).sum(axis=1)
    return Paths(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        rows=np.cumsum([0, 1, *(np.diff(exits) + opened)[composed.kind]]),
        shown=rows[places].astype(np.uint32),
        exits=exits,
        entries_at=entries,
        entries=Entries(found.entry_source % width, of_entry),
        arrivals_at=arrivals[np.arange(kinds)[:, None] * width + np.arange(width + 1)],
        arrivals=Arrivals(
            target=found.target % width,
            exit=found.exit,
            source=np.where(found.exit < 0, found.source % width, -1),
            shown=of_arrival,
            counted=found.counted,
            label=found.label,
            is_only=np.diff(arrivals)[found.target] == 1,
        ),
        step=step.reshape(kinds, width, labels, 3),
    )


# -- factoring -------------------------------------------------------------------------------------


class _Arcs(NamedTuple):
    """Arcs of all kinds; pairs before and after are numbered apart for each kind."""

    source: Ints
    target: Ints
    counted: Ints
    label: Ints
    shown: Ints  # score rows, (arcs, terms)

    def once(self) -> _Arcs:
        """The arcs that differ; of several labels that do the same, the first is taken."""
        first, _ = distinct_rows([self.target, self.source, *self.shown.T, self.counted])
        return _Arcs(*(column[first] for column in self))


def _arcs_of(composed: Composed, adds: Bools) -> _Arcs:
    """The arcs of all kinds, with the score rows that add something."""
    width = int(composed.width[-1])
    first = composed.first_feature
    kind, columns = composed.all_arcs()
    source, _, target, counted, *_, label = columns
    number = np.where(adds, np.arange(first[-1]), first[-1])
    shown = number[columns[4:-1] + first[:-1, None]].T
    return _Arcs(kind * width + source, kind * width + target, counted, label, shown)


class _Factored(NamedTuple):
    """Entries by exit and pair, arrivals by pair; ``Entries`` and ``Arrivals`` have the same."""

    entry_exit: Ints
    entry_source: Ints
    entry_shown: Ints  # (entries, terms)
    target: Ints
    exit: Ints  # or -1
    source: Ints  # where there is no exit
    counted: Ints
    label: Ints
    shown: Ints  # (arrivals, terms)


def _factored(arcs: _Arcs, none: int) -> _Factored:
    """Arcs that differ in their sources alone are one arrival; what they come from is an exit.

    Exits are sets of pairs with what they show; that of a single pair is the pair itself.
    """
    first, way = distinct_rows([arcs.target, arcs.counted, arcs.label])
    of_way, of_head = _told_by(way, len(first), arcs.shown, none)
    head_first, head = distinct_rows([arcs.source, *of_head.T])
    set_of, sets, member = distinct_sets(way, head, len(first))
    size = np.bincount(sets, minlength=1)
    is_shared = size[set_of] > 1
    exit_ = np.full(len(first), -1)
    exit_[is_shared] = by_first(set_of[is_shared])  # by target, so by kind
    exit_of_set = np.full(len(size), -1)
    exit_of_set[set_of] = exit_
    kept = exit_of_set[sets] >= 0
    entering = head_first[member[kept]]
    order = np.lexsort((arcs.source[entering], exit_of_set[sets[kept]]))
    entering = entering[order]
    return _Factored(
        entry_exit=exit_of_set[sets[kept]][order],
        entry_source=arcs.source[entering],
        entry_shown=of_head[entering],
        target=arcs.target[first],
        exit=exit_,
        source=arcs.source[first],
        counted=arcs.counted[first],
        label=arcs.label[first],
        shown=np.where(is_shared[:, None], of_way[first], arcs.shown[first]),
    )


def _told_by(way: Ints, ways: int, shown: Ints, none: int) -> tuple[Ints, Ints]:
    """What all arcs of a way show, and what each shows beside that, (arcs, terms) both."""
    first = np.full((ways, shown.shape[1]), none)
    first[way] = shown
    is_told = np.ones(first.shape, bool)
    for term, rows in enumerate(shown.T):
        is_told[way[first[way, term] != rows], term] = False
    is_told = is_told[way]
    return np.where(is_told, shown, none), np.where(is_told, none, shown)
