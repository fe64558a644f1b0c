"""A loss for sequences of one length: starts, bounds, domains, memories, the range of values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats
from fsmeu.cache import Derives
from fsmeu.errors import LossFileError
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, Spec, fault, is_condition
from fsmeu.losses.semantics.domains import ANY, Domain, Pool, RegisterBounds, keep_bounds
from fsmeu.losses.semantics.evaluator import BoundLoss, Lanes, Memory, Scope, constant, number

_MAX_DEPTH = 64
_MAX_PACKED = 2**53
_SLACK = 1e-9


class RangeError(LossFileError):
    """A value lies outside the range that its file declares."""


class ValueRange(NamedTuple):
    """The least and the greatest value that a loss declares, infinite where it declares none."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The greatest value less the least."""
        return self.high - self.low

    @property
    def finite(self) -> bool:
        """True when both ends are declared."""
        return math.isfinite(self.low) and math.isfinite(self.high)


EVERY_VALUE = ValueRange(-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class LossAtLength(Derives):
    """A loss whose labels and parameters are known, for sequences of length n."""

    bound: BoundLoss
    n: int

    @property
    def spec(self) -> Spec:
        """The file of the loss."""
        return self.bound.spec

    def constant(self, expr: Expr) -> float:
        """The value of an expression of parameters and n."""
        return constant(expr, {**self.bound.params, "n": float(self.n)}, self.spec)

    # -- registers ---------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> Mapping[str, float]:
        """The value of each register before the first position, by name."""
        return {r.name: self.constant(r.start) for r in self.spec.registers}

    @cached_property
    def checked_starts(self) -> Mapping[str, float]:
        """The starts, each of which keeps the bounds that the file declares."""
        for r in self.spec.registers:
            keep_bounds(self.spec, r, self.starts[r.name], self.bounds[r.name])
        return self.starts

    @cached_property
    def bounds(self) -> Mapping[str, RegisterBounds]:
        """The bounds that the file declares for each register, by name; infinite for others."""
        return {r.name: self._bounds(r) for r in self.spec.registers}

    def _bounds(self, register: Register) -> RegisterBounds:
        if register.sugar != "register":
            return ANY
        domain = self.domain(register)
        return RegisterBounds(float(domain.low), float(domain.low + domain.size - 1))

    def domain(self, register: Register) -> Domain:
        """A new domain of a register, whose bounds must be whole and in order."""
        if register.sugar == "memory":
            memory = self.memories[register.name]
            reachable = 2 * (memory.base - 1) ** memory.depth
            return Domain(0, memory.base**memory.depth, strict=True, reachable=reachable)
        if register.low is None or register.high is None:
            return Pool()
        low = self.constant(register.low)
        high = self.constant(register.high)
        if not (np.isfinite([low, high]).all() and low == int(low) and high == int(high)):
            raise self._error(register, f"bounds must be whole numbers, not {low:g}..{high:g}")
        if high < low:
            raise self._error(register, f"bounds must be in order, not {low:g}..{high:g}")
        size = int(high) - int(low) + 1
        counted = register.sugar in ("count", "require")  # what leaves it is no path
        if size > limits.MOST_REGISTER_VALUES and counted:
            return Pool()
        if size > limits.MOST_REGISTER_VALUES:
            most = f"{limits.MOST_REGISTER_VALUES:,} values"
            said = f"a register may take at most {most}, this one {size:,}"
            raise self._error(register, said)
        reachable = self.n + 1 if counted else size  # 0 and the multiples of its one amount
        return Domain(int(low), size, not counted, reachable)

    @cached_property
    def memories(self) -> Mapping[str, Memory]:
        """The layout of each memory, by name."""
        return {r.name: self._memory(r) for r in self.spec.registers if r.sugar == "memory"}

    def _memory(self, register: Register) -> Memory:
        depth = self.constant(register.depth)  # type: ignore[arg-type]
        if not 1 <= depth <= _MAX_DEPTH or depth != int(depth):
            raise self._error(register, f"a memory holds 1 to {_MAX_DEPTH} entries, not {depth:g}")
        values, numeric = self._entry_values(register)
        memory = Memory(values, int(depth), numeric)
        if memory.base**memory.depth > _MAX_PACKED:
            said = f"{depth:g} entries of {len(values)} values each are too many to remember"
            raise self._error(register, said)
        return memory

    def _entry_values(self, register: Register) -> tuple[Floats, bool]:
        """What an entry of a memory can be, ascending, and whether these are numbers."""
        bound = self.bound
        entry = register.update.entry  # type: ignore[attr-defined]
        if register.low is not None and register.high is not None:
            low = self.constant(register.low)
            high = self.constant(register.high)
            if not (
                0 <= high - low < limits.MOST_ENTRY_VALUES and low == int(low) and high == int(high)
            ):
                said = f"entries must lie in whole bounds, not {low:g}..{high:g}"
                raise self._error(register, said)
            return np.arange(low, high + 1.0), True
        match entry:
            case ast.Name(name="z" | "y"):
                return bound.label_values, bound.numeric
            case ast.Call(function="kind" | "type", arguments=(ast.Name(name="z" | "y"),)) if (
                not bound.numeric
            ):
                parts = bound.kinds if entry.function == "kind" else bound.types
                return np.unique(parts[bound.label_values.astype(np.int64)]), False
            case _ if is_condition(entry):
                return np.array([0.0, 1.0]), True
        said = (
            "a memory of something other than z, y, their kind or type, or a condition needs "
            "bounds, 'in LOW..HIGH'"
        )
        raise self._error(register, said)

    def _error(self, register: Register, said: str) -> LossFileError:
        spec = self.spec
        return fault(spec.origin, spec.source, register.place, f"{register.name}: {said}")

    # -- values ------------------------------------------------------------------------------------

    def at_end(
        self,
        expr: Expr,
        registers: Mapping[str, Lanes],
        shape: tuple[int, ...],
        active: Bools | None = None,
    ) -> Floats:
        """An expression of the registers at the end, of this shape; 0 where it is not active."""
        current = {**registers, "n": float(self.n)}
        value = number(expr, Scope(self.bound, current, current, self.memories), active)
        if active is not None:
            value = np.where(active, value, 0.0)
        return value if value.shape == shape else np.broadcast_to(value, shape).astype(np.float64)

    def value(self, registers: Mapping[str, Lanes], shape: tuple[int, ...]) -> Floats:
        """The value of each pair that ends in these registers, checked to be in the range."""
        values = self.at_end(self.spec.value, registers, shape)
        self.check_range(values)
        return values

    @cached_property
    def range(self) -> ValueRange:
        """The range of values that the file declares."""
        if self.spec.range is None:
            return EVERY_VALUE
        low, high = self.spec.range
        return ValueRange(self.constant(low), self.constant(high))

    def check_range(self, values: Floats) -> None:
        """Refuses values, or means of them, outside the range up to rounding: a RangeError."""
        spec = self.spec
        if spec.range is None or not values.size:
            return
        low, high = self.range
        slack = _SLACK * (max((abs(x) for x in (low, high) if math.isfinite(x)), default=0) or 1)
        for value in (values.min(), values.max()):
            if not low - slack <= value <= high + slack:
                must = f"values must lie in the declared range {low:g} .. {high:g}"
                place = spec.range[0].place
                found = fault(spec.origin, spec.source, place, must)
                raise RangeError(found.where, must, given=f"{value:g}", excerpt=found.excerpt)
