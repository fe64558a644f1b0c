"""The best worth of a path for each count that it may end with, for a batch of sentences.

The max-plus sweep of ``best``, where what a step is worth does not depend on the count at the end:
a base has an axis of counts so far alone. Sentences of a batch have one structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.best_plan import BestPlan

__all__ = ["TableLayer", "best_tables", "trace_tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TableLayer:
    """The best worth of reaching each pair of a layer: that of its base, plus its offset.

    Attributes:
        bases: (batch, bases, counts so far).
        base: the base of each pair.
        offsets: (batch, pairs).
    """

    bases: Floats
    base: Ints
    offsets: Floats


def best_tables(
    plans: Sequence[BestPlan], scores: Sequence[Floats], batch: int
) -> tuple[Floats, list[TableLayer]]:
    """The best worth of a path that counts j, (batch, j), and the layers behind it.

    Args:
        plans: the plan of each position; layer 0 has one pair.
        scores: what score rows are worth, (batch, rows + 1) for each position; the last is 0.
        batch: how many sentences there are.
    """
    start = np.zeros((batch, 1, 1))
    layers = [TableLayer(start, np.zeros(1, np.int64), np.zeros((batch, 1)))]
    for plan, worth in zip(plans, scores, strict=True):
        layers.append(_after(plan, layers[-1], worth))
    last = layers[-1]
    reached = last.bases[:, last.base] + last.offsets[:, :, None]  # (batch, pairs, j)
    return reached.max(axis=1, initial=-np.inf), layers


def _after(plan: BestPlan, layer: TableLayer, scores: Floats) -> TableLayer:
    """The layer after a position."""
    batch, _, so_far = layer.bases.shape
    cells = layer.offsets[:, plan.source] + _added(scores, plan.early)
    runs = np.zeros((batch, len(plan.runs) + 1))
    if len(plan.runs):
        runs[:, :-1] = np.maximum.reduceat(cells, plan.runs, axis=1)
    sets = np.empty((batch, len(plan.several), so_far))
    for place, (begin, end) in enumerate(plan.several):
        before = layer.bases[:, plan.run_base[begin:end]]
        sets[:, place] = (before + runs[:, begin:end, None]).max(axis=1)
    bases = np.full((batch, plan.bases, so_far + plan.most), -np.inf)
    for source, moves in ((layer.bases, plan.kept), (sets, plan.made)):
        for move in moves:
            bases[:, move.new, move.amount : move.amount + so_far] = source[:, move.old]
    for base, ways in plan.joined:
        for amount, run, place, late in ways:
            total = runs[:, run] if place < 0 else np.zeros(batch)
            total = total + scores[:, late].sum(axis=1)
            before = layer.bases[:, plan.run_base[run]] if place < 0 else sets[:, place]
            into = bases[:, base, amount : amount + so_far]
            np.maximum(into, before + total[:, None], out=into)
    return TableLayer(bases, plan.base, runs[:, plan.run] + _added(scores, plan.late))


def _added(scores: Floats, rows: Ints) -> Floats:
    """The sums over terms of score rows, (batch, cells)."""
    total = np.zeros((len(scores), rows.shape[1]))
    for row in rows:
        total += scores[:, row]
    return total


def trace_tables(
    plans: Sequence[BestPlan],
    scores: Sequence[Floats],
    layers: Sequence[TableLayer],
    ends: Ints,
) -> Ints:
    """Label indices of a best path of each sentence, (batch, n).

    Args:
        plans: the plan of each position.
        scores: what score rows are worth, (batch, rows + 1) for each position.
        layers: the best worth of reaching each pair of layers 0, ..., n.
        ends: the count that each path ends with, (batch,).
    """
    last, rows = layers[-1], np.arange(len(ends))
    reached = last.bases[:, last.base][rows, :, ends] + last.offsets  # (batch, pairs)
    pairs, counts = reached.argmax(axis=1), ends.copy()
    path = np.empty((len(ends), len(plans)), np.int64)
    for i in range(len(plans) - 1, -1, -1):
        arcs = _arcs_back(plans[i], layers[i], scores[i], pairs, counts)
        path[:, i] = plans[i].product.label[arcs]
        pairs, counts = plans[i].product.source[arcs], counts - plans[i].adds[arcs]
    return path


def _arcs_back(
    plan: BestPlan, layer: TableLayer, scores: Floats, pairs: Ints, counts: Ints
) -> Ints:
    """The arc by which a best path reaches its pair with its count, (batch,)."""
    order, begins = plan.arcs_to
    found = np.zeros(len(pairs), np.int64)
    for pair in np.unique(pairs).tolist():
        rows = np.flatnonzero(pairs == pair)[:, None]
        arcs = order[begins[pair] : begins[pair + 1]]
        had = counts[rows] - plan.adds[arcs]  # (rows, arcs)
        inside = (had >= 0) & (had < layer.bases.shape[2])
        source = plan.product.source[arcs]
        reach = layer.bases[rows, layer.base[source], np.where(inside, had, 0)]
        reach = reach + layer.offsets[rows, source]
        for term in plan.rows:
            reach += scores[rows, term[arcs]]
        found[rows[:, 0]] = arcs[np.where(inside, reach, -np.inf).argmax(axis=1)]
    return found
