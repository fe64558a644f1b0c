"""Losses of two labels whose value depends on the pair only through (tp, hyp, ref, n).

Such a loss adds up amounts that depend on the pair of labels at a position alone, so its registers
are linear in the four cells of the confusion table. The first label is the negative one, the second
the positive one: tp counts pairs (1, 1), hyp ones of z, ref ones of y.

Where the value is a ratio of sums of counts (``fractional``), it is computed with sums of counts in
place of numbers, in fractions. A bound on the rounding of doubles is carried along, cell by cell,
so that a sum is taken for what its fractions say only where its doubles say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, names_read
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope, evaluate, number

_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Confusion:
    """The amount that each register adds for a pair of label indices, (2, 2) by name."""

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
        amount = bound.spec.amounts[register.name]
        if amount is None or not names_read(amount) <= free:
            return None
        table = np.broadcast_to(number(amount, scope), (2, 2)).astype(np.float64)
        amounts[register.name] = table
    return Confusion(bound, amounts)


def value_of_counts(form: Confusion, n: int, tp: Any, hyp: Any, ref: Any) -> Floats:
    """The value for these counts (arrays that broadcast); nan where no pair has them."""
    tp, hyp, ref = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (tp, hyp, ref)))
    cells = [n - hyp - ref + tp, ref - tp, hyp - tp, tp]
    possible = np.min(cells, axis=0) >= 0
    at = form.bound.at(n)
    current: dict[str, Any] = {"n": float(n)}
    for name, start in at.starts.items():
        parts = (a * b for a, b in zip(form.amounts[name].ravel(), cells, strict=True))
        current[name] = start + sum(parts)
    scope = Scope(form.bound, current, current, {})
    value = np.where(possible, number(form.bound.spec.value, scope, possible), np.nan)
    if form.bound.spec.range is not None:
        at.check_range(value[possible])
    return value


def tp_counterexample(form: Confusion, n: int) -> Counterexample | None:
    """A case in which one more true positive makes things worse; None when there is none at n.

    Without one, the probability ranking principle holds at this n (Natarajan 2016, Theorem 6; the
    exchange argument needs only that no swap makes it worse). Of all tables of length n, neighbours
    are compared: a step that is worse by more than four units of rounding of the two values counts.
    What others hide adds up to less than 4 n units of rounding of the expected absolute value.
    """
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    for hyp in range(n + 1):
        tp, missed = np.arange(hyp + 1.0)[:, None], np.arange(n - hyp + 1.0)[None, :]
        table = sign * value_of_counts(form, n, tp, hyp, tp + missed)
        before, after = table[:-1, 1:], table[1:, :-1]  # of one ref, with one more hit and one less
        worse = after - before < -_ROUNDING * np.maximum(np.abs(after), np.abs(before))
        if worse.any():
            hits, place = (int(x[0]) for x in np.nonzero(worse))
            pair = (sign * float(side[hits, place]) for side in (before, after))
            return Counterexample(n, hyp, hits + place + 1, hits, *pair)
    return None


class NoFormError(Exception):
    """An expression that is no function of the kind that is needed."""


class Form:
    """A function of counts: what a constant of its kind is, and sums, products, quotients, roots.

    ``is_zero`` tells whether it is 0 whatever the counts are: False where it never is, else None.
    """

    def _refused(self, *_: Any) -> Any:
        raise NoFormError

    lifted: Any = _refused
    plus = times = over = is_zero = root = lifted


def form_of(expr: Expr, forms: Mapping[str, Form], like: Any, scope: Scope) -> Any:
    """The expression as a function of counts, as these names are, of the kind of ``like``.

    A condition must hold at all counts or at none. A NoFormError if it is no such function.
    """

    def of(part: Expr) -> Any:
        return form_of(part, forms, like, scope)

    def decided(condition: Expr) -> bool:
        truth = _holds(condition, of)
        if truth is None:
            raise NoFormError
        return truth

    if not names_read(expr) & forms.keys():
        return like.lifted(float(evaluate(expr, scope)))
    match expr:
        case ast.Name() | ast.Old():
            return forms[expr.name]
        case ast.Call(function="sqrt"):
            return of(expr.arguments[0]).root()
        case ast.Unary(operator="-"):
            return of(expr.operand).times(like.lifted(-1.0))
        case ast.Binary(operator="+" | "-" | "*" | "/"):
            left, right = of(expr.left), of(expr.right)
            if type(left) is type(right) and (expr.operator != "/" or right.is_zero() is False):
                right = right.times(like.lifted(-1.0)) if expr.operator == "-" else right
                return {"*": left.times, "/": left.over}.get(expr.operator, left.plus)(right)
        case ast.Choice():
            return of(expr.yes if decided(expr.condition) else expr.no)
        case ast.Unary() | ast.Binary(operator="==" | "!=" | "and" | "or"):
            return like.lifted(float(decided(expr)))
    raise NoFormError


def _holds(expr: Expr, of: Callable[[Expr], Any]) -> bool | None:
    """Whether a condition of functions of counts holds; None where that depends on the counts."""
    opposite: bool | None
    match expr:
        case ast.Binary(operator="and" | "or"):
            ends, first = expr.operator == "or", _holds(expr.left, of)
            second = ends if first is ends else _holds(expr.right, of)
            return second if first is not None or second is ends else None
        case ast.Binary(operator="==" | "!="):
            opposite = of(replace(expr, operator="-")).is_zero()
            return opposite if expr.operator == "==" or opposite is None else not opposite
        case ast.Unary(operator="not"):
            opposite = _holds(expr.operand, of)
        case _:
            opposite = of(expr).is_zero()
    return None if opposite is None else not opposite


_EPS = float(np.finfo(np.float64).eps)
_WHOLE = 2**53
_LONGEST = 1_000_000  # positions over which sums are exact, where it is asked for all lengths
_TRUSTED = 1e-10
_RATIONAL = 10_000
_NEAR = 1e-13


@dataclass(frozen=True)
class Fractional:
    """(c0 n + c1 tp + c2 hyp + c3 ref) / (d0 n + d1 tp + d2 hyp + d3 ref), exceptions aside.

    A constant at a given length is carried as a multiple of n.
    """

    numerator: tuple[Fraction, Fraction, Fraction, Fraction]
    denominator: tuple[Fraction, Fraction, Fraction, Fraction]


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
    tested: list[_CellSum] = []
    length = _CellSum(_fractions(0, 1, 1, 1, 1), np.zeros(5), n, tested)
    forms: dict[str, Form] = {"n": length} if n is None else {}
    scope = Scope(form.bound, {} if n is None else {"n": float(n)}, {}, {})
    try:
        for register in form.bound.spec.registers:
            start = form_of(register.start, forms, length, scope)
            cells = _fractions(0, *form.amounts[register.name].ravel().tolist())
            forms[register.name] = start.rounded(start.weights + cells, start.error, (n or 1) + 1)
        value = form_of(form.bound.spec.value, forms, length, scope)
        if isinstance(value, _CellSum) and n is not None:
            value = _Quotient(value.times(value.lifted(float(n))), length)
        if not isinstance(value, _Quotient):
            return None
        below = value.below.rational().cells()
        for sum_ in tested:  # which can be zero only where the denominator is
            weights = sum_.cells()
            one_sign = all(w >= 0 for w in weights) or all(w <= 0 for w in weights)
            covered = all(w and d > 0 for w, d in zip(weights, below, strict=True) if d)
            if not (one_sign and covered):
                return None
        sums = (value.top.cells(), below)
        return Fractional(*((tn, tp - fp - fn + tn, fp - tn, fn - tn) for tn, fn, fp, tp in sums))
    except (NoFormError, LossFileError, OverflowError):
        return None


@dataclass(frozen=True, eq=False)
class _CellSum(Form):
    """A constant and a weight for each cell: true and false negatives, false and true positives.

    ``weights`` are fractions, (5,), ``error`` what doubles may have lost of each, ``n`` the length,
    None for every length, ``tested`` the sums that conditions compare with zero, taken to be none.
    """

    weights: NDArray[Any]
    error: Floats
    n: int | None
    tested: list[_CellSum]

    def rounded(self, weights: NDArray[Any], error: Floats, operations: int = 1) -> _CellSum:
        """The sum with these weights after some more operations of doubles."""
        unit = max(weight.denominator for weight in weights)
        most = abs(weights[0]) + max(map(abs, weights[1:])) * (self.n or _LONGEST)
        exact = not unit & (unit - 1) and most * unit < _WHOLE  # doubles hold every such sum
        if error.any() or not exact:
            error = error + operations * _EPS * (_sizes(weights) + error)
        return replace(self, weights=weights, error=error)

    def lifted(self, number: float) -> _CellSum:
        return self.rounded(_fractions(number, 0, 0, 0, 0), np.zeros(5))

    def plus(self, other: _CellSum) -> _CellSum:
        return self.rounded(self.weights + other.weights, self.error + other.error)

    def times(self, other: _CellSum) -> _CellSum:
        factor, total = (other, self) if self.weights[1:].any() else (self, other)
        if factor.weights[1:].any():
            raise NoFormError
        by = factor.weights[0]
        error = total.error * float(abs(by)) + factor.error[0] * _sizes(total.weights)
        return self.rounded(total.weights * by, error, int(abs(by) != 1))

    def over(self, other: _CellSum) -> _CellSum | _Quotient:
        by = other.weights[0]
        if other.weights[1:].any() or not by:
            return _Quotient(self, other)
        return self.rounded(self.weights / by, self.error / float(abs(by)))

    def is_zero(self) -> bool:
        if self.weights[1:].any():
            self.tested.append(self)
            return False
        return not self.weights[0]

    def cells(self) -> list[Fraction]:
        """The weights of the four cells, which add up to n, with the constant shared among them."""
        if self.n is None and self.weights[0]:
            raise NoFormError
        weights = self.weights[1:] + self.weights[0] / (self.n or 1)
        errors = self.error[1:] + self.error[0] / (self.n or 1)
        if (errors > _TRUSTED * _sizes(weights)).any():
            raise NoFormError
        return list(weights)

    def rational(self) -> _CellSum:
        """The sum with each weight replaced by a fraction of small numbers that is next to it."""
        near = np.array([weight.limit_denominator(_RATIONAL) for weight in self.weights], object)
        moved = np.abs(self.weights - near)
        if (moved > _NEAR * np.abs(self.weights)).any():
            raise NoFormError
        return replace(self, weights=near, error=self.error + moved.astype(np.float64))


@dataclass(frozen=True, eq=False)
class _Quotient(Form):
    """A ratio of two sums, of which nothing more can be made."""

    top: _CellSum
    below: _CellSum


def _fractions(*numbers: float | Fraction) -> NDArray[Any]:
    return np.array([Fraction(number) for number in numbers], object)


def _sizes(weights: NDArray[Any]) -> Any:
    return np.abs(weights).astype(np.float64)
