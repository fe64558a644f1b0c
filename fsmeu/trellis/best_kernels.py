"""Maxima over the tape of z, and decisions: one value k of z's counter at a time.

    best        maximum over the tape of z by the value of its counter (max-plus), ``trace`` follows
    decide      the best hypothesis; one sweep at k bounds all other ends (``decoding/split.py``)

Kernels as those of ``sum_kernels.py``: plain Python, or compiled. The best score of a path to pair
p of layer i by count is ``b.offset[i, p]`` plus a row of ``b.value``; ``b.place`` says which, as
for masses (``batches.BestLayers``).
"""

# ruff: noqa: D417

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled import entry, inner, part, unsigned_of, within

_sums = part("sum_kernels")
ending, fill, flows, forward = _sums.ending, _sums.fill, _sums.flows, _sums.forward
unsigned = unsigned_of()
_HALVINGS = 40  # after which a factor is known to 1e-11 of the greatest
_SURE = 0.4  # P(y's likeliest count) from which that is tried first for z: it is mostly the best


@inner
def shown(score, i, rows, k):
    """The sum of scores of the rows that a colour, or a pair after, has."""
    total = 0.0
    for t in range(rows.shape[1]):
        total += score[i, rows[k, t]]
    return total


@inner
def raise_row(into, goal, row, at, size, offset):
    """The maximum of so many numbers of an array and of another, plus an offset, in place."""
    goal, at = unsigned(goal), unsigned(at)
    for c in range(unsigned(size)):
        into[goal + c] = max(into[goal + c], row[at + c] + offset)


@inner
def raise_pair(into, goal, limit, b, i, p, offset):
    """The maximum of a row, so many numbers long, and of that of a pair plus an offset."""
    row, shift = b.place[i, p, 0], b.place[i, p, 1]
    size = min(b.place[i, p, 2], limit - shift)
    if size > 0:
        raise_row(into, goal + shift, b.value, row, size, offset)


@inner
def raise_set(h, i, score, b, goal, size, begin, end):
    """Fills a row with the maximum over the members of a source set.

    Of several members that have one row, the one with the greatest offset is taken.
    """
    member, place, offset, rows = h.member, b.place[i], b.offset[i], h.source_rows
    fill(b.value, goal, goal + size, -np.inf)
    last, most = -1, -np.inf
    for m in range(begin, end):
        p = member[m, 0]
        if p >= h.width[i]:
            break
        if offset[p] == -np.inf:
            continue
        if last < 0 or place[p, 0] != place[last, 0] or place[p, 1] != place[last, 1]:
            if most > -np.inf:
                raise_pair(b.value, goal, size, b, i, last, most)
            last, most = p, -np.inf
        most = max(most, offset[p] + shown(score, i, rows, member[m, 1]))
    if most > -np.inf:
        raise_pair(b.value, goal, size, b, i, last, most)


@inner
def best(h, n, most, score, b):
    """Fills b with the best score of a path to each pair by count up to ``most``."""
    place, offset, way, rows = b.place, b.offset, h.way, h.source_rows
    b.value[0], top = 0.0, 1
    offset[0, 0], place[0, 0, 0], place[0, 0, 1], place[0, 0, 2] = 0.0, 0, 0, 1
    for i in range(n):
        kind, size, limit = h.kind[i], min(h.columns[i], most + 1), min(h.columns[i + 1], most + 1)
        first, after_rows, sets = h.source_sets[kind], h.target_rows[kind], top
        for g in range(first, h.source_sets[kind + 1]):
            raise_set(h, i, score, b, top, size, h.source_set[g], h.source_set[g + 1])
            top += size
        fill(offset[i + 1], 0, h.width[i + 1], -np.inf)
        for w in range(h.ways[kind], h.ways[kind + 1]):
            p, source, counted, joins = way[w, 0], way[w, 1], way[w, 2], way[w, 4]
            if p >= h.width[i + 1]:
                break
            after = place[i + 1, p]
            if joins == 1:
                after[0], after[1], after[2] = top, 0, limit
                offset[i + 1, p] = shown(score, i, after_rows, p)
                fill(b.value, top, top + limit, -np.inf)
                top += limit
            gain = 0.0
            if source >= 0:
                if source >= h.width[i] or offset[i, source] == -np.inf:
                    continue
                gain = offset[i, source] + shown(score, i, rows, way[w, 3])
            row, shift, length = sets + (-1 - source) * size, counted, size
            if source >= 0:
                row, length = place[i, source, 0], place[i, source, 2]
                shift += place[i, source, 1]
            if joins == 0:
                after[0], after[1], after[2] = row, shift, length
                offset[i + 1, p] = gain + shown(score, i, after_rows, p)
            elif min(length, limit - shift) > 0:
                length = min(length, limit - shift)
                raise_row(b.value, after[0] + shift, b.value, row, length, gain)


@inner
def score_of(b, i, p, count):
    """The best score of a path to a pair of a layer with that count; -inf where there is none."""
    at = count - b.place[i, p, 1]
    if b.offset[i, p] == -np.inf or at < 0 or at >= b.place[i, p, 2]:
        return -np.inf
    return b.value[b.place[i, p, 0] + at] + b.offset[i, p]


@inner
def trace(h, n, count, score, b, labels):
    """Fills ``labels`` with those of a best path whose count ends at ``count``."""
    pair, most = -1, -np.inf
    for p in range(h.width[n]):
        if score_of(b, n, p, count) > most:
            pair, most = p, score_of(b, n, p, count)
    for i in range(n - 1, -1, -1):
        kind, arc, most = h.kind[i], -1, -np.inf
        for e in range(h.backs[kind, pair], h.backs[kind, pair + 1]):
            p, before = h.back[e, 0], count - h.back[e, 2]
            if p < h.width[i]:
                total = score_of(b, i, p, before) + shown(score, i, h.source_rows, h.back[e, 1])
                if total > most:
                    arc, most = e, total
        labels[i] = h.back[arc, 3]
        pair, count = h.back[arc, 0], count - h.back[arc, 2]


@inner
def best_ends(h, n, b, reached):
    """Fills ``reached`` with the best score of a path by its count at the end."""
    fill(reached, 0, h.columns[n], -np.inf)
    for p in range(h.width[n]):
        if b.offset[n, p] > -np.inf:
            raise_pair(reached, 0, h.columns[n], b, n, p, b.offset[n, p])


@inner
def bound(reached, enough, chance, slope, other, cap):
    """An upper bound on what an end can have beside its offset (``decoding/split.py``).

    It is the least value of  theta * reached + sum over s of chance * cap * max(0, slope - theta *
    other),  a convex function of theta >= 0, by halves. A bound below ``enough`` is as good as any.

    Args:
        reached: at least the best score of this end where scores are those of another end.
        chance: P(y's counter ends at s).
        slope: g(j, s) of this end j.
        other: g(k, s) of the other.
        cap: the most that the joint count can be.
    """
    theta = 0.0
    for s in range(len(chance)):  # the greatest ratio, if that is enough
        if chance[s] > 0.0 and slope[s] > theta * other[s]:
            theta = slope[s] / other[s] if other[s] > 0.0 else np.inf
    if theta * reached < enough:
        return theta * reached
    low, high, least = 0.0, 0.0, np.inf
    for s in range(len(chance)):
        if chance[s] >= 1e-14 and other[s] > 0.0:
            high = max(high, slope[s] / other[s])
    for step in range(_HALVINGS):
        theta = high if step == 1 else 0.5 * (low + high) if step > 1 else low
        total, rise = theta * reached, reached
        for r in range(len(chance)):
            over = slope[r] - theta * other[r]
            if over > 0.0:
                total += chance[r] * cap * over
                rise -= chance[r] * cap * other[r]
        least = min(least, total)
        if least < enough or low == high:
            break
        if rise > 0.0:
            high = theta
        else:
            low = theta
    return least


@inner
def first_bounds(values, size, chance, offset, error, lost, left):
    """Fills offsets and bounds on errors by end, and the share of what was left out.

    Returns whether that share is the greater one for some end.

    Args:
        left: a bound on the mass that was not moved on.
    """
    counts, much = len(chance), False
    for k in range(size):
        offset[k], error[k], lost[k] = 0.0, values.underflow, 0.0
        for s in range(counts):
            cell, part = k * counts + s, values.rounding * chance[s]
            offset[k] += chance[s] * values.offset[cell]
            error[k] += part * abs(values.offset[cell])
            lost[k] += left * abs(values.offset[cell])
            for q in range(values.slope.shape[0]):
                error[k] += part * values.greatest[q] * abs(values.slope[q, cell])
                lost[k] += left * values.greatest[q] * abs(values.slope[q, cell])
        much = much or lost[k] > error[k]
        error[k] += lost[k]
    return much


@inner
def likely_end(values, size, chance, offset, reached):
    """The end that would be best if the joint count did not depend on where y's counter ends.

    Args:
        reached: the greatest expected joint count of each end.
    """
    counts, end, most = len(chance), 0, -np.inf
    for k in range(size):
        slope, at = 0.0, k * counts
        for s in range(counts):
            slope += chance[s] * values.slope[0, at + s]
        if reached[k] > -np.inf and slope * reached[k] + offset[k] > most:
            end, most = k, slope * reached[k] + offset[k]
    return end


@within
def decide(r, h, amounts, values, weights, weight_at, n, start, final, labels, most, ends, buffers):
    """Fills ``labels``, and ``ends`` (3, k): value, error, tried of each end k; returns the best.

    The value of an end that was not tried is an upper bound, which is not above the best unless
    ``most`` ends were tried.
    """
    f, sums, back, score, b, lines, is_open, uncounted = buffers
    size, counts, joint = h.columns[n], r.columns[n], values.slope.shape[0]
    chance, offset = lines[0, :counts], lines[1, :size]
    upper, error = ends[0, :size], ends[1, :size]
    reached, lost, negligible = lines[2, :size], lines[3, :size], values.negligible
    forward(r, weights, weight_at, n, start, f, sums, negligible)
    fill(chance, 0, counts, 0.0)
    ending(r, n, final, f, n, chance)
    if first_bounds(values, size, chance, offset, error, lost, values.lost):
        negligible = 0.0
        forward(r, weights, weight_at, n, start, f, sums, negligible)
        fill(chance, 0, counts, 0.0)
        ending(r, n, final, f, n, chance)
        first_bounds(values, size, chance, offset, error, lost, 0.0)
    for k in range(size):
        upper[k], is_open[k], ends[2, k] = np.inf, True, 0.0
    k, mass = 0, 0.0
    for s in range(counts):
        k, mass = s if chance[s] > chance[k] else k, mass + chance[s]
    if values.prunes and chance[k] < _SURE * mass:
        reached[0] = 1.0
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        flows(
            uncounted[0], amounts, weights, weight_at, n, reached, final, uncounted[1], negligible,
            values.group, values.group[0], back, score,
        )  # fmt: skip
        best(h, n, size, score, b)
        best_ends(h, n, b, reached)
        k = likely_end(values, size, chance, offset, reached)
    top, best_k, k = -np.inf, -1, min(k, size - 1)
    while k >= 0:
        is_open[k], ends[2, k] = False, 1.0
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        for q in range(joint):
            if values.group[q] == q:
                flows(
                    r, amounts, weights, weight_at, n, values.slope[q, k * counts :], final, f,
                    negligible, values.group, q, back, score,
                )  # fmt: skip
        last = k
        for j in range(size):
            if is_open[j]:
                last = max(last, j)
        best(h, n, last, score, b)
        best_ends(h, n, b, reached)
        upper[k] = reached[k] + offset[k]
        if values.one_sign:  # errors of sums that cancel nothing are a part of these
            rounded = values.rounding * abs(upper[k]) + lost[k] + values.underflow
            error[k] = min(error[k], rounded)
        if upper[k] > top or (upper[k] == top and k < best_k):
            top, best_k = upper[k], k
            trace(h, n, k, score, b, labels)
        following = -1
        for j in range(size):
            if not is_open[j]:
                continue
            if reached[j] == -np.inf:  # no hypothesis ends there
                is_open[j], upper[j] = False, -np.inf
                continue
            if values.prunes:
                mine, others = j * counts, k * counts
                base = offset[j] + error[j]
                at_most = base + bound(
                    max(reached[j], 0.0) + error[k], top - base, chance,
                    values.slope[0, mine : mine + counts],
                    values.slope[0, others : others + counts], values.cap[j],
                )  # fmt: skip
                upper[j] = min(upper[j], at_most)
                if upper[j] < top:
                    is_open[j] = False
                    continue
            if following < 0 or upper[j] > upper[following]:
                following = j
        most -= 1
        k = following if most > 0 else -1
    return best_k


@entry
def decide_batch(r, h, amounts, values, batch, most, buffers, ends, best_of):
    """Fills labels, ``ends`` (batch, 3, k) and the best ends of all sentences, see ``decide``."""
    for s in range(len(batch.weights)):
        best_of[s] = decide(
            r, h, amounts, values, batch.weights[s], batch.weight_at, batch.n, batch.start[s],
            batch.final[s], batch.labels[s], most, ends[s], buffers,
        )  # fmt: skip


@entry
def best_batch(h, n, cells, scores, factors, buffers, ends, by_count, labels):
    """Fills ``by_count`` (batch, k) with the best score of a path by its count at the end.

    And, where there are labels to fill, (batch, n), those of best paths that end at ``ends``.

    Args:
        cells: position and score row of each cell.
        scores: those that are not 0 (``batches.Scores``).
        factors: what their lanes are multiplied by, (batch, lanes).
    """
    score, b = buffers
    for s in range(len(factors)):
        begin, end = scores.begins[s], scores.begins[s + 1]
        for e in range(begin, end):
            total, c = 0.0, scores.cell[e]
            for j in range(factors.shape[1]):
                total += factors[s, j] * scores.value[e, j]
            score[cells[c, 0], cells[c, 1]] = total
        best(h, n, h.columns[n], score, b)
        best_ends(h, n, b, by_count[s])
        if len(labels) > 0:
            trace(h, n, ends[s], score, b, labels[s])
        for e in range(begin, end):
            score[cells[scores.cell[e], 0], cells[scores.cell[e], 1]] = 0.0


@entry
def most_by_count(h, n, score, b, by_count):
    """Fills ``by_count`` (n + 1, k): the best score of a path of each length by its count."""
    best(h, n, h.columns[n], score, b)
    for i in range(n + 1):
        best_ends(h, i, b, by_count[i, : h.columns[i]])


@entry
def corners(tables, slopes, places):
    """Fills ``slopes`` (tables, k): at each corner of the concave hull the slope to it, else NaN.

    The slope to the first corner is infinite; slopes never rise, whatever rounding does.

    Args:
        tables: numbers by count, -inf where there is none, (tables, k).
        places: a buffer for as many places, (k,).
    """
    for s in range(len(tables)):
        table, count = tables[s], 0
        for j in range(len(table)):
            slopes[s, j] = np.nan
            if table[j] == -np.inf:
                continue
            while count > 1:
                a, b = places[count - 2], places[count - 1]
                if (table[b] - table[a]) * (j - b) > (table[j] - table[b]) * (b - a):
                    break  # the slope falls at b, which stays
                count -= 1
            places[count] = j
            count += 1
        for c in range(count):
            a, b = places[max(c - 1, 0)], places[c]
            slope = (table[b] - table[a]) / (b - a) if c > 0 else np.inf
            slopes[s, b] = min(slope, slopes[s, a]) if c > 0 else slope
