"""Sums over the tape of y: one call for all positions of all sentences of a batch.

Numbers are rows (``rows.py``): resolved by what y counts, or at nodes t. With the arcs of
``y_tables.py``,

    forward     mass(q)    = sum of weight t^counted mass(.) over the pair and class arcs to pair q
                mass(c)    = sum of mass(p) over the pairs p of class c
    backward    future(a)  = sum of weight t^counted future(class after) over the arcs of arc set a
                future(c)  = sum of future(a) over the arc sets a that pairs of class c take

The masses of classes move on by themselves, as all pairs of a class have the same arcs.

Kernels are plain Python, run as such or compiled by numba (``kernels.py``): the same operations in
the same order, so the same bits. Loops are written out, because array expressions and assigned
slices take numba seconds to compile. Arguments are records of arrays, whose fields numba reads
(``y_tables.py``, ``paths.py``, ``tapes.py``, ``batches.py``).
"""

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
    add_group,
    add_moved,
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


class YPosition(NamedTuple):
    """What sums read at a position."""

    kind: int
    size: int  # the length of rows before it
    wider: int  # and after it
    weights: RowSlice  # of its arcs


@jit_small
def position_at(y: YTables, sentence: Sentence, i: int) -> YPosition:
    """What sums read at position i."""
    weights = weights_at(sentence, i)
    return YPosition(y.kind[i], padded(y.columns[i]), padded(y.columns[i + 1]), weights)


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
def begin_classes(y: YTables, i: int, f: ForwardLayers) -> int:
    """Empties the rows and probabilities of classes before position i; returns their length."""
    size: int = padded(y.columns[i])
    fill(f.class_row[i % 2], 0, len(y.member) * size + 4, 0.0)
    fill(f.class_total[i % 2], 0, len(y.member), 0.0)
    return size


@jit_helper
def class_sums(y: YTables, i: int, f: ForwardLayers) -> None:
    """Fills rows and probabilities of classes before position i, from those of pairs."""
    layer = layer_at(f, i)
    size = begin_classes(y, i, f)
    for p in range(y.width[i]):
        if f.total[layer, p] > 0.0:
            c = y.class_of[p]
            into = RowSlice(f.class_row[i % 2], c * size, size)
            counted = f.place[layer, p, 1]
            add_moved(y.rows, into, pair_row(f, layer, p), f.scale[layer, p], counted)
            f.class_total[i % 2, c] += f.total[layer, p]


@jit_small
def advance_classes(y: YTables, sentence: Sentence, i: int, f: ForwardLayers) -> None:
    """Fills rows and probabilities of classes after position i, from those before it.

    All pairs of a class have the same future, so that classes have arcs as pairs do. What class
    arcs lead to is in the rows of pairs after, to which nothing else was added so far.
    """
    there = layer_at(f, i + 1)
    at = position_at(y, sentence, i)
    wider = begin_classes(y, i + 1, f)
    here_total = f.class_total[i % 2]
    class_row = f.class_row[(i + 1) % 2]
    class_total = f.class_total[(i + 1) % 2]
    for g in range(y.target_groups_at[at.kind], y.target_groups_at[at.kind + 1]):
        target = y.target_groups.target[g]
        if target >= y.width[i + 1]:
            break
        if y.target_groups.opens[g]:
            c = y.class_of[target]
            add(y.rows, RowSlice(class_row, c * wider, wider), pair_row(f, there, target), 1.0, 0)
            class_total[c] += f.total[there, target]
    for e in range(y.class_steps_at[at.kind], y.class_steps_at[at.kind + 1]):
        before = y.class_steps.source[e]
        if here_total[before] > 0.0:
            c = y.class_steps.target[e]
            weight = at.weights.values[at.weights.begin + y.class_steps.weight[e]]
            into = RowSlice(class_row, c * wider, wider)
            row = RowSlice(f.class_row[i % 2], before * at.size, at.size)
            add_moved(y.rows, into, row, weight, y.class_steps.counted[e])
            class_total[c] += weight * here_total[before]


@jit_small
def advance_groups(y: YTables, sentence: Sentence, i: int, f: ForwardLayers) -> None:
    """Begins the rows of pairs after position i that are sums, with what class arcs lead to."""
    there = layer_at(f, i + 1)
    at = position_at(y, sentence, i)
    before = RowSlice(f.class_row[i % 2], 0, at.size)
    class_total = f.class_total[i % 2]
    for g in range(y.target_groups_at[at.kind], y.target_groups_at[at.kind + 1]):
        target = y.target_groups.target[g]
        if target >= y.width[i + 1]:
            break
        if y.target_groups.opens[g]:
            begin_row(f, there, target, at.wider)
        begin = y.target_groups.begin[g]
        end = y.target_groups.begin[g + 1]
        group = ArcGroup(y.class_arc, y.target_groups.counted[g], begin, end)
        into = RowSlice(f.mass, f.place[there, target, 0], at.size)
        add_group(y.rows, f.part, into, before, group, at.weights)
        total = 0.0
        for e in range(begin, end):
            weight = at.weights.values[at.weights.begin + y.class_arc[e, 2]]
            total += weight * class_total[y.class_arc[e, 0]]
        f.total[there, target] += total


@jit_small
def advance_pairs(
    y: YTables, sentence: Sentence, i: int, f: ForwardLayers, prune_below: float
) -> None:
    """Adds to the masses of pairs after position i what pair arcs lead to."""
    here = layer_at(f, i)
    there = layer_at(f, i + 1)
    at = position_at(y, sentence, i)
    for e in range(y.pair_arcs_at[at.kind], y.pair_arcs_at[at.kind + 1]):
        source = y.pair_arcs.source[e]
        if source >= y.width[i]:
            break
        weight = at.weights.values[at.weights.begin + y.pair_arcs.weight[e]]
        mass = weight * f.total[here, source]
        if mass > prune_below:
            target = y.pair_arcs.target[e]
            f.total[there, target] += mass
            counted = f.place[here, source, 1] + y.pair_arcs.counted[e]
            scale = weight * f.scale[here, source]
            row = pair_row(f, here, source)
            if y.pair_arcs.is_joined[e]:
                into = RowSlice(f.mass, f.place[there, target, 0], at.wider)
                add_moved(y.rows, into, row, scale, counted)
            else:
                f.scale[there, target] = scale
                f.place[there, target, 0] = row.begin
                f.place[there, target, 1] = counted
                f.place[there, target, 2] = row.size


@jit_helper
def advance(y: YTables, sentence: Sentence, i: int, f: ForwardLayers, prune_below: float) -> None:
    """Fills the masses after position i from those before it; masses up to a limit are dropped."""
    there = layer_at(f, i + 1)
    if f.recycles[0]:  # rows before the last layer are not looked at again
        f.top[0] = there * (len(f.mass) // 2)
    fill(f.total[there], 0, y.width[i + 1], 0.0)
    advance_groups(y, sentence, i, f)
    if len(y.class_arc) > 0:
        advance_classes(y, sentence, i, f)
    advance_pairs(y, sentence, i, f, prune_below)
    for a in range(len(y.at_cap)):
        if y.at_cap[a] < y.width[i + 1]:
            f.escaped[0] += f.total[there, y.at_cap[a]]


@jit_helper
def begin_layers(y: YTables, sentence: Sentence, f: ForwardLayers) -> None:
    """Fills layer 0."""
    f.top[0] = 0
    f.escaped[0] = 0.0
    for p in range(y.width[0]):
        begin_row(f, 0, p, padded(y.columns[0]))
        start_row(y.rows, f.mass, f.place[0, p, 0], y.columns[0], sentence.start[p])
        f.total[0, p] = sentence.start[p]
    class_sums(y, 0, f)


@jit_helper
def forward(y: YTables, sentence: Sentence, f: ForwardLayers, prune_below: float) -> None:
    """Fills layers 0, ..., n; masses up to a limit are dropped."""
    begin_layers(y, sentence, f)
    for i in range(sentence.n):
        advance(y, sentence, i, f, prune_below)


@jit_helper
def ending(y: YTables, sentence: Sentence, f: ForwardLayers, count_probability: Floats) -> None:
    """Adds to ``count_probability`` the masses of the last layer, by count or lane."""
    n = sentence.n
    layer = layer_at(f, n)
    columns = y.columns[n]
    into = RowSlice(count_probability, 0, columns)
    for p in range(y.width[n]):
        if f.total[layer, p] > 0.0:
            row = pair_row(f, layer, p)
            counted = f.place[layer, p, 1]
            weight = sentence.final[y.state[p]] * f.scale[layer, p]
            size = min(row.size, columns - counted * y.rows.step)
            add_moved(y.rows, into, RowSlice(row.values, row.begin, size), weight, counted)


# -- backward values -------------------------------------------------------------------------------


@jit_helper
def set_sums(y: YTables, sentence: Sentence, i: int, beyond: Floats, values: Floats) -> None:
    """Fills ``values`` with the rows of all arc sets of position i, from those of classes after."""
    at = position_at(y, sentence, i)
    rows = RowSlice(beyond, 0, padded(y.columns[i + 1]))
    shift = 1 if y.rows.step else len(y.member) * rows.size
    begin = y.arc_sets_at[at.kind]
    end = y.arc_sets_at[at.kind + 1]
    fill(values, 0, (end - begin) * at.size, 0.0)
    for s in range(begin, end):
        into = RowSlice(values, (s - begin) * at.size, at.size)
        group = ArcGroup(y.arc, 0, y.arc_set[s], y.arc_set[s + 1])
        add_arcs(into, rows, shift, group, at.weights)


@jit_helper
def class_values(y: YTables, i: int, values: Floats, back: Floats) -> None:
    """Fills ``back`` with the backward values of classes before position i, from arc sets'."""
    kind = y.kind[i]
    size = padded(y.columns[i])
    first = y.arc_sets_at[kind]
    fill(back, 0, len(y.member) * size, 0.0)
    for c in range(y.classes[i]):
        into = RowSlice(back, c * size, size)
        for e in range(y.class_sets_at[kind, c], y.class_sets_at[kind, c + 1]):
            row = RowSlice(values, (y.class_set[e] - first) * size, size)
            add(y.rows, into, row, 1.0, 0)
    fill_shifted_copies(y.rows, back, len(y.member), size)


@jit_helper
def ending_values(y: YTables, sentence: Sentence, ends: Floats, back: Floats) -> None:
    """Fills ``back`` with the backward values of classes in the last layer, ``ends`` as a row."""
    n = sentence.n
    size = padded(y.columns[n])
    fill(back, 0, len(back), 0.0)
    for c in range(y.classes[n]):
        weight = sentence.final[y.state[y.member[c]]]
        for k in range(y.columns[n]):
            back[c * size + k] = weight * ends[k]
    fill_shifted_copies(y.rows, back, len(y.member), size)


@jit_entry
def mass_batch(y: YTables, batch: Batch, f: ForwardLayers, ends: Floats, escaped: Floats) -> None:
    """Fills ``ends`` (batch, row): the masses at the end, by count or lane.

    And ``escaped`` (batch,): bounds on the probability that an age of y reaches its cap.
    """
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        forward(y, sentence, f, 0.0)
        ending(y, sentence, f, ends[s])
        escaped[s] = f.escaped[0]
