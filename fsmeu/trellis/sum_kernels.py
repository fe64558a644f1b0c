"""Sums over the tables of a structure: one call for all positions of all sentences of a batch.

    forward     masses of pairs by the value of y's counter (real semiring)
    means       mass, and beside it expectations of joint counts (expectation semiring, Eisner 2002)
    flows       backward values, and what flows through every feature of y

Kernels are plain Python, and run as such or compiled by numba (``compiled.py``): the same
operations in the same order, so the same bits. Loops are written out, because array expressions
and assigned slices take numba seconds to compile.

What a row is, another module says: numbers by the value of y's counter (``count_kernels.py``), or,
for flows, moments of it (``jet_kernels.py``).

The mass of pair p of layer i by count is ``f.scale[i, p]`` times a row of ``f.mass``, which begins
at ``f.place[i, p, 0]``, has the length ``f.place[i, p, 2]`` and counts from ``f.place[i, p, 1]`` on
(``batches.ForwardLayers``). It is looked at only where ``f.total[i, p]``, its sum, is above 0.
"""

# Arguments are arrays and tuples of arrays, whose types numba reads: r is References, h Hypotheses,
# f ForwardLayers, amounts Amounts, values Values, batch Batch (``structure.py``, ``tapes.py``,
# ``batches.py``).
# ruff: noqa: D417

from __future__ import annotations

from fsmeu.trellis.compiled import entry, inner, part, ring, within

_rows = part(ring())
add, add_arcs, add_flow = _rows.add, _rows.add_arcs, _rows.add_flow
fill, padded, fill_shifted_copies, usable = (
    _rows.fill,
    _rows.padded,
    _rows.fill_shifted_copies,
    _rows.usable,
)


@inner
def begin_row(f, layer, p, row, size, first, total):
    """Gives a pair a row of its own, all 0 but the first number; returns where the next begins."""
    fill(f.mass, row, row + size + 4, 0.0)
    f.mass[row] = first
    f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2] = row, 0, size
    f.scale[layer, p], f.total[layer, p] = 1.0, total
    return row + size


@inner
def add_pair(into, goal, counted, factor, f, layer, p):
    """Adds a multiple of the masses of a pair to a row, so much being counted after it."""
    row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1] + counted, f.place[layer, p, 2]
    add(into, goal, shift, factor * f.scale[layer, p], f.mass, row, size)


@inner
def class_sums(r, i, f, layer, sums):
    """Fills ``sums`` with rows and totals of classes before position i, from those of pairs."""
    size, classes, copies, before = padded(r.columns[i]), len(r.member), r.copies[0], f.total[layer]
    row, total = sums
    fill(row, 0, classes * size + 4, 0.0)
    fill(total, 0, classes, 0.0)
    for p in range(r.width[i]):
        if before[p] > 0.0:
            add_pair(row, r.class_of[p] * size, 0, 1.0, f, layer, p)
            total[r.class_of[p]] += before[p]
    if copies > 1:
        fill_shifted_copies(row, classes, size, copies)
        for c in range(classes, classes * copies):
            total[c] = total[c - classes]


@inner
def advance(r, i, weights, first, f, here, there, top, sums, negligible):
    """Fills layer ``there`` of f with the masses after position i, from those of layer ``here``.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        top: where new rows begin; where they end is returned.
        sums: buffers for the sums of classes.
        negligible: a mass up to which it is not moved on.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    width, wide, group, link = r.width[i], r.width[i + 1], r.group, r.link
    before, behind, scale, place = f.total[here], f.total[there], f.scale, f.place
    if len(r.entry) > 0:
        class_sums(r, i, f, here, sums)
    fill(behind, 0, wide, 0.0)
    for g in range(r.groups[kind], r.groups[kind + 1]):
        target, begin, end = group[g, 0], group[g, 2], group[g + 1, 2]
        if target >= wide:
            break
        if group[g, 3]:
            top = begin_row(f, there, target, top, wider, 0.0, 0.0)
        goal, moved = place[there, target, 0], 0.0
        add_arcs(
            f.mass, goal, group[g, 1], size, sums[0], size, r.entry, begin, end, weights, first
        )
        for e in range(begin, end):
            moved += weights[first + r.entry[e, 2]] * sums[1][r.entry[e, 0]]
        behind[target] += moved
    for e in range(r.links[kind], r.links[kind + 1]):
        target, source = link[e, 0], link[e, 1]
        if source >= width:
            break
        weight, counted = weights[first + link[e, 2]], link[e, 3]
        moved = weight * before[source]
        if moved > negligible:
            behind[target] += moved
            if link[e, 4]:
                add_pair(f.mass, place[there, target, 0], counted, weight, f, here, source)
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
def forward(r, weights, weight_at, n, start, f, sums, negligible):
    """Fills layers 0, ..., n of f. A mass up to ``negligible`` is not moved on."""
    top = begin_layers(r, start, f)
    for i in range(n):
        top = advance(r, i, weights, weight_at[i], f, i, i + 1, top, sums, negligible)


@inner
def set_sums(r, i, weights, first, beyond, values):
    """Fills ``values`` with the rows of all arc sets of position i, from those of classes after."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    begin, end = r.arc_sets[kind], r.arc_sets[kind + 1]
    fill(values, 0, (end - begin) * size, 0.0)
    for s in range(begin, end):
        goal, a, b = (s - begin) * size, r.arc_set[s], r.arc_set[s + 1]
        add_arcs(values, goal, 0, size, beyond, wider, r.arc, a, b, weights, first)


@inner
def class_values(r, i, values, back):
    """Fills ``back`` with the backward values of classes before position i, from arc sets'."""
    kind, size = r.kind[i], padded(r.columns[i])
    fill(back, 0, len(r.member) * size, 0.0)
    for c in range(r.classes[i]):
        for e in range(r.class_sets[kind, c], r.class_sets[kind, c + 1]):
            add(back, c * size, 0, 1.0, values, (r.class_set[e] - r.arc_sets[kind]) * size, size)
    if r.copies[0] > 1:
        fill_shifted_copies(back, len(r.member), size, r.copies[0])


@inner
def ending_values(r, n, end, final, back):
    """Fills ``back`` with the backward values of classes in the last layer, ``end`` by count."""
    size = padded(r.columns[n])
    fill(back, 0, len(back), 0.0)
    for c in range(r.classes[n]):
        weight = final[r.state[r.member[c]]]
        for k in range(r.columns[n]):
            back[c * size + k] = weight * end[k]
    if r.copies[0] > 1:
        fill_shifted_copies(back, len(r.member), size, r.copies[0])


@inner
def flows(r, amounts, weights, weight_at, n, end, final, f, negligible, group, q, buffers, score):
    """Adds to ``score`` (n, score rows + 1) the scores of steps of z by the row that they show.

    A score is E[amount that the step adds to joint counts, times f(y's counter at its end)]; the
    numbers f are ``end``. Joint counts are those of group q.
    """
    back, older, values = buffers
    at_target, at_source = r.target_feature, r.source_feature
    classes, copies = len(r.member), r.copies[0]
    ending_values(r, n, end, final, back)
    for i in range(n - 1, -1, -1):
        kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
        table, row = amounts.table[i], score[i]
        back, older = older, back
        width, alive = r.width[i + 1], f.total[i + 1]
        for u in range(r.target_features[kind], r.target_features[kind + 1]):
            p = at_target[u, 0]
            if p >= width:
                break
            if alive[p] > negligible:
                at = r.class_of[p] * wider
                add_flow(
                    amounts, table, at_target[u, 1], group, q, f, i + 1, p, older, at,
                    classes * wider, copies, row,
                )  # fmt: skip
        set_sums(r, i, weights, weight_at[i], older, values)
        begin, sets = r.arc_sets[kind], r.arc_sets[kind + 1] - r.arc_sets[kind]
        if copies > 1:
            fill_shifted_copies(values, sets, size, copies)
        width, alive = r.width[i], f.total[i]
        for u in range(r.source_features[kind], r.source_features[kind + 1]):
            p = at_source[u, 0]
            if p >= width:
                break
            if alive[p] > negligible:
                at = (at_source[u, 1] - begin) * size
                add_flow(
                    amounts, table, at_source[u, 2], group, q, f, i, p, values, at,
                    sets * size, copies, row,
                )  # fmt: skip
        class_values(r, i, values, back)


@inner
def hypothesis_gains(h, amounts, i, state, label, gain, sign):
    """Adds ``sign`` times what a step of z adds beside each feature of y, (counts, features)."""
    kind, table = h.kind[i], amounts.table[i]
    after, colour = h.step[kind, state, label, 0], h.step[kind, state, label, 1]
    for t in range(h.source_rows.shape[1]):
        for row in (h.source_rows[colour, t], h.target_rows[kind, after, t]):
            q = amounts.joint[row]
            if q >= 0:
                for e in range(amounts.row_begins[table, row], amounts.row_begins[table, row + 1]):
                    if sign == 0.0:
                        gain[q, amounts.feature[e]] = 0.0
                    else:
                        gain[q, amounts.feature[e]] += amounts.row_amount[e]


@inner
def add_means(r, i, weights, first, f, here, there, mean, after, gain):
    """Adds to ``after`` the expectations of a joint count by class after position i.

    Args:
        weights: weights of arcs, those of the position from ``first`` on.
        f: the masses before, layer ``here``, and after, layer ``there``.
        mean: expectations by class before, as rows one after the other; so are those after.
        gain: what the joint count gains beside each feature of y.
    """
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for c in range(r.classes[i]):
        for e in range(r.class_sets[kind, c], r.class_sets[kind, c + 1]):
            for a in range(r.arc_set[r.class_set[e]], r.arc_set[r.class_set[e] + 1]):
                to, weight = r.arc[a, 0] * wider, weights[first + r.arc[a, 2]]
                add(after, to, r.arc[a, 1], weight, mean, c * size, size)
    for u in range(r.source_features[kind], r.source_features[kind + 1]):
        p, s, amount = r.source_feature[u, 0], r.source_feature[u, 1], gain[r.source_feature[u, 2]]
        if p >= r.width[i]:
            break
        if amount != 0.0 and f.total[here, p] > 0.0:
            for a in range(r.arc_set[s], r.arc_set[s + 1]):
                to, weight = r.arc[a, 0] * wider, amount * weights[first + r.arc[a, 2]]
                add_pair(after, to, r.arc[a, 1], weight, f, here, p)
    for u in range(r.target_features[kind], r.target_features[kind + 1]):
        p, amount = r.target_feature[u, 0], gain[r.target_feature[u, 1]]
        if p >= r.width[i + 1]:
            break
        if amount != 0.0 and f.total[there, p] > 0.0:
            add_pair(after, r.class_of[p] * wider, 0, amount, f, there, p)


@inner
def ending(r, n, final, f, layer, chance):
    """Adds to ``chance`` P(y's counter ends at s)."""
    for p in range(r.width[n]):
        if f.total[layer, p] > 0.0:
            row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2]
            weight = final[r.state[p]] * f.scale[layer, p]
            add(chance, 0, shift, weight, f.mass, row, min(size, usable(r.columns[n], shift)))


@within
def means(r, h, amounts, weights, weight_at, n, start, final, labels, buffers, totals):
    """Fills ``totals`` (1 + counts, counter): mass and expectations of joint counts.

    Returns where the counter of z ends.
    """
    f, mean, after, sums, gain = buffers
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
            add_means(r, i, weights, first, f, here, 1 - here, mean[q], after[q], gain[q])
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 0.0)
        ended += h.step[h.kind[i], state, labels[i], 2]
        state = h.step[h.kind[i], state, labels[i], 0]
        mean, after = after, mean
    size = padded(r.columns[n])
    for q in range(1 + counts):
        fill(totals[q], 0, totals.shape[1], 0.0)
    ending(r, n, final, f, n % 2, totals[0])
    for c in range(r.classes[n]):
        for q in range(counts):
            for k in range(r.columns[n]):
                totals[1 + q, k] += final[r.state[r.member[c]]] * mean[q, c * size + k]
    return ended


@entry
def mean_batch(r, h, amounts, batch, buffers, totals, ended):
    """Fills ``totals`` (batch, 1 + counts, counter) and ``ended`` (batch,), see ``means``."""
    for s in range(len(batch.weights)):
        ended[s] = means(
            r, h, amounts, batch.weights[s], batch.weight_at, batch.n, batch.start[s],
            batch.final[s], batch.labels[s], buffers, totals[s],
        )  # fmt: skip


@entry
def score_batch(r, amounts, ends, batch, cells, least, buffers, scores, kept, chances):
    """Fills ``scores`` (batch, cells, lanes): flows for a function of y's counter.

    And ``kept`` (batch, cells), whether some lane exceeds ``least``, (lanes,), and ``chances``
    (batch, row), where the counter ends.

    Args:
        ends: the function for each joint count, (batch, joint counts, row).
        cells: position and score row of each score that is kept.
    """
    f, sums, back, score, group = buffers
    lanes, n = scores.shape[2], batch.n
    for s in range(len(batch.weights)):
        weights = batch.weights[s]
        forward(r, weights, batch.weight_at, n, batch.start[s], f, sums, 0.0)
        ending(r, n, batch.final[s], f, n, chances[s])
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        for q in range(len(group)):
            flows(
                r, amounts, weights, batch.weight_at, n, ends[s, q], batch.final[s], f, 0.0, group,
                q, back, score,
            )  # fmt: skip
        for c in range(len(cells)):
            for j in range(lanes):
                number = score[cells[c, 0], cells[c, 1] * lanes + j]
                scores[s, c, j], kept[s, c] = number, kept[s, c] or abs(number) > least[j]
