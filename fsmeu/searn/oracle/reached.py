"""What the sweep of counted oracles reaches: states as class and sums, and scores at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ends", "Points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Points:
    """States within a layer; arrays of one shape.

    Attributes:
        classes: the class.
        ridden: the sum so far of which the best is kept, without its start.
        counted: the sum so far that is an axis, without its start.
    """

    classes: Ints
    ridden: Ints
    counted: Ints


@dataclass(frozen=True, eq=False)
class Ends:
    """Scores at the end, greater being better; arrays by machine but for ``scores``.

    Attributes:
        scores: those of all machines; of one, (values of the axis, values of the sum that rides).
        begins: where those of each machine begin.
        low: the least value of the sum that rides.
        width: how many values it has.
        direction: 1 where a greater sum is better, else -1.
    """

    scores: Floats
    begins: Ints
    low: Ints
    width: Ints
    direction: Ints

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        arrays = (self.scores, self.begins, self.low, self.width, self.direction)
        return sum(array.nbytes for array in arrays)
