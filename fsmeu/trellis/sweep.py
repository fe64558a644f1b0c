"""The sweep forward over a trellis.

Every array has the sequences of a batch as first axis: they share the structure, not the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.counts import Counts
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.steps import Steps

__all__ = ["forward"]

Floats = NDArray[np.float64]


def forward(
    plans: Sequence[Plan], weights: Sequence[Floats], start: Floats, counts: Counts, steps: Steps
) -> tuple[list[Floats], list[Floats]]:
    """The mass that reaches each pair of layers 0, ..., n, and the mass of counted targets.

    Args:
        plans: the plan of each position.
        weights: the weights of the acceptor's arcs at each position, (batch, arcs).
        start: the mass of each pair of layer 0, (batch, pairs).
        counts: how the distribution of the counter is held.
        steps: what computes a position.

    Returns:
        Arrays (batch, pairs, columns) for each layer, and (batch, counted targets, columns) for
        each position: the mass before the amounts are counted.
    """
    layers, moves = [start[:, :, None] * counts.one()], []
    for plan, one in zip(plans, weights, strict=True):
        after, moved = steps.forward(plan, one, layers[-1], counts)
        layers.append(after)
        moves.append(moved)
    return layers, moves
