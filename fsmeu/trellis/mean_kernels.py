"""Expectations of joint counts for one hypothesis: a forward sweep over the tape of y.

With mean(c) = E[T; class c], a row, and gain(v) = what the step of z adds beside feature v of y,

    mean(c after)  = sum of weight t^counted mean(c before) over the arcs of classes
                   + sum of gain(v) times the mass of the steps to c that show v

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import (
    Batch,
    ForwardLayers,
    FoundMeans,
    MeanBuffers,
    MeanStep,
    Sentence,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_inline
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import ArcGroup, RowSlice, add_group, add_moved, fill, padded
from fsmeu.trellis.sum_kernels import (
    JointTables,
    advance,
    begin_layers,
    ending,
    layer_at,
    pair_row,
    position_at,
    sentence_of,
)
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables


@jit_helper
def hypothesis_gains(
    paths: Paths, amounts: Amounts, i: int, step: Ints, gain: Floats, clears: bool
) -> None:
    """Adds what a step of z adds beside each feature of y, (counts, features); or clears it.

    ``step`` has the pair after, the set of score rows, and what is counted.
    """
    table = amounts.table[i]
    for t in range(paths.shown.shape[1]):
        row = paths.shown[step[1], t]
        q = amounts.joint[row]
        if q >= 0:
            for e in range(amounts.row_begins[table, row], amounts.row_begins[table, row + 1]):
                if clears:
                    gain[q, amounts.feature[e]] = 0.0
                else:
                    gain[q, amounts.feature[e]] += amounts.row_amount[e]


@jit_helper
def add_means(y: YTables, sentence: Sentence, i: int, f: ForwardLayers, step: MeanStep) -> None:
    """Adds to ``step.after`` the expectations of a joint count by class after position i.

    They are the expectations before it, moved along arcs, and what the step gains.

    Args:
        y: the tape of y with the model.
        sentence: the weights of the model.
        i: the position.
        f: the masses before it and after it.
        step: expectations before and after, and gains.
    """
    at = position_at(y, sentence, i)
    for g in range(y.target_groups_at[at.kind], y.target_groups_at[at.kind + 1]):
        target = y.target_groups.target[g]
        if target >= y.width[i + 1]:
            break
        begin = y.target_groups.begin[g]
        end = y.target_groups.begin[g + 1]
        group = ArcGroup(y.class_arc, y.target_groups.counted[g], begin, end)
        into = RowSlice(step.after, y.class_of[target] * at.wider, at.wider)
        add_group(y.rows, f.part, into, RowSlice(step.before, 0, at.size), group, at.weights)
    for e in range(y.class_steps_at[at.kind], y.class_steps_at[at.kind + 1]):
        into = RowSlice(step.after, y.class_steps.target[e] * at.wider, at.wider)
        row = RowSlice(step.before, y.class_steps.source[e] * at.size, at.size)
        weight = at.weights.values[at.weights.begin + y.class_steps.weight[e]]
        add_moved(y.rows, into, row, weight, y.class_steps.counted[e])
    for u in range(y.before_at[at.kind], y.before_at[at.kind + 1]):
        p = y.before.pair[u]
        if p >= y.width[i]:
            break
        layer = layer_at(f, i)
        amount = step.gain[y.before.feature[u]]
        if amount != 0.0 and f.total[layer, p] > 0.0:
            held = y.before.arc_set[u]
            row = pair_row(f, layer, p)
            for a in range(y.arc_set[held], y.arc_set[held + 1]):
                weight = at.weights.values[at.weights.begin + y.arc[a, 2]]
                into = RowSlice(step.after, y.arc[a, 0] * at.wider, at.wider)
                counted = f.place[layer, p, 1] + y.arc[a, 1]
                add_moved(y.rows, into, row, amount * f.scale[layer, p] * weight, counted)
    for u in range(y.after_at[at.kind], y.after_at[at.kind + 1]):
        p = y.after.pair[u]
        if p >= y.width[i + 1]:
            break
        layer = layer_at(f, i + 1)
        amount = step.gain[y.after.feature[u]]
        if amount != 0.0 and f.total[layer, p] > 0.0:
            into = RowSlice(step.after, y.class_of[p] * at.wider, at.wider)
            counted = f.place[layer, p, 1]
            add_moved(y.rows, into, pair_row(f, layer, p), amount * f.scale[layer, p], counted)


@jit_inline
def means(tables: JointTables, sentence: Sentence, buffers: MeanBuffers, totals: Floats) -> int:
    """Fills ``totals`` (1 + counts, row): mass and expectations of joint counts.

    Returns where the counter of z ends.
    """
    y = tables.y
    n = sentence.n
    f = buffers.f
    gain = buffers.gain
    counts = len(gain)
    state = 0
    ended = 0
    begin_layers(y, sentence, f)
    for q in range(counts):
        fill(buffers.mean[0, q], 0, len(y.member) * padded(y.columns[0]), 0.0)
    for i in range(n):
        step = tables.z.step[tables.z.kind[i], state, sentence.labels[i]]
        advance(y, sentence, i, f, 0.0)
        hypothesis_gains(tables.z, tables.amounts, i, step, gain, False)
        for q in range(counts):
            after = buffers.mean[(i + 1) % 2, q]
            fill(after, 0, len(y.member) * padded(y.columns[i + 1]) + 4, 0.0)
            add_means(y, sentence, i, f, MeanStep(buffers.mean[i % 2, q], after, gain[q]))
        hypothesis_gains(tables.z, tables.amounts, i, step, gain, True)
        state = step[0]
        ended += step[2]
    size = padded(y.columns[n])
    for q in range(1 + counts):
        fill(totals[q], 0, totals.shape[1], 0.0)
    ending(y, sentence, f, totals[0])
    for c in range(y.classes[n]):
        weight = sentence.final[y.state[y.member[c]]]
        for q in range(counts):
            for k in range(y.columns[n]):
                totals[1 + q, k] += weight * buffers.mean[n % 2, q, c * size + k]
    return ended


@jit_entry
def mean_batch(tables: JointTables, batch: Batch, buffers: MeanBuffers, found: FoundMeans) -> None:
    """Fills masses and expectations of joint counts of all sentences, see ``means``."""
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        found.ended[s] = means(tables, sentence, buffers, found.totals[s])
        found.escaped[s] = buffers.f.escaped[0]
