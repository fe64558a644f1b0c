"""A loss split by tape: what happens on z alone, what on y alone, and how the two meet.

A loss splits when every register that reads both tapes only accumulates, and the value is affine in
these accumulators:

    value = sum over r of  r * g_r(end of z-part, end of y-part)  +  h(end of z-part, end of y-part)

Then the z-part and the y-part are automata of their own, and an amount added at a position depends
on *features* of a step of each: the largest pieces of its expression that read one tape only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from fsmeu.losses.algebra.rewrite import replace_parts, separated
from fsmeu.losses.language.dependencies import (
    increment,
    linear_registers,
    names_read,
    steps_read_length,
    tapes,
)
from fsmeu.losses.language.syntax import (
    Binary,
    Call,
    Expr,
    Name,
    Number,
    Register,
    Spec,
    parts,
    with_parts,
)
from fsmeu.losses.semantics.evaluator import BoundLoss

_ZERO = Number(0.0)


@dataclass(frozen=True, eq=False)
class TapeLoss:
    """One tape's share of a loss, as a loss of its own that reads labels as ``y``.

    Attributes:
        bound: a spec with the registers of this tape; features are accumulators ``#0``, ``#1``...
        features: how many features there are.
        registers: names of the registers that make up the state.
        ends: those of them that the value looks at.
    """

    bound: BoundLoss
    features: int
    registers: tuple[str, ...]
    ends: tuple[str, ...]

    @cached_property
    def counter(self) -> str | None:
        """The register that the value looks at, when it only counts and nothing else reads it."""
        if len(self.ends) != 1:
            return None
        register = next(r for r in self.bound.spec.registers if r.name == self.ends[0])
        return register.name if _counts(register, self.bound.spec) else None

    @property
    def counted(self) -> bool:
        """True when the value looks at no more than one counter."""
        return not self.ends or self.counter is not None


def _counts(register: Register, spec: Spec) -> bool:
    """True for an accumulator that starts at 0 and that no other register looks at."""
    others = [r for r in spec.registers if r.name != register.name]
    unread = all(register.name not in names_read(r.update) for r in others)
    return unread and increment(register) is not None and register.start == _ZERO


@dataclass(frozen=True, eq=False)
class JointCount:
    """An accumulator: its amount as an expression of features ``z#k`` and ``y#k``."""

    register: str
    amount: Expr
    reads_clock: bool


@dataclass(frozen=True, eq=False)
class Split:
    """A loss as two parts and the accumulators in which they meet.

    Attributes:
        bound: the whole loss, sums of a count of each tape written as two counts.
        z: what happens on z.
        y: what happens on y.
        joint_counts: the accumulators in which the value is affine.
        additive: True when the value depends on nothing else: a sum over positions.
    """

    bound: BoundLoss
    z: TapeLoss
    y: TapeLoss
    joint_counts: tuple[JointCount, ...]
    additive: bool

    @cached_property
    def reads_length(self) -> bool:
        """True when a step of a tape, or an amount, looks at the length.

        Bounds of registers do not count: whether they are kept is seen as values are reached.
        """
        specs = (self.z.bound.spec, self.y.bound.spec)
        read = [register.start for spec in specs for register in spec.registers]
        read += [joint_count.amount for joint_count in self.joint_counts]
        return any(map(steps_read_length, specs)) or any("n" in names_read(e) for e in read)

    @cached_property
    def counted(self) -> bool:
        """True when the value looks at no more than one counter of each tape."""
        return self.z.counted and self.y.counted


def split(bound: BoundLoss) -> Split | None:
    """The loss split by tape, or None when a register of both tapes is not an accumulator."""
    bound = separated(bound)
    spec = bound.spec
    reach = tapes(spec)
    joint = [name for name, t in reach.items() if {"z", "y"} <= t]
    linear = linear_registers(spec)
    if not set(joint) <= set(linear):
        return None
    z_names = {n for n, t in reach.items() if "y" not in t and n not in linear}
    y_names = {n for n, t in reach.items() if "y" in t and n not in linear}
    splitter = _Splitter({"z", *z_names}, {"y", *y_names})
    joint_counts = []
    try:
        for register in spec.registers:
            if register.name in linear:
                amount = splitter.cut(increment(register) or _ZERO, register.name)
                joint_counts.append(JointCount(register.name, amount, "i" in names_read(amount)))
    except _InseparableError:
        return None
    read = names_read(spec.value)
    z_part = _part(bound, z_names, splitter.z_features, "z", read)
    both = _needed(spec, {name for name in z_names if not reach[name] & {"z", "y"}}, y_names)
    y_part = _part(bound, y_names | both, splitter.y_features, "y", read - both)
    additive = not (z_part.ends or y_part.ends)
    return Split(bound, z_part, y_part, tuple(joint_counts), additive)


def _needed(spec: Spec, tapeless: set[str], names: set[str]) -> set[str]:
    """Registers that read no tape and that registers with these names look at, however far back."""
    found: set[str] = set()
    asking = names
    while asking:
        read = [names_read(r.update) for r in spec.registers if r.name in asking]
        asking = set().union(*read) & tapeless - found
        found |= asking
    return found


class _InseparableError(Exception):
    """A piece that reads both tapes and is no function of what each shows by itself."""


class _Splitter:
    """Cuts expressions into pieces that read one tape, and numbers the pieces."""

    def __init__(self, z_names: set[str], y_names: set[str]) -> None:
        self.names = {"z": z_names, "y": y_names}
        self.z_features: list[tuple[str, Expr]] = []
        self.y_features: list[tuple[str, Expr]] = []

    def cut(self, expr: Expr, register: str) -> Expr:
        """The expression with its one-tape pieces replaced by the names of features."""
        read = names_read(expr)
        on_z, on_y = bool(read & self.names["z"]), bool(read & self.names["y"])
        if on_z and not on_y:
            return self._feature(expr, register, "z", self.z_features)
        if on_y and not on_z:
            return self._feature(expr, register, "y", self.y_features)
        if not on_z:
            return expr
        if isinstance(expr, Call) and expr.function == "tally":
            raise _InseparableError
        return with_parts(expr, tuple(self.cut(part, register) for part in parts(expr)))

    def _feature(
        self, expr: Expr, register: str, tape: str, features: list[tuple[str, Expr]]
    ) -> Name:
        if (register, expr) not in features:
            features.append((register, expr))
        return Name(f"{tape}#{features.index((register, expr))}")


def _part(
    bound: BoundLoss,
    names: set[str],
    features: list[tuple[str, Expr]],
    tape: str,
    read: frozenset[str],
) -> TapeLoss:
    """The registers of one tape in their order, each feature where its accumulator stood."""
    spec = bound.spec
    as_y: dict[Expr, Expr] = {Name(tape): Name("y")}
    kept: list[Register] = []
    for register in spec.registers:
        if register.name in names:
            kept.append(
                replace(register, update=replace_parts(register.update, {Name(tape): Name("y")}))
            )
        for k, (owner, expr) in enumerate(features):
            if owner == register.name:
                name = f"#{k}"
                update = Binary("+", Name(name), replace_parts(expr, as_y))
                kept.append(Register(name, "feature", _ZERO, update, None, None, register.place))
    part_spec: Spec = replace(spec, registers=tuple(kept), value=_ZERO, range=None)
    state = tuple(r.name for r in spec.registers if r.name in names)
    ends = tuple(name for name in state if name in read)
    return TapeLoss(replace(bound, spec=part_spec), len(features), state, ends)
