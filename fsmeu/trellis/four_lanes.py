"""Arithmetic of four lanes at a time: tuples of four numbers, which compilers keep in one register.

Products and sums may be one operation, and quotients products with reciprocals. Tables have four
columns.
"""

from __future__ import annotations

from functools import partial

from fsmeu.arrays import Floats
from fsmeu.jit import jit_helper

LANES = 4
Four = tuple[float, float, float, float]

NONE: Four = (0.0, 0.0, 0.0, 0.0)
ALL: Four = (1.0, 1.0, 1.0, 1.0)

_small = partial(jit_helper, fastmath={"contract", "arcp"}, forceinline=True)


@_small
def four(table: Floats, row: int) -> Four:
    """A row of a table, (rows, 4)."""
    return table[row, 0], table[row, 1], table[row, 2], table[row, 3]


@_small
def put(table: Floats, row: int, a: Four) -> None:
    """Sets a row of a table."""
    table[row, 0] = a[0]
    table[row, 1] = a[1]
    table[row, 2] = a[2]
    table[row, 3] = a[3]


@_small
def four_at(tables: Floats, i: int, row: int) -> Four:
    """A row of one of several tables, (tables, rows, 4)."""
    return tables[i, row, 0], tables[i, row, 1], tables[i, row, 2], tables[i, row, 3]


@_small
def put_at(tables: Floats, i: int, row: int, a: Four) -> None:
    """Sets a row of one of several tables."""
    tables[i, row, 0] = a[0]
    tables[i, row, 1] = a[1]
    tables[i, row, 2] = a[2]
    tables[i, row, 3] = a[3]


@_small
def scaled(factor: float, a: Four) -> Four:
    """A multiple."""
    return factor * a[0], factor * a[1], factor * a[2], factor * a[3]


@_small
def mixed(p: float, a: Four, q: float, b: Four) -> Four:
    """p a + q b."""
    return p * a[0] + q * b[0], p * a[1] + q * b[1], p * a[2] + q * b[2], p * a[3] + q * b[3]


@_small
def plus(a: Four, b: Four) -> Four:
    """The sums."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


@_small
def minus(a: Four, b: Four) -> Four:
    """The differences."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]


@_small
def times(a: Four, b: Four) -> Four:
    """The products."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]


@_small
def over(a: Four, b: Four) -> Four:
    """The quotients."""
    return a[0] / b[0], a[1] / b[1], a[2] / b[2], a[3] / b[3]


@_small
def absolute(a: Four) -> Four:
    """The numbers without their signs."""
    return abs(a[0]), abs(a[1]), abs(a[2]), abs(a[3])


@_small
def _greater(a: float, b: float) -> float:
    """The greater of two numbers; a where b is NaN, unlike that of max()."""
    return b if b > a else a  # noqa: FURB136


@_small
def greater(a: Four, b: Four) -> Four:
    """The greater of two numbers each; a where b is NaN."""
    return _greater(a[0], b[0]), _greater(a[1], b[1]), _greater(a[2], b[2]), _greater(a[3], b[3])


@_small
def _lesser(a: float, b: float) -> float:
    """The lesser of two numbers; a where b is NaN, unlike that of min()."""
    return b if b < a else a  # noqa: FURB136


@_small
def lesser(a: Four, b: Four) -> Four:
    """The lesser of two numbers each; a where b is NaN."""
    return _lesser(a[0], b[0]), _lesser(a[1], b[1]), _lesser(a[2], b[2]), _lesser(a[3], b[3])


@_small
def any_positive(a: Four) -> bool:
    """Whether some number is above 0."""
    return a[0] > 0.0 or a[1] > 0.0 or a[2] > 0.0 or a[3] > 0.0
