"""Compiled loops over ranked labels: tables of all counts, and the best numbers of ones."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.jit import jit_entry, jit_helper

# -- all counts of short rows ----------------------------------------------------------------------

# Sums in any order: what bounds their roundings counts operations alone.
_free_entry = partial(jit_entry, fastmath={"contract", "reassoc"})


@jit_helper
def _fill_prefix_counts(p: Floats, is_turned: bool, counts: Floats) -> None:
    counts[0, 0] = 1.0
    n = len(p)
    for k in range(n):
        chance = p[n - 1 - k] if is_turned else p[k]
        other = 1.0 - chance
        counts[k + 1, 0] = counts[k, 0] * other
        for c in range(1, k + 1):
            counts[k + 1, c] = counts[k, c] * other + counts[k, c - 1] * chance
        counts[k + 1, k + 1] = counts[k, k] * chance


@jit_entry
def prefix_counts(p: Floats, is_turned: bool) -> Floats:
    """P(the first k labels hold c ones), (n + 1, n + 1), given P(1); of the last k if turned."""
    counts = np.zeros((len(p) + 1, len(p) + 1))
    _fill_prefix_counts(p, is_turned, counts)
    return counts


@_free_entry
def expected_tables(rows: Floats, table: Floats, values: Floats, sizes: Floats) -> None:
    """Fills expected values, and those of absolute values, (rows, n + 1) each.

    Args:
        rows: P(1) in the order in which ones of z are taken, (rows, n).
        table: the value by numbers of ones of z, of those where y has ones, too, and of other ones
            of y, for all k, a <= k and b <= n - k one after the other.
        values: filled.
        sizes: filled.
    """
    n = rows.shape[1]
    first = np.zeros((n + 1, n + 1))
    last = np.zeros((n + 1, n + 1))
    is_signed = table.min() < 0.0
    for row in range(len(rows)):
        _fill_prefix_counts(rows[row], False, first)
        _fill_prefix_counts(rows[row], True, last)
        cell = 0
        for k in range(n + 1):
            value = 0.0
            size = 0.0
            width = n - k + 1
            others = last[n - k]
            for a in range(k + 1):
                part = 0.0
                for b in range(width):
                    part += table[cell + b] * others[b]
                value += part * first[k, a]
                if is_signed:
                    part = 0.0
                    for b in range(width):
                        part += abs(table[cell + b]) * others[b]
                    size += part * first[k, a]
                cell += width
            values[row, k] = value
            sizes[row, k] = size if is_signed else value


# -- the best of rows ------------------------------------------------------------------------------


class BestOfRows(NamedTuple):
    """The best sequences of rows, those with ones at the most probable labels being candidates."""

    indices: Ints  # labels, (rows, n); of equal probabilities the first are ones
    values: Floats  # expected values, (rows,)
    errors: Floats  # bounds on their errors, (rows,)
    gaps: Floats  # bounds on how far others are above the best, (rows,)


@jit_entry
def choose_best(
    p: Floats, descending: Floats, values: Floats, errors: Floats, sign: float, best: BestOfRows
) -> None:
    """Fills the best sequences.

    Args:
        p: P(1), (rows, n).
        descending: the same in descending order.
        values: expected values by the number of ones, (rows, n + 1).
        errors: bounds on their errors.
        sign: 1 where greater values are better, -1 where smaller ones are.
        best: filled.
    """
    for row in range(len(p)):
        k = 0
        upper = -np.inf
        for other in range(values.shape[1]):
            score = sign * values[row, other]
            if not score <= sign * values[row, k]:  # a value that is no number is taken, and seen
                k = other
            upper = max(upper, score + errors[row, other])
        best.values[row] = values[row, k]
        best.errors[row] = errors[row, k]
        best.gaps[row] = upper - sign * values[row, k] + errors[row, k]
        fill_most_probable(p[row], descending[row], k, best.indices[row])


@jit_entry
def fill_most_probable(p: Floats, descending: Floats, k: int, indices: Ints) -> None:
    """Fills labels with ones at the k most probable positions, of equal ones the first, (n,)."""
    indices[:] = 0
    if k == 0:
        return
    last = descending[k - 1]
    left = k
    for i in range(len(p)):
        if p[i] > last:
            left -= 1
    for i in range(len(p)):
        if p[i] > last:
            indices[i] = 1
        elif p[i] == last and left:
            indices[i] = 1
            left -= 1
