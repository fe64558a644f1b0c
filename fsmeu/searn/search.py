"""Searches that follow policies, all examples in lockstep: greedy, sampled, with a beam, roll-ins.

A roll-in collects examples of decisions from the states that a policy runs through (Figure 1 of
Daumé et al. 2009, lines 3 to 14). The cost of an action is what the optimal policy loses after it;
or the expected loss when the current policy decides all that follows, less that of the best action
(section 3.2.2). "sampled" runs that policy once after each action, with tied draws: those of a
state depend on the example and its progress alone (Ng and Jordan 2000). "expected" follows all
policies of the mixture at once: states that nothing later can tell apart are one, so that the
expectation is a sweep over these, backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.searn.features.hashing import uniform
from fsmeu.searn.learners.protocol import Decisions
from fsmeu.searn.policies import (
    Mixture,
    mixed_scores,
    optimal_actions,
    policy_actions,
    sampled_actions,
    targets_of,
)
from fsmeu.searn.spaces.protocol import Space, joined

__all__ = [
    "COSTS",
    "beam",
    "expected_costs",
    "greedy",
    "greedy_losses",
    "roll_in",
    "sampled",
    "sampled_costs",
]

Costs = Callable[[Space, Mixture, int, Any], Floats]


def _ends(space: Space, states: Any, decide: Callable[[Any], Ints]) -> Any:
    """The finished states of searches, in the order of the states that they begin with.

    Args:
        space: the space over examples.
        states: where the searches begin.
        decide: the action of each state, (B,).
    """
    going, parts, places = np.arange(len(states)), [], []
    while True:
        done = space.is_done(states)
        if done.any() or not len(states):
            parts.append(states.take(done))
            places.append(going[done])
        states, going = states.take(~done), going[~done]
        if not len(states):
            return joined(parts).take(np.argsort(np.concatenate(places)))
        states = space.step(states, decide(states))


def _greedily(space: Space, policy: Mixture) -> Callable[[Any], Ints]:
    def decide(states: Any) -> Ints:
        scores = mixed_scores(policy, space.allowed(states), space.rows(states))
        return np.asarray(scores.argmax(axis=1), np.int64)

    return decide


def _by_draws(space: Space, policy: Mixture, seed: int) -> Callable[[Any], Ints]:
    def decide(states: Any) -> Ints:
        best = optimal_actions(*space.costs(states)) if policy.optimal > 0 else None
        numbers = uniform(seed, states.examples, states.progress)
        allowed, features = space.allowed(states), space.rows(states)
        return sampled_actions(policy, allowed, features, states.examples, best, numbers)

    return decide


def greedy(space: Space, policy: Mixture, examples: Ints) -> list[Any]:
    """The output of each example, by the best action of the averaged policies in each state."""
    return space.outputs(_ends(space, space.start(examples), _greedily(space, policy)))


def greedy_losses(space: Space, policy: Mixture, examples: Ints) -> Floats:
    """The loss of each example's output by greedy search, (S,); the search must know gold."""
    return space.losses(_ends(space, space.start(examples), _greedily(space, policy)))


def sampled(space: Space, policy: Mixture, examples: Ints, seed: int) -> list[Any]:
    """The output of each example, where in each state a drawn policy decides (section 3.2.3)."""
    decide = _by_draws(space, policy, seed)
    return space.outputs(_ends(space, space.start(examples), decide))


class _Waiting:
    """States by progress, with arrays of their first axis beside them."""

    def __init__(self, *first: Any) -> None:
        self.parts: dict[int, list[Any]] = {}
        self.add(*first)

    def add(self, states: Any, *beside: Any) -> None:
        """Adds states, each to those of its progress."""
        for progress in np.unique(states.progress).tolist():
            at = np.flatnonzero(states.progress == progress)
            part = (states.take(at), *(one[at] for one in beside))
            self.parts.setdefault(progress, []).append(part)

    def layers(self) -> Iterator[tuple[Any, ...]]:
        """The states of least progress with what is beside them, until none are left."""
        while self.parts:
            states, *beside = zip(*self.parts.pop(min(self.parts)), strict=True)
            yield joined(states), *map(np.concatenate, beside)


# -- beam -----------------------------------------------------------------------------------------


def beam(space: Space, policy: Mixture, examples: Ints, size: int) -> list[Any]:
    """The output of each example, by the best of ``size`` partial ones of equal progress.

    Partial outputs are compared by the sum of their decisions' scores: the logarithm of their
    probability, where the learner tells probabilities.
    """
    outputs: list[Any] = [None] * len(examples)
    best, count = np.full(len(examples), -np.inf), len(examples)
    waiting = _Waiting(space.start(examples), np.arange(count), np.zeros(count))
    for states, places, totals in waiting.layers():
        kept = _best_of(places, totals, size)
        states, places, totals = states.take(kept), places[kept], totals[kept]
        done = space.is_done(states)
        better = np.flatnonzero(done & (totals > best[places]))
        better = better[_best_of(places[better], totals[better], 1)] if len(better) else better
        found = space.outputs(states.take(better))
        for k, total, output in zip(places[better].tolist(), totals[better], found, strict=True):
            best[k], outputs[k] = total, output
        at = np.flatnonzero(~done)
        if len(at):
            rows, actions, after = _followers(space, policy, states.take(at), totals[at], size)
            waiting.add(space.step(states.take(at[rows]), actions), places[at[rows]], after)
    return outputs


def _best_of(places: Ints, totals: Floats, size: int) -> Ints:
    """The indices of the best few of each place, best first."""
    order = np.lexsort((-totals, places))
    sorted_places = places[order]
    begins = np.flatnonzero(np.concatenate(([True], sorted_places[1:] != sorted_places[:-1])))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return order[rank < size]


def _followers(
    space: Space, policy: Mixture, states: Any, totals: Floats, size: int
) -> tuple[Ints, Ints, Floats]:
    """States, actions and totals of the best steps from each state, three arrays of one length."""
    scores = mixed_scores(policy, space.allowed(states), space.rows(states))
    sums = totals[:, None] + scores
    width = min(size, sums.shape[1])
    actions = np.argpartition(-sums, width - 1, axis=1)[:, :width].ravel()
    rows = np.repeat(np.arange(len(states)), width)
    after = sums[rows, actions]
    kept = np.flatnonzero(after > -np.inf)
    return rows[kept], actions[kept], after[kept]


# -- roll-in --------------------------------------------------------------------------------------


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
    space: Space,
    policy: Mixture,
    examples: Ints,
    seed: int,
    ties: str = "gold",
    costs_of: Costs | None = None,
) -> RollIn:
    """The examples of decisions that a policy runs through, all sentences in lockstep.

    Args:
        space: the space, with gold outputs.
        policy: the policy that decides.
        examples: the examples to run through.
        seed: says which policy of a mixture decides where.
        ties: see ``targets_of``.
        costs_of: costs of the actions of states, one of ``COSTS``; those of the space (with the
            optimal policy from there on) unless others are given.
    """
    rows, costs, targets, owners, counts = [], [], [], [], []

    def decide(states: Any) -> Ints:
        optimal, gold_action = space.costs(states)
        cost = optimal if costs_of is None else costs_of(space, policy, seed, states)
        features = space.rows(states)
        numbers = uniform(seed, states.examples, states.progress)
        best, allowed = optimal_actions(optimal, gold_action), np.isfinite(optimal)
        width, begins = features[0].shape[0], features[1]
        rows.append(features[0])
        owners.append(states.examples)
        counts.append(np.ones(len(states), np.int64) if begins is None else np.diff(begins))
        costs.append(_unpadded(cost, begins, width))
        targets.append(_unpadded(targets_of(cost, gold_action, ties), begins, width))
        return sampled_actions(policy, allowed, features, states.examples, best, numbers)

    losses = space.losses(_ends(space, space.start(examples), decide))
    begins = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    found, wanted = np.concatenate(costs), np.concatenate(targets)
    decisions = Decisions(vstack(rows, format="csr"), found, wanted, begins)
    return RollIn(decisions, np.concatenate(owners), losses)


def _unpadded(table: NDArray[Any], begins: Ints | None, rows: int) -> NDArray[Any]:
    """One row for each row of features, (R, A), from one row for each state, (B, C)."""
    if begins is None:
        return table
    counts = np.diff(begins)
    most = max(1, int(counts.max(initial=1)))
    cells = table.reshape(len(counts), most, -1)
    state = np.repeat(np.arange(len(counts)), counts)
    return np.asarray(cells[state, np.arange(rows) - np.repeat(begins[:-1], counts)])


# -- costs under the current policy ---------------------------------------------------------------


def sampled_costs(space: Space, policy: Mixture, seed: int, states: Any) -> Floats:
    """The loss after each action and one run of the policy, less the least, (B, C)."""
    allowed = space.allowed(states)
    rows, actions = np.nonzero(allowed)
    after = space.step(states.take(rows), actions)
    losses = space.losses(_ends(space, after, _by_draws(space, policy, seed)))
    return _table(allowed, rows, actions, losses)


def _table(allowed: Any, rows: Ints, actions: Ints, losses: Floats) -> Floats:
    found = np.full(allowed.shape, np.inf)
    found[rows, actions] = losses
    return np.asarray(found - found.min(axis=1, keepdims=True))


def expected_costs(space: Space, policy: Mixture, seed: int, states: Any) -> Floats:
    """The expected loss after each action when the policy goes on, less the least, (B, C).

    Raises:
        InputError: the space does not say what its states depend on.
    """
    if not hasattr(space, "keys"):
        must = 'costs="expected" needs a space over labels, whose states can be compared'
        raise InputError(message("Searn", must, None, 'Use costs="sampled" or "optimal"'))
    allowed = space.allowed(states)
    rows, actions = np.nonzero(allowed)
    after = space.step(states.take(rows), actions)
    return _table(allowed, rows, actions, _Nodes(space, policy).values(after))


COSTS: dict[str, Costs | None] = {
    "optimal": None,
    "expected": expected_costs,
    "sampled": sampled_costs,
}
"""How costs are found: a function of a space, a policy, a seed and states that returns them,
(B, C); None for those with the optimal policy from there on, which the space knows."""


class _Nodes:
    """The expected losses of states; those that nothing later can tell apart are one node.

    An *entry* is a state that was added; entries of the same progress and key share a node.
    """

    def __init__(self, space: Any, policy: Mixture) -> None:
        self.space, self.policy = space, policy
        weights = np.array((policy.optimal, *policy.weights))
        self.weights = weights[weights > 0]

    def values(self, states: Any) -> Floats:
        """The expected loss of each state, (B,)."""
        self.entries = len(states)
        self.waiting = _Waiting(states, np.arange(len(states)))
        layers = [self._layer(*layer) for layer in self.waiting.layers()]
        value = np.zeros(self.entries)
        for entries, node, open_nodes, followers, losses in reversed(layers):
            losses[open_nodes] = value[followers] @ self.weights
            value[entries] = losses[node]
        return value[: len(states)]

    def _layer(self, states: Any, entries: Ints) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """Entries, the node of each, nodes that go on, entries that follow them, and losses."""
        keys = np.column_stack((states.examples, self.space.keys(states)))
        _, first, node = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        states = states.take(first)
        done, losses = self.space.is_done(states), np.zeros(len(first))
        if done.any():
            losses[done] = self.space.losses(states.take(done))
        open_nodes = np.flatnonzero(~done)
        followers = np.zeros((len(open_nodes), len(self.weights)), np.int64)
        if len(open_nodes):
            going = states.take(open_nodes)
            for k, line in enumerate(policy_actions(self.policy, self.space, going)):
                followers[:, k] = self.entries + np.arange(len(going))
                self.entries += len(going)
                self.waiting.add(self.space.step(going, line), followers[:, k])
        return entries, np.asarray(node).ravel(), open_nodes, followers, losses
