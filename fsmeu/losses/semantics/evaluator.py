"""Expressions evaluated on whole arrays of states and label pairs at once.

Every value is a float64, alone or in an array; a lane is one entry of the broadcast arrays. A lane
takes part only where its ``active`` mask says so: the branches of ``if``, ``and``, ``or`` are lazy
lane by lane, so that a division by zero counts only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.losses.language.messages import fault
from fsmeu.losses.language.syntax import (
    Arcs,
    At,
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
    Text,
    Unary,
)
from fsmeu.losses.semantics.bound import NONE, BoundLoss

Lanes = Any
"""A float, or a float64 array that broadcasts against the others."""
Mask = Bools | None

_COMPARE = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARITHMETIC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.mod,
    "^": np.power,
}
_PLAIN = {"abs": np.abs, "floor": np.floor, "ceil": np.ceil, "exp": np.exp}


@dataclass(frozen=True, eq=False)
class Memory:
    """How a memory is kept in one number: entries are digits, 0 is 'nothing yet', newest lowest.

    Attributes:
        values: what digit d + 1 stands for.
        depth: how many entries are kept.
    """

    values: Floats
    depth: int
    numeric: bool

    @property
    def base(self) -> int:
        """The number of digits."""
        return len(self.values) + 1

    @cached_property
    def entries(self) -> Floats:
        """What each digit stands for, nan for 'nothing yet'."""
        return np.append(np.nan, self.values)


@dataclass(frozen=True, eq=False)
class Scope:
    """What the names of an expression stand for.

    Attributes:
        bound: the loss, its labels and parameters.
        current: z, y, i, n and the registers, updated as far as the step has come.
        old: the registers before the step.
        memories: how each memory is kept.
    """

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
        name = error.args[0]
        message = f"only parameters (and n) may be used here, {name!r} is not one"
        raise scope.fault(expr, message) from None


def constant_at(bound: BoundLoss, expr: Expr, n: int) -> float:
    """The value, for sequences of length n, of an expression of parameters and n."""
    return constant(expr, {**bound.params, "n": float(n)}, bound.spec)


def number(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression that is a result: a finite number in every active lane."""
    return _finite(expr, np.float64(evaluate(expr, scope, active)), scope, active)


def evaluate(expr: Expr, scope: Scope, active: Mask = None) -> Lanes:
    """The value of an expression in every lane.

    Raises:
        LossFileError: in an active lane, something is divided by zero, a root is taken of a
            negative number, a result is not finite, or not exactly one arc of a state applies.
    """
    with np.errstate(all="ignore"):
        return _eval(expr, scope, active)


def _eval(expr: Expr, scope: Scope, active: Mask) -> Lanes:
    return _HANDLERS[type(expr)](expr, scope, active)


def _number(expr: Number, scope: Scope, active: Mask) -> Lanes:
    return expr.value


def _at(expr: At, scope: Scope, active: Mask) -> Lanes:
    states = next(r.states for r in scope.bound.spec.registers if r.states)
    return np.equal(scope.current["state"], float(states.index(expr.state))) * 1.0


def _old(expr: Old, scope: Scope, active: Mask) -> Lanes:
    return scope.old[expr.name]


def _unary(expr: Unary, scope: Scope, active: Mask) -> Lanes:
    value = _eval(expr.operand, scope, active)
    return -value if expr.operator == "-" else ~_true(value) * 1.0


def _name(expr: Name, scope: Scope, active: Mask) -> Lanes:
    if expr.name in scope.current:
        return scope.current[expr.name]
    return scope.bound.params[expr.name]


def _text(expr: Text, scope: Scope, active: Mask) -> float:
    bound = scope.bound
    code = bound.codes.get(expr.value, NONE - 1)
    if not bound.numeric:
        return code
    labels = bound.label_values  # their texts have the first codes
    return float(labels[int(code)]) if 0 <= code < len(labels) else np.nan


def _true(condition: Lanes) -> Any:
    """Where a condition holds; what a memory has before the start (nan) is not true."""
    return np.greater(np.abs(condition), 0.0)


def _and(active: Mask, truth: Bools) -> Mask:
    return truth if active is None else active & truth


def _choice(expr: Choice, scope: Scope, active: Mask) -> Lanes:
    condition = _true(_eval(expr.condition, scope, active))
    if condition.ndim == 0:
        return _eval(expr.yes if condition else expr.no, scope, active)
    yes_lanes = _and(active, condition)
    no_lanes = _and(active, ~condition)
    yes = _eval(expr.yes, scope, yes_lanes)
    no = _eval(expr.no, scope, no_lanes)
    return np.where(condition, yes, no)


def _lazy(expr: Binary, scope: Scope, active: Mask) -> Lanes:
    left = _true(_eval(expr.left, scope, active))
    wanted = left if expr.operator == "and" else ~left
    if left.ndim == 0 and not wanted:
        return float(left)
    right = _true(_eval(expr.right, scope, _and(active, wanted)))
    return (left & right if expr.operator == "and" else left | right) * 1.0


def _binary(expr: Binary, scope: Scope, active: Mask) -> Lanes:
    operator = expr.operator
    if operator in ("and", "or"):
        return _lazy(expr, scope, active)
    left = _eval(expr.left, scope, active)
    right = _eval(expr.right, scope, active)
    if operator in _COMPARE:
        return _COMPARE[operator](left, right) * 1.0
    if operator in ("/", "%"):
        what = "division" if operator == "/" else "remainder"
        _refuse(expr, f"{what} by zero", np.equal(right, 0.0), scope, active)
    return _finite(expr, _ARITHMETIC[operator](np.float64(left), right), scope, active)


def _call(expr: Call, scope: Scope, active: Mask) -> Lanes:
    if expr.function in ("tally", "sum"):
        return _over_memory(expr, scope, active)
    arguments = [_eval(a, scope, active) for a in expr.arguments]
    first = arguments[0]
    if expr.function in ("kind", "type"):
        return _tag(expr, first, scope)
    if expr.function in ("min", "max"):
        choose = np.minimum if expr.function == "min" else np.maximum
        for other in arguments[1:]:
            first = choose(first, other)
        return _finite(expr, np.float64(first), scope, active)
    if expr.function == "sqrt":
        _refuse(expr, "root of a negative number", np.less(first, 0.0), scope, active)
        return np.sqrt(np.maximum(first, 0.0))
    if expr.function == "log":
        _refuse(expr, "logarithm of a number <= 0", np.less_equal(first, 0), scope, active)
        return _finite(expr, np.log(first), scope, active)
    return _finite(expr, _PLAIN[expr.function](first), scope, active)


def _tag(expr: Call, codes: Lanes, scope: Scope) -> Lanes:
    if scope.bound.numeric:
        raise scope.fault(expr, f"{expr.function} needs tags such as B-NP, the labels are numbers")
    table = scope.bound.kinds if expr.function == "kind" else scope.bound.types
    known = np.asarray(codes) >= 0
    return table[np.where(known, codes, -1).astype(np.int64)]


def _entry(memory: Memory, packed: Lanes, steps: int) -> Lanes:
    """The entry of a memory so many steps back."""
    number = np.asarray(packed).astype(np.int64)
    return memory.entries[number // memory.base**steps % memory.base]


def _over_memory(expr: Call, scope: Scope, active: Mask) -> Lanes:
    name = expr.arguments[0].name  # type: ignore[attr-defined]
    memory, packed = scope.memories[name], scope.current[name]
    total: Lanes = 0.0
    sought = _eval(expr.arguments[1], scope, active) if expr.function == "tally" else None
    for back in range(memory.depth):
        entry = _entry(memory, packed, back)
        total = total + (np.nan_to_num(entry) if sought is None else np.equal(entry, sought))
    return total


def _index(expr: Index, scope: Scope, active: Mask) -> Lanes:
    if expr.name in scope.memories:
        memory = scope.memories[expr.name]
        back = _eval(expr.arguments[0], scope, active)
        if np.ndim(back) or not 0 <= back < memory.depth or back != int(back):
            message = f"the index of {expr.name} must be a constant from 0 to {memory.depth - 1}"
            raise scope.fault(expr, message)
        held = scope.old if expr.old else scope.current
        return _entry(memory, held[expr.name], int(back))
    table = scope.bound.params[expr.name]
    if table.ndim != len(expr.arguments):
        raise scope.fault(expr, f"{expr.name} has {table.ndim} sides, {len(expr.arguments)} given")
    at = [_label_index(expr, _eval(a, scope, active), scope, active) for a in expr.arguments]
    return table[tuple(at)]


def _label_index(expr: Index, values: Lanes, scope: Scope, active: Mask) -> Ints:
    known = scope.bound.label_values
    order = np.argsort(known)
    found: Ints = order[np.searchsorted(known[order], values).clip(0, len(known) - 1)]
    strange = np.not_equal(known[found], values)
    _refuse(expr, f"{expr.name} has no entry for this, only for labels", strange, scope, active)
    return found


def _push(expr: Push, scope: Scope, active: Mask) -> Lanes:
    memory = scope.memories[expr.memory]
    entry = np.asarray(_eval(expr.entry, scope, active))
    order = np.argsort(memory.values)
    place = np.minimum(np.searchsorted(memory.values[order], entry), len(order) - 1)
    digit = order[place] + 1
    strange = memory.values[order[place]] != entry
    _refuse(expr, "the remembered value is outside the declared bounds", strange, scope, active)
    packed = np.asarray(scope.old[expr.memory]).astype(np.int64)
    return ((packed * memory.base + digit) % memory.base**memory.depth).astype(np.float64)


def _arcs(expr: Arcs, scope: Scope, active: Mask) -> Lanes:
    state = np.asarray(scope.old["state"])
    taken: Lanes = np.zeros(())
    target: Lanes = np.zeros(())
    fallback: list[tuple[int, int]] = []
    for source, goal, condition in expr.arcs:
        here = np.equal(state, float(source))
        if condition is None:
            fallback.append((source, goal))
            continue
        lanes = _and(active, here)
        holds = here & _true(_eval(condition, scope, lanes))
        taken = taken + holds
        target = target + holds * float(goal)
    for source, goal in fallback:
        holds = np.equal(state, float(source)) & (taken == 0)
        taken = taken + holds
        target = target + holds * float(goal)
    _refuse(expr, "two arcs apply", np.greater(taken, 1), scope, active)
    _refuse(expr, "no arc applies", np.equal(taken, 0), scope, active)
    return target


def _refuse(expr: Expr, message: str, bad: Any, scope: Scope, active: Mask) -> None:
    """Raises when something bad happens in an active lane."""
    if bad.any():
        lanes = np.asarray(bad if active is None else bad & active)
        if lanes.any():
            raise scope.fault(expr, message, lanes)


def _finite(expr: Expr, value: Lanes, scope: Scope, active: Mask) -> Lanes:
    finite = np.isfinite(value)
    if not finite.all():
        _refuse(expr, "the result is not a finite number", ~finite, scope, active)
    return value


_HANDLERS: dict[type[Expr], Callable[[Any, Scope, Mask], Lanes]] = {
    Number: _number,
    Name: _name,
    Binary: _binary,
    Choice: _choice,
    Unary: _unary,
    Old: _old,
    At: _at,
    Text: _text,
    Call: _call,
    Index: _index,
    Push: _push,
    Arcs: _arcs,
}
