"""A value that is affine in some registers: what it is at their starts, and what each adds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Binary, Choice, Expr, Name, Number, Spec, Unary
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.evaluator import constant_at

_ZERO, _ONE = Number(0.0), Number(1.0)


def starts_of(bound: BoundLoss, names: Iterable[str], n: int) -> dict[str, float]:
    """The values of these registers before the first position, in the order of the names."""
    start = {r.name: r.start for r in bound.spec.registers}
    return {name: constant_at(bound, start[name], n) for name in names}


@lru_cache(maxsize=256)
def slope(spec: Spec, name: str) -> Expr:
    """What one more of a register adds to the value, an expression that is free of it.

    Requires a value that is affine in the register. A difference of two values would lose the
    digits of the slope that stand below those of the value.
    """
    return slope_in(spec.value, name)


def slope_in(expr: Expr, name: str) -> Expr:
    """What one more of a register adds to an expression that is affine in it."""
    if name not in names_read(expr):
        return _ZERO
    match expr:
        case Unary():
            return Unary("-", slope_in(expr.operand, name), place=expr.place)
        case Binary(operator="+" | "-"):
            left, right = slope_in(expr.left, name), slope_in(expr.right, name)
            return left if right == _ZERO else Binary(expr.operator, left, right, place=expr.place)
        case Binary(operator="*") if name in names_read(expr.right):
            return _times(expr.left, slope_in(expr.right, name), expr)
        case Binary(operator="*"):
            return _times(slope_in(expr.left, name), expr.right, expr)
        case Binary(operator="/"):
            return Binary("/", slope_in(expr.left, name), expr.right, place=expr.place)
        case Choice():
            yes, no = slope_in(expr.yes, name), slope_in(expr.no, name)
            return Choice(expr.condition, yes, no, place=expr.place)
        case Name():
            return _ONE
    raise AssertionError(expr)  # not affine


def _times(left: Expr, right: Expr, whole: Expr) -> Expr:
    if left == _ONE:
        return right
    return left if right == _ONE else Binary("*", left, right, place=whole.place)
