"""The sweep and the queries of frontiers, compiled by numba.

``steps`` are ``tables.Outcomes``, ``axes`` ``tables.Axes``, ``frontiers`` ``tables.Frontiers``.
"""

from __future__ import annotations

import numpy as np

from fsmeu.jit import jit_entry, jit_helper

_ROUNDING = 2 * np.finfo(np.float64).eps


@jit_entry
def pack(targets, kinds, label_class, counts):
    """Fills the outcomes of labels (rows, labels), and how many each row has (rows,).

    Targets and kinds of labels (rows, labels) become those of outcomes; beyond the outcomes of a
    row the first is repeated.
    """
    rows, labels = targets.shape
    for r in range(rows):
        count = 0
        for a in range(labels):
            target = targets[r, a]
            kind = kinds[r, a]
            outcome = 0
            while outcome < count and (targets[r, outcome] != target or kinds[r, outcome] != kind):
                outcome += 1
            if outcome == count:
                targets[r, count] = target
                kinds[r, count] = kind
                count += 1
            label_class[r, a] = outcome
        counts[r] = count
        targets[r, count:] = targets[r, 0]
        kinds[r, count:] = kinds[r, 0]


@jit_entry
def fill(steps, axes, none, direction, best):
    """Fills the cells with the greatest sum gained times the machine's direction, 1 or -1.

    Cells (classes, size) of a layer hold ``none`` where the axis cannot get so far; those of the
    last layers are there already.
    """
    _, counts, targets, gained, counted = steps
    begins, rows, classes, low, size, cells = axes
    for k in range(begins.shape[0] - 1):
        last = begins[k + 1] - 1
        best[cells[begins[k]] : cells[last]] = none
        for layer in range(last - 1, begins[k] - 1, -1):
            wide = size[layer]
            ahead = size[layer + 1]
            for c in range(classes[layer]):
                row = rows[layer] + c
                for o in range(counts[row]):
                    shift = counted[row, o] + low[layer + 1] - low[layer]
                    to = cells[layer] + c * wide + shift
                    source = cells[layer + 1] + targets[row, o] * ahead
                    added = direction[k] * gained[row, o]
                    for j in range(ahead):
                        if best[source + j] != none:
                            best[to + j] = max(best[to + j], best[source + j] + added)


@jit_helper
def _reach(frontiers, layer, machine, at_class, gain, count):
    """The best score that can be reached from a class, -inf for none.

    ``gain`` and ``count`` are the sums so far, of which the best is kept and that is an axis.
    """
    axes = frontiers.axes
    best = frontiers.best
    ends = frontiers.ends
    first = axes.begins[machine]
    wide = ends.width[machine]
    direction = ends.direction[machine]
    size = axes.size[layer]
    source = axes.cells[layer] + at_class * size
    row = count + axes.low[layer] - axes.low[first]
    base = gain - ends.low[machine]
    begin = max(0, -row)
    end = min(size, axes.size[first] - row)
    line = ends.begins[machine] + (row + begin) * wide
    greatest = -np.inf
    for j in range(begin, end):
        total = best[source + j]
        column = base + direction * total
        if total != frontiers.none and 0 <= column < wide:
            score = ends.scores[line + column]
            greatest = score if score > greatest else greatest
        line += wide
    return greatest


@jit_entry
def costs(frontiers, machines, layers, states, out):
    """Fills ``out`` (batch, labels) for states (batch, 4); whether all are states.

    Scores that differ by rounding are equal, as in ``same_up_to_rounding``: relative to the scores
    themselves, while whole numbers, halves, quarters and eighths stay apart.
    """
    steps = frontiers.steps
    ahead = np.empty(steps.targets.shape[1])
    for b in range(out.shape[0]):
        layer = layers[b]
        state = states[b]
        row = frontiers.axes.rows[layer] + state[1]
        greatest = -np.inf
        for o in range(steps.counts[row]):
            gain = state[2] + steps.gained[row, o]
            count = state[3] + steps.counted[row, o]
            target = steps.targets[row, o]
            ahead[o] = _reach(frontiers, layer + 1, machines[b], target, gain, count)
            greatest = max(greatest, ahead[o])
        if greatest == -np.inf:
            return False
        exact_best = 8.0 * greatest == np.floor(8.0 * greatest)
        for o in range(steps.counts[row]):
            cost = greatest - ahead[o]
            near = _ROUNDING * max(abs(greatest), abs(ahead[o]))
            exact = exact_best and 8.0 * ahead[o] == np.floor(8.0 * ahead[o])
            ahead[o] = 0.0 if cost <= near and not exact else cost
        for label in range(steps.label_class.shape[1]):
            out[b, label] = ahead[steps.label_class[row, label]]
    return True


@jit_entry
def scores(frontiers, machines, layers, states, out):
    """Fills ``out`` (batch,) for states (batch, 4); whether all are states."""
    for b in range(out.shape[0]):
        state = states[b]
        out[b] = _reach(frontiers, layers[b], machines[b], state[1], state[2], state[3])
        if out[b] == -np.inf:
            return False
    return True
