"""Scores of the steps of z: E[amount f(y's count)] for every feature of z and position.

Masses forward, and backward values of f as futures (``sum_kernels.py``). What flows through steps
of y that show a feature v, and the score of a row r of z, are

    flow(v)   = sum over pairs q after that show v of              mass(q) . future(class of q)
              + sum over pairs p before that show v by arc set a of  mass(p) . future(a)
    score(r)  = sum over v of amount(r, v) flow(v)

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import (
    Batch,
    Flow,
    FoundScores,
    ScoreBuffers,
    Sentence,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.rows import RowSlice, add_flow, fill, flow_into
from fsmeu.trellis.sum_kernels import (
    JointTables,
    class_values,
    ending,
    ending_values,
    forward,
    pair_row,
    position_at,
    sentence_of,
    set_sums,
)
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables


@jit_small
def add_scores(amounts: Amounts, table: int, feature: int, flow: Flow, score: Floats) -> None:
    """Adds to scores of rows of z what flows through a pair that shows a feature of y.

    Args:
        amounts: what terms add.
        table: the table of the position.
        feature: the feature of y.
        flow: the joint counts that are looked at; the flow itself is in ``flow.f.part``, a number
            for each lane, or one.
        score: the scores of a position, (score rows * lanes,).
    """
    for e in range(amounts.begins[table, feature], amounts.begins[table, feature + 1]):
        row = amounts.row[e]
        if len(flow.group) == 1 or flow.group[amounts.joint[row]] == flow.q:
            add_flow(flow.f.part, amounts.amount[e], row, score)


@jit_helper
def flows_at(
    y: YTables, amounts: Amounts, sentence: Sentence, i: int, flow: Flow, score: Floats
) -> None:
    """Adds to ``score`` E[amount f(y's count)] for every feature of z at position i.

    Fills the backward values of classes before the position, from those after it.

    Args:
        y: the tape of y with the model.
        amounts: what terms add.
        sentence: the weights of the model.
        i: the position.
        flow: masses of all layers, backward values, and what is asked for.
        score: (score rows * lanes,).
    """
    f = flow.f
    beyond = flow.back.layers[(i + 1) % 2]
    sets = flow.back.sets
    at = position_at(y, sentence, i)
    table = amounts.table[i]
    for u in range(y.after_at[at.kind], y.after_at[at.kind + 1]):
        p = y.after.pair[u]
        if p >= y.width[i + 1]:
            break
        if f.total[i + 1, p] > flow.prune_below:
            back = RowSlice(beyond, y.class_of[p] * at.wider, at.wider)
            row = pair_row(f, i + 1, p)
            flow_into(y.rows, f.part, row, back, f.scale[i + 1, p], f.place[i + 1, p, 1])
            add_scores(amounts, table, y.after.feature[u], flow, score)
    set_sums(y, sentence, i, beyond, sets)
    begin = y.arc_sets_at[at.kind]
    for u in range(y.before_at[at.kind], y.before_at[at.kind + 1]):
        p = y.before.pair[u]
        if p >= y.width[i]:
            break
        if f.total[i, p] > flow.prune_below:
            back = RowSlice(sets, (y.before.arc_set[u] - begin) * at.size, at.size)
            row = pair_row(f, i, p)
            flow_into(y.rows, f.part, row, back, f.scale[i, p], f.place[i, p, 1])
            add_scores(amounts, table, y.before.feature[u], flow, score)
    class_values(y, i, sets, flow.back.layers[i % 2])


@jit_helper
def flows(y: YTables, amounts: Amounts, sentence: Sentence, flow: Flow, score: Floats) -> None:
    """Adds to ``score`` (n, score rows) the flows of all positions, see ``flows_at``."""
    ending_values(y, sentence, flow.ends, flow.back.layers[sentence.n % 2])
    for i in range(sentence.n - 1, -1, -1):
        flows_at(y, amounts, sentence, i, flow, score[i])


@jit_entry
def score_batch(
    tables: JointTables, batch: Batch, ends: Floats, buffers: ScoreBuffers, found: FoundScores
) -> None:
    """Fills scores of the steps of all sentences, and where the counter ends.

    Args:
        tables: both tapes, and what terms add.
        batch: the sentences.
        ends: the function of y's count for each joint count as a row, (batch, joint counts, row).
        buffers: arrays to work in.
        found: what is filled.
    """
    y = tables.y
    f = buffers.f
    back = buffers.back
    count = 0
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        forward(y, sentence, f, 0.0)
        ending(y, sentence, f, found.count_probability[s])
        found.escaped[s] = f.escaped[0]
        for q in range(len(buffers.group)):
            flow = Flow(f, back, buffers.group, q, ends[s, q], found.prune_below)
            ending_values(y, sentence, flow.ends, back.layers[batch.n % 2])
            for i in range(batch.n - 1, -1, -1):
                flows_at(y, tables.amounts, sentence, i, flow, buffers.score)
                count = keep_scores(i, buffers.score, len(f.part), found, count)
        found.begins[s + 1] = count


@jit_helper
def keep_scores(i: int, score: Floats, size: int, found: FoundScores, count: int) -> int:
    """Appends the scores of position i that are not left out; returns how many there are then.

    Args:
        i: the position.
        score: its scores, as rows, which are set to 0 again.
        size: the length of a row.
        found: what is filled.
        count: how many scores there are.
    """
    lanes = unsigned(found.value.shape[1])
    stride = unsigned(size)
    for row in range(len(score) // size - 1):
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
