"""Expressions and specs made from others: parts replaced, slopes, sums of two tapes separated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from fsmeu.errors import LossFileError
from fsmeu.losses.language.dependencies import (
    increment,
    is_truth,
    linear_registers,
    names_read,
    tapes,
    unread_registers,
)
from fsmeu.losses.language.syntax import (
    Binary,
    Call,
    Choice,
    Expr,
    Name,
    Number,
    Old,
    Register,
    Spec,
    Unary,
    parts,
    with_parts,
)
from fsmeu.losses.semantics.evaluator import BoundLoss, constant, constant_at

_ZERO, _ONE = Number(0.0), Number(1.0)
_OTHER: dict[Expr, Expr] = {Name("z"): Name("y"), Name("y"): Name("z")}


def partial_eval(
    expr: Expr, known: Mapping[str, float], before: Mapping[str, float], spec: Spec
) -> Expr:
    """The expression with what is known worked out as far as it goes.

    Args:
        expr: an expression of the file.
        known: the values of some names.
        before: the values that some registers had before the step.
        spec: the file, for faults. What has no value is left as it is.
    """
    match expr:
        case Name() if expr.name in known:
            return Number(known[expr.name], place=expr.place)
        case Old() if expr.name in before:
            return Number(before[expr.name], place=expr.place)
        case Choice():
            condition = partial_eval(expr.condition, known, before, spec)
            if isinstance(condition, Number):
                return partial_eval(expr.yes if condition.value else expr.no, known, before, spec)
    inside = tuple(partial_eval(part, known, before, spec) for part in parts(expr))
    whole = with_parts(expr, inside)
    if isinstance(whole, Binary) and whole.operator in ("and", "or"):
        return _lazy(whole)
    if isinstance(whole, Unary | Binary | Call) and all(isinstance(p, Number) for p in inside):
        try:
            return Number(constant(whole, {}, spec), place=expr.place)
        except LossFileError:
            return whole
    return whole


def _lazy(expr: Binary) -> Expr:
    """``and`` and ``or`` of which the left side decides, or is known."""
    if not isinstance(expr.left, Number):
        return expr
    left = bool(expr.left.value)
    if left == (expr.operator == "or"):
        return Number(float(left), place=expr.place)
    if isinstance(expr.right, Number):
        return Number(float(expr.right.value != 0), place=expr.place)
    return expr.right if is_truth(expr.right) else expr


def replace_parts(expr: Expr, others: Mapping[Expr, Expr]) -> Expr:
    """The expression with these parts of it, wherever they stand, replaced by others."""
    if expr in others:
        return others[expr]
    return with_parts(expr, tuple(replace_parts(part, others) for part in parts(expr)))


def swapped_spec(spec: Spec) -> Spec:
    """The spec whose value for (z, y) is that of the given one for (y, z)."""
    registers, output_registers = (
        tuple(replace(r, update=replace_parts(r.update, _OTHER)) for r in registers)
        for registers in (spec.registers, spec.output_registers)
    )
    examples = tuple(replace(example, z=example.y, y=example.z) for example in spec.examples)
    return replace(spec, registers=registers, output_registers=output_registers, examples=examples)


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


def separated(bound: BoundLoss) -> BoundLoss:
    """The same loss with counts that are sums of one for each tape written as two.

    ``count both by (z == 1) + (y == 1)`` becomes ``both.z`` and ``both.y``, so that it does not
    stand in the way of algorithms that look at the tapes one after the other.
    """
    spec = bound.spec
    linear, unread = linear_registers(spec), unread_registers(spec)
    registers: list[Register] = []
    sums: dict[Expr, Expr] = {}
    for register in spec.registers:
        two = None
        if register.name in unread and register.name not in linear:
            two = _two_counts(spec, register)
        registers += [register] if two is None else two
        if two is not None:
            sums[Name(register.name)] = Binary("+", Name(two[0].name), Name(two[1].name))
    if not sums:
        return bound
    value = replace_parts(spec.value, sums)
    return replace(bound, spec=replace(spec, registers=tuple(registers), value=value))


def _two_counts(spec: Spec, register: Register) -> list[Register] | None:
    """A count for each tape, if what the register adds is a sum of both."""
    amount = increment(register)
    if amount is None or register.sugar != "count":
        return None
    shares: dict[str, Expr] = {"z": _ZERO, "y": _ZERO}
    for sign, term in terms_of_sum(amount):
        reads = _tapes_of(spec, term) & {"z", "y"}
        if len(reads) > 1:
            return None
        tape = "y" if reads == {"y"} else "z"
        so_far = shares[tape]
        shares[tape] = term if (sign, so_far) == ("+", _ZERO) else Binary(sign, so_far, term)
    if _ZERO in shares.values():
        return None
    return [_count(register, tape, share) for tape, share in shares.items()]


def terms_of_sum(expr: Expr, sign: str = "+") -> Iterator[tuple[str, Expr]]:
    """The terms of a sum, each with its sign."""
    other = "-" if sign == "+" else "+"
    match expr:
        case Binary(operator="+" | "-"):
            yield from terms_of_sum(expr.left, sign)
            yield from terms_of_sum(expr.right, sign if expr.operator == "+" else other)
        case Unary(operator="-"):
            yield from terms_of_sum(expr.operand, other)
        case _:
            yield sign, expr


def _tapes_of(spec: Spec, expr: Expr) -> frozenset[str]:
    """The tapes that an expression reads, by itself or through registers."""
    read, reach = names_read(expr), tapes(spec)
    through = (reach[name] for name in read & reach.keys())
    return frozenset(read & {"z", "y", "i"}).union(*through)


def _count(register: Register, tape: str, amount: Expr) -> Register:
    name = f"{register.name}.{tape}"
    start = register.start if tape == "z" else _ZERO
    return replace(register, name=name, start=start, update=Binary("+", Name(name), amount))
