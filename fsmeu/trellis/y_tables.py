"""The tape of y with a model, as tables of arcs without any numbers: for sums.

Made of the arcs of a tape composed with an acceptor (``composed.py``). Pairs with the same future,
as far as weights and counts go, are a *class*: their backward values are equal. With the F-score of
chunks these are the labels, however long a chunk has been open.

    forward    mass(q) = sum over pair arcs p -> q of   weight t^counted mass(p)
                       + sum over class arcs c -> q of  weight t^counted mass(c)
               mass(c) = sum of mass(p) over the pairs p of class c
    backward   future(arc set) = sum over its arcs of   weight t^counted future(class after)
               future(c)       = sum of future(arc set) over those that pairs of c take

A class arc stands for pair arcs from all pairs of the class; class arcs with one target that count
alike are a *target group*. An arc set is what pairs take with the same features shown.

A pair to which there is one arc only has the row of where that comes from, moved by what is counted
and times a factor: such a step costs one product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints, Places
from fsmeu.fst.distinct import by_first, distinct_rows, distinct_sets, first_places
from fsmeu.trellis.composed import Composed, Features, begins_of, classes_of, features_of
from fsmeu.trellis.rows import Rows


class PairArcs(NamedTuple):
    """Arcs from pair to pair, by source."""

    target: Places
    source: Places
    weight: Places
    counted: Places
    is_joined: Bools  # whether other arcs lead to the target


class TargetGroups(NamedTuple):
    """Class arcs to one pair that count alike, by target; and one more group for the end."""

    target: Places
    counted: Places
    begin: Places  # the first class arc
    opens: Bools  # whether it is the first group of its target


class ClassSteps(NamedTuple):
    """Pair arcs taken together by their classes: all pairs of a class have them alike."""

    target: Places
    source: Places
    weight: Places
    counted: Places


class ShownBefore(NamedTuple):
    """Features that steps show by what they leave, by pair."""

    pair: Places
    arc_set: Places
    feature: Places


class ShownAfter(NamedTuple):
    """Features that all steps to a pair show, by pair."""

    pair: Places
    feature: Places


class YTables(NamedTuple):
    """The tape of y with a model, for kernels.

    Tables of several kinds are concatenated over kinds: ``pair_arcs_at[k]`` is the first pair arc
    of kind k, and so on.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: the length of rows in each layer: values of the counter, or nodes, (n + 1,).
        classes: classes of each layer, (n + 1,).
        opened: rows of masses that pairs before each layer have of their own, (n + 2,).
        state: the acceptor's state of each pair.
        class_of: the class of each pair.
        member: the first pair of each class.
        pair_arcs_at: where those of each kind begin.
        pair_arcs: those to pairs without classes.
        target_groups_at: where those of each kind begin.
        target_groups: class arcs by target.
        class_arc: class before, 0, weight.
        class_steps_at: where those of each kind begin.
        class_steps: the pair arcs, taken together.
        arc_sets_at: where those of each kind begin.
        arc_set: the first arc of each set, and the end.
        arc: class after, counted, weight: the arcs of arc sets.
        class_sets_at: where the arc sets of each class begin, (kinds, classes + 1).
        class_set: arc sets of classes.
        before_at: where features of steps of each kind begin that pairs before tell.
        before: these features.
        after_at: where features of each kind begin that pairs after tell.
        after: these features.
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
    pair_arcs_at: Ints
    pair_arcs: PairArcs
    target_groups_at: Ints
    target_groups: TargetGroups
    class_arc: Places
    class_steps_at: Ints
    class_steps: ClassSteps
    arc_sets_at: Ints
    arc_set: Ints
    arc: Places
    class_sets_at: Ints
    class_set: Ints
    before_at: Ints
    before: ShownBefore
    after_at: Ints
    after: ShownAfter
    at_cap: Ints
    rows: Rows


class _Arcs(NamedTuple):
    """Arcs of all kinds, by kind and source; pairs and classes are numbered apart for each kind."""

    kinds: int
    width: int
    classes: int
    kind: Ints
    source: Ints
    target: Ints
    class_before: Ints
    class_after: Ints
    weight: Ints
    counted: Ints


def tables_of_y(composed: Composed, adds: Bools) -> YTables:
    """The tables of the tape of y; ``adds`` says which of its features add to joint counts."""
    class_of = classes_of(composed)
    arcs = _arcs_of(composed, class_of)
    shown = _shown(composed, arcs, adds)
    masses = _mass_arcs(arcs)
    steps, steps_at = _class_steps(arcs, masses.own)
    sets = _arc_sets(arcs, shown.of_source)
    before, before_at = _shown_before(arcs, sets, shown)
    after, after_at = _shown_after(arcs, shown)
    kind = np.repeat(np.arange(arcs.kinds), np.diff(masses.groups_at))
    opened = np.bincount(kind[masses.groups.opens[:-1]], minlength=arcs.kinds)
    member = first_places(class_of, arcs.classes)
    return YTables(
        kind=composed.kind,
        width=composed.width,
        columns=composed.columns,
        classes=np.searchsorted(member, composed.width),
        opened=np.cumsum([0, composed.width[0], *opened[composed.kind]]),
        state=_places(composed.state),
        class_of=class_of,
        member=member,
        pair_arcs_at=begins_of(arcs.kind[masses.own], arcs.kinds),
        pair_arcs=_pair_arcs(arcs, masses),
        target_groups_at=masses.groups_at,
        target_groups=masses.groups,
        class_arc=masses.class_arcs,
        class_steps_at=steps_at,
        class_steps=steps,
        arc_sets_at=sets.sets_at,
        arc_set=sets.begins,
        arc=sets.arcs,
        class_sets_at=sets.class_sets_at,
        class_set=sets.class_set,
        before_at=before_at,
        before=before,
        after_at=after_at,
        after=after,
        at_cap=np.flatnonzero(composed.at_cap),
        rows=Rows(1, np.zeros((0, 0)), 0),
    )


def at_nodes(y_tables: YTables, nodes: Floats) -> YTables:
    """The tables for rows by node, for nodes x, (nodes,)."""
    copies = 1 + most_counted(y_tables)
    # What rows are moved by on the way is at most the greatest value of the counter.
    exponents = np.multiply.outer(np.arange(max(int(y_tables.columns[-1]), copies)), nodes)
    size = int(padded(np.array(len(nodes))))
    powers = np.zeros((len(exponents), size))
    with np.errstate(over="ignore"):  # a node whose masses are infinite tells nothing
        powers[:, : len(nodes)] = np.exp(-exponents)
    columns = np.full_like(y_tables.columns, len(nodes))
    return y_tables._replace(columns=columns, rows=Rows(0, powers, copies))


def uncounted(y_tables: YTables) -> YTables:
    """The tables for rows of one number: nothing is counted."""
    columns = np.ones_like(y_tables.columns)
    return y_tables._replace(columns=columns, arc=y_tables.arc * np.array([1, 0, 1], np.uint32))


def most_counted(y_tables: YTables) -> int:
    """The most that an arc counts."""
    counted = (y_tables.target_groups.counted, y_tables.arc[:, 1], y_tables.pair_arcs.counted)
    return max(int(amounts.max(initial=0)) for amounts in counted)


def most_flows(y_tables: YTables) -> int:
    """How many flows of a position are added to a score, at most."""
    flows = np.diff(y_tables.before_at) + np.diff(y_tables.after_at)
    return int(flows.max(initial=1))


def padded(columns: Ints) -> Ints:
    """Rows of counts have a length that four divides, or 1: loops take four numbers at a time."""
    lengths: Ints = np.where(columns == 1, 1, (columns + 3) // 4 * 4)
    return lengths


# -- tables ----------------------------------------------------------------------------------------


def _places(numbers: Ints) -> Places:
    """The numbers, none of them negative, as compiled loops read them."""
    return numbers.astype(np.uint32)


def _arcs_of(composed: Composed, class_of: Ints) -> _Arcs:
    """The arcs of all kinds."""
    kinds = len(composed.kinds)
    width = int(composed.width[-1])
    classes = int(class_of.max()) + 1
    kind, columns = composed.all_arcs()
    source, weight, target, counted = columns[:4]
    class_before = kind * classes + class_of[source]
    class_after = kind * classes + class_of[target]
    source = kind * width + source
    target = kind * width + target
    return _Arcs(
        kinds, width, classes, kind, source, target, class_before, class_after, weight, counted
    )


def _shown(composed: Composed, arcs: _Arcs, adds: Bools) -> Features:
    """The features that arcs show, of those that add something."""
    features = composed.all_arcs()[1][4:-1]
    pairs = arcs.kinds * arcs.width
    return features_of(features, arcs.target, pairs, composed.first_feature, adds)


class _MassArcs(NamedTuple):
    """What the masses of pairs after are sums of."""

    own: Ints  # arcs from pair to pair
    is_joined: Bools  # whether other arcs lead to their targets
    groups_at: Ints
    groups: TargetGroups
    class_arcs: Places


def _mass_arcs(arcs: _Arcs) -> _MassArcs:
    """Pair arcs by pair before; class arcs by target, with a target group for every sum.

    A class is a source where all its pairs that are expanded lead to the target in the same way.
    """
    pairs = arcs.kinds * arcs.width
    expanded = _first_places(arcs.source)
    sizes = np.bincount(arcs.class_before[expanded], minlength=1)
    keys = [arcs.target, arcs.class_before, arcs.weight, arcs.counted]
    first, together = distinct_rows(keys)
    size = sizes[arcs.class_before[first]]
    several = np.bincount(arcs.target, minlength=1)[arcs.target[first]] > 1  # else it is not copied
    whole = (np.bincount(together, minlength=len(first)) == size) & several
    joined = first[whole]
    own = np.flatnonzero(~whole[together])
    ways = np.bincount(arcs.target[own], minlength=pairs)
    ways[arcs.target[joined]] += 2
    is_sum = ways > 1
    is_sum[arcs.target[joined]] = False
    sums = np.flatnonzero(is_sum)  # sums of pair arcs have an empty group
    owner = np.append(arcs.target[joined], sums)
    counted = np.append(arcs.counted[joined], np.zeros_like(sums))
    heads, group = distinct_rows([owner, counted])
    order = np.argsort(group[: len(joined)], kind="stable")
    begins = np.searchsorted(group[order], np.arange(len(heads) + 1))
    joined = joined[order]
    before = arcs.class_before[joined] % arcs.classes
    return _MassArcs(
        own,
        ways[arcs.target[own]] > 1,
        begins_of(owner[heads] // arcs.width, arcs.kinds),
        TargetGroups(
            target=_places(np.append(owner[heads] % arcs.width, 0)),
            counted=_places(np.append(counted[heads], 0)),
            begin=_places(begins),
            opens=np.append(np.diff(owner[heads], prepend=-1) != 0, False),
        ),
        _places(np.stack([before, np.zeros_like(before), arcs.weight[joined]], axis=1)),
    )


def _pair_arcs(arcs: _Arcs, masses: _MassArcs) -> PairArcs:
    """Arcs from pair to pair."""
    own = masses.own
    return PairArcs(
        target=_places(arcs.target[own] % arcs.width),
        source=_places(arcs.source[own] % arcs.width),
        weight=_places(arcs.weight[own]),
        counted=_places(arcs.counted[own]),
        is_joined=masses.is_joined,
    )


def _first_places(ascending: Ints) -> Ints:
    """The first place of each distinct number."""
    return np.flatnonzero(np.diff(ascending, prepend=-1))


def _class_steps(arcs: _Arcs, own: Ints) -> tuple[ClassSteps, Ints]:
    """Arcs from pair to pair taken together by class, and where those of each kind begin.

    All pairs of a class lead in the same way to a class after: where one does so by a pair arc,
    all do.
    """
    columns = arcs.class_after, arcs.class_before, arcs.weight, arcs.counted
    once = own[distinct_rows([column[own] for column in columns])[0]]
    steps = ClassSteps(
        target=_places(arcs.class_after[once] % arcs.classes),
        source=_places(arcs.class_before[once] % arcs.classes),
        weight=_places(arcs.weight[once]),
        counted=_places(arcs.counted[once]),
    )
    return steps, begins_of(arcs.kind[once], arcs.kinds)


def _is_first(arcs: _Arcs) -> Bools:
    """Which arcs leave the first pair of their class that is expanded, (arcs,)."""
    first = np.full(arcs.kinds * arcs.classes, -1)
    first[arcs.class_before[::-1]] = arcs.source[::-1]
    is_first: Bools = first[arcs.class_before] == arcs.source
    return is_first


class _ArcSets(NamedTuple):
    """Sets of arcs that pairs take with the same features shown; pairs take one or more."""

    first: Ints  # the first arc of each pair and set
    of_first: Ints  # the set
    sets_at: Ints  # where the sets of each kind begin
    begins: Ints  # where the arcs of each set begin, and the end
    arcs: Places  # class after, counted, weight
    class_sets_at: Ints  # where the sets of each class begin, (kinds, classes + 1)
    class_set: Ints  # sets of classes: those of the first pair that is expanded


def _arc_sets(arcs: _Arcs, shown: Ints) -> _ArcSets:
    """The distinct sets of arcs that pairs take with the same features, (arcs, terms)."""
    first, holder = distinct_rows([arcs.source, *shown.T])
    place, arc = distinct_rows([arcs.class_after, arcs.counted, arcs.weight])
    once = distinct_rows([holder, arc])[0]
    number, sets, member = distinct_sets(holder[once], arc[once], len(first))
    of_first = by_first(number)  # by pair, so by kind
    rank = np.zeros(len(first), np.int64)
    rank[number] = of_first
    sets = rank[sets]
    order = np.lexsort((member, sets))
    listed = place[member[order]]
    columns = arcs.class_after[listed] % arcs.classes, arcs.counted[listed], arcs.weight[listed]
    begins = begins_of(sets[order], int(of_first.max(initial=-1)) + 1)
    chosen = np.flatnonzero(_is_first(arcs)[first])
    chosen = chosen[np.argsort(arcs.class_before[first[chosen]], kind="stable")]
    of_class = begins_of(arcs.class_before[first[chosen]], arcs.kinds * arcs.classes)
    at = np.arange(arcs.kinds)[:, None] * arcs.classes + np.arange(arcs.classes + 1)
    return _ArcSets(
        first=first,
        of_first=of_first,
        sets_at=begins_of(arcs.kind[listed[begins[:-1]]], arcs.kinds),
        begins=begins,
        arcs=_places(np.stack(columns, axis=1)),
        class_sets_at=of_class[at],
        class_set=of_first[chosen],
    )


def _shown_before(arcs: _Arcs, sets: _ArcSets, shown: Features) -> tuple[ShownBefore, Ints]:
    """Features that pairs show by the arc sets that they take, and where each kind begins."""
    of_pair = shown.of_source[sets.first]
    row, term = np.nonzero(of_pair != shown.none)
    pair = arcs.source[sets.first[row]]
    columns = (pair % arcs.width, sets.of_first[row], of_pair[row, term])
    return ShownBefore(*map(_places, columns)), begins_of(pair // arcs.width, arcs.kinds)


def _shown_after(arcs: _Arcs, shown: Features) -> tuple[ShownAfter, Ints]:
    """Features that all steps to a pair show, and where those of each kind begin."""
    pair, term = np.nonzero(shown.of_target != shown.none)
    columns = (pair % arcs.width, shown.of_target[pair, term])
    return ShownAfter(*map(_places, columns)), begins_of(pair // arcs.width, arcs.kinds)
