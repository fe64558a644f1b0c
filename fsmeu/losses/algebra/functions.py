"""Functions of the number of ones of z, and their values for given numbers or for all of a block.

An *interval* holds numbers between two ends. Sums, products and powers of intervals hold all sums,
products and powers of what they hold, up to roundings (interval arithmetic), so that what is true
of an interval is true for all k of a block. Polynomials keep their coefficients, so that
differences which are 0 are seen to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fsmeu.arrays import Bools, Floats


@dataclass(frozen=True, eq=False)
class Interval:
    """Numbers between two ends, elementwise; the ends are one array where the numbers are known."""

    low: Floats
    high: Floats

    @property
    def is_known(self) -> bool:
        """Whether both ends are the same array."""
        return self.low is self.high

    def __getitem__(self, index: Any) -> Interval:
        """Some of the numbers, as numpy indexes arrays."""
        low = self.low[index]
        return Interval(low, low if self.is_known else self.high[index])

    def __add__(self, other: Interval) -> Interval:
        """The sums, elementwise."""
        low = self.low + other.low
        both = self.is_known and other.is_known
        return Interval(low, low if both else self.high + other.high)

    def __neg__(self) -> Interval:
        """The numbers with the other sign."""
        low = -self.high
        return Interval(low, low if self.is_known else -self.low)

    def __sub__(self, other: Interval) -> Interval:
        """The differences, elementwise."""
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        """The products, elementwise."""
        if self.is_known and other.is_known:
            return known(self.low * other.low)
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def power(self, exponent: float) -> Interval:
        """The numbers, which are above 0, to a power; those of one sign to the power of -1."""
        low = self.low**exponent
        if self.is_known:
            return known(low)
        high = self.high**exponent
        return Interval(np.minimum(low, high), np.maximum(low, high))

    @property
    def size(self) -> Floats:
        """The greatest absolute values."""
        size = np.abs(self.low)
        return size if self.is_known else np.maximum(size, np.abs(self.high))


def known(numbers: Any) -> Interval:
    """Numbers that are known, as an interval."""
    array = np.asarray(numbers, np.float64)
    return Interval(array, array)


class UndecidedError(Exception):
    """A sign that is not the same within an interval; ``blocks`` says in which, (blocks,)."""

    def __init__(self, blocks: Bools) -> None:
        super().__init__()
        self.blocks = blocks


# -- functions of the number of ones ---------------------------------------------------------------


class Function:
    """Some functions of k, in rows: sums, products and powers of polynomials."""

    def at(self, ks: Interval) -> Interval:
        """Their values, (rows, ks), or (rows, 1) where they do not depend on k."""
        raise NotImplementedError

    def zero_rows(self) -> Bools:
        """Which of them are 0 for all k, (rows,)."""
        raise NotImplementedError

    def row(self, index: int) -> Function:
        """One of them."""
        raise NotImplementedError

    def __add__(self, other: Function) -> Function:
        """The sums."""
        return Combined("sum", self, other)

    def __mul__(self, other: Function) -> Function:
        """The products; a single function is multiplied with each of several."""
        return Combined("product", self, other)

    def __sub__(self, other: Function) -> Function:
        """The differences."""
        return self + other * constant(-1.0)

    def power(self, exponent: float) -> Function:
        """The functions, which are above 0, to a power; those of one sign to the power of -1."""
        return Power(self, exponent)


@dataclass(frozen=True, eq=False)
class Polynomial(Function):
    """Polynomials in k: coefficients of 1, k, k^2, ..., (rows, degree + 1)."""

    coefficients: Floats

    def at(self, ks: Interval) -> Interval:
        """Their values."""
        columns = self.coefficients.T[:, :, None]
        total = known(columns[-1])
        for column in columns[-2::-1]:
            total = total * ks + known(column)
        return total

    def zero_rows(self) -> Bools:
        """Which are 0."""
        return np.logical_not(self.coefficients.any(axis=1))

    def row(self, index: int) -> Polynomial:
        """One of them."""
        return Polynomial(self.coefficients[index : index + 1])

    def __add__(self, other: Function) -> Function:
        if not isinstance(other, Polynomial):
            return super().__add__(other)
        rows = max(len(self.coefficients), len(other.coefficients))
        width = max(self.coefficients.shape[1], other.coefficients.shape[1])
        sums = np.zeros((rows, width))
        for part in (self.coefficients, other.coefficients):
            sums[:, : part.shape[1]] += part
        return without_zero_powers(sums)

    def __mul__(self, other: Function) -> Function:
        if not isinstance(other, Polynomial):
            return super().__mul__(other)
        left = self.coefficients
        right = other.coefficients
        rows = max(len(left), len(right))
        products = np.zeros((rows, left.shape[1] + right.shape[1] - 1))
        for power in range(right.shape[1]):
            products[:, power : power + left.shape[1]] += left * right[:, power : power + 1]
        return without_zero_powers(products)

    def power(self, exponent: float) -> Function:
        """The powers; a polynomial where it is a constant."""
        if self.coefficients.shape[1] > 1 or not (self.coefficients > 0).all():
            return super().power(exponent)
        return Polynomial(self.coefficients**exponent)


def constant(number: float) -> Polynomial:
    """The function that is this number for all k."""
    return Polynomial(np.array([[number]]))


def without_zero_powers(coefficients: Floats) -> Polynomial:
    """Polynomials without powers that none of them has."""
    width = coefficients.shape[1]
    while width > 1 and not coefficients[:, width - 1].any():
        width -= 1
    return Polynomial(coefficients[:, :width])


@dataclass(frozen=True, eq=False)
class Combined(Function):
    """The sums or the products of two functions."""

    operation: Literal["sum", "product"]
    left: Function
    right: Function

    def at(self, ks: Interval) -> Interval:
        """Their values."""
        left = self.left.at(ks)
        right = self.right.at(ks)
        return left + right if self.operation == "sum" else left * right

    def zero_rows(self) -> Bools:
        """Which are 0."""
        left = self.left.zero_rows()
        right = self.right.zero_rows()
        return left & right if self.operation == "sum" else left | right

    def row(self, index: int) -> Function:
        """One of them."""
        parts = [
            part if len(part.zero_rows()) == 1 else part.row(index)
            for part in (self.left, self.right)
        ]
        return Combined(self.operation, parts[0], parts[1])


@dataclass(frozen=True, eq=False)
class Power(Function):
    """A function to a power."""

    base: Function
    exponent: float

    def at(self, ks: Interval) -> Interval:
        """Their values."""
        return self.base.at(ks).power(self.exponent)

    def zero_rows(self) -> Bools:
        """Which are 0."""
        return self.base.zero_rows()

    def row(self, index: int) -> Function:
        """One of them."""
        return Power(self.base.row(index), self.exponent)


def rows_at(function: Function, ks: Floats) -> Floats:
    """Functions for given numbers of ones, (rows, ks)."""
    rows = function.at(known(ks)).low
    return np.broadcast_to(rows, (len(rows), len(ks)))
