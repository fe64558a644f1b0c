"""Policies, and searches that follow them, all examples in lockstep.

A policy is the optimal one, a learned one, or a mixture of both (Figure 1 of Daumé et al. 2009,
line 16), which draws anew, in each state, which of its policies decides. Draws are hashes
of a seed, the example and its progress, so that they do not depend on what is decided together.

A roll-in collects examples of decisions from the states that a policy runs through (Figure 1, lines
3 to 14). The cost of an action is what the optimal policy loses after it; or the expected loss when
the current policy decides all that follows, less that of the best action (section 3.2.2). "sampled"
runs that policy once after each action, with tied draws (Ng and Jordan 2000). "expected" follows
all policies of the mixture at once: states that nothing later can tell apart are one, so that the
expectation is a sweep over these, backwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, check_int, one_of
from fsmeu.learning.base import number_between
from fsmeu.learning.saving import register
from fsmeu.models.checks import check_shape
from fsmeu.parallel import threads
from fsmeu.searn.features import uniform
from fsmeu.searn.learners.linear import Decisions
from fsmeu.searn.spaces import joined

Space = Any  # a space over examples; see ``spaces``
Costs = Callable[[Space, "Mixture", int, Any], Floats]
Rule = Callable[["Mixture", Sequence[Any]], float]
_EQUAL = 1e-12  # costs up to this are those of optimal actions: sums of few that are nearly 0
MOST_ITERATIONS = 10_000  # iterations whose number is derived: each trains a model
_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)


# -- policies -------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, repr=False)
class Mixture(BaseEstimator):  # type: ignore[misc]
    """A mixture of the optimal policy and of learned ones; all probabilities add up to 1.

    The last model of a learned policy is trained on all examples. Models before it, one for each
    fold of the examples and not trained on that fold, decide in its place while rolling in.
    """

    optimal: float = 1.0  # the probability of the optimal policy
    weights: tuple[float, ...] = ()  # that of each learned policy
    models: tuple[Sequence[Any], ...] = ()  # of each learned policy
    folds: Any = field(default=None, compare=False)  # of each example, int (S,)

    def without_optimal(self) -> Mixture:
        """The mixture of the learned policies alone (Figure 1, line 18)."""
        total = sum(self.weights)
        return Mixture(0.0, tuple(w / total for w in self.weights), self.models, self.folds)


def interpolated(old: Mixture, beta: float, models: Sequence[Any]) -> Mixture:
    """A learned policy with probability beta, else the old mixture (Figure 1, line 16)."""
    weights = (*((1 - beta) * w for w in old.weights), beta)
    return Mixture((1 - beta) * old.optimal, weights, (*old.models, models), old.folds)


def interpolation_rule(beta: Any, where: str, longest: int, loss_of: Any) -> Rule:
    """A function of the mixture so far and the new models that returns the new policy's weight.

    It is fixed; by "theory" 1 / T^3 for up to T decisions (``longest``); or by "search" that of
    least loss (``loss_of`` a mixture of learned policies), the greatest of several: 0, which ends
    training, where the new policy does not help.
    """

    def searched(policy: Mixture, models: Sequence[Any]) -> float:
        if not policy.weights:
            return 1.0  # with no other beside it, all weights are the same
        least = loss_of(policy.without_optimal())
        best_weight = 0.0
        for weight in _GRID:
            loss = loss_of(interpolated(policy, weight, models).without_optimal())
            if loss < least:
                least = loss
                best_weight = weight
        return best_weight

    if isinstance(beta, str):
        if one_of(where, "beta", beta, ("theory", "search")) == "search":
            return searched
        number = 1.0 / max(1, longest) ** 3
    elif (number := number_between(where, "beta", beta, 0, 1)) == 0:
        raise InputError(where, "beta must be greater than 0", given=beta)
    return lambda policy, models: number


def iterations_of(iterations: Any, beta: Any, influence: float, longest: int, where: str) -> int:
    """The greatest number of iterations; for None, until the optimal policy has ``influence``.

    (1 - beta)^I <= influence for a fixed beta; I = 2 T^3 ln T by Theorem 2, where T is the longest
    search. A SizeLimitError says that more are derived than is reasonable.
    """
    if iterations is not None:
        return check_int(where, "iterations", iterations)
    if beta == "theory":
        needed = max(1, math.ceil(2 * longest**3 * math.log(max(1, longest))))
    elif isinstance(beta, str) or beta == 1:
        needed = MOST_ITERATIONS if isinstance(beta, str) else 1
    elif influence == 0:
        raise InputError(where, "influence must be greater than 0 where beta is below 1")
    else:
        needed = max(1, math.ceil(math.log(influence) / math.log1p(-beta) - 1e-9))
    if needed > MOST_ITERATIONS:
        must = f"at most {MOST_ITERATIONS:,} iterations are made unless their number is given"
        remedy = "Give iterations=, or a larger beta"
        raise SizeLimitError(where, must, given=f"{needed:,}", remedy=remedy)
    return needed


def targets_of(costs: Floats, gold_action: Ints, ties: str) -> Bools:
    """Which actions are to be learned, bool (B, C): "all" optimal ones, or ``optimal_actions``."""
    if ties == "all":
        return np.asarray(costs <= _EQUAL)
    return np.asarray(np.arange(costs.shape[1]) == optimal_actions(costs, gold_action)[:, None])


def optimal_actions(costs: Floats, gold_action: Ints) -> Ints:
    """Gold's own action where it is optimal, else the first that is, (B,), from costs (B, C)."""
    gold_costs = costs[np.arange(len(costs)), np.maximum(gold_action, 0)]
    return np.where((gold_action >= 0) & (gold_costs <= _EQUAL), gold_action, costs.argmin(axis=1))


class Features(NamedTuple):
    """The features of a batch of B states, and their allowed actions."""

    examples: Ints  # (B,)
    allowed: Bools  # (B, C)
    rows: csr_array  # of features, (R, columns)
    begins: Ints  # where the rows of each state begin, and the end of the last, (B + 1,)


def features_of(space: Space, states: Any) -> Features:
    """The features and allowed actions of states."""
    return Features(states.examples, space.allowed(states), *space.rows(states))


def _cells(begins: Ints) -> tuple[Ints, Ints]:
    """The state of each row of features, and its number among the rows of the state, (R,)."""
    state = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    return state, np.arange(begins[-1]) - begins[state]


def sampled_actions(policy: Mixture, features: Features, best: Ints | None, draws: Floats) -> Ints:
    """The action that a mixture takes in each state, (B,), by ``draws`` from [0, 1), (B,).

    ``best`` are optimal actions, which a mixture without the optimal policy does not need.
    """
    shares = np.cumsum((policy.optimal, *policy.weights))
    chosen = np.minimum(np.searchsorted(shares, draws, side="right"), len(shares) - 1)
    actions = np.zeros(len(draws), np.int64) if best is None else best.copy()
    for k, models in enumerate(policy.models, 1):
        folded = policy.folds is not None and len(models) > 1
        fold = policy.folds[features.examples] if folded else np.zeros(1)
        for number, model in enumerate(models[:-1] or models):
            at = np.flatnonzero((chosen == k) & (fold == number))
            if len(at):
                actions[at] = _scores(model, features, at).argmax(axis=1)
    return actions


def _scores(model: Any, features: Features, at: Ints) -> NDArray[Any]:
    """The scores of a model for some states, (b, C); -inf where an action is not allowed."""
    _, allowed, rows, begins = features
    counts = np.diff(begins)
    most = max(1, int(counts.max(initial=1)))
    state, number = _cells(np.concatenate(([0], np.cumsum(counts[at]))))
    rows = rows if len(at) == len(counts) else rows[begins[at][state] + number]
    scores = model.scores(rows)
    check_shape(scores, (rows.shape[0], allowed.shape[1] // most), "scores of actions")
    table = np.full((len(at), most, scores.shape[1]), -np.inf, scores.dtype)
    table[state, number] = scores
    return np.where(allowed[at], table.reshape(len(at), -1), -np.inf)


def mixed_scores(policy: Mixture, features: Features) -> Floats:
    """The logarithm of the mean probability (else the mean score) of actions, (B, C), or -inf."""
    total = np.zeros(features.allowed.shape)
    probabilistic = all(model.probabilistic for models in policy.models for model in models)
    for weight, models in zip(policy.weights, policy.models, strict=True):
        if weight == 0:
            continue
        scores = _scores(models[-1], features, np.arange(len(total))).astype(np.float64)
        if probabilistic:
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
        total += weight * scores
    if probabilistic:
        with np.errstate(divide="ignore"):
            total = np.log(total)
    return np.where(features.allowed, total, -np.inf)


# -- lockstep -------------------------------------------------------------------------------------


def _ends(space: Space, states: Any, decide: Callable[[Any], Ints]) -> Any:
    """The finished states of searches, in the order of the states that they begin with."""
    going = np.arange(len(states))
    parts = []
    places = []
    while True:
        done = space.is_done(states)
        if done.any() or not len(states):
            parts.append(states.take(done))
            places.append(going[done])
        states = states.take(~done)
        going = going[~done]
        if not len(states):
            return joined(parts).take(np.argsort(np.concatenate(places)))
        states = space.step(states, decide(states))


def greedy(space: Space, policy: Mixture, examples: Ints) -> Any:
    """The finished states of examples, by the best action of the averaged policies each time."""

    def decide(states: Any) -> Ints:
        return np.asarray(mixed_scores(policy, features_of(space, states)).argmax(axis=1))

    return _ends(space, space.start(examples), decide)


def sampled(space: Space, policy: Mixture, states: Any, seed: int, callback: Any = None) -> Any:
    """The finished states of searches in which drawn policies decide (section 3.2.3).

    ``callback`` is called with states, their features, costs of actions and gold's own actions.
    """

    def decide(states: Any) -> Ints:
        costs = space.costs(states) if policy.optimal > 0 or callback is not None else ()
        features = features_of(space, states)
        best = optimal_actions(*costs) if costs else None
        if callback is not None:
            callback(states, features, *costs)
        draws = uniform(seed, states.examples, states.progress)
        return sampled_actions(policy, features, best, draws)

    return _ends(space, states, decide)


BeamLayer = tuple[Any, ...]  # states, and arrays beside them whose first axis is theirs


def _taken(layer: BeamLayer, at: Any) -> BeamLayer:
    """The states of a layer at these indices, with what is beside them."""
    return layer[0].take(at), *(array[at] for array in layer[1:])


def _joined(layers: Sequence[BeamLayer]) -> BeamLayer:
    """The states of several layers, with what is beside them."""
    states, *beside = zip(*layers, strict=True)
    return joined(states), *map(np.concatenate, beside)


class _Agenda:
    """States by progress, with arrays beside them."""

    def __init__(self, *first: Any) -> None:
        self.parts: dict[int, list[BeamLayer]] = {}
        self.add(*first)

    def add(self, *layer: Any) -> None:
        """Adds states, each to those of its progress."""
        for progress in np.unique(layer[0].progress).tolist():
            part = _taken(layer, np.flatnonzero(layer[0].progress == progress))
            self.parts.setdefault(progress, []).append(part)

    def layers(self) -> Iterator[BeamLayer]:
        """The states of least progress with what is beside them, until none are left."""
        while self.parts:
            yield _joined(self.parts.pop(min(self.parts)))


def beam(space: Space, policy: Mixture, examples: Ints, size: int) -> Any:
    """The finished state of each example, by the best ``size`` partial ones of equal progress.

    They are compared by sums of scores: log-probabilities, where the learner gives these.
    """
    layer = (space.start(examples), np.arange(len(examples)), np.zeros(len(examples)))
    agenda = _Agenda(*layer)
    finished = [_taken(layer, slice(0))]
    for candidates in agenda.layers():
        layer = _taken(candidates, _best_of(candidates[1], candidates[2], size))
        done = space.is_done(layer[0])
        finished.append(_taken(layer, done))
        states, places, totals = _taken(layer, ~done)
        if not len(states):
            continue
        sums = totals[:, None] + mixed_scores(policy, features_of(space, states))
        width = min(size, sums.shape[1])
        actions = np.argpartition(-sums, width - 1, axis=1)[:, :width].ravel()
        rows = np.repeat(np.arange(len(states)), width)
        at = np.flatnonzero(sums[rows, actions] > -np.inf)
        rows = rows[at]
        actions = actions[at]
        agenda.add(space.step(states.take(rows), actions), places[rows], sums[rows, actions])
    states, places, totals = _joined(finished)
    return states.take(_best_of(places, totals, 1))


def _best_of(places: Ints, totals: Floats, size: int) -> Ints:
    """The indices of the best few of each place, best first."""
    order = np.lexsort((-totals, places))
    sorted_places = places[order]
    begins = np.flatnonzero(np.concatenate(([True], sorted_places[1:] != sorted_places[:-1])))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return order[rank < size]


# -- roll-in --------------------------------------------------------------------------------------


class RollIn(NamedTuple):
    """What a policy runs through."""

    decisions: Decisions  # the states with the costs of their actions, N
    examples: Ints  # the example of each decision, (N,)
    losses: Floats  # of the outputs, one for each example


def roll_in(
    space: Space, policy: Mixture, examples: Ints, seed: int, ties: str, costs_of: Costs | None
) -> RollIn:
    """The decisions that a policy runs through, and the losses of its outputs.

    The space has gold outputs. The seed says which policy of a mixture decides where; see
    ``targets_of`` for ``ties``, and ``COSTS`` for ``costs_of``.
    """
    parts: list[tuple[Any, ...]] = []

    def callback(states: Any, features: Features, optimal: Floats, gold_action: Ints) -> None:
        cost = optimal if costs_of is None else costs_of(space, policy, seed, states)
        counts = np.diff(features.begins)
        cells = _cells(features.begins)
        shape = (len(states), int(counts.max(initial=1)), -1)  # rows (R, A) of cells (B, C)
        tables = (cost, targets_of(cost, gold_action, ties))
        cells_of_rows = (table.reshape(shape)[cells] for table in tables)
        parts.append((features.rows, *cells_of_rows, counts, states.examples))

    losses = space.losses(sampled(space, policy, space.start(examples), seed, callback))
    rows, *beside = zip(*parts, strict=True)
    costs, targets, counts, owners = map(np.concatenate, beside)
    begins = np.concatenate(([0], np.cumsum(counts)))
    decisions = Decisions(vstack(rows, format="csr"), costs, targets, begins)
    return RollIn(decisions, owners, losses)


def new_models(
    learner: Any, decisions: Decisions, example_folds: Ints, folds: int, jobs: int, seed: int
) -> list[Any]:
    """The model of each fold, learned from the other folds, and that of all examples at the end."""

    def learned(fold: int) -> Any:
        part = decisions.taken(np.flatnonzero(example_folds != fold)) if fold >= 0 else decisions
        return learner.learn(part, (seed + fold + 2) % 2**63)

    with threads(jobs) as each:
        return list(each(learned, (*range(folds), -1)))


def _costs_after(
    losses_of: Callable[..., Floats], space: Space, policy: Mixture, seed: int, states: Any
) -> Floats:
    """The loss after each action, less the least, (B, C); +inf where it is not allowed."""
    allowed = space.allowed(states)
    rows, actions = np.nonzero(allowed)
    losses = np.full(allowed.shape, np.inf)
    losses[rows, actions] = losses_of(space, policy, space.step(states.take(rows), actions), seed)
    return np.asarray(losses - losses.min(axis=1, keepdims=True))


def _expected_losses(space: Space, policy: Mixture, states: Any, seed: int) -> Floats:
    """The expected loss of each state when the policy goes on, (B,).

    States that nothing later can tell apart are one *node*; an *entry* is a state that was added.
    """
    if not hasattr(space, "keys"):
        must = 'costs="expected" needs a space over labels, whose states can be compared'
        raise InputError("Searn", must, remedy='Use costs="sampled" or "optimal"')
    count = len(states)
    layers = []
    learned = (Mixture(0.0, (1.0,), (models,), policy.folds) for models in policy.models)
    pairs = zip((policy.optimal, *policy.weights), (Mixture(), *learned), strict=True)
    shares, policies = zip(*(pair for pair in pairs if pair[0] > 0), strict=True)
    agenda = _Agenda(states, np.arange(count))
    for batch, entries in agenda.layers():
        keys = np.column_stack((batch.examples, space.keys(batch)))
        _, first, node = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        nodes = batch.take(first)
        done = space.is_done(nodes)
        losses = np.zeros(len(first))
        if done.any():
            losses[done] = space.losses(nodes.take(done))
        going = nodes.take(~done)
        followers = []
        if len(going):
            features = features_of(space, going)
            best = optimal_actions(*space.costs(going)) if policy.optimal > 0 else None
            for member in policies:
                actions = sampled_actions(member, features, best, np.zeros(len(going)))
                followers.append(count + np.arange(len(going)))
                count += len(going)
                agenda.add(space.step(going, actions), followers[-1])
        layers.append((entries, np.asarray(node).ravel(), ~done, followers, losses))
    value = np.zeros(count)
    for entries, node, is_open, followers, losses in reversed(layers):
        if followers:
            losses[is_open] = value[np.stack(followers, axis=1)] @ shares
        value[entries] = losses[node]
    return value[: len(states)]


COSTS: dict[str, Costs | None] = {
    "optimal": None,
    "expected": partial(_costs_after, _expected_losses),
    "sampled": partial(_costs_after, lambda space, *how: space.losses(sampled(space, *how))),
}
"""Functions of a space, a policy, a seed and states that return the costs of actions, (B, C); None
where the optimal policy decides from there on: the costs of the space itself."""
