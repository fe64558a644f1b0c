"""Moving mass from the states of one layer to the states of the next, as array operations.

Mass is an array of shape (quantities, states, model states): quantity 0 is probability, the others are
expectations of the registers that ride in the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Transfer", "Workspace", "make_transfer", "pull", "push", "restrict"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 8


@dataclass(frozen=True, eq=False)
class Transfer:
    """Where each (state, symbol) of a layer leads.

    Attributes:
        targets: target state of each (state, symbol); -1 leads nowhere.
        gains: what each linear register gains, (linear, states, symbols), or None.
        width: number of states of the next layer.
        before: for each target the flat (state, symbol) indices that lead there, padded with the index
            one past the end; shape (most predecessors, width). None when that would be large.
        order: flat indices sorted by target, for the other way of summing.
        starts: where each target's run begins in ``order``.
        reached: the targets that have a run.
    """

    targets: Ints
    gains: Floats | None
    width: int
    before: Ints | None
    order: Ints
    starts: Ints
    reached: Ints


def make_transfer(targets: Ints, gains: Floats | None, width: int) -> Transfer:
    """The transfer with these targets, prepared for summing."""
    flat = targets.ravel()
    order = np.argsort(flat, kind="stable")
    order = order[np.searchsorted(flat[order], 0) :]
    reached, starts, counts = np.unique(flat[order], return_index=True, return_counts=True)
    most = int(counts.max()) if len(counts) else 0
    before = None
    if most <= _FEW:
        before = np.full((most, width), flat.size, np.int64)
        rank = np.arange(len(order)) - np.repeat(starts, counts)
        before[rank, flat[order]] = order
    return Transfer(targets, gains, width, before, order, starts, reached)


def restrict(whole: Transfer, before: int, after: int) -> Transfer:
    """The transfer between prefixes of the states: the first ``before`` to the first ``after``."""
    targets = whole.targets[:before]
    gains = None if whole.gains is None else whole.gains[:, :before]
    if whole.before is None:
        return make_transfer(targets, gains, after)
    past = before * targets.shape[1]
    inside = np.minimum(whole.before[:, :after], past)
    return Transfer(targets, gains, after, inside, whole.order, whole.starts, whole.reached)


class Workspace:
    """Arrays that the pushes of one walk use again and again."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, tuple[int, ...]], Floats] = {}
        self._turn = False

    def array(self, purpose: str, shape: tuple[int, ...]) -> Floats:
        """An array of this shape, zero when first asked for."""
        key = (purpose, shape)
        if key not in self._arrays:
            self._arrays = {k: v for k, v in self._arrays.items() if k[0] != purpose}
            self._arrays[key] = np.zeros(shape)
        return self._arrays[key]

    def result(self, shape: tuple[int, ...]) -> Floats:
        """One of two arrays in turn, so that a result may be the next operand."""
        self._turn = not self._turn
        return self.array("left" if self._turn else "right", shape)


def push(
    transfer: Transfer, mass: Floats, factors: Floats, space: Workspace | None = None
) -> Floats:
    """The mass of the next layer.

    Args:
        transfer: where each (state, symbol) leads.
        mass: shape (quantities, states, model states).
        factors: weight of (model state, symbol, next model state) at this position.
        space: arrays to work in; the result then lasts until the next call but one.
    """
    space = space or Workspace()
    quantities, states, width = mass.shape
    symbols, after = factors.shape[1:]
    spread = space.array("spread", (quantities, states * symbols + 1, after))
    inner = spread[:, :-1].reshape(quantities, states, symbols, after)
    if width == 1:
        np.multiply(mass[:, :, :, None], factors[0], out=inner)
    else:
        inner[...] = (mass.reshape(-1, width) @ factors.reshape(width, -1)).reshape(inner.shape)
    if transfer.gains is not None:
        gained = space.array("gained", (quantities - 1, states, symbols, after))
        np.multiply(transfer.gains[..., None], inner[0], out=gained)
        inner[1:] += gained
    if transfer.before is not None:
        gathered = space.array("gathered", (quantities, *transfer.before.shape, after))
        spread.take(transfer.before, axis=1, out=gathered, mode="clip")
        return np.add.reduce(gathered, axis=1, out=space.result((quantities, transfer.width, after)))
    moved = np.zeros((quantities, transfer.width, after))
    if len(transfer.order):
        gathered = spread.take(transfer.order, axis=1)
        moved[:, transfer.reached] = np.add.reduceat(gathered, transfer.starts, axis=1)
    return moved


def pull(transfer: Transfer, worth: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """The worth of the layer before, from the worth of the layer after.

    Args:
        transfer: where each (state, symbol) leads.
        worth: shape (quantities, next states, next model states); quantity 0 is the value to come, the
            others the slopes of linear registers.
        factors: weight of (model state, symbol, next model state) at this position.

    Returns:
        The worth before, and the worth of each step (quantities, states, symbols, next model states).
    """
    padded = np.concatenate([worth, np.zeros((len(worth), 1, worth.shape[2]))], axis=1)
    step = padded[:, transfer.targets]
    if transfer.gains is not None:
        step[0] += np.einsum("rsa,rsab->sab", transfer.gains, step[1:])
    width = factors.shape[0]
    flat = step.reshape(*step.shape[:2], -1) @ factors.reshape(width, -1).T
    return flat, step
