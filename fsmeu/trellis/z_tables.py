"""The tape of z with the sequences that are allowed, as tables of arcs: for maxima.

Made of the arcs of a tape composed with an acceptor (``composed.py``). A *source set* is a set of
pairs, with what their steps show, over which the maximum is taken once for all pairs that are
reached from it. It may be a member of another. A pair to which there is one *way* only has the row
of where that comes from, moved by what is counted and plus an offset: such a step costs one sum.

Members and ways have *slots*, in which the scores of all that they show are added up: what a member
shows is what its steps show beside what their pair after tells, which its way shows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Ints, Places
from fsmeu.fst.distinct import distinct_rows, distinct_sets, row_keys
from fsmeu.trellis.composed import Composed
from fsmeu.trellis.features import ConcatenatedRows, begins_of, features_of

# Columns of ``ZTables.way``
PAIR_AFTER = 0
PAIR_BEFORE = 1  # -1 where a way leads from a source set
SOURCE_SET = 2  # among those of the kind; -1 where a way leads from a pair
COUNTED = 3
JOIN = 4  # how it joins the ways to its pair: one of the following
ONLY = 0  # a way that is the only one to its pair
FIRST = 1  # the first of several
OTHER = 2  # one of the others


class ZTables(NamedTuple):
    """The tape of z with the sequences that are allowed, for kernels.

    Attributes:
        kind: the kind of each position, (n,).
        width: pairs of each layer, (n + 1,).
        columns: values of the counter in each layer, (n + 1,).
        rows: rows of maxima that are kept for the layers before each, (n + 2,).
        source_sets: where the source sets of each kind begin.
        source_set: the first member of each source set of several members, and the end.
        member: pair before, or -1; source set of the kind, or -1. A source set that is a member
            stands before those that it is a member of.
        ways: where the ways of each kind begin.
        way: the ways of all kinds, (ways, 5); ``PAIR_AFTER`` to ``JOIN`` are its columns.
        runs: where the runs of each kind begin.
        run: the first way of each run, and the end. Pairs after and before of the ways of a run
            follow each other, where it has several, and each way is the only one to its pair.
        way_slot: what is added to a way for its slot, by kind. The slot of a member is its number
            among those of the kind; the slots of ways follow.
        slots: the greatest number of slots of a kind, (1,).
        row_slots: where the slots of each score row begin, (kinds, score rows + 1).
        row_slot: the slots that scores of each row are added to.
        source_rows: score rows of each source feature set, (sets, terms).
        target_rows: score rows of each pair after, (kinds, pairs, terms).
        backs: where the arcs to each pair begin, (kinds, pairs + 1).
        back: pair before, slot of the member or -1, slot of the way, counted, label.
        step: pair after, source feature set, counted, by kind, pair before and label; -1 where
            there is none.
        shown_from: the first pair before a step that shows each score row, (kinds, score rows); a
            number beyond all pairs where no step does.
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
    runs: Ints
    run: Ints
    way_slot: Ints
    slots: Ints
    row_slots: Ints
    row_slot: Places
    source_rows: Places
    target_rows: Places
    backs: Ints
    back: Ints
    step: Ints
    shown_from: Ints


def tables_of_z(composed: Composed, labels: int, adds: Bools) -> ZTables:
    """The tables of the tape of z; ``adds`` says which of its features add to joint counts."""
    width = int(composed.width[-1])
    kinds = composed.kinds
    terms = len(composed.first_feature) - 1
    none = np.full((1, terms), int(composed.first_feature[-1]))
    source_set = ConcatenatedRows(1)
    member = ConcatenatedRows(2)
    way = ConcatenatedRows(5)
    run = ConcatenatedRows(1)
    row_slot = ConcatenatedRows(1)
    back = ConcatenatedRows(5)
    source_rows = ConcatenatedRows(terms)
    target_rows = []
    row_slots = []
    backs = []
    step = np.full((len(kinds), width, labels, 3), -1, np.int64)
    score_rows = int(composed.first_feature[-1]) + 1
    shown_from = np.full((len(kinds), score_rows), np.iinfo(np.int64).max)
    for k, arcs in enumerate(kinds):
        source, _, target, counted, *features, label = arcs
        shown = features_of(arcs, composed.first_feature, width, adds)
        nothing = len(source_rows)  # the source feature set that shows nothing
        source_rows.add(np.append(none, shown.of_source, axis=0))
        feature_set = shown.source_feature_set + nothing + 1
        silent = (shown.of_source == none).all(axis=1)[shown.source_feature_set]
        feature_set = np.where(silent, nothing, feature_set)
        sets = _source_sets(source, target, counted, feature_set, nothing)
        source_set.add(len(member) + sets.begins[:-1, None])
        member.add(sets.members)
        of_member = source_rows.parts[-1][sets.member_features - nothing]
        of_way = source_rows.parts[-1][sets.way_features - nothing]
        of_way = np.append(of_way, shown.of_target[sets.ways[:, PAIR_AFTER]], axis=1)
        by_row = _slots_by_row(of_member, of_way, score_rows)
        row_slots.append(by_row.begins + len(row_slot))
        row_slot.add(by_row.slots[:, None])
        run.add(len(way) + _runs(sets.ways)[:, None])
        way.add(sets.ways)
        target_rows.append(shown.of_target)
        # Of several labels that do the same, the first is taken.
        once = distinct_rows([target, source, feature_set, counted])[0] if len(source) else source
        backs.append(begins_of(target[once], width) + len(back))
        slot = sets.way_of_arc + len(sets.members)
        back.add(np.stack([source, sets.member_of_arc, slot, counted, label], axis=1)[once])
        step[k, source, label] = np.stack([target, feature_set, counted], axis=1)
        for feature, begin in zip(features, composed.first_feature, strict=False):
            np.minimum.at(shown_from[k], feature + begin, source)
    opened = [np.count_nonzero(ways[:, JOIN] == FIRST) for ways in way.parts]
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
        runs=np.array(run.begins),
        run=np.append(run.rows().ravel(), len(way)),
        way_slot=np.diff(member.begins) - np.array(way.begins[:-1], np.int64),
        slots=np.array([(np.diff(member.begins) + np.diff(way.begins)).max(initial=0)]),
        row_slots=np.array(row_slots, np.int64).reshape(len(kinds), score_rows + 1),
        row_slot=row_slot.places().ravel(),
        source_rows=source_rows.places(),
        target_rows=np.array(target_rows, np.uint32).reshape(len(kinds), width, terms),
        backs=np.array(backs, np.int64).reshape(len(kinds), width + 1),
        back=back.rows(),
        step=step,
        shown_from=shown_from,
    )


class _SourceSets(NamedTuple):
    """Source sets of a kind: where the members of each begin, the members, and the ways."""

    begins: Ints
    members: Ints
    ways: Ints
    member_features: Ints  # the source feature set of each member
    way_features: Ints  # and of each way; that which shows nothing, where it leads from a set
    member_of_arc: Ints  # the member by which each arc leads, or -1
    way_of_arc: Ints  # and the way


class _SlotsByRow(NamedTuple):
    """The slots of each score row: where they begin, and the slots."""

    begins: Ints
    slots: Ints


def _slots_by_row(of_member: Ints, of_way: Ints, score_rows: int) -> _SlotsByRow:
    """The slots that show each score row, given the rows that each member and way shows.

    The last score row stands for nothing, and has no slots.
    """
    rows = np.append(of_member.ravel(), of_way.ravel())
    members = np.repeat(np.arange(len(of_member)), of_member.shape[1])
    ways = np.repeat(np.arange(len(of_way)) + len(of_member), of_way.shape[1])
    slots = np.append(members, ways)
    order = np.argsort(rows, kind="stable")
    begins = begins_of(rows[order], score_rows)
    begins[-1] = begins[-2]
    return _SlotsByRow(begins, slots[order][: begins[-1]])


def _source_sets(
    source: Ints, target: Ints, counted: Ints, feature_set: Ints, nothing: int
) -> _SourceSets:
    """The source sets and ways of the arcs of a kind.

    A set of pairs from which several source feature sets lead on alike is a source set of its own,
    a member of others: the maximum over its pairs is taken once, not for each of them.
    """
    if not len(source):
        none = np.zeros((0, 2), np.int64)
        ways = np.zeros((0, 5), np.int64)
        return _SourceSets(np.zeros(1, np.int64), none, ways, source, source, source, source)
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
    place = begins_of(pair_set, len(sizes))[pairs_of[owner]] + within
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
    begins = begins_of(sets, int(number.max()) + 1)
    several = np.diff(begins) > 1
    is_member = several[sets]
    # The place of each arc among members of all sets, of which those of several members are kept.
    within = np.searchsorted(
        pair_set * (1 + source.max()) + pair, pairs_of[part] * (1 + source.max()) + source
    )
    within -= begins_of(pair_set, len(sizes))[pairs_of[part]]
    of_arc = cell[(np.cumsum(counts) - counts)[part] + np.where(whole[part], 0, within)]
    width = len(cell_first)
    place = np.searchsorted(sets * width + member[order], number[way] * width + of_arc)
    inner_size = np.count_nonzero(is_inner[pair_set])
    member_of_arc = np.where(is_member, np.cumsum(is_member) - 1 + inner_size, -1)[place]
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
            np.where(np.bincount(after)[after] == 1, ONLY, _firsts(after)),
        ],
        axis=1,
    )
    silent = np.full(inner_size, nothing)
    inner_members = np.stack([pair[is_inner[pair_set]], np.full_like(silent, -1), silent], axis=1)
    lengths = np.append(sizes[is_inner], np.diff(begins)[several])
    kept = np.append(inner_members, members[is_member], axis=0)
    return _SourceSets(
        begins=np.append(0, np.cumsum(lengths)),
        members=kept[:, :2],
        ways=ways,
        member_features=kept[:, 2],
        way_features=np.where(is_set, nothing, alone[:, 2]),
        member_of_arc=member_of_arc,
        way_of_arc=way,
    )


def _runs(ways: Ints) -> Ints:
    """The first way of each run of the ways of a kind."""
    if not len(ways):
        return np.zeros(0, np.int64)
    follows = (np.diff(ways[:, [PAIR_AFTER, PAIR_BEFORE, COUNTED]], axis=0) == [1, 1, 0]).all(
        axis=1
    )
    moves = (ways[:, JOIN] == ONLY) & (ways[:, PAIR_BEFORE] >= 0)
    return np.flatnonzero(np.append(True, ~(follows & moves[1:] & moves[:-1])))


def _firsts(after: Ints) -> Ints:
    """FIRST for the first way to each pair, OTHER for others; ways are sorted by pair."""
    return np.where(np.diff(after, prepend=-1) == 0, OTHER, FIRST)
