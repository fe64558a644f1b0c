"""What rounding can do to sums and products of doubles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "UNIT", "Sums", "relative_error"]

Floats = NDArray[np.float64]

UNIT = float(np.finfo(np.float64).eps) / 2
"""The relative error of one operation."""

LEAST = float(np.finfo(np.float64).tiny)
"""Where doubles begin to lose digits; an operation there loses a unit of rounding of it."""


def relative_error(operations: int) -> float:
    """A bound on the relative error of so many operations that cancel nothing."""
    return 1.1 * operations * UNIT


class Sums(NamedTuple):
    """Expectations as sums of terms, and what bounds their rounding errors.

    Attributes:
        values: the expectations, (batch,).
        masses: the masses of the models, (batch,).
        sizes: the same sums of the terms without their signs, or more, (batch,).
        roundings: a bound on the number of roundings behind each term.
    """

    values: Floats
    masses: Floats
    sizes: Floats
    roundings: int

    @property
    def errors(self) -> Floats:
        """Bounds on the errors of the expectations, (batch,)."""
        return relative_error(self.roundings) * self.sizes + LEAST
