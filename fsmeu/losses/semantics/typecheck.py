"""Which sort of thing each expression is, checked once the labels are known.

Sorts are those of ``sorts``. Where a file leaves its labels open, a quoted text may be compared
with labels that are numbers (it is none of them), and ``kind`` and ``type`` of such labels are
refused only when they are asked for: the same file may meet other labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsmeu.losses.language import messages
from fsmeu.losses.language.syntax import (
    At,
    Binary,
    Call,
    Choice,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Register,
    Text,
    Unary,
)
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.sorts import (
    LABEL,
    NUMBER,
    TEXT,
    Sort,
    World,
    alike,
    entries,
    like_number,
    unlike,
)

__all__ = ["check_types"]

_BLAME = (NUMBER, LABEL, TEXT)
"""Of two things that differ, the later of these is to blame; a memory before all."""


def check_types(bound: BoundLoss) -> None:
    """Refuses expressions that take a label or a memory for a number, or compare unlike things.

    Raises:
        LossFileError: the first such expression, with its place and what to write instead.
    """
    spec = bound.spec
    registers = spec.output_registers or spec.registers
    names: dict[str, Sort] = {r.name: r for r in registers if r.sugar == "memory"}
    labels = tuple(bound.codes)[: len(bound.label_values)]
    world = World(bound, labels, spec.labels is not None, {"z": LABEL, "y": LABEL, **names})
    for param in spec.params:
        if param.type == "table" and param.default is not None:
            _number(param.default, messages.DEFAULT, world)
    for register in registers:
        _STATEMENTS[register.sugar](register, register.update, world)
    for value in (spec.value, *(output.value for output in spec.outputs)):
        _number(value, messages.VALUE, world)


# -- statements, as they stand in the file ---------------------------------------------------------


def _count(register: Register, update: Any, world: World) -> None:
    if isinstance(update, Choice):
        _condition(register, update, world)
        update = update.yes
    _number(update.right, messages.AMOUNT, world)


def _condition(register: Register, update: Any, world: World) -> None:
    _number(update.condition, messages.CONDITION, world)


def _memory(register: Register, update: Any, world: World) -> None:
    if entries(register) == NUMBER:
        _number(update.entry, messages.ENTRY, world)
    else:
        _sort(update.entry, world)


def _next(register: Register, update: Any, world: World) -> None:
    _number(update, messages.NEXT, world)


def _arcs(register: Register, update: Any, world: World) -> None:
    for _, _, condition in update.arcs:
        if condition is not None:
            _number(condition, messages.CONDITION, world)


_STATEMENTS: dict[str, Callable[[Register, Any, World], None]] = {
    "count": _count,
    "age": _condition,
    "flag": _condition,
    "memory": _memory,
    "register": _next,
    "state": _arcs,
}


# -- what is wanted --------------------------------------------------------------------------------


def _number(expr: Expr, why: str, world: World) -> str:
    """Refuses what is not a number; of an ``if``, the branch that is none."""
    if id(expr) in world.numbers:
        return NUMBER
    if isinstance(expr, Choice):
        _number(expr.condition, messages.CONDITION, world)
        _number(expr.yes, why, world)
        _number(expr.no, why, world)
    else:
        sort = _sort(expr, world)
        if not like_number(sort, world):
            raise unlike(expr, sort, NUMBER, why, world)
    world.numbers.add(id(expr))
    return NUMBER


def _label(expr: Expr, why: str, world: World) -> None:
    """Refuses what is not a label, where a tag or the side of a table is asked for."""
    sort, numeric, table = _sort(expr, world), world.bound.numeric, why == messages.TABLE
    if numeric and (table or not world.final):
        fits = like_number(sort, world) if table else sort == LABEL
        fits |= sort == TEXT and not world.final
    else:
        fits = sort == LABEL and not numeric
    if not fits:
        raise unlike(expr, sort, LABEL if table else "a tag", why, world)


def _same(left: Expr, right: Expr, why: str, world: World) -> tuple[Sort, Sort]:
    """The sorts of two things that must be of the same one."""
    a, b = _sort(left, world), _sort(right, world)
    if not alike(a, b, world):
        ranks = [_BLAME.index(s) if isinstance(s, str) else len(_BLAME) for s in (a, b)]
        if ranks[0] >= ranks[1]:
            raise unlike(left, a, b, why, world, right)
        raise unlike(right, b, a, why, world, left)
    return a, b


def _known_label(text: Expr, sort: Sort, beside: Sort, world: World) -> None:
    """Refuses a quoted text beside a label when the file says that there is no such label."""
    if sort == TEXT and beside == LABEL and world.final and isinstance(text, Text):
        raise unlike(text, TEXT, LABEL, messages.UNKNOWN, world)


# -- the sort of an expression ---------------------------------------------------------------------


def _sort(expr: Expr, world: World) -> Sort:
    found = world.known.get(id(expr))
    if found is None:
        found = world.known[id(expr)] = _RULES[type(expr)](expr, world)
    return found


def _binary(expr: Binary, world: World) -> Sort:
    left, right = expr.left, expr.right
    if expr.operator in ("==", "!="):
        a, b = _sort(left, world), _sort(right, world)
        _known_label(left, a, b, world)
        _known_label(right, b, a, world)
        _same(left, right, messages.EQUAL, world)
        return NUMBER
    why = messages.OPERATORS.get(expr.operator, messages.ARITHMETIC)
    _number(left, why, world)
    return _number(right, why, world)


def _choice(expr: Choice, world: World) -> Sort:
    _number(expr.condition, messages.CONDITION, world)
    a, b = _same(expr.yes, expr.no, messages.BRANCHES, world)
    if a == b or isinstance(a, Register):
        return a
    return NUMBER if like_number(a, world) and like_number(b, world) else TEXT


def _call(expr: Call, world: World) -> Sort:
    first = expr.arguments[0]
    if expr.function in ("kind", "type"):
        _label(first, messages.TAGS, world)
        return TEXT
    if expr.function in ("tally", "sum"):
        return _over_memory(expr, first, world)
    for argument in expr.arguments:
        _number(argument, messages.FUNCTION, world)
    return NUMBER


def _over_memory(expr: Call, memory: Any, world: World) -> Sort:
    held = entries(world.names[memory.name])  # type: ignore[arg-type]
    if expr.function == "sum":
        if not like_number(held, world):
            raise unlike(memory, world.names[memory.name], "one of numbers", messages.SUM, world)
        return NUMBER
    sought = expr.arguments[1]
    sort = _sort(sought, world)
    _known_label(sought, sort, held, world)
    if not alike(sort, held, world):
        raise unlike(sought, sort, held, messages.TALLY, world)
    return NUMBER


def _index(expr: Index, world: World) -> Sort:
    memory = world.names.get(expr.name)
    if memory is None:
        for argument in expr.arguments:
            _label(argument, messages.TABLE, world)
        return NUMBER
    _number(expr.arguments[0], messages.FUNCTION, world)
    return entries(memory)  # type: ignore[arg-type]


def _unary(expr: Unary, world: World) -> Sort:
    why = messages.ARITHMETIC if expr.operator == "-" else messages.CONDITION
    return _number(expr.operand, why, world)


def _named(expr: Name | Old, world: World) -> Sort:
    return world.names.get(expr.name, NUMBER)


_RULES: dict[type[Expr], Callable[[Any, World], Sort]] = {
    Number: lambda expr, world: NUMBER,
    At: lambda expr, world: NUMBER,
    Text: lambda expr, world: LABEL if expr.value in world.labels else TEXT,
    Name: _named,
    Old: _named,
    Unary: _unary,
    Binary: _binary,
    Choice: _choice,
    Call: _call,
    Index: _index,
}
