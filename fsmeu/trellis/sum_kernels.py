"""Sums over the tables of a structure: one call for all positions of all sentences of a batch.

    forward     masses of pairs by the value of y's counter (real semiring)
    means       mass, and beside it expectations of joint counts (expectation semiring, Eisner 2002)
    flows       backward values, and what flows through every feature of y

Kernels are plain Python, and run as such or compiled by numba (``compiled.py``): the same
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

from fsmeu.trellis.compiled import entry, inner, unsigned_of

__all__ = ["mean_batch", "score_batch"]


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
def add_entries(r, i, weights, first, mass, here, sums, after, there, total, nothing):
    """Adds to the rows of the pairs after position i what their entries bring.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        mass: rows of the pairs before, from ``here`` on.
        sums: room for the sums of classes.
        after: rows of the pairs after, from ``there`` on.
        total: room for the totals of pairs before and after, and of classes, (3, pairs); those
            before are known, those after are filled.
        nothing: a mass up to which it is not moved on.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    summed, entry = r.summed, r.entry
    before, behind, group_total = total[0], total[1], total[2]
    width, wide, classes = r.width[i], r.width[i + 1], len(r.member)
    fill(sums, 0, classes * size, 0.0)
    fill(group_total, 0, classes, 0.0)
    fill(behind, 0, wide, 0.0)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        pair, group = summed[m, 0], summed[m, 1]
        if pair >= width:
            break
        if before[pair] > 0.0:
            add(sums, group * size, 1.0, mass, here + pair * size, size)
            group_total[group] += before[pair]
    for e in range(r.entries[kind], r.entries[kind + 1]):
        target, source = entry[e, 0], entry[e, 1]
        if target >= wide:
            break
        goal, weight = there + target * wider + entry[e, 3], weights[first + entry[e, 2]]
        if source < 0:
            moved = weight * group_total[-1 - source]
            if moved > nothing:
                add(after, goal, weight, sums, (-1 - source) * size, size)
                behind[target] += moved
        elif source < width:
            moved = weight * before[source]
            if moved > nothing:
                add(after, goal, weight, mass, here + source * size, size)
                behind[target] += moved


@inner
def forward(r, weights, weight_at, n, start, mass, sums, total, nothing):
    """Fills ``mass`` with the rows of the pairs of layers 0, ..., n, from ``r.at``.

    And ``total`` (n + 3, pairs) with their sums in rows 0, ..., n. A mass up to ``nothing`` is not
    moved on.
    """
    fill(mass, 0, r.at[n + 1] + 4, 0.0)
    for p in range(r.width[0]):
        mass[p * padded(r.columns[0])] = start[p]
        total[0, p] = start[p]
    for i in range(n):
        add_entries(
            r, i, weights, weight_at[i], mass, r.at[i], sums, mass, r.at[i + 1],
            total[i : i + 3], nothing,
        )  # fmt: skip


@inner
def sum_arcs(r, s, into, goal, size, beyond, wider, weights, first):
    """Fills a row with the sum of what the arcs of a set lead to: rows of classes after.

    Four columns at a time: their sums stay in registers while the arcs go by.
    """
    begin, end, arc = r.arc_set[s], r.arc_set[s + 1], r.arc
    if size == 1:
        total = 0.0
        for e in range(begin, end):
            at = arc[e, 0] * wider + arc[e, 1]
            total += weights[first + arc[e, 2]] * beyond[at]
        into[goal] = total
        return
    for c in range(0, size, 4):
        w, x, y, z = 0.0, 0.0, 0.0, 0.0
        for e in range(begin, end):
            at = unsigned(arc[e, 0] * wider + arc[e, 1] + c)
            weight = weights[first + arc[e, 2]]
            w += weight * beyond[at]
            x += weight * beyond[at + unsigned(1)]
            y += weight * beyond[at + unsigned(2)]
            z += weight * beyond[at + unsigned(3)]
        into[goal + c], into[goal + c + 1] = w, x
        into[goal + c + 2], into[goal + c + 3] = y, z


@inner
def add_feature(amounts, table, feature, group, q, flow, score):
    """Adds what flows through a feature of y to the scores of the rows of z that it meets."""
    for e in range(amounts.begins[table, feature], amounts.begins[table, feature + 1]):
        if group[amounts.joint[amounts.row[e]]] == q:
            score[amounts.row[e]] += amounts.amount[e] * flow


@inner
def set_sums(r, i, weights, first, beyond, values):
    """Fills ``values`` with the rows of all arc sets of position i, from those of classes after."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for s in range(r.arc_sets[kind], r.arc_sets[kind + 1]):
        at = (s - r.arc_sets[kind]) * size
        sum_arcs(r, s, values, at, size, beyond, wider, weights, first)


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
def flows(
    r, amounts, weights, weight_at, n, end, first, final, mass, total, nothing, group, q, rooms,
    score,
):  # fmt: skip
    """Adds to ``score`` (n, score rows + 1) what a step of z that shows a row is worth.

    A score is E[amount that the step adds to joint counts, times f(y's counter at its end)]; the
    numbers f are ``end`` from ``first`` on. Joint counts are those of group q.
    """
    back, older, values = rooms
    show, use, class_of = r.show, r.use, r.class_of
    ending_values(r, n, end, first, final, back)
    for i in range(n - 1, -1, -1):
        kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
        table, here, there, row = amounts.table[i], r.at[i], r.at[i + 1], score[i]
        back, older = older, back
        width, alive = r.width[i + 1], total[i + 1]
        for u in range(r.shows[kind], r.shows[kind + 1]):
            p = show[u, 0]
            if p >= width:
                break
            if alive[p] > nothing:
                flow = dot(mass, there + p * wider, older, class_of[p] * wider, wider)
                add_feature(amounts, table, show[u, 1], group, q, flow, row)
        set_sums(r, i, weights, weight_at[i], older, values)
        begin = r.arc_sets[kind]
        width, alive = r.width[i], total[i]
        for u in range(r.uses[kind], r.uses[kind + 1]):
            p = use[u, 0]
            if p >= width:
                break
            if alive[p] > nothing:
                at = (use[u, 1] - begin) * size
                flow = dot(mass, here + p * size, values, at, size)
                add_feature(amounts, table, use[u, 2], group, q, flow, row)
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
    mass, after_mass, mean, after, sums, gain, total = rooms
    counts, state, ended = len(mean), 0, 0
    fill(mass, 0, r.at[1], 0.0)
    for p in range(r.width[0]):
        mass[p * padded(r.columns[0])] = start[p]
        total[0, p] = start[p]
    for q in range(counts):
        fill(mean[q], 0, len(r.member) * padded(r.columns[0]), 0.0)
    for i in range(n):
        first, size = weight_at[i], len(r.member) * padded(r.columns[i + 1]) + 4
        fill(after_mass, 0, r.at[i + 2] - r.at[i + 1] + 4, 0.0)
        add_entries(r, i, weights, first, mass, 0, sums, after_mass, 0, total, 0.0)
        for p in range(r.width[i + 1]):
            total[0, p] = total[1, p]
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


@entry
def score_batch(r, amounts, basis, batch, cells, rooms, scores):
    """Fills ``scores`` (batch, functions, cells): flows for every function of y's count.

    Args:
        basis: the functions, (functions, counter).
        cells: position and score row of each score that is kept.
    """
    mass, sums, total, back, score, group = rooms
    for s in range(len(batch.lengths)):
        n = batch.lengths[s]
        weights = batch.weights[batch.begins[s] : batch.begins[s + 1]]
        forward(r, weights, batch.weight_at, n, batch.start[s], mass, sums, total, 0.0)
        for j in range(len(basis)):
            for i in range(n):
                fill(score[i], 0, score.shape[1], 0.0)
            if len(group) > 0:  # all joint counts are worth the same
                flows(
                    r, amounts, weights, batch.weight_at, n, basis[j], 0, batch.final[s], mass,
                    total, 0.0, group, 0, back, score,
                )  # fmt: skip
            for c in range(scores.shape[2]):
                scores[s, j, c] = score[cells[c, 0], cells[c, 1]]
