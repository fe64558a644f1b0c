"""Steps of chains in which the state after a position is the symbol that was read.

Their weights are (state before, symbol); as (next state, symbol, state before) they would be zero
but for one next state of each symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fsmeu.trellis.transfer import Transfer

__all__ = ["ChainStep", "backward_chain", "forward_chain"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChainStep:
    """A position of a chain in which the state after it is the symbol that was read.

    Attributes:
        weights: of (state before, symbol).
    """

    weights: Floats


def forward_chain(transfer: Transfer, mass: Floats, step: ChainStep) -> Floats:
    """The mass of the next layer, (quantities, symbols, next states).

    Args:
        transfer: where each (symbol, state) leads.
        mass: shape (quantities, model states, states).
        step: the weights of the chain.
    """
    spread = step.weights.T @ mass  # (quantities, symbols, states)
    if transfer.gains is not None:
        spread[1:] += transfer.gains * spread[:1]
    order, starts, cells = transfer.by_symbol
    quantities, symbols, _ = spread.shape
    moved = np.zeros((quantities, symbols * transfer.width))
    if len(starts):
        gathered = spread.reshape(quantities, -1)[:, order]
        moved[:, cells] = np.add.reduceat(gathered, starts, axis=1)
    return moved.reshape(quantities, symbols, transfer.width)


def backward_chain(transfer: Transfer, worth: Floats, step: ChainStep) -> tuple[Floats, Floats]:
    """The worth of the layer before, and that of each step (quantities, symbols, states).

    Args:
        transfer: where each (symbol, state) leads.
        worth: shape (quantities, symbols, next states).
        step: the weights of the chain.
    """
    padded = np.concatenate([worth, np.zeros((*worth.shape[:2], 1))], axis=2)
    symbols = np.arange(worth.shape[1])[:, None]
    taken = padded[:, symbols, transfer.targets]
    if transfer.gains is not None:
        taken[0] += np.einsum("ras,ras->as", transfer.gains, taken[1:])
    return step.weights @ taken, taken
