"""The core of a loss in Python: states are what its function returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct
from fsmeu.losses.function import FunctionView
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.core import Gain

__all__ = ["FunctionCore"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FunctionCore:
    """The core of a loss in Python: nothing is known to add up, and a context is a label."""

    def __init__(self, loss: Loss) -> None:
        view = loss.swapped.view(1, np.zeros(1, np.int64))
        assert isinstance(view, FunctionView)
        self._view, self.labels, self.start = view, view.symbols, 0
        self.first = np.array([view.start], np.int64)
        self.n = self.sums = 0
        self.sum_order: list[int] = []
        self.steady: Ints | None = None

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given: always."""
        return True

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The label of each position (rows, n), and no constants (rows, 0)."""
        return ys, np.zeros((len(ys), 0))

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and no sums."""
        self._view.z = np.array([context])
        targets = self._view.advance(1, codes)[0]
        return *distinct(targets), []

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Always: there are none."""
        return True

    def ends(self, codes: Ints) -> Floats:
        """The value of each state, (states, 1)."""
        return self._view.values(codes)[0][:, None]

    def begin(self, n: int) -> Floats:
        """No sums."""
        return np.zeros(0)

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape."""
        return np.broadcast_to(ends[0], shape).astype(np.float64)

    def slopes(self, n: int, constants: Floats) -> None:
        """Nothing is known to be linear."""

    def check(self, n: int, values: Floats) -> None:
        """Nothing is declared."""
