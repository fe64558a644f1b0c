"""Reductions of cost-sensitive decisions to classifiers and regressors of scikit-learn.

The paper's experiments use weighted all pairs (Beygelzimer et al. 2005) and costing (Zadrozny,
Langford and Abe 2003): see section 6.1.7.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from fsmeu.learning.saving import register
from fsmeu.searn.learners.binary import (
    Constant,
    compact_rows,
    fitted,
    given_base,
    margins,
    only_flat,
    renumbered,
)
from fsmeu.searn.learners.protocol import Decisions

__all__ = ["AllPairs", "CostRegression", "Multiclass", "OneAgainstAll", "ReducedModel", "pair_gaps"]

Floats = NDArray[np.float64]


class _Reduction(BaseEstimator):  # type: ignore[misc]
    """What reductions share.

    Args:
        base: an estimator of scikit-learn whose ``fit`` takes ``sample_weight``.
        min_freq: features with fewer entries are left out.
    """

    def __init__(self, base: Any = None, min_freq: int = 1) -> None:
        self.base = base
        self.min_freq = min_freq


@register
class ReducedModel(BaseEstimator):  # type: ignore[misc]
    """Estimators that decide together.

    Args:
        kind: "pairs" (an estimator for each pair of actions), "each" (one for each action), "cost"
            (the same, regressors of costs) or "joint" (one for all).
        columns: the hashed columns that are used, (U,).
        models: the estimators.
        actions: the number of actions.
    """

    def __init__(
        self, kind: str = "each", columns: Any = None, models: Any = (), actions: int = 0
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.models = models
        self.actions = actions

    @property
    def probabilistic(self) -> bool:
        """Whether softmax of the scores gives probabilities: one estimator that tells them."""
        return self.kind == "joint" and hasattr(self.models[0], "predict_log_proba")

    def scores(self, rows: csr_array) -> Floats:
        """The score of each action for each row, (R, A)."""
        held = renumbered(self.columns, rows)
        if self.kind == "joint":
            return self._joint(held)
        if self.kind == "each":
            return np.stack([margins(one, held) for one in self.models], axis=1)
        if self.kind == "cost":
            return -np.stack([np.asarray(one.predict(held)) for one in self.models], axis=1)
        wins = np.zeros((held.shape[0], self.actions))
        pairs = combinations(range(self.actions), 2)
        for (a, b), one in zip(pairs, self.models, strict=True):
            is_first = margins(one, held) > 0
            wins[:, a] += is_first
            wins[:, b] += ~is_first
        return wins

    def _joint(self, held: csr_array) -> Floats:
        """The logarithms of probabilities; -inf for actions that were never right in training."""
        (model,) = self.models
        found = np.full((held.shape[0], self.actions), -1e30)
        if self.probabilistic:
            found[:, model.classes_] = np.maximum(model.predict_log_proba(held), -1e30)
        elif hasattr(model, "decision_function") and len(model.classes_) > 2:
            found[:, model.classes_] = model.decision_function(held)
        else:
            found[np.arange(len(found)), model.predict(held)] = 0.0
        return found


@register
class AllPairs(_Reduction):
    """Weighted all pairs: a binary problem for each two actions, and the action that wins most.

    With v_a = integral from 0 to c_a of 1 / |{b: c_b <= t}| dt, the pair (a, b) says which of both
    is less, with importance |v_a - v_b|. The regret of the decision is then at most twice the
    binary regret (Beygelzimer et al. 2005).
    """

    def learn(self, given: Decisions, seed: int) -> ReducedModel:
        """The model that was learned from examples."""
        where = type(self).__name__
        only_flat(given, where)
        base = given_base(self.base, LogisticRegression(max_iter=200), where)
        columns, rows = compact_rows(given, self.min_freq)
        gaps = pair_gaps(given.costs)
        models = []
        for a, b in combinations(range(given.costs.shape[1]), 2):
            both = np.isfinite(given.costs[:, a]) & np.isfinite(given.costs[:, b])
            gap = np.where(both, gaps[:, b], 0) - np.where(both, gaps[:, a], 0)
            models.append(fitted(base, rows, gap > 0, np.abs(gap), seed))
        return ReducedModel("pairs", columns, models, given.costs.shape[1])


def pair_gaps(costs: Floats) -> Floats:
    """The numbers v_a of weighted all pairs, (N, A), from costs less the least of each row.

    Actions that are not allowed have +inf, and stand in no pair.
    """
    order = np.argsort(costs, axis=1, kind="stable")
    ranked = np.take_along_axis(costs, order, axis=1)
    ranked = ranked - ranked[:, :1]
    steps = np.diff(np.where(np.isfinite(ranked), ranked, 0.0), axis=1, prepend=0.0)
    steps[~np.isfinite(ranked)] = np.inf
    # Before the k-th cost in order (from 0), k costs lie at or below.
    counts = np.maximum(1, np.arange(costs.shape[1]))
    found = np.empty_like(ranked)
    np.put_along_axis(found, order, np.cumsum(steps / counts, axis=1), axis=1)
    return found


@register
class OneAgainstAll(_Reduction):
    """A binary problem for each action: whether it is one to be learned.

    Other actions have their cost less the least as importance; those to be learned the mean of
    these, so that a state in which nothing can go wrong has none.
    """

    def learn(self, given: Decisions, seed: int) -> ReducedModel:
        """The model that was learned from examples."""
        base = given_base(self.base, LogisticRegression(max_iter=200), type(self).__name__)
        columns, rows = compact_rows(given, self.min_freq)
        weights = _importance(given)
        models = [
            fitted(base, rows, given.targets[:, a], weights[:, a], seed)
            for a in range(given.costs.shape[1])
        ]
        return ReducedModel("each", columns, models, given.costs.shape[1])


def _importance(given: Decisions) -> Floats:
    """The importance of each action, (R, A); 0 where it is not allowed."""
    allowed = np.isfinite(given.costs)
    counts = np.diff(given.begins)
    least = np.repeat(np.minimum.reduceat(given.costs.min(axis=1), given.begins[:-1]), counts)
    regret = np.where(allowed & ~given.targets, given.costs - least[:, None], 0.0)
    others = np.add.reduceat((allowed & ~given.targets).sum(axis=1), given.begins[:-1])
    mean = np.add.reduceat(regret.sum(axis=1), given.begins[:-1]) / np.maximum(1, others)
    return np.where(given.targets & allowed, np.repeat(mean, counts)[:, None], regret)


@register
class CostRegression(_Reduction):
    """A regressor of the cost of each action; the action of least predicted cost is decided for.

    ``base`` is a regressor; ridge regression unless another is given.
    """

    def learn(self, given: Decisions, seed: int) -> ReducedModel:
        """The model that was learned from examples."""
        base = given_base(self.base, Ridge(solver="sparse_cg"), type(self).__name__)
        columns, rows = compact_rows(given, self.min_freq)
        models = []
        for a in range(given.costs.shape[1]):
            allowed = np.isfinite(given.costs[:, a])
            costs = np.where(allowed, given.costs[:, a], 0.0)
            models.append(fitted(base, rows, costs, allowed.astype(np.float64), seed))
        return ReducedModel("cost", columns, models, given.costs.shape[1])


@register
class Multiclass(_Reduction):
    """Any classifier of scikit-learn: one target of each state is its class.

    The importance of a state is the greatest cost of its actions, or 1 with ``weighted=False``.
    """

    def __init__(self, base: Any = None, min_freq: int = 1, weighted: bool = True) -> None:
        super().__init__(base, min_freq)
        self.weighted = weighted

    def learn(self, given: Decisions, seed: int) -> ReducedModel:
        """The model that was learned from examples."""
        where = type(self).__name__
        only_flat(given, where)
        base = given_base(self.base, LogisticRegression(max_iter=200), where)
        columns, rows = compact_rows(given, self.min_freq)
        finite = np.where(np.isfinite(given.costs), given.costs, -np.inf)
        spans = finite.max(axis=1) - given.costs.min(axis=1)
        weights = spans if self.weighted else np.ones(len(spans))
        classes = given.targets.argmax(axis=1)
        kept = np.unique(classes[weights > 0])
        if len(kept) < 2:
            only = int(kept[0]) if len(kept) else 0
            return ReducedModel(
                "each", columns, _single(only, given.costs.shape[1]), len(finite[0])
            )
        model = fitted(base, rows, classes, weights, seed)
        return ReducedModel("joint", columns, [model], given.costs.shape[1])


def _single(only: int, actions: int) -> list[Any]:
    return [Constant(1.0 if a == only else -1.0) for a in range(actions)]
