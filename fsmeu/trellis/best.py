"""Best paths through a trellis: the max-plus sweep, with a counter as an axis.

What a step is worth is a sum over terms, for each count k at the end. Where all arcs that lead to a
pair show a term the same feature, its share is added after the maximum over the sources is taken;
else it is added to the source first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.limits import KEPT_CELLS_PER_STATE
from fsmeu.trellis.best_plan import BestLayer, BestPlan
from fsmeu.trellis.steps import Steps

__all__ = ["best_values", "is_stateless", "select", "trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def best_values(
    plans: Sequence[BestPlan], scores: Sequence[Floats], ends: Floats, steps: Steps
) -> tuple[Floats, list[BestLayer]]:
    """The best worth of a path whose counter ends at k, for every k; and the layers behind it.

    Args:
        plans: the plan of each position; layer 0 has one pair.
        scores: what score rows are worth, (rows + 1, k) for each position; the last is 0.
        ends: the worth of ending at k.
        steps: what computes a position.
    """
    size = len(ends)
    _guard(plans, size)
    layer = BestLayer(np.zeros((1, 1, size)), np.zeros(1, np.int64), np.zeros((1, size)))
    layers = [layer]
    for plan, worth in zip(plans, scores, strict=True):
        layer = steps.best(plan, layer, worth)
        layers.append(layer)
    reached = layer.bases[layer.base, :, 0] + layer.offsets  # (pairs, k)
    return reached.max(axis=0, initial=-np.inf) + ends, layers


def _guard(plans: Sequence[BestPlan], size: int) -> None:
    """Refuses layers that take too much room, all of them, and the runs of the largest.

    Raises:
        SizeLimitError: they do.
    """
    so_far, held, largest = 1, 0, 0
    for plan in plans:
        counts = (so_far + plan.most) * (size - so_far + 1)
        held += plan.bases * counts
        largest = max(largest, len(plan.run_base) * counts)
        so_far += plan.most
    guard_size("decode", (held + largest) // KEPT_CELLS_PER_STATE)


def trace(
    plans: Sequence[BestPlan],
    scores: Sequence[Floats],
    layers: Sequence[BestLayer],
    k: int,
    steps: Steps,
) -> Ints:
    """Label indices of a best path whose counter ends at k.

    Args:
        plans: the plan of each position.
        scores: what score rows are worth, (rows + 1, k) for each position; the last is 0.
        layers: the best worth of reaching each pair of layers 0, ..., n.
        k: the count at the end.
        steps: what computes a position.
    """
    last = layers[-1]
    count, pair = k, int((last.bases[last.base, k, 0] + last.offsets[:, k]).argmax())
    path = np.empty(len(plans), np.int64)
    for i in range(len(plans) - 1, -1, -1):
        arc = steps.arc_back(plans[i], layers[i], scores[i], pair, count, k)
        path[i] = plans[i].product.label[arc]
        pair, count = int(plans[i].product.source[arc]), count - int(plans[i].adds[arc])
    return path


def is_stateless(plans: Sequence[BestPlan]) -> bool:
    """True when no layer has more than one pair, and no step counts more than 1."""
    return all(plan.is_stateless for plan in plans)


def select(
    plans: Sequence[BestPlan], scores: Sequence[Floats], ends: Floats
) -> tuple[Ints, Floats]:
    """Label indices of the best path without states, (batch, n), and the worth of ends, (batch, k).

    At each end k, the k positions that gain most by counting are counted.

    Args:
        plans: the plan of each position; stateless.
        scores: what score rows are worth, (batch, rows + 1, k) for each position; the last is 0.
        ends: the worth of ending at k, (batch, k).
    """
    batch, size = ends.shape
    without, with_one = np.full((2, batch, len(plans), size), -np.inf)
    labels = np.zeros((2, batch, len(plans), size), np.int64)
    for plan, places in _alike(plans):
        worth = np.stack([scores[i] for i in places], axis=1)  # (batch, places, rows + 1, k)
        arcs = np.zeros((batch, len(places), len(plan.adds), size))
        for rows in plan.rows:
            arcs += worth[:, :, rows]
        for counted, table in ((0, without), (1, with_one)):
            among = np.flatnonzero(plan.adds == counted)
            if len(among):
                best = arcs[:, :, among].argmax(axis=2)
                labels[counted][:, places] = plan.product.label[among[best]]
                table[:, places] = arcs[:, :, among].max(axis=2)
    order = np.argsort(-_gain(with_one, without), axis=1, kind="stable")
    counted_first = np.argsort(order, axis=1, kind="stable") < np.arange(size)
    totals: Floats = np.where(counted_first, with_one, without).sum(axis=1) + ends
    taken = totals.argmax(axis=1)[:, None, None]
    is_counted, *chosen = (
        np.take_along_axis(one, taken, axis=2)[:, :, 0] for one in (counted_first, *labels)
    )
    return np.where(is_counted, chosen[1], chosen[0]), totals


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
