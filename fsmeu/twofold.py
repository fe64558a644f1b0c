"""Numbers as sums of two doubles, for sums and products that keep all digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Floats

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one operation


@dataclass(frozen=True, eq=False)
class Twofold:
    """Numbers as sums of two doubles each, the first of which is the number rounded.

    Sums lose a relative error of a few units of rounding squared (Dekker 1971), of the terms
    without signs. A number whose first double is infinite has 0 as the second.
    """

    high: Floats  # the numbers, rounded
    low: Floats  # what is missing there, of the same shape

    def __getitem__(self, index: Any) -> Twofold:
        """Some of the numbers, as numpy indexes arrays."""
        return Twofold(self.high[index], self.low[index])

    def __add__(self, other: Twofold) -> Twofold:
        """The sums, element by element."""
        high, low = two_sum(self.high, other.high)
        more, rest = two_sum(self.low, other.low)
        high, low = two_sum(high, low + more)
        return Twofold(*two_sum(high, low + rest))

    def __sub__(self, other: Twofold) -> Twofold:
        """The differences, element by element."""
        return self + Twofold(-other.high, -other.low)


def two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The rounded sums, and what rounding took from them (Knuth)."""
    total = one + other
    second = total - one
    return total, (one - (total - second)) + (other - second)


def twofold_product(one: Floats, other: Floats) -> Twofold:
    """The products of doubles that are not very great (below 1e290), exact but for underflow."""
    product = np.multiply(one, other)
    (a, b), (c, d) = _halves(one), _halves(other)
    return Twofold(product, ((a * c - product) + a * d + b * c) + b * d)


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """Numbers of at most 26 digits each whose sums these are (Veltkamp)."""
    shifted = numbers * 134217729.0  # 2^27 + 1
    high = shifted - (shifted - numbers)
    return high, numbers - high
