"""Tables of a split loss with a model: the arcs of both tapes, without any numbers.

Made of the arcs of a tape composed with an acceptor (``composed.py``).

Tape of y (sums). Pairs with the same future, as far as weights and counts go, are a *class*: their
backward values are equal. With the F-score of chunks these are the labels, however long a chunk has
been open. The mass of a pair is a sum over *pair arcs*, from pairs before, and over *class arcs*,
from classes all of whose members lead there; class arcs with one target that count alike are a
*target group*. Backwards, arcs that show the same features are an *arc set*, summed once.

Tape of z (maxima). A *source set* is a set of pairs, with what their steps show, over which the
maximum is taken once for all pairs that are reached from it. It may be a member of another.

A pair to which there is one way only has the row (by count) of where that comes from, moved by what
is counted and times a factor, or plus an offset: such a step costs one product or sum.

A feature belongs to the *target* of a step where that tells it, and to its *source* otherwise. A
combination of features that belong to sources is a *source feature set*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints, Places
from fsmeu.fst.distinct import (
    distinct,
    distinct_rows,
    distinct_sets,
    first_places,
    row_keys,
)
from fsmeu.trellis.batches import Lanes
from fsmeu.trellis.composed import Composed, classes_of

ONLY = 0  # a way that is the only one to its pair
FIRST = 1  # the first of several
OTHER = 2  # one of the others

_STEEP = 30.0  # x c from which on a deficit would be all of the mass


class _Features(NamedTuple):
    """What arcs show: for each term a number among the features of all terms, or ``none``.

    Attributes:
        of_target: by pair after, (pairs, terms).
        of_source: by source feature set, (sets, terms).
        source_feature_set: of each arc.
    """

    of_target: Ints
    of_source: Ints
    source_feature_set: Ints


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
    place, number = distinct_rows([np.zeros_like(target), *of_source.T])
    return _Features(of_target, of_source[place], number)


def _begins(keys: Ints, count: int) -> Ints:
    """Where the rows of 0, ..., count - 1 begin among sorted keys, and the end, (count + 1,)."""
    return np.searchsorted(keys, np.arange(count + 1))


class _ConcatenatedRows:
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


class YTables(NamedTuple):
    """The tape of y with a model, for kernels.

    Tables of several kinds are concatenated over kinds: ``pair_arcs[k]`` is the first pair arc of
    kind k, ``target_groups[k]`` its first target group, and so on.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: the length of rows in each layer: values of the counter, or lanes, (n + 1,).
        classes: classes of each layer, (n + 1,).
        rows: rows of masses that pairs before each layer have of their own, (n + 2,).
        state: the acceptor's state of each pair.
        class_of: the class of each pair.
        member: the first pair of each class.
        pair_arcs: where those of each kind begin.
        pair_arc: target, pair before, weight, counted, whether the target has other arcs.
        target_groups: where those of each kind begin.
        target_group: target, counted, first class arc, whether it is the first of its target; and
            one more row for the end.
        class_arc: row of the class before, 0, weight.
        arc_sets: where those of each kind begin.
        arc_set: the first arc of each set, and the end.
        arc: row of the class after, what that row is moved by, weight.
        arc_target: class after, counted, of each arc.
        class_sets: where the arc sets of each class begin, (kinds, classes + 1).
        class_set: arc sets of classes.
        source_features: where those of each kind begin.
        source_feature: pair before, arc set, feature.
        target_features: where those of each kind begin.
        target_feature: pair after, feature.
        operations: for each kind, sums and products on the way from a pair to one after, at most.
        at_cap: the pairs with an age at the cap.
        copies: how many rows a class has, (1,): one for each number that an arc counts, with lanes.
        lanes: what counting does to lanes.
    """

    kind: Ints
    width: Ints
    columns: Ints
    classes: Ints
    rows: Ints
    state: Places
    class_of: Ints
    member: Ints
    pair_arcs: Ints
    pair_arc: Places
    target_groups: Ints
    target_group: Places
    class_arc: Places
    arc_sets: Ints
    arc_set: Ints
    arc: Places
    arc_target: Places
    class_sets: Ints
    class_set: Ints
    source_features: Ints
    source_feature: Places
    target_features: Ints
    target_feature: Places
    operations: Ints
    at_cap: Ints
    copies: Ints
    lanes: Lanes


def tables_of_y(composed: Composed, adds: Bools) -> YTables:
    """The tables of the tape of y; ``adds`` says which of its features add to joint counts."""
    width = int(composed.width[-1])
    kinds = composed.kinds
    class_of = classes_of(composed)
    count = int(class_of.max()) + 1
    member = first_places(class_of, count)
    pair_arc = _ConcatenatedRows(5)
    target_group = _ConcatenatedRows(4)
    class_arc = _ConcatenatedRows(3)
    class_set = _ConcatenatedRows(1)
    source_feature = _ConcatenatedRows(3)
    target_feature = _ConcatenatedRows(2)
    arc_set = _ConcatenatedRows(1)
    arc = _ConcatenatedRows(3)
    class_sets = []
    operations = []
    none = int(composed.first_feature[-1])
    for arcs in kinds:
        shown = _features(arcs, composed.first_feature, width, adds)
        sources = _sources(arcs, class_of, count)
        pair_arc.add(sources.pair_arcs)
        target_group.add(sources.target_groups + np.array([0, 0, len(class_arc), 0]))
        class_arc.add(sources.class_arcs)
        sets, holders = _arc_sets(arcs, shown.source_feature_set, class_of)
        arc_set.add(len(arc) + sets.begins[:-1, None])
        arc.add(sets.arcs)
        holders[:, 1] += arc_set.begins[-2]
        source_feature.add(_source_features(holders, shown.of_source, none))
        target_feature.add(_target_features(shown.of_target, none))
        rows = _representatives(arcs, class_of, holders)
        class_sets.append(_begins(rows[:, 0], count) + len(class_set))
        class_set.add(rows[:, 1:])
        operations.append(_operations(sources, class_of, sets.begins, rows))
    opened = np.array([np.count_nonzero(groups[:, 3]) for groups in target_group.parts], np.int64)
    end = np.array([[0, 0, len(class_arc), 0]], np.uint32)
    return YTables(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        classes=np.searchsorted(member, composed.width),
        rows=np.cumsum([0, composed.width[0], *opened[composed.kind]]),
        state=composed.state.astype(np.uint32),
        class_of=class_of,
        member=member,
        pair_arcs=np.array(pair_arc.begins),
        pair_arc=pair_arc.places(),
        target_groups=np.array(target_group.begins),
        target_group=np.append(target_group.places(), end, axis=0),
        class_arc=class_arc.places(),
        arc_sets=np.array(arc_set.begins),
        arc_set=np.append(arc_set.rows().ravel(), len(arc)),
        arc=arc.places(),
        arc_target=arc.places(),
        class_sets=np.array(class_sets, np.int64).reshape(len(kinds), count + 1),
        class_set=class_set.rows().ravel(),
        source_features=np.array(source_feature.begins),
        source_feature=source_feature.places(),
        target_features=np.array(target_feature.begins),
        target_feature=target_feature.places(),
        operations=np.array(operations, np.int64),
        at_cap=np.flatnonzero(composed.at_cap),
        copies=np.ones(1, np.int64),
        lanes=Lanes(np.zeros((0, 0)), np.zeros((0, 0))),
    )


def with_lanes(y_tables: YTables, nodes: Floats) -> YTables:
    """The tables for rows of one number for each node x, (lanes,), in place of counts.

    What is counted does not move a row, but multiplies it: the row of class c for an arc that
    counts m is row c + classes * m.
    """
    classes = len(y_tables.member)
    arc = y_tables.arc.copy()
    arc[:, 0] += classes * arc[:, 1]
    arc[:, 1] = 0
    class_arc = y_tables.class_arc.copy()
    sizes = np.diff(y_tables.target_group[:, 2])
    class_arc[:, 0] += classes * np.repeat(y_tables.target_group[:-1, 1], sizes)
    counted = (y_tables.target_group[:, 1], y_tables.arc_target[:, 1], y_tables.pair_arc[:, 3])
    most = max(int(amounts.max(initial=0)) for amounts in counted)
    exponents = np.multiply.outer(np.arange(max(int(y_tables.columns[-1]), most + 1)), nodes)
    padding = int(padded(np.array(len(nodes)))) - len(nodes)
    powers = np.pad(np.exp(-exponents), ((0, 0), (0, padding)))
    # Where counting one item takes nearly all, the deficit is not looked at.
    rises = np.pad(np.expm1(np.minimum(exponents[: most + 1], _STEEP)), ((0, 0), (0, padding)))
    return y_tables._replace(
        columns=np.full_like(y_tables.columns, len(nodes)),
        arc=arc,
        class_arc=class_arc,
        copies=np.array([1 + most]),
        lanes=Lanes(powers, rises),
    )


def uncounted(y_tables: YTables) -> YTables:
    """The tables for rows of one number: nothing is counted."""
    columns = np.ones_like(y_tables.columns)
    return y_tables._replace(columns=columns, arc=y_tables.arc * np.array([1, 0, 1], np.uint32))


def padded(columns: Ints) -> Ints:
    """Rows of counts have a length that four divides, or 1: loops take four numbers at a time."""
    lengths: Ints = np.where(columns == 1, 1, (columns + 3) // 4 * 4)
    return lengths


class _Sources(NamedTuple):
    """What the masses of pairs after are sums of: rows of the tables of these names."""

    pair_arcs: Ints
    target_groups: Ints
    class_arcs: Ints


def _sources(arcs: Ints, class_of: Ints, count: int) -> _Sources:
    """Pair arcs by pair before; class arcs by target, with a target group for every sum.

    A class is a source where all its pairs that are expanded lead to the target in the same way.
    """
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return _Sources(*(np.zeros((0, columns), np.int64) for columns in (5, 4, 3)))
    sizes = np.bincount(class_of[distinct(source)[0]], minlength=count)
    first, together = distinct_rows([target, class_of[source], weight, counted])
    size = sizes[class_of[source[first]]]
    several = np.bincount(target)[target[first]] > 1  # else a pair arc, whose row is not copied
    whole = (np.bincount(together) == size) & several
    of_class, joined = whole[together], first[whole]
    alone = np.bincount(target[~of_class], minlength=int(target.max()) + 1)
    alone[target[joined]] += 2
    pair_arcs = np.stack([target, source, weight, counted, alone[target] > 1], axis=1)[~of_class]
    classes = class_of[source[joined]]
    is_sum = alone > 1
    is_sum[target[joined]] = False
    sums = np.flatnonzero(is_sum)
    owner = np.append(target[joined], sums)  # sums of pair arcs have an empty group
    keys = [owner, np.append(counted[joined], np.zeros_like(sums))]
    heads, group = distinct_rows(keys)
    class_arcs = np.stack([classes, np.zeros_like(classes), weight[joined]], axis=1)
    order = np.argsort(group[: len(joined)], kind="stable")
    begins = np.searchsorted(group[order], np.arange(len(heads)))
    opens = np.diff(owner[heads], prepend=-1) != 0
    groups = np.stack([owner[heads], keys[1][heads], begins, opens], axis=1)
    return _Sources(pair_arcs, groups, class_arcs[order])


class _ArcSets(NamedTuple):
    """Sets of arcs (class after, counted, weight): where each begins, and the arcs."""

    begins: Ints
    arcs: Ints


def _arc_sets(arcs: Ints, feature_set: Ints, class_of: Ints) -> tuple[_ArcSets, Ints]:
    """The distinct sets of arcs that pairs take with one source feature set.

    And rows (pair, arc set, source feature set).
    """
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return _ArcSets(np.zeros(1, np.int64), np.zeros((0, 3), np.int64)), np.zeros(
            (0, 3), np.int64
        )
    once, holder = distinct_rows([source, feature_set])
    place, arc = distinct_rows([class_of[target], counted, weight])
    first = distinct_rows([holder, arc])[0]
    number, sets, member = distinct_sets(holder[first], arc[first], len(once))
    order = np.argsort(row_keys([sets, member]))
    listed = np.stack([class_of[target], counted, weight], axis=1)[place]
    begins = _begins(sets[order], int(number.max()) + 1)
    holders = np.stack([source[once], number, feature_set[once]], axis=1)
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
    ends = np.diff(np.append(sources.target_groups[:, 2], len(sources.class_arcs)))
    by_class = np.repeat(sources.target_groups[:, 0], ends)
    targets = np.append(sources.pair_arcs[:, 0], by_class)
    forward = np.bincount(targets).max(initial=0)
    forward += np.bincount(class_of).max()
    backward = np.diff(sets).max(initial=0) + np.bincount(class_sets[:, 0]).max(initial=0)
    return int(max(forward, backward)) + 6


class ZTables(NamedTuple):
    """The tape of z with the sequences that are allowed, for kernels.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        rows: rows of maxima that are kept for the layers before each, (n + 2,).
        source_sets: where the source sets of each kind begin.
        source_set: the first member of each source set of several members, and the end.
        member: pair before, or -1; source set of the kind, or -1; source feature set. A source set
            that is a member stands before those that it is a member of.
        ways: where the ways of each kind begin.
        way: pair after; pair before, or -1; source set of the kind, or -1; counted; source feature
            set; and ONLY, FIRST or OTHER.
        source_rows: score rows of each source feature set, (sets, terms).
        target_rows: score rows of each pair after, (kinds, pairs, terms).
        backs: where the arcs to each pair begin, (kinds, pairs + 1).
        back: pair before, source feature set, counted, label.
        step: pair after, source feature set, counted, by kind, pair before and label; -1 where
            there is none.
    """

    kind: Ints
    width: Ints
    columns: Ints
    rows: Ints
    source_sets: Ints
    source_set: Ints
    member: Ints
    ways: Ints
    way: Ints
    source_rows: Places
    target_rows: Places
    backs: Ints
    back: Ints
    step: Ints


def tables_of_z(composed: Composed, labels: int, adds: Bools) -> ZTables:
    """The tables of the tape of z; ``adds`` says which of its features add to joint counts."""
    width = int(composed.width[-1])
    kinds = composed.kinds
    terms = len(composed.first_feature) - 1
    none = np.full((1, terms), int(composed.first_feature[-1]))
    source_set = _ConcatenatedRows(1)
    member = _ConcatenatedRows(3)
    way = _ConcatenatedRows(6)
    back = _ConcatenatedRows(4)
    source_rows = _ConcatenatedRows(terms)
    target_rows = []
    backs = []
    step = np.full((len(kinds), width, labels, 3), -1, np.int64)
    for k, arcs in enumerate(kinds):
        source, _, target, counted, *_, label = arcs
        shown = _features(arcs, composed.first_feature, width, adds)
        nothing = len(source_rows)  # the source feature set that shows nothing
        source_rows.add(np.append(none, shown.of_source, axis=0))
        feature_set = shown.source_feature_set + nothing + 1
        silent = (shown.of_source == none).all(axis=1)[shown.source_feature_set]
        feature_set = np.where(silent, nothing, feature_set)
        sets = _source_sets(source, target, counted, feature_set, nothing)
        source_set.add(len(member) + sets.begins[:-1, None])
        member.add(sets.members)
        way.add(sets.ways)
        target_rows.append(shown.of_target)
        # Of several labels that do the same, the first is taken.
        once = distinct_rows([target, source, feature_set, counted])[0] if len(source) else source
        backs.append(_begins(target[once], width) + len(back))
        back.add(np.stack([source, feature_set, counted, label], axis=1)[once])
        step[k, source, label] = np.stack([target, feature_set, counted], axis=1)
    opened = [np.count_nonzero(ways[:, 5] == FIRST) for ways in way.parts]
    kept = np.diff(source_set.begins) + np.array(opened, np.int64)
    return ZTables(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        rows=np.cumsum([0, 1, *kept[composed.kind]]),
        source_sets=np.array(source_set.begins),
        source_set=np.append(source_set.rows().ravel(), len(member)),
        member=member.rows(),
        ways=np.array(way.begins),
        way=way.rows(),
        source_rows=source_rows.places(),
        target_rows=np.array(target_rows, np.uint32).reshape(len(kinds), width, terms),
        backs=np.array(backs, np.int64).reshape(len(kinds), width + 1),
        back=back.rows(),
        step=step,
    )


def uncounted_paths(z_tables: ZTables) -> ZTables:
    """The tables for rows of one number: nothing is counted."""
    way = z_tables.way.copy()
    way[:, 3] = 0
    back = z_tables.back.copy()
    back[:, 2] = 0
    return z_tables._replace(columns=np.ones_like(z_tables.columns), way=way, back=back)


class _SourceSets(NamedTuple):
    """Source sets of a kind: where the members of each begin, the members, and the ways."""

    begins: Ints
    members: Ints
    ways: Ints


def _source_sets(
    source: Ints, target: Ints, counted: Ints, feature_set: Ints, nothing: int
) -> _SourceSets:
    """The source sets and ways of the arcs of a kind.

    A set of pairs from which several source feature sets lead on alike is a source set of its own,
    a member of others: the maximum over its pairs is taken once, not for each of them.
    """
    if not len(source):
        empty = np.zeros((0, 3), np.int64)
        return _SourceSets(np.zeros(1, np.int64), empty, np.zeros((0, 6), np.int64))
    first, way = distinct_rows([target, counted])
    head, part = distinct_rows([way, feature_set])  # the arcs of a way with one feature set
    once = distinct_rows([part, source])[0]
    pairs_of, pair_set, pair = distinct_sets(part[once], source[once], len(head))
    order = np.argsort(row_keys([pair_set, pair]))
    pair_set = pair_set[order]
    pair = pair[order]
    sizes = np.bincount(pair_set)
    is_inner = (np.bincount(pairs_of) > 1) & (sizes > 1)
    inner = np.cumsum(is_inner) - 1
    # Members of the set of each way: inner sets as they are, the pairs of others one by one.
    whole = is_inner[pairs_of]
    counts = np.where(whole, 1, sizes[pairs_of])
    owner = np.repeat(np.arange(len(head)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = _begins(pair_set, len(sizes))[pairs_of[owner]] + within
    cells = np.stack(
        [
            np.where(whole[owner], -1, pair[place]),
            np.where(whole[owner], inner[pairs_of[owner]], -1),
            feature_set[head[owner]],
        ],
        axis=1,
    )
    cell_first, cell = distinct_rows([*(cells.T + 1)])
    of_way = way[head[owner]]
    number, sets, member = distinct_sets(of_way, cell, len(first))
    order = np.argsort(row_keys([sets, member]))
    sets = sets[order]
    members = cells[cell_first[member[order]]]
    begins = _begins(sets, int(number.max()) + 1)
    several = np.diff(begins) > 1
    rank = np.cumsum(several) - 1 + np.count_nonzero(is_inner)
    alone = members[begins[:-1]][number]  # the first member of the set of each way
    is_set = several[number]
    after = target[first]
    ways = np.stack(
        [
            after,
            np.where(is_set, -1, alone[:, 0]),
            np.where(is_set, rank[number], alone[:, 1]),
            counted[first],
            np.where(is_set, nothing, alone[:, 2]),
            np.where(np.bincount(after)[after] == 1, ONLY, _firsts(after)),
        ],
        axis=1,
    )
    in_inner = is_inner[pair_set]
    silent = np.full(np.count_nonzero(in_inner), nothing)
    inner_members = np.stack([pair[in_inner], np.full_like(silent, -1), silent], axis=1)
    lengths = np.append(sizes[is_inner], np.diff(begins)[several])
    return _SourceSets(
        np.append(0, np.cumsum(lengths)),
        np.append(inner_members, members[several[sets]], axis=0),
        ways,
    )


def _firsts(after: Ints) -> Ints:
    """FIRST for the first way to each pair, OTHER for others; ways are sorted by pair."""
    return np.where(np.diff(after, prepend=-1) == 0, OTHER, FIRST)
