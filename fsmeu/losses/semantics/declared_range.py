"""The range that a loss file declares for its value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.losses.language.messages import fault
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.evaluator import constant_at

__all__ = ["RangeError", "check_range", "declared_range"]

Floats = NDArray[np.float64]

_SLACK = 1e-9


class RangeError(LossFileError):
    """A value lies outside the range that its file declares."""


def declared_range(bound: BoundLoss, n: int) -> tuple[float, float]:
    """The least and the greatest value for sequences of length n; infinite where none is said."""
    if bound.spec.range is None:
        return -math.inf, math.inf
    low, high = (constant_at(bound, side, n) for side in bound.spec.range)
    return low, high


def check_range(bound: BoundLoss, n: int, values: Floats) -> None:
    """Refuses values, or means of values, outside the range that the file declares.

    Raises:
        RangeError: one lies outside by more than rounding.
    """
    spec = bound.spec
    if spec.range is None or not len(values):
        return
    low, high = declared_range(bound, n)
    sides = [abs(side) for side in (low, high) if math.isfinite(side)]
    slack = _SLACK * (max(sides, default=0.0) or 1.0)
    least, most = float(values.min()), float(values.max())
    if least < low - slack or most > high + slack:
        worst = least if least < low - slack else most
        message = f"a value of {worst:g} occurs, the declared range is {low:g} .. {high:g}"
        place = spec.range[0].place
        text = str(fault(spec.origin, spec.source, place, message))
        raise RangeError(text, place.line, place.column)
