"""Scores of the steps of z: E[amount f(y's count)] for every feature of z and position.

Masses forward, and backward values of f; what flows through a pair of y is a product of both.
Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import (
    BackwardRows,
    Batch,
    Flow,
    ForwardLayers,
    FoundScores,
    ScoreBuffers,
    Sentence,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import RowSlice, add_flow, fill, flow_into, padded
from fsmeu.trellis.sum_kernels import (
    JointTables,
    class_values,
    ending,
    ending_values,
    forward,
    pair_row,
    sentence_of,
    set_sums,
)
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables


@jit_small
def add_scores(
    amounts: Amounts, table: int, feature: int, ask: Flow, flow: Floats, score: Floats
) -> None:
    """Adds to scores of rows of z what flows through a pair that shows a feature of y.

    Args:
        amounts: what terms add.
        table: the table of the position.
        feature: the feature of y.
        ask: the joint counts that are looked at.
        flow: what flows through the pair, a number for each lane, or one.
        score: the scores of a position, (score rows * lanes,).
    """
    for e in range(amounts.begins[table, feature], amounts.begins[table, feature + 1]):
        row = amounts.row[e]
        if len(ask.group) == 1 or ask.group[amounts.joint[row]] == ask.q:
            add_flow(flow, amounts.amount[e], row, score)


@jit_helper
def flows_at(
    y_tables: YTables,
    amounts: Amounts,
    sentence: Sentence,
    i: int,
    f: ForwardLayers,
    ask: Flow,
    back: BackwardRows,
    score: Floats,
) -> None:
    """Adds to ``score`` E[amount f(y's count)] for every feature of z at position i.

    Fills the backward values of classes before the position, from those after it.

    Args:
        y_tables: the tape of y with the model.
        amounts: what terms add.
        sentence: the weights of the model.
        i: the position.
        f: the masses of all layers.
        ask: the joint counts, and what is left out.
        back: backward values, and arrays to work in.
        score: (score rows * lanes,).
    """
    after = back.layers[(i + 1) % 2]
    sets = back.sets
    kind = y_tables.kind[i]
    table = amounts.table[i]
    wider = padded(y_tables.columns[i + 1])
    for u in range(y_tables.after_at[kind], y_tables.after_at[kind + 1]):
        p = y_tables.after.pair[u]
        if p >= y_tables.width[i + 1]:
            break
        if f.total[i + 1, p] > ask.prune_below:
            beyond = RowSlice(after, y_tables.class_of[p] * wider, wider)
            counted = f.place[i + 1, p, 1]
            row = pair_row(f, i + 1, p)
            flow_into(y_tables.rows, f.part, row, beyond, f.scale[i + 1, p], counted)
            add_scores(amounts, table, y_tables.after.feature[u], ask, f.part, score)
    set_sums(y_tables, sentence, i, after, sets)
    size = padded(y_tables.columns[i])
    begin = y_tables.arc_sets_at[kind]
    for u in range(y_tables.before_at[kind], y_tables.before_at[kind + 1]):
        p = y_tables.before.pair[u]
        if p >= y_tables.width[i]:
            break
        if f.total[i, p] > ask.prune_below:
            beyond = RowSlice(sets, (y_tables.before.arc_set[u] - begin) * size, size)
            counted = f.place[i, p, 1]
            row = pair_row(f, i, p)
            flow_into(y_tables.rows, f.part, row, beyond, f.scale[i, p], counted)
            add_scores(amounts, table, y_tables.before.feature[u], ask, f.part, score)
    class_values(y_tables, i, sets, back.layers[i % 2])


@jit_helper
def flows(
    y_tables: YTables,
    amounts: Amounts,
    sentence: Sentence,
    f: ForwardLayers,
    ask: Flow,
    back: BackwardRows,
    score: Floats,
) -> None:
    """Adds to ``score`` (n, score rows) the flows of all positions, see ``flows_at``."""
    ending_values(y_tables, sentence, ask.ends, back.layers[sentence.n % 2])
    for i in range(sentence.n - 1, -1, -1):
        flows_at(y_tables, amounts, sentence, i, f, ask, back, score[i])


@jit_entry
def score_batch(
    tables: JointTables,
    batch: Batch,
    ends: Floats,
    buffers: ScoreBuffers,
    found: FoundScores,
) -> None:
    """Fills scores of the steps of all sentences, where the counter ends, and deficits.

    Args:
        tables: both tapes, and what terms add.
        batch: the sentences.
        ends: the function of y's count for each joint count as a row, (batch, joint counts, row).
        buffers: arrays to work in.
        found: what is filled.
    """
    y_tables = tables.y
    f = buffers.f
    back = buffers.back
    count = 0
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        forward(y_tables, sentence, f, 0.0)
        ending(y_tables, sentence, f, found.count_probability[s])
        for m in range(len(f.deficit)):
            found.deficit[s, m] = f.deficit[m]
        found.escaped[s] = f.escaped[0]
        for q in range(len(buffers.group)):
            ask = Flow(buffers.group, q, ends[s, q], found.prune_below)
            ending_values(y_tables, sentence, ask.ends, back.layers[batch.n % 2])
            for i in range(batch.n - 1, -1, -1):
                flows_at(y_tables, tables.amounts, sentence, i, f, ask, back, buffers.score)
                count = keep_scores(tables.z, i, buffers.score, found, count)
        found.begins[s + 1] = count


@jit_helper
def keep_scores(paths: Paths, i: int, score: Floats, found: FoundScores, count: int) -> int:
    """Appends the scores of position i that are not left out; returns how many there are then.

    Args:
        paths: the tape of z, some steps of which must show a score row.
        i: the position.
        score: its scores, (score rows * lanes,), which are set to 0 again.
        found: what is filled.
        count: how many scores there are.
    """
    lanes = unsigned(found.value.shape[1])
    stride = unsigned(len(score) // paths.shown_from.shape[1])
    shown_from = paths.shown_from[paths.kind[i]]
    for row in range(len(shown_from)):
        if shown_from[row] >= paths.width[i]:
            continue
        first = unsigned(row) * stride
        m = unsigned(0)
        while m < lanes and abs(score[first + m]) <= found.least[m]:
            m += unsigned(1)
        if m < lanes:
            for own in range(lanes):
                found.value[unsigned(count), own] = score[first + own]
            found.cell[count, 0] = i
            found.cell[count, 1] = row
            count += 1
    fill(score, 0, len(score), 0.0)
    return count
