"""What a number promises, and the one guard against cancellation.

A value is computed in doubles, and promised up to ``PROMISED`` of its *scale*: its absolute value,
or a part of the width of the declared range where the value is next to 0. No rounding is bounded
anywhere: a decision is looked at again by another sweep. But where terms of a sum have both signs,
digits cancel. The same sum of absolute values tells how many: an ``Estimate`` has both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats

PROMISED = 1e-9  # how far a value may be off, as a part of its scale
LOST_DIGITS = 1e-13  # what rounding takes from a long sum, as a part of that of absolute values
NEXT_TO_ZERO = 1e-3  # the part of a declared range below which values are next to 0


def scale_of(value: Any, width: Any = math.inf) -> Any:
    """The scale of values, in their shape, given the width of their range.

    Where no finite range is declared, values are taken to be of the order of 1.
    """
    if isinstance(width, float):
        least = NEXT_TO_ZERO * (width if math.isfinite(width) else 1.0)
        return max(abs(value), least) if isinstance(value, float) else np.maximum(abs(value), least)
    return np.maximum(np.abs(value), NEXT_TO_ZERO * width)


class Estimate(NamedTuple):
    """Expected values, each with the same sum without signs; (batch,) arrays."""

    values: Floats
    sizes: Floats  # sums of the absolute values of what the values are sums of, or more
    masses: Floats  # of the models

    def reach(self, width: float = math.inf) -> Floats:
        """How far values may be off, (batch,): what is promised, or more where digits cancel."""
        # Values that are nowhere of the order of 1 have a scale of their own.
        widths = width if math.isfinite(width) else np.minimum(1.0, self.sizes)
        reach: Floats = np.maximum(PROMISED * scale_of(self.values, widths), self.lost)
        return reach

    @property
    def lost(self) -> Floats:
        """How much of the values cancelling may have taken, (batch,)."""
        return LOST_DIGITS * self.sizes

    def cancels(self, width: float = math.inf) -> Bools:
        """Which values have lost digits that are promised, (batch,)."""
        cancels: Bools = self.lost > PROMISED * scale_of(self.values, width)
        return cancels


def one_estimate(value: float, size: float, mass: float = 1.0) -> Estimate:
    """A batch of one expectation."""
    return Estimate(np.array([value]), np.array([size]), np.array([mass]))


def joined(parts: Sequence[Estimate]) -> Estimate:
    """Several batches as one."""
    return Estimate(*(np.concatenate(column) for column in zip(*parts, strict=True)))
