"""A faster walk for losses whose gains do not depend on the state.

When what the linear registers gain at a step depends on the position and the symbol alone, the step
of a position is one small matrix over (quantity, model state), the same for every loss state. All
of these are laid out beforehand, and a step is a matrix product, a gather and a sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import MOST_PAIRED_SYMBOLS
from fsmeu.trellis.transfer import Transfer, make_transfer

__all__ = ["is_steady", "steady_walk"]

Floats = NDArray[np.float64]


def is_steady(transfers: Sequence[Transfer]) -> bool:
    """True when every step can be written as one small matrix and a gather."""
    distinct = _distinct(transfers).values()
    return all(t.before is not None and t.uniform for t in distinct)


def steady_walk(transfers: Sequence[Transfer], factors: Floats, mass: Floats) -> Floats:
    """The mass after the last position.

    Args:
        transfers: the step of each position, all over the same states.
        factors: weight of (position, next model state, symbol, model state).
        mass: shape (quantities, model states, states), before the first position.
    """
    quantities, width, states = mass.shape
    matrices = _matrices(transfers, factors, quantities)
    now = np.zeros((quantities * width, states + 1))
    now[:, :-1] = mass.reshape(-1, states)
    if factors.shape[2] ** 2 <= MOST_PAIRED_SYMBOLS:
        odd = len(transfers) % 2
        _walk(transfers[:odd], matrices[:odd], now)
        transfers, matrices = _in_pairs(transfers[odd:], matrices[odd:])
    _walk(transfers, matrices, now)
    return now[:, :-1].reshape(mass.shape)


def _walk(transfers: Sequence[Transfer], matrices: Floats, now: Floats) -> None:
    """Moves the mass through these positions, in place.

    One more state than there are holds no mass; it stands in as predecessor of states without one.
    """
    if not len(transfers):
        return
    symbols, states = transfers[0].targets.shape
    spread = np.empty((len(now), symbols * (states + 1)))
    rows = spread.reshape(-1, states + 1)
    after = now[:, :-1]
    before = {key: _padded(t, symbols, states) for key, t in _distinct(transfers).items()}
    dot, add = np.dot, np.add.reduce  # np.matmul takes three times as long on matrices this small
    flat = matrices.reshape(len(transfers), -1, len(now))
    for transfer, matrix in zip(transfers, flat, strict=True):
        dot(matrix, now, rows)
        add(spread.take(before[id(transfer)], axis=1), axis=1, out=after)


def _in_pairs(transfers: Sequence[Transfer], matrices: Floats) -> tuple[Sequence[Transfer], Floats]:
    """Two positions in one step: half as many steps, which cost little more each."""
    steps = [_join(one, two) for one, two in zip(transfers[::2], transfers[1::2], strict=True)]
    if any(step.before is None for step in steps):
        return transfers, matrices
    joined = np.einsum("nxbc,ncad->nxabd", matrices[1::2], matrices[::2])
    n, rows, first, second, columns = joined.shape
    return steps, joined.reshape(n, rows, first * second, columns)


def _join(one: Transfer, two: Transfer) -> Transfer:
    """One step and then another, as a single step that reads two symbols."""
    if id(two) not in one.joined:
        beyond = np.append(two.targets, np.full((len(two.targets), 1), -1), axis=1)
        targets = beyond[:, one.targets].transpose(1, 0, 2).reshape(-1, one.targets.shape[1])
        one.joined[id(two)] = (two, make_transfer(targets.T, None, one.width))
    return one.joined[id(two)][1]


def _distinct(transfers: Sequence[Transfer]) -> dict[int, Transfer]:
    return {id(t): t for t in transfers}


def _padded(transfer: Transfer, symbols: int, states: int) -> NDArray[np.int64]:
    """Flat indices over rows that are one longer; the end of the first row is the empty state."""
    flat = transfer.before
    moved = flat + flat // states  # type: ignore[operator]
    return np.where(flat == symbols * states, states, moved)


def _matrices(transfers: Sequence[Transfer], factors: Floats, quantities: int) -> Floats:
    """For each position the weights from (quantity, model state) to the same and a symbol.

    The shape is (positions, quantities * next model states, symbols, quantities * model states).
    """
    n, after, symbols, width = factors.shape
    whole = np.zeros((n, quantities, after, symbols, quantities, width))
    for q in range(quantities):
        whole[:, q, :, :, q] = factors
    if quantities > 1 and n:
        distinct = _distinct(transfers)
        place = {key: k for k, key in enumerate(distinct)}
        gains = np.stack([t.gains[:, :, 0] for t in distinct.values()])  # type: ignore[index]
        gains = gains[[place[id(t)] for t in transfers]]
        whole[:, 1:, :, :, 0] = gains[:, :, None, :, None] * factors[:, None]
    return whole.reshape(n, quantities * after, symbols, quantities * width)
