"""Expressions made from others: numbers filled in and worked out, parts replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fsmeu.errors import LossFileError
from fsmeu.losses.language.dependencies import is_truth
from fsmeu.losses.language.syntax import (
    Arcs,
    Binary,
    Call,
    Choice,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Push,
    Spec,
    Unary,
    parts,
)
from fsmeu.losses.semantics.evaluator import constant

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


def with_parts(expr: Expr, inside: tuple[Expr, ...]) -> Expr:
    """The same kind of expression with other parts, in the order of ``parts``."""
    match expr:
        case Unary():
            return replace(expr, operand=inside[0])
        case Binary():
            return replace(expr, left=inside[0], right=inside[1])
        case Choice():
            return replace(expr, condition=inside[0], yes=inside[1], no=inside[2])
        case Call() | Index():
            return replace(expr, arguments=inside)
        case Push():
            return replace(expr, entry=inside[0])
        case Arcs():
            left = iter(inside)
            arcs = tuple((a, b, None if c is None else next(left)) for a, b, c in expr.arcs)
            return replace(expr, arcs=arcs)
    return expr


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
