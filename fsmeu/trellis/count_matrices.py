"""Distributions of a counter over long chains: products of matrices of polynomials, as a tree.

An entry (s, t) of a matrix is a generating function of the counter's growth on all paths from state
s to state t of the model: probabilities, and beside them the expectation of each joint count
(Eisner 2002). Matrices of neighbouring stretches are multiplied pairwise. Each holds a window of
counts that lacks little mass; widths grow as the root of the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.count_windows import without_ends

__all__ = ["CountMatrix", "product_of_all", "stretches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STRETCH = 64
"""Positions of a stretch; its matrix is made position by position, for all stretches at once."""

_CUT = 1e-18
"""What each end of a window may be short of."""


@dataclass(frozen=True, eq=False)
class CountMatrix:
    """Masses and expectations of a stretch, for counts low, low + 1, ...

    Attributes:
        low: the least count.
        tables: (1 + joint counts, states, states, counts): masses first.
        lost: a bound on the mass that is missing, from any state.
        operations: a bound on the number of roundings behind each number.
    """

    low: int
    tables: Floats
    lost: float
    operations: int


def stretches(weights: Floats, counted: Ints, gains: Floats) -> list[CountMatrix]:
    """The matrices of stretches of up to 64 positions.

    Args:
        weights: the weight of going from state to state by a label, (n, states, labels, states).
        counted: what each label adds to the counter, (labels,).
        gains: what it adds to each joint count, (joint counts, n, labels).
    """
    n, states, labels = weights.shape[:3]
    groups, most = -(-n // _STRETCH), int(counted.max(initial=0))
    width = min(n, _STRETCH) * most + 1
    tables = np.zeros((1 + len(gains), groups, states, states, width))
    tables[0, :, range(states), range(states), 0] = 1.0
    for k in range(min(n, _STRETCH)):
        rows = np.arange(k, n, _STRETCH)
        held, after = tables[:, : len(rows)], np.zeros((len(tables), len(rows), *tables.shape[2:]))
        for label in range(labels):
            step = weights[rows, :, label]  # (groups, states, states)
            moved = np.einsum("qgasc,gst->qgatc", held, step)
            for count, gain in enumerate(gains, start=1):
                moved[count] += gain[rows, label][:, None, None, None] * moved[0]
            amount = int(counted[label])
            after[..., amount:] += moved[..., : moved.shape[-1] - amount]
        tables[:, : len(rows)] = after
    operations = _STRETCH * (states * labels + 4)
    return [_cut(CountMatrix(0, tables[:, g], 0.0, operations)) for g in range(groups)]


def product_of_all(parts: Sequence[CountMatrix]) -> CountMatrix:
    """The matrix of all stretches, one after the other."""
    held = list(parts)
    while len(held) > 1:
        pairs = [_product(one, other) for one, other in zip(held[0::2], held[1::2], strict=False)]
        held = pairs + held[len(held) - len(held) % 2 :]
    return held[0]


def _product(left: CountMatrix, right: CountMatrix) -> CountMatrix:
    """The matrix of two stretches, one after the other."""
    quantities, states, _, width = left.tables.shape
    found = np.zeros((quantities, states, states, width + right.tables.shape[3] - 1))
    for s, via, t in np.ndindex(states, states, states):
        one, other = left.tables[:, s, via], right.tables[:, via, t]
        found[0, s, t] += np.convolve(one[0], other[0])
        for count in range(1, quantities):
            found[count, s, t] += np.convolve(one[count], other[0])
            found[count, s, t] += np.convolve(one[0], other[count])
    terms = states * min(width, right.tables.shape[3]) + 2
    operations = left.operations + right.operations + terms
    return _cut(CountMatrix(left.low + right.low, found, left.lost + right.lost, operations))


def _cut(matrix: CountMatrix) -> CountMatrix:
    """The matrix without counts of little mass at both ends of its window."""
    mass = matrix.tables[0].sum(axis=1).max(axis=0)  # (counts,)
    kept, off = without_ends(mass, _CUT)
    tables = np.ascontiguousarray(matrix.tables[..., kept])
    return CountMatrix(matrix.low + kept.start, tables, matrix.lost + off, matrix.operations)
