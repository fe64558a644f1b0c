"""Sweeps and queries of counted oracles, compiled by numba; as in ``numpy_counts``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsmeu.searn.oracle.pool import Paths, Pool
from fsmeu.searn.oracle.reached import Ends, Points

__all__ = ["costs", "costs_one", "fill", "scores"]

Whole = NDArray[np.signedinteger]

compiled: Any = njit(cache=True, error_model="numpy")

_ROUNDING = 2 * np.finfo(np.float64).eps


@compiled
def _fill(steps, layers, none, most, least):
    """Fills both; a layer's cells are first all ``none``."""
    outcomes, goals, ridden, counted = steps
    begins, rows, classes, low, size, cells = layers
    most[:] = none
    least[:] = none
    for k in range(begins.shape[0] - 1):
        last = begins[k + 1] - 1
        most[cells[last] : cells[last + 1]] = 0
        least[cells[last] : cells[last + 1]] = 0
        for layer in range(last - 1, begins[k] - 1, -1):
            wide, ahead = size[layer], size[layer + 1]
            for c in range(classes[layer]):
                row = rows[layer] + c
                for o in range(outcomes[row]):
                    shift = counted[row, o] + low[layer + 1] - low[layer]
                    to = cells[layer] + c * wide + shift
                    source = cells[layer + 1] + goals[row, o] * ahead
                    added = ridden[row, o]
                    for j in range(ahead):
                        if most[source + j] != none:
                            high, below = most[source + j] + added, least[source + j] - added
                            if high > most[to + j]:
                                most[to + j] = high
                            if below > least[to + j]:
                                least[to + j] = below


@compiled
def _reach(layers, best, none, ends, layer, machine, at_class, at_ridden, at_counted):
    """The best score that can be reached, -inf for none."""
    begins, _, _, low, size, cells = layers
    end_scores, end_begins, end_low, end_width, end_direction = ends
    first = begins[machine]
    wide, direction = end_width[machine], end_direction[machine]
    source = cells[layer] + at_class * size[layer]
    row = at_counted + low[layer] - low[first]
    base = at_ridden - end_low[machine]
    begin = max(0, -row)
    end = min(size[layer], size[first] - row)
    line = end_begins[machine] + (row + begin) * wide
    greatest = -np.inf
    for j in range(begin, end):
        held = best[source + j]
        column = base + direction * held
        if held != none and 0 <= column < wide:
            score = end_scores[line + column]
            greatest = score if score > greatest else greatest
        line += wide
    return greatest


@compiled
def _costs_at(which, steps, layers, best, none, ends, layer, machine, point, ahead, found):
    """Fills ``found`` (labels,); ``ahead`` is room for the outcomes."""
    outcomes, goals, ridden, counted = steps
    at_class, at_ridden, at_counted = point
    row = layers[1][layer] + at_class
    greatest = -np.inf
    for o in range(outcomes[row]):
        ahead[o] = _reach(
            layers, best, none, ends, layer + 1, machine, goals[row, o],
            at_ridden + ridden[row, o], at_counted + counted[row, o],
        )  # fmt: skip
        if ahead[o] > greatest:
            greatest = ahead[o]
    exact_best = 8.0 * greatest == np.floor(8.0 * greatest)
    for o in range(outcomes[row]):
        cost = greatest - ahead[o]
        near = _ROUNDING * max(abs(greatest), abs(ahead[o]))
        exact = exact_best and 8.0 * ahead[o] == np.floor(8.0 * ahead[o])
        ahead[o] = 0.0 if cost <= near and not exact else cost
    for label in range(which.shape[1]):
        found[label] = ahead[which[row, label]]


@compiled
def _costs(which, steps, layers, best, none, ends, at, points, found):
    """Fills ``found`` (batch, labels)."""
    ahead = np.empty(steps[1].shape[1])
    for b in range(found.shape[0]):
        point = (points[0][b], points[1][b], points[2][b])
        _costs_at(
            which, steps, layers, best, none, ends, at[0][b], at[1][b], point, ahead, found[b]
        )


@compiled
def _costs_one(which, steps, layers, best, none, ends, layer, machine, point):
    """The costs in one state, (labels,)."""
    found, ahead = np.empty(which.shape[1]), np.empty(steps[1].shape[1])
    _costs_at(which, steps, layers, best, none, ends, layer, machine, point, ahead, found)
    return found


@compiled
def _scores(layers, best, none, ends, at, points, found):
    """Fills ``found`` (batch,)."""
    for b in range(found.shape[0]):
        found[b] = _reach(
            layers, best, none, ends, at[0][b], at[1][b], points[0][b], points[1][b], points[2][b]
        )


def fill(pool: Pool, paths: Paths, most: Whole, least: Whole) -> None:
    """As ``numpy_counts.fill``."""
    _fill(_steps(pool), _layers(paths), np.iinfo(most.dtype).min, most, least)


def scores(paths, best, ends, layers, machines, points):
    """As ``numpy_counts.scores``."""
    found = np.empty(len(layers))
    none = np.iinfo(best.dtype).min
    _scores(_layers(paths), best, none, _ends(ends), (layers, machines), _points(points), found)
    return found


def costs(pool, paths, best, ends, layers, machines, points):
    """As ``numpy_counts.costs``."""
    found = np.empty((len(layers), pool.which.shape[1]))
    _costs(
        pool.which, _steps(pool), _layers(paths), best, np.iinfo(best.dtype).min, _ends(ends),
        (layers, machines), _points(points), found,
    )  # fmt: skip
    return found


def costs_one(pool, paths, best, ends, layer, machine, at_class, ridden, counted):
    """As ``numpy_counts.costs_one``."""
    return _costs_one(
        pool.which, _steps(pool), _layers(paths), best, np.iinfo(best.dtype).min, _ends(ends),
        layer, machine, (at_class, ridden, counted),
    )  # fmt: skip


def _steps(pool: Pool) -> tuple[Any, ...]:
    return pool.outcomes, pool.next, pool.ridden, pool.counted


def _layers(paths: Paths) -> tuple[Any, ...]:
    return paths.begins, paths.rows, paths.classes, paths.low, paths.size, paths.cells


def _ends(ends: Ends) -> tuple[Any, ...]:
    return ends.scores, ends.begins, ends.low, ends.width, ends.direction


def _points(points: Points) -> tuple[Any, ...]:
    return points.classes, points.ridden, points.counted
