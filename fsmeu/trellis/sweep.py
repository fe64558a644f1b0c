"""Sweeps over a trellis: mass forward, backward values, and what flows through each feature.

Every array has the sequences of a batch as first axis: they share the structure, not the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.counts import Counts
from fsmeu.trellis.plan import Plan

__all__ = ["backward", "feature_flows", "forward", "taken_weights"]

Floats = NDArray[np.float64]


def taken_weights(plans: Sequence[Plan], weights: Sequence[Floats]) -> list[Floats]:
    """For each position the entries of its matrix ``arcs_to_targets``, (batch, entries).

    Args:
        plans: the plan of each position.
        weights: the weights of the acceptor's arcs at each position, (batch, arcs).
    """
    return [plan.arcs_to_targets.taken(one) for plan, one in zip(plans, weights, strict=True)]


def forward(
    plans: Sequence[Plan], entries: Sequence[Floats], start: Floats, counts: Counts
) -> tuple[list[Floats], list[Floats]]:
    """The mass that reaches each pair of layers 0, ..., n, and the mass of counted targets.

    Args:
        plans: the plan of each position.
        entries: the entries of each plan's matrix ``arcs_to_targets``, (batch, entries).
        start: the mass of each pair of layer 0, (batch, pairs).
        counts: how the distribution of the counter is held.

    Returns:
        Arrays (batch, pairs, columns) for each layer, and (batch, counted targets, columns) for
        each position: the mass before the amounts are counted.
    """
    layers, moves = [start[:, :, None] * counts.one()], []
    for plan, one in zip(plans, entries, strict=True):
        moved = plan.arcs_to_targets.transposed_times(plan.gather.times(layers[-1]), one)
        blocks = np.split(moved, len(plan.amounts), axis=1)
        after = counts.plus(np.ascontiguousarray(blocks[0]), plan.amounts[0])
        for block, amount in zip(blocks[1:], plan.amounts[1:], strict=True):
            after = after + counts.plus(np.ascontiguousarray(block), amount)
        layers.append(after)
        moves.append(moved)
    return layers, moves


def backward(
    plans: Sequence[Plan], entries: Sequence[Floats], final: Floats, counts: Counts
) -> list[Floats]:
    """For each position, the backward values of its counted targets, (batch, targets, columns).

    Args:
        plans: the plan of each position.
        entries: the entries of each plan's matrix ``arcs_to_targets``, (batch, entries).
        final: the final weight of each pair of layer n, (batch, pairs).
        counts: how the distribution of the counter is held.
    """
    value = final[:, :, None] * counts.one()
    layers = []
    for plan, one in zip(reversed(plans), reversed(entries), strict=True):
        ahead = np.concatenate([counts.plus(value, amount) for amount in plan.amounts], axis=1)
        layers.append(ahead)
        value = plan.scatter.times(plan.arcs_to_targets.times(ahead, one))
    return layers[::-1]


def feature_flows(
    plan: Plan, weights: Floats, mass: Floats, moved: Floats, ahead: Floats, counts: Counts
) -> Floats:
    """The mass of all paths that show each feature at a position, (batch, features, columns).

    Args:
        plan: the plan of the position; features are those of all terms, one after the other.
        weights: the weights of the acceptor's arcs, (batch, arcs).
        mass: the mass of the pairs before, (batch, pairs, columns).
        moved: the mass of the counted targets, (batch, targets, columns).
        ahead: the backward values of the counted targets, (batch, targets, columns).
        counts: how the distribution of the counter is held.
    """
    flows = plan.by_target.times(counts.times(moved, ahead))
    uses = plan.others
    if len(uses.bundle):
        held = uses.holders.times(mass)[:, uses.holder]
        bundles = uses.bundles.times(ahead, uses.bundles.taken(weights))[:, uses.bundle]
        flows += uses.collect.times(counts.times(held, bundles))
    return flows
