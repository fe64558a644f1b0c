"""What a learner of cost-sensitive decisions is given, and what it returns.

An example is a state with its actions. Usually it is one row of features, and each action has
weights of its own for them. Where actions have features of their own, an example is several rows
(one for each action, or for each group of actions); then ``begins`` says where each example
begins, and the action that is decided for is one cell of all its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints

__all__ = ["CostSensitiveLearner", "CostSensitiveModel", "Decisions"]


@dataclass(frozen=True)
class Decisions:
    """Examples of decisions.

    Attributes:
        rows: hashed features, a ``csr_array`` (R, columns).
        costs: the cost of each action, (R, A); +inf where an action is not allowed.
        targets: the actions that are to be learned, bool (R, A); at least one of each example.
        begins: the first row of each example and the end of the last, (N + 1,).
    """

    rows: csr_array
    costs: Floats
    targets: NDArray[np.bool_]
    begins: Ints

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def is_flat(self) -> bool:
        """Whether every example is one row."""
        return bool(len(self) == self.rows.shape[0])

    def taken(self, examples: Ints) -> Decisions:
        """These examples only."""
        if self.is_flat:
            rows, begins = examples, np.arange(len(examples) + 1)
        else:
            counts = np.diff(self.begins)[examples]
            begins = np.concatenate(([0], np.cumsum(counts)))
            rows = np.arange(begins[-1]) + np.repeat(self.begins[examples] - begins[:-1], counts)
        return Decisions(self.rows[rows], self.costs[rows], self.targets[rows], begins)


class CostSensitiveModel(Protocol):
    """What a learner has found.

    Attributes:
        probabilistic: whether a softmax of the scores of all allowed actions of an example gives
            their probabilities.
    """

    probabilistic: bool

    def scores(self, rows: csr_array) -> Floats:
        """The score of each action for each row, (R, A), greater is better."""


class CostSensitiveLearner(Protocol):
    """A learner; a scikit-learn estimator without ``fit``, so that it is copied and saved."""

    def learn(self, given: Decisions, seed: int) -> CostSensitiveModel:
        """The model that was learned from examples; the same for the same seed."""
