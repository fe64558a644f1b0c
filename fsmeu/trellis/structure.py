"""The structure of a split loss with a model: arc tables of both tapes, without any numbers.

Made of the arcs of a tape composed with an acceptor (``composed.py``).

Tape of y (sums). Pairs with the same future, as far as weights and counts go, are a *class*: their
backward values are equal. With the F-score of chunks these are the labels, however long a chunk has
been open. The mass of a pair is a sum over *entries*: a pair before, or a class all of whose
members lead there. Backwards, arcs that show the same features are an *arc set*, summed once.

Tape of z (maxima). A *source set* is a set of pairs, with what their steps show, over which the
maximum is taken once for all pairs that are reached from it.

A feature is *late* where the pair after a step tells it, and *early* where it does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.fst.distinct import distinct, distinct_rows, first_places, row_keys
from fsmeu.trellis.composed import Composed
from fsmeu.trellis.distinct_sets import distinct_sets

__all__ = ["Hypotheses", "References", "hypotheses", "padded", "references"]


class _Features(NamedTuple):
    """What arcs show: for each term a number among the features of all terms, or ``none``.

    Attributes:
        late: by pair after, (pairs, terms).
        early: by colour, (colours, terms); a colour is a combination of early features.
        colour: of each arc.
    """

    late: Ints
    early: Ints
    colour: Ints


def _features(arcs: Ints, first: Ints, pairs: int) -> _Features:
    """The late and early features of the arcs of a kind."""
    target, features, none = arcs[2], arcs[4:-1], int(first[-1])
    late = np.full((pairs, len(features)), none)
    early = np.full((len(target), len(features)), none)
    for t, feature in enumerate(features):
        late[target, t] = feature + first[t]
        if not np.array_equal(late[target, t], feature + first[t]):
            late[:, t], early[:, t] = none, feature + first[t]
    if not len(target):
        return _Features(late, early, np.zeros(0, np.int64))
    place, colour = distinct_rows([np.zeros_like(target), *early.T])
    return _Features(late, early[place], colour)


def _begins(keys: Ints, count: int) -> Ints:
    """Where the rows of 0, ..., count - 1 begin among sorted keys, and the end, (count + 1,)."""
    return np.searchsorted(keys, np.arange(count + 1))


class _Table:
    """Rows of several kinds, one kind after the other."""

    def __init__(self, columns: int) -> None:
        self._rows: list[Ints] = [np.zeros((0, columns), np.int64)]
        self.begins = [0]

    def __len__(self) -> int:
        return self.begins[-1]

    def add(self, rows: Ints) -> None:
        """Appends the rows of the next kind."""
        self._rows.append(rows)
        self.begins.append(self.begins[-1] + len(rows))

    def rows(self) -> Ints:
        """All rows, (rows, columns)."""
        return np.ascontiguousarray(np.concatenate(self._rows), np.int64)


class References(NamedTuple):
    """The tape of y with a model. Tables of several kinds have where each kind begins beside them.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        classes: classes of each layer, (n + 1,).
        at: where the masses of each layer begin in an array of all, (n + 2,).
        state: the acceptor's state of each pair.
        class_of: the class of each pair.
        member: the first pair of each class.
        entry: target, pair before or -1 - class, weight, counted.
        summed: pairs of classes that are the source of an entry, and their class.
        arc_set: the first arc of each set, and the end.
        arc: class after, counted, weight.
        part: arc sets of classes; where those of each kind and class begin, (kinds, classes + 1).
        use: pair before, arc set, feature.
        show: pair after, feature.
        operations: for each kind, sums and products on the way from a pair to one after, at most.
    """

    kind: Ints
    width: Ints
    columns: Ints
    classes: Ints
    at: Ints
    state: Ints
    class_of: Ints
    member: Ints
    entries: Ints
    entry: Ints
    sums: Ints
    summed: Ints
    arc_sets: Ints
    arc_set: Ints
    arc: Ints
    parts: Ints
    part: Ints
    uses: Ints
    use: Ints
    shows: Ints
    show: Ints
    operations: Ints


def references(composed: Composed) -> References:
    """The tables of the tape of y."""
    width, kinds = int(composed.width[-1]), composed.kinds
    class_of = _classes(composed)
    count = int(class_of.max()) + 1
    member = first_places(class_of, count)
    entry, summed, part, use, show = _Table(4), _Table(2), _Table(1), _Table(3), _Table(2)
    arc_set, arc, parts = _Table(1), _Table(3), []
    operations = []
    for arcs in kinds:
        shown = _features(arcs, composed.first_feature, width)
        entries, members = _entries(arcs, class_of, count)
        entry.add(entries)
        summed.add(members)
        sets, holders = _arc_sets(arcs, shown.colour, class_of)
        arc_set.add(len(arc) + sets.begins[:-1, None])
        arc.add(sets.arcs)
        holders[:, 1] += arc_set.begins[-2]
        use.add(_early_uses(holders, shown.early, int(composed.first_feature[-1])))
        show.add(_late_shows(shown.late, int(composed.first_feature[-1])))
        held = _representatives(arcs, class_of, holders)
        parts.append(_begins(held[:, 0], count) + len(part))
        part.add(held[:, 1:])
        operations.append(_operations(entries, members, sets.begins, held))
    columns = composed.columns
    sizes = composed.width * padded(columns)
    return References(
        kind=composed.kind,
        width=composed.width,
        columns=columns,
        classes=np.searchsorted(member, composed.width),
        at=np.append(0, np.cumsum(sizes)),
        state=composed.state,
        class_of=class_of,
        member=member,
        entries=np.array(entry.begins),
        entry=entry.rows(),
        sums=np.array(summed.begins),
        summed=summed.rows(),
        arc_sets=np.array(arc_set.begins),
        arc_set=np.append(arc_set.rows().ravel(), len(arc)),
        arc=arc.rows(),
        parts=np.array(parts, np.int64).reshape(len(kinds), count + 1),
        part=part.rows().ravel(),
        uses=np.array(use.begins),
        use=use.rows(),
        shows=np.array(show.begins),
        show=show.rows(),
        operations=np.array(operations, np.int64),
    )


def padded(columns: Ints) -> Ints:
    """Rows of counts have a length that four divides, or 1: loops take four numbers at a time."""
    found: Ints = np.where(columns == 1, 1, (columns + 3) // 4 * 4)
    return found


def _classes(composed: Composed) -> Ints:
    """The coarsest classes of pairs that have one future, numbered by their first pair.

    A pair that is never expanded is in the last layer only, where the acceptor's state is all that
    matters: it joins any pair with that state.
    """
    found, count = composed.state.copy(), 0
    expanded = np.zeros(len(found), bool)
    for arcs in composed.kinds:
        expanded[arcs[0]] = True
    while True:
        keys = [found]
        for source, weight, target, counted, *_ in composed.kinds:
            present, owner = distinct(source)
            member = distinct_rows([weight, found[target], counted])[1] if len(source) else owner
            lists = np.zeros(len(found), np.int64)
            first = distinct_rows([owner, member])[0] if len(source) else owner
            lists[present] = 1 + distinct_sets(owner[first], member[first], len(present))[0]
            keys.append(lists)
        refined = distinct_rows(keys)[1]
        latest = np.full(int(found.max()) + 1, -1)
        latest[found[expanded]] = np.flatnonzero(expanded)
        sibling = latest[found]
        refined = np.where(expanded | (sibling < 0), refined, refined[sibling])
        now = len(np.unique(refined))
        if now == count:
            return _by_first_place(refined)
        found, count = distinct(refined)[1], now


def _by_first_place(numbers: Ints) -> Ints:
    """The same numbers, renumbered in the order of their first places."""
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def _entries(arcs: Ints, class_of: Ints, count: int) -> tuple[Ints, Ints]:
    """Entries (target, source, weight, counted), by target; and the pairs of classes among them.

    A class is a source where all its pairs that are expanded lead to the target in the same way.
    """
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return np.zeros((0, 4), np.int64), np.zeros((0, 2), np.int64)
    sizes = np.bincount(class_of[distinct(source)[0]], minlength=count)
    first, group = distinct_rows([target, class_of[source], weight, counted])
    whole = (np.bincount(group) == sizes[class_of[source[first]]]) & (
        sizes[class_of[source[first]]] > 1
    )
    of_class = whole[group]
    joined = first[whole]
    rows = np.concatenate(
        [
            np.stack([target, source, weight, counted], axis=1)[~of_class],
            np.stack(
                [target[joined], -1 - class_of[source[joined]], weight[joined], counted[joined]],
                axis=1,
            ),
        ]
    )
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    used = np.zeros(count, bool)
    used[class_of[source[joined]]] = True
    pairs = np.flatnonzero(used[class_of])
    return rows, np.stack([pairs, class_of[pairs]], axis=1)


class _ArcSets(NamedTuple):
    """Sets of arcs (class after, counted, weight): where each begins, and the arcs."""

    begins: Ints
    arcs: Ints


def _arc_sets(arcs: Ints, colour: Ints, class_of: Ints) -> tuple[_ArcSets, Ints]:
    """The distinct sets of arcs that pairs take under one colour; rows (pair, set, colour)."""
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return _ArcSets(np.zeros(1, np.int64), np.zeros((0, 3), np.int64)), np.zeros(
            (0, 3), np.int64
        )
    once, holder = distinct_rows([source, colour])
    place, arc = distinct_rows([class_of[target], counted, weight])
    first = distinct_rows([holder, arc])[0]
    number, sets, member = distinct_sets(holder[first], arc[first], len(once))
    order = np.argsort(row_keys([sets, member]))
    listed = np.stack([class_of[target], counted, weight], axis=1)[place]
    begins = _begins(sets[order], int(number.max()) + 1)
    holders = np.stack([source[once], number, colour[once]], axis=1)
    return _ArcSets(begins, listed[member[order]]), holders


def _early_uses(holders: Ints, early: Ints, none: int) -> Ints:
    """Rows (pair before, arc set, feature), by pair."""
    shown = early[holders[:, 2]]
    row, term = np.nonzero(shown != none)
    found = np.stack([holders[row, 0], holders[row, 1], shown[row, term]], axis=1)
    return found[np.argsort(found[:, 0], kind="stable")]


def _late_shows(late: Ints, none: int) -> Ints:
    """Rows (pair after, feature), by pair."""
    pair, term = np.nonzero(late != none)
    return np.stack([pair, late[pair, term]], axis=1)


def _representatives(arcs: Ints, class_of: Ints, holders: Ints) -> Ints:
    """Rows (class, arc set), by class: the arc sets of its first pair that is expanded."""
    present = distinct(arcs[0])[0]
    of = class_of[present]
    first = np.full(int(of.max(initial=0)) + 1, -1)
    first[of[::-1]] = present[::-1]
    held = holders[first[class_of[holders[:, 0]]] == holders[:, 0]]
    rows = np.stack([class_of[held[:, 0]], held[:, 1]], axis=1)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _operations(entries: Ints, members: Ints, sets: Ints, held: Ints) -> int:
    """Sums and products on the way from a pair before to one after, forward or backward."""
    forward = np.bincount(entries[:, 0]).max(initial=0) + np.bincount(members[:, 1]).max(initial=0)
    backward = np.diff(sets).max(initial=0) + np.bincount(held[:, 0]).max(initial=0)
    return int(max(forward, backward)) + 4


class Hypotheses(NamedTuple):
    """The tape of z with the sequences that are allowed.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        at: where the values of each layer begin in an array of all, (n + 2,).
        source_set: the first member of each source set of several members, and the end.
        member: pair before, colour.
        way: pair after, pair before or -1 - source set of the kind, counted, colour.
        early: score rows of each colour, (colours, terms).
        late: score rows of each pair after, (kinds, pairs, terms).
        backs: where the arcs to each pair begin, (kinds, pairs + 1).
        back: pair before, colour, counted, label.
        step: pair after, colour, counted, by kind, pair before and label; -1 where there is none.
    """

    kind: Ints
    width: Ints
    columns: Ints
    at: Ints
    source_sets: Ints
    source_set: Ints
    member: Ints
    ways: Ints
    way: Ints
    early: Ints
    late: Ints
    backs: Ints
    back: Ints
    step: Ints


def hypotheses(composed: Composed, labels: int) -> Hypotheses:
    """The tables of the tape of z."""
    width, kinds = int(composed.width[-1]), composed.kinds
    source_set, member, way, back = _Table(1), _Table(2), _Table(4), _Table(4)
    early, late, backs = _Table(len(composed.first_feature) - 1), [], []
    step = np.full((len(kinds), width, labels, 3), -1, np.int64)
    for k, arcs in enumerate(kinds):
        source, _, target, counted, *_, label = arcs
        shown = _features(arcs, composed.first_feature, width)
        colour = shown.colour + len(early)
        sets, ways = _source_sets(source, target, counted, colour)
        source_set.add(len(member) + sets.begins[:-1, None])
        member.add(sets.arcs)
        way.add(ways)
        late.append(shown.late)
        early.add(shown.early)
        # Of several labels that do the same, the first is taken.
        once = distinct_rows([target, source, colour, counted])[0] if len(source) else source
        backs.append(_begins(target[once], width) + len(back))
        back.add(np.stack([source, colour, counted, label], axis=1)[once])
        step[k, source, label] = np.stack([target, colour, counted], axis=1)
    terms = len(composed.first_feature) - 1
    return Hypotheses(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        at=np.append(0, np.cumsum(composed.width * composed.columns)),
        source_sets=np.array(source_set.begins),
        source_set=np.append(source_set.rows().ravel(), len(member)),
        member=member.rows(),
        ways=np.array(way.begins),
        way=way.rows(),
        early=early.rows(),
        late=np.array(late, np.int64).reshape(len(kinds), width, terms),
        backs=np.array(backs, np.int64).reshape(len(kinds), width + 1),
        back=back.rows(),
        step=step,
    )


def _source_sets(source: Ints, target: Ints, counted: Ints, colour: Ints) -> tuple[_ArcSets, Ints]:
    """Sets of several (pair before, colour); and ways (target, source or set, counted, colour)."""
    none = np.zeros((0, 2), np.int64)
    if not len(source):
        return _ArcSets(np.zeros(1, np.int64), none), np.zeros((0, 4), np.int64)
    first, way = distinct_rows([target, counted])
    place, cell = distinct_rows([source, colour])
    once = distinct_rows([way, cell])[0]
    number, sets, member = distinct_sets(way[once], cell[once], len(first))
    order = np.argsort(row_keys([sets, member]))
    sets, member = sets[order], member[order]
    begins = _begins(sets, int(number.max()) + 1)
    several = np.diff(begins) > 1
    rank = np.cumsum(several) - 1
    cells = np.stack([source, colour], axis=1)[place]
    alone = cells[member[begins[:-1]]][number]  # the first member of the set of each way
    is_set = several[number]
    ways = np.stack(
        [
            target[first],
            np.where(is_set, -1 - rank[number], alone[:, 0]),
            counted[first],
            np.where(is_set, -1, alone[:, 1]),
        ],
        axis=1,
    )
    kept = several[sets]
    sizes = np.diff(begins)[several]
    return _ArcSets(np.append(0, np.cumsum(sizes)), cells[member[kept]]), ways
