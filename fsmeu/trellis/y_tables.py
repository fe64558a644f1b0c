"""The tape of y with a model, as tables of arcs without any numbers: for sums.

Made of the arcs of a tape composed with an acceptor (``composed.py``). Pairs with the same future,
as far as weights and counts go, are a *class*: their backward values are equal. With the F-score of
chunks these are the labels, however long a chunk has been open. The mass of a pair is a sum over
*pair arcs*, from pairs before, and over *class arcs*, from classes all of whose members lead there;
class arcs with one target that count alike are a *target group*. Backwards, arcs that show the same
features are an *arc set*, summed once.

A pair to which there is one arc only has the row of where that comes from, moved by what is counted
and times a factor: such a step costs one product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints, Places
from fsmeu.fst.distinct import distinct, distinct_rows, distinct_sets, first_places, row_keys
from fsmeu.trellis.composed import Composed, begins_of, classes_of, features_of
from fsmeu.trellis.rows import Rows

_STEEP = 30.0  # x c from which on a deficit would be all of the mass


class YTables(NamedTuple):
    """The tape of y with a model, for kernels.

    Tables of several kinds are concatenated over kinds: ``pair_arcs[k]`` is the first pair arc of
    kind k, ``target_groups[k]`` its first target group, and so on.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: the length of rows in each layer: values of the counter, or nodes, (n + 1,).
        classes: classes of each layer, (n + 1,).
        opened: rows of masses that pairs before each layer have of their own, (n + 2,).
        state: the acceptor's state of each pair.
        class_of: the class of each pair.
        member: the first pair of each class.
        pair_arcs: where those of each kind begin.
        pair_arc: target, pair before, weight, counted, whether the target has other arcs.
        target_groups: where those of each kind begin.
        target_group: target, counted, first class arc, whether it is the first of its target; and
            one more row for the end.
        class_arc: class before, 0, weight.
        class_steps: where those of each kind begin.
        class_step: class after, class before, weight, counted: the pair arcs, taken together.
        class_groups: where those of each kind begin.
        class_group: class after, counted, first incoming arc; and one more row for the end.
        incoming_arc: class before, 0, weight: all arcs by class after.
        arc_sets: where those of each kind begin.
        arc_set: the first arc of each set, and the end.
        arc: class after, counted, weight.
        class_sets: where the arc sets of each class begin, (kinds, classes + 1).
        class_set: arc sets of classes.
        source_features: where those of each kind begin.
        source_feature: pair before, arc set, feature.
        target_features: where those of each kind begin.
        target_feature: pair after, feature.
        operations: for each kind, sums and products on the way from a pair to one after, at most.
        at_cap: the pairs with an age at the cap.
        rows: what counting does to a row.
    """

    kind: Ints
    width: Ints
    columns: Ints
    classes: Ints
    opened: Ints
    state: Places
    class_of: Ints
    member: Ints
    pair_arcs: Ints
    pair_arc: Places
    target_groups: Ints
    target_group: Places
    class_arc: Places
    class_steps: Ints
    class_step: Places
    class_groups: Ints
    class_group: Places
    incoming_arc: Places
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
    at_cap: Ints
    rows: Rows


def tables_of_y(composed: Composed, adds: Bools) -> YTables:
    """The tables of the tape of y; ``adds`` says which of its features add to joint counts."""
    width = int(composed.width[-1])
    kinds = composed.kinds
    class_of = classes_of(composed)
    count = int(class_of.max()) + 1
    member = first_places(class_of, count)
    pair_arc = ConcatenatedRows(5)
    target_group = ConcatenatedRows(4)
    class_arc = ConcatenatedRows(3)
    class_step = ConcatenatedRows(4)
    class_group = ConcatenatedRows(3)
    incoming_arc = ConcatenatedRows(3)
    class_set = ConcatenatedRows(1)
    source_feature = ConcatenatedRows(3)
    target_feature = ConcatenatedRows(2)
    arc_set = ConcatenatedRows(1)
    arc = ConcatenatedRows(3)
    class_sets = []
    operations = []
    none = int(composed.first_feature[-1])
    for arcs in kinds:
        shown = features_of(arcs[4:-1], arcs[2], width, composed.first_feature, adds)
        once, feature_set = distinct_rows([np.zeros_like(arcs[0]), *shown.of_source.T])
        sources = _sources(arcs, class_of, count)
        pair_arc.add(sources.pair_arcs)
        target_group.add(sources.target_groups + np.array([0, 0, len(class_arc), 0]))
        class_arc.add(sources.class_arcs)
        steps = _class_steps(sources.pair_arcs, class_of)
        class_step.add(steps)
        groups, incoming = _incoming(arcs, class_of)
        class_group.add(groups + np.array([0, 0, len(incoming_arc)]))
        incoming_arc.add(incoming)
        sets, holders = _arc_sets(arcs, feature_set, class_of)
        arc_set.add(len(arc) + sets.begins[:-1, None])
        arc.add(sets.arcs)
        holders[:, 1] += arc_set.begins[-2]
        source_feature.add(_source_features(holders, shown.of_source[once], none))
        target_feature.add(_target_features(shown.of_target, none))
        rows = _representatives(arcs, class_of, holders)
        class_sets.append(begins_of(rows[:, 0], count) + len(class_set))
        class_set.add(rows[:, 1:])
        backward = _backward_operations(sets.begins, rows)
        operations.append(max(_forward_operations(sources, steps, class_of), backward) + 6)
    opened = np.array([np.count_nonzero(groups[:, 3]) for groups in target_group.parts], np.int64)
    end = np.array([[0, 0, len(class_arc), 0]], np.uint32)
    last = np.array([[0, 0, len(incoming_arc)]], np.uint32)
    return YTables(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        classes=np.searchsorted(member, composed.width),
        opened=np.cumsum([0, composed.width[0], *opened[composed.kind]]),
        state=composed.state.astype(np.uint32),
        class_of=class_of,
        member=member,
        pair_arcs=np.array(pair_arc.begins),
        pair_arc=pair_arc.places(),
        target_groups=np.array(target_group.begins),
        target_group=np.append(target_group.places(), end, axis=0),
        class_arc=class_arc.places(),
        class_steps=np.array(class_step.begins),
        class_step=class_step.places(),
        class_groups=np.array(class_group.begins),
        class_group=np.append(class_group.places(), last, axis=0),
        incoming_arc=incoming_arc.places(),
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
        at_cap=np.flatnonzero(composed.at_cap),
        rows=Rows(1, np.zeros((0, 0)), np.zeros((0, 0))),
    )


def at_nodes(y_tables: YTables, nodes: Floats) -> YTables:
    """The tables for rows by node, for nodes x, (nodes,)."""
    counted = (y_tables.target_group[:, 1], y_tables.arc[:, 1], y_tables.pair_arc[:, 3])
    copies = 1 + max(int(amounts.max(initial=0)) for amounts in counted)
    # What rows are moved by on the way is at most the greatest value of the counter.
    exponents = np.multiply.outer(np.arange(max(int(y_tables.columns[-1]), copies)), nodes)
    size = int(padded(np.array(len(nodes))))
    powers = np.zeros((len(exponents), size))
    with np.errstate(over="ignore"):  # a node whose masses are infinite tells nothing
        powers[:, : len(nodes)] = np.exp(-exponents)
    # Where counting one item takes nearly all, the deficit is not looked at.
    rises = np.zeros((copies, size))
    rises[:, : len(nodes)] = np.expm1(np.minimum(exponents[:copies], _STEEP))
    columns = np.full_like(y_tables.columns, len(nodes))
    return y_tables._replace(columns=columns, rows=Rows(0, powers, rises))


def uncounted(y_tables: YTables) -> YTables:
    """The tables for rows of one number: nothing is counted."""
    columns = np.ones_like(y_tables.columns)
    return y_tables._replace(columns=columns, arc=y_tables.arc * np.array([1, 0, 1], np.uint32))


def most_flows(y_tables: YTables) -> int:
    """How many flows of a position are added to a score, at most."""
    flows = np.diff(y_tables.source_features) + np.diff(y_tables.target_features)
    return int(flows.max(initial=1))


def padded(columns: Ints) -> Ints:
    """Rows of counts have a length that four divides, or 1: loops take four numbers at a time."""
    lengths: Ints = np.where(columns == 1, 1, (columns + 3) // 4 * 4)
    return lengths


class ConcatenatedRows:
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


def _class_steps(pair_arcs: Ints, class_of: Ints) -> Ints:
    """Rows (class after, class before, weight, counted): each stands for pair arcs alike.

    All pairs of a class lead in the same way to a class after: where one does so by a pair arc,
    all do.
    """
    target, source, weight, counted, _ = pair_arcs.T
    rows = np.stack([class_of[target], class_of[source], weight, counted], axis=1)
    return rows[distinct_rows(list(rows.T))[0]] if len(rows) else rows


def _incoming(arcs: Ints, class_of: Ints) -> tuple[Ints, Ints]:
    """Rows (class after, counted, first arc), and arcs (class before, 0, weight) in their order.

    Arcs are those of the first pair of each class that is expanded.
    """
    source, weight, target, counted = arcs[:4]
    if not len(source):
        return np.zeros((0, 3), np.int64), np.zeros((0, 3), np.int64)
    present = distinct(source)[0]
    first = np.full(int(class_of.max()) + 1, -1)
    first[class_of[present[::-1]]] = present[::-1]
    chosen = np.flatnonzero(first[class_of[source]] == source)
    heads, group = distinct_rows([class_of[target[chosen]], counted[chosen]])
    order = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[order], np.arange(len(heads)))
    heads = chosen[heads]
    groups = np.stack([class_of[target[heads]], counted[heads], begins], axis=1)
    chosen = chosen[order]
    before = class_of[source[chosen]]
    return groups, np.stack([before, np.zeros_like(before), weight[chosen]], axis=1)


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
    begins = begins_of(sets[order], int(number.max()) + 1)
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


def _forward_operations(sources: _Sources, class_steps: Ints, class_of: Ints) -> int:
    """Sums on the way from a pair before to one after, by way of a class: at most so many."""
    groups = sources.target_groups
    ends = np.diff(np.append(groups[:, 2], len(sources.class_arcs)))
    targets = np.append(sources.pair_arcs[:, 0], np.repeat(groups[:, 0], ends))
    opened = groups[groups[:, 3] != 0, 0]
    into_class = np.bincount(np.append(class_steps[:, 0], class_of[opened])).max(initial=0)
    return int(np.bincount(targets).max(initial=0) + max(into_class, np.bincount(class_of).max()))


def _backward_operations(sets: Ints, class_sets: Ints) -> int:
    """Sums on the way from a class after to one before: at most so many."""
    return int(np.diff(sets).max(initial=0) + np.bincount(class_sets[:, 0]).max(initial=0))
