"""The best paths of z by what they count: max-plus over the tape of z (``paths.py``).

    best_batch      best scores by the count at the end, and labels of best paths
    most_by_count   best scores by count for every length
    corners         the concave hulls of such tables

The best score of a path to pair p of layer i is a row by count: ``b.offset[i, p]`` plus numbers of
``b.value``. Where one arrival alone leads to a pair, it has the row that this comes from, as that
of an earlier layer; what is counted on the way moves the count that the row begins with. Counts
below ``b.least`` and above ``b.most`` are not looked at.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints, Places
from fsmeu.trellis.batches import BestLayers, FoundPaths, PathBuffers, Scores
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import RowSlice, fill


@jit_small
def score_of_set(shown: Places, number: int, score: Floats) -> float:
    """The sum of the scores of a set of score rows, given those of a position."""
    total = 0.0
    for t in range(shown.shape[1]):
        total += score[shown[unsigned(number), unsigned(t)]]
    return total


@jit_small
def raise_row(into: RowSlice, row: RowSlice, first: int, offset: float) -> None:
    """The maximum of a row and of another plus an offset, in place; what has no place is left out.

    Args:
        into: the row that is raised.
        row: the other row.
        first: the count that it begins with, less that of the row that is raised.
        offset: what is added to it.
    """
    goal = unsigned(into.begin + first)
    at = unsigned(row.begin)
    for c in range(max(0, -first), min(row.size, into.size - first)):
        k = unsigned(c)
        into.values[goal + k] = max(into.values[goal + k], row.values[at + k] + offset)


@jit_small
def best_row(b: BestLayers, i: int, p: int) -> RowSlice:
    """The row of a pair, to which its offset is added."""
    return RowSlice(b.value, b.place[i, p, 0], b.place[i, p, 2])


@jit_small
def begin_row(b: BestLayers, size: int) -> RowSlice:
    """A new row of so many counts that no path has."""
    begin = b.top[0]
    fill(b.value, begin, begin + size, -np.inf)
    b.top[0] = begin + size
    return RowSlice(b.value, begin, size)


@jit_helper
def enter_exits(paths: Paths, i: int, score: Floats, b: BestLayers) -> None:
    """Begins a row for each exit of position i: the maximum over the pairs that enter it.

    Of several pairs that have one row, that with the greatest offset is taken.
    """
    kind = paths.kind[i]
    least = b.least[i]
    for h in range(paths.exits[kind], paths.exits[kind + 1]):
        into = begin_row(b, b.most[i] - least + 1)
        last = -1
        most = -np.inf
        for e in range(paths.entries_at[h], paths.entries_at[h + 1]):
            p = paths.entries.source[e]
            if p >= paths.width[i]:
                break
            if b.offset[i, p] == -np.inf:
                continue
            offset = b.offset[i, p] + score_of_set(paths.shown, paths.entries.shown[e], score)
            same = last >= 0 and b.place[i, p, 0] == b.place[i, last, 0]
            if last >= 0 and not (same and b.place[i, p, 1] == b.place[i, last, 1]):
                raise_row(into, best_row(b, i, last), b.place[i, last, 1] - least, most)
                most = -np.inf
            last = p
            most = max(most, offset)
        if last >= 0:
            raise_row(into, best_row(b, i, last), b.place[i, last, 1] - least, most)


@jit_helper
def arrive(paths: Paths, i: int, score: Floats, exits: int, b: BestLayers) -> None:
    """Fills the rows of pairs after position i; those of its exits begin at ``exits``."""
    kind = paths.kind[i]
    size = b.most[i] - b.least[i] + 1
    least = b.least[i + 1]
    limit = b.most[i + 1] - least + 1
    arrivals = paths.arrivals
    fill(b.offset[i + 1], 0, paths.width[i + 1], -np.inf)
    for a in range(paths.arrivals_at[kind, 0], paths.arrivals_at[kind, paths.width[i + 1]]):
        source = arrivals.source[a]
        row = RowSlice(b.value, exits + (arrivals.exit[a] - paths.exits[kind]) * size, size)
        first = b.least[i]
        gain = 0.0
        if source >= 0:
            if source >= paths.width[i] or b.offset[i, source] == -np.inf:
                continue
            row = best_row(b, i, source)
            first = b.place[i, source, 1]
            gain = b.offset[i, source]
        gain += score_of_set(paths.shown, arrivals.shown[a], score)
        first += arrivals.counted[a]
        p = arrivals.target[a]
        after = b.place[i + 1, p]
        if arrivals.is_only[a]:
            after[0] = row.begin
            after[1] = first
            after[2] = row.size
            b.offset[i + 1, p] = gain
            continue
        if b.offset[i + 1, p] == -np.inf:
            after[0] = begin_row(b, limit).begin
            after[1] = least
            after[2] = limit
            b.offset[i + 1, p] = 0.0
        raise_row(RowSlice(b.value, after[0], limit), row, first - least, gain)


@jit_helper
def best(paths: Paths, n: int, score: Floats, b: BestLayers) -> None:
    """Fills b with the best score of a path to each pair by count.

    ``score`` has the scores of score rows, (n, score rows).
    """
    b.top[0] = 1
    b.value[0] = 0.0
    for p in range(paths.width[0]):
        b.offset[0, p] = 0.0
        b.place[0, p, 0] = 0
        b.place[0, p, 1] = 0
        b.place[0, p, 2] = 1
    for i in range(n):
        exits = b.top[0]
        enter_exits(paths, i, score[i], b)
        arrive(paths, i, score[i], exits, b)


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
def best_entry(paths: Paths, i: int, h: int, count: int, score: Floats, b: BestLayers) -> int:
    """The entry by which a best path with that count enters an exit; -1 where there is none."""
    entry = -1
    most = -np.inf
    for e in range(paths.entries_at[h], paths.entries_at[h + 1]):
        p = paths.entries.source[e]
        if p >= paths.width[i]:
            break
        total = score_of(b, i, p, count)
        total += score_of_set(paths.shown, paths.entries.shown[e], score)
        if total > most:
            entry = e
            most = total
    return entry


@jit_helper
def trace(paths: Paths, n: int, count: int, score: Floats, b: BestLayers, labels: Ints) -> None:
    """Fills ``labels`` with those of a best path of n positions with a count, if there is one."""
    pair = -1
    most = -np.inf
    for p in range(paths.width[n]):
        total = score_of(b, n, p, count)
        if total > most:
            pair = p
            most = total
    if pair < 0:
        return
    arrivals = paths.arrivals
    for i in range(n - 1, -1, -1):
        kind = paths.kind[i]
        best_arrival = -1
        best_source = -1
        most = -np.inf
        for a in range(paths.arrivals_at[kind, pair], paths.arrivals_at[kind, pair + 1]):
            source = arrivals.source[a]
            total = score_of_set(paths.shown, arrivals.shown[a], score[i])
            if source < 0:
                e = best_entry(paths, i, arrivals.exit[a], count - arrivals.counted[a], score[i], b)
                if e < 0:
                    continue
                source = paths.entries.source[e]
                total += score_of_set(paths.shown, paths.entries.shown[e], score[i])
            if source < paths.width[i]:
                total += score_of(b, i, source, count - arrivals.counted[a])
                if total > most:
                    best_arrival = a
                    best_source = source
                    most = total
        labels[i] = arrivals.label[best_arrival]
        pair = best_source
        count -= arrivals.counted[best_arrival]


@jit_helper
def best_ends(paths: Paths, n: int, b: BestLayers, reached: Floats) -> None:
    """Fills ``reached`` with the best score of a path by its count at the end."""
    into = RowSlice(reached, 0, min(paths.columns[n], len(reached)))
    fill(reached, 0, into.size, -np.inf)
    for p in range(paths.width[n]):
        if b.offset[n, p] > -np.inf:
            raise_row(into, best_row(b, n, p), b.place[n, p, 1], b.offset[n, p])


@jit_helper
def all_counts(paths: Paths, n: int, most: int, b: BestLayers) -> None:
    """Sets the counts that are looked at to all up to ``most``."""
    for i in range(n + 1):
        b.least[i] = 0
        b.most[i] = min(paths.columns[i] - 1, most)


@jit_helper
def set_scores(n: int, scores: Scores, s: int, factors: Floats, score: Floats) -> None:
    """Fills the scores of sentence s, (n, score rows): sums over lanes times factors."""
    for i in range(n):
        fill(score[i], 0, score.shape[1], 0.0)
    for e in range(scores.begins[s], scores.begins[s + 1]):
        total = 0.0
        for m in range(len(factors)):
            total += factors[m] * scores.value[e, m]
        score[scores.cell[e, 0], scores.cell[e, 1]] = total


@jit_entry
def best_batch(
    paths: Paths, n: int, scores: Scores, buffers: PathBuffers, found: FoundPaths
) -> None:
    """Fills best scores of paths by their count at the end, and labels of some of them.

    Counts that are looked at are those that ``buffers.layers`` has.

    Args:
        paths: the tape of z.
        n: the length.
        scores: those that are not 0, for several lanes.
        buffers: arrays to work in.
        found: what is filled.
    """
    b = buffers.layers
    for s in range(len(found.factors)):
        set_scores(n, scores, s, found.factors[s], buffers.score)
        best(paths, n, buffers.score, b)
        best_ends(paths, n, b, found.by_count[s])
        if len(found.labels) > 0:
            trace(paths, n, found.ends[s], buffers.score, b, found.labels[s])


@jit_entry
def most_by_count(
    paths: Paths, n: int, score: Floats, buffers: PathBuffers, by_count: Floats
) -> None:
    """Fills ``by_count`` (n + 1, k): the best score of a path of each length by its count.

    ``score`` has the scores of score rows, (n, score rows).
    """
    b = buffers.layers
    all_counts(paths, n, by_count.shape[1] - 1, b)
    best(paths, n, score, b)
    for i in range(n + 1):
        size = min(paths.columns[i], by_count.shape[1])
        best_ends(paths, i, b, by_count[i, :size])


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
