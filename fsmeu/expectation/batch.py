"""Many sequences of one length at once: the walk of one sequence with one more axis.

Every array has the sequences as its first axis. At each position those whose step is the same move
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.expectation.result import check_finite
from fsmeu.limits import BATCHED_CELLS, MOST_BATCHED_STATES
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.trajectory import trajectories
from fsmeu.models.paths import Dense
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.threads import one_thread
from fsmeu.trellis.transfer import Transfer, forward_step
from fsmeu.trellis.view_layers import DenseWalker

__all__ = ["Stack", "batch_values", "whole_stack"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Groups = list[tuple[Ints, Transfer]]
"""Rows that step alike, with the step they take."""


@dataclass(frozen=True, eq=False)
class Stack:
    """The arrays of the models of a batch, stacked as they are asked for.

    Attributes:
        rows: the arrays of some rows, with the sequences as first axis; of one where all are alike.
        width: the number of states of each model.
        cells: how many entries one more row adds.
    """

    rows: Callable[[slice], Dense]
    width: int
    cells: int


def whole_stack(arrays: Dense) -> Stack:
    """Arrays that are stacked already."""

    def some(rows: slice) -> Dense:
        return Dense(arrays.tables[rows], arrays.start[rows], arrays.final[rows])

    return Stack(some, arrays.start.shape[1], arrays.tables[0].size)


@one_thread()
def batch_values(loss: SpecLoss, z: Ints, arrays: Stack) -> Sums | None:
    """The expected value of each hypothesis under its model, with what bounds its error.

    Args:
        loss: a loss over the labels of the models.
        z: label indices of the hypotheses, (sequences, n).
        arrays: the arrays of the models.

    Returns:
        The sums; None when arrays cannot span the states of the loss, be it that there are too
        many, or that a step is undefined in some that no sequence reaches.
    """
    view = loss.view(z.shape[1], z[0], weights=True)
    if view.space is None or view.space > MOST_BATCHED_STATES:
        return None
    cells = (1 + view.linear) * view.space * view.symbols * arrays.width
    size = max(1, BATCHED_CELLS // max(cells, arrays.cells))
    found, roundings = np.empty((3, len(z))), 0
    try:
        for begin in range(0, len(z), size):
            rows = slice(begin, begin + size)
            *found[:, rows], most = _walk(loss, view, view.space, z[rows], arrays.rows(rows))
            roundings = max(roundings, most)
    except LossFileError:
        return None
    return Sums(found[0], found[1], found[2], roundings)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _walk(loss: SpecLoss, view: SpecView, space: int, z: Ints, arrays: Dense) -> Sums:
    batch, n = z.shape
    tracks = trajectories(view.bound, n, z, set(view.track))
    kinds = _kinds(view.context_cells(z, tracks))
    known: dict[int, Transfer] = {}
    factors = np.ascontiguousarray(arrays.tables.transpose(1, 0, 4, 3, 2))
    mass = np.zeros((batch, 1 + view.linear, arrays.start.shape[1], space))
    mass[:, 0, :, view.start] = arrays.start
    cancelled = np.zeros((batch, view.linear))
    for position in range(n):
        groups = _groups(loss, z, kinds, position, known)
        mass = _push(groups, mass, factors[position])
        for rows, transfer in groups if view.linear else ():
            cancelled[rows] += transfer.cancelling
    ending = np.einsum("bqms,bm->bqs", mass, arrays.final)
    most = max((transfer.most for transfer in known.values()), default=0) + mass.shape[2] + 6
    ends = {name: track[:, n:] for name, track in tracks.items()}
    return Sums(*_expected(view, ending, ends, cancelled), n * most + sum(mass.shape[2:]))


def _expected(
    view: SpecView, ending: Floats, ends: Mapping[str, Floats], cancelled: Floats
) -> tuple[Floats, Floats, Floats]:
    """Expected values, masses and sizes, from the mass in which each sequence ends in each state.

    Args:
        view: the loss.
        ending: (batch, 1 + linear registers, states).
        ends: where registers that look at z alone end.
        cancelled: what is to be added to the expectation of each linear register for its size, by
            unit of mass, (batch, linear registers).
    """
    batch, _, states = ending.shape
    reached = ending[:, 0] > 0
    value, slopes = view.values_with(ends, np.arange(states), (batch, states), reached)
    expected: Floats = np.einsum("bs,bs->b", ending[:, 0], value)
    expected += np.einsum("brs,rbs->b", ending[:, 1:], slopes)
    check_finite("expect_many", expected)
    held = ending[:, 0].sum(axis=1)
    check_range(view.bound, view.n, expected[held > 0] / held[held > 0])
    grown = np.abs(ending[:, 1:]) + cancelled[:, :, None] * ending[:, :1]
    sizes: Floats = np.einsum("bs,bs->b", ending[:, 0], np.abs(value))
    sizes += np.einsum("brs,rbs->b", grown, np.abs(slopes))
    return expected, held, sizes


def _kinds(cells: Floats) -> Ints:
    """A number for each (sequence, position): the same where all numbers of the context are."""
    batch, n, columns = cells.shape
    kinds = np.zeros(batch * n, np.int64)
    for column in cells.reshape(batch * n, columns).T:
        levels, codes = np.unique(column, return_inverse=True)
        kinds = np.unique(kinds * len(levels) + codes, return_inverse=True)[1]
    return kinds.reshape(batch, n)


def _groups(
    loss: SpecLoss, z: Ints, kinds: Ints, position: int, known: dict[int, Transfer]
) -> Groups:
    """The rows that step alike at a position; steps that are met for the first time are kept."""
    groups = []
    for kind in np.unique(kinds[:, position]).tolist():
        rows = np.flatnonzero(kinds[:, position] == kind)
        if kind not in known:
            view = loss.view(z.shape[1], z[rows[0]], weights=True)
            known[kind] = DenseWalker(view, view.space or 0).transfer(position + 1)
        groups.append((rows, known[kind]))
    return groups


def _push(groups: Groups, mass: Floats, factors: Floats) -> Floats:
    """The mass (sequences, quantities, model states, states) after one more position."""
    if len(groups) == 1:
        return forward_step(groups[0][1], mass, factors)
    moved = np.empty((*mass.shape[:2], factors.shape[1], mass.shape[3]))
    for rows, transfer in groups:
        some = factors[rows] if len(factors) > 1 else factors
        moved[rows] = forward_step(transfer, mass[rows], some)
    return moved
