"""Examples of decisions from the states that a policy runs through (Figure 1, lines 3 to 14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.rows import stacked
from fsmeu.searn.learners.protocol import Decisions
from fsmeu.searn.policies.mixture import (
    Mixture,
    draws,
    optimal_actions,
    sampled_actions,
    targets_of,
)
from fsmeu.searn.spaces.protocol import Search

__all__ = ["RollIn", "roll_in"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RollIn:
    """What a policy ran through.

    Attributes:
        decisions: one example of a decision for each state.
        owners: the example of the corpus from which each comes, (N,).
        losses: the loss of the policy's output for each example, (S,).
    """

    decisions: Decisions
    owners: Ints
    losses: Floats


def roll_in(
    search: Search,
    policy: Mixture,
    examples: Ints,
    seed: int,
    ties: str = "gold",
    costs_of: Callable[[Search, Mixture, int, Any], Floats] | None = None,
    tell: Callable[[int], None] | None = None,
) -> RollIn:
    """The examples of decisions that a policy runs through, all sentences in lockstep.

    Args:
        search: the space, with gold outputs.
        policy: the policy that decides.
        examples: the examples to run through.
        seed: says which policy of a mixture decides where.
        ties: see ``targets_of``.
        costs_of: costs of the actions of states, see ``roll_out``; those of the search (with the
            optimal policy from there on) unless others are given.
        tell: is called with the number of states after each step.
    """
    states, losses = search.start(examples), np.zeros(len(examples))
    places = np.arange(len(examples))
    rows, costs, targets, owners, counts = [], [], [], [], []
    while len(states):
        done = search.is_done(states)
        if done.any():
            losses[places[done]] = search.losses(states.take(done))
            states, places = states.take(~done), places[~done]
            if not len(states):
                break
        optimal, own = search.costs(states)
        cost = optimal if costs_of is None else costs_of(search, policy, seed, states)
        features = search.rows(states)
        numbers = draws(seed, states.examples, states.progress)
        best = optimal_actions(optimal, own)
        actions = sampled_actions(
            policy, np.isfinite(optimal), features, states.examples, best, numbers
        )
        rows.append(features[0])
        owners.append(states.examples)
        counts.append(_counts(features, len(states)))
        width = features[0].shape[0]
        costs.append(_unpadded(cost, features[1], width))
        targets.append(_unpadded(targets_of(cost, own, ties), features[1], width))
        if tell is not None:
            tell(len(states))
        states = search.step(states, actions)
    begins = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    found = Decisions(stacked(rows), np.concatenate(costs), np.concatenate(targets), begins)
    return RollIn(found, np.concatenate(owners), losses)


def _counts(features: Any, count: int) -> Ints:
    """The number of rows of each state, (B,)."""
    return np.ones(count, np.int64) if features[1] is None else np.diff(features[1])


def _unpadded(table: NDArray[Any], begins: Ints | None, rows: int) -> NDArray[Any]:
    """One row for each row of features, (R, A), from one row for each state, (B, C)."""
    if begins is None:
        return table
    counts = np.diff(begins)
    most = max(1, int(counts.max(initial=1)))
    cells = table.reshape(len(counts), most, -1)
    state = np.repeat(np.arange(len(counts)), counts)
    return np.asarray(cells[state, np.arange(rows) - np.repeat(begins[:-1], counts)])
