"""The averaged perceptron (Freund and Schapire 1999, Collins 2002) on hashed features."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fsmeu.errors import one_of, whole
from fsmeu.learning.saving import register
from fsmeu.searn.learners.linear import LinearModel
from fsmeu.searn.learners.logistic import IMPORTANCE, entries_of
from fsmeu.searn.learners.loops import perceptron_pass
from fsmeu.searn.learners.protocol import Decisions

__all__ = ["AveragedPerceptron"]


@register
class AveragedPerceptron(BaseEstimator):  # type: ignore[misc]
    """A multiclass perceptron whose weights are averaged over all examples of all passes.

    Args:
        epochs: passes over the examples.
        importance: "equal", or "cost": a step is as long as the difference of the costs of the
            action that was decided for and of the best target, in units of the mean cost.
        min_freq: features with fewer entries have no weight.
        single: whether weights are single-precision numbers.
    """

    def __init__(
        self,
        *,
        epochs: int = 8,
        importance: str = "equal",
        min_freq: int = 1,
        single: bool = False,
    ) -> None:
        self.epochs = epochs
        self.importance = importance
        self.min_freq = min_freq
        self.single = single

    def learn(self, given: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        where = type(self).__name__
        epochs = whole(where, "epochs", self.epochs)
        one_of(where, "importance", self.importance, IMPORTANCE)
        kind = np.float32 if self.single else np.float64
        columns, held = entries_of(given, whole(where, "min_freq", self.min_freq), kind)
        by_cost = self.importance == "cost"
        if by_cost:
            held.importance[:] = 1 / _mean_regret(given)
        weights = np.zeros((len(columns) + 1, given.costs.shape[1]), kind)
        delays = np.zeros(weights.shape)
        source, seen = np.random.default_rng(seed), 0
        for _ in range(epochs):
            order = source.permutation(len(given))
            perceptron_pass(held, order, weights, delays, seen=seen, by_cost=by_cost)
            seen += len(order)
        mean = (weights - delays / max(1, seen)).astype(kind)
        return LinearModel(columns, mean, probabilistic=False)


def _mean_regret(given: Decisions) -> float:
    """The mean over allowed actions of their cost less the least of the example; 1 if it is 0."""
    least = np.minimum.reduceat(given.costs.min(axis=1), given.begins[:-1])
    regret = given.costs - np.repeat(least, np.diff(given.begins))[:, None]
    return float(regret[np.isfinite(regret)].mean()) or 1.0
