"""The order of states within their layers, few lines crossing, and their heights.

Order: a sweep sorts each layer by the mean position of its neighbours in the layer before, then the
other way round (Sugiyama, Tagawa & Toda 1981); neighbours are then swapped while that removes
crossings or brings items closer that are joined within a layer. The best order met is kept.

Heights: each layer in turn takes the mean heights of its neighbours as wishes; the nearest heights
(least squares) that keep the order and the distances are an isotonic regression.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

_SWEEPS, _HEIGHT_SWEEPS = 12, 24
_SWAPS = 8
_MOST_SWAPPED = 60  # layers wider than this are left to the barycentres

Layers = list[list[int]]
Links = Sequence[tuple[int, int]]
Neighbours = dict[int, list[int]]


def order_layers(layers: Layers, links: Links, peers: Links = ()) -> Layers:
    """The layers in an order with few crossings.

    Args:
        layers: items of each layer, in some order.
        links: pairs of items in adjacent layers, the one in the earlier layer first.
        peers: pairs of items in the same layer that should be close.
    """
    before, after = _neighbours(layers, links)
    beside = _neighbours(layers, [*peers, *((b, a) for a, b in peers)])[0]
    best = [list(layer) for layer in layers]
    fewest = _total(best, after) + _apart(best, beside)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        _sweep(current, before if sweep % 2 == 0 else after, forward=sweep % 2 == 0)
        for _ in range(_SWAPS):
            if not _swap(current, before, after, beside):
                break
        faults = _total(current, after) + _apart(current, beside)
        if faults < fewest:
            best, fewest = [list(layer) for layer in current], faults
    return best


def _neighbours(layers: Layers, links: Links) -> tuple[Neighbours, Neighbours]:
    before: Neighbours = {item: [] for layer in layers for item in layer}
    after: Neighbours = {item: [] for layer in layers for item in layer}
    for left, right in links:
        after[left].append(right)
        before[right].append(left)
    return before, after


def _sweep(layers: Layers, fixed: Neighbours, forward: bool) -> None:
    order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
    for k in order:
        place = {item: p for p, item in enumerate(layers[k - 1 if forward else k + 1])}
        own = {item: p for p, item in enumerate(layers[k])}
        centre = {
            item: sum(place[x] for x in fixed[item]) / len(fixed[item])
            if fixed[item]
            else float(own[item])
            for item in layers[k]
        }
        layers[k].sort(key=lambda item, c=centre, o=own: (c[item], o[item]))  # type: ignore[misc]


def _swap(layers: Layers, before: Neighbours, after: Neighbours, beside: Neighbours) -> bool:
    """Swaps neighbours in each layer where that helps; says whether it did anywhere."""
    helped = False
    for k, layer in enumerate(layers):
        if len(layer) > _MOST_SWAPPED:
            continue
        sides = []
        if k:
            sides.append((before, {item: p for p, item in enumerate(layers[k - 1])}))
        if k + 1 < len(layers):
            sides.append((after, {item: p for p, item in enumerate(layers[k + 1])}))
        place = {item: p for p, item in enumerate(layer)}
        for p in range(len(layer) - 1):
            upper, lower = layer[p], layer[p + 1]
            gain = _closer(upper, lower, p, beside, place)
            for side, there in sides:
                above = [there[x] for x in side[upper]]
                below = [there[x] for x in side[lower]]
                gain += _inversions(above, below) - _inversions(below, above)
            if gain > 0:
                layer[p], layer[p + 1] = lower, upper
                place[lower], place[upper] = p, p + 1
                helped = True
    return helped


def _closer(upper: int, lower: int, at: int, beside: Neighbours, place: dict[int, int]) -> int:
    """How many places shorter the ways within the layer become when two neighbours are swapped."""
    down = sum(1 if place[x] > at + 1 else -1 for x in beside[upper] if x != lower)
    up = sum(1 if place[x] < at else -1 for x in beside[lower] if x != upper)
    return down + up


def _inversions(above: list[int], below: list[int]) -> int:
    return sum(a > b for a in above for b in below)


def _apart(layers: Layers, beside: Neighbours) -> int:
    """How far items that are joined within a layer are from being next to each other."""
    total = 0
    for layer in layers:
        place = {item: p for p, item in enumerate(layer)}
        total += sum(abs(place[x] - p) - 1 for item, p in place.items() for x in beside[item])
    return total // 2


def _total(layers: Layers, after: Neighbours) -> int:
    """Crossings of all layers: inversions in the sequence of right ends, counted by insertion."""
    crossings = 0
    for left, right in pairwise(layers):
        place = {item: p for p, item in enumerate(right)}
        met: list[int] = []
        for item in left:
            ends = sorted(place[x] for x in after[item])
            crossings += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return crossings


def stack_rows(
    layers: Layers, links: Links, above: Sequence[float], below: Sequence[float]
) -> list[float]:
    """The height of each item's centre, growing downwards.

    Args:
        layers: the items of each layer, from top to bottom.
        links: pairs of items in adjacent layers, the earlier first.
        above: the room that each item needs above its centre.
        below: the same below it.
    """
    height = [0.0] * len(above)
    before, after = _neighbours(layers, links)
    for layer in layers:
        _settle(layer, [0.0] * len(layer), height, above, below)
    for sweep in range(_HEIGHT_SWEEPS):
        order = layers if sweep % 2 == 0 else list(reversed(layers))
        for layer in order:
            sides = (
                [before, after] if sweep >= _HEIGHT_SWEEPS // 2 else [(before, after)[sweep % 2]]
            )
            wishes = []
            for item in layer:
                seen = [height[x] for side in sides for x in side[item]]
                wishes.append(sum(seen) / len(seen) if seen else height[item])
            _settle(layer, wishes, height, above, below)
    return height


def _settle(
    layer: Sequence[int],
    wishes: Sequence[float],
    height: list[float],
    above: Sequence[float],
    below: Sequence[float],
) -> None:
    offsets = [0.0]
    for upper, lower in pairwise(layer):
        offsets.append(offsets[-1] + below[upper] + above[lower])
    if layer:
        found = isotonic_regression(np.subtract(wishes, offsets)).x + offsets
        for item, at in zip(layer, found.tolist(), strict=True):
            height[item] = at
