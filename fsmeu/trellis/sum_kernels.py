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

The mass of pair p of layer i by count is ``f.scale[i, p]`` times a row of ``f.mass``, which begins
at ``f.place[i, p, 0]``, has the length ``f.place[i, p, 2]`` and counts from ``f.place[i, p, 1]`` on
(``batches.ForwardLayers``). It is looked at only where ``f.total[i, p]``, its sum, is above 0.
"""

# Arguments are arrays and tuples of arrays, whose types numba reads: r is References, h Hypotheses,
# f ForwardLayers, amounts Amounts, values Values, batch Batch (``structure.py``, ``terms.py``,
# ``batches.py``).
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
    w, x, y, z, k = 0.0, 0.0, 0.0, 0.0, unsigned(0)
    while k < unsigned(size):
        w += one[a + k] * other[b + k]
        x += one[a + k + unsigned(1)] * other[b + k + unsigned(1)]
        y += one[a + k + unsigned(2)] * other[b + k + unsigned(2)]
        z += one[a + k + unsigned(3)] * other[b + k + unsigned(3)]
        k += unsigned(4)
    return (w + x) + (y + z)


@inner
def add_arcs(into, goal, size, held, stride, arc, begin, end, weights, first):
    """Adds to a row what arcs (number of a row of ``held``, shift, weight) lead to.

    Four arcs at a time: the sums are loaded and stored once for them.
    """
    goal, size, stride = unsigned(goal), unsigned(size), unsigned(stride)
    e, end, first = unsigned(begin), unsigned(end), unsigned(first)
    one, two, three, four = unsigned(1), unsigned(2), unsigned(3), unsigned(4)
    while e + three < end:
        a = unsigned(arc[e, 0]) * stride + unsigned(arc[e, 1])
        b = unsigned(arc[e + one, 0]) * stride + unsigned(arc[e + one, 1])
        c = unsigned(arc[e + two, 0]) * stride + unsigned(arc[e + two, 1])
        d = unsigned(arc[e + three, 0]) * stride + unsigned(arc[e + three, 1])
        s, t = weights[first + unsigned(arc[e, 2])], weights[first + unsigned(arc[e + one, 2])]
        u = weights[first + unsigned(arc[e + two, 2])]
        v = weights[first + unsigned(arc[e + three, 2])]
        for k in range(size):
            more = (s * held[a + k] + t * held[b + k]) + (u * held[c + k] + v * held[d + k])
            into[goal + k] += more
        e += four
    while e < end:
        a = unsigned(arc[e, 0]) * stride + unsigned(arc[e, 1])
        s = weights[first + unsigned(arc[e, 2])]
        for k in range(size):
            into[goal + k] += s * held[a + k]
        e += one


@inner
def begin_row(f, layer, p, row, size, first, total):
    """Gives a pair a row of its own, all 0 but the first number; returns where the next begins."""
    fill(f.mass, row, row + size + 4, 0.0)
    f.mass[row] = first
    f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2] = row, 0, size
    f.scale[layer, p], f.total[layer, p] = 1.0, total
    return row + size


@inner
def add_pair(into, goal, factor, f, layer, p):
    """Adds a multiple of the masses of a pair to a row."""
    row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2]
    add(into, goal + shift, factor * f.scale[layer, p], f.mass, row, size)


@inner
def flow_of(f, layer, p, other, at):
    """The sum over counts of the mass of a pair times a row of another array."""
    row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2]
    return f.scale[layer, p] * dot(f.mass, row, other, at + shift, size)


@inner
def class_sums(r, i, f, layer, sums):
    """Fills ``sums`` with rows and totals of classes before position i that are sources."""
    kind, size, width, classes = r.kind[i], padded(r.columns[i]), r.width[i], len(r.member)
    row, total, summed, before = sums[0], sums[1], r.summed, f.total[layer]
    fill(row, 0, classes * size + 4, 0.0)
    fill(total, 0, classes, 0.0)
    for m in range(r.sums[kind], r.sums[kind + 1]):
        pair, group = summed[m, 0], summed[m, 1]
        if pair >= width:
            break
        if before[pair] > 0.0:
            add_pair(row, group * size, 1.0, f, layer, pair)
            total[group] += before[pair]


@inner
def advance(r, i, weights, first, f, here, there, top, sums, nothing):
    """Fills layer ``there`` of f with the masses after position i, from those of layer ``here``.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        top: where new rows begin; where they end is returned.
        sums: room for the sums of classes.
        nothing: a mass up to which it is not moved on.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    width, wide, group, link = r.width[i], r.width[i + 1], r.group, r.link
    before, behind, scale, place = f.total[here], f.total[there], f.scale, f.place
    class_sums(r, i, f, here, sums)
    fill(behind, 0, wide, 0.0)
    for g in range(r.groups[kind], r.groups[kind + 1]):
        target, begin, end = group[g, 0], group[g, 2], group[g + 1, 2]
        if target >= wide:
            break
        if group[g, 3]:
            top = begin_row(f, there, target, top, wider, 0.0, 0.0)
        goal, moved = place[there, target, 0] + group[g, 1], 0.0
        add_arcs(f.mass, goal, size, sums[0], size, r.entry, begin, end, weights, first)
        for e in range(begin, end):
            moved += weights[first + r.entry[e, 2]] * sums[1][r.entry[e, 0]]
        behind[target] += moved
    for e in range(r.links[kind], r.links[kind + 1]):
        target, source = link[e, 0], link[e, 1]
        if source >= width:
            break
        weight, counted = weights[first + link[e, 2]], link[e, 3]
        moved = weight * before[source]
        if moved > nothing:
            behind[target] += moved
            if link[e, 4]:
                add_pair(f.mass, place[there, target, 0] + counted, weight, f, here, source)
            else:
                scale[there, target] = weight * scale[here, source]
                place[there, target, 0] = place[here, source, 0]
                place[there, target, 1] = place[here, source, 1] + counted
                place[there, target, 2] = place[here, source, 2]
    return top


@inner
def begin_layers(r, start, f):
    """Fills layer 0 of f; returns where the rows of the next layer begin."""
    top = 0
    for p in range(r.width[0]):
        top = begin_row(f, 0, p, top, padded(r.columns[0]), start[p], start[p])
    return top


@inner
def forward(r, weights, weight_at, n, start, f, sums, nothing):
    """Fills layers 0, ..., n of f. A mass up to ``nothing`` is not moved on."""
    top = begin_layers(r, start, f)
    for i in range(n):
        top = advance(r, i, weights, weight_at[i], f, i, i + 1, top, sums, nothing)


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
    begin, end = r.arc_sets[kind], r.arc_sets[kind + 1]
    fill(values, 0, (end - begin) * size, 0.0)
    for s in range(begin, end):
        goal, a, b = (s - begin) * size, r.arc_set[s], r.arc_set[s + 1]
        add_arcs(values, goal, size, beyond, wider, r.arc, a, b, weights, first)


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
    r, amounts, weights, weight_at, n, end, first, final, f, nothing, group, q, rooms, score
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
        table, row = amounts.table[i], score[i]
        back, older = older, back
        width, alive = r.width[i + 1], f.total[i + 1]
        for u in range(r.shows[kind], r.shows[kind + 1]):
            p = show[u, 0]
            if p >= width:
                break
            if alive[p] > nothing:
                flow = flow_of(f, i + 1, p, older, class_of[p] * wider)
                add_feature(amounts, table, show[u, 1], group, q, flow, row)
        set_sums(r, i, weights, weight_at[i], older, values)
        begin = r.arc_sets[kind]
        width, alive = r.width[i], f.total[i]
        for u in range(r.uses[kind], r.uses[kind + 1]):
            p = use[u, 0]
            if p >= width:
                break
            if alive[p] > nothing:
                flow = flow_of(f, i, p, values, (use[u, 1] - begin) * size)
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
def add_means(r, i, weights, first, f, here, there, mean, at, after, goal, gain):
    """Adds to ``after`` the expectations of a joint count by class after position i.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        f: the masses before, layer ``here``, and after, layer ``there``.
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
        if amount != 0.0 and f.total[here, p] > 0.0:
            for a in range(r.arc_set[r.use[u, 1]], r.arc_set[r.use[u, 1] + 1]):
                to = goal + r.arc[a, 0] * wider + r.arc[a, 1]
                add_pair(after, to, amount * weights[first + r.arc[a, 2]], f, here, p)
    for u in range(r.shows[kind], r.shows[kind + 1]):
        p, amount = r.show[u, 0], gain[r.show[u, 1]]
        if p >= r.width[i + 1]:
            break
        if amount != 0.0 and f.total[there, p] > 0.0:
            add_pair(after, goal + r.class_of[p] * wider, amount, f, there, p)


@inner
def ending(r, n, final, f, layer, chance):
    """Adds to ``chance`` P(y's counter ends at s)."""
    for p in range(r.width[n]):
        if f.total[layer, p] > 0.0:
            row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2]
            weight = final[r.state[p]] * f.scale[layer, p]
            for k in range(min(size, r.columns[n] - shift)):
                chance[shift + k] += weight * f.mass[row + k]


@inner
def means(r, h, amounts, weights, weight_at, n, start, final, labels, rooms, found):
    """Fills ``found`` (1 + counts, counter): mass and expectations of joint counts.

    Returns where the counter of z ends.
    """
    f, mean, after, sums, gain = rooms
    counts, state, ended = len(mean), 0, 0
    top = begin_layers(r, start, f)
    for q in range(counts):
        fill(mean[q], 0, len(r.member) * padded(r.columns[0]), 0.0)
    for i in range(n):
        first, here = weight_at[i], i % 2
        if not f.keeps[0]:  # rows before the last layer are not looked at again
            top = (1 - here) * (len(f.mass) // 2)
        top = advance(r, i, weights, first, f, here, 1 - here, top, sums, 0.0)
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 1.0)
        for q in range(counts):
            fill(after[q], 0, len(r.member) * padded(r.columns[i + 1]) + 4, 0.0)
            add_means(
                r, i, weights, first, f, here, 1 - here, mean[q], 0, after[q], 0, gain[q]
            )  # fmt: skip
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 0.0)
        ended += h.step[h.kind[i], state, labels[i], 2]
        state = h.step[h.kind[i], state, labels[i], 0]
        mean, after = after, mean
    size = padded(r.columns[n])
    for q in range(1 + counts):
        fill(found[q], 0, found.shape[1], 0.0)
    ending(r, n, final, f, n % 2, found[0])
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
    f, sums, back, score, group = rooms
    for s in range(len(batch.lengths)):
        n = batch.lengths[s]
        weights = batch.weights[batch.begins[s] : batch.begins[s + 1]]
        forward(r, weights, batch.weight_at, n, batch.start[s], f, sums, 0.0)
        for j in range(len(basis)):
            for i in range(n):
                fill(score[i], 0, score.shape[1], 0.0)
            if len(group) > 0:  # all joint counts are worth the same
                flows(
                    r, amounts, weights, batch.weight_at, n, basis[j], 0, batch.final[s], f, 0.0,
                    group, 0, back, score,
                )  # fmt: skip
            for c in range(scores.shape[2]):
                scores[s, j, c] = score[cells[c, 0], cells[c, 1]]
