"""What rounding can do to sums and products of doubles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.twofold import UNIT

LEAST = float(np.finfo(np.float64).tiny)  # below it doubles lose digits, UNIT * LEAST each time
_FEW = 4  # roundings of a product, and behind a factor that is a value of a file
DIGITS = 1e-10  # an expectation whose error may be a greater part of it is looked at again


def relative_error(operations: float) -> float:
    """A bound on the relative error of so many operations that cancel nothing."""
    return 1.1 * operations * UNIT


def least_error_of_sweep(n: int, behind: int) -> float:
    """A relative error below which the bound of no sweep over n positions is.

    Each position multiplies a mass by a weight and adds it to others, and the model has ``behind``
    roundings behind it; so has the sum of values, and so has the mass that it is divided by.
    """
    return relative_error(2 * (2 * n + behind))


class BoundedArray(NamedTuple):
    """Numbers, and bounds on their errors, (k,) each."""

    values: Floats
    errors: Floats

    def plus(self, other: BoundedArray) -> BoundedArray:
        """The sums, one by one."""
        values = self.values + other.values
        return BoundedArray(values, self.errors + other.errors + UNIT * np.abs(values))


class BoundedValue(NamedTuple):
    """A number, and a bound on its error."""

    value: float
    error: float

    def plus(self, other: BoundedValue) -> BoundedValue:
        """The sum."""
        value = self.value + other.value
        return BoundedValue(value, self.error + other.error + UNIT * abs(value))

    def times(self, factors: Floats) -> BoundedArray:
        """The products with several numbers, (k,), that some roundings are behind."""
        if not factors.any():
            return BoundedArray(np.zeros(len(factors)), np.zeros(len(factors)))
        off = self.error + _FEW * UNIT * abs(self.value)
        return BoundedArray(self.value * factors, off * np.abs(factors))


class DegenerateProbabilities(NamedTuple):
    """The probabilities of the references without ones, and with nothing else."""

    no_ones: BoundedValue
    all_ones: BoundedValue

    def worth(self, no_ones: Floats, all_ones: Floats) -> BoundedArray:
        """What these references add to values, given what each of them adds, (k,)."""
        without_ones = self.no_ones.times(no_ones)
        if not all_ones.any():
            return without_ones
        return without_ones.plus(self.all_ones.times(all_ones))


class BoundedValues(NamedTuple):
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


def one_value(value: float, mass: float, size: float, roundings: int) -> BoundedValues:
    """A batch of one expectation."""
    return BoundedValues(np.array([value]), np.array([mass]), np.array([size]), roundings)


def joined(parts: Sequence[BoundedValues]) -> BoundedValues:
    """The sums of several batches as one batch."""
    values, masses, sizes, roundings = zip(*parts, strict=True)
    whole = (np.concatenate(column) for column in (values, masses, sizes))
    return BoundedValues._make((*whole, max(roundings)))
