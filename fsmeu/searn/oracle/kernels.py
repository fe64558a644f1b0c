"""The sweep and the queries of counted oracles, compiled by numba.

Steps are rows: ``goals``, ``gained`` and ``counted`` (rows, outcomes) say where an outcome
leads and what it adds to the sum of which the best is kept and to the sum that is an axis;
``outcomes`` (rows,) says how many there are, ``label_class`` (rows, labels) which one a label has.
Layers are ``begins`` (machines + 1,), and by layer ``rows``, ``classes``, ``low`` and ``size`` of
the axis, and ``cells``. Ends are by machine ``begins``, ``low``, ``width`` and ``direction``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["costs", "fill", "pack", "scores"]

compiled: Any = njit(cache=True, error_model="numpy", nogil=True)

_ROUNDING = 2 * np.finfo(np.float64).eps
ENDED, STRANGE = 1, 2


@compiled
def pack(goals, gained, counted, label_class, outcomes, table):
    """Fills the outcomes of labels (rows, labels); ``table`` is (3, rows, labels).

    Beyond the outcomes of a row the first is repeated.
    """
    rows, labels = goals.shape
    for r in range(rows):
        count = 0
        for a in range(labels):
            known = count
            for o in range(count):
                same = table[0, r, o] == goals[r, a] and table[1, r, o] == gained[r, a]
                if same and table[2, r, o] == counted[r, a]:
                    known = o
                    break
            if known == count:
                table[0, r, count] = goals[r, a]
                table[1, r, count] = gained[r, a]
                table[2, r, count] = counted[r, a]
                count += 1
            label_class[r, a] = known
        outcomes[r] = count
        for o in range(count, labels):
            table[:, r, o] = table[:, r, 0]


@compiled
def fill(steps, layers, none, direction, best):
    """Fills the cells with the greatest sum gained times the machine's direction, 1 or -1.

    Cells (classes, size) of a layer hold ``none`` where the axis cannot get so far.
    """
    _, outcomes, goals, gained, counted = steps
    begins, rows, classes, low, size, cells = layers
    best[:] = none
    for k in range(begins.shape[0] - 1):
        last = begins[k + 1] - 1
        best[cells[last] : cells[last + 1]] = 0
        for layer in range(last - 1, begins[k] - 1, -1):
            wide, ahead = size[layer], size[layer + 1]
            for c in range(classes[layer]):
                row = rows[layer] + c
                for o in range(outcomes[row]):
                    shift = counted[row, o] + low[layer + 1] - low[layer]
                    to = cells[layer] + c * wide + shift
                    source = cells[layer + 1] + goals[row, o] * ahead
                    added = direction[k] * gained[row, o]
                    for j in range(ahead):
                        if best[source + j] != none:
                            best[to + j] = max(best[to + j], best[source + j] + added)


@compiled
def _reach(layers, best, none, ends, layer, machine, at_class, gain, count):
    """The best score that can be reached, -inf for none."""
    begins, _, _, low, size, cells = layers
    end_scores, end_begins, end_low, end_width, end_direction = ends
    first = begins[machine]
    wide, direction = end_width[machine], end_direction[machine]
    source = cells[layer] + at_class * size[layer]
    row = count + low[layer] - low[first]
    base = gain - end_low[machine]
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
def _layer(layers, machine, place, ahead):
    """The layer of a state and 0, or what is wrong; there must be positions ahead."""
    begins, _, classes, _, _, _ = layers
    room = begins[machine + 1] - 1 - begins[machine] - place[0]
    if place[0] < 0 or room < 0:
        return 0, STRANGE
    layer = begins[machine] + place[0]
    if place[1] < 0 or place[1] >= classes[layer]:
        return 0, STRANGE
    return layer, ENDED if room < ahead else 0


@compiled
def costs(steps, layers, best, none, ends, machines, states, found):
    """Fills ``found`` (batch, labels) for states (batch, 4); returns what is wrong or 0."""
    label_class, outcomes, goals, gained, counted = steps
    ahead = np.empty(goals.shape[1])
    for b in range(found.shape[0]):
        machine, state = machines[b], states[b]
        layer, wrong = _layer(layers, machine, state, 1)
        if wrong:
            return wrong
        row = layers[1][layer] + state[1]
        greatest = -np.inf
        for o in range(outcomes[row]):
            ahead[o] = _reach(
                layers, best, none, ends, layer + 1, machine, goals[row, o],
                state[2] + gained[row, o], state[3] + counted[row, o],
            )  # fmt: skip
            greatest = max(greatest, ahead[o])
        if greatest == -np.inf:
            return STRANGE
        exact_best = 8.0 * greatest == np.floor(8.0 * greatest)
        for o in range(outcomes[row]):
            cost = greatest - ahead[o]
            near = _ROUNDING * max(abs(greatest), abs(ahead[o]))
            exact = exact_best and 8.0 * ahead[o] == np.floor(8.0 * ahead[o])
            ahead[o] = 0.0 if cost <= near and not exact else cost
        for label in range(label_class.shape[1]):
            found[b, label] = ahead[label_class[row, label]]
    return 0


@compiled
def scores(layers, best, none, ends, machines, states, found):
    """Fills ``found`` (batch,) for states (batch, 4); returns what is wrong or 0."""
    for b in range(found.shape[0]):
        state = states[b]
        layer, wrong = _layer(layers, machines[b], state, 0)
        if wrong:
            return wrong
        found[b] = _reach(
            layers, best, none, ends, layer, machines[b], state[1], state[2], state[3]
        )
        if found[b] == -np.inf:
            return STRANGE
    return 0
