"""A faster walk for losses whose gains do not depend on the state.

When what the linear registers gain at a step depends on the position and the symbol alone, the step of a
position is one small matrix over (quantity, model state), the same for every loss state. All of
these are laid out beforehand, and a step is a matrix product, a gather and a sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.expectation.transfer import Transfer

__all__ = ["is_steady", "steady_walk"]

Floats = NDArray[np.float64]


def is_steady(transfers: Sequence[Transfer]) -> bool:
    """True when every step can be written as one small matrix and a gather."""
    distinct = {id(t): t for t in transfers}.values()
    return all(t.before is not None and _uniform(t) for t in distinct)


def _uniform(transfer: Transfer) -> bool:
    gains = transfer.gains
    return gains is None or bool((gains == gains[:, :, :1]).all())


def steady_walk(transfers: Sequence[Transfer], factors: Floats, mass: Floats) -> Floats:
    """The mass after the last position.

    Args:
        transfers: the step of each position, all over the same states.
        factors: weight of (position, next model state, symbol, model state).
        mass: shape (quantities, model states, states), before the first position.
    """
    quantities, width, states = mass.shape
    matrices = _matrices(transfers, factors, quantities)
    symbols = factors.shape[2]
    # One more state holds no mass and serves as the predecessor of states that have none.
    now = np.zeros((quantities * width, states + 1))
    now[:, :-1] = mass.reshape(-1, states)
    spread = np.empty((quantities * width, symbols * (states + 1)))
    rows = spread.reshape(-1, states + 1)
    after = now[:, :-1]
    before = {id(t): _padded(t, symbols, states) for t in {id(t): t for t in transfers}.values()}
    dot, add = np.dot, np.add.reduce  # np.matmul takes three times as long on matrices this small
    for transfer, matrix in zip(transfers, matrices, strict=True):
        dot(matrix, now, rows)
        add(spread.take(before[id(transfer)], axis=1), axis=1, out=after)
    return after.reshape(mass.shape)


def _padded(transfer: Transfer, symbols: int, states: int) -> NDArray[np.int64]:
    """Flat indices over rows that are one longer; the end of the first row is the empty state."""
    flat = transfer.before
    moved = flat + flat // states  # type: ignore[operator]
    return np.where(flat == symbols * states, states, moved)


def _matrices(transfers: Sequence[Transfer], factors: Floats, quantities: int) -> Floats:
    """For each position the matrix from (quantity, model state) to the same times symbols."""
    n, after, symbols, width = factors.shape
    whole = np.zeros((n, quantities, after, symbols, quantities, width))
    for q in range(quantities):
        whole[:, q, :, :, q] = factors
    if quantities > 1 and n:
        gains = np.stack([t.gains[:, :, 0] for t in transfers])  # type: ignore[index]
        whole[:, 1:, :, :, 0] = gains[:, :, None, :, None] * factors[:, None]
    return whole.reshape(n, quantities * after * symbols, quantities * width)
