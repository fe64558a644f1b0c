"""Expressions of a loss with its labels, on floats or whole arrays of states and label pairs.

Every value is a float or a float64 array; a lane is one entry of the broadcast arrays. A lane takes
part only where its ``active`` mask says so: the branches of ``if``, ``and``, ``or`` are lazy lane
by lane, so that a division by zero counts only where it is asked for. An expression becomes a
function of a scope once, and keeps it. In place of numbers there may be functions of counts
(``algebra.confusion.Form``), which say themselves what their sums and products are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Spec, fault, is_condition

NONE = -1.0
"""The code of 'no label': the type of the tag O, the entries of a memory before the start."""


@dataclass(frozen=True, eq=False)
class BoundLoss:
    """A loss whose labels and parameters are known; only the length n is still open.

    Attributes:
        params: value of each parameter; a table is an array indexed by label index.
        numeric: True when labels are ints that doubles tell apart, which enter arithmetic as such;
            otherwise they are codes that can only be compared.
        label_values: what ``z`` or ``y`` is for each label index.
        codes: code of each text.
        kinds: code of the kind of each label code (B, I, O ...), and nan at the end.
        types: the same of its type (NP, PER ...), NONE where it has none.
    """

    spec: Spec
    alphabet: Alphabet
    params: Mapping[str, Any]
    numeric: bool
    label_values: Floats
    codes: Mapping[str, float]
    kinds: Floats = field(repr=False)
    types: Floats = field(repr=False)


Lanes = Any
"""A float, or a float64 array that broadcasts against the others."""
Mask = Bools | None
Function = Callable[["Scope", Mask], Lanes]
"""An expression: its value in a scope, in the active lanes."""

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
_CHOOSE = {"min": (operator.lt, np.minimum), "max": (operator.gt, np.maximum)}
_SCALAR = (bool, np.bool_)


@dataclass(frozen=True, eq=False)
class Memory:
    """How a memory is kept in one number: entries are digits, 0 is 'nothing yet', newest lowest.

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
        """What each digit stands for, nan for 'nothing yet'."""
        return np.append(np.nan, self.values)

    def entry(self, packed: Lanes, back: int) -> Lanes:
        """The entries so many steps back of memories that are kept in these numbers."""
        power = self.base**back
        if type(packed) is float:
            return float(self.entries[int(packed) // power % self.base])
        return self.entries[np.asarray(packed).astype(np.int64) // power % self.base]


@dataclass(eq=False, slots=True)
class Scope:
    """What the names of an expression stand for: z, y, i, n and registers, now or ``old``."""

    bound: BoundLoss
    current: Mapping[str, Lanes]
    old: Mapping[str, Lanes]
    memories: Mapping[str, Memory]

    def fault(self, expr: Expr, message: str, lanes: Any = None) -> LossFileError:
        """The error of an expression, with the state of the first of the lanes it happened in."""
        spec = self.bound.spec
        shown = {"n", "i", "z", "y"} | {r.name for r in spec.registers}
        held = {k: v for k, v in {**self.old, **self.current}.items() if k in shown}
        where = ""
        if lanes is not None and held:
            shape = np.broadcast_shapes(np.shape(lanes), *map(np.shape, held.values()))
            at = tuple(np.argwhere(np.broadcast_to(lanes, shape))[0])
            cells = {k: float(np.broadcast_to(v, shape)[at]) for k, v in held.items()}
            where = " when " + " ".join(f"{k}={self._show(k, x)}" for k, x in cells.items())
        return fault(spec.origin, spec.source, expr.place, message + where)

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


def constant_at(bound: BoundLoss, expr: Expr, n: int) -> float:
    """The value, for sequences of length n, of an expression of parameters and n."""
    return constant(expr, {**bound.params, "n": float(n)}, bound.spec)


def number(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression that is a result: a finite number in every active lane."""
    value = np.asarray(evaluate(expr, scope, active), np.float64)[()]  # a scalar, or an array
    _finite(expr, value, scope, active)
    return value


def evaluate(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression in every lane; a LossFileError if an active one has none."""
    with np.errstate(all="ignore"):
        return function_of(expr)(scope, active)


def function_of(expr: Expr) -> Function:
    """The expression as a function, which raises what ``evaluate`` does."""
    known: Function | None = vars(expr).get("_function")
    if known is None:
        known = _made(expr)
        object.__setattr__(expr, "_function", known)
    return known


def _made(expr: Any) -> Function:
    match expr:
        case ast.Number(value=value):
            return lambda scope, active: value
        case ast.Old(name=name):
            return lambda scope, active: scope.old[name]
        case ast.Name(name=name):
            return lambda scope, active: (
                scope.current[name] if name in scope.current else scope.bound.params[name]
            )
        case ast.Unary(operator="-", operand=operand):
            inner = function_of(operand)
            return lambda scope, active: -inner(scope, active)
        case ast.Binary(operator="+" | "-" | "*" | "/" | "%" | "^"):
            return _arithmetic(expr)
        case ast.Unary() | ast.Binary() | ast.At():
            holds = _truth(expr)
            return lambda scope, active: holds(scope, active) * 1.0
        case ast.Call(function="tally" | "sum"):
            return _over_memory(expr)
        case ast.Call():
            return _call(expr)
        case ast.Choice():
            return _choice(expr)
        case ast.Text():
            return _text(expr)
        case ast.Index():
            return _index(expr)
        case ast.Push():
            return _push(expr)
    return _arcs(expr)


def _condition(expr: Expr) -> Function:
    """Where an expression is true, bools; what a memory has before the start (nan) is not."""
    if is_condition(expr) or isinstance(expr, ast.At):
        return _truth(expr)
    value = function_of(expr)
    return lambda scope, active: abs(value(scope, active)) > 0.0


def _truth(expr: Any) -> Function:
    """Where a comparison, an ``and``, ``or``, ``not`` or ``at`` holds, bools."""
    match expr:
        case ast.At():
            return lambda scope, active: scope.current["state"] == scope.state_number(expr.state)
        case ast.Unary(operand=operand):
            inner = _condition(operand)
            return lambda scope, active: _not(inner(scope, active))
        case ast.Binary(operator="and" | "or"):
            return _lazy(expr)
    compare, left, right = _COMPARE[expr.operator], function_of(expr.left), function_of(expr.right)
    return lambda scope, active: compare(left(scope, active), right(scope, active))


def _not(holds: Any) -> Any:
    return not holds if isinstance(holds, bool) else ~holds


def _and(active: Mask, truth: Bools) -> Mask:
    return truth if active is None else active & truth


def _lazy(expr: ast.Binary) -> Function:
    left, right, conjunction = _condition(expr.left), _condition(expr.right), expr.operator == "and"

    def holds(scope: Scope, active: Mask) -> Any:
        first = left(scope, active)
        if first is conjunction:
            return right(scope, active)
        if isinstance(first, bool):
            return first
        second = right(scope, _and(active, first if conjunction else ~first))
        return first & second if conjunction else first | second

    return holds


def _choice(expr: ast.Choice) -> Function:
    condition, yes, no = _condition(expr.condition), function_of(expr.yes), function_of(expr.no)

    def chosen(scope: Scope, active: Mask) -> Lanes:
        holds = condition(scope, active)
        if isinstance(holds, _SCALAR):
            return (yes if holds else no)(scope, active)
        ours, others = yes(scope, _and(active, holds)), no(scope, _and(active, ~holds))
        return np.where(holds, ours, others)

    return chosen


def _arithmetic(expr: ast.Binary) -> Function:
    apply, refused = _ARITHMETIC[expr.operator], _ZERO_REFUSED.get(expr.operator)
    left, right = function_of(expr.left), function_of(expr.right)

    def result(scope: Scope, active: Mask) -> Lanes:
        a, b = left(scope, active), right(scope, active)
        if refused:
            _refuse(expr, refused, b == 0.0, scope, active)
        try:
            value = apply(a, b)
        except ZeroDivisionError:  # of floats, where no lane is active
            return np.nan
        return _finite(expr, value, scope, active)

    return result


def _text(expr: ast.Text) -> Function:
    def code(scope: Scope, active: Mask) -> float:
        bound = scope.bound
        known = bound.codes.get(expr.value, NONE - 1)
        if not bound.numeric:
            return known
        labels = bound.label_values  # their texts have the first codes
        return float(labels[int(known)]) if 0 <= known < len(labels) else np.nan

    return code


def _call(expr: ast.Call) -> Function:
    arguments = [function_of(one) for one in expr.arguments]

    def result(scope: Scope, active: Mask) -> Lanes:
        first, *others = [one(scope, active) for one in arguments]
        match expr.function:
            case "kind" | "type":
                return _tag(expr, first, scope)
            case "min" | "max":
                first = _extreme(first, others, *_CHOOSE[expr.function])
            case "sqrt":
                _refuse(expr, "root of a negative number", np.sign(first) < 0.0, scope, active)
                first = np.sqrt(first)
            case "log":
                _refuse(expr, "logarithm of a number <= 0", np.less_equal(first, 0), scope, active)
                first = np.log(first)
            case _:
                first = _PLAIN[expr.function](first)
        return _finite(expr, first, scope, active)

    return result


def _extreme(first: Lanes, others: list[Lanes], before: Any, choose: Any) -> Lanes:
    """The least or greatest of some values; nan if one of them is."""
    for other in others:
        if type(first) is type(other) is float:
            first = other if before(other, first) or other != other else first
        else:
            first = choose(first, other)
    return first


def _tag(expr: ast.Call, codes: Lanes, scope: Scope) -> Lanes:
    if scope.bound.numeric:
        raise scope.fault(expr, f"{expr.function} needs tags such as B-NP, the labels are numbers")
    table = scope.bound.kinds if expr.function == "kind" else scope.bound.types
    if type(codes) is float:
        return float(table[int(codes) if codes >= 0.0 else -1])
    return table[np.where(np.asarray(codes) >= 0, codes, -1).astype(np.int64)]


def _over_memory(expr: ast.Call) -> Function:
    """How many entries of a memory are equal to something, or their sum."""
    name = expr.arguments[0].name  # type: ignore[attr-defined]
    sought = function_of(expr.arguments[1]) if expr.function == "tally" else None

    def total(scope: Scope, active: Mask) -> Lanes:
        memory, packed = scope.memories[name], scope.current[name]
        entries = [memory.entry(packed, back) for back in range(memory.depth)]
        if sought is None:
            return sum(map(np.nan_to_num, entries))
        wanted = sought(scope, active)
        return sum(one == wanted for one in entries) * 1.0

    return total


def _index(expr: ast.Index) -> Function:
    name, arguments = expr.name, [function_of(one) for one in expr.arguments]

    def entry(scope: Scope, active: Mask) -> Lanes:
        memory, at = scope.memories.get(name), [one(scope, active) for one in arguments]
        if memory is None:
            return _table_entry(expr, at, scope, active)
        if not 0 <= at[0] < memory.depth or at[0] != int(at[0]):
            most = memory.depth - 1
            raise scope.fault(expr, f"the index of {name} must be a constant from 0 to {most}")
        return memory.entry((scope.old if expr.old else scope.current)[name], int(at[0]))

    return entry


def _table_entry(expr: ast.Index, at: list[Lanes], scope: Scope, active: Mask) -> Lanes:
    table, labels = scope.bound.params[expr.name], scope.bound.label_values
    message = f"{expr.name} has no entry for this, only for labels"
    return table[tuple(_place(expr, message, labels, one, scope, active) for one in at)]


def _place(
    expr: Expr, message: str, among: Floats, values: Lanes, scope: Scope, active: Mask
) -> Ints:
    """The places of values among others, which have to be there."""
    order = np.argsort(among)
    place: Ints = order[np.searchsorted(among[order], values).clip(0, len(among) - 1)]
    _refuse(expr, message, np.not_equal(among[place], values), scope, active)
    return place


def _push(expr: ast.Push) -> Function:
    inner = function_of(expr.entry)
    message = "the remembered value is outside the declared bounds"

    def pushed(scope: Scope, active: Mask) -> Lanes:
        memory, held = scope.memories[expr.memory], scope.old[expr.memory]
        entry, room = inner(scope, active), memory.base**memory.depth
        if type(held) is type(entry) is float and entry in memory.values:
            digit = int(np.argmax(memory.values == entry)) + 1
            return float((int(held) * memory.base + digit) % room)
        digits = _place(expr, message, memory.values, np.asarray(entry), scope, active) + 1
        packed = np.asarray(held).astype(np.int64) * memory.base + digits
        return (packed % room).astype(np.float64)

    return pushed


def _arcs(expr: ast.Arcs) -> Function:
    """The state after a step: the target of the one arc that applies."""
    arcs = [(float(a), float(b), _condition(c)) for a, b, c in expr.arcs if c is not None]
    fallback = [(float(a), float(b)) for a, b, c in expr.arcs if c is None]

    def target(scope: Scope, active: Mask) -> Lanes:
        state, taken, goal = scope.old["state"], 0.0, 0.0
        for source, end, condition in arcs:
            here = state == source
            if here is False:
                continue
            holds = here & condition(scope, active if here is True else _and(active, here))
            taken, goal = taken + holds, goal + holds * end
        for source, end in fallback:
            holds = (state == source) & (taken == 0)
            taken, goal = taken + holds, goal + holds * end
        _refuse(expr, "two arcs apply", taken > 1, scope, active)
        _refuse(expr, "no arc applies", taken == 0, scope, active)
        return goal

    return target


def _refuse(expr: Expr, message: str, bad: Any, scope: Scope, active: Mask) -> None:
    """Raises when something bad happens in an active lane; there are none where no state is."""
    if bad is not False and np.any(bad):
        lanes = np.asarray(bad if active is None else bad & active)
        if lanes.any() and all(map(np.size, (*scope.current.values(), *scope.old.values()))):
            raise scope.fault(expr, message, lanes)


def _finite(expr: Expr, value: Lanes, scope: Scope, active: Mask) -> Lanes:
    if isinstance(value, float) and math.isfinite(value):
        return float(value)  # numpy's would make arrays of functions of counts
    finite = np.isfinite(value)
    if not finite.all():
        _refuse(expr, "the result is not a finite number", ~finite, scope, active)
    return value
