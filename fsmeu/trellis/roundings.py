"""What rounding can do to sums and products of doubles."""

from __future__ import annotations

import numpy as np

__all__ = ["UNIT", "relative_error"]

UNIT = float(np.finfo(np.float64).eps) / 2
"""The relative error of one operation."""


def relative_error(operations: int) -> float:
    """A bound on the relative error of so many operations that cancel nothing."""
    return 1.1 * operations * UNIT
