"""Losses that are sums over windows: what each window of k positions is worth by itself.

WindowDiff remembers the last k labels of each tape, 2^k states for either, only to count them. Its
value is linear in a count that gains something at the end of every window, and the gain looks at
nothing but the window. So the value is a sum over windows of a loss of sequences of length k, in
which counting takes the place of remembering: k + 1 states instead of 2^k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.split import partial_eval, replace_parts, slope, starts_of
from fsmeu.losses.language.syntax import (
    Binary,
    Call,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Push,
    Register,
    names_read,
    steps,
    tapes,
    walk,
)
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import domain_of, memory_of
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope, constant_at, evaluate
from fsmeu.losses.semantics.walk import at_end, trajectories

_LONGEST_WINDOWED = 50_000
"""Length up to which a loss is written as a sum over windows: each is worked out beforehand."""
_MOST_WINDOW_GAINS = 10_000
"""Amounts of windows that differ, up to which they are worked out: one by one, in Python."""


_TAPES = frozenset({"z", "y"})
_ZERO = Number(0.0)


@dataclass(frozen=True, eq=False)
class Windows:
    """A value as ``base`` and what every window adds.

    Attributes:
        loss: what a window adds, as a loss of sequences of length k.
        k: the length of the windows; there is one that ends at each of positions k, ..., n.
        base: the value of no window at all.
        contents: how many contents the greatest memory has, which need not be told apart.
    """

    loss: SpecLoss
    k: int
    base: float
    contents: int


def windows(loss: SpecLoss, n: int) -> Windows | None:
    """The value as a sum over windows; None where it is none, or where nothing is remembered.

    It is one when the value is affine in registers that ride in the weight and looks at no other;
    when what they gain looks only at how much memories of one length k hold, at ages that count no
    further, and at the position; and when they gain nothing before position k and the same way at
    every position from there on.
    """
    memo = loss.memo(("windows", n))
    if "form" not in memo:
        memo["form"] = _windows(loss, n)
    form: Windows | None = memo["form"]
    return form


def _windows(loss: SpecLoss, n: int) -> Windows | None:
    bound = loss.bound
    spec = bound.spec
    linear = loss.linear(z_given=False)
    if not linear or names_read(spec.value) & {r.name for r in spec.registers} - set(linear):
        return None
    beside = [r for r in spec.registers if r.name not in linear]
    if n > _LONGEST_WINDOWED or any(_may_fail(bound, n, r) for r in beside):
        return None
    memories = [memory_of(bound, r, n) for r in spec.registers if r.sugar == "memory"]
    if len({memory.depth for memory in memories}) != 1:
        return None
    k = memories[0].depth
    base = float(at_end(bound, spec.value, starts_of(bound, linear, n), (), n))
    slopes = {name: float(at_end(bound, slope(spec, name), {}, (), n)) for name in linear}
    worth = _worth(bound, n, k, slopes)
    if worth is None:
        return None
    counted = _counted(bound, n, k, worth)
    if counted is None:
        return None
    registers, value = counted
    alone = replace(spec, registers=registers, value=value, range=None, examples=())
    contents = max(len(memory.values) for memory in memories) ** k
    return Windows(SpecLoss(alone, loss.params_given, loss.alphabet), k, base, contents)


def _may_fail(bound: BoundLoss, n: int, register: Register) -> bool:
    """True for what follows the labels and may leave its bounds, or have no value, unseen."""
    if not tapes(bound.spec)[register.name] & _TAPES:
        return False
    if register.sugar in ("register", "state"):
        return True
    if register.sugar == "memory" and register.low is not None:
        return not _remembers_all(bound, n, register)
    return _is_partial(bound, register.update)


def _is_partial(bound: BoundLoss, expr: Expr) -> bool:
    """True when there are operations in it that some numbers have no result of."""
    for node in walk(expr):
        match node:
            case Binary(operator="/" | "%" | "^") | Call(function="sqrt" | "log" | "exp"):
                return True
            case Index() if node.name in bound.params:
                return True
    return False


def _remembers_all(bound: BoundLoss, n: int, memory: Register) -> bool:
    """True when no pair of labels puts into a memory what its bounds leave out."""
    labels = bound.label_values
    entry = memory.update.entry  # type: ignore[attr-defined]
    if not _reads_labels(bound, entry):
        return False
    tapes_of_pair = {"z": labels[:, None], "y": labels[None, :], "n": float(n)}
    try:
        entries = evaluate(entry, Scope(bound, tapes_of_pair, {}, {}))
    except LossFileError:
        return False
    return bool(np.isin(entries, memory_of(bound, memory, n).values).all())


def _worth(bound: BoundLoss, n: int, k: int, slopes: Mapping[str, float]) -> Expr | None:
    """What a window adds to the value: an expression over the registers at its end."""
    total: Expr = _ZERO
    for name, worth in slopes.items():
        gain = _gain(bound, n, k, name)
        if gain is None or (not worth and _is_partial(bound, gain)):
            return None
        if worth and gain != _ZERO:
            part = Binary("*", Number(worth), gain)
            total = part if total == _ZERO else Binary("+", total, part)
    return total


def _gain(bound: BoundLoss, n: int, k: int, name: str) -> Expr | None:
    """What a register gains at position k and after, None if that differs or some comes before."""
    spec = bound.spec
    amount = steps(spec)[name][0]
    if amount is None:
        return None
    scalars = {p.name: bound.params[p.name] for p in spec.params if p.type != "table"}
    timed = {r for r, reads in tapes(spec).items() if not reads & _TAPES and r != name}
    tracks = trajectories(bound, n, np.zeros((1, n), np.int64), timed)
    plain = {r.name for r in spec.registers if r.sugar not in ("memory", "state")}
    tracks = {r: track for r, track in tracks.items() if r in plain}  # others are no numbers
    clock = np.arange(1.0, n + 1.0) if "i" in names_read(amount) else np.zeros(n)
    before = [track[0, :n] for track in tracks.values()]
    after = [track[0, 1:] for track in tracks.values()]
    rows = np.stack([*before, *after, clock], axis=1)
    met, kinds = np.unique(rows, axis=0, return_inverse=True)
    if len(met) > _MOST_WINDOW_GAINS:
        return None
    gains = []
    for row in met.tolist():
        old, new = (dict(zip(tracks, row[at:], strict=False)) for at in (0, len(tracks)))
        gains.append(
            partial_eval(amount, {**scalars, **new, "i": row[-1], "n": float(n)}, old, spec)
        )
    kinds = kinds.reshape(-1)
    early, late = ({gains[kind] for kind in set(at.tolist())} for at in np.split(kinds, [k - 1]))
    if early - {_ZERO} or len(late) > 1:
        return None
    return late.pop() if late else _ZERO


def _counted(
    bound: BoundLoss, n: int, k: int, worth: Expr
) -> tuple[tuple[Register, ...], Expr] | None:
    """The registers of a window, where counting takes the place of memories, and what it is worth.

    A memory that is empty when the window begins loses nothing until its end: how often it holds
    something is how often that was put into it.
    """
    held = {r.name: r for r in bound.spec.registers}
    calls = [e for e in walk(worth) if isinstance(e, Call) and e.function in ("tally", "sum")]
    counts: dict[Expr, Register] = {}
    for call in calls:
        register = _count_for(bound, n, k, held, call, f"held.{len(counts)}")
        if register is None:
            return None
        counts.setdefault(call, register)
    if any(isinstance(node, Old | Index) for node in walk(worth)):
        return None
    value = replace_parts(worth, {call: Name(r.name) for call, r in counts.items()})
    ages = [held[name] for name in sorted(names_read(value) & held.keys())]
    free = {r.name for r in counts.values()} | {p.name for p in bound.spec.params}
    if not counts and worth != _ZERO:
        return None
    if not names_read(value) <= free | {r.name for r in ages}:
        return None
    if not all(_forgets(bound, n, k, age) for age in ages):
        return None
    return (*ages, *counts.values()), value


def _count_for(
    bound: BoundLoss, n: int, k: int, held: Mapping[str, Register], call: Call, name: str
) -> Register | None:
    """A register that counts what a call asks of a memory."""
    memory = held[call.arguments[0].name]  # type: ignore[attr-defined]
    if not isinstance(memory.update, Push) or not _reads_labels(bound, memory.update.entry):
        return None
    entry: Expr = memory.update.entry
    low, high = 0.0, float(k)
    if call.function == "tally":
        if names_read(call.arguments[1]):
            return None
        entry = Binary("==", entry, call.arguments[1])
    else:
        values = memory_of(bound, memory, n).values
        if not np.array_equal(values, np.floor(values)):
            return None
        low, high = min(0.0, k * values.min()), max(0.0, k * values.max())
    update = Binary("+", Name(name), entry)
    return Register(name, "count", _ZERO, update, Number(low), Number(high), memory.place)


def _forgets(bound: BoundLoss, n: int, k: int, register: Register) -> bool:
    """True for an age that is the same after k positions, whatever was before them."""
    if register.sugar != "age" or not _reads_labels(bound, register.update, register.name):
        return False
    domain = domain_of(bound, register, n)
    most = domain.low + domain.size - 1
    return most <= k and constant_at(bound, register.start, n) == most


def _reads_labels(bound: BoundLoss, expr: Expr, *more: str) -> bool:
    """True when an expression looks at the labels of a position, at parameters, and at these."""
    return names_read(expr) <= _TAPES | {p.name for p in bound.spec.params} | set(more)
