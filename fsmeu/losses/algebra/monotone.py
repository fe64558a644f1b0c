"""Whether one more true positive never makes the value of a confusion table worse, by algebra.

With hyp and ref given, the derivative of a sum of quotients N / D^a with respect to tp is the sum
of (N' D - a N D') / D^(a + 1). Over a common denominator it is a polynomial in the four cells, and
where all its coefficients are at least 0, the sum never falls. Roots and sums of what never falls
never fall. So does a choice: ``low when X == 0``, X being at least 0 and never falling, stands
where X is least, and must be no more than what it stands for.

Without one more true positive that makes it worse, the best sequence ranks positions by probability
(Natarajan 2016, Theorem 6). What is not told so, tables may tell (``confusion.tp_counterexample``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.polynomial import NoFormError, Polynomial, Tables, inner_tables, of_counts
from fsmeu.losses.algebra.value import ONE, Quotient, Reader, reader_of
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr


def never_worse(form: Confusion, n: int) -> bool:
    """Whether it is known that one more true positive makes no table of n labels worse."""
    return form.bound.at(n).derived.get("never worse", partial(_derived, form, n))


def _derived(form: Confusion, n: int) -> bool:
    if n == 1:
        return True  # every table has a label alone, and tells tp
    region = inner_tables(n)
    slopes = Slopes(region, reader_of(form, n, region))
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    try:
        return slopes.never_falls(form.bound.spec.value, sign)
    except (NoFormError, LossFileError):
        return False


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives with respect to tp of expressions, at all tables with both labels."""

    region: Tables
    reader: Reader

    def never_falls(self, expr: Expr, sign: float) -> bool:
        """Whether an expression times a sign is known not to fall; a NoFormError where it is no."""
        try:
            return self._sum_never_falls(self._quotients(expr), sign)
        except NoFormError:
            pass
        match expr:
            case ast.Call(function="sqrt"):
                return self.never_falls(expr.arguments[0], sign)
            case ast.Unary(operator="-"):
                return self.never_falls(expr.operand, -sign)
            case ast.Binary(operator="+"):
                return self.never_falls(expr.left, sign) and self.never_falls(expr.right, sign)
            case ast.Binary(operator="-"):
                return self.never_falls(expr.left, sign) and self.never_falls(expr.right, -sign)
            case ast.Choice():
                return self._choice_never_falls(expr, sign)
        return False

    def _choice_never_falls(self, expr: ast.Choice, sign: float) -> bool:
        truth = self.reader.holds(expr.condition)
        if truth is not None:
            return self.never_falls(expr.yes if truth else expr.no, sign)
        match expr.condition:
            case ast.Binary(operator="==", right=ast.Number(value=0.0)) as condition:
                least = self._over_common(self._quotients(condition.left)).top
                above = self._quotients(expr.no), self._quotients(expr.yes)
                difference = [*above[0], *(_negative(one) for one in above[1])]
                return (
                    self.region.is_never_negative(least)
                    and self.never_falls(condition.left, 1.0)
                    and self.never_falls(expr.no, sign)
                    and self.never_falls(expr.yes, sign)
                    and self._is_never_negative(difference, sign)
                )
        return False

    def _quotients(self, expr: Expr) -> tuple[Quotient, ...]:
        """The quotients whose sum it is; of the last division, D may be 0 at some tables."""
        if isinstance(expr, ast.Binary) and expr.operator == "/":
            over = self._over_common(self.reader.quotients(expr.right))
            one = self._over_common(self.reader.quotients(expr.left))
            if self.region.is_never_negative(over.top):
                return (Quotient(one.top.times(over.below), one.below.times(over.top), 1.0),)
        return self.reader.quotients(expr)

    def _over_common(self, quotients: Sequence[Quotient]) -> Quotient:
        """A sum of quotients as one; a NoFormError where there are roots."""
        total = Quotient(of_counts(0.0), ONE, 1.0)
        for top, below, power in quotients:
            if power == 0.5:
                raise NoFormError
            if below == total.below:
                total = total._replace(top=total.top.plus(top))
                continue
            joined = total.top.times(below).plus(top.times(total.below))
            total = Quotient(joined, total.below.times(below), 1.0)
        return total

    def _is_never_negative(self, quotients: Sequence[Quotient], sign: float) -> bool:
        top = self._over_common(quotients).top
        return self.region.is_never_negative(top.times(of_counts(sign)))

    def _sum_never_falls(self, quotients: Sequence[Quotient], sign: float) -> bool:
        slopes = [self._slope(one) for one in quotients]
        with_sign = of_counts(sign)
        if all(self.region.is_never_negative(one.top.times(with_sign)) for one in slopes):
            return True
        return self._is_never_negative(slopes, sign)

    def _slope(self, of: Quotient) -> Quotient:
        """The derivative: of a root, times D^(1/2), which is above 0."""
        steeper = of.below.slope()
        if not steeper.terms and of.power != 0.5:
            return Quotient(of.top.slope(), of.below, 1.0)
        rise = of.top.slope().times(of.below)
        top: Polynomial = rise.plus(of.top.times(steeper), -of.power)
        return Quotient(top, of.below.times(of.below), 0.5 if of.power == 0.5 else 1.0)


def _negative(of: Quotient) -> Quotient:
    return of._replace(top=of.top.times(of_counts(-1.0)))
