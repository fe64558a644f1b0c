"""Expressions of a loss with its labels, on floats or whole arrays of states and label pairs.

Every value is a float or a float64 array; a lane is one entry of the broadcast arrays. A lane takes
part only where its ``active`` mask says so: the branches of ``if``, ``and``, ``or`` are lazy lane
by lane, so that a division by zero counts only where it is asked for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.cache import Cache, Derives
from fsmeu.errors import LossFileError, shorten
from fsmeu.fst.alphabet import Alphabet
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Spec, fault, subexpressions
from fsmeu.losses.language.write import expression_text, part_text

if TYPE_CHECKING:
    from fsmeu.losses.semantics.at_length import LossAtLength

NONE = -1.0  # the code of 'no label': the type of the tag O, a memory before the start
_UNDEFINED_BITS = 0x7FF8_0000_0000_0F5E  # a nan that no arithmetic makes
UNDEFINED = np.array(_UNDEFINED_BITS, np.int64).view(np.float64)[()]
"""What stands for the value of an expression where it has none; only bits tell it from nan."""


@dataclass(frozen=True, eq=False)
class BoundLoss(Derives):
    """A loss whose labels and parameters are known; only the length n is still open.

    Labels are ``numeric`` when they are ints that doubles tell apart, which enter arithmetic as
    such; otherwise they are codes that can only be compared.
    """

    spec: Spec
    alphabet: Alphabet
    params: Mapping[str, Any]  # by name; a table is an array indexed by label index
    numeric: bool
    label_values: Floats  # what z or y is for each label index
    codes: Mapping[str, float]  # the code of each text
    kinds: Floats = field(repr=False)  # of each label code, as codes (B, I, O ...), nan at the end
    types: Floats = field(repr=False)  # the same of its type (NP, PER ...), NONE without one
    named: tuple[str, ...] = ()  # the labels that the file names

    @property
    def arguments(self) -> dict[str, Any]:
        """The parameters as they can be given: with labels in the place of their codes."""
        labels = dict(zip(self.label_values.tolist(), self.alphabet.labels, strict=True))
        chosen = {p.name for p in self.spec.params if p.type == "label"}
        return {k: labels.get(x) if k in chosen else x for k, x in self.params.items()}

    def at(self, n: int) -> LossAtLength:
        """The loss for sequences of length n."""
        return self._lengths.get(n, lambda: self._at(n))

    def _at(self, n: int) -> LossAtLength:
        from fsmeu.losses.semantics.at_length import LossAtLength  # which evaluates expressions

        return LossAtLength(self, n)

    @cached_property
    def _lengths(self) -> Cache:
        return Cache(limits.KEPT_LENGTHS)


Lanes = Any  # a float, or a float64 array that broadcasts against the others
Mask = Bools | None

_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "^": lambda base, power: np.power(np.asarray(base, np.float64), power),
}
_ZERO_REFUSED = {"/": "division by zero", "%": "remainder by zero"}
_PLAIN = {"abs": np.abs, "floor": np.floor, "ceil": np.ceil, "exp": np.exp}
_CHOOSE: Mapping[str, Any] = {"min": np.minimum, "max": np.maximum}  # nan if one of them is


@dataclass(frozen=True, eq=False)
class Memory:
    """The layout of a memory as one number: entries are digits, 0 is 'nothing yet', newest lowest.

    Digit d + 1 stands for ``values[d]``; ``depth`` entries are kept.
    """

    values: Floats
    depth: int
    numeric: bool

    @cached_property
    def base(self) -> int:
        """The number of digits."""
        return len(self.values) + 1

    @cached_property
    def entries(self) -> Floats:
        """The value of each digit, nan for 'nothing yet'."""
        return np.append(np.nan, self.values)

    @cached_property
    def digits(self) -> dict[float, int]:
        """The digit of each value."""
        return dict(zip(self.values.tolist(), range(1, self.base), strict=True))

    def entry(self, packed: Lanes, back: int) -> Lanes:
        """The entries so many steps back of memories packed into these numbers."""
        power = self.base**back
        if type(packed) is float:
            return float(self.entries[int(packed) // power % self.base])
        return self.entries[np.asarray(packed).astype(np.int64) // power % self.base]


@dataclass(eq=False, slots=True)
class Scope:
    """The values of the names of an expression: z, y, i, n and registers, now or ``old``.

    With ``undefined``, lanes where something has no value are collected there instead of refused.
    """

    bound: BoundLoss
    current: Mapping[str, Lanes]
    old: Mapping[str, Lanes]
    memories: Mapping[str, Memory]
    undefined: list[Bools] | None = None

    def fault(self, expr: Expr, must: str, lanes: Any = None, remedy: str = "") -> LossFileError:
        """The error of an expression, with the state of the first of the lanes it happened in."""
        spec = self.bound.spec
        names = [*(r.name for r in spec.registers), "z", "y", "i", "n"]
        values = {k: self.current.get(k, self.old.get(k)) for k in names}
        values = {k: value for k, value in values.items() if value is not None}
        where = ""
        if lanes is not None and values:
            shape = np.broadcast_shapes(np.shape(lanes), *map(np.shape, values.values()))
            at = tuple(np.argwhere(np.broadcast_to(lanes, shape))[0])
            cells = {k: float(np.broadcast_to(v, shape)[at]) for k, v in values.items()}
            where = " when " + " ".join(f"{k}={self._show(k, x)}" for k, x in cells.items())
        return fault(spec.origin, spec.source, expr.place, must + where, remedy)

    def state_number(self, name: str) -> float:
        """The number that stands for an explicit state."""
        return float(next(r.states for r in self.bound.spec.registers if r.states).index(name))

    def _show(self, name: str, cell: float) -> str:
        if name in ("z", "y") and not self.bound.numeric:
            return next((t for t, c in self.bound.codes.items() if c == cell), "?")
        return f"{cell:g}"


def constant(expr: Expr, params: Mapping[str, Any], spec: Spec) -> float:
    """The value of an expression of this file that may refer to parameters and n only."""
    empty = np.zeros(0)
    bound = BoundLoss(spec, None, params, True, empty, {}, empty, empty)  # type: ignore[arg-type]
    scope = Scope(bound, params, {}, {})
    try:
        return float(evaluate(expr, scope))
    except KeyError as error:
        said = f"only parameters (and n) may be used here, {error.args[0]!r} is not one"
        raise scope.fault(expr, said) from None


def number(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression that is a result: a finite number in every active lane."""
    value = np.asarray(evaluate(expr, scope, active), np.float64)[()]  # a scalar, or an array
    _finite(expr, value, scope, active)
    return value


def evaluate(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression in every lane; a LossFileError if an active one has none."""
    with np.errstate(all="ignore"):
        return value_of(expr, scope, active)


def where_defined(expr: Expr, scope: Scope) -> Lanes:
    """The value of an expression in every lane, ``UNDEFINED`` where it has none.

    For pieces of an amount whose condition is not known where they are computed.
    """
    undefined: list[Bools] = []
    value = evaluate(expr, replace(scope, undefined=undefined))
    for lanes in undefined:
        value = np.where(lanes, UNDEFINED, value)
    return value


def is_undefined(values: Lanes) -> Bools:
    """True in lanes that hold ``UNDEFINED``."""
    lanes: Bools = np.asarray(values, np.float64).view(np.int64) == _UNDEFINED_BITS
    return lanes


def value_of(expr: Any, scope: Scope, active: Mask) -> Lanes:
    """The value of an expression in every lane, while numpy's warnings are off."""
    return _RULES[type(expr)](expr, scope, active)


def _name(expr: ast.Name, scope: Scope, active: Mask) -> Lanes:
    if expr.name not in scope.current:
        return scope.bound.params[expr.name]
    value = scope.current[expr.name]
    if scope.undefined is not None:
        _refuse(expr, "it has no value", is_undefined(value), scope, active)
    return value


def _unary(expr: ast.Unary, scope: Scope, active: Mask) -> Lanes:
    if expr.operator == "-":
        return -value_of(expr.operand, scope, active)
    return _holds(expr, scope, active) * 1.0


def _binary(expr: ast.Binary, scope: Scope, active: Mask) -> Lanes:
    if expr.operator not in _ARITHMETIC:
        return _holds(expr, scope, active) * 1.0
    a = value_of(expr.left, scope, active)
    b = value_of(expr.right, scope, active)
    if expr.operator in _ZERO_REFUSED:
        _refuse(expr, _ZERO_REFUSED[expr.operator], b == 0.0, scope, active)
    try:
        value = _ARITHMETIC[expr.operator](a, b)
    except ZeroDivisionError:  # of floats, where no lane is active
        return np.nan
    return _finite(expr, value, scope, active)


def _holds(expr: Any, scope: Scope, active: Mask) -> Any:
    """Bools, true in lanes where an expression holds; an entry before the start (nan) does not."""
    sign = getattr(expr, "operator", "")
    if sign in _COMPARE:
        left = value_of(expr.left, scope, active)
        right = value_of(expr.right, scope, active)
        return _COMPARE[sign](left, right)
    if sign == "not":
        holds = _holds(expr.operand, scope, active)
        return not holds if isinstance(holds, bool) else ~holds
    if sign not in ("and", "or"):
        return abs(value_of(expr, scope, active)) > 0.0
    conjunction = sign == "and"
    first = _holds(expr.left, scope, active)
    if first is conjunction:
        return _holds(expr.right, scope, active)
    if isinstance(first, bool):
        return first
    second = _holds(expr.right, scope, _and(active, first if conjunction else ~first))
    return first & second if conjunction else first | second


def _and(active: Mask, truth: Bools) -> Mask:
    return truth if active is None else active & truth


def _choice(expr: ast.Choice, scope: Scope, active: Mask) -> Lanes:
    holds = _holds(expr.condition, scope, active)
    if isinstance(holds, bool | np.bool_):
        return value_of(expr.yes if holds else expr.no, scope, active)
    if not holds.any():  # as in most blocks of tables, where only an edge is a case of its own
        return _in_lanes(value_of(expr.no, scope, active), holds)
    yes = value_of(expr.yes, scope, _and(active, holds))
    return np.where(holds, yes, value_of(expr.no, scope, _and(active, ~holds)))


def _in_lanes(value: Lanes, lanes: Bools) -> Lanes:
    """The value with an entry for each of these lanes at least."""
    return np.broadcast_to(value, np.broadcast_shapes(np.shape(value), lanes.shape))


def _text(expr: ast.Text, scope: Scope, active: Mask) -> float:
    code = scope.bound.codes.get(expr.value, NONE - 1)
    labels = scope.bound.label_values
    if not scope.bound.numeric:
        return code
    return float(labels[int(code)]) if 0 <= code < len(labels) else np.nan  # they come first


def _call(expr: ast.Call, scope: Scope, active: Mask) -> Lanes:
    if expr.function in ("tally", "sum"):
        return _over_memory(expr, scope, active)
    first, *others = [value_of(argument, scope, active) for argument in expr.arguments]
    match expr.function:
        case "kind" | "type":
            return _tag(expr, first, scope)
        case "min" | "max":
            first = reduce(_CHOOSE[expr.function], others, first)
        case "sqrt":
            _refuse(expr, "root of a negative number", np.sign(first) < 0.0, scope, active)
            first = np.sqrt(first)
        case "log":
            _refuse(expr, "logarithm of a number <= 0", np.less_equal(first, 0), scope, active)
            first = np.log(first)
        case _:
            first = _PLAIN[expr.function](first)
    return _finite(expr, first, scope, active)


def _tag(expr: ast.Call, codes: Lanes, scope: Scope) -> Lanes:
    if scope.bound.numeric:
        raise scope.fault(expr, f"{expr.function} needs tags such as B-NP, the labels are numbers")
    table = scope.bound.kinds if expr.function == "kind" else scope.bound.types
    if type(codes) is float:
        return float(table[int(codes) if codes >= 0.0 else -1])
    return table[np.where(np.asarray(codes) >= 0, codes, -1).astype(np.int64)]


def _over_memory(expr: Any, scope: Scope, active: Mask) -> Lanes:
    """The number of entries of a memory that are equal to something, or the sum of all."""
    name = expr.arguments[0].name
    memory = scope.memories[name]
    packed = scope.current[name]
    entries = [memory.entry(packed, back) for back in range(memory.depth)]
    if expr.function == "sum":
        return sum(map(np.nan_to_num, entries))
    target = value_of(expr.arguments[1], scope, active)
    return sum(entry == target for entry in entries) * 1.0


def _index(expr: ast.Index, scope: Scope, active: Mask) -> Lanes:
    name = expr.name
    memory = scope.memories.get(expr.name)
    at = [value_of(argument, scope, active) for argument in expr.arguments]
    if memory is None:
        table = scope.bound.params[name]
        sides = bound_sides(expr, scope.bound)
        places = (
            _entry_place(expr, side, size, index, scope, active)
            for side, size, index in zip(sides, table.shape, at, strict=True)
        )
        return table[tuple(places)]
    if not 0 <= at[0] < memory.depth or at[0] != int(at[0]):
        said, remedy = no_entry(name, at[0], memory.depth)
        raise scope.fault(expr, said, remedy=remedy)
    return memory.entry((scope.old if expr.old else scope.current)[name], int(at[0]))


def no_entry(name: str, back: float, depth: float) -> tuple[str, str]:
    """What is said of an entry that a memory does not have, and what to do."""
    has = f"{name}[0]" if depth == 1 else f"{name}[0] to {name}[{depth - 1:g}]"
    more = f"Write 'last {back + 1:g}' where {name} is declared" if back == int(back) > 0 else ""
    return f"{name} keeps 'last {depth:g}', {has}: there is no {name}[{back:g}]", more


def bound_sides(expr: ast.Index, bound: BoundLoss) -> tuple[str, ...]:
    """What chooses an entry of the table that an expression reads."""
    return next(param.sides for param in bound.spec.params if param.name == expr.name)


def _entry_place(
    expr: ast.Index, side: str, size: int, index: Lanes, scope: Scope, active: Mask
) -> Ints:
    """The place of an entry on one side of a table; positions count from 1, numbers from 0."""
    if side == "label":
        said = f"{expr.name} has no entry for this, only for labels"
        return _place(expr, said, scope.bound.label_values, index, scope, active)
    first = 1 if side == "position" else 0
    values = np.asarray(index, np.float64)
    place: Ints = np.nan_to_num(values - first, nan=-1.0).clip(0, size - 1).astype(np.int64)
    bad = np.not_equal(place + first, values)
    active_bad = bad if active is None else bad & active
    if np.any(active_bad):
        asked = np.broadcast_to(values, np.shape(active_bad))[active_bad].flat[0]
        has = f"{expr.name} has entries {first} to {first + size - 1} on this side"
        _refuse(expr, f"{has}, {asked:g} is asked for", bad, scope, active)
    return place


def _place(expr: Expr, must: str, among: Floats, values: Lanes, scope: Scope, active: Mask) -> Ints:
    """The places of values among others, which have to be there."""
    order = np.argsort(among)
    place: Ints = order[np.searchsorted(among[order], values).clip(0, len(among) - 1)]
    _refuse(expr, must, np.not_equal(among[place], values), scope, active)
    return place


def _push(expr: ast.Push, scope: Scope, active: Mask) -> Lanes:
    memory = scope.memories[expr.memory]
    before = scope.old[expr.memory]
    entry = value_of(expr.entry, scope, active)
    room = memory.base**memory.depth
    if type(before) is type(entry) is float and entry in memory.digits:
        return float((int(before) * memory.base + memory.digits[entry]) % room)
    said = "the remembered value is outside the declared bounds"
    digits = _place(expr, said, memory.values, np.asarray(entry), scope, active) + 1
    packed = np.asarray(before).astype(np.int64) * memory.base + digits
    return (packed % room).astype(np.float64)


def _arcs(expr: ast.Arcs, scope: Scope, active: Mask) -> Lanes:
    """The state after a step: the target of the one arc that applies."""
    state = scope.old["state"]
    applying = 0.0
    goal = 0.0
    for source, end, condition in expr.arcs:
        here = state == source
        if here is not False and condition is not None:
            holds = here & _holds(condition, scope, active if here is True else _and(active, here))
            applying = applying + holds
            goal = goal + holds * end
    for source, end, condition in expr.arcs:
        if condition is None:
            holds = (state == source) & (applying == 0)
            applying = applying + holds
            goal = goal + holds * end
    _refuse(expr, "two arcs apply", applying > 1, scope, active)
    _refuse(expr, "no arc applies", applying == 0, scope, active)
    return goal


_RULES: dict[type, Callable[[Any, Scope, Mask], Lanes]] = {
    ast.Number: lambda expr, scope, active: expr.value,
    ast.Old: lambda expr, scope, active: scope.old[expr.name],
    ast.At: lambda expr, scope, active: (
        (scope.current["state"] == scope.state_number(expr.state)) * 1.0
    ),
    ast.Name: _name,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Choice: _choice,
    ast.Text: _text,
    ast.Call: _call,
    ast.Index: _index,
    ast.Push: _push,
    ast.Arcs: _arcs,
}


def _refuse(expr: Expr, must: str, bad: Any, scope: Scope, active: Mask) -> None:
    """Raises when something bad happens in an active lane; there are none where no state is."""
    if bad is not False and np.any(bad):
        lanes = np.asarray(bad if active is None else bad & active)
        if scope.undefined is not None:
            scope.undefined.append(lanes)
        elif lanes.any() and all(map(np.size, (*scope.current.values(), *scope.old.values()))):
            raise scope.fault(expr, must, lanes, _remedy(expr, scope.bound.spec))


def _remedy(expr: Expr, spec: Spec) -> str:
    """What to add to the value, or an output, where it divides by zero; "" for other faults."""
    if not isinstance(expr, ast.Binary) or expr.operator not in _ZERO_REFUSED:
        return ""
    values = [spec.value, *(output.value for output in spec.outputs)]
    if all(part.place != expr.place for value in values for part in subexpressions(value)):
        return ""
    arithmetic = isinstance(expr.right, ast.Binary) and expr.right.operator in _ARITHMETIC
    zero = expression_text(expr.right) if arithmetic else part_text(expr.right)
    return f"Add 'or X when {shorten(zero, 60)} == 0', where X is the number that is meant there"


def _finite(expr: Expr, value: Lanes, scope: Scope, active: Mask) -> Lanes:
    if isinstance(value, float) and math.isfinite(value):
        return float(value)  # numpy's would make arrays of functions of counts
    finite = np.isfinite(value)
    if not finite.all():
        _refuse(expr, "the result is not a finite number", ~finite, scope, active)
    return value
