"""Multinomial logistic regression on hashed features, by AdaGrad with feature dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fsmeu.errors import one_of, whole
from fsmeu.learning.saving import register
from fsmeu.searn.learners.checks import number_between
from fsmeu.searn.learners.linear import LinearModel, numbered_columns
from fsmeu.searn.learners.loops import Entries, logistic_pass
from fsmeu.searn.learners.protocol import Decisions

__all__ = ["IMPORTANCE", "Logistic", "entries_of"]

IMPORTANCE = ("equal", "cost")

_TINY = 1e-30
"""In place of 0, so that no step is divided by it; its root is nothing beside any slope."""
_LEAST_SLOPE = 1e-4
"""Rows of smaller slopes make no step: as probabilities they are right to four digits."""


@register
class Logistic(BaseEstimator):  # type: ignore[misc]
    """Softmax over the allowed actions of a state, weights learned by AdaGrad.

    With one target in each state, margin 0 and equal importance it is multinomial logistic
    regression, and the first iteration of ``Searn`` trains a maximum entropy Markov model (Daumé
    et al. 2009, section 7). Dropout of features (each entry is left out with this probability, the
    others are scaled up) takes the place of a penalty on weights.

    Args:
        epochs: passes over the examples.
        rate: the length of a step.
        dropout: the share of entries that is left out in a pass.
        importance: "equal", or "cost": an example weighs as much as the greatest cost of its
            actions, in units of the mean over all examples. States in which nothing can go wrong
            any more weigh nothing then.
        margin: how much of an action's cost is added to its score while learning.
        damping: what the sums of squared slopes start from. From 0, the first step of a weight is
            as long as ``rate``, however small the slope is.
        min_freq: features with fewer entries have no weight.
        single: whether weights are single-precision numbers: half the memory, twice as fast.
    """

    def __init__(
        self,
        *,
        epochs: int = 8,
        rate: float = 0.03,
        dropout: float = 0.2,
        importance: str = "equal",
        margin: float = 0.0,
        damping: float = 0.0,
        min_freq: int = 1,
        single: bool = True,
    ) -> None:
        self.epochs = epochs
        self.rate = rate
        self.dropout = dropout
        self.importance = importance
        self.margin = margin
        self.damping = damping
        self.min_freq = min_freq
        self.single = single

    def learn(self, given: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        where = type(self).__name__
        epochs = whole(where, "epochs", self.epochs)
        rate = number_between(where, "rate", self.rate, 0, np.inf)
        dropout = number_between(where, "dropout", self.dropout, 0, 0.99)
        margin = number_between(where, "margin", self.margin, 0, np.inf)
        one_of(where, "importance", self.importance, IMPORTANCE)
        kind = np.float32 if self.single else np.float64
        columns, held = entries_of(given, whole(where, "min_freq", self.min_freq), kind)
        if self.importance == "cost":
            held.importance[:] = _spans(given)
        weights = np.zeros((len(columns) + 1, given.costs.shape[1]), kind)
        damping = number_between(where, "damping", self.damping, 0, np.inf)
        squares = np.full_like(weights, max(damping, _TINY))
        source = np.random.default_rng(seed)
        for _ in range(epochs):
            order = source.permutation(len(given))
            drawn = int(source.integers(2**63))
            logistic_pass(
                held, order, weights, squares,
                rate=rate, margin=margin, dropout=dropout, seed=drawn, least=_LEAST_SLOPE,
            )  # fmt: skip
        return LinearModel(columns, weights, probabilistic=True)


def entries_of(given: Decisions, least: int, kind: Any) -> tuple[Any, Entries]:
    """The columns that have weights, and the examples as flat arrays of a type of number."""
    rows = given.rows
    columns, numbers = numbered_columns(rows, least)
    held = Entries(
        rows.indptr.astype(np.int64, copy=False),
        numbers,
        rows.data.astype(kind, copy=False),
        given.begins.astype(np.int64, copy=False),
        given.costs.astype(kind),
        given.targets,
        np.ones(len(given), kind),
    )
    return columns, held


def _spans(given: Decisions) -> Any:
    """The greatest finite cost less the least of each example, in units of the mean, (N,)."""
    finite = np.where(np.isfinite(given.costs), given.costs, -np.inf).max(axis=1)
    most = np.maximum.reduceat(finite, given.begins[:-1])
    least = np.minimum.reduceat(given.costs.min(axis=1), given.begins[:-1])
    mean = float((most - least).mean())
    return (most - least) / mean if mean > 0 else np.ones(len(most))
