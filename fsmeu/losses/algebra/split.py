"""A loss split by tape: its part on z alone, its part on y alone, and how the two are joined.

A loss splits when every register that reads both tapes only accumulates, and the value is affine in
these accumulators:

    value = sum over r of  r * g_r(end of z-part, end of y-part)  +  h(end of z-part, end of y-part)

Then the z-part and the y-part are automata of their own, and an amount added at a position depends
on *features* of a step of each: the largest pieces of its expression that read one tape only.

Before that stands how expressions and specs are made from others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from fsmeu.errors import LossFileError
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, Spec, names_read, parts
from fsmeu.losses.semantics.evaluator import BoundLoss, constant

_ZERO = ast.Number(0.0)
_OTHER: dict[Expr, Expr] = {ast.Name("z"): ast.Name("y"), ast.Name("y"): ast.Name("z")}


def partial_eval(expr: Expr, values: Mapping[Expr, float], spec: Spec) -> Expr:
    """The expression with these values filled in and worked out as far as it goes.

    They are those of some names, before the step and after it. What has no value is left.
    """
    if isinstance(expr, ast.Name | ast.Old) and expr in values:
        return ast.Number(values[expr], place=expr.place)
    if isinstance(expr, ast.Choice):
        condition = partial_eval(expr.condition, values, spec)
        if isinstance(condition, ast.Number):
            return partial_eval(expr.yes if condition.value else expr.no, values, spec)
    inside = tuple(partial_eval(part, values, spec) for part in parts(expr))
    result = ast.with_parts(expr, inside)
    if isinstance(result, ast.Binary) and result.operator in ("and", "or"):
        left, right = inside
        if not isinstance(left, ast.Number):
            return result
        if bool(left.value) == (result.operator == "or"):
            return ast.Number(float(bool(left.value)), place=expr.place)
        if isinstance(right, ast.Number):
            return ast.Number(float(right.value != 0), place=expr.place)
        return right if ast.is_truth(right) else result
    fixed = all(isinstance(part, ast.Number) for part in inside)
    if isinstance(result, ast.Unary | ast.Binary | ast.Call) and fixed:
        with suppress(LossFileError):
            return ast.Number(constant(result, {}, spec), place=expr.place)
    return result


def replace_parts(expr: Expr, others: Mapping[Expr, Expr]) -> Expr:
    """The expression with these parts of it, wherever they stand, replaced by others."""
    if expr in others:
        return others[expr]
    return ast.with_parts(expr, tuple(replace_parts(part, others) for part in parts(expr)))


def swapped_spec(spec: Spec) -> Spec:
    """The spec whose value for (z, y) is that of the given one for (y, z)."""
    registers, file_registers = (
        tuple(replace(r, update=replace_parts(r.update, _OTHER)) for r in registers)
        for registers in (spec.registers, spec.file_registers)
    )
    examples = tuple(replace(example, z=example.y, y=example.z) for example in spec.examples)
    return replace(spec, registers=registers, file_registers=file_registers, examples=examples)


def separated(bound: BoundLoss) -> BoundLoss:
    """The same loss, in which a count that is a sum over both tapes is written as two counts.

    ``count both by (z == 1) + (y == 1)`` becomes ``both.z`` and ``both.y``, so that it does not
    stand in the way of algorithms that look at the tapes one after the other.
    """
    spec = bound.spec
    linear = spec.linear()
    registers: list[Register] = []
    sums: dict[Expr, Expr] = {}
    for register in spec.registers:
        apart = register.name in spec.unread and register.name not in linear
        two = _two_counts(spec, register) if apart else None
        registers += two or [register]
        if two is not None:
            first, second = (ast.Name(count.name) for count in two)
            sums[ast.Name(register.name)] = ast.Binary("+", first, second)
    if not sums:
        return bound
    value = replace_parts(spec.value, sums)
    return replace(bound, spec=replace(spec, registers=tuple(registers), value=value))


def _two_counts(spec: Spec, register: Register) -> list[Register] | None:
    """A count for each tape, if what the register adds is a sum of both."""
    amount = ast.increment(register)
    if amount is None or register.sugar != "count":
        return None
    shares: dict[str, Expr] = {"z": _ZERO, "y": _ZERO}
    reach = {"z": frozenset("z"), "y": frozenset("y"), **spec.tapes}
    for sign, term in terms_of_sum(amount):
        through = (reach[name] for name in names_read(term) & reach.keys())
        reads = frozenset[str]().union(*through) & {"z", "y"}
        if len(reads) > 1:
            return None
        tape = "y" if reads == {"y"} else "z"
        so_far = shares[tape]
        shares[tape] = term if (sign, so_far) == ("+", _ZERO) else ast.Binary(sign, so_far, term)
    if _ZERO in shares.values():
        return None
    names = {tape: f"{register.name}.{tape}" for tape in shares}
    updates = {t: ast.Binary("+", ast.Name(names[t]), share) for t, share in shares.items()}
    z_count = replace(register, name=names["z"], update=updates["z"])
    return [z_count, replace(register, name=names["y"], start=_ZERO, update=updates["y"])]


def terms_of_sum(expr: Expr, sign: str = "+") -> Iterator[tuple[str, Expr]]:
    """The terms of a sum, each with its sign."""
    other = "-" if sign == "+" else "+"
    match expr:
        case ast.Binary(operator="+" | "-"):
            yield from terms_of_sum(expr.left, sign)
            yield from terms_of_sum(expr.right, sign if expr.operator == "+" else other)
        case ast.Unary(operator="-"):
            yield from terms_of_sum(expr.operand, other)
        case _:
            yield sign, expr


@dataclass(frozen=True, eq=False)
class TapeLoss:
    """One tape's share of a loss, as a loss of its own that reads labels as ``y``.

    Its ``features``, so many, are accumulators ``#0``, ``#1``, ... of ``bound``; ``registers`` make
    up the state, and the value looks at those that are ``ends``.
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
        spec = self.bound.spec
        name = self.ends[0]
        starts = next(r.start for r in spec.registers if r.name == name)
        adds = name in spec.unread and spec.amounts[name] is not None
        return name if adds and starts == _ZERO else None

    @property
    def counted(self) -> bool:
        """True when the value looks at no more than one counter."""
        return not self.ends or self.counter is not None


@dataclass(frozen=True, eq=False)
class JointCount:
    """An accumulator: its amount as an expression of features ``z#k`` and ``y#k``."""

    register: str
    amount: Expr


@dataclass(frozen=True, eq=False)
class Split:
    """A loss as its parts on z and on y, and the accumulators that read both.

    In ``bound``, the whole loss, sums of a count of each tape are written as two counts. The value
    is affine in ``joint_counts``; if it is ``additive``, it depends on nothing else.
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
        return any(x.steps_read_length for x in specs) or any("n" in names_read(e) for e in read)

    @cached_property
    def counted(self) -> bool:
        """True when the value looks at no more than one counter of each tape."""
        return self.z.counted and self.y.counted


def split(bound: BoundLoss) -> Split | None:
    """The loss split by tape, or None when a register of both tapes is not an accumulator."""
    bound = separated(bound)
    spec = bound.spec
    reach = spec.tapes
    joint = [name for name, t in reach.items() if {"z", "y"} <= t]
    linear = spec.linear()
    if not set(joint) <= set(linear):
        return None
    z_names = {n for n, t in reach.items() if "y" not in t and n not in linear}
    y_names = {n for n, t in reach.items() if "y" in t and n not in linear}
    names = {"z": {"z", *z_names}, "y": {"y", *y_names}}
    features: dict[str, list[tuple[str, Expr]]] = {"z": [], "y": []}
    joint_counts = []
    for register in (r for r in spec.registers if r.name in linear):
        amount = ast.increment(register) or _ZERO
        others = dict[Expr, Expr]()
        for tape, piece in _pieces(amount, names):
            if not tape:
                return None
            pieces = features[tape]
            feature = (register.name, piece)
            if feature not in pieces:
                pieces.append(feature)
            others[piece] = ast.Name(f"{tape}#{pieces.index(feature)}")
        joint_counts.append(JointCount(register.name, replace_parts(amount, others)))
    read = names_read(spec.value)
    z_part = _part(bound, z_names, features["z"], "z", read)
    needed = ast.needed_registers(
        spec.registers, [r.update for r in spec.registers if r.name in y_names]
    )
    both = {name for name in z_names & needed if not reach[name] & {"z", "y"}}
    y_part = _part(bound, y_names | both, features["y"], "y", read - both)
    additive = not (z_part.ends or y_part.ends)
    return Split(bound, z_part, y_part, tuple(joint_counts), additive)


def _pieces(expr: Expr, names: Mapping[str, set[str]]) -> Iterator[tuple[str, Expr]]:
    """The largest pieces that read one tape, with it; without, a tally that reads both at once."""
    tapes = [tape for tape in names if names_read(expr) & names[tape]]
    if len(tapes) == 1:
        yield tapes[0], expr
    elif tapes and isinstance(expr, ast.Call) and expr.function == "tally":
        yield "", expr
    else:
        for part in parts(expr):
            yield from _pieces(part, names)


def _part(
    bound: BoundLoss,
    names: set[str],
    features: list[tuple[str, Expr]],
    tape: str,
    read: frozenset[str],
) -> TapeLoss:
    """The registers of one tape in their order, each feature where its accumulator stood."""
    spec = bound.spec
    as_y: dict[Expr, Expr] = {ast.Name(tape): ast.Name("y")}
    registers: list[Register] = []
    for r in spec.registers:
        if r.name in names:
            registers.append(replace(r, update=replace_parts(r.update, as_y)))
        for k, (owner, expr) in enumerate(features):
            if owner == r.name:
                name = f"#{k}"
                update = ast.Binary("+", ast.Name(name), replace_parts(expr, as_y))
                registers.append(Register(name, "feature", _ZERO, update, None, None, r.place))
    part_spec: Spec = replace(spec, registers=tuple(registers), value=_ZERO, range=None)
    state = tuple(r.name for r in spec.registers if r.name in names)
    ends = tuple(name for name in state if name in read)
    return TapeLoss(replace(bound, spec=part_spec), len(features), state, ends)
