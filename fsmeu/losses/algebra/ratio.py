"""Values that are ratios of sums of counts, derived from the expression tree.

A sum of counts is affine in the four cells of the confusion table. Its coefficients are derived by
the rules of arithmetic from the tree, in fractions, and never read off from values at some tables.
With a length given, n and what depends on it are numbers; without one, n is the sum of the cells,
and what is derived holds for every length.

Doubles evaluate the same tree with rounding. A bound on that is carried along, cell by cell, so
that a sum is taken for what its fractions say only where its doubles say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Binary, Choice, Expr, Name, Unary
from fsmeu.losses.semantics.evaluator import Scope, evaluate, number

_EPS = float(np.finfo(np.float64).eps)
_WHOLE = 2**53
_TRUSTED = 1e-10
_RATIONAL = 10_000
_NEAR = 1e-13


@dataclass(frozen=True)
class Fractional:
    """(c0 n + c1 tp + c2 hyp + c3 ref) / (d0 n + d1 tp + d2 hyp + d3 ref), exceptions aside.

    A constant at a given length is carried as a multiple of n.

    Attributes:
        numerator: c0, c1, c2, c3.
        denominator: d0, d1, d2, d3.
    """

    numerator: tuple[Fraction, Fraction, Fraction, Fraction]
    denominator: tuple[Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class _Sum:
    """A constant and a weight for each cell: true and false negatives, false and true positives.

    Attributes:
        weights: the constant and the four weights.
        error: what doubles may have lost of each.
    """

    weights: tuple[Fraction, ...]
    error: tuple[float, ...]


class _NoSumError(Exception):
    """An expression that is no sum of counts, or that doubles do not evaluate as one."""


def fractional(form: Confusion, n: int | None = None) -> Fractional | None:
    """The fractional-linear form of a value at length n, or at every length from 1 on; or None.

    The file may answer 0/0 with conditions, as long as each holds only where the denominator is
    zero: it must compare with zero a sum of counts that includes all that the denominator sums.

    Proven: at every table of this length (of every length up to a million, without n) the value is
    this ratio where no condition holds, and conditions hold only where the denominator is zero.
    Coefficients of the denominator are rational numbers next to those of the file, closer than a
    part in 10^13; doubles evaluate either sum with a relative error of 10^-10 at most.
    """
    if n == 0:
        return None
    reader = _Reader(form, n)
    try:
        main, conditions = reader.branch(form.bound.spec.value)
        if not (isinstance(main, Binary) and main.operator == "/"):
            return None
        top = reader.cells(reader.sum(main.left))
        below = reader.cells(_rational(reader.sum(main.right)))
        tested = [reader.tested(condition) for condition in conditions]
    except (_NoSumError, LossFileError, OverflowError):
        return None
    if not all(_only_at_zero(cells, below) for cells in tested):
        return None
    return Fractional(_coefficients(top), _coefficients(below))


class _Reader:
    """Reads sums of counts off expressions, for one length or for all."""

    def __init__(self, form: Confusion, n: int | None) -> None:
        self.form, self.n = form, n
        length = {} if n is None else {"n": float(n)}
        self.scope = Scope(form.bound, length, length, {})
        self.constants = set(form.bound.params) | length.keys()
        self.registers = {r.name: r for r in form.bound.spec.registers}

    def is_constant(self, expr: Expr) -> bool:
        return names_read(expr) <= self.constants

    def branch(self, expr: Expr) -> tuple[Expr, list[Expr]]:
        """The value when no condition of ``or ... when`` holds, and those that look at counts."""
        conditions: list[Expr] = []
        while isinstance(expr, Choice):
            if self.is_constant(expr.condition):
                expr = self._chosen(expr)
            else:
                conditions.append(expr.condition)
                expr = expr.no
        return expr, conditions

    def sum(self, expr: Expr) -> _Sum:
        """The expression as a sum of counts."""
        if self.is_constant(expr):
            value = Fraction(float(number(expr, self.scope)))
            return self._rounded((value, *[Fraction(0)] * 4), (0.0,) * 5)
        match expr:
            case Name(name="n"):
                return _Sum((Fraction(0), *[Fraction(1)] * 4), (0.0,) * 5)
            case Name() if expr.name in self.registers:
                return self._register(expr.name)
            case Unary(operator="-"):
                return _scaled(self.sum(expr.operand), Fraction(-1))
            case Binary(operator="+"):
                return self._added(self.sum(expr.left), self.sum(expr.right))
            case Binary(operator="-"):
                return self._added(self.sum(expr.left), _scaled(self.sum(expr.right), Fraction(-1)))
            case Binary(operator="*") if self.is_constant(expr.left):
                return self._times(expr.right, self._constant(expr.left))
            case Binary(operator="*") if self.is_constant(expr.right):
                return self._times(expr.left, self._constant(expr.right))
            case Binary(operator="/") if self.is_constant(expr.right):
                divisor = self._constant(expr.right)
                if divisor:
                    return self._times(expr.left, 1 / divisor)
            case Choice() if self.is_constant(expr.condition):
                return self.sum(self._chosen(expr))
        raise _NoSumError

    def tested(self, condition: Expr) -> tuple[Fraction, ...]:
        """Weights of the cells in the sum that a condition compares with zero."""
        if not (isinstance(condition, Binary) and condition.operator == "=="):
            raise _NoSumError
        left, right = self.sum(condition.left), self.sum(condition.right)
        return self.cells(self._added(left, _scaled(right, Fraction(-1))))

    def cells(self, total: _Sum) -> tuple[Fraction, ...]:
        """The weights of the four cells, which add up to n, with the constant shared among them.

        Raises:
            _NoSumError: doubles may be off by more than a small part of a weight.
        """
        if self.n is None and total.weights[0]:
            raise _NoSumError
        share, lost = total.weights[0] / (self.n or 1), total.error[0] / (self.n or 1)
        weights = tuple(weight + share for weight in total.weights[1:])
        errors = (error + lost for error in total.error[1:])
        if any(e > _TRUSTED * abs(w) for w, e in zip(weights, errors, strict=True)):
            raise _NoSumError
        return weights

    def _chosen(self, expr: Choice) -> Expr:
        """The branch that a condition takes that looks at no count."""
        return expr.yes if abs(evaluate(expr.condition, self.scope)) > 0 else expr.no

    def _constant(self, expr: Expr) -> Fraction:
        return Fraction(float(number(expr, self.scope)))

    def _register(self, name: str) -> _Sum:
        start = self.sum(self.registers[name].start)
        amounts = tuple(Fraction(float(x)) for x in self.form.amounts[name].ravel())
        weights = tuple(a + b for a, b in zip(start.weights, (Fraction(0), *amounts), strict=True))
        if self._exact(weights) and not any(start.error):
            return _Sum(weights, start.error)
        steps = (self.n or 1) + 1
        lost = (e + steps * _EPS * float(abs(w)) for e, w in zip(start.error, weights, strict=True))
        return _Sum(weights, tuple(lost))

    def _added(self, left: _Sum, right: _Sum) -> _Sum:
        weights = tuple(a + b for a, b in zip(left.weights, right.weights, strict=True))
        return self._rounded(
            weights, tuple(a + b for a, b in zip(left.error, right.error, strict=True))
        )

    def _times(self, expr: Expr, factor: Fraction) -> _Sum:
        product = _scaled(self.sum(expr), factor)
        return self._rounded(product.weights, product.error)

    def _rounded(self, weights: tuple[Fraction, ...], error: tuple[float, ...]) -> _Sum:
        """The sum after one more operation of doubles."""
        if self._exact(weights) and not any(error):
            return _Sum(weights, error)
        lost = (e + _EPS * (float(abs(w)) + e) for w, e in zip(weights, error, strict=True))
        return _Sum(weights, tuple(lost))

    def _exact(self, weights: tuple[Fraction, ...]) -> bool:
        """True when doubles hold every such sum: whole multiples of a power of two, not too many.

        Without a length this is asked for sums over a million positions.
        """
        unit = max(weight.denominator for weight in weights)
        if unit & (unit - 1):
            return False
        most = abs(weights[0]) + max(map(abs, weights[1:])) * (self.n or 1_000_000)
        return most * unit < _WHOLE


def _scaled(total: _Sum, factor: Fraction) -> _Sum:
    size = float(abs(factor))
    return _Sum(tuple(w * factor for w in total.weights), tuple(e * size for e in total.error))


def _rational(total: _Sum) -> _Sum:
    """The sum with each weight replaced by a fraction of small numbers next to it.

    Raises:
        _NoSumError: there is none.
    """
    near = tuple(weight.limit_denominator(_RATIONAL) for weight in total.weights)
    if any(abs(a - b) > _NEAR * abs(a) for a, b in zip(total.weights, near, strict=True)):
        raise _NoSumError
    moved = (float(abs(a - b)) for a, b in zip(total.weights, near, strict=True))
    return _Sum(near, tuple(e + m for e, m in zip(total.error, moved, strict=True)))


def _coefficients(cells: tuple[Fraction, ...]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The same sum by n, tp, hyp and ref."""
    tn, fn, fp, tp = cells
    return tn, tp - fp - fn + tn, fp - tn, fn - tn


def _only_at_zero(tested: tuple[Fraction, ...], below: tuple[Fraction, ...]) -> bool:
    """True when a sum can be zero only where the denominator is."""
    one_sign = all(t >= 0 for t in tested) or all(t <= 0 for t in tested)
    covered = all(t for t, d in zip(tested, below, strict=True) if d)
    return one_sign and covered and all(d >= 0 for d in below)
