"""Counts of both tapes that are sums of a count of each: hyp + ref written as one.

``count both by (z == 1) + (y == 1)`` reads both tapes, but what it adds is a sum of what each tape
adds by itself. Written as two counts it no longer stands in the way of algorithms that look at the
tapes one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fsmeu.losses.algebra.rewrite import replace_parts
from fsmeu.losses.language.dependencies import (
    increment,
    linear_registers,
    names_read,
    tapes,
    unread_registers,
)
from fsmeu.losses.language.syntax import Binary, Expr, Name, Number, Register, Spec, Unary
from fsmeu.losses.semantics.bound import BoundLoss

_ZERO = Number(0.0)


def separated(bound: BoundLoss) -> BoundLoss:
    """The same loss with such counts written as two, ``both.z`` and ``both.y``."""
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
