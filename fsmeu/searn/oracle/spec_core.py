"""The core of a loss from a file, whose steps the evaluator computes for each context."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct
from fsmeu.losses.algebra.affine import slope, starts_of
from fsmeu.losses.language.dependencies import is_affine, names_read, steps, tapes, unread_registers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Memory, Scope, constant_at, number
from fsmeu.losses.semantics.trajectory import trajectories
from fsmeu.searn.oracle.core import Gain

__all__ = ["SpecCore", "reads_length", "slopes_of", "sums_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _numbered(amounts: Floats) -> Gain:
    """Amounts of steps (states, labels), numbered."""
    found, kinds = np.unique(amounts, return_inverse=True)
    return Gain(kinds.reshape(amounts.shape), found)


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
        self.steady: Ints | None = None
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
