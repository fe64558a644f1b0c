"""Sweeps and queries of counted oracles by numpy; ``compiled_counts`` does the same in loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import CACHED_CELLS
from fsmeu.searn.oracle.pool import Paths, Pool
from fsmeu.searn.oracle.reached import Ends, Points
from fsmeu.searn.oracle.ties import costs_of

__all__ = ["costs", "costs_one", "fill", "scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Whole = NDArray[np.signedinteger]

_NONE = -(1 << 60)


def fill(pool: Pool, paths: Paths, most: Whole, least: Whole) -> None:
    """Fills the cells of all layers with the greatest sum that rides, and with minus the least.

    Args:
        pool: the steps.
        paths: the layers of the machines.
        most: the greatest sum, (cells,); the least number of its type where the axis cannot get so
            far.
        least: the least sum with its sign changed, (cells,); the same.
    """
    none = np.iinfo(most.dtype).min
    for k in range(len(paths.begins) - 1):
        last = int(paths.begins[k + 1]) - 1
        ahead = np.zeros((2, int(paths.classes[last]), 1), np.int64)
        for layer in range(last, int(paths.begins[k]) - 1, -1):
            if layer < last:
                ahead = _before(pool, paths, layer, ahead)
            cells = slice(paths.cells[layer], paths.cells[layer + 1])
            most[cells], least[cells] = np.maximum(ahead, none).reshape(2, -1)


def _before(pool: Pool, paths: Paths, layer: int, ahead: Ints) -> Ints:
    """The cells (2, classes, size) of a layer, given those of the next one."""
    rows = slice(int(paths.rows[layer]), int(paths.rows[layer] + paths.classes[layer]))
    size = int(paths.size[layer])
    room = size - ahead.shape[2]  # the greatest shift
    wide = np.full((2, ahead.shape[1], size + room), _NONE)
    wide[:, :, room:size] = ahead
    shifts = pool.counted[rows] + int(paths.low[layer + 1] - paths.low[layer])
    places = (pool.next[rows] * (size + room) + room - shifts)[:, :, None] + np.arange(size)
    moved = wide.reshape(2, -1)[:, places]  # (2, classes, outcomes, size)
    ridden = pool.ridden[rows].astype(np.int64)
    moved += np.stack([ridden, -ridden])[:, :, :, None]
    found: Ints = moved.max(axis=2)
    found[found < _NONE // 2] = _NONE
    return found


def _best(
    paths: Paths,
    best: Whole,
    ends: Ends,
    layers: Ints,
    machines: Ints,
    points: Points,
) -> Floats:
    """The best score that can be reached, of the shape of ``points.classes``; -inf for none.

    Args:
        paths: the layers of the machines.
        best: the cells of the sweep.
        ends: scores at the end.
        layers: layers, of a shape that broadcasts.
        machines: the machine of each.
        points: class and sums in the layer.
    """
    size = int(paths.size[layers].max(initial=1))
    steps = np.arange(size)
    layers, machines = layers[..., None], machines[..., None]
    inside = steps < paths.size[layers]
    cells = paths.cells[layers] + points.classes[..., None] * paths.size[layers] + steps
    held = best[np.where(inside, cells, 0)]
    inside = inside & (held != np.iinfo(best.dtype).min)
    column = points.ridden[..., None] + ends.direction[machines] * held.astype(np.int64)
    column -= ends.low[machines]
    row = points.counted[..., None] + paths.low[layers] + steps
    row = row - paths.low[paths.begins[machines]]
    width = ends.width[machines]
    inside &= (column >= 0) & (column < width)
    inside &= (row >= 0) & (row < paths.size[paths.begins[machines]])
    at = np.where(inside, ends.begins[machines] + row * width + column, 0)
    found: Floats = np.where(inside, ends.scores[at], -np.inf).max(axis=-1)
    return found


def scores(
    paths: Paths,
    best: Whole,
    ends: Ends,
    layers: Ints,
    machines: Ints,
    points: Points,
) -> Floats:
    """The best score that can be reached from each state, (batch,); -inf for none."""
    return _best(paths, best, ends, layers, machines, points)


def costs(
    pool: Pool,
    paths: Paths,
    best: Whole,
    ends: Ends,
    layers: Ints,
    machines: Ints,
    points: Points,
) -> Floats:
    """The cost of each label in each state, (batch, labels); nan where nothing can be reached."""
    found = np.empty((len(layers), pool.which.shape[1]))
    size = max(1, CACHED_CELLS // max(1, pool.next.shape[1] * int(paths.size.max(initial=1))))
    for begin in range(0, len(layers), size):
        at = slice(begin, begin + size)
        rows = paths.rows[layers[at]] + points.classes[at]
        after = Points(
            pool.next[rows],
            points.ridden[at, None] + pool.ridden[rows],
            points.counted[at, None] + pool.counted[rows],
        )
        ahead = _best(paths, best, ends, layers[at, None] + 1, machines[at, None], after)
        with np.errstate(invalid="ignore"):
            found[at] = costs_of(np.take_along_axis(ahead, pool.which[rows], axis=1))
    return found


def costs_one(
    pool: Pool,
    paths: Paths,
    best: Whole,
    ends: Ends,
    layer: int,
    machine: int,
    at_class: int,
    ridden: int,
    counted: int,
) -> Floats:
    """The cost of each label in one state, (labels,); nan where nothing can be reached."""
    row = int(paths.rows[layer]) + at_class
    outcomes = int(pool.outcomes[row])
    first, size = int(paths.begins[machine]), int(paths.size[layer + 1])
    source = int(paths.cells[layer + 1]) + pool.next[row, :outcomes] * size
    steps = np.arange(size)
    held = best[source[:, None] + steps]  # (outcomes, size)
    column = held * int(ends.direction[machine])
    column = column + (pool.ridden[row, :outcomes] + (ridden - int(ends.low[machine])))[:, None]
    up = counted + int(paths.low[layer + 1] - paths.low[first])
    lines = (pool.counted[row, :outcomes] + up)[:, None] + steps
    width = int(ends.width[machine])
    inside = (held != np.iinfo(best.dtype).min) & (column >= 0) & (column < width)
    inside &= (lines >= 0) & (lines < int(paths.size[first]))
    at = (lines * width + (column + int(ends.begins[machine]))) * inside
    ahead = np.where(inside, ends.scores[at], -np.inf).max(axis=1)
    with np.errstate(invalid="ignore"):
        found: Floats = costs_of(ahead)[pool.which[row]]
    return found
