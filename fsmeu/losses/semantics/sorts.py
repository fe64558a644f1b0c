"""Which sort of thing each expression of a loss with its labels is; what is refused, and why.

It is a number (truth values are 0 and 1), a label, a text (the kind or type of a tag, or a quoted
text that names no label), or a memory. Labels that are all whole numbers are numbers, too, if
doubles tell them apart. As long as labels are open, a quoted text may be compared with numbers (it
is none of them), and ``kind`` and ``type`` of such are refused when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fsmeu.errors import Argument, LossFileError, nearest, shorten, wording
from fsmeu.fst.tags import KINDS, is_tag, tag_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, fault, parts, subexpressions
from fsmeu.losses.language.write import expression_text, part_text
from fsmeu.losses.semantics.evaluator import BoundLoss, bound_sides, constant, no_entry

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

_WANT = dict.fromkeys(("<", "<=", ">", ">="), ORDER) | dict.fromkeys(("and", "or"), CONDITION)
NUMBER = "a number"
LABEL = "a label"
TEXT = "a text"
Sort = str | Register  # one of these, or the register of a memory
_COMPUTED = (AMOUNT, ARITHMETIC, FUNCTION, ORDER)
_WHATS = {"labels": "label", "kinds": "kind", "types": "type"}  # by what memories hold
_BLAME = (NUMBER, LABEL, TEXT)  # the later is to blame where two differ; a memory before all


def check_types(bound: BoundLoss, known: bool) -> tuple[str, ...]:
    """Refuses the first expression that takes a label for a number, or compares unlikes.

    Returns:
        The labels that the file names. Where labels are ``known``, each has to be one of them.
    """
    spec = bound.spec
    registers = spec.file_registers or spec.registers
    names: dict[str, Sort] = {r.name: r for r in registers if r.sugar == "memory"}
    names |= dict.fromkeys((p.name for p in spec.params if p.type == "label"), LABEL)
    labels = tuple(bound.codes)[: len(bound.label_values)]
    world = _World(bound, labels, known, {"z": LABEL, "y": LABEL, **names})
    for param in spec.params:
        if param.type == "table" and not isinstance(param.default, ast.Table | None):
            _number(param.default, DEFAULT, world)
    for register in registers:
        update: Any = register.update
        match register.sugar:
            case "count":
                if isinstance(update, ast.Choice):
                    _number(update.condition, CONDITION, world)
                    update = update.yes
                _number(update.right, AMOUNT, world)
            case "memory" if _entries(register) == NUMBER:
                _number(update.entry, ENTRY, world)
            case "memory":
                _sort(update.entry, world)
            case "state":
                for condition in parts(update):
                    _number(condition, CONDITION, world)
            case _:
                _number(update, NEXT, world)
    for value in (spec.value, *(output.value for output in spec.outputs)):
        _number(value, VALUE, world)
    return tuple(world.named)


def _number(expr: Expr, why: str, world: _World) -> None:
    """Refuses what is not a number; of an ``if``, the branch that is none."""
    if id(expr) in world.numbers:
        return
    if isinstance(expr, ast.Choice):
        _number(expr.condition, CONDITION, world)
        _number(expr.yes, why, world)
        _number(expr.no, why, world)
    elif not _like_number(sort := _sort(expr, world), world):
        raise _unlike(expr, sort, NUMBER, why, world)
    world.numbers.add(id(expr))


def _label(expr: Expr, why: str, world: _World) -> None:
    """Refuses what is not a label, where a tag or the side of a table is asked for."""
    sort = _sort(expr, world)
    numeric = world.bound.numeric
    table = why == TABLE
    if table:
        _name(expr, "label", world)
    if numeric and (table or not world.known):
        fits = _like_number(sort, world) if table else sort == LABEL
    else:
        fits = sort == LABEL and not numeric
    fits |= sort == TEXT and not world.known and (table or numeric)
    if not fits:
        raise _unlike(expr, sort, LABEL if table else "a tag", why, world)


def _same(left: Expr, right: Expr, why: str, world: _World) -> tuple[Sort, Sort]:
    """The sorts of two things that must be of the same one."""
    a = _sort(left, world)
    b = _sort(right, world)
    if not _alike(a, b, world):
        ranks = [_BLAME.index(s) if isinstance(s, str) else len(_BLAME) for s in (a, b)]
        if ranks[0] >= ranks[1]:
            raise _unlike(left, a, b, why, world, right)
        raise _unlike(right, b, a, why, world, left)
    return a, b


def _name(expr: Expr, what: str, world: _World) -> None:
    """Takes note of a label that a file names beside one; refuses what no label, or part, can be.

    ``what`` is "label", or "kind" or "type" of one, and "" for anything else.
    """
    if isinstance(expr, ast.Choice):
        _name(expr.yes, what, world)
        _name(expr.no, what, world)
    bound = world.bound
    number = _written_number(expr) if bound.numeric and what == "label" else None
    if not what or not (isinstance(expr, ast.Text) or number is not None):
        return
    spec = bound.spec
    shown = expression_text(expr)
    name = shown.strip('"')
    if what == "label":
        world.named[name] = None
    allowed = _allowed(what, world)
    if allowed is None:
        fits = what == "type" or not spec.scheme or name == "O" or is_tag(name, KINDS[spec.scheme])
    else:
        fits = name in allowed if number is None else number in bound.label_values
    if not fits:
        tags = ["O", *(f"{kind}-TYPE" for kind in KINDS.get(spec.scheme, ""))]
        among = tags if allowed is None else [x if bound.numeric else f'"{x}"' for x in allowed]
        said = f"{shown} is not a {what}; the {what}s are {shorten(', '.join(among))}"
        hint = nearest(name, allowed or ())
        if not hint and spec.labels is None and world.known and what == "label":
            hint = wording("Give ", Argument("labels"), f" with {shown} among them")
        raise fault(spec.origin, spec.source, expr.place, said, hint)


def _allowed(what: str, world: _World) -> Sequence[str] | None:
    """The labels, or kinds or types of them, that a text can be; None where that is open."""
    spec = world.bound.spec
    if what == "label":
        return world.labels if world.known else None
    if what == "kind" and spec.scheme:
        return ("O", *KINDS[spec.scheme])
    if spec.labels is None or world.bound.numeric:
        return None
    parts_of = [tag_parts(name)[what == "type"] for name in world.labels]
    return list(dict.fromkeys(filter(None, parts_of)))


def _what(expr: Expr, world: _World) -> str:
    """What an expression is a label, or a kind or type of one; "" if it is none of these."""
    match expr:
        case ast.Call(function="kind" | "type"):
            return expr.function
        case ast.Index() if isinstance(memory := world.names.get(expr.name), Register):
            return _WHATS.get(_remembered(memory), "")
    return "label" if _sort(expr, world) == LABEL else ""


def _written_number(expr: Expr) -> float | None:
    """The number that is written there, with or without a minus; None for anything else."""
    match expr:
        case ast.Number():
            return expr.value
        case ast.Unary(operator="-", operand=ast.Number(value=size)):
            return -size
    return None


def _sort(expr: Expr, world: _World) -> Sort:
    sort = world.sorts.get(id(expr))
    if sort is None:
        sort = world.sorts[id(expr)] = _sort_of(expr, world)
    return sort


def _sort_of(expr: Expr, world: _World) -> Sort:
    match expr:
        case ast.Text():
            return LABEL if expr.value in world.labels else TEXT
        case ast.Name() | ast.Old():
            return world.names.get(expr.name, NUMBER)
        case ast.Unary():
            why = ARITHMETIC if expr.operator == "-" else CONDITION
            _number(expr.operand, why, world)
        case ast.Binary(operator="==" | "!="):
            _sort(expr.left, world)
            _name(expr.left, _what(expr.right, world), world)
            _name(expr.right, _what(expr.left, world), world)
            _same(expr.left, expr.right, EQUAL, world)
        case ast.Binary():
            for side in (expr.left, expr.right):
                _number(side, _WANT.get(expr.operator, ARITHMETIC), world)
        case ast.Choice():
            _number(expr.condition, CONDITION, world)
            _name(expr.yes, _what(expr.no, world), world)
            _name(expr.no, _what(expr.yes, world), world)
            a, b = _same(expr.yes, expr.no, BRANCHES, world)
            if a == b or isinstance(a, Register):
                return a
            return NUMBER if _like_number(a, world) and _like_number(b, world) else TEXT
        case ast.Call(function="kind" | "type"):
            _label(expr.arguments[0], TAGS, world)
            return TEXT
        case ast.Call(function="tally" | "sum"):
            _over_memory(expr, expr.arguments[0], world)
        case ast.Index() if expr.name in world.names:
            _number(expr.arguments[0], FUNCTION, world)
            _known_entry(expr, world)
            return _entries(world.names[expr.name])  # type: ignore[arg-type]
        case ast.Index():
            sides = bound_sides(expr, world.bound)
            for argument, chooses in zip(expr.arguments, sides, strict=True):
                if chooses == "label":
                    _label(argument, TABLE, world)
                else:
                    _number(argument, FUNCTION, world)
        case ast.Call():
            for argument in expr.arguments:
                _number(argument, FUNCTION, world)
    return NUMBER


def _known_entry(expr: ast.Index, world: _World) -> None:
    """Refuses an entry that a memory does not have, where both are known without the length."""
    memory: Any = world.names[expr.name]
    back, depth = (_value(part, world.bound) for part in (expr.arguments[0], memory.depth))
    if not (isinstance(back, float) and isinstance(depth, float)):
        return
    if not 0 <= back < depth or back != int(back):
        spec = world.bound.spec
        raise fault(spec.origin, spec.source, expr.place, *no_entry(expr.name, back, depth))


def _over_memory(expr: ast.Call, memory: Any, world: _World) -> None:
    entry_sort = _entries(world.names[memory.name])  # type: ignore[arg-type]
    if expr.function == "sum":
        if not _like_number(entry_sort, world):
            raise _unlike(memory, world.names[memory.name], "one of numbers", SUM, world)
        return
    sought = expr.arguments[1]
    sort = _sort(sought, world)
    _name(sought, _WHATS.get(_remembered(world.names[memory.name]), ""), world)  # type: ignore[arg-type]
    if not _alike(sort, entry_sort, world):
        raise _unlike(sought, sort, entry_sort, TALLY, world)


@dataclass(frozen=True, eq=False)
class _World:
    """What names stand for, and the sorts of expressions so far, by their ids."""

    bound: BoundLoss
    labels: tuple[str, ...]
    known: bool
    names: dict[str, Sort]
    sorts: dict[int, Sort] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    named: dict[str, None] = field(default_factory=dict)


def _entries(memory: Register) -> str:
    """The sort of what a memory remembers, by the look of it; what has no domain is refused."""
    return {"labels": LABEL, "kinds": TEXT, "types": TEXT}.get(_remembered(memory), NUMBER)


def _remembered(memory: Register) -> str:
    entry = memory.update.entry  # type: ignore[attr-defined]
    if memory.low is None and memory.high is None:
        if isinstance(entry, ast.Name) and entry.name in ("z", "y"):
            return "labels"
        if isinstance(entry, ast.Call) and entry.function in ("kind", "type"):
            return f"{entry.function}s"
    return "numbers"


def _like_number(sort: Sort, world: _World) -> bool:
    """True when things of this sort enter arithmetic."""
    return sort == NUMBER or (sort == LABEL and world.bound.numeric)


def _alike(a: Sort, b: Sort, world: _World) -> bool:
    """True when things of these sorts can be equal."""
    if isinstance(a, Register) and isinstance(b, Register):
        return a is b or _packing(a, world.bound) == _packing(b, world.bound)
    texts = (TEXT,) if world.bound.numeric and world.known else (TEXT, LABEL)
    return (a in texts and b in texts) or (_like_number(a, world) and _like_number(b, world))


def _packing(memory: Register, bound: BoundLoss) -> tuple[object, ...]:
    """The number of entries and their values: memories that agree in both can be compared."""
    remembered = _remembered(memory)
    bounds = [memory.low or ast.Number(0.0), memory.high or ast.Number(1.0)]
    among = (_value(side, bound) for side in bounds if remembered == "numbers")
    return (_value(memory.depth, bound), remembered, *among)


def _value(expr: Expr | None, bound: BoundLoss) -> object:
    if expr is None or any(
        isinstance(part, ast.Name) and part.name == "n" for part in subexpressions(expr)
    ):
        return expr
    return constant(expr, bound.params, bound.spec)


def _unlike(
    expr: Expr, is_a: Sort, expected: Sort, why: str, world: _World, other: Expr | None = None
) -> LossFileError:
    """The error of an expression of the wrong sort: what it is, why that is wrong, what to do."""
    spec = world.bound.spec
    shown = shorten(expression_text(expr), 60)
    said = f"{shown} is {_described(is_a, world)}, not {_described(expected, world)}: {why}"
    remedy = _remedy(expr, is_a, expected, why, world, other)
    return fault(spec.origin, spec.source, expr.place, said, remedy)


def _described(sort: Sort, world: _World) -> str:
    if sort == LABEL:
        return f"a label ({shorten(', '.join(world.labels), 40)})"
    if isinstance(sort, str):
        return sort
    depth, remembered, *bounds = _packing(sort, world.bound)
    bounded = len(bounds) == 2 and all(isinstance(side, float) for side in bounds)
    among = f"{remembered} in {bounds[0]:g}..{bounds[1]:g}" if bounded else str(remembered)
    many = (f"{depth:g} ", "") if isinstance(depth, float) else ("", ", as many as n says")
    return f"a memory (the last {many[0]}{among}{many[1]})"


def _remedy(expr: Expr, is_a: Sort, expected: Sort, why: str, world: _World, other: Any) -> str:
    text = shorten(part_text(expr), 60)
    label = f'"{world.labels[-1]}"'
    if isinstance(is_a, Register):
        return f"Ask for an entry, {is_a.name}[0], or count some with tally({is_a.name}, ...)"
    if why == TAGS:
        tags = "Give the file tags, such as: labels O B-NP I-NP"
        return tags if is_a == LABEL else "Ask it of z, y or what a memory remembers of them"
    if expected == TEXT and is_a == NUMBER:
        return 'Write a quoted text, such as "B"'
    if is_a == NUMBER or why == TABLE:
        return f"Write z, y or a quoted label, {label}"
    if isinstance(expr, ast.Text):
        return f"Compare it with a label, z == {text}"
    if is_a == TEXT:
        of = expr.function if isinstance(expr, ast.Call) else ""
        if isinstance(expr, ast.Index):
            of = _remembered(world.names[expr.name])  # type: ignore[arg-type]
        sample = '"NP"' if of.startswith("type") else '"B"'
        return f"Compare it with a quoted text, {text} == {sample}"
    if isinstance(other, ast.Number) and f"{other.value:g}" in world.labels:
        label = f'"{other.value:g}"'
    whole = all(name.lstrip("-").isdecimal() for name in world.labels)
    numbers = f"labels are numbers when all of them are whole numbers{' up to 2^53' * whole}"
    also = f"; {numbers}" if why in _COMPUTED else ""
    return f"Compare it with a quoted label, {text} == {label}{also}"
