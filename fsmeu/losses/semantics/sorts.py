"""The sorts of things that expressions stand for, and what is said when one is not the sort wanted.

A number (truth values are 0 and 1), a label, a text (the kind or type of a tag, or a quoted text
that names no label), or a memory. Labels that are all whole numbers are numbers, too, if doubles
tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fsmeu.errors import LossFileError, nearest, shorten
from fsmeu.losses.language import messages
from fsmeu.losses.language.messages import fault
from fsmeu.losses.language.syntax import (
    Call,
    Choice,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Register,
    Text,
    walk,
)
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.evaluator import constant

__all__ = [
    "LABEL",
    "NUMBER",
    "TEXT",
    "Sort",
    "World",
    "alike",
    "entries",
    "like_number",
    "unlike",
]

NUMBER, LABEL, TEXT = "a number", "a label", "a text"
Sort = str | Register
"""One of these, or the register of a memory."""
_SHOWN_LABELS = 40
_COMPUTED = (messages.AMOUNT, messages.ARITHMETIC, messages.FUNCTION, messages.ORDER)


@dataclass(frozen=True, eq=False)
class World:
    """What names stand for, and what is known about expressions so far.

    Attributes:
        bound: the loss.
        labels: what the file calls its labels.
        final: True when the file names its labels; else the same file may meet others.
        names: the sort of each name that is not a number.
        known: the sort of each expression, by its id: a ``let`` is seen once.
        numbers: the ids of expressions that were found to be numbers.
    """

    bound: BoundLoss
    labels: tuple[str, ...]
    final: bool
    names: dict[str, Sort]
    known: dict[int, Sort] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)


def entries(memory: Register) -> str:
    """The sort of what a memory remembers, by the look of it.

    What is neither bounded nor a condition, nor z, y, their kind or type, has no domain, and is
    refused for that.
    """
    return {"labels": LABEL, "kinds": TEXT, "types": TEXT}.get(_remembered(memory), NUMBER)


def _remembered(memory: Register) -> str:
    entry = memory.update.entry  # type: ignore[attr-defined]
    if memory.low is None and memory.high is None:
        if isinstance(entry, Name) and entry.name in ("z", "y"):
            return "labels"
        if isinstance(entry, Call) and entry.function in ("kind", "type"):
            return f"{entry.function}s"
    return "numbers"


def like_number(sort: Sort, world: World) -> bool:
    """True when things of this sort can be reckoned with."""
    return sort == NUMBER or (sort == LABEL and world.bound.numeric)


def _like_text(sort: Sort, world: World) -> bool:
    return sort == TEXT or (sort == LABEL and not (world.bound.numeric and world.final))


def alike(a: Sort, b: Sort, world: World) -> bool:
    """True when things of these sorts can be equal."""
    if isinstance(a, Register) and isinstance(b, Register):
        return a is b or _packing(a, world.bound) == _packing(b, world.bound)
    return any(like(a, world) and like(b, world) for like in (like_number, _like_text))


def _packing(memory: Register, bound: BoundLoss) -> tuple[object, ...]:
    """How many entries of which values: memories can be compared when these are the same.

    What depends on n is the same when it is written the same.
    """
    remembered = _remembered(memory)
    low, high = memory.low, memory.high
    bounds = (low, high) if low is not None or high is not None else (Number(0.0), Number(1.0))
    among = tuple(_value(side, bound) for side in bounds) if remembered == "numbers" else ()
    return (_value(memory.depth, bound), remembered, *among)


def _value(expr: Expr | None, bound: BoundLoss) -> object:
    if expr is None or any(isinstance(part, Name) and part.name == "n" for part in walk(expr)):
        return expr
    return constant(expr, bound.params, bound.spec)


# -- words -----------------------------------------------------------------------------------------


def unlike(
    expr: Expr, is_a: Sort, wanted: Sort, why: str, world: World, other: Expr | None = None
) -> LossFileError:
    """The error of an expression of the wrong sort: what it is, what must hold, what to do.

    Args:
        expr: the expression, which stands in the file.
        is_a: its sort.
        wanted: the sort that it should be of, or words for it.
        why: what must hold.
        world: the loss and its labels.
        other: what it is compared with, if it is.
    """
    spec = world.bound.spec
    said = f"{_shown(expr)} is {_described(is_a, world)}, not {_described(wanted, world)}: {why}"
    remedy = _remedy(expr, is_a, wanted, why, world, other)
    return fault(spec.origin, spec.source, expr.place, said, remedy)


def _shown(expr: Expr) -> str:
    match expr:
        case Name():
            return expr.name
        case Old():
            return f"old {expr.name}"
        case Text():
            return f'"{expr.value}"'
        case Number():
            return f"{expr.value:g}"
        case Call(function="kind" | "type"):
            return f"{expr.function}({_shown(expr.arguments[0])})"
        case Index():
            inside = ", ".join(_shown(a) for a in expr.arguments)
            return f"{'old ' * expr.old}{expr.name}[{inside}]"
        case Choice():
            return "(if ...)"
    return "(...)"


def _described(sort: Sort, world: World) -> str:
    if sort == LABEL:
        return f"a label ({shorten(', '.join(world.labels), _SHOWN_LABELS)})"
    if isinstance(sort, str):
        return sort
    depth, remembered, *bounds = _packing(sort, world.bound)
    known = len(bounds) == 2 and all(isinstance(side, float) for side in bounds)
    among = f"{remembered} in {bounds[0]:g}..{bounds[1]:g}" if known else str(remembered)
    if isinstance(depth, float):
        return f"a memory (the last {depth:g} {among})"
    return f"a memory (the last {among}, as many as n says)"


def _remedy(expr: Expr, is_a: Sort, wanted: Sort, why: str, world: World, other: Any) -> str:
    shown, label = _shown(expr), f'"{world.labels[-1]}"'
    if isinstance(is_a, Register):
        return f"Ask for an entry, {is_a.name}[0], or count some with tally({is_a.name}, ...)"
    if why == messages.TAGS:
        tags = "Give the file tags, such as: labels O B-NP I-NP"
        return tags if is_a == LABEL else "Ask it of z, y or what a memory remembers of them"
    if why == messages.UNKNOWN:
        return nearest(shown[1:-1], world.labels) or f"Write a label, {label}"
    if wanted == TEXT and is_a == NUMBER:
        return 'Write a quoted text, such as "B"'
    if is_a == NUMBER or why == messages.TABLE:
        return f"Write z, y or a quoted label, {label}"
    if isinstance(expr, Text):
        return f"Compare it with a label, z == {shown}"
    if is_a == TEXT:
        return f"Compare it with a quoted text, {shown} == {_sample(expr, world)}"
    if isinstance(other, Number) and f"{other.value:g}" in world.labels:
        label = f'"{other.value:g}"'
    whole = all(name.lstrip("-").isdecimal() for name in world.labels)
    numbers = f"labels are numbers when all of them are whole numbers{' up to 2^53' * whole}"
    also = f"; {numbers}" if why in _COMPUTED else ""
    return f"Compare it with a quoted label, {shown} == {label}{also}"


def _sample(expr: Expr, world: World) -> str:
    """A kind or a type, whichever the expression may be."""
    of = expr.function if isinstance(expr, Call) else ""
    if isinstance(expr, Index):
        of = _remembered(world.names[expr.name])  # type: ignore[arg-type]
    return '"NP"' if of.startswith("type") else '"B"'
