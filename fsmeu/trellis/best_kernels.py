"""Maxima over the tape of z, by the value of its counter.

    best        maximum over the tape of z by the value of its counter (max-plus)
    trace       the labels of a best path

Counts that are looked at may be some of all (``batches.CountRanges``).

Kernels as those of ``sum_kernels.py``: plain Python, or compiled. The best score of a path to pair
p of layer i by count is ``b.offset[i, p]`` plus a row of ``b.value``; ``b.place`` says which, as
for masses (``batches.BestLayers``).
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import (
    BestLayers,
    FoundPaths,
    PathBuffers,
    Scores,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.rows import RowSlice, fill
from fsmeu.trellis.z_tables import (
    COUNTED,
    FIRST,
    JOIN,
    ONLY,
    PAIR_AFTER,
    PAIR_BEFORE,
    SOURCE_SET,
    ZTables,
)


@jit_small
def show(z_tables: ZTables, i: int, row: int, number: float, steps: Floats) -> None:
    """Adds the score of a row at position i to the slots that show it."""
    kind = z_tables.kind[i]
    for e in range(z_tables.row_slots[kind, row], z_tables.row_slots[kind, row + 1]):
        steps[i, z_tables.row_slot[e]] += number


@jit_helper
def show_all(z_tables: ZTables, n: int, score: Floats, steps: Floats) -> None:
    """Fills the scores of slots, (n, slots), from those of score rows, (n, score rows)."""
    for i in range(n):
        fill(steps[i], 0, steps.shape[1], 0.0)
        for row in range(score.shape[1]):
            if score[i, row] != 0.0:
                show(z_tables, i, row, score[i, row], steps)


@jit_small
def raise_row(into: RowSlice, row: RowSlice, offset: float) -> None:
    """The maximum of a row and of another, as long as that is, plus an offset, in place."""
    goal = unsigned(into.begin)
    at = unsigned(row.begin)
    for c in range(unsigned(row.size)):
        into.values[goal + c] = max(into.values[goal + c], row.values[at + c] + offset)


@jit_small
def raise_counts(into: RowSlice, first: int, row: RowSlice, other: int, offset: float) -> None:
    """The same for rows whose first counts differ; what has no place is left out.

    Args:
        into: the row that is raised.
        first: the count that it begins with.
        row: the other row.
        other: the count that this one begins with.
        offset: what is added to it.
    """
    low = max(first, other)
    size = min(first + into.size, other + row.size) - low
    if size > 0:
        goal = RowSlice(into.values, into.begin + low - first, size)
        raise_row(goal, RowSlice(row.values, row.begin + low - other, size), offset)


@jit_small
def best_row(b: BestLayers, i: int, p: int) -> RowSlice:
    """The row of a pair, to which its offset is added."""
    return RowSlice(b.value, b.place[i, p, 0], b.place[i, p, 2])


@jit_helper
def raise_set(
    z_tables: ZTables, i: int, steps: Floats, b: BestLayers, g: int, sets: RowSlice
) -> None:
    """Fills the row of a source set with the maximum over its members.

    Of several members that have one row, the one with the greatest offset is taken. A member may be
    a source set that was filled before.

    Args:
        z_tables: the tape of z.
        i: the position.
        steps: scores of slots, (n, slots).
        b: best scores so far.
        g: the set.
        sets: where the rows of the position's sets begin, and their length.
    """
    first = z_tables.source_sets[z_tables.kind[i]]
    first_member = z_tables.source_set[first]
    into = RowSlice(b.value, sets.begin + (g - first) * sets.size, sets.size)
    fill(b.value, into.begin, into.begin + into.size, -np.inf)
    last = RowSlice(b.value, -1, 0)
    moved = 0
    most = -np.inf
    for m in range(z_tables.source_set[g], z_tables.source_set[g + 1]):
        p = z_tables.member[m, 0]
        inner = z_tables.member[m, 1]
        row = RowSlice(b.value, sets.begin + inner * sets.size, sets.size)
        begin = b.ranges.low[i]
        offset = 0.0
        if inner < 0:
            if p >= z_tables.width[i]:
                break  # members are sorted by pair
            offset = b.offset[i, p]
            if offset == -np.inf:
                continue
            row = best_row(b, i, p)
            begin = b.place[i, p, 1]
        offset += steps[i, m - first_member]
        if row.begin != last.begin or begin != moved:
            if most > -np.inf:
                raise_counts(into, b.ranges.low[i], last, moved, most)
            last = row
            moved = begin
            most = -np.inf
        most = max(most, offset)
    if most > -np.inf:
        raise_counts(into, b.ranges.low[i], last, moved, most)


@jit_helper
def all_counts(z_tables: ZTables, n: int, most: int, b: BestLayers) -> None:
    """Sets the counts that are looked at to all up to ``most``."""
    for i in range(n + 1):
        b.ranges.low[i] = 0
        b.ranges.high[i] = min(z_tables.columns[i] - 1, most)


@jit_small
def run_length(z_tables: ZTables, i: int, r: int) -> int:
    """How many ways of a run there are at position i."""
    w = z_tables.run[r]
    before = z_tables.width[i] - z_tables.way[w, PAIR_BEFORE]
    after = z_tables.width[i + 1] - z_tables.way[w, PAIR_AFTER]
    return int(min(z_tables.run[r + 1] - w, before, after))


@jit_helper
def move_run(z_tables: ZTables, i: int, r: int, steps: Floats, b: BestLayers) -> None:
    """Gives the pairs after a run of several ways the rows of the pairs before, moved."""
    slot = z_tables.way_slot[z_tables.kind[i]]
    first = z_tables.run[r]
    adds = z_tables.way[first, COUNTED]
    for w in range(first, first + run_length(z_tables, i, r)):
        p = z_tables.way[w, PAIR_AFTER]
        source = z_tables.way[w, PAIR_BEFORE]
        if b.offset[i, source] == -np.inf:
            continue
        b.offset[i + 1, p] = b.offset[i, source] + steps[i, w + slot]
        b.place[i + 1, p, 0] = b.place[i, source, 0]
        b.place[i + 1, p, 1] = b.place[i, source, 1] + adds
        b.place[i + 1, p, 2] = b.place[i, source, 2]


@jit_helper
def best(z_tables: ZTables, n: int, steps: Floats, b: BestLayers) -> None:
    """Fills b with the best score of a path to each pair by count, for counts from low to high.

    ``steps`` has the scores of slots, (n, slots).
    """
    b.top[0] = 1
    b.value[0] = 0.0
    b.offset[0, 0] = 0.0
    b.place[0, 0, 0] = 0
    b.place[0, 0, 1] = 0
    b.place[0, 0, 2] = 1
    for i in range(n):
        kind = z_tables.kind[i]
        sets = RowSlice(b.value, b.top[0], b.ranges.high[i] - b.ranges.low[i] + 1)
        limit = b.ranges.high[i + 1] - b.ranges.low[i + 1] + 1
        for g in range(z_tables.source_sets[kind], z_tables.source_sets[kind + 1]):
            raise_set(z_tables, i, steps, b, g, sets)
            b.top[0] += sets.size
        fill(b.offset[i + 1], 0, z_tables.width[i + 1], -np.inf)
        for r in range(z_tables.runs[kind], z_tables.runs[kind + 1]):
            w = z_tables.run[r]
            p = z_tables.way[w, PAIR_AFTER]
            if p >= z_tables.width[i + 1]:
                break
            if z_tables.run[r + 1] > w + 1:
                move_run(z_tables, i, r, steps, b)
                continue
            source = z_tables.way[w, PAIR_BEFORE]
            join = z_tables.way[w, JOIN]
            after = b.place[i + 1, p]
            if join == FIRST:
                after[0] = b.top[0]
                after[1] = b.ranges.low[i + 1]
                after[2] = limit
                b.offset[i + 1, p] = 0.0
                fill(b.value, b.top[0], b.top[0] + limit, -np.inf)
                b.top[0] += limit
            gain = steps[i, w + z_tables.way_slot[kind]]
            begin = b.ranges.low[i] + z_tables.way[w, COUNTED]
            row = RowSlice(b.value, sets.begin + z_tables.way[w, SOURCE_SET] * sets.size, sets.size)
            if source >= 0:
                if source >= z_tables.width[i] or b.offset[i, source] == -np.inf:
                    continue
                gain += b.offset[i, source]
                row = best_row(b, i, source)
                begin = b.place[i, source, 1] + z_tables.way[w, COUNTED]
            if join == ONLY:
                after[0] = row.begin
                after[1] = begin
                after[2] = row.size
                b.offset[i + 1, p] = gain
            else:
                raise_counts(RowSlice(b.value, after[0], limit), after[1], row, begin, gain)


@jit_small
def score_of(b: BestLayers, i: int, p: int, count: int) -> float:
    """The best score of a path to a pair of a layer with that count; -inf where there is none."""
    if b.offset[i, p] == -np.inf:
        return -np.inf
    at = count - b.place[i, p, 1]
    if at < 0 or at >= b.place[i, p, 2]:
        return -np.inf
    return float(b.value[b.place[i, p, 0] + at] + b.offset[i, p])


@jit_helper
def trace(
    z_tables: ZTables, n: int, count: int, steps: Floats, b: BestLayers, labels: Ints
) -> None:
    """Fills ``labels`` with those of a best path of n positions with a count, if there is one."""
    pair = -1
    best_end = -np.inf
    for p in range(z_tables.width[n]):
        total = score_of(b, n, p, count)
        if total > best_end:
            pair = p
            best_end = total
    if pair < 0:
        return
    for i in range(n - 1, -1, -1):
        kind = z_tables.kind[i]
        arc = -1
        most = -np.inf
        for e in range(z_tables.backs[kind, pair], z_tables.backs[kind, pair + 1]):
            p = z_tables.back[e, 0]
            if p < z_tables.width[i]:
                member = z_tables.back[e, 1]
                total = score_of(b, i, p, count - z_tables.back[e, 3])
                total += steps[i, z_tables.back[e, 2]]
                if member >= 0:
                    total += steps[i, member]
                if total > most:
                    arc = e
                    most = total
        labels[i] = z_tables.back[arc, 4]
        pair = z_tables.back[arc, 0]
        count -= z_tables.back[arc, 3]


@jit_helper
def best_ends(z_tables: ZTables, n: int, b: BestLayers, reached: Floats) -> None:
    """Fills ``reached`` with the best score of a path by its count at the end."""
    into = RowSlice(reached, 0, min(z_tables.columns[n], len(reached)))
    fill(reached, 0, into.size, -np.inf)
    for p in range(z_tables.width[n]):
        if b.offset[n, p] > -np.inf:
            raise_counts(into, 0, best_row(b, n, p), b.place[n, p, 1], b.offset[n, p])


@jit_helper
def set_steps(
    z_tables: ZTables, n: int, scores: Scores, s: int, factors: Floats, steps: Floats
) -> None:
    """Fills the scores of slots, (n, slots), of sentence s: sums over lanes times factors."""
    for i in range(n):
        fill(steps[i], 0, steps.shape[1], 0.0)
    for e in range(scores.begins[s], scores.begins[s + 1]):
        total = 0.0
        for m in range(len(factors)):
            total += factors[m] * scores.value[e, m]
        show(z_tables, scores.cell[e, 0], scores.cell[e, 1], total, steps)


@jit_entry
def best_batch(
    z_tables: ZTables, n: int, scores: Scores, buffers: PathBuffers, found: FoundPaths
) -> None:
    """Fills best scores of paths by their count at the end, and labels of some of them.

    Counts that are looked at are those that ``buffers.layers`` has.

    Args:
        z_tables: the tape of z.
        n: the length.
        scores: those that are not 0, for several lanes.
        buffers: arrays to work in.
        found: what is filled.
    """
    b = buffers.layers
    for s in range(len(found.factors)):
        set_steps(z_tables, n, scores, s, found.factors[s], buffers.steps)
        best(z_tables, n, buffers.steps, b)
        best_ends(z_tables, n, b, found.by_count[s])
        if len(found.labels) > 0:
            trace(z_tables, n, found.ends[s], buffers.steps, b, found.labels[s])


@jit_entry
def most_by_count(
    z_tables: ZTables, n: int, score: Floats, buffers: PathBuffers, by_count: Floats
) -> None:
    """Fills ``by_count`` (n + 1, k): the best score of a path of each length by its count.

    ``score`` has the scores of score rows, (n, score rows).
    """
    b = buffers.layers
    all_counts(z_tables, n, by_count.shape[1] - 1, b)
    show_all(z_tables, n, score, buffers.steps)
    best(z_tables, n, buffers.steps, b)
    for i in range(n + 1):
        size = min(z_tables.columns[i], by_count.shape[1])
        best_ends(z_tables, i, b, by_count[i, :size])


@jit_entry
def corners(tables: Floats, slopes: Floats, places: Ints) -> None:
    """Fills ``slopes`` (tables, k): at each corner of the concave hull the slope to it, else NaN.

    The slope to the first corner is infinite; slopes never rise, whatever rounding does.

    Args:
        tables: numbers by count, -inf where there is none, (tables, k).
        slopes: what is filled.
        places: a buffer for as many places, (k,).
    """
    for s in range(len(tables)):
        table = tables[s]
        count = 0
        for j in range(len(table)):
            slopes[s, j] = np.nan
            if table[j] == -np.inf:
                continue
            while count > 1:
                a = places[count - 2]
                b = places[count - 1]
                if (table[b] - table[a]) * (j - b) > (table[j] - table[b]) * (b - a):
                    break  # the slope falls at b, which stays
                count -= 1
            places[count] = j
            count += 1
        for c in range(count):
            a = places[max(c - 1, 0)]
            b = places[c]
            slope = (table[b] - table[a]) / (b - a) if c > 0 else np.inf
            slopes[s, b] = min(slope, slopes[s, a]) if c > 0 else slope
