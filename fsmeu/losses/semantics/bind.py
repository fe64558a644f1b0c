"""A spec with its labels and parameters filled in, of which each expression has a sort.

It is a number (truth values are 0 and 1), a label, a text (the kind or type of a tag, or a quoted
text that names no label), or a memory. Labels that are all whole numbers are numbers, too, if
doubles tell them apart. Where a file leaves its labels open, a quoted text may be compared with
numbers (it is none of them), and ``kind`` and ``type`` of such are refused when they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import Argument, InputError, LossFileError, Wording, nearest, shorten, wording
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.tags import GIVE_TAGS, check_tags, tag_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Param, Register, Spec, fault, parts, subexpressions
from fsmeu.losses.language.write import expression_text, part_text
from fsmeu.losses.semantics.evaluator import (
    NONE,
    BoundLoss,
    Scope,
    bound_sides,
    constant,
    no_entry,
    number,
)

_MOST_WHOLE = 2**53  # doubles tell whole numbers apart up to there; greater labels are compared


def give_param(name: str) -> Wording:
    """The advice to give a parameter of a loss, which has no default."""
    return wording("Give ", Argument(name, "VALUE", of_loss=True))


def check_names(spec: Spec, values: Iterable[str]) -> None:
    """Refuses values for what is no parameter of the file."""
    names = [param.name for param in spec.params]
    for name in values:
        if name not in names:
            must = f"its parameters are {', '.join(names)}" if names else "it has no parameters"
            where = f"{spec.kind} {spec.name}"
            raise InputError(where, must, given=repr(name), remedy=nearest(name, names))


def bind(spec: Spec, alphabet: Alphabet, values: Mapping[str, Any]) -> BoundLoss:
    """The loss with its labels and parameters filled in, which must suit the file."""
    if spec.scheme:
        check_tags(alphabet, spec.scheme, f"{spec.kind} {spec.name}", GIVE_TAGS)
    params: dict[str, Any] = {}
    bound = _with_codes(spec, alphabet, params)
    for param in spec.params:
        params[param.name] = _param_value(bound, param, values)
    check_types(bound)
    return bound


def _with_codes(spec: Spec, alphabet: Alphabet, params: Mapping[str, Any]) -> BoundLoss:
    """The loss with the codes of its texts; labels of its own may have others as new names."""
    own = {str(label): label for label in spec.labels or alphabet.labels}
    new_names = [str(label) for label in alphabet.labels]
    labels = [own[name] for name in (new_names if own.keys() == set(new_names) else own)]
    numeric = all(isinstance(label, int) and abs(label) <= _MOST_WHOLE for label in labels)
    names = [str(label) for label in labels]
    parts = [tag_parts(name) for name in names]
    exprs = [spec.value, *(o.value for o in spec.outputs)]
    exprs += [register.update for register in spec.file_registers or spec.registers]
    exprs += [param.default for param in spec.params if param.default is not None]
    quoted = [
        node.value for expr in exprs for node in subexpressions(expr) if isinstance(node, ast.Text)
    ]
    texts = [*names, *(kind for kind, _ in parts), *(t for _, t in parts if t), *quoted]
    codes = {text: float(k) for k, text in enumerate(dict.fromkeys(texts))}
    kinds, types = np.full((2, len(codes) + 1), NONE)
    kinds[-1] = types[-1] = np.nan
    for name, (kind, tag_type) in zip(names, parts, strict=True):
        kinds[int(codes[name])] = codes[kind]
        types[int(codes[name])] = codes[tag_type] if tag_type else NONE
    values = np.array([float(x) if numeric else codes[str(x)] for x in labels])
    return BoundLoss(spec, alphabet, params, numeric, values, codes, kinds, types)


def _param_value(bound: BoundLoss, param: Param, values: Mapping[str, Any]) -> Any:
    """The value of a parameter, those before it being known."""
    spec = bound.spec
    where = f"{bound.spec.kind} {bound.spec.name}"
    sides = param.sides if param.type == "table" else ()
    if param.name in values:
        value = values[param.name]
    elif param.default is not None and sides:
        value = _default_table(bound, param, sides)
    elif param.default is not None:
        value = constant(param.default, bound.params, spec)
    else:
        must = f"the parameter {param.name!r} has no default"
        raise InputError(where, must, remedy=give_param(param.name))
    if sides:
        return _table(param, value, len(bound.alphabet), where)
    return _scalar(bound, param, value, where)


def _default_table(bound: BoundLoss, param: Param, sides: tuple[str, ...]) -> Floats:
    """The default of a table, (L,) or (L, L): z is the label of its first side, y of its second."""
    default: Any = param.default
    z = bound.label_values[:, None] if len(sides) == 2 else bound.label_values
    scope = Scope(bound, {**bound.params, "z": z, "y": bound.label_values}, {}, {})
    if set(sides) != {"label"}:
        said = f"the table {param.name} is read by a number, so that its size is not known"
        raise scope.fault(default, f"{said}: it has no default")
    for part in subexpressions(default) if len(sides) == 1 else ():
        if isinstance(part, ast.Name) and part.name == "y":
            raise scope.fault(part, "the table is read by one label, which is called z here")
    table: Floats = np.full((len(bound.alphabet),) * len(sides), number(default, scope))
    return table


def _scalar(bound: BoundLoss, param: Param, value: Any, where: str) -> float:
    at = f"{where}, parameter {param.name}"
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError(value)
        number = float(value)
    except Exception as error:  # whatever the value raises
        raise InputError(at, "must be a number", given=value) from error
    if not math.isfinite(number):
        raise InputError(at, "must be a finite number", given=value)
    if param.type == "int" and not number.is_integer():
        raise InputError(at, "must be a whole number", given=value)
    sides = (param.low, -math.inf), (param.high, math.inf)
    low, high = (
        free if side is None else constant(side, bound.params, bound.spec) for side, free in sides
    )
    if not low <= number <= high:
        raise InputError(at, f"must lie in {low:g}..{high:g}", given=value)
    return number


def _table(param: Param, value: Any, labels: int, where: str) -> Floats:
    """The entries of a table: one for each label on its sides by label, any number on others."""
    at = f"{where}, parameter {param.name}"
    by_label = set(param.sides) == {"label"}
    if isinstance(value, int | float) and not isinstance(value, bool) and by_label:
        value = np.full((labels,) * len(param.sides), value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise TypeError(array.dtype)
        table = array.astype(np.float64)
    except Exception as error:  # whatever the value raises
        raise InputError(at, "must be a table of numbers", given=value) from error
    if np.ma.is_masked(value):
        raise InputError(at, "must have no masked entries", given=value)
    fits = len(table.shape) == len(param.sides) and all(
        size == labels if side == "label" else size > 0
        for side, size in zip(param.sides, table.shape, strict=True)
    )
    if not fits:
        raise InputError(at, _shape_needed(param, labels), given=f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise InputError(at, "must hold finite numbers")
    return table


def _shape_needed(param: Param, labels: int) -> str:
    """The shape that a table must have, in words."""
    sides = param.sides
    if sides == ("label", "label"):
        return f"must have one row and one column per label, shape {(labels, labels)}"
    if len(sides) == 1:
        sized = f", shape {(labels,)}" if sides == ("label",) else ""
        return f"must have one number per {sides[0]}{sized}"
    return f"must have one row per {sides[0]} and one column per {sides[1]} ({labels} labels)"


# -- which sort of thing each expression is --------------------------------------------------------


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
_BLAME = (NUMBER, LABEL, TEXT)  # the later is to blame where two differ; a memory before all


def check_types(bound: BoundLoss) -> None:
    """Refuses the first expression that takes a label for a number, or compares unlikes."""
    spec = bound.spec
    registers = spec.file_registers or spec.registers
    names: dict[str, Sort] = {r.name: r for r in registers if r.sugar == "memory"}
    labels = tuple(bound.codes)[: len(bound.label_values)]
    world = _World(bound, labels, spec.labels is not None, {"z": LABEL, "y": LABEL, **names})
    for param in spec.params:
        if param.type == "table" and param.default is not None:
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
    if numeric and (table or not world.final):
        fits = _like_number(sort, world) if table else sort == LABEL
        fits |= sort == TEXT and not world.final
    else:
        fits = sort == LABEL and not numeric
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


def _known_label(expr: Expr, sort: Sort, beside: Sort, world: _World) -> None:
    """Refuses a text or number beside a label when the file says that there is no such label."""
    if beside != LABEL or not world.final:
        return
    unknown = sort == TEXT and isinstance(expr, ast.Text)
    if world.bound.numeric and (number := _written_number(expr)) is not None:
        unknown = number not in world.bound.label_values
    if unknown:
        spec = world.bound.spec
        text = expression_text(expr)
        labels = [x if world.bound.numeric else f'"{x}"' for x in world.labels]
        said = f"{text} is not a label; the labels are {shorten(', '.join(labels))}"
        hint = nearest(text.strip('"'), world.labels)
        raise fault(spec.origin, spec.source, expr.place, said, hint)


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
            a = _sort(expr.left, world)
            b = _sort(expr.right, world)
            _known_label(expr.left, a, b, world)
            _known_label(expr.right, b, a, world)
            _same(expr.left, expr.right, EQUAL, world)
        case ast.Binary():
            for side in (expr.left, expr.right):
                _number(side, _WANT.get(expr.operator, ARITHMETIC), world)
        case ast.Choice():
            _number(expr.condition, CONDITION, world)
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
        raise fault(spec.origin, spec.source, expr.place, no_entry(expr.name, back, depth))


def _over_memory(expr: ast.Call, memory: Any, world: _World) -> None:
    entry_sort = _entries(world.names[memory.name])  # type: ignore[arg-type]
    if expr.function == "sum":
        if not _like_number(entry_sort, world):
            raise _unlike(memory, world.names[memory.name], "one of numbers", SUM, world)
        return
    sought = expr.arguments[1]
    sort = _sort(sought, world)
    _known_label(sought, sort, entry_sort, world)
    if not _alike(sort, entry_sort, world):
        raise _unlike(sought, sort, entry_sort, TALLY, world)


@dataclass(frozen=True, eq=False)
class _World:
    """What names stand for, and the sorts of expressions so far, by their ids."""

    bound: BoundLoss
    labels: tuple[str, ...]
    final: bool
    names: dict[str, Sort]
    sorts: dict[int, Sort] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)


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
    texts = (TEXT,) if world.bound.numeric and world.final else (TEXT, LABEL)
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
