"""Sums over the tape of y: one call for all positions of all sentences of a batch.

    forward         masses of the pairs of all layers, as rows
    class_values    backward values of classes

Kernels are plain Python, run as such or compiled by numba (``kernels.py``): the same operations in
the same order, so the same bits. Loops are written out, because array expressions and assigned
slices take numba seconds to compile. What a row is, ``rows.py`` says.
"""

# Arguments are records of arrays, whose fields numba reads (``y_tables.py``, ``paths.py``,
# ``tapes.py``, ``batches.py``).

from __future__ import annotations

from typing import NamedTuple

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import Batch, ForwardLayers, Sentence
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import (
    ArcGroup,
    RowSlice,
    add,
    add_arcs,
    add_deficit,
    add_group,
    fill,
    fill_shifted_copies,
    padded,
    start_row,
)
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables


class JointTables(NamedTuple):
    """What expectations of joint counts read."""

    y: YTables  # the tape of y with the model
    z: Paths  # the tape of z
    amounts: Amounts  # what terms add


@jit_small
def sentence_of(batch: Batch, s: int) -> Sentence:
    """A sentence of a batch."""
    return Sentence(
        batch.n,
        batch.weights[s],
        batch.weight_at,
        batch.start[s],
        batch.final[s],
        batch.labels[s],
    )


@jit_small
def weights_at(sentence: Sentence, i: int) -> RowSlice:
    """The weights of a position."""
    first = sentence.weight_at[i]
    return RowSlice(sentence.weights, first, sentence.weight_at[i + 1] - first)


@jit_small
def layer_at(f: ForwardLayers, i: int) -> int:
    """Where layer i is kept: there are places for all layers, or for two."""
    return i % len(f.total)


# -- masses ----------------------------------------------------------------------------------------


@jit_small
def pair_row(f: ForwardLayers, layer: int, p: int) -> RowSlice:
    """The row of a pair."""
    return RowSlice(f.mass, f.place[layer, p, 0], f.place[layer, p, 2])


@jit_small
def begin_row(f: ForwardLayers, layer: int, p: int, size: int) -> None:
    """Gives a pair a row of its own, all 0."""
    row = f.top[0]
    fill(f.mass, row, row + size + 4, 0.0)
    f.place[layer, p, 0] = row
    f.place[layer, p, 1] = 0
    f.place[layer, p, 2] = size
    f.scale[layer, p] = 1.0
    f.total[layer, p] = 0.0
    f.top[0] = row + size


@jit_helper
def class_sums(y_tables: YTables, i: int, f: ForwardLayers) -> None:
    """Fills rows and probabilities of classes before position i, from those of pairs."""
    layer = layer_at(f, i)
    size = padded(y_tables.columns[i])
    class_row = f.class_row[i % 2]
    class_total = f.class_total[i % 2]
    fill(class_row, 0, len(y_tables.member) * size + 4, 0.0)
    fill(class_total, 0, len(y_tables.member), 0.0)
    for p in range(y_tables.width[i]):
        total = f.total[layer, p]
        if total > 0.0:
            c = y_tables.class_of[p]
            into = RowSlice(class_row, c * size, size)
            counted = f.place[layer, p, 1]
            add(y_tables.rows, into, pair_row(f, layer, p), f.scale[layer, p], counted)
            class_total[c] += total


@jit_helper
def advance_classes(y_tables: YTables, sentence: Sentence, i: int, f: ForwardLayers) -> None:
    """Fills rows and probabilities of classes after position i, from those before it.

    All pairs of a class have the same future, so that classes have arcs as pairs do. What class
    arcs lead to is in the rows of pairs after, to which nothing else was added so far.
    """
    there = layer_at(f, i + 1)
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    wider = padded(y_tables.columns[i + 1])
    weights = weights_at(sentence, i)
    here_row = f.class_row[i % 2]
    here_total = f.class_total[i % 2]
    class_row = f.class_row[(i + 1) % 2]
    class_total = f.class_total[(i + 1) % 2]
    fill(class_row, 0, len(y_tables.member) * wider + 4, 0.0)
    fill(class_total, 0, len(y_tables.member), 0.0)
    for g in range(y_tables.target_groups_at[kind], y_tables.target_groups_at[kind + 1]):
        target = y_tables.target_groups.target[g]
        if target >= y_tables.width[i + 1]:
            break
        if y_tables.target_groups.opens[g]:
            c = y_tables.class_of[target]
            into = RowSlice(class_row, c * wider, wider)
            add(y_tables.rows, into, pair_row(f, there, target), 1.0, 0)
            class_total[c] += f.total[there, target]
    for e in range(y_tables.class_steps_at[kind], y_tables.class_steps_at[kind + 1]):
        c = y_tables.class_steps.target[e]
        before = y_tables.class_steps.source[e]
        if here_total[before] > 0.0:
            weight = weights.values[weights.begin + y_tables.class_steps.weight[e]]
            into = RowSlice(class_row, c * wider, wider)
            row = RowSlice(here_row, before * size, size)
            add(y_tables.rows, into, row, weight, y_tables.class_steps.counted[e])
            class_total[c] += weight * here_total[before]


@jit_helper
def advance(
    y_tables: YTables, sentence: Sentence, i: int, f: ForwardLayers, prune_below: float
) -> None:
    """Fills the masses after position i from those before it; masses up to a limit are dropped."""
    here = layer_at(f, i)
    there = layer_at(f, i + 1)
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    wider = padded(y_tables.columns[i + 1])
    wide = y_tables.width[i + 1]
    weights = weights_at(sentence, i)
    if f.recycles[0]:  # rows before the last layer are not looked at again
        f.top[0] = there * (len(f.mass) // 2)
    class_row = f.class_row[i % 2]
    class_total = f.class_total[i % 2]
    fill(f.total[there], 0, wide, 0.0)
    for g in range(y_tables.target_groups_at[kind], y_tables.target_groups_at[kind + 1]):
        target = y_tables.target_groups.target[g]
        if target >= wide:
            break
        if y_tables.target_groups.opens[g]:
            begin_row(f, there, target, wider)
        begin = y_tables.target_groups.begin[g]
        end = y_tables.target_groups.begin[g + 1]
        group = ArcGroup(y_tables.class_arc, y_tables.target_groups.counted[g], begin, end)
        into = RowSlice(f.mass, f.place[there, target, 0], size)
        add_group(y_tables.rows, f.part, into, RowSlice(class_row, 0, size), group, weights)
        if group.counted:
            row = RowSlice(f.part, 0, size)
            add_deficit(y_tables.rows, f.deficit, row, 1.0, 0, group.counted)
        moved = 0.0
        for e in range(begin, end):
            weight = weights.values[weights.begin + y_tables.class_arc[e, 2]]
            moved += weight * class_total[y_tables.class_arc[e, 0]]
        f.total[there, target] += moved
    if len(y_tables.class_arc) > 0:
        advance_classes(y_tables, sentence, i, f)
    for e in range(y_tables.pair_arcs_at[kind], y_tables.pair_arcs_at[kind + 1]):
        target = y_tables.pair_arcs.target[e]
        source = y_tables.pair_arcs.source[e]
        if source >= y_tables.width[i]:
            break
        weight = weights.values[weights.begin + y_tables.pair_arcs.weight[e]]
        counted = y_tables.pair_arcs.counted[e]
        moved = weight * f.total[here, source]
        if moved > prune_below:
            f.total[there, target] += moved
            before = f.place[here, source, 1]
            scale = weight * f.scale[here, source]
            row = pair_row(f, here, source)
            if counted:
                add_deficit(y_tables.rows, f.deficit, row, scale, before, counted)
            if y_tables.pair_arcs.is_joined[e]:
                into = RowSlice(f.mass, f.place[there, target, 0], wider)
                add(y_tables.rows, into, row, scale, before + counted)
            else:
                f.scale[there, target] = scale
                f.place[there, target, 0] = row.begin
                f.place[there, target, 1] = before + counted
                f.place[there, target, 2] = row.size
    for a in range(len(y_tables.at_cap)):
        if y_tables.at_cap[a] < wide:
            f.escaped[0] += f.total[there, y_tables.at_cap[a]]


@jit_helper
def begin_layers(y_tables: YTables, sentence: Sentence, f: ForwardLayers) -> None:
    """Fills layer 0."""
    f.top[0] = 0
    f.escaped[0] = 0.0
    fill(f.deficit, 0, len(f.deficit), 0.0)
    for p in range(y_tables.width[0]):
        begin_row(f, 0, p, padded(y_tables.columns[0]))
        start_row(y_tables.rows, f.mass, f.place[0, p, 0], y_tables.columns[0], sentence.start[p])
        f.total[0, p] = sentence.start[p]
    class_sums(y_tables, 0, f)


@jit_helper
def forward(y_tables: YTables, sentence: Sentence, f: ForwardLayers, prune_below: float) -> None:
    """Fills layers 0, ..., n; masses up to a limit are dropped."""
    begin_layers(y_tables, sentence, f)
    for i in range(sentence.n):
        advance(y_tables, sentence, i, f, prune_below)


@jit_helper
def ending(
    y_tables: YTables, sentence: Sentence, f: ForwardLayers, count_probability: Floats
) -> None:
    """Adds to ``count_probability`` the masses of the last layer, by count or lane."""
    n = sentence.n
    layer = layer_at(f, n)
    columns = y_tables.columns[n]
    into = RowSlice(count_probability, 0, columns)
    for p in range(y_tables.width[n]):
        if f.total[layer, p] > 0.0:
            row = pair_row(f, layer, p)
            counted = f.place[layer, p, 1]
            weight = sentence.final[y_tables.state[p]] * f.scale[layer, p]
            size = min(row.size, columns - counted * y_tables.rows.step)
            add(y_tables.rows, into, RowSlice(row.values, row.begin, size), weight, counted)


# -- backward values -------------------------------------------------------------------------------


@jit_helper
def set_sums(y_tables: YTables, sentence: Sentence, i: int, beyond: Floats, values: Floats) -> None:
    """Fills ``values`` with the rows of all arc sets of position i, from those of classes after."""
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    rows = RowSlice(beyond, 0, padded(y_tables.columns[i + 1]))
    shift = 1 if y_tables.rows.step else len(y_tables.member) * rows.size
    weights = weights_at(sentence, i)
    begin = y_tables.arc_sets_at[kind]
    end = y_tables.arc_sets_at[kind + 1]
    fill(values, 0, (end - begin) * size, 0.0)
    for s in range(begin, end):
        into = RowSlice(values, (s - begin) * size, size)
        first = y_tables.arc_set[s]
        add_arcs(into, rows, shift, y_tables.arc, first, y_tables.arc_set[s + 1], weights)


@jit_helper
def class_values(y_tables: YTables, i: int, values: Floats, back: Floats) -> None:
    """Fills ``back`` with the backward values of classes before position i, from arc sets'."""
    kind = y_tables.kind[i]
    size = padded(y_tables.columns[i])
    first = y_tables.arc_sets_at[kind]
    fill(back, 0, len(y_tables.member) * size, 0.0)
    for c in range(y_tables.classes[i]):
        into = RowSlice(back, c * size, size)
        for e in range(y_tables.class_sets_at[kind, c], y_tables.class_sets_at[kind, c + 1]):
            row = RowSlice(values, (y_tables.class_set[e] - first) * size, size)
            add(y_tables.rows, into, row, 1.0, 0)
    fill_shifted_copies(y_tables.rows, back, len(y_tables.member), size)


@jit_helper
def ending_values(y_tables: YTables, sentence: Sentence, ends: Floats, back: Floats) -> None:
    """Fills ``back`` with the backward values of classes in the last layer, ``ends`` as a row."""
    n = sentence.n
    size = padded(y_tables.columns[n])
    fill(back, 0, len(back), 0.0)
    for c in range(y_tables.classes[n]):
        weight = sentence.final[y_tables.state[y_tables.member[c]]]
        for k in range(y_tables.columns[n]):
            back[c * size + k] = weight * ends[k]
    fill_shifted_copies(y_tables.rows, back, len(y_tables.member), size)


@jit_entry
def mass_batch(
    y_tables: YTables, batch: Batch, f: ForwardLayers, ends: Floats, escaped: Floats
) -> None:
    """Fills ``ends`` (batch, 2, row): the masses at the end, by count or lane, and deficits.

    And ``escaped`` (batch,): bounds on the probability that an age of y reaches its cap.
    """
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        forward(y_tables, sentence, f, 0.0)
        ending(y_tables, sentence, f, ends[s, 0])
        for m in range(len(f.deficit)):
            ends[s, 1, m] = f.deficit[m]
        escaped[s] = f.escaped[0]
