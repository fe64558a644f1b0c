"""One pair of sequences on plain floats, in microseconds: expressions compiled to closures.

The evaluator works on arrays, and takes as long for one lane as for a hundred. Closures give what
is defined, and nothing else: where a result is no finite number, a register leaves its bounds or a
count passes 2^53, there is no answer, and the evaluator, which is asked next, says what is wrong.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.losses.language.dependencies import memories_read_length, names_read
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
    Unary,
)
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import within_range
from fsmeu.losses.semantics.domains import MOST_WHOLE, bounds_of, memory_of
from fsmeu.losses.semantics.evaluator import Memory, Scope, constant_at, evaluate

Held = Mapping[str, float]
Function = Callable[[Held, Held], Any]
"""An expression: its value, given what names stand for now, and registers before the step."""

_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "^": lambda base, power: float(np.power(base, power)),
}
_CHOOSE: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max}
_UNDEFINED = (ArithmeticError, LookupError, ValueError)


def registers_of_pair(bound: BoundLoss, z: Ints, y: Ints) -> Held | None:
    """The registers after the last position by name, or None where something is not defined.

    Args:
        bound: a loss with labels and parameters.
        z: label indices of the hypothesis, shape (n,).
        y: those of the reference.
    """
    try:
        with np.errstate(all="ignore"):
            return _walked(_program(bound, len(z)), z, y)
    except _UNDEFINED:
        return None


def value_of_pair(bound: BoundLoss, z: Ints, y: Ints) -> float | None:
    """The value of a pair of label indices, or None where something is not defined."""
    try:
        with np.errstate(all="ignore"):
            program = _program(bound, len(z))
            ending = _walked(program, z, y)
            value = float(_finite(program.value(ending, ending)))
    except _UNDEFINED:
        return None
    return value if within_range(bound, len(z), value) else None


@dataclass(frozen=True, eq=False)
class _Program:
    """A loss for sequences of one length.

    Attributes:
        labels: what z or y is for each label index.
        starts: the registers before the first position, and n.
        updates: name, update, least and greatest value of each register, and whether it is whole.
        value: the value at the end.
    """

    labels: list[float]
    starts: dict[str, float]
    updates: list[tuple[str, Function, float, float, bool]]
    value: Function


@lru_cache(maxsize=256)
def _program(bound: BoundLoss, n: int) -> _Program:
    spec = bound.spec
    functions = _functions(bound, n if memories_read_length(spec) else 0)
    starts, updates = {"n": float(n)}, []
    for r in spec.registers:
        low, high = bounds_of(bound, r, n)
        if r.sugar == "count":
            high = math.nextafter(MOST_WHOLE, 0.0)
            low = -high
        starts[r.name] = constant_at(bound, r.start, n)
        updates.append((r.name, functions[r.name], low, high, r.sugar == "register"))
        _check(starts[r.name], low, high, r.sugar == "register")
    return _Program(bound.label_values.tolist(), starts, updates, functions["value"])


@lru_cache(maxsize=64)
def _functions(bound: BoundLoss, n: int) -> dict[str, Function]:
    """The updates of registers by name, and the value; n matters where memories depend on it."""
    registers = bound.spec.registers
    memories = {r.name: memory_of(bound, r, n) for r in registers if r.sugar == "memory"}
    compiler = _Compiler(bound, memories)
    updates = {r.name: compiler.function(r.update) for r in registers}
    return {**updates, "value": compiler.function(bound.spec.value)}


def _walked(program: _Program, z: Ints, y: Ints) -> Held:
    labels, old = program.labels, program.starts
    for i, (a, b) in enumerate(zip(z.tolist(), y.tolist(), strict=True), start=1):
        now = {**old, "z": labels[a], "y": labels[b], "i": float(i)}
        for name, update, low, high, whole in program.updates:
            now[name] = value = update(now, old)
            if whole or not low <= value <= high:
                _check(value, low, high, whole)
        old = now
    return old


def _check(value: float, low: float, high: float, whole: bool) -> None:
    if not low <= value <= high or (whole and value != math.floor(value)):
        raise ArithmeticError


def _finite(value: float) -> float:
    if value - value != 0.0:
        raise ArithmeticError
    return value


@dataclass(frozen=True, eq=False)
class _Compiler:
    """Expressions of a loss as closures; ``memories`` says how each memory is kept."""

    bound: BoundLoss
    memories: Mapping[str, Memory]

    def function(self, expr: Expr) -> Function:
        """The expression as a function with float values."""
        if isinstance(expr, Number):
            number = expr.value
            return lambda now, old: number
        if isinstance(expr, Name) and expr.name not in self.bound.params:
            name = expr.name
            return lambda now, old: now[name]
        if names_read(expr) <= {"z", "y", *self.bound.params}:
            return self.by_labels(expr)
        match expr:
            case Old(name=name):
                return lambda now, old: old[name]
            case Unary(operator="-", operand=operand):
                inner = self.function(operand)
                return lambda now, old: -inner(now, old)
            case Choice():
                condition = self.condition(expr.condition)
                yes, no = self.function(expr.yes), self.function(expr.no)
                return lambda now, old: (yes if condition(now, old) else no)(now, old)
            case Binary(operator=sign) if sign in _ARITHMETIC:
                apply = _ARITHMETIC[sign]
                left, right = self.function(expr.left), self.function(expr.right)
                return lambda now, old: _finite(apply(left(now, old), right(now, old)))
            case Call(function="min" | "max" as name):
                choose, inner_ones = _CHOOSE[name], [self.function(one) for one in expr.arguments]
                return lambda now, old: choose([_finite(one(now, old)) for one in inner_ones])
            case Call(function="tally" | "sum"):
                return self.over_memory(expr)
            case Index():
                return self.entry(expr)
            case Push():
                return self.push(expr)
            case Arcs():
                return self.arcs(expr)
            case Call():
                return self.by_evaluator(expr)
        holds = self.condition(expr)
        return lambda now, old: 1.0 if holds(now, old) else 0.0

    def by_evaluator(self, expr: Expr) -> Function:
        """What is seldom asked, as the evaluator gives it."""
        return lambda now, old: float(evaluate(expr, Scope(self.bound, now, old, self.memories)))

    def by_labels(self, expr: Expr, shown: Callable[[float], Any] = float) -> Function:
        """What depends on labels alone, kept for those that were met."""
        known: dict[Any, Any] = {}
        compute = self.by_evaluator(expr)
        labels = operator.itemgetter(*(sorted(names_read(expr) & {"z", "y"}) or ["n"]))

        def look_up(now: Held, old: Held) -> Any:
            at = labels(now)
            if at not in known:
                known[at] = shown(compute(now, old))
            return known[at]

        return look_up

    def condition(self, expr: Expr) -> Function:
        """Whether the expression is true; what a memory has before the start (nan) is not."""
        match expr:
            case _ if names_read(expr) <= {"z", "y", *self.bound.params}:
                return self.by_labels(expr, lambda amount: abs(amount) > 0.0)
            case At():
                states = next(r.states for r in self.bound.spec.registers if r.states)
                number = states.index(expr.state)
                return lambda now, old: now["state"] == number
            case Unary(operator="not", operand=operand):
                inner = self.condition(operand)
                return lambda now, old: not inner(now, old)
            case Binary(operator="and" | "or" as sign):
                left, right = self.condition(expr.left), self.condition(expr.right)
                if sign == "and":
                    return lambda now, old: left(now, old) and right(now, old)
                return lambda now, old: left(now, old) or right(now, old)
            case Binary(operator=sign) if sign in _COMPARE:
                compare = _COMPARE[sign]
                left, right = self.function(expr.left), self.function(expr.right)
                return lambda now, old: compare(left(now, old), right(now, old))
        amount = self.function(expr)
        return lambda now, old: abs(amount(now, old)) > 0.0

    def over_memory(self, expr: Call) -> Function:
        """How many entries of a memory are equal to something, or their sum."""
        name = expr.arguments[0].name  # type: ignore[attr-defined]
        memory = self.memories[name]
        entries = memory.entries.tolist()
        sought = self.function(expr.arguments[1]) if expr.function == "tally" else None

        def total(now: Held, old: Held) -> float:
            packed, held = int(now[name]), []
            for _ in range(memory.depth):
                packed, digit = divmod(packed, memory.base)
                held.append(entries[digit])
            if sought is None:
                return float(sum(entry for entry in held if not math.isnan(entry)))
            wanted = sought(now, old)
            return float(sum(entry == wanted for entry in held))

        return total

    def entry(self, expr: Index) -> Function:
        """An entry of a memory, whose place is a constant; the entry of a table elsewhere."""
        memory = self.memories.get(expr.name)
        if memory is None or not isinstance(expr.arguments[0], Number):
            return self.by_evaluator(expr)
        name, back = expr.name, expr.arguments[0].value
        if not 0 <= back < memory.depth:
            return self.by_evaluator(expr)
        entries, base = memory.entries.tolist(), memory.base
        power = base ** int(back)
        if memory.depth == 1 and expr.old:
            return lambda now, old: entries[int(old[name])]
        if memory.depth == 1:
            return lambda now, old: entries[int(now[name])]
        if expr.old:
            return lambda now, old: entries[int(old[name]) // power % base]
        return lambda now, old: entries[int(now[name]) // power % base]

    def push(self, expr: Push) -> Function:
        """A memory with one more entry."""
        name, memory = expr.memory, self.memories[expr.memory]
        digits = {value: k for k, value in enumerate(memory.values.tolist(), start=1)}
        base, room = memory.base, memory.base**memory.depth
        inner = self.function(expr.entry)
        return lambda now, old: float((int(old[name]) * base + digits[inner(now, old)]) % room)

    def arcs(self, expr: Arcs) -> Function:
        """The state after a step: the target of the one arc that applies."""
        arcs: dict[float, list[tuple[Function, float]]] = {}
        otherwise: dict[float, float] = {}
        for source, goal, condition in expr.arcs:
            if condition is None:
                otherwise.setdefault(float(source), float(goal))
            else:
                held = arcs.setdefault(float(source), [])
                held.append((self.condition(condition), float(goal)))

        def target(now: Held, old: Held) -> float:
            state = old["state"]
            goals = [goal for holds, goal in arcs.get(state, ()) if holds(now, old)]
            if len(goals) > 1:
                raise ArithmeticError
            return goals[0] if goals else otherwise[state]

        return target
