"""Expected values of short rows of independent labels, by tables of all counts.

With ones of z at the first k of n labels, A ones of y among them and B among the others are
independent, and their distributions are running sums of positive products. So the expectation of
any value of the confusion table is a sum over all A and B: n^3 / 6 terms for all k together, fewer
operations than the nodes of a rule need (``independent.py``) while n is small.

**Roundings.** Each label makes three in a probability of A or of B: 1 - p, a product, a sum. A term
is a product of three, and at most n + 2 of them are added up one after the other: less than
8 n + 16 units of rounding of the sum of all terms without signs, and a smallest double for each
term that is too small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error
from fsmeu.twofold import UNIT


class RowValues(ABC):
    """Expected values of all numbers of ones, for rows of labels of one length n."""

    @abstractmethod
    def values(self, rows: Floats) -> tuple[Floats, Floats]:
        """Values and bounds on their errors, (rows, n + 1) each, for P(1) descending, (rows, n)."""


@dataclass(frozen=True, eq=False)
class CountTables(RowValues):
    """Values by tables of all counts."""

    n: int
    table: Floats  # the value by k, A and B, one after the other

    def values(self, rows: Floats) -> tuple[Floats, Floats]:
        """Values and bounds on their errors."""
        from fsmeu.trellis.ranked_kernels import expected_tables

        values = np.empty((len(rows), self.n + 1))
        errors = np.empty((len(rows), self.n + 1))
        underflow = (self.n + 2) ** 2 * LEAST * float(np.abs(self.table).max())
        expected_tables(rows, self.table, values, errors)
        errors *= relative_error(8 * self.n + 16)
        errors += underflow
        return values, errors


def count_tables(form: Confusion, n: int) -> CountTables:
    """The values of all tables of a length; a LossFileError where one has none."""
    cells = _cells(n)
    return CountTables(n, value_of_counts(form, n, cells.a, cells.k, cells.a + cells.b))


def grows_with_hits(tables: CountTables, sign: float) -> bool:
    """Whether no value gets worse by one more true positive, the number of ones of y given.

    Steps that are worse by less than four units of rounding of the two values do not count.
    """
    cells = _cells(tables.n)
    before = np.flatnonzero((cells.a < cells.k) & (cells.b > 0))
    after = before + (tables.n - cells.k[before]).astype(np.int64)  # a + 1 and b - 1
    less = sign * tables.table[before]
    more = sign * tables.table[after]
    return not (less - more > 8 * UNIT * np.maximum(np.abs(less), np.abs(more))).any()


class _Cells(NamedTuple):
    """All k, a <= k and b <= n - k, in the order of a table, (cells,) each."""

    k: Floats
    a: Floats
    b: Floats


@lru_cache(maxsize=limits.FEWEST_FOR_NODES)
def _cells(n: int) -> _Cells:
    size = n + 1
    k, a, b = np.mgrid[:size, :size, :size].astype(np.float64)
    possible = (a <= k) & (b <= n - k)
    return _Cells(k[possible], a[possible], b[possible])
