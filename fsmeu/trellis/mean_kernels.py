"""Expectations of joint counts for one hypothesis: a forward sweep over the tape of y.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import (
    Batch,
    ForwardLayers,
    FoundMeans,
    MeanBuffers,
    Sentence,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_inline
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import ArcGroup, RowSlice, add, add_group, fill, padded
from fsmeu.trellis.sum_kernels import (
    JointTables,
    advance,
    begin_layers,
    ending,
    layer_at,
    pair_row,
    sentence_of,
    weights_at,
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
def add_means(
    y_tables: YTables,
    sentence: Sentence,
    i: int,
    f: ForwardLayers,
    mean: Floats,
    after: Floats,
    gain: Floats,
) -> None:
    """Adds to ``after`` the expectations of a joint count by class after position i.

    Args:
        y_tables: the tape of y with the model.
        sentence: the weights of the model.
        i: the position.
        f: the masses before it and after it.
        mean: expectations by class before, as rows one after the other; so are those after.
        after: what they are added to.
        gain: what the joint count gains beside each feature of y.
    """
    here = layer_at(f, i)
    there = layer_at(f, i + 1)
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    wider = padded(y_tables.columns[i + 1])
    weights = weights_at(sentence, i)
    rows = y_tables.rows
    before = RowSlice(mean, 0, size)
    for g in range(y_tables.class_groups_at[kind], y_tables.class_groups_at[kind + 1]):
        begin = y_tables.class_groups.begin[g]
        end = y_tables.class_groups.begin[g + 1]
        group = ArcGroup(y_tables.incoming_arc, y_tables.class_groups.counted[g], begin, end)
        into = RowSlice(after, y_tables.class_groups.target[g] * wider, wider)
        add_group(rows, f.part, into, before, group, weights)
    for u in range(y_tables.before_at[kind], y_tables.before_at[kind + 1]):
        p = y_tables.before.pair[u]
        if p >= y_tables.width[i]:
            break
        amount = gain[y_tables.before.feature[u]]
        if amount != 0.0 and f.total[here, p] > 0.0:
            held = y_tables.before.arc_set[u]
            counted = f.place[here, p, 1]
            scale = amount * f.scale[here, p]
            for a in range(y_tables.arc_set[held], y_tables.arc_set[held + 1]):
                weight = scale * weights.values[weights.begin + y_tables.arc[a, 2]]
                into = RowSlice(after, y_tables.arc[a, 0] * wider, wider)
                row = pair_row(f, here, p)
                add(rows, into, row, weight, counted + y_tables.arc[a, 1])
    for u in range(y_tables.after_at[kind], y_tables.after_at[kind + 1]):
        p = y_tables.after.pair[u]
        if p >= y_tables.width[i + 1]:
            break
        amount = gain[y_tables.after.feature[u]]
        if amount != 0.0 and f.total[there, p] > 0.0:
            into = RowSlice(after, y_tables.class_of[p] * wider, wider)
            counted = f.place[there, p, 1]
            add(rows, into, pair_row(f, there, p), amount * f.scale[there, p], counted)


@jit_inline
def means(tables: JointTables, sentence: Sentence, buffers: MeanBuffers, totals: Floats) -> int:
    """Fills ``totals`` (1 + counts, row): mass and expectations of joint counts.

    Returns where the counter of z ends.
    """
    y_tables = tables.y
    paths = tables.z
    amounts = tables.amounts
    f = buffers.f
    gain = buffers.gain
    mean = buffers.mean
    after = buffers.after
    classes = len(y_tables.member)
    counts = len(mean)
    state = 0
    ended = 0
    begin_layers(y_tables, sentence, f)
    for q in range(counts):
        fill(mean[q], 0, classes * padded(y_tables.columns[0]), 0.0)
    for i in range(sentence.n):
        step = paths.step[paths.kind[i], state, sentence.labels[i]]
        advance(y_tables, sentence, i, f, 0.0)
        hypothesis_gains(paths, amounts, i, step, gain, False)
        for q in range(counts):
            fill(after[q], 0, classes * padded(y_tables.columns[i + 1]) + 4, 0.0)
            add_means(y_tables, sentence, i, f, mean[q], after[q], gain[q])
        hypothesis_gains(paths, amounts, i, step, gain, True)
        state = step[0]
        ended += step[2]
        mean, after = after, mean
    n = sentence.n
    size = padded(y_tables.columns[n])
    for q in range(1 + counts):
        fill(totals[q], 0, totals.shape[1], 0.0)
    ending(y_tables, sentence, f, totals[0])
    for c in range(y_tables.classes[n]):
        weight = sentence.final[y_tables.state[y_tables.member[c]]]
        for q in range(counts):
            for k in range(y_tables.columns[n]):
                totals[1 + q, k] += weight * mean[q, c * size + k]
    return ended


@jit_entry
def mean_batch(tables: JointTables, batch: Batch, buffers: MeanBuffers, found: FoundMeans) -> None:
    """Fills masses and expectations of joint counts of all sentences, see ``means``."""
    deficit = buffers.f.deficit
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        totals = found.totals[s]
        found.ended[s] = means(tables, sentence, buffers, totals)
        for m in range(len(deficit)):
            found.deficit[s, m] = deficit[m]
        found.escaped[s] = buffers.f.escaped[0]
