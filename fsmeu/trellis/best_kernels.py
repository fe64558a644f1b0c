"""Maxima over the tape of z, and decisions: one value k of z's counter at a time.

    best        maximum over the tape of z by the value of its counter (max-plus), ``trace`` follows
    decide      the best hypothesis; one sweep at k bounds all other ends (``decoding/split.py``)

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

# ruff: noqa: D417

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled import entry, inner, part, unsigned_of

__all__ = ["best_batch", "decide_batch", "most_by_count"]

_sums = part("sum_kernels")
fill, flows, forward, padded = _sums.fill, _sums.flows, _sums.forward, _sums.padded
unsigned = unsigned_of()


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
def best(h, n, most, score, value, sets):
    """Fills ``value`` with the best score of a path to each pair by count up to ``most``."""
    fill(value, 0, h.at[n + 1], -np.inf)
    value[0] = 0.0
    member, way, early = h.member, h.way, h.early
    for i in range(n):
        kind, columns, wider = h.kind[i], h.columns[i], h.columns[i + 1]
        size, room = min(columns, most + 1), min(wider, most + 1)
        here, there, first = h.at[i], h.at[i + 1], h.source_sets[kind]
        for g in range(first, h.source_sets[kind + 1]):
            into = (g - first) * columns
            fill(sets, into, into + size, -np.inf)
            for m in range(h.source_set[g], h.source_set[g + 1]):
                p = member[m, 0]
                if p >= h.width[i]:
                    break
                offset = shown(score, i, early, member[m, 1])
                raise_row(sets, into, value, here + p * columns, size, offset)
        for w in range(h.ways[kind], h.ways[kind + 1]):
            p, source, counted = way[w, 0], way[w, 1], way[w, 2]
            if p >= h.width[i + 1]:
                break
            into, length = there + p * wider + counted, min(size, room - counted)
            if length > 0:
                offset = shown(score, i, h.late[kind], p)
                if source < 0:
                    raise_row(value, into, sets, (-1 - source) * columns, length, offset)
                elif source < h.width[i]:
                    offset += shown(score, i, early, way[w, 3])
                    raise_row(value, into, value, here + source * columns, length, offset)


@inner
def trace(h, n, count, score, value, labels):
    """Fills ``labels`` with those of a best path whose count ends at ``count``."""
    pair, most = -1, -np.inf
    for p in range(h.width[n]):
        if value[h.at[n] + p * h.columns[n] + count] > most:
            pair, most = p, value[h.at[n] + p * h.columns[n] + count]
    for i in range(n - 1, -1, -1):
        kind, found, most = h.kind[i], -1, -np.inf
        for e in range(h.backs[kind, pair], h.backs[kind, pair + 1]):
            p, before = h.back[e, 0], count - h.back[e, 2]
            if p < h.width[i] and 0 <= before < h.columns[i]:
                total = value[h.at[i] + p * h.columns[i] + before]
                total += shown(score, i, h.early, h.back[e, 1])
                if total > most:
                    found, most = e, total
        labels[i] = h.back[found, 3]
        pair, count = h.back[found, 0], count - h.back[found, 2]


@inner
def best_ends(h, n, value, reached):
    """Fills ``reached`` with the best score of a path by its count at the end."""
    fill(reached, 0, h.columns[n], -np.inf)
    for p in range(h.width[n]):
        raise_row(reached, 0, value, h.at[n] + p * h.columns[n], h.columns[n], 0.0)


@inner
def bound(reached, enough, chance, slope, other, cap):
    """An upper bound on what an end can have beside its offset (``decoding/split.py``).

    A bound below ``enough`` is as good as any.

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
    least = np.inf
    for s in range(-1, len(chance)):
        theta = 0.0
        if s >= 0:
            if chance[s] < 1e-14 or other[s] <= 0.0:
                continue
            theta = slope[s] / other[s]
        total = theta * reached
        for r in range(len(chance)):
            over = slope[r] - theta * other[r]
            if over > 0.0:
                total += chance[r] * cap * over
        least = min(least, total)
    return least


@inner
def ending(r, n, final, mass, chance):
    """Fills ``chance`` with P(y's counter ends at s)."""
    size = padded(r.columns[n])
    fill(chance, 0, r.columns[n], 0.0)
    for p in range(r.width[n]):
        for k in range(r.columns[n]):
            chance[k] += final[r.state[p]] * mass[r.at[n] + p * size + k]


@inner
def first_bounds(values, n, size, chance, offset, error, lost, left):
    """Fills offsets and bounds on errors by end, and the share of what was left out.

    Returns whether that share is the greater one for some end.

    Args:
        left: a bound on the mass that was not moved on.
    """
    counts, at, much = len(chance), values.at[n], False
    for k in range(size):
        offset[k], error[k], lost[k] = 0.0, values.underflow[n], 0.0
        for s in range(counts):
            cell, part = at + k * counts + s, values.rounding[n] * chance[s]
            offset[k] += chance[s] * values.offset[cell]
            error[k] += part * abs(values.offset[cell])
            lost[k] += left * abs(values.offset[cell])
            for q in range(values.slope.shape[0]):
                error[k] += part * values.greatest[q, n] * abs(values.slope[q, cell])
                lost[k] += left * values.greatest[q, n] * abs(values.slope[q, cell])
        much = much or lost[k] > error[k]
        error[k] += lost[k]
    return much


@inner
def decide(r, h, amounts, values, weights, weight_at, n, start, final, labels, ends, rooms):
    """Fills ``labels``, and ``ends`` (3, k): value, error, tried of each end k; returns the best.

    The value of an end that was not tried is an upper bound that is not above the best.
    """
    mass, sums, total, back, score, value, sets, lines, is_open = rooms
    size, counts, joint = h.columns[n], r.columns[n], values.slope.shape[0]
    at, chance = values.at[n], lines[0, :counts]
    upper, error, offset = ends[0, :size], ends[1, :size], lines[1, :size]
    reached, lost, nothing = lines[2, :size], lines[3, :size], values.nothing
    forward(r, weights, weight_at, n, start, mass, sums, total, nothing)
    ending(r, n, final, mass, chance)
    if first_bounds(values, n, size, chance, offset, error, lost, values.lost[n]):
        nothing = 0.0
        forward(r, weights, weight_at, n, start, mass, sums, total, nothing)
        ending(r, n, final, mass, chance)
        first_bounds(values, n, size, chance, offset, error, lost, 0.0)
    mean = 0.0
    for s in range(counts):
        mean += s * chance[s]
    for k in range(size):
        upper[k], is_open[k], ends[2, k] = np.inf, True, 0.0
    top, best_k, k = -np.inf, -1, min(int(mean + 0.5), size - 1)
    while k >= 0:
        is_open[k], ends[2, k] = False, 1.0
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        for q in range(joint):
            if values.group[q] == q:
                flows(
                    r, amounts, weights, weight_at, n, values.slope[q], at + k * counts, final,
                    mass, total, nothing, values.group, q, back, score,
                )  # fmt: skip
        last = k
        for j in range(size):
            if is_open[j]:
                last = max(last, j)
        best(h, n, last, score, value, sets)
        best_ends(h, n, value, reached)
        upper[k] = reached[k] + offset[k]
        if values.one_sign[n]:  # errors of sums that cancel nothing are a part of these
            error[k] = min(
                error[k], values.rounding[n] * abs(upper[k]) + lost[k] + values.underflow[n]
            )
        if upper[k] > top or (upper[k] == top and k < best_k):
            top, best_k = upper[k], k
            trace(h, n, k, score, value, labels)
        following = -1
        for j in range(size):
            if not is_open[j]:
                continue
            if reached[j] == -np.inf:  # no hypothesis ends there
                is_open[j], upper[j] = False, -np.inf
                continue
            if values.prunes[n]:
                mine, others = at + j * counts, at + k * counts
                base = offset[j] + error[j]
                found = base + bound(
                    max(reached[j], 0.0) + error[k], top - base, chance,
                    values.slope[0, mine : mine + counts],
                    values.slope[0, others : others + counts], values.cap[n, j],
                )  # fmt: skip
                upper[j] = min(upper[j], found)
                if upper[j] < top:
                    is_open[j] = False
                    continue
            if following < 0 or upper[j] > upper[following]:
                following = j
        k = following
    return best_k


@entry
def decide_batch(r, h, amounts, values, batch, rooms, ends, best_of):
    """Fills labels, ``ends`` (batch, 3, k) and the best ends of all sentences, see ``decide``."""
    for s in range(len(batch.lengths)):
        best_of[s] = decide(
            r, h, amounts, values, batch.weights[batch.begins[s] : batch.begins[s + 1]],
            batch.weight_at, batch.lengths[s], batch.start[s], batch.final[s], batch.labels[s],
            ends[s], rooms,
        )  # fmt: skip


@entry
def best_batch(h, n, cells, scores, rooms, ends, found, labels):
    """Fills ``found`` (batch, k) with the best score of a path by its count at the end.

    And, where there are labels to fill, (batch, n), those of best paths that end at ``ends``.

    Args:
        cells: position and score row of each score.
        scores: the scores, (batch, cells); all others are 0.
    """
    score, value, sets = rooms
    for s in range(len(scores)):
        for c in range(scores.shape[1]):
            score[cells[c, 0], cells[c, 1]] = scores[s, c]
        best(h, n, h.columns[n], score, value, sets)
        best_ends(h, n, value, found[s])
        if len(labels) > 0:
            trace(h, n, ends[s], score, value, labels[s])


@entry
def most_by_count(h, n, score, value, sets, found):
    """Fills ``found`` (n + 1, k): the best score of a path of each length by its count."""
    best(h, n, h.columns[n], score, value, sets)
    for i in range(n + 1):
        best_ends(h, i, value, found[i, : h.columns[i]])
