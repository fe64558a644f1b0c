"""The steps of all layers that some machines are made of, in arrays of whole numbers.

A row stands for a class at a position. Labels that do the same from there share an *outcome*: what
is added to the two sums, and the class after.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.oracle.layers import ClassLayer, Walked

__all__ = ["NotCountedError", "Paths", "Pool", "pool_layers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]

_MOST = 1 << 20


class NotCountedError(Exception):
    """The sums that a value looks at are not two counts of whole numbers, or not monotonic."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows of layers.

    Attributes:
        which: the outcome of each label, (rows, labels).
        outcomes: how many outcomes each row has, (rows,).
        next: the class after each outcome, (rows, outcomes); further ones repeat the first.
        ridden: what each outcome adds to the sum of which the best is kept, of the same shape.
        counted: what it adds to the sum that is an axis, of the same shape.
    """

    which: Small
    outcomes: Small
    next: Small
    ridden: Small
    counted: Small

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        arrays = (self.which, self.outcomes, self.next, self.ridden, self.counted)
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, eq=False)
class Paths:
    """The layers of machines, one after the other; a machine of length n has n + 1.

    Attributes:
        begins: where the layers of each machine begin, (machines + 1,).
        start: the class of the first state of each machine.
        rows: the first row of each layer; 0 for the last of a machine, which has no steps.
        classes: the number of classes of each layer.
        low: the least that can be added to the axis from a layer on.
        size: how many values that may have.
        cells: where the cells (classes, size) of each layer begin, (layers + 1,).
        least: the least and
        greatest: the greatest of both sums before any layer, (2,): ridden and counted.
    """

    begins: Ints
    start: Ints
    rows: Ints
    classes: Ints
    low: Ints
    size: Ints
    cells: Ints
    least: Ints
    greatest: Ints

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        arrays = (self.begins, self.rows, self.classes, self.low, self.size, self.cells)
        return sum(array.nbytes for array in arrays)


def pool_layers(
    machines: Sequence[Walked], ridden: int | None, counted: int | None
) -> tuple[Pool, Paths]:
    """The layers of machines in arrays.

    Args:
        machines: the machines; their layers may be shared.
        ridden: the number of the sum of which the best is kept, None for none.
        counted: the number of the sum that is an axis, None for none.

    Raises:
        NotCountedError: a step adds no whole number.
    """
    layers: dict[int, ClassLayer] = {}
    for machine in machines:
        for layer in machine.layers:
            layers.setdefault(id(layer), layer)
    key = ("packed", ridden, counted)
    _pack([layer for layer in layers.values() if key not in layer.memo], key, (ridden, counted))
    packed: list[_Packed] = [layer.memo[key] for layer in layers.values()]
    sizes = [len(one.outcomes) for one in packed]
    begins = np.append(0, np.cumsum(sizes)).astype(np.int64)
    place = {key: k for k, key in enumerate(layers)}
    extremes = np.array([one.extremes for one in packed], np.int64).reshape(-1, 4)
    return _joined(packed), _paths(machines, place, begins, extremes)


@dataclass(frozen=True, eq=False)
class _Packed:
    """One layer: as in ``Pool``, and the least and greatest of ridden and of counted."""

    which: Small
    outcomes: Small
    table: Small
    extremes: tuple[int, int, int, int]


def _pack(layers: Sequence[ClassLayer], key: Hashable, roles: tuple[int | None, ...]) -> None:
    """Packs layers, all rows at once, and keeps each with its layer."""
    if not layers:
        return
    goals = np.concatenate([layer.next for layer in layers])
    zero = np.zeros(goals.shape, np.int64)
    added = [
        zero if k is None else _whole(np.concatenate([layer.gains[k] for layer in layers]))
        for k in roles
    ]
    mixed = goals
    for one in added:
        mixed = mixed * (int(one.max()) - int(one.min()) + 1) + (one - one.min())
    order = np.argsort(mixed, axis=1, kind="stable")
    ascending = np.take_along_axis(mixed, order, axis=1)
    rank = np.zeros(mixed.shape, np.int32)
    np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=rank[:, 1:])
    which = np.empty(mixed.shape, np.int32)
    np.put_along_axis(which, order, rank, axis=1)
    outcomes = rank[:, -1] + 1
    table = np.empty((3, len(mixed), int(outcomes.max())), np.int32)
    rows = np.arange(len(mixed))[:, None]
    for part, cells in zip(table, (goals, *added), strict=True):
        part[:] = cells[rows, order[:, :1]]  # beyond the outcomes of a row the first is repeated
        part[rows, which] = cells
    extremes = np.stack([cells for one in added for cells in (one.min(axis=1), one.max(axis=1))])
    begin = 0
    for layer in layers:
        end = begin + len(layer.next)
        low, high, least, most = extremes[:, begin:end].tolist()
        span = (min(low), max(high), min(least), max(most))
        at = slice(begin, end)
        layer.memo[key] = _Packed(which[at], outcomes[at], table[:, at], span)
        begin = end


def _whole(gains: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        whole: Ints = gains.astype(np.int64)
    if (whole != gains).any() or np.abs(whole).max(initial=0) > _MOST:
        raise NotCountedError
    return whole


def _joined(packed: Sequence[_Packed]) -> Pool:
    if not packed:
        none = np.zeros((0, 0), np.int32)
        return Pool(none, np.zeros(0, np.int32), none, none, none)
    width = max(one.table.shape[2] for one in packed)
    rows = sum(len(one.outcomes) for one in packed)
    table = np.zeros((3, rows, width), np.int32)
    begin = 0
    for one in packed:
        end = begin + len(one.outcomes)
        table[:, begin:end] = one.table[:, :, :1]
        table[:, begin:end, : one.table.shape[2]] = one.table
        begin = end
    which = np.concatenate([one.which for one in packed])
    outcomes = np.concatenate([one.outcomes for one in packed])
    return Pool(which, outcomes, table[0], table[1], table[2])


def _paths(
    machines: Sequence[Walked], place: dict[int, int], begins: Ints, extremes: Ints
) -> Paths:
    lengths = [len(machine.layers) for machine in machines]
    ends = np.append(0, np.cumsum(np.array(lengths, np.int64) + 1)).astype(np.int64)
    rows, classes, low, size = (np.zeros(ends[-1], np.int64) for _ in range(4))
    least, greatest = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for k, machine in enumerate(machines):
        n, at = lengths[k], slice(ends[k], ends[k + 1] - 1)
        numbers = np.array([place[id(layer)] for layer in machine.layers], np.int64)
        rows[at] = begins[numbers]
        classes[at] = begins[numbers + 1] - begins[numbers]
        classes[ends[k + 1] - 1] = len(machine.ends)
        added = extremes[numbers]  # (n, 4)
        ahead = np.zeros((n + 1, 2), np.int64)
        ahead[:-1] = np.cumsum(added[::-1, 2:], axis=0)[::-1]
        low[ends[k] : ends[k + 1]] = ahead[:, 0]
        size[ends[k] : ends[k + 1]] = ahead[:, 1] - ahead[:, 0] + 1
        so_far = np.cumsum(added, axis=0)
        least = np.minimum(least, so_far[:, [0, 2]].min(axis=0, initial=0))
        greatest = np.maximum(greatest, so_far[:, [1, 3]].max(axis=0, initial=0))
    cells = np.append(0, np.cumsum(classes * size)).astype(np.int64)
    start = np.array([machine.start for machine in machines], np.int64)
    return Paths(ends, start, rows, classes, low, size, cells, least, greatest)
