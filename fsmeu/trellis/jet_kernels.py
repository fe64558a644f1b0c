"""Rows of moments of y's counter, as kernels add them up: polynomials in t, cut at some order.

Row j of a pair is E[count^j; pair] / j!: the coefficient of t^j in E[exp(t count); pair]. To count
c more multiplies a row by exp(c t), and what follows is counted by the product of two rows. This is
the expectation semiring of Li and Eisner 2009 carried to higher orders, for one variable.
"""

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled import inner, part, row_size, unsigned_of

fill = part("count_kernels").fill
unsigned = unsigned_of()

SIZE = row_size()  # the length of rows: known to the compiler, which unrolls loops over them
INVERSE = 1.0 / np.arange(1.0, SIZE + 1.0)  # 1 / (j + 1)


@inner
def padded(columns):
    """The length of a row of so many coefficients."""
    return SIZE


@inner
def usable(columns, shift):
    """The length of a row, whatever is counted."""
    return SIZE


@inner
def add(into, goal, shift, factor, row, at, size):
    """Adds a multiple of a row to another, so much being counted after it."""
    goal, at = unsigned(goal), unsigned(at)
    if shift == 0:
        for j in range(SIZE):
            into[goal + unsigned(j)] += factor * row[at + unsigned(j)]
        return
    for j in range(SIZE):
        term = factor * row[at + unsigned(j)]
        for k in range(SIZE - j):
            into[goal + unsigned(j + k)] += term
            term *= shift * INVERSE[k]


@inner
def add_arcs(into, goal, shift, size, rows, stride, arc, begin, end, weights, first):
    """Adds to a row what arcs (number of a row of ``rows``, 0, weight) lead to."""
    for e in range(unsigned(begin), unsigned(end)):
        weight = weights[unsigned(first) + unsigned(arc[e, 2])]
        add(into, goal, 0, weight, rows, unsigned(arc[e, 0]) * unsigned(SIZE), SIZE)


@inner
def fill_shifted_copies(rows, classes, size, copies):
    """Fills the rows of classes for arcs that count 1, ..., copies - 1, from those that do not."""
    fill(rows, classes * SIZE, classes * SIZE * copies, 0.0)
    for counted in range(1, copies):
        for c in range(classes):
            goal = (c + counted * classes) * SIZE
            add(rows, goal, counted, 1.0, rows, c * SIZE, SIZE)


@inner
def add_flow(amounts, table, feature, group, q, f, layer, p, other, at, copy, copies, score):
    """Adds to scores of rows of z what flows through a pair that shows a feature of y.

    As in ``count_kernels.py``; the scores of each row stand one after the other, and rows that
    count one more, of which there are ``copies``, are ``copy`` apart.
    """
    row, shift = unsigned(f.place[layer, p, 0]), f.place[layer, p, 1]
    copied = min(shift, copies - 1)
    at, left = unsigned(at + copied * copy), shift - copied
    for e in range(amounts.begins[table, feature], amounts.begins[table, feature + 1]):
        if group[amounts.joint[amounts.row[e]]] == q:
            goal, scale = unsigned(amounts.row[e] * SIZE), amounts.amount[e] * f.scale[layer, p]
            j = unsigned(0)
            while j < unsigned(SIZE):
                flow, a = 0.0, unsigned(0)
                while a <= j:
                    flow += f.mass[row + a] * other[at + (j - a)]
                    a += unsigned(1)
                add_power(score, goal, j, scale * flow, left)
                j += unsigned(1)


@inner
def add_power(score, goal, j, flow, left):
    """Adds to a row of scores the coefficient j of a polynomial times exp(left t)."""
    score[goal + j] += flow
    if left > 0:  # asked once: the loop is unrolled only then
        k = j + unsigned(1)
        while k < unsigned(SIZE):
            flow *= left * INVERSE[k - j - unsigned(1)]
            score[goal + k] += flow
            k += unsigned(1)
