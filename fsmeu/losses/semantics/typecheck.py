"""Which sort of thing each expression is, checked once the labels are known.

A number (truth values are 0 and 1), a label, a text (the kind or type of a tag, or a quoted text
that names no label), or a memory. Labels that are all whole numbers are numbers, too, if doubles
tell them apart. Where a file leaves its labels open, a quoted text may be compared with labels that
are numbers (it is none of them), and ``kind`` and ``type`` of such labels are refused only when
they are asked for: the same file may meet other labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fsmeu.errors import LossFileError, nearest, shorten
from fsmeu.losses.language.syntax import (
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
    fault,
    parts,
    walk,
)
from fsmeu.losses.semantics.evaluator import BoundLoss, constant

VALUE = "the value must be a number"
DEFAULT = "the entries of a table must be numbers"
AMOUNT = "what a count adds must be a number"
CONDITION = "a condition must be a truth value or a number"
NEXT = "a register holds whole numbers"
ENTRY = (
    "a memory is of z, y, kind(z), type(z) and the like, of a condition, or of numbers in LO..HI"
)
ARITHMETIC = "arithmetic is for numbers"
ORDER = "<, <=, > and >= put numbers in order"
FUNCTION = "functions other than kind, type, tally and sum are of numbers"
EQUAL = "== and != compare like with like"
BRANCHES = "'then' and 'else' must give the same sort of thing"
TALLY = "tally counts entries that equal its second argument, so it must be like them"
SUM = "sum adds the entries of a memory"
TAGS = "kind and type need tags such as B-NP"
TABLE = "a table has one entry for each label"
UNKNOWN = "it can never equal one"

OPERATORS = dict.fromkeys(("<", "<=", ">", ">="), ORDER) | dict.fromkeys(("and", "or"), CONDITION)
"""What operators other than those of arithmetic want of both sides."""

NUMBER, LABEL, TEXT = "a number", "a label", "a text"
Sort = str | Register
"""One of these, or the register of a memory."""
_SHOWN_LABELS = 40
_COMPUTED = (AMOUNT, ARITHMETIC, FUNCTION, ORDER)
_BLAME = (NUMBER, LABEL, TEXT)
"""Of two things that differ, the later of these is to blame; a memory before all."""


def check_types(bound: BoundLoss) -> None:
    """Refuses the first expression that takes a label for a number, or compares unlikes."""
    spec = bound.spec
    registers = spec.output_registers or spec.registers
    names: dict[str, Sort] = {r.name: r for r in registers if r.sugar == "memory"}
    labels = tuple(bound.codes)[: len(bound.label_values)]
    world = _World(bound, labels, spec.labels is not None, {"z": LABEL, "y": LABEL, **names})
    for param in spec.params:
        if param.type == "table" and param.default is not None:
            _number(param.default, DEFAULT, world)
    for register in registers:
        _statement(register, world)
    for value in (spec.value, *(output.value for output in spec.outputs)):
        _number(value, VALUE, world)


# -- statements, as they stand in the file ---------------------------------------------------------


def _statement(register: Register, world: _World) -> None:
    update: Any = register.update
    if register.sugar in ("age", "flag") or (
        isinstance(update, Choice) and register.sugar == "count"
    ):
        _number(update.condition, CONDITION, world)
    match register.sugar:
        case "count":
            step: Any = update.yes if isinstance(update, Choice) else update
            _number(step.right, AMOUNT, world)
        case "memory" if _entries(register) == NUMBER:
            _number(update.entry, ENTRY, world)
        case "memory":
            _sort(update.entry, world)
        case "register":
            _number(update, NEXT, world)
        case "state":
            for condition in parts(update):
                _number(condition, CONDITION, world)


# -- what is wanted --------------------------------------------------------------------------------


def _number(expr: Expr, why: str, world: _World) -> None:
    """Refuses what is not a number; of an ``if``, the branch that is none."""
    if id(expr) in world.numbers:
        return
    if isinstance(expr, Choice):
        _number(expr.condition, CONDITION, world)
        _number(expr.yes, why, world)
        _number(expr.no, why, world)
    elif not _like_number(sort := _sort(expr, world), world):
        raise _unlike(expr, sort, NUMBER, why, world)
    world.numbers.add(id(expr))


def _label(expr: Expr, why: str, world: _World) -> None:
    """Refuses what is not a label, where a tag or the side of a table is asked for."""
    sort, numeric, table = _sort(expr, world), world.bound.numeric, why == TABLE
    if numeric and (table or not world.final):
        fits = _like_number(sort, world) if table else sort == LABEL
        fits |= sort == TEXT and not world.final
    else:
        fits = sort == LABEL and not numeric
    if not fits:
        raise _unlike(expr, sort, LABEL if table else "a tag", why, world)


def _same(left: Expr, right: Expr, why: str, world: _World) -> tuple[Sort, Sort]:
    """The sorts of two things that must be of the same one."""
    a, b = _sort(left, world), _sort(right, world)
    if not _alike(a, b, world):
        ranks = [_BLAME.index(s) if isinstance(s, str) else len(_BLAME) for s in (a, b)]
        if ranks[0] >= ranks[1]:
            raise _unlike(left, a, b, why, world, right)
        raise _unlike(right, b, a, why, world, left)
    return a, b


def _known_label(text: Expr, sort: Sort, beside: Sort, world: _World) -> None:
    """Refuses a quoted text beside a label when the file says that there is no such label."""
    if sort == TEXT and beside == LABEL and world.final and isinstance(text, Text):
        raise _unlike(text, TEXT, LABEL, UNKNOWN, world)


# -- the sort of an expression ---------------------------------------------------------------------


def _sort(expr: Expr, world: _World) -> Sort:
    known = world.known.get(id(expr))
    if known is None:
        known = world.known[id(expr)] = _sort_of(expr, world)
    return known


def _sort_of(expr: Expr, world: _World) -> Sort:
    match expr:
        case Text():
            return LABEL if expr.value in world.labels else TEXT
        case Name() | Old():
            return world.names.get(expr.name, NUMBER)
        case Unary():
            why = ARITHMETIC if expr.operator == "-" else CONDITION
            _number(expr.operand, why, world)
        case Binary(operator="==" | "!="):
            a, b = _sort(expr.left, world), _sort(expr.right, world)
            _known_label(expr.left, a, b, world)
            _known_label(expr.right, b, a, world)
            _same(expr.left, expr.right, EQUAL, world)
        case Binary():
            for side in (expr.left, expr.right):
                _number(side, OPERATORS.get(expr.operator, ARITHMETIC), world)
        case Choice():
            _number(expr.condition, CONDITION, world)
            a, b = _same(expr.yes, expr.no, BRANCHES, world)
            if a == b or isinstance(a, Register):
                return a
            return NUMBER if _like_number(a, world) and _like_number(b, world) else TEXT
        case Call(function="kind" | "type"):
            _label(expr.arguments[0], TAGS, world)
            return TEXT
        case Call(function="tally" | "sum"):
            _over_memory(expr, expr.arguments[0], world)
        case Index() if expr.name in world.names:
            _number(expr.arguments[0], FUNCTION, world)
            return _entries(world.names[expr.name])  # type: ignore[arg-type]
        case Index():
            for argument in expr.arguments:
                _label(argument, TABLE, world)
        case Call():
            for argument in expr.arguments:
                _number(argument, FUNCTION, world)
    return NUMBER


def _over_memory(expr: Call, memory: Any, world: _World) -> None:
    held = _entries(world.names[memory.name])  # type: ignore[arg-type]
    if expr.function == "sum":
        if not _like_number(held, world):
            raise _unlike(memory, world.names[memory.name], "one of numbers", SUM, world)
        return
    sought = expr.arguments[1]
    sort = _sort(sought, world)
    _known_label(sought, sort, held, world)
    if not _alike(sort, held, world):
        raise _unlike(sought, sort, held, TALLY, world)


# -- sorts -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _World:
    """What names stand for, and what is known about expressions so far, by their ids.

    Attributes:
        bound: the loss.
        labels: what the file calls its labels.
        final: True when the file names its labels; else the same file may meet others.
        names: the sort of each name that is not a number.
    """

    bound: BoundLoss
    labels: tuple[str, ...]
    final: bool
    names: dict[str, Sort]
    known: dict[int, Sort] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)


def _entries(memory: Register) -> str:
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


def _like_number(sort: Sort, world: _World) -> bool:
    """True when things of this sort can be reckoned with."""
    return sort == NUMBER or (sort == LABEL and world.bound.numeric)


def _like_text(sort: Sort, world: _World) -> bool:
    return sort == TEXT or (sort == LABEL and not (world.bound.numeric and world.final))


def _alike(a: Sort, b: Sort, world: _World) -> bool:
    """True when things of these sorts can be equal."""
    if isinstance(a, Register) and isinstance(b, Register):
        return a is b or _packing(a, world.bound) == _packing(b, world.bound)
    return any(like(a, world) and like(b, world) for like in (_like_number, _like_text))


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


def _unlike(
    expr: Expr, is_a: Sort, wanted: Sort, why: str, world: _World, other: Expr | None = None
) -> LossFileError:
    """The error of an expression of the wrong sort: what it is, why that is wrong, what to do."""
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


def _described(sort: Sort, world: _World) -> str:
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


def _remedy(expr: Expr, is_a: Sort, wanted: Sort, why: str, world: _World, other: Any) -> str:
    shown, label = _shown(expr), f'"{world.labels[-1]}"'
    if isinstance(is_a, Register):
        return f"Ask for an entry, {is_a.name}[0], or count some with tally({is_a.name}, ...)"
    if why == TAGS:
        tags = "Give the file tags, such as: labels O B-NP I-NP"
        return tags if is_a == LABEL else "Ask it of z, y or what a memory remembers of them"
    if why == UNKNOWN:
        return nearest(shown[1:-1], world.labels) or f"Write a label, {label}"
    if wanted == TEXT and is_a == NUMBER:
        return 'Write a quoted text, such as "B"'
    if is_a == NUMBER or why == TABLE:
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


def _sample(expr: Expr, world: _World) -> str:
    """A kind or a type, whichever the expression may be."""
    of = expr.function if isinstance(expr, Call) else ""
    if isinstance(expr, Index):
        of = _remembered(world.names[expr.name])  # type: ignore[arg-type]
    return '"NP"' if of.startswith("type") else '"B"'
