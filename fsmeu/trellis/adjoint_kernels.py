"""The adjoint of the expectation: derivatives with respect to the weights of a model's arcs.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import AdjointBuffers, Batch, ForwardLayers, Sentence
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_inline
from fsmeu.trellis.mean_kernels import add_means, hypothesis_gains
from fsmeu.trellis.rows import RowSlice, dot_counted, fill, padded, pull
from fsmeu.trellis.sum_kernels import (
    JointTables,
    class_sums,
    class_values,
    ending,
    ending_values,
    forward,
    pair_row,
    sentence_of,
    set_sums,
    weights_at,
)
from fsmeu.trellis.y_tables import YTables


@jit_inline
def adjoint(
    tables: JointTables,
    sentence: Sentence,
    ends: Floats,
    buffers: AdjointBuffers,
    slopes: Floats,
) -> float:
    """Fills ``slopes`` with dE/d(weight of each arc), every arc a free variable; returns E.

    Forward: masses of pairs, and expectations of joint counts by class, of all layers. Backward:
    what one unit of an expectation adds (by class: g times what follows), and what one unit of mass
    adds (by pair: h, and the gains that follow). An arc's derivative is the sum, over all numbers
    that it multiplies, of the number times what the one it leads to adds.

    Args:
        tables: both tapes, and what terms add.
        sentence: the weights of the model, and the hypothesis.
        ends: h, and g of each joint count, for the hypothesis's count, as rows, (1 + counts, row).
        buffers: arrays to work in.
        slopes: (arcs,).
    """
    y_tables = tables.y
    paths = tables.z
    amounts = tables.amounts
    f = buffers.f
    n = sentence.n
    gain = buffers.gain
    mean_at = buffers.mean_at
    back = buffers.back
    older = buffers.older
    mass_back = buffers.mass_back
    mass_older = buffers.mass_older
    counts = len(back)
    forward(y_tables, sentence, f, 0.0)
    forward_means(tables, sentence, buffers)
    size = padded(y_tables.columns[n])
    value = 0.0
    fill(mass_back, 0, len(mass_back), 0.0)
    for p in range(y_tables.width[n]):
        for k in range(y_tables.columns[n]):
            mass_back[p * size + k] = sentence.final[y_tables.state[p]] * ends[0, k]
    fill(buffers.count_probability, 0, len(buffers.count_probability), 0.0)
    ending(y_tables, sentence, f, buffers.count_probability)
    for k in range(y_tables.columns[n]):
        value += ends[0, k] * buffers.count_probability[k]
    for q in range(counts):
        ending_values(y_tables, sentence, ends[1 + q], back[q])
        for c in range(y_tables.classes[n] * size):
            value += back[q, c] * buffers.mean[q, mean_at[n] + c]
    for i in range(n - 1, -1, -1):
        kind = y_tables.kind[i]
        size = padded(y_tables.columns[i])
        wider = padded(y_tables.columns[i + 1])
        step = paths.step[paths.kind[i], buffers.states[i], sentence.labels[i]]
        hypothesis_gains(paths, amounts, i, step, gain, False)
        fill(slopes, sentence.weight_at[i], sentence.weight_at[i + 1], 0.0)
        for q in range(counts):  # gains at pairs after, times what follows
            for u in range(y_tables.after_at[kind], y_tables.after_at[kind + 1]):
                p = y_tables.after.pair[u]
                if p >= y_tables.width[i + 1]:
                    break
                amount = gain[q, y_tables.after.feature[u]]
                if amount != 0.0:
                    into = RowSlice(mass_back, p * wider, wider)
                    row = RowSlice(back[q], y_tables.class_of[p] * wider, wider)
                    pull(y_tables.rows, into, row, amount, 0)
        mass_slopes(y_tables, sentence, i, buffers, mass_back, mass_older, slopes)
        for q in range(counts):
            set_sums(y_tables, sentence, i, back[q], buffers.sets)
            before = buffers.mean[q, mean_at[i] :]
            mean_slopes(y_tables, sentence, i, before, back[q], slopes)
            gain_slopes(y_tables, sentence, i, f, gain[q], back[q], slopes)
            for u in range(y_tables.before_at[kind], y_tables.before_at[kind + 1]):
                p = y_tables.before.pair[u]
                if p >= y_tables.width[i]:
                    break
                amount = gain[q, y_tables.before.feature[u]]
                if amount != 0.0:
                    at = (y_tables.before.arc_set[u] - y_tables.arc_sets_at[kind]) * size
                    into = RowSlice(mass_older, p * size, size)
                    pull(y_tables.rows, into, RowSlice(buffers.sets, at, size), amount, 0)
            class_values(y_tables, i, buffers.sets, older[q])
        hypothesis_gains(paths, amounts, i, step, gain, True)
        mass_back, mass_older = mass_older, mass_back
        back, older = older, back
    return value


@jit_helper
def forward_means(tables: JointTables, sentence: Sentence, buffers: AdjointBuffers) -> None:
    """Fills the expectations of joint counts by class of all layers, and the pairs of z."""
    paths = tables.z
    amounts = tables.amounts
    mean_at = buffers.mean_at
    gain = buffers.gain
    counts = len(buffers.back)
    state = 0
    for q in range(counts):
        fill(buffers.mean[q], 0, mean_at[sentence.n + 1] + 4, 0.0)
    for i in range(sentence.n):
        buffers.states[i] = state
        step = paths.step[paths.kind[i], state, sentence.labels[i]]
        hypothesis_gains(paths, amounts, i, step, gain, False)
        for q in range(counts):
            before = buffers.mean[q, mean_at[i] :]
            after = buffers.mean[q, mean_at[i + 1] :]
            add_means(tables.y, sentence, i, buffers.f, before, after, gain[q])
        hypothesis_gains(paths, amounts, i, step, gain, True)
        state = step[0]


@jit_helper
def mass_slopes(
    y_tables: YTables,
    sentence: Sentence,
    i: int,
    buffers: AdjointBuffers,
    mass_back: Floats,
    mass_older: Floats,
    slopes: Floats,
) -> None:
    """The share of mass: fills ``mass_older`` by pair before, and adds to the slopes of arcs."""
    f = buffers.f
    rows = y_tables.rows
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    wider = padded(y_tables.columns[i + 1])
    first = sentence.weight_at[i]
    classes = len(y_tables.member)
    class_back = buffers.class_back
    fill(mass_older, 0, y_tables.width[i] * size + 4, 0.0)
    fill(class_back, 0, classes * size, 0.0)
    class_sums(y_tables, i, f)
    class_row = f.class_row[i % 2]
    for g in range(y_tables.target_groups_at[kind], y_tables.target_groups_at[kind + 1]):
        if y_tables.target_groups.target[g] >= y_tables.width[i + 1]:
            break
        ahead = RowSlice(mass_back, y_tables.target_groups.target[g] * wider, wider)
        counted = y_tables.target_groups.counted[g]
        for e in range(y_tables.target_groups.begin[g], y_tables.target_groups.begin[g + 1]):
            at = y_tables.class_arc[e, 0] * size
            arc = first + y_tables.class_arc[e, 2]
            slopes[arc] += dot_counted(rows, RowSlice(class_row, at, size), ahead, counted)
            pull(rows, RowSlice(class_back, at, size), ahead, sentence.weights[arc], counted)
    for e in range(y_tables.pair_arcs_at[kind], y_tables.pair_arcs_at[kind + 1]):
        source = y_tables.pair_arcs.source[e]
        if source >= y_tables.width[i]:
            break
        arc = first + y_tables.pair_arcs.weight[e]
        ahead = RowSlice(mass_back, y_tables.pair_arcs.target[e] * wider, wider)
        counted = y_tables.pair_arcs.counted[e]
        if f.total[i, source] > 0.0:
            before = f.place[i, source, 1]
            row = pair_row(f, i, source)
            slopes[arc] += f.scale[i, source] * dot_counted(rows, row, ahead, before + counted)
        into = RowSlice(mass_older, source * size, size)
        pull(rows, into, ahead, sentence.weights[arc], counted)
    for p in range(y_tables.width[i]):
        into = RowSlice(mass_older, p * size, size)
        pull(rows, into, RowSlice(class_back, y_tables.class_of[p] * size, size), 1.0, 0)


@jit_helper
def mean_slopes(
    y_tables: YTables, sentence: Sentence, i: int, mean: Floats, back: Floats, slopes: Floats
) -> None:
    """Adds to the slopes of arcs the share of expectations of a joint count."""
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    wider = padded(y_tables.columns[i + 1])
    first = weights_at(sentence, i).begin
    for c in range(y_tables.classes[i]):
        row = RowSlice(mean, c * size, size)
        for e in range(y_tables.class_sets_at[kind, c], y_tables.class_sets_at[kind, c + 1]):
            held = y_tables.class_set[e]
            for a in range(y_tables.arc_set[held], y_tables.arc_set[held + 1]):
                ahead = RowSlice(back, y_tables.arc[a, 0] * wider, wider)
                counted = y_tables.arc[a, 1]
                slope = dot_counted(y_tables.rows, row, ahead, counted)
                slopes[first + y_tables.arc[a, 2]] += slope


@jit_helper
def gain_slopes(
    y_tables: YTables,
    sentence: Sentence,
    i: int,
    f: ForwardLayers,
    gain: Floats,
    back: Floats,
    slopes: Floats,
) -> None:
    """Adds to the slopes of arcs the share of what is gained at pairs before."""
    kind = y_tables.kind[i]
    wider = padded(y_tables.columns[i + 1])
    first = weights_at(sentence, i).begin
    for u in range(y_tables.before_at[kind], y_tables.before_at[kind + 1]):
        p = y_tables.before.pair[u]
        if p >= y_tables.width[i]:
            break
        amount = gain[y_tables.before.feature[u]]
        if amount != 0.0 and f.total[i, p] > 0.0:
            row = pair_row(f, i, p)
            before = f.place[i, p, 1]
            held = y_tables.before.arc_set[u]
            for a in range(y_tables.arc_set[held], y_tables.arc_set[held + 1]):
                ahead = RowSlice(back, y_tables.arc[a, 0] * wider, wider)
                counted = before + y_tables.arc[a, 1]
                flow = f.scale[i, p] * dot_counted(y_tables.rows, row, ahead, counted)
                slopes[first + y_tables.arc[a, 2]] += amount * flow


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
