"""The values a register can take for a given n, and the numbering of register tuples.

A tuple of register values is numbered in mixed radix, so that states are plain integers. A register
with no declared bounds (a count that adds arbitrary amounts) has its values numbered as they come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Register, Spec, fault
from fsmeu.losses.semantics.evaluator import Lanes, Scope, evaluate

MAX_BITS = 62
MOST_WHOLE = 2.0**53


@dataclass(eq=False)
class Domain:
    """The values low, ..., low + size - 1 of a register, numbered from 0, some ``reachable``.

    To leave a ``strict`` one is the file's mistake; no reachable state leaves the bounds of counts.
    """

    low: int
    size: int
    strict: bool
    reachable: int

    def encode(self, values: Floats) -> tuple[Ints, Bools]:
        """The numbers of these values, and which lie outside: their numbers mean nothing."""
        exact = values - self.low
        with np.errstate(invalid="ignore"):
            digit = exact.astype(np.int64)
        return digit, (digit != exact) | (digit < 0) | (digit >= self.size)

    def decode(self, numbers: Ints) -> Floats:
        """The values with these numbers."""
        return numbers.astype(np.float64) + float(self.low)


class Pool(Domain):
    """Real values numbered in the order in which they occur, each as it was computed.

    0.1 + 0.2 and 0.3 are two values, as a loss may compare, floor or subtract what they differ in.
    """

    def __init__(self, size: int = limits.POOL_SIZE) -> None:
        super().__init__(0, size, strict=False, reachable=size)
        self._values = np.zeros(0)
        self._order = np.zeros(0, np.int64)

    def encode(self, values: Floats) -> tuple[Ints, Bools]:
        """The numbers of these values; new values get new numbers, none lies outside."""
        distinct, inverse = np.unique(values, return_inverse=True)
        place, present = _places(self._values[self._order], distinct)
        if not present.all():
            self._values = np.concatenate([self._values, distinct[~present]])
            if len(self._values) > self.size:
                must = f"a count may take at most {self.size:,} different values here"
                raise SizeLimitError("loss", must, remedy="Count in whole numbers")
            self._order = np.argsort(self._values, kind="stable")
            place, _ = _places(self._values[self._order], distinct)
        return self._order[place][inverse].reshape(values.shape), np.zeros((), bool)

    def decode(self, numbers: Ints) -> Floats:
        """The values with these numbers."""
        return self._values[numbers]


class Merged(Domain):
    """Classes of values that nothing can tell apart.

    ``values`` are all that occur, ascending, ``classes`` theirs; one of each stands for all of it.
    """

    def __init__(self, values: Floats, classes: Ints, representatives: Floats) -> None:
        super().__init__(0, len(representatives), strict=False, reachable=len(representatives))
        self.values = values
        self.classes = classes
        self.representatives = representatives

    def encode(self, values: Floats) -> tuple[Ints, Bools]:
        """The class of each value, and which values do not occur."""
        place, present = _places(self.values, values)
        return self.classes[place], ~present

    def decode(self, numbers: Ints) -> Floats:
        """The values that stand for these classes."""
        return self.representatives[numbers]


def all_alike(domain: Domain, start: float) -> Merged:
    """The one class of all values of a domain, for which the start stands."""
    values: Floats = np.arange(domain.low, domain.low + domain.size, dtype=np.float64)
    return Merged(values, np.zeros(domain.size, np.int64), np.array([start]))


def _places(ascending: Floats, values: Floats) -> tuple[Ints, Bools]:
    """The places of values among others in ascending order, and whether they are there."""
    if not len(ascending):
        return np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return place, ascending[place] == values


class RegisterBounds(NamedTuple):
    """The least and the greatest value that a file declares for a register."""

    low: Lanes
    high: Lanes


ANY = RegisterBounds(-math.inf, math.inf)


def keep_bounds(
    spec: Spec,
    register: Register,
    values: Lanes,
    bounds: RegisterBounds,
    scope: Scope | None = None,
) -> None:
    """Refuses values that leave the bounds which the file declares for a register, if it does.

    ``scope`` is what the update saw, where there was one.
    """
    if register.sugar == "register":
        low, high = bounds
        inside = np.asarray((values >= low) & (values <= high) & (values == np.floor(values)))
        if not inside.all():
            first = (np.broadcast_to(side, inside.shape)[~inside].flat[0] for side in bounds)
            raise left_bounds(spec, register, values, ~inside, RegisterBounds(*first), scope)


def left_bounds(
    spec: Spec,
    register: Register,
    values: Lanes,
    lanes: Bools,
    bounds: RegisterBounds,
    scope: Scope | None = None,
) -> LossFileError:
    """The error of a register with values outside its bounds in these lanes, and what it saw."""
    value = float(np.broadcast_to(values, lanes.shape)[lanes].flat[0])
    within = f"{bounds.low:g}..{bounds.high:g}"
    said = f"{register.name} leaves its bounds {within}: it would be {value:g}"
    remedy = "Widen the bounds, or keep it in them with min and max"
    if scope is None:
        return fault(spec.origin, spec.source, register.place, said, remedy)
    return scope.fault(replace(register.update, place=register.place), said, lanes, remedy)


def keep_whole(register: Register, before: Lanes, after: Lanes, scope: Scope) -> None:
    """Refuses a count of whole numbers that passes 2^53, where doubles begin to leave some out.

    ``before`` and ``after`` are its values around a step of which ``scope`` is what the update saw.
    """
    if register.sugar != "count" or not np.any(np.abs(after) >= MOST_WHOLE):
        return
    match register.update:
        case ast.Binary(operator="+", right=amount):
            pass
        case ast.Choice(condition=condition, yes=ast.Binary(operator="+", right=amount)):
            amount = ast.Choice(condition, amount, ast.Number(0.0))
        case _:
            return
    added = evaluate(amount, scope)
    part = after - before
    lost = (before - (after - part)) + (added - part)  # what the sum was rounded by
    whole = np.equal(before, np.floor(before)) & np.equal(added, np.floor(added))
    lanes = whole & np.not_equal(lost, 0.0)
    if np.any(lanes):
        raise not_told_apart(register, scope, lanes)


def not_told_apart(register: Register, scope: Scope, lanes: Bools | None = None) -> LossFileError:
    """The error of a count of whole numbers that doubles do not hold in these lanes."""
    must = f"{register.name} passes 2^53, where whole numbers are not told apart"
    return scope.fault(replace(register.update, place=register.place), must, lanes)


def share_numbers(domains: Mapping[str, Domain]) -> dict[str, Domain]:
    """The same domains, with smaller pools where the codes of all together would overflow."""
    pools = [name for name, domain in domains.items() if isinstance(domain, Pool)]
    bounded = math.prod(domain.size for name, domain in domains.items() if name not in pools)
    if not pools:
        return dict(domains)
    room = int(2 ** ((MAX_BITS - math.log2(bounded)) / len(pools)))
    size = min(limits.POOL_SIZE, max(room, limits.SMALL_POOL))
    return {**domains, **{name: Pool(size) for name in pools}}


@dataclass(frozen=True, eq=False)
class Space:
    """Numbers for tuples of register values, whose domains are given by name, in order."""

    domains: Mapping[str, Domain]

    @property
    def size(self) -> int:
        """The number of codes."""
        return math.prod(domain.size for domain in self.domains.values())

    @property
    def dense(self) -> bool:
        """True when the space is small, or most of it can be reached: arrays may span it."""
        if any(isinstance(domain, Pool) for domain in self.domains.values()):
            return False
        reachable = math.prod(min(d.reachable, d.size) for d in self.domains.values())
        most = min(limits.LARGEST_DENSE_SPACE, limits.SPARED_SPACE * reachable)
        return self.size <= max(limits.DENSE_SPACE, most)

    def decode(self, codes: Ints) -> dict[str, Floats]:
        """The register values behind each number."""
        higher = codes
        values = {}
        for name, domain in reversed(list(self.domains.items())):
            higher, digit = np.divmod(higher, domain.size)
            values[name] = domain.decode(digit)
        return values

    def encode(self, values: Mapping[str, Floats]) -> tuple[Ints, str | None]:
        """The number of each tuple, -1 where a count passes n, and a register out of bounds."""
        code: Ints = np.zeros((), np.int64)
        outside = np.zeros((), bool)
        culprit = None
        for name, domain in self.domains.items():
            column = np.asarray(values[name], np.float64)
            digit, strange = domain.encode(column)
            if strange.any():
                outside = outside | strange
                fractional = type(domain) is Domain and (column != np.floor(column)).any()
                culprit = name if domain.strict or fractional else culprit
            code = code * domain.size + digit
        return (np.where(outside, -1, code) if outside.any() else code), culprit


def left_domain(
    spec: Spec, register: Register, values: Lanes, space: Space, scope: Scope | None = None
) -> LossFileError:
    """The error of a register some of whose values are not in its domain."""
    domain = space.domains[register.name]
    column = np.asarray(values, np.float64)
    bounds = RegisterBounds(float(domain.low), float(domain.low + domain.size - 1))
    outside = np.asarray(domain.encode(column)[1])
    before = None if scope is None else replace(scope, current={**scope.current, **scope.old})
    return left_bounds(spec, register, column, outside, bounds, before)
