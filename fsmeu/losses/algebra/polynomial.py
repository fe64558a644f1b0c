"""Polynomials in the counts of a confusion table, and where they are above 0.

A table of n labels has four *cells*, (tn, fn, fp, tp), numbers that are at least 0 and add up to n.
A polynomial in tp, hyp = fp + tp and ref = fn + tp is a form in the cells: hyp and ref are sums of
cells, and every lower power is multiplied by powers of (tn + fn + fp + tp) / n, which is 1. Where
all coefficients of that form have one sign, so has the polynomial; and it is 0 only where every
monomial has a cell that is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from fsmeu.arrays import Floats

Powers = tuple[int, ...]

MOST_DEGREE = 8  # of polynomials: their forms have few hundred monomials
_NONE_LEFT = 1e-12  # a coefficient that is such a part of the sum it comes from is 0
_CELLS = np.eye(4, dtype=int)  # tn, fn, fp, tp
_FACTORS = (_CELLS[[3]], _CELLS[[2, 3]], _CELLS[[1, 3]], _CELLS)  # tp, hyp, ref and n by cells


class NoFormError(Exception):
    """An expression that is no function of the kind that is needed."""


@dataclass(frozen=True)
class Polynomial:
    """A polynomial: pairs of the powers of tp, hyp and ref, and a coefficient, in order."""

    terms: tuple[tuple[Powers, float], ...]

    @property
    def degree(self) -> int:
        """The greatest sum of powers of a monomial."""
        return max((sum(powers) for powers, _ in self.terms), default=0)

    @property
    def number(self) -> float | None:
        """The number that it is, if it is one."""
        return None if self.degree else sum(coefficient for _, coefficient in self.terms)

    def plus(self, other: Polynomial, factor: float = 1.0) -> Polynomial:
        """The sum with a multiple of another."""
        return polynomial([*self.terms, *((powers, factor * c) for powers, c in other.terms)])

    def times(self, other: Polynomial) -> Polynomial:
        """The product; a NoFormError where its degree is too great."""
        if self.degree + other.degree > MOST_DEGREE:
            raise NoFormError
        return polynomial(
            (tuple(map(sum, zip(left, right, strict=True))), a * b)
            for (left, a), (right, b) in product(self.terms, other.terms)
        )

    def slope(self) -> Polynomial:
        """The derivative with respect to tp, hyp and ref being given."""
        return polynomial(((tp - 1, *rest), c * tp) for (tp, *rest), c in self.terms if tp)

    def rows(self) -> Floats:
        """Coefficients on 1, tp and ref (rows) as polynomials in hyp (columns, ascending).

        A NoFormError where it is not affine in tp and ref.
        """
        rows = np.zeros((3, MOST_DEGREE + 1))
        for (tp, hyp, ref), coefficient in self.terms:
            if tp + ref > 1:
                raise NoFormError
            rows[tp + 2 * ref, hyp] += coefficient
        return rows[:, : max((p[1] for p, _ in self.terms), default=0) + 1]

    def cells(self, n: int) -> dict[Powers, float]:
        """The coefficients of its form in the cells of tables of n labels, by powers of these."""
        sums: dict[Powers, float] = {}
        sizes: dict[Powers, float] = {}
        degree = self.degree
        for powers, coefficient in self.terms:
            missing = degree - sum(powers)
            for monomial, times in _expanded(*powers, missing):
                amount = coefficient * times / float(n) ** missing
                sums[monomial] = sums.get(monomial, 0.0) + amount
                sizes[monomial] = sizes.get(monomial, 0.0) + abs(amount)
        return {m: c for m, c in sums.items() if abs(c) > _NONE_LEFT * sizes[m]}


def polynomial(terms: Iterable[tuple[Powers, float]]) -> Polynomial:
    """The sum of monomials; what cancels is left out."""
    sums: dict[Powers, float] = {}
    sizes: dict[Powers, float] = {}
    for powers, coefficient in terms:
        sums[powers] = sums.get(powers, 0.0) + coefficient
        sizes[powers] = sizes.get(powers, 0.0) + abs(coefficient)
    kept = ((m, c) for m, c in sorted(sums.items()) if abs(c) > _NONE_LEFT * sizes[m])
    return Polynomial(tuple(kept))


def of_counts(one: float, tp: float = 0.0, hyp: float = 0.0, ref: float = 0.0) -> Polynomial:
    """The sum of a number and of multiples of the counts."""
    parts = {(0, 0, 0): one, (1, 0, 0): tp, (0, 1, 0): hyp, (0, 0, 1): ref}
    return polynomial(parts.items())


@lru_cache(maxsize=1024)
def _expanded(tp: int, hyp: int, ref: int, n: int) -> tuple[tuple[Powers, int], ...]:
    """The product of powers of tp, hyp, ref and n as a sum of monomials in the cells."""
    sums: Mapping[Powers, int] = {(0, 0, 0, 0): 1}
    for cells, power in zip(_FACTORS, (tp, hyp, ref, n), strict=True):
        for _ in range(power):
            more: dict[Powers, int] = {}
            for (monomial, times), cell in product(sums.items(), cells.tolist()):
                place = tuple(map(sum, zip(monomial, cell, strict=True)))
                more[place] = more.get(place, 0) + times
            sums = more
    return tuple(sums.items())


class Region:
    """What the counts can be."""

    def sign(self, of: Polynomial) -> int | None:
        """1 or -1 where a polynomial is above or below 0 everywhere, 0 where it is 0; or None."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tables(Region):
    """The tables of n labels with ones and zeros of y, and of z; or with z all zeros, or all ones.

    ``cells`` are those that may be above 0; in every table all of one of the ``least`` sets are.
    """

    n: int
    cells: frozenset[int]
    least: tuple[frozenset[int], ...]

    def coefficients(self, of: Polynomial) -> dict[frozenset[int], list[float]]:
        """The coefficients of monomials that need not be 0, by the cells that these have."""
        found: dict[frozenset[int], list[float]] = {}
        for powers, coefficient in of.cells(self.n).items():
            cells = frozenset(k for k in range(4) if powers[k])
            if cells <= self.cells:
                found.setdefault(cells, []).append(coefficient)
        return found

    def sign(self, of: Polynomial) -> int | None:
        """The sign, by coefficients of one sign."""
        found = self.coefficients(of)
        if not found:
            return 0
        if not all(any(cells <= least for cells in found) for least in self.least):
            return None
        signs = {c > 0 for some in found.values() for c in some}
        return None if len(signs) > 1 else (1 if True in signs else -1)

    def is_never_negative(self, of: Polynomial) -> bool:
        """Whether all coefficients are at least 0."""
        return all(c >= 0 for some in self.coefficients(of).values() for c in some)


def inner_tables(n: int) -> Tables:
    """The tables in which z and y have both labels."""
    return Tables(n, frozenset(range(4)), (frozenset((0, 3)), frozenset((1, 2))))


def edge_tables(n: int, ones: bool) -> Tables:
    """The tables in which y has both labels, and z has ones alone or none."""
    cells = frozenset((2, 3) if ones else (0, 1))
    return Tables(n, cells, (cells,))


@dataclass(frozen=True, eq=False)
class Totals(Region):
    """Numbers hyp of an array, and ref between two numbers; of tp nothing is known."""

    hyp: Floats
    least: float
    most: float

    def sign(self, of: Polynomial) -> int | None:
        """The sign, by what an affine function of ref is at both ends."""
        if not of.terms:
            return 0
        rows = of.rows()
        if rows[1].any():
            return None
        ends = np.array([[self.least], [self.most]])
        values = at(rows[0], self.hyp) + at(rows[2], self.hyp) * ends
        if (values > 0).all():
            return 1
        return -1 if (values < 0).all() else None


def at(coefficients: Floats, k: Floats) -> Floats:
    """A polynomial in k at each k, (ks,); a number, (), where it does not depend on k."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * k + coefficient
    return np.asarray(total)
