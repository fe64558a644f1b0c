"""Numbers as sums of two doubles, for sums, differences and logarithms that keep all digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Floats

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one operation
_LOG_2 = float.fromhex("0x1.62e42feep-1")  # in 33 digits: its product with an exponent is exact
_LOG_2_REST = float.fromhex("0x1.a39ef35793c76p-33")
_SUMMED_CELLS = 1 << 18  # numbers that are summed at once, so that halves of them take a few MB


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

    def plus(self, numbers: Floats | float) -> Twofold:
        """The sums with doubles, element by element; finite numbers with -inf are -inf."""
        with np.errstate(invalid="ignore"):
            high, low = two_sum(self.high, np.asarray(numbers))
            high, low = two_sum(high, np.where(np.isfinite(high), low + self.low, 0.0))
        return Twofold(high, np.where(np.isfinite(high), low, 0.0))

    def exp(self) -> Floats:
        """exp of the numbers, (...), within 4 units of rounding where it is an ordinary double."""
        with np.errstate(over="ignore", under="ignore"):
            power: Floats = np.exp(self.high)
        return power * (1.0 + np.where(power > 0, self.low, 0.0))


def twofold(numbers: Floats) -> Twofold:
    """Doubles as they are."""
    return Twofold(numbers, np.zeros_like(numbers))


def twofold_log(numbers: Floats) -> Twofold:
    """The natural logarithm of doubles, within one unit of rounding of 1; -inf at 0."""
    fraction, exponent = np.frexp(numbers)
    small = fraction < 0.7
    fraction = np.where(small, 2 * fraction, fraction)
    power = np.where(small, exponent - 1, exponent)
    with np.errstate(divide="ignore"):
        logs = twofold(np.log(fraction))
    return logs.plus(power * _LOG_2_REST).plus(power * _LOG_2)


def row_sums(array: Floats) -> Twofold:
    """The sums over the last axis, which is kept, (..., 1)."""
    rows = array.reshape(-1, array.shape[-1])
    sums = np.zeros((2, len(rows), 1))
    size = max(1, _SUMMED_CELLS // max(1, rows.shape[1]))
    for begin in range(0, len(rows), size):
        part = twofold(rows[begin : begin + size])
        while (width := part.high.shape[1]) > 1:
            half = width // 2
            total = part[:, :half] + part[:, half : 2 * half]
            if width % 2:
                total = total + Twofold(*(_last_alone(x, half) for x in (part.high, part.low)))
            part = total
        if rows.shape[1]:
            sums[:, begin : begin + size] = part.high, part.low
    return Twofold(*sums.reshape(2, *array.shape[:-1], 1))


def _last_alone(columns: Floats, width: int) -> Floats:
    """The last column as the first of ``width``, the others 0."""
    result = np.zeros((len(columns), width))
    result[:, 0] = columns[:, -1]
    return result


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
