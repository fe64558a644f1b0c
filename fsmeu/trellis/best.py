"""Best paths through a trellis: the max-plus sweep, with a counter as an axis.

What a step is worth is a sum over terms, for each count k at the end. Where all arcs that lead to a
pair show a term the same feature, its share is added after the maximum over the sources is taken;
else it is added to the source first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.trellis.best_plan import BestPlan

__all__ = ["BestLayer", "best_values", "is_stateless", "select", "trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BestLayer:
    """The best worth of reaching each pair of a layer: that of its base, plus its offset.

    Attributes:
        bases: (bases, counts so far, counts to come); the count k at the end is the sum of both.
        base: the base of each pair.
        offsets: (pairs, k).
    """

    bases: Floats
    base: Ints
    offsets: Floats


def best_values(
    plans: Sequence[BestPlan], scores: Sequence[Floats], ends: Floats
) -> tuple[Floats, list[BestLayer]]:
    """The best worth of a path whose counter ends at k, for every k; and the layers behind it.

    Args:
        plans: the plan of each position; layer 0 has one pair.
        scores: what score rows are worth, (rows, k) for each position.
        ends: the worth of ending at k.
    """
    size = len(ends)
    layer = BestLayer(np.zeros((1, 1, size)), np.zeros(1, np.int64), np.zeros((1, size)))
    layers, held = [layer], 0
    for plan, worth in zip(plans, scores, strict=True):
        counts = (layer.bases.shape[1] + plan.most) * layer.bases.shape[2]
        held += plan.bases * counts
        guard_size("decode", (held + len(plan.run_base) * counts) // 8)
        layer = _step(plan, layer, np.concatenate([worth, np.zeros((1, size))]))
        layers.append(layer)
    best = np.full(size, -np.inf)
    for base, counts_so_far in enumerate(layer.bases[:, :, 0]):
        offset = layer.offsets[layer.base == base].max(axis=0, initial=-np.inf)
        best = np.maximum(best, counts_so_far + offset)
    return best + ends, layers


def _added(scores: Floats, rows: Ints) -> Floats:
    """The sums over terms of score rows, (cells, k)."""
    total = np.zeros((rows.shape[1], scores.shape[1]))
    for row in rows:
        total += scores[row]
    return total


def _step(plan: BestPlan, layer: BestLayer, scores: Floats) -> BestLayer:
    """The layer after a position.

    Args:
        plan: the plan of the position.
        layer: the layer before.
        scores: what score rows are worth, (rows + 1, k); the last is 0.
    """
    _, so_far, to_come = layer.bases.shape
    cells = layer.offsets[plan.source] + _added(scores, plan.early)
    runs = np.concatenate([_maxima(cells, plan.runs), np.zeros((1, scores.shape[1]))])
    shape = (so_far + plan.most, to_come - plan.most)
    bases = np.full((plan.bases, *shape), -np.inf)
    made = [_maximum(plan, layer, runs, *one) for one in plan.several]
    values = np.stack(made) if made else layer.bases[:0]
    for source, moves in ((layer.bases, plan.kept), (values, plan.made)):
        for move in moves:
            count = slice(move.amount, move.amount + so_far)
            left = slice(move.amount, move.amount + shape[1])
            bases[move.new, count] = source[move.old, :, left]
    for base, ways in plan.joined:
        for amount, run, place, late in ways:
            worth = runs[run] if place < 0 else 0.0
            worth = worth + sum(scores[row] for row in late)
            source = layer.bases[plan.run_base[run]] if place < 0 else values[place]
            value = source + sliding_window_view(np.broadcast_to(worth, scores.shape[1:]), to_come)
            into = bases[base, amount : amount + so_far]
            np.maximum(into, value[:, amount : amount + shape[1]], out=into)
    return BestLayer(bases, plan.base, runs[plan.run] + _added(scores, plan.late))


def _maxima(cells: Floats, starts: Ints) -> Floats:
    """The maxima over the cells of each run, (runs, k)."""
    if len(starts) == len(cells):
        return cells
    found: Floats = np.maximum.reduceat(cells, starts, axis=0)
    return found


def _maximum(plan: BestPlan, layer: BestLayer, runs: Floats, begin: int, end: int) -> Floats:
    """The best over the runs of a set, (counts so far, counts to come)."""
    to_come = layer.bases.shape[2]
    windows = sliding_window_view(runs[begin:end], to_come, axis=1)
    best: Floats = (layer.bases[plan.run_base[begin:end]] + windows).max(axis=0)
    return best


def trace(
    plans: Sequence[BestPlan], scores: Sequence[Floats], layers: Sequence[BestLayer], k: int
) -> Ints:
    """Label indices of a best path whose counter ends at k.

    Args:
        plans: the plan of each position.
        scores: what score rows are worth, (rows, k) for each position.
        layers: the best worth of reaching each pair of layers 0, ..., n.
        k: the count at the end.
    """
    last = layers[-1]
    count, pair = k, int((last.bases[last.base, k, 0] + last.offsets[:, k]).argmax())
    path = np.empty(len(plans), np.int64)
    for i in range(len(plans) - 1, -1, -1):
        plan, before = plans[i], layers[i]
        arcs = np.flatnonzero(plan.product.target == pair)
        had = count - plan.adds[arcs]
        inside = (had >= 0) & (had < before.bases.shape[1]) & (k - had < before.bases.shape[2])
        arcs, had = arcs[inside], had[inside]
        source = plan.product.source[arcs]
        reach = before.bases[before.base[source], had, k - had] + before.offsets[source, k]
        reach = reach + scores[i][plan.rows[:, arcs], k].sum(axis=0)
        arc = arcs[reach.argmax()]
        path[i] = plan.product.label[arc]
        pair, count = int(plan.product.source[arc]), count - int(plan.adds[arc])
    return path


def is_stateless(plans: Sequence[BestPlan]) -> bool:
    """True when no layer has more than one pair, and no step counts more than 1."""
    return all(
        len(plan.product.after) == 1
        and len(plan.product.before) == 1
        and plan.adds.max(initial=0) <= 1
        for plan in plans
    )


def select(
    plans: Sequence[BestPlan], scores: Sequence[Floats], ends: Floats
) -> tuple[Ints, Floats]:
    """Label indices of the best path without states, and the best worth for every end k.

    At each end k, the k positions that gain most by counting are counted.

    Args:
        plans: the plan of each position; stateless.
        scores: what score rows are worth, (rows, k) for each position.
        ends: the worth of ending at k.
    """
    n, size = len(plans), len(ends)
    without, with_one = np.full((2, n, size), -np.inf)
    labels = np.zeros((2, n, size), np.int64)
    for plan, places in _alike(plans):
        worth = np.stack([scores[i] for i in places])
        arcs = np.zeros((len(places), len(plan.adds), size))
        for rows in plan.rows:
            arcs += worth[:, rows]
        for counted, table in ((0, without), (1, with_one)):
            among = np.flatnonzero(plan.adds == counted)
            if len(among):
                best = arcs[:, among].argmax(axis=1)
                labels[counted, places] = plan.product.label[among[best]]
                table[places] = np.take_along_axis(arcs[:, among], best[:, None], axis=1)[:, 0]
    order = np.argsort(-_gain(with_one, without), axis=0, kind="stable")
    totals = np.full(size, -np.inf)
    for k in range(size):
        chosen, others = order[:k, k], order[k:, k]
        totals[k] = with_one[chosen, k].sum() + without[others, k].sum() + ends[k]
    k = int(totals.argmax())
    path = labels[0, :, k].copy()
    path[order[:k, k]] = labels[1, order[:k, k], k]
    return path, totals


def _alike(plans: Sequence[BestPlan]) -> list[tuple[BestPlan, list[int]]]:
    """The distinct plans, each with its positions."""
    found: dict[int, tuple[BestPlan, list[int]]] = {}
    for i, plan in enumerate(plans):
        found.setdefault(id(plan), (plan, []))[1].append(i)
    return list(found.values())


def _gain(with_one: Floats, without: Floats) -> Floats:
    """What counting gains; impossible choices come last, forced ones first."""
    gain = np.zeros(with_one.shape)
    both = np.isfinite(with_one) & np.isfinite(without)
    gain[both] = with_one[both] - without[both]
    gain[np.isneginf(with_one)] = -np.inf
    gain[np.isneginf(without) & np.isfinite(with_one)] = np.inf
    return gain
