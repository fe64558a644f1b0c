"""Rows of numbers in which y's items are counted, as kernels add them up.

A row is the mass of a pair of states, resolved by how many items y has counted. There are two kinds
of rows, and kernels do not know which they have:

    by count   number c is P(pair, count = c); an item more moves the row by one place
    by node    number m is E[exp(-x_m count); pair] for node x_m; an item more multiplies it by
               t_m = exp(-x_m)

``Rows`` says which: the places that an item moves a row, 1 or 0, and powers t^c. Rows by count have
the length ``padded``, and are 0 past the counter's values; rows by node have one number for each
node, padded alike by zeros.

Places in flat arrays are unsigned where a loop is to be vectorised; sums of products take four
numbers at a time, because numba does not reorder them.
"""

from __future__ import annotations

from typing import NamedTuple

from fsmeu.arrays import Floats, Ints, Places
from fsmeu.trellis.kernels import jit_helper, jit_small, unsigned


class Rows(NamedTuple):
    """What counting an item does to a row: it is moved, or multiplied."""

    step: int  # how many places an item moves a row: 1 by count, 0 by node
    powers: Floats  # t^c by what is counted, (counts + 1, length of a row); by count empty
    copies: int  # by node, one more than the most that an arc counts; by count 0


class RowSlice(NamedTuple):
    """A row: so many numbers of an array from a place on."""

    values: Floats
    begin: int
    size: int


class ArcGroup(NamedTuple):
    """Arcs to one row; in a group that moves rows, all count alike."""

    arcs: Places | Ints  # row before, what is counted, weight
    counted: int
    begin: int  # the first of them
    end: int


@jit_small
def padded(columns: int) -> int:
    """The length of a row of so many numbers: one that four divides, or 1."""
    return 1 if columns == 1 else (columns + 3) // 4 * 4


@jit_helper
def fill(row: Floats, begin: int, end: int, number: float) -> None:
    """Fills places begin, ..., end - 1 of an array with a number."""
    for c in range(unsigned(begin), unsigned(end)):
        row[c] = number


@jit_small
def start_row(rows: Rows, mass: Floats, begin: int, columns: int, number: float) -> None:
    """Sets a row of zeros to the mass of a pair that has counted nothing."""
    for c in range(1 if rows.step else columns):
        mass[begin + c] = number


@jit_small
def moved(rows: Rows, row: RowSlice, counted: int, size: int) -> RowSlice:
    """The part of a row, so long, that begins where items that are counted move it."""
    return RowSlice(row.values, row.begin + counted * rows.step, size)


@jit_small
def add(rows: Rows, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row to another that begins where it is moved, so much being counted."""
    goal = unsigned(into.begin)
    at = unsigned(source.begin)
    if rows.step or counted == 0:
        for c in range(unsigned(source.size)):
            into.values[goal + c] += factor * source.values[at + c]
    else:
        for m in range(unsigned(source.size)):
            into.values[goal + m] += factor * rows.powers[counted, m] * source.values[at + m]


@jit_small
def add_moved(rows: Rows, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row of masses to another, so much being counted after it."""
    add(rows, moved(rows, into, counted, source.size), source, factor, counted)


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
def dot_counted(rows: Rows, mass: RowSlice, back: RowSlice, counted: int) -> float:
    """The sum of a row of masses times one of backward values, so much being counted between."""
    if rows.step:
        return dot(mass.values, mass.begin, back.values, back.begin + counted, mass.size)
    total = 0.0
    a = unsigned(mass.begin)
    b = unsigned(back.begin)
    for m in range(unsigned(mass.size)):
        total += mass.values[a + m] * rows.powers[counted, m] * back.values[b + m]
    return total


@jit_small
def row_of(arc: Places | Ints, e: int, stride: int, shift: int) -> int:
    """Where the row of an arc begins, moved by what the arc counts."""
    row: int = unsigned(arc[e, 0]) * stride + unsigned(arc[e, 1]) * shift
    return row


@jit_helper
def add_arcs(
    into: RowSlice, rows: RowSlice, shift: int, group: ArcGroup, weights: RowSlice
) -> None:
    """Adds to a row what arcs lead to.

    Args:
        into: the row.
        rows: rows one after the other, ``rows.size`` apart.
        shift: how many places what an arc counts moves its row.
        group: the arcs.
        weights: the weights of the position.
    """
    arc = group.arcs
    one = unsigned(1)
    goal = unsigned(into.begin)
    size = unsigned(into.size)
    stride = unsigned(rows.size)
    step = unsigned(shift)
    first = unsigned(weights.begin)
    e = unsigned(group.begin)
    last = unsigned(group.end)
    if size == one:
        total = into.values[goal]
        for g in range(e, last):
            weight = weights.values[first + unsigned(arc[g, 2])]
            total += weight * rows.values[row_of(arc, g, stride, step)]
        into.values[goal] = total
        e = last
    while e + unsigned(4) <= last:
        a = row_of(arc, e, stride, step)
        v = weights.values[first + unsigned(arc[e, 2])]
        b = row_of(arc, e + one, stride, step)
        w = weights.values[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        c = row_of(arc, e, stride, step)
        x = weights.values[first + unsigned(arc[e, 2])]
        d = row_of(arc, e + one, stride, step)
        y = weights.values[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        for k in range(size):
            total = into.values[goal + k] + v * rows.values[a + k] + w * rows.values[b + k]
            into.values[goal + k] = total + x * rows.values[c + k] + y * rows.values[d + k]
    while e < last:
        weight = weights.values[first + unsigned(arc[e, 2])]
        at = row_of(arc, e, stride, step)
        for k in range(size):
            into.values[goal + k] += weight * rows.values[at + k]
        e += one


@jit_small
def add_group(
    rows: Rows, part: Floats, into: RowSlice, before: RowSlice, group: ArcGroup, weights: RowSlice
) -> None:
    """Adds to a row what a group of arcs leads to.

    Args:
        rows: what counting does to rows.
        part: a row to work in; it is left with what rows by node were before they were counted.
        into: the row.
        before: rows before, one after the other, ``before.size`` apart.
        group: the arcs, which move no row by themselves.
        weights: the weights of the position.
    """
    if rows.step or group.counted == 0:
        goal = RowSlice(into.values, into.begin + group.counted * rows.step, before.size)
        add_arcs(goal, before, 0, group, weights)
    else:
        fill(part, 0, into.size, 0.0)
        goal = RowSlice(part, 0, into.size)
        add_arcs(goal, before, 0, group, weights)
        add(rows, into, goal, 1.0, group.counted)


@jit_helper
def fill_shifted_copies(rows: Rows, values: Floats, classes: int, size: int) -> None:
    """Fills the rows of classes for arcs that count 1, 2, ..., behind those that count nothing."""
    for counted in range(1, rows.copies):
        shift = counted * classes * size
        for c in range(classes):
            at = unsigned(c * size)
            goal = unsigned(c * size + shift)
            for m in range(unsigned(size)):
                values[goal + m] = rows.powers[counted, m] * values[at + m]


@jit_small
def flow_into(
    rows: Rows, flow: Floats, mass: RowSlice, back: RowSlice, scale: float, counted: int
) -> None:
    """Sets ``flow`` to a scale times a row of masses times one of backward values.

    By count it is one number, the sum of products, by node one for each node.
    """
    if rows.step:
        flow[0] = scale * dot(mass.values, mass.begin, back.values, back.begin + counted, mass.size)
        return
    a = unsigned(mass.begin)
    b = unsigned(back.begin)
    for m in range(unsigned(mass.size)):
        product = mass.values[a + m] * back.values[b + m]
        flow[m] = scale * rows.powers[counted, m] * product


@jit_small
def add_flow(flow: Floats, amount: float, row: int, score: Floats) -> None:
    """Adds a multiple of a flow to the scores of a score row, (score rows * nodes,)."""
    size = unsigned(len(flow))
    goal = unsigned(row) * size
    for m in range(size):
        score[goal + m] += amount * flow[m]
