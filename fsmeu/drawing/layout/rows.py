"""Where the items of ordered layers lie up and down: near their neighbours, never too close.

Each layer in turn takes the mean heights of its neighbours as wishes; the nearest heights (least
squares) that keep the order and the distances are an isotonic regression, found by pooling.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["spread", "stack_rows"]

_SWEEPS = 24


def stack_rows(
    layers: Sequence[Sequence[int]],
    links: Sequence[tuple[int, int]],
    above: Sequence[float],
    below: Sequence[float],
) -> list[float]:
    """The height of each item's centre, growing downwards.

    Args:
        layers: the items of each layer, from top to bottom.
        links: pairs of items in adjacent layers, the earlier first.
        above: the room that each item needs above its centre.
        below: the same below it.
    """
    height = [0.0] * len(above)
    before: list[list[int]] = [[] for _ in above]
    after: list[list[int]] = [[] for _ in above]
    for left, right in links:
        before[right].append(left)
        after[left].append(right)
    for layer in layers:
        _settle(layer, [0.0] * len(layer), height, above, below)
    for sweep in range(_SWEEPS):
        order = layers if sweep % 2 == 0 else list(reversed(layers))
        for layer in order:
            sides = [before, after] if sweep >= _SWEEPS // 2 else [(before, after)[sweep % 2]]
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
    found = spread([w - o for w, o in zip(wishes, offsets, strict=True)])
    for item, base, offset in zip(layer, found, offsets, strict=True):
        height[item] = base + offset


def spread(wishes: Sequence[float]) -> list[float]:
    """The nondecreasing numbers nearest to these in least squares (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for wish in wishes:
        total, count = wish, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            earlier, size = pools.pop()
            total, count = total + earlier, count + size
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]
