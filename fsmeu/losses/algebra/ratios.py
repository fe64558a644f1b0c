"""Values that are sums of ratios N / D^a of counts, a = 1 or 1/2, derived from the expression tree.

Two labels; z has k ones. With A ones of y among the positions where z has one and B among the
others, every register of a confusion table is affine in (1, A, B), with coefficients that depend on
k and n. N and D are affine in them too: F-scores, recall, Jaccard, kappa (D is affine given k),
balanced accuracy (two ratios), tp / sqrt(hyp * ref).

An affine function on the tables of one k is bounded by its values at the vertices of

    0 <= A <= k,  0 <= B <= n - k,  1 <= A + B <= n - 1,

so that signs of denominators, conditions, bounds of ratios and monotonicity are decided there. The
two tables without and with nothing but ones of y stand apart: what the file answers there is
compared with the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.algebra.rewrite import starts_of
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Binary, Call, Choice, Expr, Name, Unary
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope, constant_at, evaluate, number

__all__ = ["Ratio", "RatioSum", "ratio_of_totals", "sum_of_ratios"]

Places = list[tuple[Floats, Floats, Bools]]

_CLEAR = 1e-9
"""A sum is not 0 if it is more than this part of its terms without signs."""


class _NoRatioError(Exception):
    """An expression that is no sum of such ratios, or a condition that is not decided."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """N / D^power for several numbers k of ones of z.

    Attributes:
        top: coefficients of N on 1, A and B, (3, ks).
        below: those of D, (3, ks).
        power: 1 or 1/2.
        most: bounds on the absolute value of the ratio, (ks,).
        least_below: the least D that is not 0.
        most_below: the greatest D.
    """

    top: Floats
    below: Floats
    power: float
    most: Floats
    least_below: float
    most_below: float


@dataclass(frozen=True, eq=False)
class RatioSum:
    """The value as a sum of ratios, for several numbers k of ones of z.

    Attributes:
        ratios: the ratios; one whose D is 0 has the value 0.
        no_ones: what the value adds to their sum where y has no ones, (ks,).
        all_ones: the same where y has nothing else, (ks,).
        rises: whether the value never falls with true positives, the number of ones of y given.
        falls: whether it never rises.
    """

    ratios: list[Ratio]
    no_ones: Floats
    all_ones: Floats
    rises: bool
    falls: bool


def sum_of_ratios(form: Confusion, n: int, ks: Floats) -> RatioSum | None:
    """The value as a sum of ratios where z has k of n ones, for every k of ks; None if it is none.

    Requires n >= 2. Conditions must be the same for all ks: 0, n and the numbers between them are
    asked for one after the other.

    Proven: the value of every table with one of these k is the sum of the ratios and of what is
    added at the two tables that stand apart, up to roundings of the file's own arithmetic.
    """
    reader = _Table(form, n, ks)
    try:
        found = [reader.ratio(*one) for one in reader.ratios(form.bound.spec.value)]
        no_ones = reader.apart(found, np.zeros_like(ks), np.zeros_like(ks))
        all_ones = reader.apart(found, ks, n - ks)
    except (_NoRatioError, LossFileError):
        return None
    slopes = [reader.slopes(ratio) for ratio in found]
    rises = all((one >= 0).all() for one in slopes)
    falls = all((one <= 0).all() for one in slopes)
    return RatioSum(found, no_ones, all_ones, rises, falls)


class _Affine:
    """Reads affine functions of two random counts off expressions, for several ks.

    Args:
        bound: the loss.
        n: the length.
        registers: the coefficients of registers on 1 and both counts, (3, ks) each.
        places: the vertices of what the counts can be, with a mask of the ks that have them.
    """

    def __init__(
        self, bound: BoundLoss, n: int, registers: Mapping[str, Floats], places: Places
    ) -> None:
        self.n, self.registers, self.places = n, registers, places
        self.size = len(places[0][0])
        self.fixed = set(bound.params) | {"n"}
        length = {"n": float(n)}
        self.scope = Scope(bound, length, length, {})

    def affine(self, expr: Expr) -> Floats:
        """The coefficients of an expression on 1, A and B, (3, ks)."""
        if names_read(expr) <= self.fixed:
            value = np.zeros((3, self.size))
            value[0] = number(expr, self.scope)
            return value
        match expr:
            case Name() if expr.name in self.registers:
                return self.registers[expr.name]
            case Unary(operator="-"):
                return -self.affine(expr.operand)
            case Binary(operator="+"):
                return self.affine(expr.left) + self.affine(expr.right)
            case Binary(operator="-"):
                return self.affine(expr.left) - self.affine(expr.right)
            case Binary(operator="*"):
                left, right = self.affine(expr.left), self.affine(expr.right)
                if left[1:].any():
                    left, right = right, left
                if not left[1:].any():
                    product: Floats = left[0] * right
                    return product
            case Binary(operator="/"):
                left, right = self.affine(expr.left), self.affine(expr.right)
                if not right[1:].any() and right[0].all():
                    quotient: Floats = left / right[0]
                    return quotient
            case Choice():
                return self.affine(self.chosen(expr))
        raise _NoRatioError

    def chosen(self, expr: Choice) -> Expr:
        """The branch that all tables take but those that stand apart."""
        return expr.yes if self.holds(expr.condition) else expr.no

    def holds(self, condition: Expr) -> bool:
        """Whether a condition holds at all tables, or at none.

        Raises:
            _NoRatioError: it is not seen which.
        """
        if names_read(condition) <= self.fixed:
            return bool(evaluate(condition, self.scope))
        match condition:
            case Unary(operator="not"):
                return not self.holds(condition.operand)
            case Binary(operator="and" | "or"):
                return self._either(condition)
            case Binary(operator="==" | "!="):
                return self._equal(condition) == (condition.operator == "==")
        raise _NoRatioError

    def _either(self, condition: Binary) -> bool:
        """``and`` and ``or``: one side may decide where the other does not."""
        decides = condition.operator == "or"
        undecided = False
        for side in (condition.left, condition.right):
            try:
                if self.holds(side) == decides:
                    return decides
            except _NoRatioError:
                undecided = True
        if undecided:
            raise _NoRatioError
        return not decides

    def _equal(self, condition: Binary) -> bool:
        """Whether both sides are equal at all tables, or at none."""
        factors = (
            [self.affine(Binary("-", condition.left, condition.right))]
            if not (self._is_zero(condition.right))
            else [self.affine(factor) for factor in _factors(condition.left)]
        )
        for factor in factors:
            if not factor.any():
                return True
            values, sizes = self._at_vertices(factor), self._at_vertices(np.abs(factor))
            clear = np.abs(values) > _CLEAR * sizes
            one_sign = (values >= 0).all(axis=0) | (values <= 0).all(axis=0)
            held = np.stack([inside for _, _, inside in self.places])
            if not (clear | ~held).all() or not one_sign.all():
                raise _NoRatioError
        return False

    def _is_zero(self, expr: Expr) -> bool:
        return names_read(expr) <= self.fixed and not number(expr, self.scope)

    def _at_vertices(self, affine: Floats) -> Floats:
        """The values at all vertices, (vertices, ks); 0 where a k has not got one."""
        return np.stack(
            [np.where(inside, _value(affine, a, b), 0.0) for a, b, inside in self.places]
        )

    def ratios(self, expr: Expr) -> Iterator[tuple[Floats, Floats, float]]:
        """Numerators, denominators and powers of the ratios whose sum an expression is."""
        try:
            one = np.zeros((3, self.size))
            one[0] = 1.0
            yield self.affine(expr), one, 1.0
            return
        except _NoRatioError:
            pass
        match expr:
            case Unary(operator="-"):
                yield from ((-top, below, a) for top, below, a in self.ratios(expr.operand))
            case Binary(operator="+" | "-"):
                yield from self.ratios(expr.left)
                sign = 1.0 if expr.operator == "+" else -1.0
                yield from ((sign * top, below, a) for top, below, a in self.ratios(expr.right))
            case Binary(operator="*"):
                try:
                    factor, other = self._number(expr.left), expr.right
                except _NoRatioError:
                    factor, other = self._number(expr.right), expr.left
                yield from ((factor * top, below, a) for top, below, a in self.ratios(other))
            case Binary(operator="/"):
                yield from self._quotient(expr)
            case Choice():
                yield from self.ratios(self.chosen(expr))
            case _:
                raise _NoRatioError

    def _number(self, expr: Expr) -> Floats:
        """An expression that depends on k alone, (ks,)."""
        found = self.affine(expr)
        if found[1:].any():
            raise _NoRatioError
        number: Floats = found[0]
        return number

    def _quotient(self, expr: Binary) -> Iterator[tuple[Floats, Floats, float]]:
        below, power = expr.right, 1.0
        while isinstance(below, Choice):
            below = self.chosen(below)
        if isinstance(below, Call) and below.function == "sqrt":
            below, power = below.arguments[0], 0.5
        scale, random = np.ones(self.size), None
        for factor in _factors(below):
            affine = self.affine(factor)
            if not affine[1:].any():
                scale = scale * affine[0]
            elif random is None:
                random = affine
            else:  # of the same k both may be affine together, as hyp * (n - ref) + ref * ...
                raise _NoRatioError
        if not (scale > 0).all():
            raise _NoRatioError
        if random is None:
            scale = scale**power
            yield from ((top / scale, under, a) for top, under, a in self.ratios(expr.left))
            return
        yield self.affine(expr.left) / scale**power, random, power


class _Table(_Affine):
    """The same for the counts A and B of a confusion table, k being the number of ones of z."""

    def __init__(self, form: Confusion, n: int, ks: Floats) -> None:
        self.form, self.ks = form, ks
        zero, one, rest = np.zeros_like(ks), np.ones_like(ks), n - ks
        corners = [(one, zero), (zero, one), (ks, zero), (zero, rest)]
        corners += [(ks, rest - 1), (ks - 1, rest)]
        places = []
        for a, b in corners:
            inside = (a >= 0) & (a <= ks) & (b >= 0) & (b <= rest) & (a + b >= 1) & (a + b < n)
            places.append((a, b, inside))
        registers = {}
        for register in form.bound.spec.registers:
            (tn, fn), (fp, tp) = form.amounts[register.name]
            base = constant_at(form.bound, register.start, n) + fp * ks + tn * rest
            slopes = np.full_like(base, tp - fp), np.full_like(base, fn - tn)
            registers[register.name] = np.stack([base, *slopes])
        super().__init__(form.bound, n, registers, places)

    def ratio(self, top: Floats, below: Floats, power: float) -> Ratio:
        """The ratio with its bounds.

        Raises:
            _NoRatioError: D is not above 0 at some table.
        """
        held = np.stack([inside for _, _, inside in self.places])
        values, sizes = self._at_vertices(below), self._at_vertices(np.abs(below))
        tops = np.abs(self._at_vertices(top))
        ends = [
            (_value(f, np.zeros_like(self.ks), 0.0), _value(f, self.ks, self.n - self.ks))
            for f in (below, top)
        ]
        values = np.concatenate([values, ends[0]])
        tops = np.concatenate([tops, np.abs(ends[1])])
        clear = values[:-2] > _CLEAR * sizes
        if not (clear | ~held).all() or (values[-2:] < 0).any():
            raise _NoRatioError
        used = values > 0
        most = np.where(used, tops / np.where(used, values, 1.0), 0.0).max(axis=0)
        if power != 1.0:
            most = most * np.sqrt(values.max(axis=0))
        return Ratio(top, below, power, most, float(values[used].min()), float(values.max()))

    def apart(self, found: list[Ratio], a: Floats, b: Floats) -> Floats:
        """What the file answers beyond the sum of the ratios at one table of each k, (ks,)."""
        answers = value_of_counts(self.form, self.n, a, self.ks, a + b)
        for ratio in found:
            top, below = _value(ratio.top, a, b), _value(ratio.below, a, b)
            if (top[below <= 0] != 0).any():
                raise _NoRatioError
            divisor = np.where(below > 0, below, np.inf)
            answers = answers - top * divisor**-ratio.power
        return answers

    def slopes(self, ratio: Ratio) -> Floats:
        """The sign of what one more true positive does at all vertices, ref given."""
        more, deeper = ratio.top[1] - ratio.top[2], ratio.below[1] - ratio.below[2]
        found: Floats = more * ratio.below - ratio.power * deeper * ratio.top
        return self._at_vertices(found)


class _Totals(_Affine):
    """The same for a joint count and the count of y, k being that of z: both tapes split.

    Nothing is known of the joint count: conditions and denominators must not look at it.
    """

    def __init__(self, form: Split, n: int, ks: Floats, most: float) -> None:
        zero, all_ks = np.zeros_like(ks), np.ones(len(ks), bool)
        registers = {}
        for name, column in ((form.z.counter, 0), (form.y.counter, 2)):
            if name is not None:
                registers[name] = np.zeros((3, len(ks)))
                registers[name][column] = 1.0 if column else ks
        (joint,) = form.joint_counts
        registers[joint.register] = np.zeros((3, len(ks)))
        registers[joint.register][0] = starts_of(form.bound, [joint.register], n)[joint.register]
        registers[joint.register][1] = 1.0
        places = [(zero, zero, all_ks), (zero, zero + most, all_ks)]
        super().__init__(form.bound, n, registers, places)

    def _at_vertices(self, affine: Floats) -> Floats:
        if affine[1].any():
            raise _NoRatioError
        return super()._at_vertices(affine)


def ratio_of_totals(form: Split, n: int, ks: Floats, most: float) -> Ratio | None:
    """The value as b T / D^power, T being the joint count and D affine in the count of y; or None.

    Coefficients are on 1, T and the count of y, which is at most ``most``; D is above 0.

    Args:
        form: a loss with one joint count, split by tape.
        n: the length.
        ks: counts of z.
        most: the greatest count of y.
    """
    if not form.counted or len(form.joint_counts) != 1:
        return None
    try:
        reader = _Totals(form, n, ks, most)
        (top, below, power), *others = reader.ratios(form.bound.spec.value)
        values, sizes = (reader._at_vertices(one) for one in (below, np.abs(below)))
    except (_NoRatioError, LossFileError):
        return None
    if others or top[0].any() or top[2].any() or not (values > _CLEAR * sizes).all():
        return None
    return Ratio(top, below, power, np.full(len(ks), np.inf), values.min(), values.max())


def _factors(expr: Expr) -> Iterator[Expr]:
    """The factors of a product."""
    if isinstance(expr, Binary) and expr.operator == "*":
        yield from _factors(expr.left)
        yield from _factors(expr.right)
    else:
        yield expr


def _value(affine: Floats, a: Floats, b: Floats | float) -> Floats:
    found: Floats = affine[0] + affine[1] * a + affine[2] * b
    return found
