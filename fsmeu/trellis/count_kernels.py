"""Rows of numbers by the value of y's counter, as kernels add them up.

Rows have the length ``padded``; what is past the counter's values is 0. To count more moves a row.
Places in flat arrays are unsigned where a loop is to be vectorised; sums of products take four
numbers at a time, because numba does not reorder them.
"""

# ruff: noqa: D417

from __future__ import annotations

from fsmeu.trellis.compiled import inner, unsigned_of

unsigned = unsigned_of()


@inner
def padded(columns):
    """The length of a row of counts: one that four divides, or 1."""
    return 1 if columns == 1 else (columns + 3) // 4 * 4


@inner
def usable(columns, shift):
    """How many numbers of a row that is moved by a shift are values of the counter."""
    return columns - shift


@inner
def fill(row, begin, end, number):
    """Fills places begin, ..., end - 1 of an array with a number."""
    for c in range(unsigned(begin), unsigned(end)):
        row[c] = number


@inner
def add(into, goal, shift, factor, row, at, size):
    """Adds a multiple of a row that is so long to another, so much being counted after it."""
    goal, at = unsigned(goal) + unsigned(shift), unsigned(at)
    for c in range(unsigned(size)):
        into[goal + c] += factor * row[at + c]


@inner
def fill_shifted_copies(rows, classes, size, copies):
    """Rows serve for all that is counted: there is nothing to fill."""


@inner
def dot(one, a, other, b, size):
    """The sum of products of so many numbers of two arrays: 1, or a number that four divides."""
    a, b = unsigned(a), unsigned(b)
    if size == 1:
        return one[a] * other[b]
    w, x, y, z, k = 0.0, 0.0, 0.0, 0.0, unsigned(0)
    while k < unsigned(size):
        w += one[a + k] * other[b + k]
        x += one[a + k + unsigned(1)] * other[b + k + unsigned(1)]
        y += one[a + k + unsigned(2)] * other[b + k + unsigned(2)]
        z += one[a + k + unsigned(3)] * other[b + k + unsigned(3)]
        k += unsigned(4)
    return (w + x) + (y + z)


@inner
def row_of(arc, e, stride):
    """Where the row of an arc begins, moved by what the arc counts."""
    return unsigned(arc[e, 0]) * stride + unsigned(arc[e, 1])


@inner
def add_arcs(into, goal, shift, size, rows, stride, arc, begin, end, weights, first):
    """Adds to a row what arcs (number of a row of ``rows``, counted, weight) lead to.

    Forwards so much is counted after the rows, ``shift``; backwards what arcs count is before them.
    """
    goal, size, stride = unsigned(goal) + unsigned(shift), unsigned(size), unsigned(stride)
    first, e, last, one = unsigned(first), unsigned(begin), unsigned(end), unsigned(1)
    if size == one:
        total = into[goal]
        for g in range(e, last):
            total += weights[first + unsigned(arc[g, 2])] * rows[row_of(arc, g, stride)]
        into[goal], e = total, last
    while e + unsigned(4) <= last:
        a, v = row_of(arc, e, stride), weights[first + unsigned(arc[e, 2])]
        b, w = row_of(arc, e + one, stride), weights[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        c, x = row_of(arc, e, stride), weights[first + unsigned(arc[e, 2])]
        d, y = row_of(arc, e + one, stride), weights[first + unsigned(arc[e + one, 2])]
        e += unsigned(2)
        for k in range(size):
            total = into[goal + k] + v * rows[a + k] + w * rows[b + k]
            into[goal + k] = total + x * rows[c + k] + y * rows[d + k]
    while e < last:
        add(into, goal, 0, weights[first + unsigned(arc[e, 2])], rows, row_of(arc, e, stride), size)
        e += one


@inner
def flow_of(f, layer, p, other, at):
    """The sum over counts of the mass of a pair times a row of another array."""
    row, shift, size = f.place[layer, p, 0], f.place[layer, p, 1], f.place[layer, p, 2]
    return f.scale[layer, p] * dot(f.mass, row, other, at + shift, size)


@inner
def add_flow(amounts, table, feature, group, q, f, layer, p, other, at, copy, copies, score):
    """Adds to scores of rows of z what flows through a pair that shows a feature of y.

    Args:
        group: the group of each joint count; those of group q are looked at.
        other: backward values, those of what follows the pair from ``at`` on.
        copy: how far apart rows are that count one more, where these differ.
        score: the scores of a position, (score rows,).
    """
    flow, begins = flow_of(f, layer, p, other, at), amounts.begins[table]
    for e in range(unsigned(begins[feature]), unsigned(begins[feature + 1])):
        if group[amounts.joint[amounts.row[e]]] == q:
            score[amounts.row[e]] += amounts.amount[e] * flow
