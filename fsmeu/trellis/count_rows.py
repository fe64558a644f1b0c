"""Rows of numbers by the value of y's counter, as kernels add them up.

Rows have the length ``padded``; what is past the counter's values is 0. To count an item more moves
a row by one place. Places in flat arrays are unsigned where a loop is to be vectorised; sums of
products take four numbers at a time, because numba does not reorder them.

``lane_rows.py`` has the same functions for rows by lane, and ``lanes`` is for these.
"""

from __future__ import annotations

from fsmeu.arrays import Floats, Ints, Places
from fsmeu.trellis.batches import ArcGroup, ForwardLayers, Lanes, RowSlice
from fsmeu.trellis.kernels import jit_helper, jit_small, unsigned


@jit_small
def padded(columns: int) -> int:
    """The length of a row of so many numbers: one that four divides, or 1."""
    return 1 if columns == 1 else (columns + 3) // 4 * 4


@jit_small
def usable(columns: int, counted: int) -> int:
    """How many numbers of a row that is moved by what is counted are values of the counter."""
    return columns - counted


@jit_helper
def fill(row: Floats, begin: int, end: int, number: float) -> None:
    """Fills places begin, ..., end - 1 of an array with a number."""
    for c in range(unsigned(begin), unsigned(end)):
        row[c] = number


@jit_small
def start_row(mass: Floats, begin: int, columns: int, number: float) -> None:
    """Sets a row of zeros to the mass of a pair that has counted nothing."""
    mass[begin] = number


@jit_small
def add(lanes: Lanes, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row to another, so much being counted after it."""
    goal = unsigned(into.begin) + unsigned(counted)
    at = unsigned(source.begin)
    for c in range(unsigned(source.size)):
        into.values[goal + c] += factor * source.values[at + c]


@jit_small
def pull(lanes: Lanes, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row of backward values to another, so much being counted before it."""
    goal = unsigned(into.begin)
    at = unsigned(source.begin) + unsigned(counted)
    for c in range(unsigned(into.size)):
        into.values[goal + c] += factor * source.values[at + c]


@jit_helper
def dot(one: Floats, a: int, other: Floats, b: int, size: int) -> float:
    """The sum of products of so many numbers of two arrays: 1, or a number that four divides."""
    p = unsigned(a)
    q = unsigned(b)
    if size == 1:
        return float(one[p] * other[q])
    w = 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    k = unsigned(0)
    if unsigned(size) & unsigned(4):
        w += one[p + k] * other[q + k]
        x += one[p + k + unsigned(1)] * other[q + k + unsigned(1)]
        y += one[p + k + unsigned(2)] * other[q + k + unsigned(2)]
        z += one[p + k + unsigned(3)] * other[q + k + unsigned(3)]
        k = unsigned(4)
    while k < unsigned(size):
        w += one[p + k] * other[q + k]
        x += one[p + k + unsigned(1)] * other[q + k + unsigned(1)]
        y += one[p + k + unsigned(2)] * other[q + k + unsigned(2)]
        z += one[p + k + unsigned(3)] * other[q + k + unsigned(3)]
        w += one[p + k + unsigned(4)] * other[q + k + unsigned(4)]
        x += one[p + k + unsigned(5)] * other[q + k + unsigned(5)]
        y += one[p + k + unsigned(6)] * other[q + k + unsigned(6)]
        z += one[p + k + unsigned(7)] * other[q + k + unsigned(7)]
        k += unsigned(8)
    return (w + x) + (y + z)


@jit_small
def dot_counted(lanes: Lanes, mass: RowSlice, back: RowSlice, counted: int) -> float:
    """The sum over counts of a row of masses times backward values, so much being counted."""
    return dot(mass.values, mass.begin, back.values, back.begin + counted, mass.size)


@jit_small
def row_of(arc: Places | Ints, e: int, stride: int) -> int:
    """Where the row of an arc begins, moved by what the arc counts."""
    row: int = unsigned(arc[e, 0]) * stride + unsigned(arc[e, 1])
    return row


@jit_helper
def add_arcs(
    into: RowSlice, rows: RowSlice, arc: Places | Ints, begin: int, end: int, weights: RowSlice
) -> None:
    """Adds to a row what arcs (number of a row of ``rows``, counted, weight) lead to.

    Args:
        into: the row.
        rows: rows one after the other, ``rows.size`` apart.
        arc: the arcs, of which begin, ..., end - 1 are taken.
        begin: the first arc.
        end: the end of the arcs.
        weights: the weights of the position.
    """
    one = unsigned(1)
    goal = unsigned(into.begin)
    size = unsigned(into.size)
    stride = unsigned(rows.size)
    first = unsigned(weights.begin)
    e = unsigned(begin)
    last = unsigned(end)
    if size == one:
        total = into.values[goal]
        for g in range(e, last):
            weight = weights.values[first + unsigned(arc[g, 2])]
            total += weight * rows.values[row_of(arc, g, stride)]
        into.values[goal] = total
        e = last
    while e + unsigned(4) <= last:
        a = row_of(arc, e, stride)
        v = weights.values[first + unsigned(arc[e, 2])]
        b = row_of(arc, e + one, stride)
        w = weights.values[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        c = row_of(arc, e, stride)
        x = weights.values[first + unsigned(arc[e, 2])]
        d = row_of(arc, e + one, stride)
        y = weights.values[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        for k in range(size):
            total = into.values[goal + k] + v * rows.values[a + k] + w * rows.values[b + k]
            into.values[goal + k] = total + x * rows.values[c + k] + y * rows.values[d + k]
    while e < last:
        weight = weights.values[first + unsigned(arc[e, 2])]
        at = row_of(arc, e, stride)
        for k in range(size):
            into.values[goal + k] += weight * rows.values[at + k]
        e += one


@jit_small
def add_group(
    lanes: Lanes, part: Floats, into: RowSlice, rows: RowSlice, group: ArcGroup, weights: RowSlice
) -> None:
    """Adds to a row what a group of arcs leads to.

    Args:
        lanes: what counting does to lanes.
        part: a row to work in.
        into: the row.
        rows: rows before, one after the other, ``rows.size`` apart.
        group: the arcs.
        weights: the weights of the position.
    """
    goal = RowSlice(into.values, into.begin + group.counted, rows.size)
    add_arcs(goal, rows, group.arcs, group.begin, group.end, weights)


@jit_small
def add_class_arcs(
    lanes: Lanes,
    f: ForwardLayers,
    into: RowSlice,
    rows: RowSlice,
    group: ArcGroup,
    weights: RowSlice,
) -> None:
    """Adds to the row of a pair what class arcs lead to."""
    add_group(lanes, f.part, into, rows, group, weights)


@jit_small
def count_loss(
    lanes: Lanes, f: ForwardLayers, row: RowSlice, factor: float, before: int, counted: int
) -> None:
    """Counts by number lose no mass."""


@jit_small
def fill_shifted_copies(lanes: Lanes, rows: Floats, classes: int, size: int, copies: int) -> None:
    """Rows serve for all that is counted: there is nothing to fill."""


@jit_small
def flow_into(
    lanes: Lanes, flow: Floats, mass: RowSlice, back: RowSlice, scale: float, counted: int
) -> None:
    """Sets ``flow``, one number, to a row of masses times backward values, and a scale."""
    flow[0] = scale * dot(mass.values, mass.begin, back.values, back.begin + counted, mass.size)


@jit_small
def add_flow(flow: Floats, amount: float, row: int, score: Floats) -> None:
    """Adds a multiple of a flow to the score of a score row, (score rows,)."""
    score[row] += amount * flow[0]
