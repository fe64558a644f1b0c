"""Sums over independent labels at the nodes of a rule, for many rows: loops (``ranked.py``).

Plain Python, or compiled (``kernels.py``). A label that is an item with probability q has the mass
f = 1 - q + q t at a node, t = exp(-x c) where an item counts c, and the *share* s = q t / f: the
expectation of the item, tilted by the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.kernels import jit_entry

LEAST = 1e-300  # added to masses of labels, so that none is 0


class Terms(NamedTuple):
    """A quotient at the nodes of a rule, for consecutive k.

    What multiplies masses is ``falls``, the weight of a node times exp(-x v). A node whose mass is
    up to its ``cutoff`` adds nothing that could be seen.
    """

    falls: Floats  # (nodes, ks)
    top: Floats  # coefficients of N on 1, and on items of both kinds, (3, ks)
    first: Floats  # t of items of the first k labels, (nodes,)
    second: Floats  # t of other items, (nodes,)
    cutoffs: Floats  # (nodes,)
    begin: int  # the first k
    is_even: bool  # whether items of both kinds are the same


@jit_entry
def add_terms(q: Floats, others: Floats, terms: Terms, after: Floats, values: Floats) -> None:
    """Adds the terms of a quotient to the expected values of rows, (rows, n + 1).

    Args:
        q: the probabilities with which labels are items where z has a one, (rows, n).
        others: the same where z has none.
        terms: the quotient.
        after: room, (2, n + 1), for masses and shares of the labels from k on.
        values: added to, by row and number of ones.
    """
    n = q.shape[1]
    for row in range(len(q)):
        mean = 0.0
        for i in range(n):
            mean += min(q[row, i], others[row, i])
        for m in range(len(terms.first)):
            t = terms.second[m]
            u = terms.first[m]
            if np.exp(-(1.0 - max(t, u)) * mean) <= terms.cutoffs[m]:  # at least the mass
                continue
            after[0, n] = 1.0
            after[1, n] = 0.0
            for i in range(n - 1, -1, -1):
                f = 1.0 - others[row, i] + others[row, i] * t + LEAST
                after[0, i] = after[0, i + 1] * f
                after[1, i] = after[1, i + 1] + others[row, i] * t / f
            mass = 1.0
            before = 0.0
            for k in range(terms.begin + terms.falls.shape[1]):
                if k >= terms.begin:
                    j = k - terms.begin
                    if terms.is_even:  # what the labels from k on have not got
                        before = after[1, 0] - after[1, k]
                    rest = terms.top[2, j] * after[1, k]
                    top = terms.top[0, j] + terms.top[1, j] * before + rest
                    all_mass = after[0, 0] if terms.is_even else mass * after[0, k]
                    values[row, k] += all_mass * terms.falls[m, j] * top
                if k < n and not terms.is_even:
                    f = 1.0 - q[row, k] + q[row, k] * u + LEAST
                    mass *= f
                    before += q[row, k] * u / f


class LabelsOfRows(NamedTuple):
    """Rows of labels as items, where z has a one (chosen) and where it has none, (rows, n)."""

    chosen: Floats  # 1 or 0
    q: Floats  # the probability of an item where it is 1
    others: Floats  # the same where it is 0
    first: Floats  # t of chosen items, (rows, nodes)
    second: Floats  # t of others, (rows, nodes)


@jit_entry
def fill_sums(labels: LabelsOfRows, sums: Floats) -> None:
    """Fills products of f and sums of s of chosen items and of others, (3, rows, nodes)."""
    for row in range(sums.shape[1]):
        for m in range(sums.shape[2]):
            t = labels.first[row, m]
            u = labels.second[row, m]
            mass = 1.0
            first = second = 0.0
            for i in range(labels.q.shape[1]):
                if labels.chosen[row, i] != 0.0:
                    q = labels.q[row, i]
                    f = 1.0 - q + q * t + LEAST
                    first += q / f
                else:
                    q = labels.others[row, i]
                    f = 1.0 - q + q * u + LEAST
                    second += q / f
                mass *= f
            sums[0, row, m] = mass
            sums[1, row, m] = first * t
            sums[2, row, m] = second * u
