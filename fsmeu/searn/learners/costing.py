"""Costing: importance weights by rejection sampling, for classifiers that take none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

from fsmeu.errors import whole
from fsmeu.learning.saving import register
from fsmeu.searn.learners.binary import Constant, margins

__all__ = ["Costing"]


@register
class Costing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with weights of examples, made of one without (Zadrozny et al. 2003).

    Each of ``rounds`` classifiers is trained on a sample into which an example comes with
    probability proportional to its weight; the mean of their decisions, 1 or -1, decides. It goes
    into a reduction as ``base``: ``AllPairs(Costing(LinearSVC()))``.

    Args:
        base: the classifier.
        rounds: how many samples are drawn.
        random_state: a whole number.
    """

    def __init__(self, base: Any = None, rounds: int = 10, random_state: int | None = None) -> None:
        self.base = base
        self.rounds = rounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Costing:
        """The classifier itself, after training."""
        labels = np.asarray(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.unique(labels)
        source = np.random.default_rng(self.random_state)
        base = LogisticRegression(max_iter=200) if self.base is None else self.base
        self.models_ = []
        for _ in range(whole(type(self).__name__, "rounds", self.rounds)):
            kept = np.flatnonzero(source.random(len(labels)) * weights.max() < weights)
            held = np.unique(labels[kept])
            if len(held) < 2:
                self.models_.append(Constant(1.0 if held[0] == self.classes_[-1] else -1.0))
            else:
                self.models_.append(clone(base).fit(X[kept], labels[kept] == self.classes_[-1]))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The mean decision of each row, (R,), from -1 to 1."""
        return np.asarray(np.mean([np.sign(margins(one, X)) for one in self.models_], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, (R,)."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.int64)])
