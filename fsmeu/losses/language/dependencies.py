"""What can be read off a spec without running it.

Algorithms are chosen by these properties and never by the name of a loss: which tapes a register
reads, which registers only accumulate, and in which of them the value is linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from fsmeu.losses.language.syntax import (
    Arcs,
    At,
    Binary,
    Choice,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Push,
    Register,
    Spec,
    Unary,
    parts,
)

_TAPES = frozenset({"z", "y", "i"})
_ZERO = Number(0.0)
_TRUTHS = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not"})


def names_read(expr: Expr) -> frozenset[str]:
    """The names that an expression refers to: tapes, i, n, parameters, registers.

    Each expression keeps them: they are asked for at every level of long sums.
    """
    known: frozenset[str] | None = vars(expr).get("_names_read")
    if known is None:
        match expr:
            case Name() | Old() | Index():
                known = frozenset((expr.name,))
            case Push():
                known = frozenset((expr.memory,))
            case At() | Arcs():
                known = frozenset(("state",))
            case _:
                known = frozenset()
        known = known.union(*map(names_read, parts(expr)))
        object.__setattr__(expr, "_names_read", known)
    return known


@lru_cache(maxsize=256)
def tapes(spec: Spec) -> Mapping[str, frozenset[str]]:
    """What each register depends on in the end, a subset of {"z", "y", "i"}."""
    direct = {r.name: names_read(r.update) for r in spec.registers}
    reach = {name: names & _TAPES for name, names in direct.items()}
    for _ in spec.registers:
        for name, names in direct.items():
            for other in names & reach.keys():
                reach[name] = reach[name] | reach[other]
    return reach


@lru_cache(maxsize=256)
def steps(spec: Spec) -> Mapping[str, tuple[Expr | None, frozenset[str]]]:
    """For each register what it adds at a step (None if it does more), and the names it reads."""
    return {r.name: (increment(r), names_read(r.update)) for r in spec.registers}


def needed_registers(registers: Sequence[Register], values: Iterable[Expr]) -> frozenset[str]:
    """The registers that these expressions read, directly or through updates of others."""
    updates = {r.name: names_read(r.update) & {r.name for r in registers} for r in registers}
    needed = frozenset[str]().union(*map(names_read, values)) & updates.keys()
    for _ in registers:
        needed = needed.union(*(updates[name] for name in needed))
    return needed


def reads_clock(spec: Spec) -> bool:
    """True when some register looks at the position i."""
    return any("i" in names_read(register.update) for register in spec.registers)


@lru_cache(maxsize=256)
def steps_read_length(spec: Spec) -> bool:
    """True when some update, or what a memory can hold, looks at the length n."""
    memories = [r for r in spec.registers if r.sugar == "memory"]
    read = [side for r in memories for side in (r.depth, r.low, r.high) if side is not None]
    return any("n" in names_read(expr) for expr in (*read, *(r.update for r in spec.registers)))


def increment(register: Register) -> Expr | None:
    """What a register adds to itself at each step; None when it does more than add.

    The answer does not refer to the register: it is then an accumulator. One with declared bounds
    must be seen to keep them; else its values have to be looked at, because they may be refused.
    """
    amount = _increment(register.update, register.name)
    if amount is None or register.name in names_read(amount):
        return None
    if register.sugar == "register" and not _stays_inside(register, amount):
        return None
    return amount


def _stays_inside(register: Register, amount: Expr) -> bool:
    """True when n steps from the start evidently stay between bounds such as 0..n."""
    high, room = register.high, 0.0
    if isinstance(high, Binary) and high.operator == "+":
        room = _plain(high.right)
        high = high.left
    inside = _plain(register.low) <= _plain(register.start) <= room
    return inside and high == Name("n") and is_truth(amount)


def _plain(expr: Expr | None) -> float:
    """The number that is written there, nan if it is anything else."""
    match expr:
        case Number():
            return expr.value
        case Unary(operator="-"):
            return -_plain(expr.operand)
    return math.nan


def is_condition(expr: Expr) -> bool:
    """True for a comparison, and, or, not."""
    return isinstance(expr, Binary | Unary) and expr.operator in _TRUTHS


def is_truth(expr: Expr) -> bool:
    """True when the expression is 0 or 1 whatever happens."""
    match expr:
        case Number():
            return expr.value in (0.0, 1.0)
        case Binary() | Unary():
            return is_condition(expr)
        case Choice():
            return is_truth(expr.yes) and is_truth(expr.no)
        case At():
            return True
    return False


def _increment(expr: Expr, name: str) -> Expr | None:
    match expr:
        case Name() if expr.name == name:
            return _ZERO
        case Binary(operator="+"):
            for mine, other in ((expr.left, expr.right), (expr.right, expr.left)):
                amount = _increment(mine, name)
                if amount is not None and name not in names_read(other):
                    return other if amount == _ZERO else Binary("+", amount, other)
        case Binary(operator="-"):
            amount = _increment(expr.left, name)
            if amount is not None:
                return Binary("-", amount, expr.right)
        case Choice():
            yes, no = _increment(expr.yes, name), _increment(expr.no, name)
            if yes is not None and no is not None:
                return Choice(expr.condition, yes, no)
    return None


def is_affine(expr: Expr, names: frozenset[str]) -> bool:
    """True when the expression is a + sum of b_r * r over these names, with a, b free of them."""
    return _degree(expr, names) <= 1


def _degree(expr: Expr, names: frozenset[str]) -> int:
    """0 when the expression is free of these names, 1 when it is affine in them, else 2."""
    inside = [_degree(part, names) for part in parts(expr)]
    match expr:
        case Name():
            return int(expr.name in names)
        case Unary(operator="-") | Binary(operator="+" | "-"):
            return max(inside)
        case Binary(operator="*"):
            return min(sum(inside), 2)
        case Binary(operator="/"):
            return 2 if inside[1] else inside[0]
        case Choice():
            return 2 if inside[0] else max(inside)
        case Old() | Index() | Push() | At():
            own = names_read(expr) & names
            return 2 if own else 0
    return 2 if any(inside) else 0


@lru_cache(maxsize=256)
def unread_registers(spec: Spec) -> frozenset[str]:
    """Registers that no other register's update looks at."""
    read: set[str] = set()
    for name, (_, names) in steps(spec).items():
        read |= names - {name}
    return frozenset(r.name for r in spec.registers) - read


def linear_registers(
    spec: Spec, among: Iterable[str] | None = None, values: Sequence[Expr] = ()
) -> tuple[str, ...]:
    """Accumulators in which the value, or each of ``values``, is affine, and no update looks at.

    They need not be states: their expectation rides in the weight (Eisner 2002). Registers that
    read both tapes are taken first, because they cost the most as states.
    """
    allowed = None if among is None else set(among)
    unread = unread_registers(spec)
    reach = tapes(spec)
    candidates = [
        r.name
        for r in spec.registers
        if r.name in unread
        and (allowed is None or r.name in allowed)
        and increment(r) is not None
        and isinstance(r.start, Number)
    ]
    candidates.sort(key=lambda name: -len(reach[name] & {"z", "y"}))
    chosen: frozenset[str] = frozenset()
    for name in candidates:
        if all(is_affine(value, chosen | {name}) for value in values or [spec.value]):
            chosen |= {name}
    return tuple(r.name for r in spec.registers if r.name in chosen)
