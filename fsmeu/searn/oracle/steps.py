"""A loss with the reference given: what a step on a label of z does, and what an end is worth."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.distinct import distinct_rows
from fsmeu.limits import ORACLE_LENGTH_STEP
from fsmeu.losses.algebra.split import slope, starts_of
from fsmeu.losses.language.syntax import is_affine, names_read, steps, tapes, unread_registers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.protocol import FunctionView, Loss
from fsmeu.losses.semantics.domains import bounds_of, check_range, keep_bounds, keep_whole
from fsmeu.losses.semantics.evaluator import Scope, constant_at, evaluate, number
from fsmeu.losses.semantics.walk import trajectories

__all__ = ["Advance", "CannotServeError", "FunctionSteps", "SpecSteps", "reads_length"]


class CannotServeError(Exception):
    """Steps that references of several lengths share cannot serve one of them."""


class Advance(NamedTuple):
    """What a step does in each state.

    Attributes:
        targets: the state after each step, (states, labels).
        kinds: the number of what the step adds, of the same shape.
        amounts: what is added to each sum, (sums, kinds).
    """

    targets: Ints
    kinds: NDArray[np.integer[Any]]
    amounts: Floats


class SpecSteps:
    """The steps of a loss from a file, which the evaluator computes for each context.

    Args:
        loss: the loss.
        y: label indices of a reference of the greatest length.
        shared: whether shorter references can be given, too.

    Attributes:
        n: the greatest length.
        labels: the number of labels.
        start: the code of the first state.
        sum_order: the numbers of the sums that the value reads, those of both tapes first.
        steady: whether steps lead to the same states in all contexts.
    """

    def __init__(self, loss: SpecLoss, y: Ints, *, shared: bool) -> None:
        swapped = loss.swapped  # z of it is the reference, y of it the labels that are chosen
        self.n, self._shared, self._bound = len(y), shared, swapped.bound
        spec = self._bound.spec
        view = SpecView(self._bound, self.n, y, _sums_of(swapped), merge=not shared)
        self._view, reads = view, names_read(spec.value)
        self.labels, self.start = view.symbols, view.start
        self._looked_at = [k for k, name in enumerate(view.linear_names) if name in reads]
        self._sums, reach = [view.linear_names[k] for k in self._looked_at], tapes(spec)
        order = range(len(self._sums))
        self.sum_order = sorted(order, key=lambda k: "z" not in reach[self._sums[k]])
        self._ends = [r.name for r in view.carried if r.name in reads]
        self._constants = [name for name in view.track if name in reads]
        read = frozenset[str]().union(*(steps(spec)[r.name][1] for r in view.carried))
        self.steady = shared and not read & {"z", "i", "n", *view.track}
        self._numbers: dict[bytes, int] = {}
        self._met: list[tuple[int, Ints, dict[str, Floats]]] = []
        unread = unread_registers(spec)
        adds = [name for name in view.track if steps(spec)[name][0] is not None]
        self._added = [name for name in adds if name in unread]
        self._held = [name for name in view.track if name not in self._added]
        clocked = any({"i", "n"} & steps(spec)[name][1] for name in view.track)
        self._timeless = shared and not clocked and "i" not in view._read
        starts = [r.start for r in spec.registers if r.name in self._held]
        self._held = [r.name for r in spec.registers if r.name in self._held]
        first = np.array([constant_at(self._bound, start, self.n) for start in starts]) + 0.0
        self._contents, self._states = [first], {first.tobytes(): 0}
        self._walked: dict[int, list[tuple[int, int, list[float]]]] = {}

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""
        if self.steady:
            return self.n - ORACLE_LENGTH_STEP <= n < self.n
        return n == self.n or (self._shared and n < self.n)

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and constants at the end (rows, constants).

        Args:
            ys: label indices of references of one length, (rows, n).
        """
        if self._timeless:
            return self._followed(ys)
        rows, n = ys.shape
        view = copy.copy(self._view)
        view.n = n
        track = trajectories(self._bound, n, ys, set(view.track))
        cells = view.context_cells(ys, track) + 0.0  # no -0.0
        found: Ints = np.zeros((rows, n), np.int64)
        for row, i in np.ndindex(rows, n):
            pair = {name: t[row, i : i + 2] for name, t in track.items()}
            found[row, i] = self._context(cells[row, i].tobytes(), i + 1, ys[row, i], pair)
        ends = np.array([track[name][:, n] for name in self._constants])
        return found, ends.reshape(len(self._constants), rows).T

    def _context(self, key: bytes, i: int, label: Any, pair: dict[str, Floats]) -> int:
        number = self._numbers.setdefault(key, len(self._met))
        if number == len(self._met):
            self._met.append((i, label, pair))
        return number

    def _followed(self, ys: Ints) -> tuple[Ints, Floats]:
        """The same where no step looks at the position: references are paths through states."""
        rows, n = ys.shape
        found, path = np.zeros((rows, n), np.int64), np.zeros((rows, n + 1), np.int64)
        starts, ends = starts_of(self._bound, self._added, n), []
        for row, y in enumerate(ys.tolist()):
            state, sums = 0, list(starts.values())
            for i, label in enumerate(y):
                if state not in self._walked:
                    self._walked[state] = self._expanded(state)
                found[row, i], state, more = self._walked[state][label]
                path[row, i + 1] = state
                sums = [a + b for a, b in zip(sums, more, strict=True)]
            last = dict(zip(self._held, self._contents[state], strict=True))
            last |= zip(self._added, sums, strict=True)
            ends.append([last[name] for name in self._constants])
        held = np.array(self._contents)[path]  # (rows, n + 1, registers)
        for register in self._bound.spec.registers:
            if register.name in self._held:
                at = self._held.index(register.name)
                low, high = bounds_of(self._bound, register, n)
                keep_bounds(self._bound, register, held[:, :, at], low, high)
        return found, np.array(ends, np.float64).reshape(rows, len(self._constants))

    def _expanded(self, state: int) -> list[tuple[int, int, list[float]]]:
        """For each label of the reference the context, the state after it, and what is added."""
        bound, labels = self._bound, self._bound.label_values
        old: dict[str, Any] = dict(zip(self._held, self._contents[state], strict=True))
        current: dict[str, Any] = {**old, "z": labels, "n": float(self.n)}
        scope, shape = Scope(bound, current, old, self._view.memories), labels.shape
        added: dict[str, Floats] = {}
        for register in bound.spec.registers:
            name = register.name
            if name in self._added:
                amount = evaluate(steps(bound.spec)[name][0], scope)  # type: ignore[arg-type]
                added[name] = np.broadcast_to(amount, shape)
            elif name in self._held:
                current[name] = evaluate(register.update, scope)
                keep_whole(register, old[name], current[name], scope)
        after = np.array([np.broadcast_to(current[name], shape) for name in self._held]) + 0.0
        found = []
        for k, new in enumerate(after.reshape(len(self._held), len(labels)).T):
            number = self._states.setdefault(new.tobytes(), len(self._contents))
            if number == len(self._contents):
                self._contents.append(new)
            values = zip(self._contents[state], new, strict=True)
            pair = {m: np.array(two) for m, two in zip(self._held, values, strict=True)}
            pair |= {name: np.zeros(2) for name in self._added}
            read = [x for name in self._held if name in self._view._read for x in pair[name]]
            own = [float(k)] if "z" in self._view._read else []
            context = self._context(np.array([*own, *read]).tobytes(), 1, k, pair)
            found.append((context, number, [float(added[name][k]) for name in self._added]))
        return found

    def advance(self, context: int, codes: Ints) -> Advance:
        """What a step does in a context; targets are codes."""
        i, label, pair = self._met[context]
        view = copy.copy(self._view)
        view.z = np.full(i, label)
        view.track = {}
        for name, values in pair.items():
            view.track[name] = np.zeros((1, i + 1))
            view.track[name][0, i - 1 :] = values
        targets, gains = view.advance(i, codes)
        added = np.zeros((0, targets.size)) if gains is None else gains.reshape(len(gains), -1)
        added = added[self._looked_at]
        ranks = [np.unique(one, return_inverse=True)[1] for one in added]
        first, kinds = distinct_rows([np.zeros(targets.size, np.int64), *ranks])
        small = np.int16 if len(first) < 1 << 15 else np.int64
        return Advance(targets, kinds.reshape(targets.shape).astype(small), added[:, first])

    def advance_all(self, contexts: Sequence[int], codes: Ints) -> list[Advance]:
        """What a step does in each of several contexts; targets are codes, the same in all.

        That is asked where steps are steady: registers that are carried along read no context.
        """
        view, bound, met = self._view, self._bound, [self._met[c] for c in contexts]
        old: dict[str, Any] = {n: c[:, None] for n, c in view.space_of.decode(codes).items()}
        pairs = {name: np.array([pair[name] for _, _, pair in met]) for name in view.track}
        old |= {name: pair[:, :1, None] for name, pair in pairs.items()}  # (contexts, 1, 1)
        labels = bound.label_values
        given = labels[np.array([label for _, label, _ in met])][:, None, None]
        current: dict[str, Any] = {**old, "z": given, "y": labels[None], "n": float(self.n)}
        if not view.clock:
            current["i"] = np.array([float(i) for i, _, _ in met])[:, None, None]
        scope, new = Scope(bound, current, old, view.memories), {}
        shape, ranks, gains = (len(met), len(codes), len(labels)), [], []
        for register in bound.spec.registers:
            name = register.name
            if name in pairs:
                current[name] = pairs[name][:, 1:, None]
            elif name in view.linear_names:
                k = view.linear_names.index(name)
                if k in self._looked_at:
                    read = evaluate if register.sugar == "feature" else number
                    amount = read(view.gain_exprs[k], scope)  # type: ignore[arg-type]
                    gains.append(np.broadcast_to(amount, shape).ravel())
                    ranks.append(np.unique(gains[-1], return_inverse=True)[1])
            else:
                current[name] = new[name] = evaluate(register.update, scope)
                keep_whole(register, old[name], new[name], scope)
        targets, culprit = view.space_of.encode(new)
        if culprit is not None:
            raise CannotServeError
        first, kinds = distinct_rows([np.zeros(math.prod(shape), np.int64), *ranks])
        amounts = np.array([one[first] for one in gains]).reshape(len(gains), len(first))
        small = kinds.reshape(shape).astype(np.int16 if len(first) < 1 << 15 else np.int64)
        after = np.broadcast_to(targets, shape[1:])
        return [Advance(after, one, amounts) for one in small]

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether the registers of these states keep the bounds declared for this length."""
        if n == self.n:
            return True
        held = self._view.space_of.decode(codes)
        for register in self._view.carried:
            if register.low is None or register.high is None or register.depth is not None:
                continue
            if "n" in names_read(register.low) | names_read(register.high):
                low, high = (constant_at(self._bound, e, n) for e in (register.low, register.high))
                values = held[register.name]
                if values.min() < low or values.max() > high:
                    return False
        return True

    def ends(self, codes: Ints) -> Floats:
        """What the value reads in each state, (states, registers)."""
        held = self._view.space_of.decode(codes)
        columns = np.array([held[name] for name in self._ends], np.float64)
        ends: Floats = columns.reshape(len(self._ends), len(codes)).T
        return ends

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""
        return np.array(list(starts_of(self._bound, self._sums, n).values()), np.float64)

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape.

        Args:
            n: the length.
            constants: those of the reference, (constants,).
            ends: what the value reads in the states, (registers, ...).
            sums: the sums there, (sums, ...).
            shape: what the axes after the first broadcast to.

        Raises:
            LossFileError: a value is not defined, or outside of the range that the file declares.
        """
        held = dict(zip(self._constants, map(float, constants), strict=True))
        held |= zip((*self._ends, *self._sums), (*ends, *sums), strict=True)
        value = number(self._bound.spec.value, self._scope(n, held))
        found = np.broadcast_to(value, shape).astype(np.float64)
        self.check(n, found)
        return found

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""
        check_range(self._bound, n, values)

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear.

        That is asked where the value reads sums and constants alone.
        """
        if not is_affine(self._bound.spec.value, frozenset(self._sums)):
            return None
        held = dict(zip(self._constants, map(float, constants), strict=True))
        scope = self._scope(n, held | starts_of(self._bound, self._sums, n))
        spec = self._bound.spec
        found = [float(number(slope(spec, name), scope)) for name in self._sums]
        return float(number(spec.value, scope)), np.array(found, np.float64)

    def _scope(self, n: int, held: dict[str, Any]) -> Scope:
        current = {**held, "n": float(n)}
        return Scope(self._bound, current, current, self._view.memories)


class FunctionSteps:
    """The steps of a loss in Python: nothing is known to add up, and a context is a label.

    Attributes are as in ``SpecSteps``.
    """

    def __init__(self, loss: Loss) -> None:
        view = loss.swapped.view(1, np.zeros(1, np.int64))
        assert isinstance(view, FunctionView)
        self._view, self.labels, self.start = view, view.symbols, view.start
        self.n, self.steady, self.sum_order = 0, False, list[int]()

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given: always."""
        return True

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The label of each position (rows, n), and no constants (rows, 0)."""
        return ys, np.zeros((len(ys), 0))

    def advance(self, context: int, codes: Ints) -> Advance:
        """What a step does in a context; targets are codes, and there are no sums."""
        self._view.z = np.array([context])
        targets = self._view.advance(1, codes)[0]
        return Advance(targets, np.zeros(targets.shape, np.int16), np.zeros((0, 1)))

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Always: there are none."""
        return True

    def ends(self, codes: Ints) -> Floats:
        """The value of each state, (states, 1)."""
        return self._view.values(codes)[0][:, None]

    def begin(self, n: int) -> Floats:
        """No sums."""
        return np.zeros(0)

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape."""
        return np.broadcast_to(ends[0], shape).astype(np.float64)

    def check(self, n: int, values: Floats) -> None:
        """Nothing is declared."""

    def slopes(self, n: int, constants: Floats) -> None:
        """Nothing is known to be linear."""


def _sums_of(swapped: SpecLoss) -> tuple[str, ...]:
    """Registers that read the tape which is chosen and only add up, nothing else reading them."""
    spec = swapped.bound.spec
    unread, added, reach = unread_registers(spec), steps(spec), tapes(spec)
    return tuple(
        r.name
        for r in spec.registers
        if r.name in unread and "y" in reach[r.name] and added[r.name][0] is not None
    )


def reads_length(loss: SpecLoss) -> bool:
    """Whether a step looks at the length; bounds of registers do not count, nor starts of sums."""
    sums = _sums_of(loss.swapped)
    for register in loss.spec.registers:
        read = [register.update]
        if register.name not in sums:
            read.append(register.start)
        if register.depth is not None:
            sides = (register.depth, register.low, register.high)
            read += [side for side in sides if side is not None]
        if any("n" in names_read(expr) for expr in read):
            return True
    return False
