"""The structure of a split loss with a model: arc tables of both tapes, without any numbers.

Made of the arcs of a tape composed with an acceptor (``composed.py``).

Tape of y (sums). Pairs with the same future, as far as weights and counts go, are a *class*: their
backward values are equal. With the F-score of chunks these are the labels, however long a chunk has
been open. The mass of a pair is a sum over *links* from pairs before, and over *entries* from
classes all of whose members lead there. Backwards, arcs that show the same features are an *arc
set*, summed once.

Tape of z (maxima). A *source set* is a set of pairs, with what their steps show, over which the
maximum is taken once for all pairs that are reached from it.

A pair to which there is one way only has the row (by count) of where that comes from, moved by what
is counted and times a factor, or plus an offset: such a step costs one product or sum.

A feature belongs to the *target* of a step where that tells it, and to its *source* otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Ints, Places
from fsmeu.fst.distinct import (
    distinct,
    distinct_rows,
    distinct_sets,
    first_places,
    row_keys,
)
from fsmeu.trellis.composed import Composed, classes_of


class _Features(NamedTuple):
    """What arcs show: for each term a number among the features of all terms, or ``none``.

    Attributes:
        of_target: by pair after, (pairs, terms).
        of_source: by colour, (colours, terms); a colour is a combination of sources' features.
        colour: of each arc.
    """

    of_target: Ints
    of_source: Ints
    colour: Ints


def _features(arcs: Ints, first: Ints, pairs: int, adds: Bools) -> _Features:
    """The features of the arcs of a kind, those that add something."""
    target, features, none = arcs[2], arcs[4:-1], int(first[-1])
    number = np.where(adds, np.arange(none), none)
    of_target = np.full((pairs, len(features)), none)
    of_source = np.full((len(target), len(features)), none)
    for t, feature in enumerate(features):
        shown = number[feature + first[t]]
        of_target[target, t] = shown
        if not np.array_equal(of_target[target, t], shown):
            of_target[:, t], of_source[:, t] = none, shown
    if not len(target):
        return _Features(of_target, of_source, np.zeros(0, np.int64))
    place, colour = distinct_rows([np.zeros_like(target), *of_source.T])
    return _Features(of_target, of_source[place], colour)


def _begins(keys: Ints, count: int) -> Ints:
    """Where the rows of 0, ..., count - 1 begin among sorted keys, and the end, (count + 1,)."""
    return np.searchsorted(keys, np.arange(count + 1))


class _Table:
    """Rows of several kinds, one kind after the other."""

    def __init__(self, columns: int) -> None:
        self._none = np.zeros((0, columns), np.int64)
        self.parts: list[Ints] = []
        self.begins = [0]

    def __len__(self) -> int:
        return self.begins[-1]

    def add(self, rows: Ints) -> None:
        """Appends the rows of the next kind."""
        self.parts.append(rows)
        self.begins.append(self.begins[-1] + len(rows))

    def rows(self) -> Ints:
        """All rows, (rows, columns)."""
        return np.ascontiguousarray(np.concatenate([self._none, *self.parts]), np.int64)

    def places(self) -> Places:
        """The same, where no number is negative."""
        return self.rows().astype(np.uint32)


class References(NamedTuple):
    """The tape of y with a model. Tables of several kinds have where each kind begins beside them.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        classes: classes of each layer, (n + 1,).
        rows: rows of masses that pairs before each layer have of their own, (n + 2,).
        state: the acceptor's state of each pair.
        class_of: the class of each pair.
        member: the first pair of each class.
        link: target, pair before, weight, counted, whether the target has other links or entries.
        group: target, counted, first entry, whether it is the first of its target; and the end.
        entry: class before, or its row, 0, weight.
        arc_set: the first arc of each set, and the end.
        arc: class after, counted, weight; or row of the class after, 0, weight (``with_moments``).
        class_set: arc sets of classes; where those of each class begin, (kinds, classes + 1).
        source_feature: pair before, arc set, feature.
        target_feature: pair after, feature.
        operations: for each kind, sums and products on the way from a pair to one after, at most.
        copies: how many rows a class has, (1,).
    """

    kind: Ints
    width: Ints
    columns: Ints
    classes: Ints
    rows: Ints
    state: Places
    class_of: Ints
    member: Ints
    links: Ints
    link: Places
    groups: Ints
    group: Places
    entry: Places
    arc_sets: Ints
    arc_set: Ints
    arc: Places
    class_sets: Ints
    class_set: Ints
    source_features: Ints
    source_feature: Places
    target_features: Ints
    target_feature: Places
    operations: Ints
    copies: Ints


def references(composed: Composed, adds: Bools) -> References:
    """The tables of the tape of y; ``adds`` says which of its features add to joint counts."""
    width, kinds = int(composed.width[-1]), composed.kinds
    class_of = classes_of(composed)
    count = int(class_of.max()) + 1
    member = first_places(class_of, count)
    link, group, entry = _Table(5), _Table(4), _Table(3)
    class_set, source_feature, target_feature = _Table(1), _Table(3), _Table(2)
    arc_set, arc, class_sets, operations = _Table(1), _Table(3), [], []
    none = int(composed.first_feature[-1])
    for arcs in kinds:
        shown = _features(arcs, composed.first_feature, width, adds)
        sources = _entries(arcs, class_of, count)
        link.add(sources.links)
        group.add(sources.groups + np.array([0, 0, len(entry), 0]))
        entry.add(sources.entries)
        sets, holders = _arc_sets(arcs, shown.colour, class_of)
        arc_set.add(len(arc) + sets.begins[:-1, None])
        arc.add(sets.arcs)
        holders[:, 1] += arc_set.begins[-2]
        source_feature.add(_source_features(holders, shown.of_source, none))
        target_feature.add(_target_features(shown.of_target, none))
        rows = _representatives(arcs, class_of, holders)
        class_sets.append(_begins(rows[:, 0], count) + len(class_set))
        class_set.add(rows[:, 1:])
        operations.append(_operations(sources, class_of, sets.begins, rows))
    opened = np.array([np.count_nonzero(groups[:, 3]) for groups in group.parts], np.int64)
    return References(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        classes=np.searchsorted(member, composed.width),
        rows=np.cumsum([0, composed.width[0], *opened[composed.kind]]),
        state=composed.state.astype(np.uint32),
        class_of=class_of,
        member=member,
        links=np.array(link.begins),
        link=link.places(),
        groups=np.array(group.begins),
        group=np.append(group.places(), np.array([[0, 0, len(entry), 0]], np.uint32), axis=0),
        entry=entry.places(),
        arc_sets=np.array(arc_set.begins),
        arc_set=np.append(arc_set.rows().ravel(), len(arc)),
        arc=arc.places(),
        class_sets=np.array(class_sets, np.int64).reshape(len(kinds), count + 1),
        class_set=class_set.rows().ravel(),
        source_features=np.array(source_feature.begins),
        source_feature=source_feature.places(),
        target_features=np.array(target_feature.begins),
        target_feature=target_feature.places(),
        operations=np.array(operations, np.int64),
        copies=np.ones(1, np.int64),
    )


def with_moments(r: References, size: int) -> References:
    """The tables for rows of so many moments.

    What is counted does not move a row, but multiplies it: the row of class c for an arc that
    counts m is row c + classes * m.
    """
    classes = len(r.member)
    arc, entry, group = r.arc.copy(), r.entry.copy(), r.group.copy()
    arc[:, 0], arc[:, 1] = arc[:, 0] + classes * arc[:, 1], 0
    entry[:, 0] += classes * np.repeat(group[:-1, 1], np.diff(group[:, 2]))
    group[:, 1] = 0
    most = int(max(r.group[:, 1].max(initial=0), r.arc[:, 1].max(initial=0)))
    columns, copies = np.full_like(r.columns, size), np.array([1 + most])
    return r._replace(columns=columns, arc=arc, entry=entry, group=group, copies=copies)


def uncounted(r: References) -> References:
    """The tables for rows of one number: nothing is counted."""
    return r._replace(columns=np.ones_like(r.columns), arc=r.arc * np.array([1, 0, 1], np.uint32))


def padded(columns: Ints) -> Ints:
    """Rows of counts have a length that four divides, or 1: loops take four numbers at a time."""
    lengths: Ints = np.where(columns == 1, 1, (columns + 3) // 4 * 4)
    return lengths


class _Sources(NamedTuple):
    """What the masses of pairs after are sums of."""

    links: Ints
    groups: Ints
    entries: Ints


def _entries(arcs: Ints, class_of: Ints, count: int) -> _Sources:
    """Links by pair before; groups of entries by target, with a group for every sum.

    A class is a source where all its pairs that are expanded lead to the target in the same way.
    """
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return _Sources(*(np.zeros((0, columns), np.int64) for columns in (5, 4, 3)))
    sizes = np.bincount(class_of[distinct(source)[0]], minlength=count)
    first, together = distinct_rows([target, class_of[source], weight, counted])
    size = sizes[class_of[source[first]]]
    several = np.bincount(target)[target[first]] > 1  # otherwise a link, whose row is not copied
    whole = (np.bincount(together) == size) & several
    of_class, joined = whole[together], first[whole]
    alone = np.bincount(target[~of_class], minlength=int(target.max()) + 1)
    alone[target[joined]] += 2
    links = np.stack([target, source, weight, counted, alone[target] > 1], axis=1)[~of_class]
    classes = class_of[source[joined]]
    is_sum = alone > 1
    is_sum[target[joined]] = False
    sums = np.flatnonzero(is_sum)
    owner = np.append(target[joined], sums)  # sums of links have an empty group
    keys = [owner, np.append(counted[joined], np.zeros_like(sums))]
    heads, group = distinct_rows(keys)
    entries = np.stack([classes, np.zeros_like(classes), weight[joined]], axis=1)
    order = np.argsort(group[: len(joined)], kind="stable")
    begins = np.searchsorted(group[order], np.arange(len(heads)))
    opens = np.diff(owner[heads], prepend=-1) != 0
    groups = np.stack([owner[heads], keys[1][heads], begins, opens], axis=1)
    return _Sources(links, groups, entries[order])


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


def _source_features(holders: Ints, of_source: Ints, none: int) -> Ints:
    """Rows (pair before, arc set, feature), by pair."""
    shown = of_source[holders[:, 2]]
    row, term = np.nonzero(shown != none)
    rows = np.stack([holders[row, 0], holders[row, 1], shown[row, term]], axis=1)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _target_features(of_target: Ints, none: int) -> Ints:
    """Rows (pair after, feature), by pair."""
    pair, term = np.nonzero(of_target != none)
    return np.stack([pair, of_target[pair, term]], axis=1)


def _representatives(arcs: Ints, class_of: Ints, holders: Ints) -> Ints:
    """Rows (class, arc set), by class: the arc sets of its first pair that is expanded."""
    present = distinct(arcs[0])[0]
    of = class_of[present]
    first = np.full(int(of.max(initial=0)) + 1, -1)
    first[of[::-1]] = present[::-1]
    chosen = holders[first[class_of[holders[:, 0]]] == holders[:, 0]]
    rows = np.stack([class_of[chosen[:, 0]], chosen[:, 1]], axis=1)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _operations(sources: _Sources, class_of: Ints, sets: Ints, class_sets: Ints) -> int:
    """Sums and products on the way from a pair before to one after, forward or backward."""
    ends = np.diff(np.append(sources.groups[:, 2], len(sources.entries)))
    targets = np.append(sources.links[:, 0], np.repeat(sources.groups[:, 0], ends))
    forward = np.bincount(targets).max(initial=0)
    forward += np.bincount(class_of).max()
    backward = np.diff(sets).max(initial=0) + np.bincount(class_sets[:, 0]).max(initial=0)
    return int(max(forward, backward)) + 6


class Hypotheses(NamedTuple):
    """The tape of z with the sequences that are allowed.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        rows: rows of maxima that are kept for the layers before each, (n + 2,).
        source_set: the first member of each source set of several members, and the end.
        member: pair before, colour.
        way: pair after, pair before or -1 - source set of the kind, counted, colour; and 0 where it
            is the only way to the pair after, 1 for the first of several, 2 for others.
        source_rows: score rows of each colour, (colours, terms).
        target_rows: score rows of each pair after, (kinds, pairs, terms).
        backs: where the arcs to each pair begin, (kinds, pairs + 1).
        back: pair before, colour, counted, label.
        step: pair after, colour, counted, by kind, pair before and label; -1 where there is none.
    """

    kind: Ints
    width: Ints
    columns: Ints
    rows: Ints
    source_sets: Ints
    source_set: Ints
    member: Places
    ways: Ints
    way: Ints
    source_rows: Places
    target_rows: Places
    backs: Ints
    back: Ints
    step: Ints


def hypotheses(composed: Composed, labels: int, adds: Bools) -> Hypotheses:
    """The tables of the tape of z; ``adds`` says which of its features add to joint counts."""
    width, kinds = int(composed.width[-1]), composed.kinds
    source_set, member, way, back = _Table(1), _Table(2), _Table(5), _Table(4)
    terms = len(composed.first_feature) - 1
    source_rows, target_rows, backs = _Table(terms), [], []
    step = np.full((len(kinds), width, labels, 3), -1, np.int64)
    for k, arcs in enumerate(kinds):
        source, _, target, counted, *_, label = arcs
        shown = _features(arcs, composed.first_feature, width, adds)
        colour = shown.colour + len(source_rows)
        sets, ways = _source_sets(source, target, counted, colour)
        source_set.add(len(member) + sets.begins[:-1, None])
        member.add(sets.arcs)
        way.add(ways)
        target_rows.append(shown.of_target)
        source_rows.add(shown.of_source)
        # Of several labels that do the same, the first is taken.
        once = distinct_rows([target, source, colour, counted])[0] if len(source) else source
        backs.append(_begins(target[once], width) + len(back))
        back.add(np.stack([source, colour, counted, label], axis=1)[once])
        step[k, source, label] = np.stack([target, colour, counted], axis=1)
    kept = np.diff(source_set.begins) + [np.count_nonzero(ways[:, 4] == 1) for ways in way.parts]
    return Hypotheses(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        rows=np.cumsum([0, 1, *kept[composed.kind]]),
        source_sets=np.array(source_set.begins),
        source_set=np.append(source_set.rows().ravel(), len(member)),
        member=member.places(),
        ways=np.array(way.begins),
        way=way.rows(),
        source_rows=source_rows.places(),
        target_rows=np.array(target_rows, np.uint32).reshape(len(kinds), width, terms),
        backs=np.array(backs, np.int64).reshape(len(kinds), width + 1),
        back=back.rows(),
        step=step,
    )


def _source_sets(source: Ints, target: Ints, counted: Ints, colour: Ints) -> tuple[_ArcSets, Ints]:
    """Sets of several (pair before, colour); and ways (target, source or set, counted, colour)."""
    none = np.zeros((0, 2), np.int64)
    if not len(source):
        return _ArcSets(np.zeros(1, np.int64), none), np.zeros((0, 5), np.int64)
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
    is_set, after = several[number], target[first]
    others = np.diff(after, prepend=-1) == 0
    single = np.bincount(after)[after] == 1
    ways = np.stack(
        [
            after,
            np.where(is_set, -1 - rank[number], alone[:, 0]),
            counted[first],
            np.where(is_set, -1, alone[:, 1]),
            np.where(single, 0, 1 + others),
        ],
        axis=1,
    )
    kept = several[sets]
    sizes = np.diff(begins)[several]
    return _ArcSets(np.append(0, np.cumsum(sizes)), cells[member[kept]]), ways
