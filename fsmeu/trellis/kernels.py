"""The loops over the tables of a structure: one call for all positions of all sentences of a batch.

    forward     masses of pairs by the value of y's counter (real semiring)
    means       mass, and beside it expectations of joint counts (expectation semiring, Eisner 2002)
    flows       backward values, and what flows through every feature of y
    adjoint     derivatives of an expected value with respect to the weights of arcs
    best        maximum over the tape of z by the value of its counter (max-plus), ``trace`` follows
    decide      the best hypothesis, one value k of z's counter at a time, bounds for the others

These functions are plain Python, and run as such or compiled by numba (``compiled.py``): the same
operations in the same order, so the same bits. Loops are written out, because array expressions
and assigned slices take numba seconds to compile; sums of products take four numbers at a time,
because numba does not reorder them.

Rows of y's counter have the length ``padded``; what is past its values is 0. Places in flat arrays
are unsigned where a loop is to be vectorised.
"""

# Arguments are arrays and tuples of arrays, whose types numba reads: r is References, h Hypotheses,
# amounts Amounts, values Values, batch Batch (``structure.py``, ``amounts.py``, ``engine.py``).
# ruff: noqa: D417

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled import entry, inner, unsigned_of

__all__ = [
    "adjoint_batch",
    "best_batch",
    "decide_batch",
    "mean_batch",
    "most_by_count",
    "score_batch",
]


unsigned = unsigned_of()


@inner
def padded(columns):
    """The length of a row of counts: one that four divides, or 1."""
    return 1 if columns == 1 else (columns + 3) // 4 * 4


@inner
def fill(row, begin, end, number):
    """Fills places begin, ..., end - 1 of an array with a number."""
    for c in range(unsigned(begin), unsigned(end)):
        row[c] = number


@inner
def add(into, goal, factor, row, at, size):
    """Adds a multiple of so many numbers of an array to those of another."""
    goal, at = unsigned(goal), unsigned(at)
    for c in range(unsigned(size)):
        into[goal + c] += factor * row[at + c]


@inner
def dot(one, a, other, b, size):
    """The sum of products of so many numbers of two arrays: 1, or a number that four divides."""
    a, b = unsigned(a), unsigned(b)
    if size == 1:
        return one[a] * other[b]
    w, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(unsigned(0), unsigned(size), unsigned(4)):
        w += one[a + k] * other[b + k]
        x += one[a + k + unsigned(1)] * other[b + k + unsigned(1)]
        y += one[a + k + unsigned(2)] * other[b + k + unsigned(2)]
        z += one[a + k + unsigned(3)] * other[b + k + unsigned(3)]
    return (w + x) + (y + z)


@inner
def add_entries(r, i, weights, first, mass, here, sums, after, there):
    """Adds to the rows of the pairs after position i what their entries bring.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        mass: rows of the pairs before, from ``here`` on.
        sums: room for the sums of classes.
        after: rows of the pairs after, from ``there`` on.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for m in range(r.sums[kind], r.sums[kind + 1]):
        group = r.summed[m, 1] * size
        fill(sums, group, group + size, 0.0)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        pair, group = r.summed[m, 0], r.summed[m, 1] * size
        if pair < r.width[i]:
            add(sums, group, 1.0, mass, here + pair * size, size)
    for e in range(r.entries[kind], r.entries[kind + 1]):
        target, source = r.entry[e, 0], r.entry[e, 1]
        if target >= r.width[i + 1]:
            break
        goal, weight = there + target * wider + r.entry[e, 3], weights[first + r.entry[e, 2]]
        if source < 0:
            add(after, goal, weight, sums, (-1 - source) * size, size)
        elif source < r.width[i]:
            add(after, goal, weight, mass, here + source * size, size)


@inner
def forward(r, weights, weight_at, n, start, mass, sums):
    """Fills ``mass`` with the rows of the pairs of layers 0, ..., n, from ``r.at``."""
    fill(mass, 0, r.at[n + 1] + 4, 0.0)
    for p in range(r.width[0]):
        mass[p * padded(r.columns[0])] = start[p]
    for i in range(n):
        add_entries(r, i, weights, weight_at[i], mass, r.at[i], sums, mass, r.at[i + 1])


@inner
def add_arcs(r, s, into, goal, size, beyond, wider, weights, first):
    """Adds to a row what the arcs of a set lead to: rows of classes after, ``wider`` long."""
    e, end, goal = r.arc_set[s], r.arc_set[s + 1], unsigned(goal)
    while e + 3 < end:  # four at a time: the row is loaded and stored once for them
        a = unsigned(r.arc[e, 0] * wider + r.arc[e, 1])
        b = unsigned(r.arc[e + 1, 0] * wider + r.arc[e + 1, 1])
        c = unsigned(r.arc[e + 2, 0] * wider + r.arc[e + 2, 1])
        d = unsigned(r.arc[e + 3, 0] * wider + r.arc[e + 3, 1])
        u, v = weights[first + r.arc[e, 2]], weights[first + r.arc[e + 1, 2]]
        w, x = weights[first + r.arc[e + 2, 2]], weights[first + r.arc[e + 3, 2]]
        for k in range(unsigned(size)):
            one, two = u * beyond[a + k] + v * beyond[b + k], w * beyond[c + k] + x * beyond[d + k]
            into[goal + k] += one + two
        e += 4
    while e < end:
        at = r.arc[e, 0] * wider + r.arc[e, 1]
        add(into, goal, weights[first + r.arc[e, 2]], beyond, at, size)
        e += 1


@inner
def add_feature(amounts, table, feature, q, flow, score):
    """Adds what flows through a feature of y to the scores of the rows of z that it meets."""
    for e in range(amounts.begins[table, feature], amounts.begins[table, feature + 1]):
        if amounts.joint[amounts.row[e]] == q:
            score[amounts.row[e]] += amounts.amount[e] * flow


@inner
def set_sums(r, i, weights, first, beyond, values):
    """Fills ``values`` with the rows of all arc sets of position i, from those of classes after."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for s in range(r.arc_sets[kind], r.arc_sets[kind + 1]):
        at = (s - r.arc_sets[kind]) * size
        fill(values, at, at + size, 0.0)
        add_arcs(r, s, values, at, size, beyond, wider, weights, first)


@inner
def class_values(r, i, values, back):
    """Fills ``back`` with the backward values of classes before position i, from arc sets'."""
    kind, size = r.kind[i], padded(r.columns[i])
    fill(back, 0, len(r.member) * size, 0.0)
    for c in range(r.classes[i]):
        for e in range(r.parts[kind, c], r.parts[kind, c + 1]):
            add(back, c * size, 1.0, values, (r.part[e] - r.arc_sets[kind]) * size, size)


@inner
def ending_values(r, n, end, first, final, back):
    """Fills ``back`` with the backward values of classes in the last layer."""
    size = padded(r.columns[n])
    fill(back, 0, len(back), 0.0)
    for c in range(r.classes[n]):
        weight = final[r.state[r.member[c]]]
        for k in range(r.columns[n]):
            back[c * size + k] = weight * end[first + k]


@inner
def flows(r, amounts, weights, weight_at, n, end, first, final, mass, q, rooms, score):
    """Adds to ``score`` (n, score rows + 1) what a step of z that shows a row is worth.

    A score is E[amount that the step adds to joint count q, times f(y's counter at its end)]; the
    numbers f are ``end`` from ``first`` on.
    """
    back, older, values = rooms
    ending_values(r, n, end, first, final, back)
    for i in range(n - 1, -1, -1):
        kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
        table, here, there = amounts.table[i], r.at[i], r.at[i + 1]
        back, older = older, back
        for u in range(r.shows[kind], r.shows[kind + 1]):
            p = r.show[u, 0]
            if p >= r.width[i + 1]:
                break
            flow = dot(mass, there + p * wider, older, r.class_of[p] * wider, wider)
            add_feature(amounts, table, r.show[u, 1], q, flow, score[i])
        set_sums(r, i, weights, weight_at[i], older, values)
        for u in range(r.uses[kind], r.uses[kind + 1]):
            p = r.use[u, 0]
            if p >= r.width[i]:
                break
            at = (r.use[u, 1] - r.arc_sets[kind]) * size
            flow = dot(mass, here + p * size, values, at, size)
            add_feature(amounts, table, r.use[u, 2], q, flow, score[i])
        class_values(r, i, values, back)


@inner
def hypothesis_gains(h, amounts, i, state, label, gain, sign):
    """Adds ``sign`` times what a step of z adds beside each feature of y, (counts, features)."""
    kind, table = h.kind[i], amounts.table[i]
    after, colour = h.step[kind, state, label, 0], h.step[kind, state, label, 1]
    for t in range(h.early.shape[1]):
        for row in (h.early[colour, t], h.late[kind, after, t]):
            q = amounts.joint[row]
            if q >= 0:
                for e in range(amounts.row_begins[table, row], amounts.row_begins[table, row + 1]):
                    if sign == 0.0:
                        gain[q, amounts.feature[e]] = 0.0
                    else:
                        gain[q, amounts.feature[e]] += amounts.row_amount[e]


@inner
def add_means(r, i, weights, first, mass, here, after_mass, there, mean, at, after, goal, gain):
    """Adds to ``after`` the expectations of a joint count by class after position i.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        mass: rows of pairs before, from ``here`` on.
        after_mass: rows of pairs after, from ``there`` on.
        mean: expectations by class before, from ``at`` on; those after are from ``goal`` on.
        gain: what the joint count gains beside each feature of y.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for c in range(r.classes[i]):
        for e in range(r.parts[kind, c], r.parts[kind, c + 1]):
            for a in range(r.arc_set[r.part[e]], r.arc_set[r.part[e] + 1]):
                to = goal + r.arc[a, 0] * wider + r.arc[a, 1]
                add(after, to, weights[first + r.arc[a, 2]], mean, at + c * size, size)
    for u in range(r.uses[kind], r.uses[kind + 1]):
        p, amount = r.use[u, 0], gain[r.use[u, 2]]
        if p >= r.width[i]:
            break
        if amount != 0.0:
            for a in range(r.arc_set[r.use[u, 1]], r.arc_set[r.use[u, 1] + 1]):
                to = goal + r.arc[a, 0] * wider + r.arc[a, 1]
                factor = amount * weights[first + r.arc[a, 2]]
                add(after, to, factor, mass, here + p * size, size)
    for u in range(r.shows[kind], r.shows[kind + 1]):
        p, amount = r.show[u, 0], gain[r.show[u, 1]]
        if p >= r.width[i + 1]:
            break
        if amount != 0.0:
            to = goal + r.class_of[p] * wider
            add(after, to, amount, after_mass, there + p * wider, wider)


@inner
def means(r, h, amounts, weights, weight_at, n, start, final, labels, rooms, found):
    """Fills ``found`` (1 + counts, counter): mass and expectations of joint counts.

    Returns where the counter of z ends.
    """
    mass, after_mass, mean, after, sums, gain = rooms
    counts, state, ended = len(mean), 0, 0
    fill(mass, 0, r.at[1], 0.0)
    for p in range(r.width[0]):
        mass[p * padded(r.columns[0])] = start[p]
    for q in range(counts):
        fill(mean[q], 0, len(r.member) * padded(r.columns[0]), 0.0)
    for i in range(n):
        first, size = weight_at[i], len(r.member) * padded(r.columns[i + 1]) + 4
        fill(after_mass, 0, r.at[i + 2] - r.at[i + 1] + 4, 0.0)
        add_entries(r, i, weights, first, mass, 0, sums, after_mass, 0)
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 1.0)
        for q in range(counts):
            fill(after[q], 0, size, 0.0)
            add_means(
                r, i, weights, first, mass, 0, after_mass, 0, mean[q], 0, after[q], 0, gain[q]
            )  # fmt: skip
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 0.0)
        ended += h.step[h.kind[i], state, labels[i], 2]
        state = h.step[h.kind[i], state, labels[i], 0]
        mass, after_mass = after_mass, mass
        mean, after = after, mean
    size = padded(r.columns[n])
    for q in range(1 + counts):
        fill(found[q], 0, found.shape[1], 0.0)
    for p in range(r.width[n]):
        for k in range(r.columns[n]):
            found[0, k] += final[r.state[p]] * mass[p * size + k]
    for c in range(r.classes[n]):
        for q in range(counts):
            for k in range(r.columns[n]):
                found[1 + q, k] += final[r.state[r.member[c]]] * mean[q, c * size + k]
    return ended


@entry
def mean_batch(r, h, amounts, batch, rooms, found, ended):
    """Fills ``found`` (batch, 1 + counts, counter) and ``ended`` (batch,), see ``means``."""
    for s in range(len(batch.lengths)):
        weights = batch.weights[batch.begins[s] : batch.begins[s + 1]]
        ended[s] = means(
            r, h, amounts, weights, batch.weight_at, batch.lengths[s], batch.start[s],
            batch.final[s], batch.labels[s], rooms, found[s],
        )  # fmt: skip


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
    for i in range(n):
        kind, columns, wider = h.kind[i], h.columns[i], h.columns[i + 1]
        size, room = min(columns, most + 1), min(wider, most + 1)
        here, there, first = h.at[i], h.at[i + 1], h.source_sets[kind]
        for g in range(first, h.source_sets[kind + 1]):
            into = (g - first) * columns
            fill(sets, into, into + size, -np.inf)
            for m in range(h.source_set[g], h.source_set[g + 1]):
                p = h.member[m, 0]
                if p >= h.width[i]:
                    break
                offset = shown(score, i, h.early, h.member[m, 1])
                raise_row(sets, into, value, here + p * columns, size, offset)
        for w in range(h.ways[kind], h.ways[kind + 1]):
            p, source, counted = h.way[w, 0], h.way[w, 1], h.way[w, 2]
            if p >= h.width[i + 1]:
                break
            into, length = there + p * wider + counted, min(size, room - counted)
            if length > 0:
                offset = shown(score, i, h.late[kind], p)
                if source < 0:
                    raise_row(value, into, sets, (-1 - source) * columns, length, offset)
                elif source < h.width[i]:
                    offset += shown(score, i, h.early, h.way[w, 3])
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
    """An upper bound on what an end can have beside its offset (``decoding/by_tape.py``).

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
def decide(r, h, amounts, values, weights, weight_at, n, start, final, labels, ends, rooms):
    """Fills ``labels``, and ``ends`` (3, k): value, error, tried of each end k; returns the best.

    The value of an end that was not tried is an upper bound that is not above the best.
    """
    mass, sums, back, score, value, sets, lines, is_open = rooms
    forward(r, weights, weight_at, n, start, mass, sums)
    size, counts, joint = h.columns[n], r.columns[n], values.slope.shape[0]
    at, chance = values.at[n], lines[0, :counts]
    upper, error, offset = ends[0, :size], ends[1, :size], lines[1, :size]
    reached = lines[2, :size]
    ending(r, n, final, mass, chance)
    mean = 0.0
    for s in range(counts):
        mean += s * chance[s]
    for k in range(size):
        offset[k], error[k] = 0.0, 0.0
        for s in range(counts):
            cell = at + k * counts + s
            offset[k] += chance[s] * values.offset[cell]
            error[k] += chance[s] * abs(values.offset[cell])
            for q in range(joint):
                error[k] += values.greatest[q, n] * chance[s] * abs(values.slope[q, cell])
        error[k] = values.rounding[n] * error[k] + values.underflow[n]
        upper[k], is_open[k], ends[2, k] = np.inf, True, 0.0
    top, best_k, k = -np.inf, -1, min(int(mean + 0.5), size - 1)
    while k >= 0:
        is_open[k], ends[2, k] = False, 1.0
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        for q in range(joint):
            slope = values.slope[q]
            first = at + k * counts
            flows(r, amounts, weights, weight_at, n, slope, first, final, mass, q, back, score)
        last = k
        for j in range(size):
            if is_open[j]:
                last = max(last, j)
        best(h, n, last, score, value, sets)
        best_ends(h, n, value, reached)
        upper[k] = reached[k] + offset[k]
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
def score_batch(r, amounts, basis, batch, cells, rooms, scores):
    """Fills ``scores`` (batch, functions, cells): flows for every function of y's count.

    Args:
        basis: the functions, (functions, counter).
        cells: position and score row of each score that is kept.
    """
    mass, sums, back, score, counts = rooms
    for s in range(len(batch.lengths)):
        n = batch.lengths[s]
        weights = batch.weights[batch.begins[s] : batch.begins[s + 1]]
        forward(r, weights, batch.weight_at, n, batch.start[s], mass, sums)
        for j in range(len(basis)):
            for i in range(n):
                fill(score[i], 0, score.shape[1], 0.0)
            for q in range(counts):
                flows(
                    r, amounts, weights, batch.weight_at, n, basis[j], 0, batch.final[s], mass, q,
                    back, score,
                )  # fmt: skip
            for c in range(scores.shape[2]):
                scores[s, j, c] = score[cells[c, 0], cells[c, 1]]


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


@inner
def adjoint(r, h, amounts, values, weights, weight_at, n, start, final, labels, rooms, slopes):
    """Fills ``slopes`` with dE/d(weight of each arc), every arc a free variable; returns E.

    Forward: masses of pairs, and expectations of joint counts by class, of all layers. Backward:
    what one unit of an expectation adds (by class: g times what follows), and what one unit of mass
    adds (by pair: h, and the gains that follow). An arc's derivative is the sum, over all numbers
    that it multiplies, of the number times what the one it leads to adds.
    """
    mass, sums, mean, mean_at, back, older, sets, worth, later, class_worth, gain, states = rooms
    counts, state, ended = len(back), 0, 0
    forward(r, weights, weight_at, n, start, mass, sums)
    for q in range(counts):
        fill(mean[q], 0, mean_at[n + 1] + 4, 0.0)
    for i in range(n):
        states[i] = state
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 1.0)
        for q in range(counts):
            add_means(
                r, i, weights, weight_at[i], mass, r.at[i], mass, r.at[i + 1], mean[q], mean_at[i],
                mean[q], mean_at[i + 1], gain[q],
            )  # fmt: skip
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 0.0)
        ended += h.step[h.kind[i], state, labels[i], 2]
        state = h.step[h.kind[i], state, labels[i], 0]
    size, at, total = padded(r.columns[n]), values.at[n] + ended * r.columns[n], 0.0
    fill(worth, 0, len(worth), 0.0)
    for p in range(r.width[n]):
        for k in range(r.columns[n]):
            worth[p * size + k] = final[r.state[p]] * values.offset[at + k]
            total += worth[p * size + k] * mass[r.at[n] + p * size + k]
    for q in range(counts):
        ending_values(r, n, values.slope[q], at, final, back[q])
        for c in range(r.classes[n] * size):
            total += back[q, c] * mean[q, mean_at[n] + c]
    for i in range(n - 1, -1, -1):
        first, kind = weight_at[i], r.kind[i]
        size, wider = padded(r.columns[i]), padded(r.columns[i + 1])
        hypothesis_gains(h, amounts, i, states[i], labels[i], gain, 1.0)
        fill(slopes, first, weight_at[i + 1], 0.0)
        for q in range(counts):  # gains at pairs after: mass there is worth g times what follows
            for u in range(r.shows[kind], r.shows[kind + 1]):
                p, amount = r.show[u, 0], gain[q, r.show[u, 1]]
                if p >= r.width[i + 1]:
                    break
                if amount != 0.0:
                    add(worth, p * wider, amount, back[q], r.class_of[p] * wider, wider)
        entry_slopes(r, i, weights, first, mass, sums, worth, later, class_worth, slopes)
        for q in range(counts):
            set_sums(r, i, weights, first, back[q], sets)
            mean_slopes(
                r, i, mean[q], mean_at[i], mass, weights, first, back[q], gain[q], slopes
            )  # fmt: skip
            for u in range(r.uses[kind], r.uses[kind + 1]):
                p, amount = r.use[u, 0], gain[q, r.use[u, 2]]
                if p >= r.width[i]:
                    break
                if amount != 0.0:
                    at = (r.use[u, 1] - r.arc_sets[kind]) * size
                    add(later, p * size, amount, sets, at, size)
            class_values(r, i, sets, older[q])
        hypothesis_gains(h, amounts, i, states[i], labels[i], gain, 0.0)
        worth, later = later, worth
        back, older = older, back
    return total


@inner
def entry_slopes(r, i, weights, first, mass, sums, worth, later, class_worth, slopes):
    """The share of mass: fills ``later`` by pair before, and adds to the slopes of arcs."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    here = r.at[i]
    fill(later, 0, r.width[i] * size + 4, 0.0)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        group = r.summed[m, 1] * size
        fill(sums, group, group + size, 0.0)
        fill(class_worth, group, group + size, 0.0)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        pair, group = r.summed[m, 0], r.summed[m, 1] * size
        if pair < r.width[i]:
            add(sums, group, 1.0, mass, here + pair * size, size)
    for e in range(r.entries[kind], r.entries[kind + 1]):
        target, source, arc = r.entry[e, 0], r.entry[e, 1], first + r.entry[e, 2]
        if target >= r.width[i + 1]:
            break
        ahead = target * wider + r.entry[e, 3]
        if source < 0:
            group = (-1 - source) * size
            slopes[arc] += dot(sums, group, worth, ahead, size)
            add(class_worth, group, weights[arc], worth, ahead, size)
        elif source < r.width[i]:
            slopes[arc] += dot(mass, here + source * size, worth, ahead, size)
            add(later, source * size, weights[arc], worth, ahead, size)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        pair, group = r.summed[m, 0], r.summed[m, 1] * size
        if pair < r.width[i]:
            add(later, pair * size, 1.0, class_worth, group, size)


@inner
def mean_slopes(r, i, mean, at, mass, weights, first, back, gain, slopes):
    """The share of expectations of a joint count, and of what is gained at pairs before."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for c in range(r.classes[i]):
        for e in range(r.parts[kind, c], r.parts[kind, c + 1]):
            for a in range(r.arc_set[r.part[e]], r.arc_set[r.part[e] + 1]):
                to = r.arc[a, 0] * wider + r.arc[a, 1]
                slopes[first + r.arc[a, 2]] += dot(mean, at + c * size, back, to, size)
    for u in range(r.uses[kind], r.uses[kind + 1]):
        p, amount = r.use[u, 0], gain[r.use[u, 2]]
        if p >= r.width[i]:
            break
        if amount != 0.0:
            for a in range(r.arc_set[r.use[u, 1]], r.arc_set[r.use[u, 1] + 1]):
                to = r.arc[a, 0] * wider + r.arc[a, 1]
                flow = dot(mass, r.at[i] + p * size, back, to, size)
                slopes[first + r.arc[a, 2]] += amount * flow


@entry
def adjoint_batch(r, h, amounts, values, batch, rooms, slopes, found):
    """Fills ``found`` (batch,) and ``slopes`` (as the weights of the batch), see ``adjoint``."""
    for s in range(len(batch.lengths)):
        begin, end = batch.begins[s], batch.begins[s + 1]
        found[s] = adjoint(
            r, h, amounts, values, batch.weights[begin:end], batch.weight_at, batch.lengths[s],
            batch.start[s], batch.final[s], batch.labels[s], rooms, slopes[begin:end],
        )  # fmt: skip
