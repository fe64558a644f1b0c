"""A loss with the reference given: what a step on a label of z does, and what an end is worth.

What only adds up and is looked at by the value alone is a *sum*; the other registers that read z
are the *core*, whose contents are the states of a machine over z. Registers that read the reference
alone are constants of each position, and a step depends on the reference through them: through the
*context* of its position. Steps are computed once for each context, however many references share
it; where no step looks at the length, references of all lengths do.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct
from fsmeu.losses.algebra.affine import slope, starts_of
from fsmeu.losses.function import FunctionView
from fsmeu.losses.language.dependencies import is_affine, names_read, steps, tapes, unread_registers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Memory, Scope, constant_at, number
from fsmeu.losses.semantics.trajectory import trajectories

__all__ = [
    "CannotServeError",
    "Core",
    "FunctionCore",
    "Gain",
    "SpecCore",
    "reads_length",
    "slopes_of",
    "sums_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class CannotServeError(Exception):
    """A core that is shared by references cannot serve this one.

    A register may leave the bounds declared for its length, or a step be undefined that only other
    references take: a core for this one alone will tell.
    """


class Gain(NamedTuple):
    """What steps add to a sum.

    Attributes:
        kinds: the number of the amount of each step, (states, labels).
        amounts: the amounts, (kinds,); several may be equal.
    """

    kinds: Ints
    amounts: Floats


def _numbered(amounts: Floats) -> Gain:
    """Amounts of steps (states, labels), numbered."""
    found, kinds = np.unique(amounts, return_inverse=True)
    return Gain(kinds.reshape(amounts.shape), found)


class Core(Protocol):
    """A loss with the reference given, for references of a length or of all lengths up to one.

    Attributes:
        n: the greatest length; 0 where it does not matter.
        labels: the number of labels.
        first: the codes of the states before the first position.
        start: the place of the first state among them.
        sums: how many sums the value looks at.
        sum_order: their numbers, those that read both tapes first.
    """

    n: int
    labels: int
    first: Ints
    start: int
    sums: int
    sum_order: list[int]

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and constants at the end (rows, constants).

        Args:
            ys: label indices of references of one length, (rows, n).
        """

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and what the step adds to each sum.

        Args:
            context: the context of the position.
            codes: the states before.

        Returns:
            Codes (states after,), places among them (states, labels), and gains.
        """

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether the registers of these states keep the bounds declared for this length."""

    def ends(self, codes: Ints) -> Floats:
        """What the value looks at in each state, (states, registers)."""

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape; ranges are not checked.

        Args:
            n: the length.
            constants: those of the reference, (constants,).
            ends: what the value looks at in the states, (registers, ...).
            sums: the sums there, (sums, ...).
            shape: what the axes after the first broadcast to.
        """

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear.

        That is asked where the value looks at sums and constants alone.

        Args:
            n: the length.
            constants: those of the reference, (constants,).
        """

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""


class SpecCore:
    """The core of a loss from a file.

    Args:
        loss: the loss.
        y: label indices of a reference of the greatest length.
        shared: whether shorter references can be given, too.
    """

    def __init__(self, loss: SpecLoss, y: Ints, *, shared: bool) -> None:
        swapped = loss.swapped  # z of it is the reference, y of it the labels that are chosen
        self.n, self.shared, self.bound = len(y), shared, swapped.bound
        spec = self.bound.spec
        self._view = SpecView(self.bound, self.n, y, sums_of(swapped), merge=not shared)
        reads = names_read(spec.value)
        self.labels, self.start = self._view.symbols, 0
        self.first = np.array([self._view.start], np.int64)
        self._looked_at = [k for k, name in enumerate(self._view.linear_names) if name in reads]
        self.sum_names = [self._view.linear_names[k] for k in self._looked_at]
        self.sums, reach = len(self.sum_names), tapes(spec)
        self.sum_order = sorted(range(self.sums), key=lambda k: "z" not in reach[self.sum_names[k]])
        self._ends = [r.name for r in self._view.carried if r.name in reads]
        self._constants = [name for name in self._view.track if name in reads]
        self._numbers: dict[bytes, int] = {}
        self._met: list[tuple[int, Ints, dict[str, Floats]]] = []

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""
        return n == self.n or (self.shared and n < self.n)

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and constants at the end (rows, constants)."""
        rows, n = ys.shape
        view = copy.copy(self._view)
        view.n = n
        track = trajectories(self.bound, n, ys, set(view.track))
        cells = view.context_cells(ys, track)
        flat = (
            np.ascontiguousarray(cells.reshape(rows * n, cells.shape[-1])) + 0.0
        )  # -0.0 becomes 0.0
        found: Ints = np.zeros(rows * n, np.int64)
        for at in range(rows * n):
            key = flat[at].tobytes()
            if key not in self._numbers:
                row, i = divmod(at, n)
                pair = {name: t[row, i : i + 2] for name, t in track.items()}
                self._numbers[key] = len(self._met)
                self._met.append((i + 1, ys[row, i], pair))
            found[at] = self._numbers[key]
        ends = np.array([track[name][:, n] for name in self._constants]).reshape(
            len(self._constants), rows
        )
        return found.reshape(rows, n), ends.T

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and what the step adds to each sum."""
        i, label, pair = self._met[context]
        view = copy.copy(self._view)
        view.z = np.full(i, label)
        view.track = {}
        for name, values in pair.items():
            view.track[name] = np.zeros((1, i + 1))
            view.track[name][0, i - 1 :] = values
        targets, gains = view.advance(i, codes)
        after, places = distinct(targets)
        added = [] if gains is None else [_numbered(gains[k]) for k in self._looked_at]
        return after, places, added

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether the registers of these states keep the bounds declared for this length."""
        if n == self.n:
            return True
        held = self._view.space_of.decode(codes)
        for register in self._view.carried:
            if register.low is None or register.high is None or register.depth is not None:
                continue
            if "n" in names_read(register.low) | names_read(register.high):
                low, high = (
                    constant_at(self.bound, side, n) for side in (register.low, register.high)
                )
                values = held[register.name]
                if values.min() < low or values.max() > high:
                    return False
        return True

    def ends(self, codes: Ints) -> Floats:
        """What the value looks at in each state, (states, registers)."""
        held = self._view.space_of.decode(codes)
        columns = np.array([held[name] for name in self._ends], np.float64)
        ends: Floats = columns.reshape(len(self._ends), len(codes)).T
        return ends

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""
        return np.array(list(starts_of(self.bound, self.sum_names, n).values()), np.float64)

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape; ranges are not checked."""
        held = {
            **dict(zip(self._constants, map(float, constants), strict=True)),
            **dict(zip(self._ends, ends, strict=True)),
            **dict(zip(self.sum_names, sums, strict=True)),
            "n": float(n),
        }
        value = number(self.bound.spec.value, Scope(self.bound, held, held, self._view.memories))
        return np.broadcast_to(value, shape).astype(np.float64)

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear."""
        held = dict(zip(self._constants, map(float, constants), strict=True))
        return slopes_of(self.bound, self.sum_names, n, held, self._view.memories)

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""
        check_range(self.bound, n, values)


class FunctionCore:
    """The core of a loss in Python: nothing is known to add up, and a context is a label."""

    def __init__(self, loss: Loss) -> None:
        view = loss.swapped.view(1, np.zeros(1, np.int64))
        assert isinstance(view, FunctionView)
        self._view, self.labels, self.start = view, view.symbols, 0
        self.first = np.array([view.start], np.int64)
        self.n = self.sums = 0
        self.sum_order: list[int] = []

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given: always."""
        return True

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The label of each position (rows, n), and no constants (rows, 0)."""
        return ys, np.zeros((len(ys), 0))

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and no sums."""
        self._view.z = np.array([context])
        targets = self._view.advance(1, codes)[0]
        return *distinct(targets), []

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

    def slopes(self, n: int, constants: Floats) -> None:
        """Nothing is known to be linear."""

    def check(self, n: int, values: Floats) -> None:
        """Nothing is declared."""


def slopes_of(
    bound: BoundLoss,
    names: Sequence[str],
    n: int,
    held: Mapping[str, float],
    memories: Mapping[str, Memory],
) -> tuple[float, Floats] | None:
    """The value with some registers at their start, and what each adds to it, if it is linear.

    Args:
        bound: the loss.
        names: the registers.
        n: the length.
        held: all else that the value looks at.
        memories: how memories are kept.
    """
    if not is_affine(bound.spec.value, frozenset(names)):
        return None
    current = {**held, **starts_of(bound, names, n), "n": float(n)}
    scope = Scope(bound, current, current, memories)
    slopes = [float(number(slope(bound.spec, name), scope)) for name in names]
    return float(number(bound.spec.value, scope)), np.array(slopes, np.float64)


def sums_of(swapped: SpecLoss) -> tuple[str, ...]:
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
    sums = sums_of(loss.swapped)
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
