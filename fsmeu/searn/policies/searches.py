"""Searches at test time: greedy, and with a beam."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.policies.mixture import Mixture, draws, mixed_scores, sampled_actions
from fsmeu.searn.spaces.protocol import Search

__all__ = ["beam", "greedy", "greedy_losses", "sampled"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def greedy(search: Search, policy: Mixture, examples: Ints) -> list[Any]:
    """The output of each example, by the best action of the averaged policies in each state."""
    return _walked(search, examples, lambda states: _best(search, policy, states))


def _best(search: Search, policy: Mixture, states: Any) -> Ints:
    scores = mixed_scores(policy, search.allowed(states), search.rows(states))
    return np.asarray(scores.argmax(axis=1), np.int64)


def greedy_losses(search: Search, policy: Mixture, examples: Ints) -> Floats:
    """The loss of each example's output by greedy search, (S,); the search must know gold."""
    losses = np.zeros(len(examples))
    states, places = search.start(examples), np.arange(len(examples))
    while len(states):
        done = search.is_done(states)
        if done.any():
            losses[places[done]] = search.losses(states.take(done))
        states, places = states.take(~done), places[~done]
        if len(states):
            states = search.step(states, _best(search, policy, states))
    return losses


def sampled(search: Search, policy: Mixture, examples: Ints, seed: int) -> list[Any]:
    """The output of each example, where in each state a drawn policy decides (section 3.2.3)."""

    def decide(states: Any) -> Ints:
        numbers = draws(seed, states.examples, states.progress)
        return sampled_actions(
            policy, search.allowed(states), search.rows(states), states.examples, None, numbers
        )

    return _walked(search, examples, decide)


def _walked(search: Search, examples: Ints, decide: Any) -> list[Any]:
    outputs: list[Any] = [None] * len(examples)
    states, places = search.start(examples), np.arange(len(examples))
    while len(states):
        done = search.is_done(states)
        finished = np.flatnonzero(done)
        found = search.outputs(states.take(finished))
        for k, output in zip(places[finished].tolist(), found, strict=True):
            outputs[k] = output
        states, places = states.take(~done), places[~done]
        if len(states):
            states = search.step(states, decide(states))
    return outputs


def beam(search: Search, policy: Mixture, examples: Ints, size: int) -> list[Any]:
    """The output of each example, by the best of ``size`` partial ones of equal progress.

    Partial outputs are compared by the sum of their decisions' scores: the logarithm of their
    probability, where the learner tells probabilities.
    """
    outputs: list[Any] = [None] * len(examples)
    best = np.full(len(examples), -np.inf)
    first = (search.start(examples), np.arange(len(examples)), np.zeros(len(examples)))
    waiting: dict[int, list[Any]] = {}
    _sort_in(waiting, *first)
    while waiting:
        parts = waiting.pop(min(waiting))
        states = search.join([part[0] for part in parts])
        places = np.concatenate([part[1] for part in parts])
        totals = np.concatenate([part[2] for part in parts])
        kept = _best_of(places, totals, size)
        states, places, totals = states.take(kept), places[kept], totals[kept]
        done = search.is_done(states)
        _finish(search, states, places, totals, np.flatnonzero(done), best, outputs)
        at = np.flatnonzero(~done)
        if len(at):
            _expand(search, policy, states.take(at), places[at], totals[at], size, waiting)
    return outputs


def _sort_in(waiting: dict[int, list[Any]], states: Any, places: Ints, totals: Floats) -> None:
    """Puts states to those of the same progress."""
    for progress in np.unique(states.progress).tolist():
        at = np.flatnonzero(states.progress == progress)
        waiting.setdefault(progress, []).append((states.take(at), places[at], totals[at]))


def _best_of(places: Ints, totals: Floats, size: int) -> Ints:
    """The indices of the best few of each place, best first."""
    order = np.lexsort((-totals, places))
    sorted_places = places[order]
    begins = np.flatnonzero(np.concatenate(([True], sorted_places[1:] != sorted_places[:-1])))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return order[rank < size]


def _finish(
    search: Search,
    states: Any,
    places: Ints,
    totals: Floats,
    finished: Ints,
    best: Floats,
    outputs: list[Any],
) -> None:
    """Keeps finished outputs that are better than those before."""
    better = finished[totals[finished] > best[places[finished]]]
    better = better[_best_of(places[better], totals[better], 1)] if len(better) else better
    found = search.outputs(states.take(better))
    for k, total, output in zip(places[better].tolist(), totals[better], found, strict=True):
        best[k], outputs[k] = total, output


def _expand(
    search: Search,
    policy: Mixture,
    states: Any,
    places: Ints,
    totals: Floats,
    size: int,
    waiting: dict[int, list[Any]],
) -> None:
    """Puts the best followers of states to those that wait."""
    scores = mixed_scores(policy, search.allowed(states), search.rows(states))
    sums = totals[:, None] + scores
    width = min(size, sums.shape[1])
    actions = np.argpartition(-sums, width - 1, axis=1)[:, :width]
    rows = np.repeat(np.arange(len(states)), width)
    picked = actions.ravel()
    after = sums[rows, picked]
    kept = np.flatnonzero(after > -np.inf)
    rows, picked, after = rows[kept], picked[kept], after[kept]
    _sort_in(waiting, search.step(states.take(rows), picked), places[rows], after)
