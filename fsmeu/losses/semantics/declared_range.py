"""The range that a loss file declares for its value."""

from __future__ import annotations

import math
from functools import lru_cache

from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.language.messages import fault
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.evaluator import constant_at

_SLACK = 1e-9


class RangeError(LossFileError):
    """A value lies outside the range that its file declares."""


def declared_range(bound: BoundLoss, n: int) -> tuple[float, float]:
    """The least and the greatest value for sequences of length n; infinite where none is said."""
    if bound.spec.range is None:
        return -math.inf, math.inf
    low, high = (constant_at(bound, side, n) for side in bound.spec.range)
    return low, high


@lru_cache(maxsize=256)
def _with_slack(bound: BoundLoss, n: int) -> tuple[float, float]:
    """The same with room for rounding."""
    low, high = declared_range(bound, n)
    sides = [abs(side) for side in (low, high) if math.isfinite(side)]
    slack = _SLACK * (max(sides, default=0.0) or 1.0)
    return low - slack, high + slack


def within_range(bound: BoundLoss, n: int, value: float) -> bool:
    """True when a value lies in the range that the file declares, up to rounding."""
    low, high = _with_slack(bound, n)
    return low <= value <= high


def check_range(bound: BoundLoss, n: int, values: Floats) -> None:
    """Refuses values, or means of values, outside the range that the file declares.

    Raises:
        RangeError: one lies outside by more than rounding.
    """
    spec = bound.spec
    if spec.range is None:
        return
    for value in (values.min(), values.max()) if len(values) else ():
        if not within_range(bound, n, value):
            low, high = declared_range(bound, n)
            message = f"a value of {value:g} occurs, the declared range is {low:g} .. {high:g}"
            place = spec.range[0].place
            text = str(fault(spec.origin, spec.source, place, message))
            raise RangeError(text, place.line, place.column)
