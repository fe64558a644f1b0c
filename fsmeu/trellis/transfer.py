"""Moving mass from the states of one layer to the states of the next, as array operations.

Mass is an array of shape (quantities, model states, loss states): quantity 0 is probability, the
others are expectations of the registers that ride in the weight. Loss states come last because
there are most of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Layer, arcs_by_label
from fsmeu.limits import FEW_SOURCES, SENT_AT_ONCE
from fsmeu.trellis.chain_step import ChainStep, backward_chain, forward_chain

__all__ = [
    "Transfer",
    "Workspace",
    "backward_step",
    "forward_step",
    "forward_step_by_arcs",
    "make_transfer",
    "restrict",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Transfer:
    """Where each (symbol, state) of a layer leads.

    Attributes:
        targets: target of each (symbol, state); -1 leads nowhere.
        gains: what each linear register gains, (linear, symbols, states), or None.
        width: number of states of the next layer.
        stride: the number of states that flat indices symbol * stride + state count with.
        whole: the transfer between all states, where this one is between prefixes of them.
        joined: transfers of this step followed by another, kept by whoever made them.
    """

    targets: Ints
    gains: Floats | None
    width: int
    stride: int
    whole: Transfer | None = None
    joined: dict[int, tuple[Transfer, Transfer]] = field(default_factory=dict)

    @cached_property
    def uniform(self) -> bool:
        """True when gains are the same in every state."""
        return self.gains is None or bool((self.gains == self.gains[:, :, :1]).all())

    @cached_property
    def most(self) -> int:
        """The greatest number of (symbol, state) that lead to one target, or more."""
        if self.whole is not None:
            return self.whole.most
        return int(np.bincount(self.targets[self.targets >= 0]).max(initial=0))

    @cached_property
    def cancelling(self) -> Floats:
        """For each linear register its greatest gain without sign, 0 where none is negative."""
        if self.whole is not None:
            return self.whole.cancelling
        if self.gains is None or not self.gains.size:
            return np.zeros(0 if self.gains is None else len(self.gains))
        greatest = np.abs(self.gains).max(axis=(1, 2))
        return np.where((self.gains < 0).any(axis=(1, 2)), greatest, 0.0)

    @cached_property
    def runs(self) -> Runs:
        """The flat indices that lead to each target."""
        symbols, states = np.nonzero(self.targets >= 0)
        target = self.targets[symbols, states]
        order = np.argsort(target, kind="stable")
        counts = np.bincount(target, minlength=self.width)
        reached = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[reached]
        return Runs((symbols * self.stride + states)[order], starts, reached, counts)

    @cached_property
    def before(self) -> Ints | None:
        """For each target the flat indices that lead there, (most predecessors, width).

        Padded with one index past the end; None when that would be large.
        """
        if self.whole is not None and self.whole.before is not None:
            return self.whole.before[:, : self.width]
        order, starts, reached, counts = self.runs
        most = int(counts.max(initial=0))
        if most > FEW_SOURCES:
            return None
        found = np.full((most, self.width), self.targets.shape[0] * self.stride, np.int64)
        rank = np.arange(len(order)) - np.repeat(starts, counts[reached])
        found[rank, np.repeat(reached, counts[reached])] = order
        return found

    @cached_property
    def by_symbol(self) -> tuple[Ints, Ints, Ints]:
        """For sums over the states that a symbol leads to one target.

        Flat indices symbol * states + state, sorted by symbol and target; where each run begins;
        and symbol * width + target of each run.
        """
        symbols, states = np.nonzero(self.targets >= 0)
        cells = symbols * self.width + self.targets[symbols, states]
        order = np.argsort(cells, kind="stable")
        found, starts = np.unique(cells[order], return_index=True)
        return (symbols * self.targets.shape[1] + states)[order], starts, found


class Runs(NamedTuple):
    """Flat indices sorted by target, for sums over runs.

    Attributes:
        order: the flat indices.
        starts: where each run begins.
        reached: the target of each run.
        counts: how many indices lead to each target, (width,).
    """

    order: Ints
    starts: Ints
    reached: Ints
    counts: Ints


def make_transfer(targets: Ints, gains: Floats | None, width: int) -> Transfer:
    """The transfer with these targets (states, symbols) and gains (linear, states, symbols)."""
    turned = np.ascontiguousarray(targets.T)
    turned_gains = None if gains is None else np.ascontiguousarray(gains.transpose(0, 2, 1))
    return Transfer(turned, turned_gains, width, len(targets))


def restrict(whole: Transfer, before: int, after: int) -> Transfer:
    """The transfer between prefixes of the states: the first ``before`` to the first ``after``.

    Flat indices stay as they are: states past the prefix hold no mass.
    """
    targets = whole.targets[:, :before]
    gains = None if whole.gains is None else whole.gains[:, :, :before]
    return Transfer(targets, gains, after, whole.stride, whole)


class Workspace:
    """Arrays that the pushes of one walk use again and again."""

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}
        self._turn = False

    def array(self, purpose: str, shape: tuple[int, ...]) -> Floats:
        """An array of this shape, zero when first asked for."""
        kept = self._arrays.get(purpose)
        if kept is None or kept.shape != shape:
            kept = self._arrays[purpose] = np.zeros(shape)
        return kept

    def result(self, shape: tuple[int, ...]) -> Floats:
        """One of two arrays in turn, so that a result may be the next operand."""
        self._turn = not self._turn
        return self.array("left" if self._turn else "right", shape)


def forward_step(
    transfer: Transfer, mass: Floats, factors: Floats | ChainStep, space: Workspace | None = None
) -> Floats:
    """The mass of the next layer.

    Args:
        transfer: where each (symbol, state) leads.
        mass: shape (..., quantities, model states, states).
        factors: weight of (..., next model state, symbol, model state) at this position, or the
            step of a chain.
        space: arrays to work in; the result then lasts until the next call but one.
    """
    if isinstance(factors, ChainStep):
        return forward_chain(transfer, mass, factors)
    space = space or Workspace()
    quantities, width, states = mass.shape[-3:]
    after, symbols, _ = factors.shape[-3:]
    rows = (*mass.shape[:-3], quantities, after)
    spread = space.array("spread", (*rows, symbols * transfer.stride + 1))
    inner = spread[..., :-1].reshape(*rows, symbols, transfer.stride)[..., :states]
    if width == 1:
        np.multiply(mass[..., None, :], factors[..., None, :, :, :], out=inner)
    else:
        steps = factors.reshape(*factors.shape[:-3], 1, after * symbols, width)
        inner[...] = (steps @ mass).reshape(inner.shape)
    if transfer.gains is not None:
        inner[..., 1:, :, :, :] += transfer.gains[:, None] * inner[..., :1, :, :, :]
    if transfer.before is not None:
        gathered = space.array("gathered", (*rows, *transfer.before.shape))
        spread.take(transfer.before, axis=-1, out=gathered, mode="clip")
        return np.add.reduce(gathered, axis=-2, out=space.result((*rows, transfer.width)))
    moved = np.zeros((*rows, transfer.width))
    order, starts, reached, _ = transfer.runs
    gathered = spread.take(order, axis=-1)
    moved[..., reached] = np.add.reduceat(gathered, starts, axis=-1)
    return moved


def forward_step_by_arcs(transfer: Transfer, mass: Floats, layer: Layer) -> Floats:
    """The mass of the next layer, by the arcs of the model: for wide layers with few of them.

    Args:
        transfer: where each (symbol, state) leads.
        mass: shape (quantities, model states, states).
        layer: the arcs of the model at this position.
    """
    moved = np.zeros((len(mass), layer.width, transfer.width))
    for symbol, arcs in arcs_by_label(layer):
        to = transfer.targets[symbol]
        states = np.flatnonzero(to >= 0)
        if not len(states):
            continue
        states = states[np.argsort(to[states], kind="stable")]
        goals, runs = np.unique(to[states], return_index=True)
        gains = None if transfer.gains is None else transfer.gains[:, symbol][:, None, states]
        size = max(1, SENT_AT_ONCE // (len(mass) * len(states)))
        for some in (arcs[k : k + size] for k in range(0, len(arcs), size)):
            after, starts = np.unique(layer.target[some], return_index=True)
            sent = mass[:, layer.source[some]][:, :, states] * layer.weight[some][:, None]
            sent = np.add.reduceat(sent, starts, axis=1)
            if gains is not None:
                sent[1:] += gains * sent[:1]
            moved[:, after[:, None], goals] += np.add.reduceat(sent, runs, axis=2)
    return moved


def backward_step(
    transfer: Transfer, worth: Floats, factors: Floats | ChainStep
) -> tuple[Floats, Floats]:
    """The worth of the layer before, from the worth of the layer after.

    Args:
        transfer: where each (symbol, state) leads.
        worth: shape (quantities, next model states, next states); quantity 0 is the value to come,
            the others the slopes of linear registers.
        factors: weight of (next model state, symbol, model state) at this position, or the step of
            a chain.

    Returns:
        The worth before, and that of each step (quantities, next model states, symbols, states);
        without the next model states where these are the symbols.
    """
    if isinstance(factors, ChainStep):
        return backward_chain(transfer, worth, factors)
    padded = np.concatenate([worth, np.zeros((*worth.shape[:2], 1))], axis=2)
    step = padded[:, :, transfer.targets]
    if transfer.gains is not None:
        step[0] += np.einsum("ras,rmas->mas", transfer.gains, step[1:])
    width = factors.shape[2]
    rows = step.reshape(len(step), -1, step.shape[3])
    return factors.reshape(-1, width).T @ rows, step
