"""Costs of actions under the current policy (section 3.2.2): by a sample, or exactly.

The cost of an action is the expected loss when the policy decides all that follows it, less that of
the best action. "sampled" runs the policy once after each action, with tied draws: those of a state
depend on the example and its progress alone (Ng and Jordan 2000). "expected" follows all policies
of the mixture at once: states that nothing later can tell apart are one, so that the expectation is
a sweep over these, backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.searn.policies.mixture import (
    Mixture,
    draws,
    optimal_actions,
    policy_actions,
    sampled_actions,
)
from fsmeu.searn.spaces.protocol import Search

__all__ = ["COSTS", "expected_costs", "rolled_costs", "sampled_costs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Costs = Callable[[Search, Mixture, int, Any], Floats]

COSTS = ("optimal", "expected", "sampled")


def rolled_costs(costs: str) -> Costs | None:
    """A function of a search, a policy, a seed and states that returns costs, (B, C).

    None for costs with the optimal policy from there on, which the search knows.
    """
    return {"optimal": None, "expected": expected_costs, "sampled": sampled_costs}[costs]


def sampled_costs(search: Search, policy: Mixture, seed: int, states: Any) -> Floats:
    """The loss after each action and one run of the policy, less the least, (B, C)."""
    allowed = search.allowed(states)
    rows, actions = np.nonzero(allowed)
    followers, places = search.step(states.take(rows), actions), np.arange(len(rows))
    losses = np.zeros(len(rows))
    while len(followers):
        done = search.is_done(followers)
        if done.any():
            losses[places[done]] = search.losses(followers.take(done))
        followers, places = followers.take(~done), places[~done]
        if len(followers):
            numbers = draws(seed, followers.examples, followers.progress)
            chosen = _chosen(search, policy, followers, numbers)
            followers = search.step(followers, chosen)
    return _table(allowed, rows, actions, losses)


def _chosen(search: Search, policy: Mixture, states: Any, numbers: Floats) -> Ints:
    best = optimal_actions(*search.costs(states)) if policy.optimal > 0 else None
    allowed, features = search.allowed(states), search.rows(states)
    return sampled_actions(policy, allowed, features, states.examples, best, numbers)


def _table(allowed: Any, rows: Ints, actions: Ints, losses: Floats) -> Floats:
    found = np.full(allowed.shape, np.inf)
    found[rows, actions] = losses
    return np.asarray(found - found.min(axis=1, keepdims=True))


def expected_costs(search: Search, policy: Mixture, seed: int, states: Any) -> Floats:
    """The expected loss after each action when the policy goes on, less the least, (B, C).

    Raises:
        InputError: the space does not say what its states depend on.
    """
    if not hasattr(search, "keys"):
        must = 'costs="expected" needs a space over labels, whose states can be compared'
        raise InputError(sentence("Searn", must, None, 'Use costs="sampled" or "optimal"'))
    allowed = search.allowed(states)
    rows, actions = np.nonzero(allowed)
    nodes = _Nodes(search, policy)
    nodes.add(search.step(states.take(rows), actions))
    return _table(allowed, rows, actions, nodes.values())


class _Nodes:
    """States by progress, those that nothing later can tell apart as one.

    An *entry* is a state that was added; entries of the same progress and key share a node.
    """

    def __init__(self, search: Any, policy: Mixture) -> None:
        self.search, self.policy = search, policy
        self.weights = np.array((policy.optimal, *policy.weights))
        self.waiting: dict[int, list[tuple[Any, Ints]]] = {}
        self.entries = 0

    def add(self, states: Any) -> Ints:
        """The numbers of the states' entries, (B,)."""
        numbers = self.entries + np.arange(len(states))
        self.entries += len(states)
        for progress in np.unique(states.progress).tolist():
            at = np.flatnonzero(states.progress == progress)
            self.waiting.setdefault(progress, []).append((states.take(at), numbers[at]))
        return numbers

    def values(self) -> Floats:
        """The expected loss of each entry that was there at first, in the order of adding."""
        asked = self.entries
        layers: list[tuple[Ints, Ints, Ints, Ints, Floats]] = []
        while self.waiting:
            layers.append(self._layer(self.waiting.pop(min(self.waiting))))
        value = np.zeros(self.entries)
        for entries, node, open_nodes, followers, losses in reversed(layers):
            losses[open_nodes] = value[followers] @ self._shares
            value[entries] = losses[node]
        return value[:asked]

    @property
    def _shares(self) -> Floats:
        return np.asarray(self.weights[self.weights > 0])

    def _layer(self, parts: Sequence[tuple[Any, Ints]]) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """Entries, the node of each, nodes that go on, entries that follow them, and losses."""
        states = self.search.join([part[0] for part in parts])
        entries = np.concatenate([part[1] for part in parts])
        keys = np.column_stack((states.examples, self.search.keys(states)))
        _, first, node = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        states = states.take(first)
        done = self.search.is_done(states)
        losses = np.zeros(len(states))
        if done.any():
            losses[done] = self.search.losses(states.take(done))
        open_nodes = np.flatnonzero(~done)
        followers = np.zeros((len(open_nodes), len(self._shares)), np.int64)
        if len(open_nodes):
            going = states.take(open_nodes)
            chosen = policy_actions(self.policy, self.search, going)
            for k, line in enumerate(chosen):
                followers[:, k] = self.add(self.search.step(going, line))
        return entries, np.asarray(node).ravel(), open_nodes, followers, losses
