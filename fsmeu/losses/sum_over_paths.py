"""A loss as a transducer whose paths add up: linear counts are kept in weights.

The machine of ``compile`` has one path per pair and the value at its end, so every count is part of
its states. Where the value is linear in some of them, several paths per pair share the work: one
pays for the value with these counts at their start, and for each position one that waits, pays what
a count gains there, and goes on. The weights of all paths of a pair sum to its value.

WindowDiff remembers the last k labels of each tape, 2^k states for either, only to count them. Its
value is a sum over windows of a loss of sequences of length k, in which counting takes the place of
remembering: k + 1 states instead of 2^k. A path then waits, reads one window, pays, and goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.image import ArcTable, trimmed
from fsmeu.losses.algebra.split import partial_eval, replace_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, names_read, subexpressions
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Compiled, explore, machine_view, refuse_large
from fsmeu.losses.machine.minimize import minimize
from fsmeu.losses.machine.view import merged_registers
from fsmeu.losses.protocol import Loss, LossLike, as_loss, encoded, takes_loss
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import trajectories

_TAPES = frozenset({"z", "y"})
_ZERO = ast.Number(0.0)


@dataclass(frozen=True, eq=False)
class WindowSum:
    """A value as ``base``, that of no window, and what every window adds.

    ``loss`` is what a window adds, as a loss of sequences of length ``k``; one ends at each of
    positions k, ..., n. ``contents`` is how many of the greatest memory can be told apart.
    """

    loss: SpecLoss
    k: int
    base: float
    contents: int


def window_sum(loss: Loss, n: int) -> WindowSum | None:
    """The value as a sum over windows; None where it is none, or where nothing is remembered."""
    if loss.bound is None:
        return None
    at = loss.bound.at(n)
    return at.derived.get("windows", lambda: _window_sum(at))


def _window_sum(at: LossAtLength) -> WindowSum | None:
    """As ``window_sum``.

    It is one when the value is affine in registers that need no states and looks at no other;
    when what they gain looks only at how much memories of one length k hold and at the position;
    and when they gain nothing before position k and the same way at every position from there on.
    """
    bound = at.bound
    spec = at.spec
    linear = spec.linear()
    read = names_read(spec.value) & {r.name for r in spec.registers}
    if not linear or read - set(linear) or at.n > limits.LONGEST_WINDOWED:
        return None
    others = [r for r in spec.registers if r.name not in linear and spec.tapes[r.name] & _TAPES]
    for r in others:  # what follows the labels may leave its bounds, or have no value, unseen
        bounded = r.sugar in ("register", "state") or (r.sugar == "memory" and r.low is not None)
        if bounded or _is_partial(bound, r.update):
            return None
    memories = at.memories
    if len({memory.depth for memory in memories.values()}) != 1:
        return None
    k = next(iter(memories.values())).depth
    base = float(at.at_end(spec.value, {name: at.starts[name] for name in linear}, ()))
    added: Expr = _ZERO  # what a window adds to the value: an expression of registers at its end
    for name in linear:
        rise = float(at.at_end(spec.slope(name), {}, ()))
        gain = _gain(at, k, name)
        if gain is None or (not rise and _is_partial(bound, gain)):
            return None
        if rise and gain != _ZERO:
            part = ast.Binary("*", ast.Number(rise), gain)
            added = part if added == _ZERO else ast.Binary("+", added, part)
    counted = _counted(at, k, added)
    if counted is None:
        return None
    registers, value = counted
    alone = replace(spec, registers=registers, value=value, range=None, examples=())
    merged = merged_registers(at)
    sizes = (merged[x].size if x in merged else len(m.values) ** k for x, m in memories.items())
    return WindowSum(SpecLoss(alone, bound.arguments, bound.alphabet), k, base, max(sizes))


def _is_partial(bound: BoundLoss, expr: Expr) -> bool:
    """True when there are operations in it that some numbers have no result of."""
    for node in subexpressions(expr):
        match node:
            case ast.Binary(operator="/" | "%" | "^") | ast.Call(function="sqrt" | "log" | "exp"):
                return True
            case ast.Index() if node.name in bound.params:
                return True
    return False


def _gain(at: LossAtLength, k: int, name: str) -> Expr | None:
    """The gain of a register at positions from k on; None if it varies, or is not 0 before."""
    bound = at.bound
    spec = at.spec
    n = at.n
    amount = spec.amounts[name]
    if amount is None:
        return None
    scalars = [p.name for p in spec.params if p.type in ("int", "real")]
    fixed: dict[Expr, float] = {ast.Name(name): bound.params[name] for name in scalars}
    fixed[ast.Name("n")] = float(n)
    timed = {r for r, reads in spec.tapes.items() if not reads & _TAPES and r != name}
    tracks = trajectories(bound, np.zeros((1, n), np.int64), timed)
    plain = {r.name for r in spec.registers if r.sugar not in ("memory", "state")}
    tracks = {r: track for r, track in tracks.items() if r in plain}  # others are no numbers
    clock = np.arange(1.0, n + 1.0) if "i" in names_read(amount) else np.zeros(n)
    before = [track[0, :n] for track in tracks.values()]
    after = [track[0, 1:] for track in tracks.values()]
    seen, kinds = np.unique(np.stack([*before, *after, clock], axis=1), axis=0, return_inverse=True)
    if len(seen) > limits.MOST_WINDOW_GAINS:
        return None
    read: list[Expr] = [*map(ast.Old, tracks), *map(ast.Name, tracks), ast.Name("i")]
    rows = (dict(zip(read, row, strict=True)) for row in seen.tolist())
    gains = [partial_eval(amount, {**fixed, **row}, spec) for row in rows]
    kinds = kinds.reshape(-1)
    early, late = ({gains[kind] for kind in set(at.tolist())} for at in np.split(kinds, [k - 1]))
    if early - {_ZERO} or len(late) > 1:
        return None
    return late.pop() if late else _ZERO


def _counted(at: LossAtLength, k: int, added: Expr) -> tuple[tuple[Register, ...], Expr] | None:
    """The registers of a window, where counting takes the place of memories, and its value.

    A memory that is empty when the window begins loses nothing until its end: how often it holds
    something is how often that was put into it.
    """
    memories: dict[str, Any] = {r.name: r for r in at.spec.registers}
    params = {p.name for p in at.spec.params}
    counts = dict[Expr, Register]()
    for call in subexpressions(added):
        if not isinstance(call, ast.Call) or call.function not in ("tally", "sum"):
            continue
        memory = memories[call.arguments[0].name]  # type: ignore[attr-defined]
        entry = memory.update.entry
        low = 0.0
        high = float(k)
        name = f"held.{len(counts)}"
        if not names_read(entry) <= _TAPES | params:
            return None
        if call.function == "tally":
            if names_read(call.arguments[1]):
                return None
            entry = ast.Binary("==", entry, call.arguments[1])
        else:
            values = at.memories[memory.name].values
            low = min(0.0, k * values.min())
            high = max(0.0, k * values.max())
        update = ast.Binary("+", ast.Name(name), entry)
        bounds = (ast.Number(low), ast.Number(high))
        counts.setdefault(call, Register(name, "count", _ZERO, update, *bounds, memory.place))
    value = replace_parts(added, {call: ast.Name(r.name) for call, r in counts.items()})
    if not names_read(value) <= params | {r.name for r in counts.values()}:
        return None
    return (tuple(counts.values()), value) if counts or added == _ZERO else None


_SHIFTED = 0.0
_Arcs = list[tuple[Any, Any, Any, Any]]
"""Sources, pairs of labels, real factors (arcs of 0 are left out) and targets, which broadcast."""


@dataclass(frozen=True, eq=False, repr=False)
class SummedMachine(Compiled):
    """A transducer whose paths add up: the weights of those of a pair sum to its value + shift."""

    name: str
    n: int
    alphabet: Alphabet
    table: ArcTable
    shift: float
    z: Ints | None = None

    @cached_property
    def unrolled(self) -> SummedMachine:
        """The machine with a state for each depth at which one is reached."""
        table = self._unrolled(np.isfinite(self.table.final))[0]
        return replace(self, table=table)


@takes_loss
def compile_summed(
    loss: LossLike, n: int, z: Iterable[object] | None = None, max_states: int | None = None
) -> SummedMachine:
    """The transducer for sequences of length n whose paths add up to the loss of a file.

    With a hypothesis z, only what it can reach is built.

    Raises:
        SizeLimitError: there are more states than the limit.
        LossFileError: a reachable step or value is not defined.

    >>> from fsmeu.losses.loss import load
    >>> f1 = load("fscore")
    >>> f1.compile(40).states, compile_summed(f1, 40).states
    (12341, 3200)
    """
    return _compiled(loss, n, z, max_states, _SHIFTED)


def signed_machines(
    loss: LossLike, n: int, z: Iterable[object] | None = None, max_states: int | None = None
) -> list[tuple[float, SummedMachine]]:
    """Machines without a shift and the signs with which their weights add up to the loss.

    It is one machine where no shift is needed. Otherwise one has the paths that pay, the other
    those that are paid: a shift as great as the least value costs the digits of all others.
    """
    machine = compile_summed(loss, n, z, max_states)
    if not machine.shift:
        return [(1.0, machine)]
    return [(sign, _compiled(loss, n, z, max_states, sign)) for sign in (1.0, -1.0)]


def _compiled(
    loss: LossLike, n: int, z: Iterable[object] | None, max_states: int | None, sign: float
) -> SummedMachine:
    """The machine of what has this sign, or of all, shifted."""
    loss = as_loss(loss, "compile_summed")
    if loss.bound is None:
        must = "counts are kept in weights only of a loss that is written in a loss file"
        raise InputError("compile_summed", must, given=loss.name, remedy="Use its compile")
    given = encoded(loss, n, z)[0]  # what does not suit is refused
    name = f"{loss.kind} {loss.name}, n = {n}, summed"
    form = window_sum(loss, n)
    restricts = z is None and loss.allowed(n) is not None
    if form is not None and not restricts:
        machine = _over_windows(loss, n, name, form, max_states, sign)
    else:
        machine = _over_positions(loss, n, name, z, max_states, sign)
    return replace(machine, z=given)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _over_windows(
    loss: Loss, n: int, name: str, form: WindowSum, max_states: int | None, sign: float
) -> SummedMachine:
    """Paths that wait in the start, read one window, pay what it adds, and go on in the end."""
    window = minimize(form.loss.compile(form.k, max_states=max_states), layered=True)
    steps = window.next.reshape(window.states, -1)
    inner = np.flatnonzero(np.isnan(window.values))
    number = np.full(window.states, -1, np.int64)
    number[inner] = np.arange(len(inner))
    end = len(inner)
    pairs = np.arange(steps.shape[1])
    values = _signed(window.values, sign)
    base = float(_signed(form.base, sign))
    least = min(0.0, float(np.nanmin(values)))
    arcs: _Arcs = [(waiting, pairs, 1.0, waiting) for waiting in (0, end)]
    source, pair = np.nonzero(steps[inner] >= 0)
    target = steps[inner][source, pair]
    paid = np.where(number[target] < 0, values[target] - least, 1.0)
    arcs.append((source, pair, paid, np.where(number[target] < 0, end, number[target])))
    shift = max(0.0, -base)
    final = np.zeros(end + 1)
    final[0] = base + shift
    final[end] = 1.0
    shift -= least * max(0, n - form.k + 1)
    return _finished(name, n, loss.alphabet, arcs, final, shift)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _over_positions(
    loss: Loss, n: int, name: str, z: Any, max_states: int | None, sign: float
) -> SummedMachine:
    """Paths that pay at one position, beside the path that pays the rest at the end."""
    z_indices, pairs = encoded(loss, n, z)
    known = loss.defined if z is None else loss
    assert known.bound is not None
    at = known.bound.at(n)
    view = machine_view(at, z_indices, merge=True, linear=loss.linear(z is not None))
    size = len(loss.alphabet)
    if z is None:
        refuse_large(name, at, max_states, loss.linear(False))
    codes, targets, ending, gains = explore(name, view, pairs, size, max_states)
    values, slopes = view.values(codes[ending])
    values = _signed(values, sign)
    source, pair = np.nonzero(targets >= 0)
    waiting = source, pair, targets[source, pair]
    arcs: _Arcs = [(source, pair, 1.0, waiting[2])]
    finals = [np.zeros(len(codes))]
    for gain, rise in zip(gains[:, source, pair], slopes, strict=True):
        for toward in (1.0, -1.0):
            signed = _signed(toward * gain, sign)
            factors = np.maximum(toward * rise, 0.0)
            if len(gain) and factors.any():
                least = 0.0 if sign else signed.min()
                begin = sum(map(len, finals))
                guard_size(name, begin + len(codes), max_states)
                together = known is loss and bool((factors == factors[0]).all())
                paid = signed - least
                added, final = _paid_part(begin, waiting, ending, paid, factors, together)
                arcs += added
                finals.append(final)
                values = values + n * least * factors  # every path has n steps
    shift = max(0.0, -float(values.min(initial=0.0)))
    finals[0][ending] = values + shift
    return _finished(name, n, loss.alphabet, arcs, np.concatenate(finals), shift)


def _signed(amounts: Any, sign: float) -> Any:
    """The absolute amounts of this sign, 0 for those of the other; all of them if the sign is 0."""
    return np.maximum(sign * amounts, 0.0) if sign else amounts


def _finished(
    name: str, n: int, alphabet: Alphabet, arcs: _Arcs, final: Floats, shift: float
) -> SummedMachine:
    """The machine of these arcs and final weights; an error if sums over its paths overflow."""
    parts = []
    for arc in arcs:
        cells = [np.ravel(cell) for cell in np.broadcast_arrays(*arc)]
        parts.append([cell[cells[2] > 0] for cell in cells])
    source, pair, factor, target = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((pair, source))
    z, y = np.divmod(pair[order].astype(np.int64), len(alphabet))
    with np.errstate(divide="ignore"):
        weights = -np.log(factor[order])
        ends = -np.log(final)
    table = ArcTable(0, source[order], z + 1, y + 1, weights, target[order], ends)
    finite = (np.isfinite(numbers).all() for numbers in (shift, final, table.weight))
    if not all(finite):
        must = "values, and sums of what counts add, must not overflow doubles"
        raise InputError(name, must, remedy="Scale the loss down")
    return SummedMachine(name, n, alphabet, trimmed(table), shift)


def _paid_part(
    begin: int,
    steps: tuple[Ints, ...],
    ending: Bools,
    paid: Floats,
    factors: Floats,
    together: bool,
) -> tuple[_Arcs, Floats]:
    """Arcs to and among the states of a path that has paid, and their final weights, (states,).

    ``paid`` is the factor of each arc, ``factors`` are those of the final states. The states are
    numbered from ``begin``; they are one if ``together``: what comes later makes no difference.
    """
    source, pair, target = steps
    if together:
        return [(source, pair, paid, begin), (begin, np.unique(pair), 1.0, begin)], factors[:1]
    arcs = [(source, pair, paid, begin + target), (begin + source, pair, 1.0, begin + target)]
    final = np.zeros(len(ending))
    final[ending] = factors
    return arcs, final
