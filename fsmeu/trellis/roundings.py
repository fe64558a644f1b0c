"""What rounding can do to sums and products of doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one operation
LEAST = float(np.finfo(np.float64).tiny)  # below it doubles lose digits, UNIT * LEAST each time
DIGITS = 1e-10  # an expectation whose error may be a greater part of it is looked at again


def relative_error(operations: int) -> float:
    """A bound on the relative error of so many operations that cancel nothing."""
    return 1.1 * operations * UNIT


def least_error_of_sweep(n: int) -> float:
    """A relative error below which the bound of no sweep over n positions is.

    Each position multiplies a mass by a weight and adds it to others.
    """
    return relative_error(2 * n)


class Sums(NamedTuple):
    """Expectations as sums of terms, and what bounds their rounding errors."""

    values: Floats  # the expectations, (batch,)
    masses: Floats  # the masses of the models, (batch,)
    sizes: Floats  # the same sums of the terms without their signs, or more, (batch,)
    roundings: int  # a bound on the number of roundings behind each term

    @property
    def errors(self) -> Floats:
        """Bounds on the errors of the expectations, (batch,); 0 where all values are."""
        underflow = np.where((self.sizes > 0) | (self.masses == 0), LEAST, 0.0)
        errors: Floats = relative_error(self.roundings) * self.sizes + underflow
        return errors


def joined(parts: Sequence[Sums]) -> Sums:
    """The sums of several batches as one batch."""
    values, masses, sizes, roundings = zip(*parts, strict=True)
    whole = (np.concatenate(column) for column in (values, masses, sizes))
    return Sums._make((*whole, max(roundings)))


@dataclass(frozen=True, eq=False)
class Twofold:
    """Numbers as sums of two doubles each, the first of which is the number rounded.

    Sums lose a relative error of a few units of rounding squared (Dekker 1971), of the terms
    without signs.
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
