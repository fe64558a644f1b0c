"""The adjoint of the expectation: derivatives with respect to the weights of a model's arcs.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.trellis.compiled import entry, inner, part, within

_rows, _sums = part("count_kernels"), part("sum_kernels")
add, dot, fill, flow_of, padded = _rows.add, _rows.dot, _rows.fill, _rows.flow_of, _rows.padded
add_means, forward, hypothesis_gains = _sums.add_means, _sums.forward, _sums.hypothesis_gains
class_sums, class_values, set_sums = _sums.class_sums, _sums.class_values, _sums.set_sums
ending, ending_values = _sums.ending, _sums.ending_values


@within
def adjoint(r, h, amounts, values, weights, weight_at, n, start, final, labels, buffers, slopes):
    """Fills ``slopes`` with dE/d(weight of each arc), every arc a free variable; returns E.

    Forward: masses of pairs, and expectations of joint counts by class, of all layers. Backward:
    what one unit of an expectation adds (by class: g times what follows), and what one unit of mass
    adds (by pair: h, and the gains that follow). An arc's derivative is the sum, over all numbers
    that it multiplies, of the number times what the one it leads to adds.
    """
    f, sums, mean, mean_at, back, older, sets = buffers[0]
    mass_back, mass_older, class_back, gain, states, chance = buffers[1]
    counts, state, ended = len(back), 0, 0
    forward(r, weights, weight_at, n, start, f, sums, 0.0)
    for q in range(counts):
        fill(mean[q], 0, mean_at[n + 1] + 4, 0.0)
    for i in range(n):
        states[i] = state
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 1.0)
        for q in range(counts):
            add_means(
                r, i, weights, weight_at[i], f, i, i + 1, mean[q, mean_at[i] :],
                mean[q, mean_at[i + 1] :], gain[q],
            )  # fmt: skip
        hypothesis_gains(h, amounts, i, state, labels[i], gain, 0.0)
        ended += h.step[h.kind[i], state, labels[i], 2]
        state = h.step[h.kind[i], state, labels[i], 0]
    size, at, value = padded(r.columns[n]), ended * r.columns[n], 0.0
    fill(mass_back, 0, len(mass_back), 0.0)
    for p in range(r.width[n]):
        for k in range(r.columns[n]):
            mass_back[p * size + k] = final[r.state[p]] * values.offset[at + k]
    fill(chance, 0, len(chance), 0.0)
    ending(r, n, final, f, n, chance)
    for k in range(r.columns[n]):
        value += values.offset[at + k] * chance[k]
    for q in range(counts):
        ending_values(r, n, values.slope[q, at:], final, back[q])
        for c in range(r.classes[n] * size):
            value += back[q, c] * mean[q, mean_at[n] + c]
    for i in range(n - 1, -1, -1):
        first, kind = weight_at[i], r.kind[i]
        size, wider = padded(r.columns[i]), padded(r.columns[i + 1])
        hypothesis_gains(h, amounts, i, states[i], labels[i], gain, 1.0)
        fill(slopes, first, weight_at[i + 1], 0.0)
        for q in range(counts):  # gains at pairs after, times what follows
            for u in range(r.target_features[kind], r.target_features[kind + 1]):
                p, amount = r.target_feature[u, 0], gain[q, r.target_feature[u, 1]]
                if p >= r.width[i + 1]:
                    break
                if amount != 0.0:
                    add(mass_back, p * wider, 0, amount, back[q], r.class_of[p] * wider, wider)
        entry_slopes(r, i, weights, first, f, sums, mass_back, mass_older, class_back, slopes)
        for q in range(counts):
            set_sums(r, i, weights, first, back[q], sets)
            before = mean[q, mean_at[i] :]
            mean_slopes(r, i, before, f, weights, first, back[q], gain[q], slopes)
            for u in range(r.source_features[kind], r.source_features[kind + 1]):
                p, amount = r.source_feature[u, 0], gain[q, r.source_feature[u, 2]]
                if p >= r.width[i]:
                    break
                if amount != 0.0:
                    at = (r.source_feature[u, 1] - r.arc_sets[kind]) * size
                    add(mass_older, p * size, 0, amount, sets, at, size)
            class_values(r, i, sets, older[q])
        hypothesis_gains(h, amounts, i, states[i], labels[i], gain, 0.0)
        mass_back, mass_older = mass_older, mass_back
        back, older = older, back
    return value


@inner
def entry_slopes(r, i, weights, first, f, sums, mass_back, mass_older, class_back, slopes):
    """The share of mass: fills ``mass_older`` by pair before, and adds to the slopes of arcs."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    fill(mass_older, 0, r.width[i] * size + 4, 0.0)
    fill(class_back, 0, len(r.member) * size, 0.0)
    class_sums(r, i, f, i, sums)
    for g in range(r.groups[kind], r.groups[kind + 1]):
        ahead = r.group[g, 0] * wider + r.group[g, 1]
        if r.group[g, 0] >= r.width[i + 1]:
            break
        for e in range(r.group[g, 2], r.group[g + 1, 2]):
            group, arc = r.entry[e, 0] * size, first + r.entry[e, 2]
            slopes[arc] += dot(sums[0], group, mass_back, ahead, size)
            add(class_back, group, 0, weights[arc], mass_back, ahead, size)
    for e in range(r.links[kind], r.links[kind + 1]):
        source, arc = r.link[e, 1], first + r.link[e, 2]
        if source >= r.width[i]:
            break
        ahead = r.link[e, 0] * wider + r.link[e, 3]
        if f.total[i, source] > 0.0:
            slopes[arc] += flow_of(f, i, source, mass_back, ahead)
        add(mass_older, source * size, 0, weights[arc], mass_back, ahead, size)
    for p in range(r.width[i]):
        add(mass_older, p * size, 0, 1.0, class_back, r.class_of[p] * size, size)


@inner
def mean_slopes(r, i, mean, f, weights, first, back, gain, slopes):
    """The share of expectations of a joint count, and of what is gained at pairs before."""
    kind, size, wider = r.kind[i], padded(r.columns[i]), padded(r.columns[i + 1])
    for c in range(r.classes[i]):
        for e in range(r.class_sets[kind, c], r.class_sets[kind, c + 1]):
            for a in range(r.arc_set[r.class_set[e]], r.arc_set[r.class_set[e] + 1]):
                to = r.arc[a, 0] * wider + r.arc[a, 1]
                slopes[first + r.arc[a, 2]] += dot(mean, c * size, back, to, size)
    for u in range(r.source_features[kind], r.source_features[kind + 1]):
        p, s, amount = r.source_feature[u, 0], r.source_feature[u, 1], gain[r.source_feature[u, 2]]
        if p >= r.width[i]:
            break
        if amount != 0.0 and f.total[i, p] > 0.0:
            for a in range(r.arc_set[s], r.arc_set[s + 1]):
                to = r.arc[a, 0] * wider + r.arc[a, 1]
                slopes[first + r.arc[a, 2]] += amount * flow_of(f, i, p, back, to)


@entry
def adjoint_batch(r, h, amounts, values, batch, buffers, slopes, expected):
    """Fills ``expected`` (batch,) and ``slopes`` (as the weights of the batch), see ``adjoint``."""
    for s in range(len(batch.weights)):
        expected[s] = adjoint(
            r, h, amounts, values, batch.weights[s], batch.weight_at, batch.n, batch.start[s],
            batch.final[s], batch.labels[s], buffers, slopes[s],
        )  # fmt: skip
