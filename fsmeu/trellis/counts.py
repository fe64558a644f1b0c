"""Distributions of a count as columns of an array: generating functions, or their coefficients.

A row is the generating function sum over c of P(c) x^c of a count. At roots of unity a product of
two is a product of numbers, and the error of a probability is absolute, a few units of the last
place of 1. As coefficients a product is a convolution, which costs more, but of numbers that are
never negative, so that the error is relative to each probability.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coefficients", "Counts", "Roots"]

Floats = NDArray[np.float64]


class Counts(Protocol):
    """How the distribution of a count 0, ..., size - 1 is held in a row of numbers.

    Attributes:
        size: how many values the count has.
        columns: how many numbers a row has.
    """

    size: int
    columns: int

    def one(self) -> Floats:
        """The row of the count that is 0 for certain, (columns,)."""

    def plus(self, rows: Floats, amount: int) -> Floats:
        """The rows of counts that are greater by an amount; the sums must stay below size."""

    def times(self, left: Floats, right: Floats) -> Floats:
        """The rows of sums of independent counts, row by row; the sums must stay below size."""

    def total(self, rows: Floats) -> Floats:
        """The sum over all values of the count, for each row."""

    def turns(self, amounts: tuple[int, ...]) -> Floats:
        """What a row is multiplied by to count an amount, (amounts, columns).

        Complex numbers, or no columns where counting is a shift.
        """

    def expectation(self, values: Floats) -> Floats:
        """The matrix (columns, k) that takes a row to sums over c of P(c) values[c, k]."""

    def probabilities(self, rows: Floats) -> Floats:
        """The probability of each value of the count, (rows, size)."""


class Roots:
    """Generating functions at the roots of unity of order size, one of each conjugate pair.

    A row has the real parts first, then the imaginary parts.
    """

    def __init__(self, size: int) -> None:
        self.size, self.columns = size, 2 * (size // 2 + 1)
        self._turns: dict[tuple[int, ...], Floats] = {}

    def one(self) -> Floats:
        """The row of the count that is 0 for certain, (columns,)."""
        return _parts(np.ones(self.columns // 2, np.complex128))

    def plus(self, rows: Floats, amount: int) -> Floats:
        """The rows of counts that are greater by an amount."""
        return self.times(rows, self.turns((amount,))[0]) if amount else rows

    def turns(self, amounts: tuple[int, ...]) -> Floats:
        """What a row is multiplied by to count an amount, (amounts, columns): roots of unity."""
        if amounts not in self._turns:
            places = np.multiply.outer(np.array(amounts), np.arange(self.columns // 2))
            places %= self.size  # whole turns are left out
            self._turns[amounts] = _parts(np.exp(-2j * np.pi * places / self.size))
        return self._turns[amounts]

    def times(self, left: Floats, right: Floats) -> Floats:
        """The rows of sums of independent counts, row by row."""
        half = self.columns // 2
        product = np.empty_like(left)
        real, imaginary = product[..., :half], product[..., half:]
        np.multiply(left[..., :half], right[..., :half], out=real)
        real -= left[..., half:] * right[..., half:]
        np.multiply(left[..., :half], right[..., half:], out=imaginary)
        imaginary += left[..., half:] * right[..., :half]
        return product

    def total(self, rows: Floats) -> Floats:
        """The sum over all values of the count, for each row: the generating function at 1."""
        total: Floats = rows[..., 0]
        return total

    def expectation(self, values: Floats) -> Floats:
        """The matrix (columns, k) that takes a row to sums over c of P(c) values[c, k]."""
        transformed = np.fft.rfft(values, axis=0)
        share = np.full((len(transformed), 1), 2.0 / self.size)
        share[0] = 1.0 / self.size
        if self.size % 2 == 0:
            share[-1] = 1.0 / self.size
        return _parts(share * transformed, axis=0)

    def probabilities(self, rows: Floats) -> Floats:
        """The probability of each value of the count, (rows, size)."""
        half = self.columns // 2
        found: Floats = np.fft.irfft(rows[..., :half] + 1j * rows[..., half:], self.size, axis=-1)
        return found


def _parts(numbers: NDArray[np.complex128], axis: int = -1) -> Floats:
    """The real parts, then the imaginary parts, along an axis."""
    return np.concatenate([numbers.real, numbers.imag], axis=axis)


class Coefficients:
    """The probabilities of the values of the count themselves."""

    def __init__(self, size: int) -> None:
        self.size = self.columns = size

    def one(self) -> Floats:
        """The row of the count that is 0 for certain, (columns,)."""
        row: Floats = np.eye(1, self.size)[0]
        return row

    def plus(self, rows: Floats, amount: int) -> Floats:
        """The rows of counts that are greater by an amount."""
        if not amount:
            return rows
        moved = np.zeros_like(rows)
        moved[..., amount:] = rows[..., :-amount]
        return moved

    def turns(self, amounts: tuple[int, ...]) -> Floats:
        """No factors, (amounts, 0): counting is a shift."""
        return np.zeros((len(amounts), 0))

    def times(self, left: Floats, right: Floats) -> Floats:
        """The rows of sums of independent counts, row by row."""
        product = np.zeros_like(left)
        for count in np.flatnonzero(left.reshape(-1, self.size).any(axis=0)).tolist():
            one = left[..., count : count + 1]
            product[..., count:] += one * right[..., : self.size - count]
        return product

    def total(self, rows: Floats) -> Floats:
        """The sum over all values of the count, for each row."""
        total: Floats = rows.sum(axis=-1)
        return total

    def expectation(self, values: Floats) -> Floats:
        """The matrix (columns, k) that takes a row to sums over c of P(c) values[c, k]."""
        return values

    def probabilities(self, rows: Floats) -> Floats:
        """The probability of each value of the count, (rows, size)."""
        return rows
