"""What computes sweeps and queries: numpy, or loops that numba has compiled (the extra "fast")."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.extras import is_installed
from fsmeu.limits import COMPILED_ORACLE_WORK, KEPT_ORACLE_SCORES
from fsmeu.searn.oracle import numpy_counts
from fsmeu.searn.oracle.pool import Paths, Pool
from fsmeu.searn.oracle.reached import Ends, Points

__all__ = ["Loops", "Work"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Whole = NDArray[np.signedinteger]


_CELL, _STATE = 1, 15
"""Microseconds that a cell of a sweep and a state of a query take with numpy, about."""


class Loops(Protocol):
    """The functions of ``numpy_counts``; both give the same numbers."""

    def fill(self, pool: Pool, paths: Paths, most: Whole, least: Whole) -> None:
        """Fills the cells of all layers."""

    def scores(
        self, paths: Paths, best: Whole, ends: Ends, layers: Ints, machines: Ints, points: Points
    ) -> Floats:
        """The best score that can be reached from each state, (batch,)."""

    def costs(
        self,
        pool: Pool,
        paths: Paths,
        best: Whole,
        ends: Ends,
        layers: Ints,
        machines: Ints,
        points: Points,
    ) -> Floats:
        """The cost of each label in each state, (batch, labels)."""

    def costs_one(
        self,
        pool: Pool,
        paths: Paths,
        best: Whole,
        ends: Ends,
        layer: int,
        machine: int,
        at_class: int,
        ridden: int,
        counted: int,
    ) -> Floats:
        """The cost of each label in one state, (labels,)."""


class Work:
    """What the oracles of a loss share: how much they computed, and some scores at the end.

    Attributes:
        tables: scores by what they depend on.
    """

    def __init__(self) -> None:
        self._done, self._cells = 0, 0
        self.tables: dict[Hashable, Floats] = {}

    def keep(self, key: Hashable, table: Floats) -> None:
        """Keeps scores, as long as they are not too many."""
        if self._cells + table.size > KEPT_ORACLE_SCORES:
            self.tables.clear()
            self._cells = 0
        self.tables[key] = table
        self._cells += table.size

    def loops(self, cells: int = 0, states: int = 0) -> Loops:
        """What fills so many cells, or answers for so many states: loading loops takes a while."""
        self._done += cells * _CELL + states * _STATE
        if self._done < COMPILED_ORACLE_WORK or not is_installed("numba"):
            return numpy_counts
        from fsmeu.searn.oracle import compiled_counts

        return compiled_counts
