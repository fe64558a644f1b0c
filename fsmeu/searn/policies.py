"""Policies: the optimal one, learned ones, and mixtures of both (Figure 1 of the paper, line 16).

A mixture draws anew, each time it is asked, which of its policies decides. Draws are hashes of a
seed, the example and its progress, so that they do not depend on what is decided together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.learning.saving import register
from fsmeu.models.checks import check_shape
from fsmeu.searn.learners.protocol import CostSensitiveModel
from fsmeu.searn.spaces.protocol import Space

__all__ = [
    "Mixture",
    "interpolated",
    "mixed_scores",
    "optimal_actions",
    "policy_actions",
    "sampled_actions",
    "targets_of",
]

_EQUAL = 1e-12
"""Costs up to this are those of optimal actions: sums of a few costs that are 0 up to rounding."""


@register
@dataclass(frozen=True)
class Mixture:
    """A mixture of the optimal policy and of learned ones.

    Attributes:
        optimal: the probability of the optimal policy.
        weights: the probability of each learned policy; all probabilities add up to 1.
        models: what each learned policy decides with: one model, or one for each fold of the
            examples, which was not trained on it.
        folds: the fold of each example, or None where there is one model.
    """

    optimal: float = 1.0
    weights: tuple[float, ...] = ()
    models: tuple[Sequence[CostSensitiveModel], ...] = ()
    folds: Ints | None = field(default=None, compare=False)

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """What it is made of, by name."""
        return dict(vars(self))

    def without_optimal(self) -> Mixture:
        """The mixture of the learned policies alone (Figure 1, line 18)."""
        total = sum(self.weights)
        weights = tuple(w / total for w in self.weights)
        return Mixture(0.0, weights, self.models, self.folds)


def interpolated(old: Mixture, beta: float, models: Sequence[CostSensitiveModel]) -> Mixture:
    """A learned policy with probability beta, else the old mixture (Figure 1, line 16)."""
    weights = (*((1 - beta) * w for w in old.weights), beta)
    return Mixture((1 - beta) * old.optimal, weights, (*old.models, models), old.folds)


def targets_of(costs: Floats, own: Ints, ties: str) -> NDArray[np.bool_]:
    """Which actions are to be learned, bool (B, C).

    Args:
        costs: (B, C), the least of each row 0.
        own: gold's own action, (B,), or -1.
        ties: "gold", one action of each row: gold's own if it is optimal, else the first that is;
            or "all", all that are.
    """
    optimal = costs <= _EQUAL
    if ties == "all":
        return np.asarray(optimal)
    found = np.zeros(costs.shape, bool)
    found[np.arange(len(costs)), optimal_actions(costs, own)] = True
    return found


def optimal_actions(costs: Floats, own: Ints) -> Ints:
    """Gold's own action where it is optimal, else the first that is, (B,)."""
    rows = np.arange(len(costs))
    is_own = (own >= 0) & (costs[rows, np.maximum(own, 0)] <= _EQUAL)
    return np.where(is_own, own, np.argmin(costs, axis=1))


def padded(scores: NDArray[Any], begins: Ints | None, count: int) -> NDArray[Any]:
    """The scores of each state's actions as one row, (B, count); -inf where there is none.

    Args:
        scores: (R, A).
        begins: the first row of each state and the end of the last, (B + 1,); None where each has
            one row.
        count: the number of columns.
    """
    if begins is None:
        return scores
    counts, width = np.diff(begins), scores.shape[1]
    found = np.full((len(counts), count // width, width), -np.inf, scores.dtype)
    state = np.repeat(np.arange(len(counts)), counts)
    found[state, np.arange(len(scores)) - np.repeat(begins[:-1], counts)] = scores
    return found.reshape(len(counts), count)


def sampled_actions(
    policy: Mixture,
    allowed: NDArray[np.bool_],
    features: tuple[csr_array, Ints | None],
    examples: Ints,
    best: Ints | None,
    numbers: Floats,
) -> Ints:
    """The action that a mixture takes in each state, (B,).

    Args:
        policy: the mixture.
        allowed: (B, C).
        features: the rows of features, and where those of each state begin.
        examples: the example of each state, (B,).
        best: the optimal action of each state; may be None where the mixture has no part of the
            optimal policy.
        numbers: numbers from [0, 1) that choose the policy, (B,).
    """
    shares = np.cumsum((policy.optimal, *policy.weights))
    chosen = np.minimum(np.searchsorted(shares, numbers, side="right"), len(shares) - 1)
    found = np.zeros(len(allowed), np.int64) if best is None else best.copy()
    for k, models in enumerate(policy.models, 1):
        for fold, model in enumerate(models):
            at = chosen == k
            if len(models) > 1 and policy.folds is not None:
                at &= policy.folds[examples] == fold
            at = np.flatnonzero(at)
            if len(at):
                found[at] = model_scores(model, allowed, features, at).argmax(axis=1)
    return found


def policy_actions(policy: Mixture, space: Space, states: Any) -> list[Ints]:
    """What each policy of a mixture with a probability above 0 decides, (B,) each."""
    allowed, features = space.allowed(states), space.rows(states)
    found = [optimal_actions(*space.costs(states))] if policy.optimal > 0 else []
    for k, weight in enumerate(policy.weights):
        if weight > 0:
            alone = Mixture(0.0, (1.0,), (policy.models[k],), policy.folds)
            numbers = np.zeros(len(states))
            found.append(sampled_actions(alone, allowed, features, states.examples, None, numbers))
    return found


def model_scores(
    model: CostSensitiveModel,
    allowed: NDArray[np.bool_],
    features: tuple[csr_array, Ints | None],
    at: Ints | None = None,
) -> NDArray[Any]:
    """The scores of a model for some states, (b, C); -inf where an action is not allowed."""
    rows, begins = features
    if at is None:
        at = np.arange(len(allowed))
    starts, per_state = None, 1
    if begins is None:
        rows = rows if len(at) == rows.shape[0] else rows[at]
    else:
        counts, per_state = np.diff(begins)[at], int(np.diff(begins).max(initial=1))
        starts = np.concatenate(([0], np.cumsum(counts)))
        rows = rows[np.arange(starts[-1]) + np.repeat(begins[at] - starts[:-1], counts)]
    scores = model.scores(rows)
    check_shape(scores, (rows.shape[0], allowed.shape[1] // per_state), "scores of actions")
    return np.where(allowed[at], padded(scores, starts, allowed.shape[1]), -np.inf)


def mixed_scores(
    policy: Mixture, allowed: NDArray[np.bool_], features: tuple[csr_array, Ints | None]
) -> NDArray[Any]:
    """The logarithm of the mean probability of each action, (B, C); -inf where it is not allowed.

    For models that tell no probabilities, their mean score.
    """
    total: Any = None
    probabilistic = all(model.probabilistic for models in policy.models for model in models)
    for weight, models in zip(policy.weights, policy.models, strict=True):
        if weight == 0:
            continue
        scores = model_scores(models[0], allowed, features).astype(np.float64)
        if probabilistic:
            scores -= scores.max(axis=1, keepdims=True)
            scores = np.exp(scores)
            scores /= scores.sum(axis=1, keepdims=True)
        total = weight * scores if total is None else total + weight * scores
    if probabilistic:
        with np.errstate(divide="ignore"):
            total = np.log(total)
    return np.where(allowed, total, -np.inf)
