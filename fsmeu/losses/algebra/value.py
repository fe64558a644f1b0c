"""The value of a confusion table as a sum of quotients N / D^a, derived from the expression tree.

N and D are polynomials in tp, hyp and ref, and a is 1 or 1/2: F-scores, Jaccard, kappa, balanced
accuracy (two quotients), tp / sqrt(hyp * ref). Whether a condition holds and whether a denominator
is above 0 is decided by the signs of coefficients (``polynomial.py``) at all tables in which y and
z have both labels. Tables of a z without ones, or with nothing else, are looked at by themselves,
as conditions hold there that do not hold elsewhere; the two tables in which y has one label alone
are valued by the file itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.algebra.polynomial import (
    NoFormError,
    Polynomial,
    Region,
    Tables,
    Totals,
    at,
    edge_tables,
    inner_tables,
    of_counts,
)
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, names_read
from fsmeu.losses.semantics.evaluator import Scope, evaluate

ONE = of_counts(1.0)
_REPRODUCED = 1e-11  # what doubles may lose of a value in another order of operations, as a part
_MOST_CANCELLED = 64.0  # how many times a function of a count its offset may be
_MOST_POWER = 4  # of an expression
_TRUTHS = {"not", "and", "or", "==", "!=", "<", "<=", ">", ">="}
_SIGNS = {"==": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}


class Quotient(NamedTuple):
    """N / D^power."""

    top: Polynomial
    below: Polynomial
    power: float


# -- reading an expression -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads expressions as sums of quotients, given what registers are, where counts can be."""

    region: Region
    registers: Mapping[str, Polynomial]
    scope: Scope

    def quotients(self, expr: Expr) -> tuple[Quotient, ...]:
        """The quotients whose sum it is; a NoFormError if it is none."""
        if not names_read(expr) & self.registers.keys():
            return _number(float(evaluate(expr, self.scope)))
        match expr:
            case ast.Name() | ast.Old():
                return _sum([Quotient(self.registers[expr.name], ONE, 0.0)])
            case ast.Call(function="sqrt"):
                return self._root(self.quotients(expr.arguments[0]))
            case ast.Unary(operator="-"):
                return _products(_number(-1.0), self.quotients(expr.operand))
            case ast.Binary(operator="^"):
                return self._power(expr)
            case ast.Binary(operator="+" | "-" | "*" | "/"):
                return self._combined(expr)
            case ast.Choice():
                return self.quotients(expr.yes if self._decided(expr.condition) else expr.no)
            case ast.Unary() | ast.Binary() if expr.operator in _TRUTHS:
                return _number(float(self._decided(expr)))
        raise NoFormError

    def _combined(self, expr: ast.Binary) -> tuple[Quotient, ...]:
        left = self.quotients(expr.left)
        right = self.quotients(expr.right)
        match expr.operator:
            case "*":
                return _products(left, right)
            case "/":
                return _products(left, self._inverse(right))
            case "-":
                right = _products(_number(-1.0), right)
        return _sum([*left, *right])

    def _power(self, expr: ast.Binary) -> tuple[Quotient, ...]:
        if names_read(expr.right) & self.registers.keys():
            raise NoFormError
        power = float(evaluate(expr.right, self.scope))
        base = self.quotients(expr.left)
        if power == 0.5:
            return self._root(base)
        if power not in range(_MOST_POWER + 1):
            raise NoFormError
        return reduce(_products, [base] * int(power), _number(1.0))

    def _root(self, of: tuple[Quotient, ...]) -> tuple[Quotient, ...]:
        """The root of a polynomial that is above 0, as N / N^(1/2)."""
        top, _, power = _only(of)
        if power or self.region.sign(top) != 1:
            raise NoFormError
        number = top.number
        return _number(number**0.5) if number is not None else (Quotient(top, top, 0.5),)

    def _inverse(self, of: tuple[Quotient, ...]) -> tuple[Quotient, ...]:
        """1 divided by one quotient N / D^a, N being nowhere 0."""
        top, below, power = _only(of)
        sign = self.region.sign(top)
        if not sign:
            raise NoFormError
        number = top.number
        if number is not None and not power:
            return _number(1.0 / number)
        over = ONE if sign > 0 else of_counts(-1.0)
        top = top.times(over)
        if power == 0.5:
            is_root = top == below
            return (Quotient(over, top, 0.5),) if is_root else self._inverse_of_root(top, below)
        return (Quotient(over.times(below) if power else over, top, 1.0),)

    def _inverse_of_root(self, top: Polynomial, below: Polynomial) -> tuple[Quotient, ...]:
        """D^(1/2) / N, as D / (N^2 D)^(1/2)."""
        return (Quotient(below, top.times(top).times(below), 0.5),)

    def _decided(self, condition: Expr) -> bool:
        truth = self.holds(condition)
        if truth is None:
            raise NoFormError
        return truth

    def holds(self, expr: Expr) -> bool | None:
        """Whether a condition holds; None where that depends on the counts."""
        match expr:
            case ast.Binary(operator="and" | "or"):
                ends = expr.operator == "or"
                first = self.holds(expr.left)
                second = ends if first is ends else self.holds(expr.right)
                return second if first is not None or second is ends else None
            case ast.Unary(operator="not"):
                truth = self.holds(expr.operand)
                return None if truth is None else not truth
            case ast.Binary() if expr.operator in _SIGNS:
                difference = ast.Binary("-", expr.left, expr.right, place=expr.place)
                return self._has_sign(difference, _SIGNS[expr.operator])
        return self._has_sign(expr, _SIGNS["!="])

    def _has_sign(self, expr: Expr, signs: set[int]) -> bool | None:
        found = self.quotients(expr)
        if not found:
            return 0 in signs
        sign = self.region.sign(found[0].top) if len(found) == 1 else None
        return None if sign is None else sign in signs


def _number(number: float) -> tuple[Quotient, ...]:
    if not np.isfinite(number):
        raise NoFormError
    return _sum([Quotient(of_counts(number), ONE, 0.0)])


def _only(of: tuple[Quotient, ...]) -> Quotient:
    if len(of) != 1:
        raise NoFormError
    return of[0]


def _sum(parts: Sequence[Quotient]) -> tuple[Quotient, ...]:
    """The sum; quotients of one denominator are one, and none is 0."""
    tops: dict[tuple[Polynomial, float], Polynomial] = {}
    for top, below, power in parts:
        before = tops.get((below, power))
        tops[below, power] = top if before is None else before.plus(top)
    return tuple(Quotient(top, *key) for key, top in tops.items() if top.terms)


def _products(left: Sequence[Quotient], right: Sequence[Quotient]) -> tuple[Quotient, ...]:
    return _sum([_product(one, other) for one in left for other in right])


def _product(one: Quotient, other: Quotient) -> Quotient:
    """The product of two quotients; of different powers, both are made roots."""
    top = one.top.times(other.top)
    if not (one.power and other.power):
        return Quotient(top, *((one if one.power else other)[1:]))
    if one[1:] == other[1:] and one.power == 0.5:
        return Quotient(top, one.below, 1.0)
    if one.power == other.power:
        return Quotient(top, one.below.times(other.below), one.power)
    whole, root = (one, other) if one.power == 1.0 else (other, one)
    return Quotient(top, whole.below.times(whole.below).times(root.below), 0.5)


# -- values of confusion tables --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Value:
    """The value of tables of n labels as a sum of quotients; one whose D is 0 is 0.

    Attributes:
        form: the loss.
        n: the length, at least 1.
        quotients: where z and y have both labels; D is above 0 there.
        none: where z has no ones, and y has both labels.
        all: where z has nothing but ones, and y has both labels.
    """

    form: Confusion
    n: int
    quotients: tuple[Quotient, ...]
    none: tuple[Quotient, ...]
    all: tuple[Quotient, ...]

    def runs(self) -> list[tuple[range, tuple[Quotient, ...]]]:
        """The numbers k of ones of z, and the quotients of each run of them."""
        runs = [(range(1), self.none), (range(1, self.n), self.quotients)]
        runs.append((range(self.n, self.n + 1), self.all))
        joined = [runs[0]]
        for ks, quotients in runs[1:]:
            begin = joined[-1][0].start
            last = joined[-1][1]
            if quotients == last and ks:
                joined[-1] = (range(begin, ks.stop), last)
            elif ks:
                joined.append((ks, quotients))
        return joined

    def at_table(self, tp: Floats, hyp: Floats, ref: Floats) -> tuple[Floats, Floats]:
        """The sum of quotients at tables, and that of their terms without signs, as hyp.

        The numbers of ones of z all belong to one run. A NoFormError where D is 0 and N is not.
        """
        hyp = np.asarray(hyp, np.float64)
        total = np.zeros(hyp.shape)
        size = np.zeros(hyp.shape)
        k = float(hyp.flat[0]) if hyp.size else 1.0
        for top, below, power in self.of_number(k):
            above = number_at(top, tp, hyp, ref)
            under = number_at(below, tp, hyp, ref)
            if ((under <= 0) & (above != 0)).any():
                raise NoFormError
            scale = np.where(under > 0, under, np.inf) ** -power if power else 1.0
            total += above * scale
            size += number_at(top, tp, hyp, ref, size=True) * scale
        return total, size

    def of_number(self, k: float) -> tuple[Quotient, ...]:
        """The quotients where z has k ones."""
        return self.none if k == 0 else self.all if k == self.n else self.quotients

    def degenerate(self, ks: Floats) -> Floats:
        """What the value is more than quotients where y has no ones, and ones alone, (2, ks).

        All ks are 0, or n, or between them.
        """
        n = float(self.n)
        tp = np.stack([np.zeros(len(ks)), ks])
        ref = np.stack([np.zeros(len(ks)), np.full(len(ks), n)])
        hyp = np.stack([ks, ks])
        return value_of_counts(self.form, self.n, tp, hyp, ref) - self.at_table(tp, hyp, ref)[0]


def number_at(
    of: Polynomial, tp: Floats, hyp: Floats, ref: Floats, *, size: bool = False
) -> Floats:
    """A polynomial at tables, in their shape; or the sum of its terms without signs."""
    total = np.zeros(np.shape(hyp))
    for (i, j, k), coefficient in of.terms:
        total += (abs(coefficient) if size else coefficient) * tp**i * hyp**j * ref**k
    return total


def value_at_length(form: Confusion, n: int) -> Value | None:
    """The value of tables of n >= 1 labels as a sum of quotients; None if it is none.

    It is kept. Doubles make the same of the quotients and of the file's expression at tables of
    few, of all and of many numbers of ones: they would not where the file loses digits.
    """
    return form.bound.at(n).derived.get("sum of quotients", partial(_derived, form, n))


def reader_of(form: Confusion, n: int, region: Region) -> Reader:
    """What reads expressions over the registers of a confusion table of n labels."""
    registers = {}
    at_length = form.bound.at(n)
    for name, amounts in form.amounts.items():
        (tn, fn), (fp, tp) = amounts
        start = float(at_length.starts[name]) + tn * n
        registers[name] = of_counts(start, tp - fp - fn + tn, fp - tn, fn - tn)
    return Reader(region, registers, Scope(form.bound, {"n": float(n)}, {}, {}))


def _derived(form: Confusion, n: int) -> Value | None:
    regions = (inner_tables(n), edge_tables(n, ones=False), edge_tables(n, ones=True))
    try:
        if n == 1:
            return Value(form, n, (), (), ())
        found = [_in_region(reader_of(form, n, region)) for region in regions]
        value = Value(form, n, found[0], found[1], found[2])
        return value if _is_reproduced(value) else None
    except (NoFormError, LossFileError):
        return None


def _in_region(reader: Reader) -> tuple[Quotient, ...]:
    """The quotients of a region, each with a D that is above 0 there; those that are 0 left out."""
    assert isinstance(reader.region, Tables)
    quotients = reader.quotients(reader.scope.bound.spec.value)
    if any(part.power and reader.region.sign(part.below) != 1 for part in quotients):
        raise NoFormError
    return quotients


def _is_reproduced(value: Value) -> bool:
    """Whether quotients are the file's value at some tables of few, of all, of many ones of z."""
    n = value.n
    powers = 2.0 ** np.arange(np.log2(n) + 1)
    ks = np.unique(np.concatenate([powers, n - powers, [n // 2, n // 3]]))
    first, last = np.array(list(product((0.0, 0.5, 1.0), repeat=2))).T[:, :, None]
    for some in (np.zeros(1), ks[(ks > 0) & (ks < n)], np.full(1, float(n))):
        tp = np.floor(first * some)
        ref = tp + np.floor(last * (n - some))
        inside = (ref > 0) & (ref < n)
        tables = tp[inside], np.broadcast_to(some, tp.shape)[inside], ref[inside]
        found, size = value.at_table(*tables)
        wanted = value_of_counts(value.form, n, *tables)
        scale = float(np.abs(wanted).max(initial=0.0)) or size
        if (np.abs(found - wanted) > _REPRODUCED * scale).any():
            return False
        value.degenerate(some)
    return True


# -- values of one count, and of totals ------------------------------------------------------------


class CountRatio(NamedTuple):
    """A function offset + gain (k + shift)^-power of a count k."""

    offset: float
    gain: float
    shift: float
    power: float

    def at(self, k: float) -> float:
        """The function of a count."""
        return float(self.offset + self.gain * (k + self.shift) ** -self.power)


class Count(NamedTuple):
    """A register that counts: its value is ``start`` + k, and k lies between two numbers."""

    name: str
    start: float
    least: float
    most: float


def ratio_of_count(expr: Expr, scope: Scope, count: Count) -> CountRatio | None:
    """An expression as a function of one count, everything else being known; None if it is none.

    Conditions hold at all counts of the range or at none, and k + shift is above 0. None as well
    where offset and ratio are far greater than their sum, in which digits would be lost.
    """
    registers = {count.name: of_counts(count.start, ref=1.0)}
    parts = _affine_parts(expr, scope, registers, Totals(np.zeros(1), count.least, count.most))
    if parts is None:
        return None
    total = CountRatio(0.0, 0.0, 1.0 - count.least, 1.0)
    for part in parts:
        top, below = (rows[:, 0] for rows in (part.top, part.below))
        steep = float(below[2])
        if steep < 0 or (top[2] and (steep == 0 or part.power != 1.0)):
            return None
        if steep == 0:
            total = total._replace(offset=total.offset + float(top[0] * below[0] ** -part.power))
            continue
        multiple = float(top[2] / steep)
        gain = float(top[0] - multiple * below[0]) / steep**part.power
        shape = (float(below[0]) / steep, part.power)
        if total.gain and gain and shape != total[2:]:
            return None
        kept = total[2:] if total.gain else shape
        total = CountRatio(total.offset + multiple, total.gain + gain, *kept)
    greatest = max(abs(total.at(count.least)), abs(total.at(count.most)))
    return total if abs(total.offset) <= _MOST_CANCELLED * greatest else None


class TotalsRatio(NamedTuple):
    """The value as gain T D^-power + offset, D = fixed + steep S, by the count of z, (ks,) each.

    T is the joint count, S the count of y.
    """

    gain: Floats
    fixed: Floats
    steep: Floats
    power: float
    offset: Floats


def ratio_of_totals(
    form: Split, n: int, ks: Floats, least: float, most: float
) -> TotalsRatio | None:
    """The value for counts ks of z, those of y being from ``least`` to ``most``; or None.

    D is above 0. Nothing is known of T: conditions and denominators must not look at it. Terms
    N / D in which N is a multiple of D, the multiple depending on the count of z alone, are offset.
    """
    if not form.counted or len(form.joint_counts) != 1:
        return None
    joint = form.joint_counts[0].register
    registers = {joint: of_counts(float(form.bound.at(n).starts[joint]), tp=1.0)}
    for name, count in ((form.z.counter, "hyp"), (form.y.counter, "ref")):
        if name is not None:
            registers[name] = of_counts(0.0, **{count: 1.0})
    scope = Scope(form.bound, {"n": float(n)}, {}, {})
    parts = _affine_parts(form.bound.spec.value, scope, registers, Totals(ks, least, most))
    offset = np.zeros(len(ks))
    ratios = []
    for part in parts or ():
        column = 2 if part.below[2].all() else 0
        if not part.below[column].all():
            return None
        multiple = part.top[column] / part.below[column]
        if (part.top[::2] != multiple * part.below[::2]).any():
            return None
        if multiple.any() and part.power != 1.0:
            return None
        offset += multiple
        if part.top[1].any():
            ratios.append(part)
    if len(ratios) != 1:
        return None
    [(top, below, power)] = ratios
    divisor = below[2] if below[2].all() else below[0]
    if (divisor == divisor[0]).all():
        return TotalsRatio(top[1], below[0], below[2], power, offset)
    gain = top[1] * divisor**-power
    return TotalsRatio(gain, below[0] / divisor, below[2] / divisor, power, offset)


class AffineQuotient(NamedTuple):
    """N / D^power for several k: coefficients of N and D on 1, tp and ref, (3, ks) each."""

    top: Floats
    below: Floats
    power: float


def _affine_parts(
    expr: Expr, scope: Scope, registers: Mapping[str, Polynomial], region: Totals
) -> list[AffineQuotient] | None:
    """The quotients whose sum an expression is, D above 0; None if it is no such sum."""
    try:
        quotients = Reader(region, registers, scope).quotients(expr)
        if any(part.power and region.sign(part.below) != 1 for part in quotients):
            return None
        return [
            AffineQuotient(_rows_at(top, region.hyp), _rows_at(below, region.hyp), power or 1.0)
            for top, below, power in quotients
        ]
    except (NoFormError, LossFileError):
        return None


def _rows_at(of: Polynomial, ks: Floats) -> Floats:
    """Coefficients on 1, tp and ref for each k, (3, ks)."""
    return np.stack([np.broadcast_to(at(row, ks), ks.shape) for row in of.rows()])
