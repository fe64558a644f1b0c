"""Losses of two labels whose value depends on the pair only through (tp, hyp, ref, n).

Such a loss adds up amounts that depend on the pair of labels at a position alone, so its registers
are linear in the four cells of the confusion table. The first label is the negative one, the second
the positive one: tp counts pairs (1, 1), hyp ones of z, ref ones of y.

Where the value is a ratio of sums of counts (``fractional``), the coefficients are derived from the
expression tree in fractions. A bound on the rounding of doubles is carried along, cell by cell, so
that a sum is taken for what its fractions say only where its doubles say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.language.dependencies import names_read, steps
from fsmeu.losses.language.syntax import Binary, Choice, Expr, Name, Unary
from fsmeu.losses.semantics.domains import check_range
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope, constant_at, evaluate, number

_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Confusion:
    """How registers follow from the confusion table.

    Attributes:
        bound: the loss.
        amounts: what each register adds for a pair of label indices, (2, 2) by name.
    """

    bound: BoundLoss
    amounts: dict[str, Floats]


@dataclass(frozen=True)
class Counterexample:
    """Two tables with the same hyp, ref and n, of which the one with more tp is worse."""

    n: int
    hyp: int
    ref: int
    tp: int
    value: float
    value_with_one_more: float


def confusion(bound: BoundLoss) -> Confusion | None:
    """The confusion form of a loss, or None when its value depends on more."""
    if len(bound.alphabet) != 2:
        return None
    free = {"z", "y", *bound.params}
    amounts: dict[str, Floats] = {}
    labels = bound.label_values
    tapes = {"z": labels[:, None], "y": labels[None, :]}
    scope = Scope(bound, tapes, {}, {})
    for register in bound.spec.registers:
        amount = steps(bound.spec)[register.name][0]
        if amount is None or not names_read(amount) <= free:
            return None
        table = np.broadcast_to(number(amount, scope), (2, 2)).astype(np.float64)
        amounts[register.name] = table
    return Confusion(bound, amounts)


def value_of_counts(form: Confusion, n: int, tp: Any, hyp: Any, ref: Any) -> Floats:
    """The value for these counts (arrays that broadcast); nan where no pair has them."""
    tp, hyp, ref = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (tp, hyp, ref)))
    cells = [[n - hyp - ref + tp, ref - tp], [hyp - tp, tp]]
    possible = np.ones(tp.shape, bool)
    for row in cells:
        for cell in row:
            possible &= cell >= 0
    current: dict[str, Any] = {"n": float(n)}
    for register in form.bound.spec.registers:
        table = form.amounts[register.name]
        total = constant_at(form.bound, register.start, n)
        current[register.name] = total + sum(
            table[a, b] * cells[a][b] for a in (0, 1) for b in (0, 1)
        )
    scope = Scope(form.bound, current, current, {})
    value = np.where(possible, number(form.bound.spec.value, scope, possible), np.nan)
    if form.bound.spec.range is not None:
        check_range(form.bound, n, value[possible])
    return value


def tp_counterexample(form: Confusion, n: int) -> Counterexample | None:
    """A case in which one more true positive makes things worse; None when there is none at n.

    Without one, the probability ranking principle holds at this n (Natarajan 2016, Theorem 6; that
    ties are allowed does not hurt: the exchange argument needs only that no swap makes it worse).

    Every table of length n is looked at. Neighbours are compared with each other alone: a step that
    is worse by more than four units of rounding of the two values is a counterexample. What such
    steps can hide adds up to less than 4 n units of rounding of the expected absolute value.
    """
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    for hyp in range(n + 1):
        tp, missed = np.arange(hyp + 1.0)[:, None], np.arange(n - hyp + 1.0)[None, :]
        table = sign * value_of_counts(form, n, tp, hyp, tp + missed)
        before, after = table[:-1, 1:], table[1:, :-1]  # of one ref, with one more hit and one less
        worse = after - before < -_ROUNDING * np.maximum(np.abs(after), np.abs(before))
        if worse.any():
            hits, place = (int(x[0]) for x in np.nonzero(worse))
            pair = (sign * float(one[hits, place]) for one in (before, after))
            return Counterexample(n, hyp, hits + place + 1, hits, *pair)
    return None


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
        weights: the constant and the four weights, an array of fractions, (5,).
        error: what doubles may have lost of each, (5,).
    """

    weights: NDArray[Any]
    error: Floats


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
            return self._rounded(_fractions(self._constant(expr), 0, 0, 0, 0), np.zeros(5))
        match expr:
            case Name(name="n"):
                return _Sum(_fractions(0, 1, 1, 1, 1), np.zeros(5))
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

    def tested(self, condition: Expr) -> list[Fraction]:
        """Weights of the cells in the sum that a condition compares with zero."""
        if not (isinstance(condition, Binary) and condition.operator == "=="):
            raise _NoSumError
        left, right = self.sum(condition.left), self.sum(condition.right)
        return self.cells(self._added(left, _scaled(right, Fraction(-1))))

    def cells(self, total: _Sum) -> list[Fraction]:
        """The weights of the four cells, which add up to n, with the constant shared among them."""
        if self.n is None and total.weights[0]:
            raise _NoSumError
        weights = total.weights[1:] + total.weights[0] / (self.n or 1)
        errors = total.error[1:] + total.error[0] / (self.n or 1)
        if (errors > _TRUSTED * _sizes(weights)).any():
            raise _NoSumError
        return list(weights)

    def _chosen(self, expr: Choice) -> Expr:
        """The branch that a condition takes that looks at no count."""
        return expr.yes if abs(evaluate(expr.condition, self.scope)) > 0 else expr.no

    def _constant(self, expr: Expr) -> Fraction:
        return Fraction(float(number(expr, self.scope)))

    def _register(self, name: str) -> _Sum:
        start = self.sum(self.registers[name].start)
        weights = start.weights + _fractions(0, *self.form.amounts[name].ravel().tolist())
        if self._exact(weights) and not start.error.any():
            return _Sum(weights, start.error)
        steps = (self.n or 1) + 1
        return _Sum(weights, start.error + steps * _EPS * _sizes(weights))

    def _added(self, left: _Sum, right: _Sum) -> _Sum:
        return self._rounded(left.weights + right.weights, left.error + right.error)

    def _times(self, expr: Expr, factor: Fraction) -> _Sum:
        product = _scaled(self.sum(expr), factor)
        return self._rounded(product.weights, product.error)

    def _rounded(self, weights: NDArray[Any], error: Floats) -> _Sum:
        """The sum after one more operation of doubles."""
        if self._exact(weights) and not error.any():
            return _Sum(weights, error)
        return _Sum(weights, error + _EPS * (_sizes(weights) + error))

    def _exact(self, weights: NDArray[Any]) -> bool:
        """True when doubles hold every such sum: whole multiples of a power of two, not too many.

        Without a length this is asked for sums over a million positions.
        """
        unit = max(weight.denominator for weight in weights)
        if unit & (unit - 1):
            return False
        most = abs(weights[0]) + max(map(abs, weights[1:])) * (self.n or 1_000_000)
        return bool(most * unit < _WHOLE)


def _fractions(*numbers: float | Fraction) -> NDArray[Any]:
    return np.array([Fraction(number) for number in numbers], object)


def _sizes(weights: NDArray[Any]) -> Floats:
    sizes: Floats = np.abs(weights).astype(np.float64)
    return sizes


def _scaled(total: _Sum, factor: Fraction) -> _Sum:
    return _Sum(total.weights * factor, total.error * float(abs(factor)))


def _rational(total: _Sum) -> _Sum:
    """The sum with each weight replaced by a fraction of small numbers that is next to it."""
    near = np.array([weight.limit_denominator(_RATIONAL) for weight in total.weights], object)
    moved = np.abs(total.weights - near)
    if (moved > _NEAR * np.abs(total.weights)).any():
        raise _NoSumError
    return _Sum(near, total.error + moved.astype(np.float64))


def _coefficients(cells: list[Fraction]) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The same sum by n, tp, hyp and ref."""
    tn, fn, fp, tp = cells
    return tn, tp - fp - fn + tn, fp - tn, fn - tn


def _only_at_zero(tested: list[Fraction], below: list[Fraction]) -> bool:
    """True when a sum can be zero only where the denominator is."""
    one_sign = all(t >= 0 for t in tested) or all(t <= 0 for t in tested)
    covered = all(t for t, d in zip(tested, below, strict=True) if d)
    return one_sign and covered and all(d >= 0 for d in below)
