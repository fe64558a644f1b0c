"""Maxima over the tape of z, by the value of its counter.

    best        maximum over the tape of z by the value of its counter (max-plus)
    trace       the labels of a best path

Kernels as those of ``sum_kernels.py``: plain Python, or compiled. The best score of a path to pair
p of layer i by count is ``b.offset[i, p]`` plus a row of ``b.value``; ``b.place`` says which, as
for masses (``batches.BestLayers``).
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints, Places
from fsmeu.trellis.batches import (
    BestLayers,
    FoundPaths,
    PathBuffers,
    PathEnd,
    RowSlice,
    SavedLayers,
    Scores,
)
from fsmeu.trellis.count_rows import fill
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.z_tables import FIRST, ONLY, ZTables


@jit_small
def shown(score: Floats, i: int, rows: Places, k: int) -> float:
    """The sum of scores of the rows that a source feature set, or a pair after, has."""
    total = 0.0
    for t in range(rows.shape[1]):
        total += score[i, rows[k, t]]
    return total


@jit_small
def raise_row(into: RowSlice, row: RowSlice, offset: float) -> None:
    """The maximum of a row and of another, as long as that is, plus an offset, in place."""
    goal = unsigned(into.begin)
    at = unsigned(row.begin)
    for c in range(unsigned(row.size)):
        into.values[goal + c] = max(into.values[goal + c], row.values[at + c] + offset)


@jit_small
def raise_moved(into: RowSlice, row: RowSlice, counted: int, offset: float) -> None:
    """The same, so much being counted after the other row; what has no place is left out."""
    size = min(row.size, into.size - counted)
    if size > 0:
        goal = RowSlice(into.values, into.begin + counted, size)
        raise_row(goal, RowSlice(row.values, row.begin, size), offset)


@jit_small
def best_row(b: BestLayers, i: int, p: int) -> RowSlice:
    """The row of a pair, to which its offset is added."""
    return RowSlice(b.value, b.place[i, p, 0], b.place[i, p, 2])


@jit_helper
def raise_set(
    z_tables: ZTables, i: int, score: Floats, b: BestLayers, g: int, sets: RowSlice
) -> None:
    """Fills the row of a source set with the maximum over its members.

    Of several members that have one row, the one with the greatest offset is taken. A member may be
    a source set that was filled before.

    Args:
        z_tables: the tape of z.
        i: the position.
        score: scores of steps, (n, score rows).
        b: best scores so far.
        g: the set.
        sets: where the rows of the position's sets begin, and their length.
    """
    first = z_tables.source_sets[z_tables.kind[i]]
    layer = i - b.first[0]
    into = RowSlice(b.value, sets.begin + (g - first) * sets.size, sets.size)
    fill(b.value, into.begin, into.begin + into.size, -np.inf)
    last = RowSlice(b.value, -1, 0)
    moved = 0
    most = -np.inf
    for m in range(z_tables.source_set[g], z_tables.source_set[g + 1]):
        p = z_tables.member[m, 0]
        inner = z_tables.member[m, 1]
        offset = shown(score, i, z_tables.source_rows, z_tables.member[m, 2])
        row = RowSlice(b.value, sets.begin + inner * sets.size, sets.size)
        counted = 0
        if inner < 0:
            if p >= z_tables.width[i]:
                break  # members are sorted by pair
            if b.offset[layer, p] == -np.inf:
                continue
            offset += b.offset[layer, p]
            row = best_row(b, layer, p)
            counted = b.place[layer, p, 1]
        if row.begin != last.begin or counted != moved:
            if most > -np.inf:
                raise_moved(into, last, moved, most)
            last = row
            moved = counted
            most = -np.inf
        most = max(most, offset)
    if most > -np.inf:
        raise_moved(into, last, moved, most)


@jit_helper
def begin_best(b: BestLayers) -> None:
    """Sets the first layer to that before the first position."""
    b.first[0] = 0
    b.top[0] = 1
    b.value[0] = 0.0
    b.offset[0, 0] = 0.0
    b.place[0, 0, 0] = 0
    b.place[0, 0, 1] = 0
    b.place[0, 0, 2] = 1


@jit_helper
def best(z_tables: ZTables, end: int, most: int, score: Floats, b: BestLayers) -> None:
    """Fills b with the best score of a path to each pair by count up to ``most``.

    From its first layer, which is filled, up to the layer after ``end`` positions.
    """
    for i in range(b.first[0], end):
        layer = i - b.first[0]
        kind = z_tables.kind[i]
        size = min(z_tables.columns[i], most + 1)
        limit = min(z_tables.columns[i + 1], most + 1)
        sets = RowSlice(b.value, b.top[0], size)
        for g in range(z_tables.source_sets[kind], z_tables.source_sets[kind + 1]):
            raise_set(z_tables, i, score, b, g, sets)
            b.top[0] += size
        fill(b.offset[layer + 1], 0, z_tables.width[i + 1], -np.inf)
        for w in range(z_tables.ways[kind], z_tables.ways[kind + 1]):
            p = z_tables.way[w, 0]
            if p >= z_tables.width[i + 1]:
                break
            source = z_tables.way[w, 1]
            join = z_tables.way[w, 5]
            after = b.place[layer + 1, p]
            if join == FIRST:
                after[0] = b.top[0]
                after[1] = 0
                after[2] = limit
                b.offset[layer + 1, p] = shown(score, i, z_tables.target_rows[kind], p)
                fill(b.value, b.top[0], b.top[0] + limit, -np.inf)
                b.top[0] += limit
            gain = shown(score, i, z_tables.source_rows, z_tables.way[w, 4])
            counted = z_tables.way[w, 3]
            row = RowSlice(b.value, sets.begin + z_tables.way[w, 2] * size, size)
            if source >= 0:
                if source >= z_tables.width[i] or b.offset[layer, source] == -np.inf:
                    continue
                gain += b.offset[layer, source]
                row = best_row(b, layer, source)
                counted += b.place[layer, source, 1]
            if join == ONLY:
                after[0] = row.begin
                after[1] = counted
                after[2] = row.size
                b.offset[layer + 1, p] = gain + shown(score, i, z_tables.target_rows[kind], p)
            else:
                raise_moved(RowSlice(b.value, after[0], limit), row, counted, gain)


@jit_helper
def save_layer(z_tables: ZTables, i: int, b: BestLayers, saved: SavedLayers, k: int) -> None:
    """Copies layer i with its rows; rows of pairs one after the other that are one are so again."""
    layer = i - b.first[0]
    top = saved.begin[k]
    last = -1
    for p in range(z_tables.width[i]):
        saved.offset[k, p] = b.offset[layer, p]
        if b.offset[layer, p] == -np.inf:
            continue
        row = best_row(b, layer, p)
        if row.begin != last:
            for c in range(row.size):
                saved.value[top + c] = row.values[row.begin + c]
            top += row.size
            last = row.begin
        saved.place[k, p, 0] = top - row.size - saved.begin[k]
        saved.place[k, p, 1] = b.place[layer, p, 1]
        saved.place[k, p, 2] = row.size
    saved.begin[k + 1] = top


@jit_helper
def load_layer(z_tables: ZTables, i: int, b: BestLayers, saved: SavedLayers, k: int) -> None:
    """Makes a saved layer i the first of b."""
    begin = saved.begin[k]
    size = saved.begin[k + 1] - begin
    for c in range(size):
        b.value[c] = saved.value[begin + c]
    b.first[0] = i
    b.top[0] = size
    for p in range(z_tables.width[i]):
        b.offset[0, p] = saved.offset[k, p]
        for part in range(3):
            b.place[0, p, part] = saved.place[k, p, part]


@jit_small
def score_of(b: BestLayers, i: int, p: int, count: int) -> float:
    """The best score of a path to a pair of a layer with that count; -inf where there is none."""
    at = count - b.place[i, p, 1]
    if b.offset[i, p] == -np.inf or at < 0 or at >= b.place[i, p, 2]:
        return -np.inf
    return float(b.value[b.place[i, p, 0] + at] + b.offset[i, p])


@jit_helper
def path_end(z_tables: ZTables, n: int, count: int, b: BestLayers) -> PathEnd:
    """The end of a best path of n positions whose count is ``count``."""
    pair = -1
    most = -np.inf
    for p in range(z_tables.width[n]):
        total = score_of(b, n - b.first[0], p, count)
        if total > most:
            pair = p
            most = total
    return PathEnd(n, pair, count)


@jit_helper
def trace(z_tables: ZTables, end: PathEnd, score: Floats, b: BestLayers, labels: Ints) -> PathEnd:
    """Fills ``labels`` with those of a best path to its end, from the first layer of b on.

    Returns where the path is in that layer.
    """
    pair = end.pair
    count = end.counted
    for i in range(end.positions - 1, b.first[0] - 1, -1):
        layer = i - b.first[0]
        kind = z_tables.kind[i]
        arc = -1
        most = -np.inf
        for e in range(z_tables.backs[kind, pair], z_tables.backs[kind, pair + 1]):
            p = z_tables.back[e, 0]
            if p < z_tables.width[i]:
                total = score_of(b, layer, p, count - z_tables.back[e, 2])
                total += shown(score, i, z_tables.source_rows, z_tables.back[e, 1])
                if total > most:
                    arc = e
                    most = total
        labels[i] = z_tables.back[arc, 3]
        pair = z_tables.back[arc, 0]
        count -= z_tables.back[arc, 2]
    return PathEnd(b.first[0], pair, count)


@jit_helper
def best_ends(z_tables: ZTables, n: int, b: BestLayers, reached: Floats) -> None:
    """Fills ``reached`` with the best score of a path by its count at the end."""
    layer = n - b.first[0]
    into = RowSlice(reached, 0, min(z_tables.columns[n], len(reached)))
    fill(reached, 0, into.size, -np.inf)
    for p in range(z_tables.width[n]):
        if b.offset[layer, p] > -np.inf:
            raise_moved(into, best_row(b, layer, p), b.place[layer, p, 1], b.offset[layer, p])


@jit_helper
def best_in_blocks(z_tables: ZTables, n: int, buffers: PathBuffers, most: int) -> None:
    """Fills layers with the best scores of the last block of positions; first ones are saved."""
    b = buffers.layers
    saved = buffers.saved
    block = len(b.offset) - 1
    begin_best(b)
    saved.begin[0] = 0
    for k in range((n + block - 1) // block):
        save_layer(z_tables, k * block, b, saved, k)
        load_layer(z_tables, k * block, b, saved, k)
        best(z_tables, min(n, (k + 1) * block), most, buffers.score, b)


@jit_helper
def trace_blocks(
    z_tables: ZTables, n: int, buffers: PathBuffers, found: FoundPaths, s: int
) -> None:
    """Fills the labels of a best path of sentence s, block by block from the last."""
    b = buffers.layers
    block = len(b.offset) - 1
    most = found.by_count.shape[1] - 1
    end = path_end(z_tables, n, found.ends[s], b)
    for k in range((n + block - 1) // block - 1, -1, -1):
        if end.positions < n:
            load_layer(z_tables, k * block, b, buffers.saved, k)
            best(z_tables, end.positions, most, buffers.score, b)
        end = trace(z_tables, end, buffers.score, b, found.labels[s])


@jit_entry
def best_batch(
    z_tables: ZTables, n: int, scores: Scores, buffers: PathBuffers, found: FoundPaths
) -> None:
    """Fills best scores of paths by their count at the end, and labels of some of them.

    Args:
        z_tables: the tape of z.
        n: the length.
        scores: those that are not 0, for several lanes.
        buffers: arrays to work in.
        found: what is filled.
    """
    score = buffers.score
    cells = found.cells
    most = found.by_count.shape[1] - 1
    for s in range(len(found.factors)):
        begin = scores.begins[s]
        end = scores.begins[s + 1]
        for e in range(begin, end):
            c = scores.cell[e]
            total = 0.0
            for m in range(found.factors.shape[1]):
                total += found.factors[s, m] * scores.value[e, m]
            score[cells[c, 0], cells[c, 1]] = total
        best_in_blocks(z_tables, n, buffers, most)
        best_ends(z_tables, n, buffers.layers, found.by_count[s])
        if len(found.labels) > 0:
            trace_blocks(z_tables, n, buffers, found, s)
        for e in range(begin, end):
            c = scores.cell[e]
            score[cells[c, 0], cells[c, 1]] = 0.0


@jit_entry
def most_by_count(
    z_tables: ZTables, n: int, score: Floats, b: BestLayers, by_count: Floats
) -> None:
    """Fills ``by_count`` (n + 1, k): the best score of a path of each length by its count."""
    begin_best(b)
    best(z_tables, n, by_count.shape[1] - 1, score, b)
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
