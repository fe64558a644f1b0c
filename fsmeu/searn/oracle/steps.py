"""A loss with the reference given: what a step on a label of z does, and what an end is worth."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.distinct import distinct_rows
from fsmeu.limits import ORACLE_LENGTH_STEP
from fsmeu.losses.algebra.affine import slope, starts_of
from fsmeu.losses.function import FunctionView
from fsmeu.losses.language.dependencies import is_affine, names_read, steps, tapes, unread_registers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Scope, constant_at, number
from fsmeu.losses.semantics.trajectory import trajectories

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
        rows, n = ys.shape
        view = copy.copy(self._view)
        view.n = n
        track = trajectories(self._bound, n, ys, set(view.track))
        cells = view.context_cells(ys, track)
        flat = np.ascontiguousarray(cells.reshape(rows * n, cells.shape[-1])) + 0.0  # no -0.0
        found: Ints = np.zeros(rows * n, np.int64)
        for at in range(rows * n):
            key = flat[at].tobytes()
            if key not in self._numbers:
                row, i = divmod(at, n)
                pair = {name: t[row, i : i + 2] for name, t in track.items()}
                self._numbers[key] = len(self._met)
                self._met.append((i + 1, ys[row, i], pair))
            found[at] = self._numbers[key]
        ends = np.array([track[name][:, n] for name in self._constants])
        return found.reshape(rows, n), ends.reshape(len(self._constants), rows).T

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
