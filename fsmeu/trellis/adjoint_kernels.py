"""The adjoint of the expectation: derivatives with respect to the weights of a model's arcs.

Forward: masses of pairs, and expectations of joint counts by class, of all layers. Backward, by
layer: what one unit of an expectation adds to the value (by class: g times what follows), and what
one unit of mass adds (by pair: h, and the gains that follow). With every arc a free variable,

    dE / d(weight of an arc) = sum over all numbers that it multiplies of
                               the number times what the one it leads to adds.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import AdjointBuffers, Batch, MeanStep, Sentence
from fsmeu.trellis.kernels import jit_entry, jit_helper
from fsmeu.trellis.mean_kernels import add_means, hypothesis_gains
from fsmeu.trellis.rows import RowSlice, add, dot_counted, fill, moved, padded
from fsmeu.trellis.sum_kernels import (
    JointTables,
    class_sums,
    class_values,
    ending,
    ending_values,
    forward,
    pair_row,
    position_at,
    sentence_of,
    set_sums,
    weights_at,
)
from fsmeu.trellis.y_tables import YTables


@jit_helper
def adjoint(
    tables: JointTables, sentence: Sentence, ends: Floats, buffers: AdjointBuffers, slopes: Floats
) -> float:
    """Fills ``slopes`` with dE/d(weight of each arc), every arc a free variable; returns E.

    Args:
        tables: both tapes, and what terms add.
        sentence: the weights of the model, and the hypothesis.
        ends: h, and g of each joint count, for the hypothesis's count, as rows, (1 + counts, row).
        buffers: arrays to work in.
        slopes: (arcs,).
    """
    y = tables.y
    paths = tables.z
    gain = buffers.gain
    forward(y, sentence, buffers.f, 0.0)
    forward_means(tables, sentence, buffers)
    value = ending_adjoints(y, sentence, ends, buffers)
    for i in range(sentence.n - 1, -1, -1):
        step = paths.step[paths.kind[i], buffers.states[i], sentence.labels[i]]
        hypothesis_gains(paths, tables.amounts, i, step, gain, False)
        fill(slopes, sentence.weight_at[i], sentence.weight_at[i + 1], 0.0)
        for q in range(len(gain)):
            gains_after(y, i, q, buffers)
        mass_slopes(y, sentence, i, buffers, slopes)
        for q in range(len(gain)):
            set_sums(y, sentence, i, buffers.back[(i + 1) % 2, q], buffers.sets)
            mean_slopes(y, sentence, i, q, buffers, slopes)
            gain_slopes(y, sentence, i, q, buffers, slopes)
            class_values(y, i, buffers.sets, buffers.back[i % 2, q])
        hypothesis_gains(paths, tables.amounts, i, step, gain, True)
    return value


@jit_helper
def forward_means(tables: JointTables, sentence: Sentence, buffers: AdjointBuffers) -> None:
    """Fills the expectations of joint counts by class of all layers, and the pairs of z."""
    paths = tables.z
    mean_at = buffers.mean_at
    gain = buffers.gain
    state = 0
    for q in range(len(gain)):
        fill(buffers.mean[q], 0, mean_at[sentence.n + 1] + 4, 0.0)
    for i in range(sentence.n):
        buffers.states[i] = state
        step = paths.step[paths.kind[i], state, sentence.labels[i]]
        hypothesis_gains(paths, tables.amounts, i, step, gain, False)
        for q in range(len(gain)):
            mean = buffers.mean[q]
            own = MeanStep(mean[mean_at[i] :], mean[mean_at[i + 1] :], gain[q])
            add_means(tables.y, sentence, i, buffers.f, own)
        hypothesis_gains(paths, tables.amounts, i, step, gain, True)
        state = step[0]


@jit_helper
def ending_adjoints(y: YTables, sentence: Sentence, ends: Floats, buffers: AdjointBuffers) -> float:
    """Fills what a unit of mass, and of an expectation, adds in the last layer; returns E."""
    n = sentence.n
    size = padded(y.columns[n])
    masses = buffers.count_probability
    mass_back = buffers.mass_back[n % 2]
    value = 0.0
    fill(mass_back, 0, len(mass_back), 0.0)
    for p in range(y.width[n]):
        for k in range(y.columns[n]):
            mass_back[p * size + k] = sentence.final[y.state[p]] * ends[0, k]
    fill(masses, 0, len(masses), 0.0)
    ending(y, sentence, buffers.f, masses)
    for k in range(y.columns[n]):
        value += ends[0, k] * masses[k]
    for q in range(len(buffers.gain)):
        back = buffers.back[n % 2, q]
        ending_values(y, sentence, ends[1 + q], back)
        for c in range(y.classes[n] * size):
            value += back[c] * buffers.mean[q, buffers.mean_at[n] + c]
    return value


@jit_helper
def gains_after(y: YTables, i: int, q: int, buffers: AdjointBuffers) -> None:
    """Adds what a unit of mass gains of a joint count at pairs after position i."""
    kind = y.kind[i]
    wider = padded(y.columns[i + 1])
    for u in range(y.after_at[kind], y.after_at[kind + 1]):
        p = y.after.pair[u]
        if p >= y.width[i + 1]:
            break
        amount = buffers.gain[q, y.after.feature[u]]
        if amount != 0.0:
            into = RowSlice(buffers.mass_back[(i + 1) % 2], p * wider, wider)
            row = RowSlice(buffers.back[(i + 1) % 2, q], y.class_of[p] * wider, wider)
            add(y.rows, into, row, amount, 0)


@jit_helper
def mass_slopes(
    y: YTables, sentence: Sentence, i: int, buffers: AdjointBuffers, slopes: Floats
) -> None:
    """The share of mass: fills what a unit adds before position i, and adds to slopes of arcs."""
    f = buffers.f
    at = position_at(y, sentence, i)
    first = sentence.weight_at[i]
    ahead = buffers.mass_back[(i + 1) % 2]
    mass_back = buffers.mass_back[i % 2]
    class_back = buffers.class_back
    fill(mass_back, 0, y.width[i] * at.size + 4, 0.0)
    fill(class_back, 0, len(y.member) * at.size, 0.0)
    class_sums(y, i, f)
    for g in range(y.target_groups_at[at.kind], y.target_groups_at[at.kind + 1]):
        if y.target_groups.target[g] >= y.width[i + 1]:
            break
        after = RowSlice(ahead, y.target_groups.target[g] * at.wider, at.wider)
        counted = y.target_groups.counted[g]
        for e in range(y.target_groups.begin[g], y.target_groups.begin[g + 1]):
            arc = first + y.class_arc[e, 2]
            row = RowSlice(f.class_row[i % 2], y.class_arc[e, 0] * at.size, at.size)
            slopes[arc] += dot_counted(y.rows, row, after, counted)
            into = RowSlice(class_back, row.begin, at.size)
            weight = sentence.weights[arc]
            add(y.rows, into, moved(y.rows, after, counted, at.size), weight, counted)
    for e in range(y.pair_arcs_at[at.kind], y.pair_arcs_at[at.kind + 1]):
        p = y.pair_arcs.source[e]
        if p >= y.width[i]:
            break
        arc = first + y.pair_arcs.weight[e]
        after = RowSlice(ahead, y.pair_arcs.target[e] * at.wider, at.wider)
        counted = y.pair_arcs.counted[e]
        if f.total[i, p] > 0.0:
            flow = dot_counted(y.rows, pair_row(f, i, p), after, f.place[i, p, 1] + counted)
            slopes[arc] += f.scale[i, p] * flow
        into = RowSlice(mass_back, p * at.size, at.size)
        add(y.rows, into, moved(y.rows, after, counted, at.size), sentence.weights[arc], counted)
    for p in range(y.width[i]):
        row = RowSlice(class_back, y.class_of[p] * at.size, at.size)
        add(y.rows, RowSlice(mass_back, p * at.size, at.size), row, 1.0, 0)


@jit_helper
def mean_slopes(
    y: YTables, sentence: Sentence, i: int, q: int, buffers: AdjointBuffers, slopes: Floats
) -> None:
    """Adds to the slopes of arcs the share of expectations of a joint count."""
    at = position_at(y, sentence, i)
    first = weights_at(sentence, i).begin
    for c in range(y.classes[i]):
        row = RowSlice(buffers.mean[q], buffers.mean_at[i] + c * at.size, at.size)
        for e in range(y.class_sets_at[at.kind, c], y.class_sets_at[at.kind, c + 1]):
            held = y.class_set[e]
            for a in range(y.arc_set[held], y.arc_set[held + 1]):
                after = RowSlice(buffers.back[(i + 1) % 2, q], y.arc[a, 0] * at.wider, at.wider)
                slopes[first + y.arc[a, 2]] += dot_counted(y.rows, row, after, y.arc[a, 1])


@jit_helper
def gain_slopes(
    y: YTables, sentence: Sentence, i: int, q: int, buffers: AdjointBuffers, slopes: Floats
) -> None:
    """Adds to slopes of arcs, and to what a unit of mass adds, what is gained at pairs before."""
    f = buffers.f
    at = position_at(y, sentence, i)
    first = weights_at(sentence, i).begin
    for u in range(y.before_at[at.kind], y.before_at[at.kind + 1]):
        p = y.before.pair[u]
        if p >= y.width[i]:
            break
        amount = buffers.gain[q, y.before.feature[u]]
        if amount == 0.0:
            continue
        held = y.before.arc_set[u]
        row = RowSlice(buffers.sets, (held - y.arc_sets_at[at.kind]) * at.size, at.size)
        add(y.rows, RowSlice(buffers.mass_back[i % 2], p * at.size, at.size), row, amount, 0)
        if f.total[i, p] > 0.0:
            for a in range(y.arc_set[held], y.arc_set[held + 1]):
                after = RowSlice(buffers.back[(i + 1) % 2, q], y.arc[a, 0] * at.wider, at.wider)
                counted = f.place[i, p, 1] + y.arc[a, 1]
                flow = f.scale[i, p] * dot_counted(y.rows, pair_row(f, i, p), after, counted)
                slopes[first + y.arc[a, 2]] += amount * flow


@jit_entry
def adjoint_batch(
    tables: JointTables,
    batch: Batch,
    ends: Floats,
    buffers: AdjointBuffers,
    slopes: Floats,
    expected: Floats,
) -> None:
    """Fills ``expected`` (batch,) and ``slopes`` (as the weights of the batch), see ``adjoint``."""
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        expected[s] = adjoint(tables, sentence, ends[s], buffers, slopes[s])
