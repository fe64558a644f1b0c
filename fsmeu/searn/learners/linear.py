"""Linear models of hashed features: logistic regression by AdaGrad, and the averaged perceptron.

A learner is a scikit-learn estimator with ``learn(decisions, seed)`` in place of ``fit``. A model
has ``scores(rows)``, the score of each action for each row, (R, A), greater being better, and
``probabilistic``: whether a softmax over the allowed actions of an example gives probabilities.

Only the columns that were seen have weights. Passes over examples are compiled (``kernels``); which
features are left out by dropout is told by a hash of the seed and the entry's number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import check_int, one_of
from fsmeu.learning.base import number_between
from fsmeu.learning.saving import register
from fsmeu.models.checks import check_shape

__all__ = [
    "AveragedPerceptron",
    "Decisions",
    "Entries",
    "LinearModel",
    "Logistic",
    "column_table",
    "numbered_columns",
]


@dataclass(frozen=True)
class Decisions:
    """Examples of decisions: states with their actions.

    Usually an example is one row of features, and each action has weights of its own for them.
    Where actions have features of their own, it is several rows (one for each action, or for each
    group of actions), and the action that is decided for is one cell of all its rows.

    Attributes:
        rows: hashed features, a ``csr_array`` (R, columns).
        costs: the cost of each action, (R, A); +inf where an action is not allowed.
        targets: the actions that are to be learned, bool (R, A); at least one of each example.
        begins: the first row of each example and the end of the last, (N + 1,).
    """

    rows: csr_array
    costs: Floats
    targets: Bools
    begins: Ints

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def is_flat(self) -> bool:
        """Whether every example is one row."""
        return bool(len(self) == self.rows.shape[0])

    @property
    def least(self) -> Floats:
        """The least cost of each example, (N,)."""
        return np.minimum.reduceat(self.costs.min(axis=1), self.begins[:-1])

    def taken(self, examples: Ints) -> Decisions:
        """These examples only."""
        counts = np.diff(self.begins)[examples]
        begins = np.concatenate(([0], np.cumsum(counts)))
        rows = np.arange(begins[-1]) + np.repeat(self.begins[examples] - begins[:-1], counts)
        return Decisions(self.rows[rows], self.costs[rows], self.targets[rows], begins)


def numbered_columns(rows: csr_array, least: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The columns with so many entries or more, frequent ones first; and rows' columns by number.

    Frequent columns stand together, so that their weights stay in the processor's cache. A column
    that is left out has the number behind the last.

    Args:
        rows: (R, columns).
        least: columns with fewer entries are left out.
    """
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    kept = np.flatnonzero(counts >= max(1, least))
    columns = kept[np.argsort(-counts[kept], kind="stable")].astype(np.int32)
    return columns, column_table(columns, rows.shape[1])[rows.indices]


def column_table(columns: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """The number of each column among these, or how many there are for other columns, (size,)."""
    table = np.full(size, len(columns), np.int32)
    table[columns] = np.arange(len(columns), dtype=np.int32)
    return table


@register
class LinearModel(BaseEstimator):  # type: ignore[misc]
    """Weights of features and actions.

    Args:
        columns: the hashed columns that have weights, int32 (U,).
        weights: (U + 1, A); the last row, of all other columns, is 0.
        probabilistic: whether softmax of the scores gives probabilities.
    """

    def __init__(
        self, columns: Any = None, weights: Any = None, probabilistic: bool = True
    ) -> None:
        self.columns = columns
        self.weights = weights
        self.probabilistic = probabilistic

    def check_parts(self) -> None:
        """Refuses weights without a row for each column, which would be read beyond their end.

        Raises:
            InputError: the shapes do not fit together.
        """
        actions = self.weights.shape[-1]
        check_shape(self.columns, (self.columns.size,), "LinearModel columns")
        check_shape(self.weights, (self.columns.size + 1, actions), "LinearModel weights")

    def scores(self, rows: csr_array) -> NDArray[Any]:
        """The score of each action for each row, (R, A)."""
        weights = self.weights
        shape = (rows.shape[0], len(weights))
        held = (rows.data, self._numbers(rows), rows.indptr)
        return np.asarray(csr_array(held, shape=shape) @ weights)

    def _numbers(self, rows: csr_array) -> NDArray[np.int32]:
        """The row of weights of each entry.

        They are looked up in a table over all columns, which is kept; or, where that would be
        larger than the weights, by bisection in the columns.
        """
        columns, size = self.columns, rows.shape[1]
        held = getattr(self, "_held", None)
        if held is None or held[0] is not columns or held[1] != size:
            small = size <= np.size(self.weights) or not len(columns)
            made = column_table(columns, size) if small else np.argsort(columns).astype(np.int32)
            held = self._held = (columns, size, made, None if small else columns[made])
        _, _, table, ascending = held
        if ascending is None:
            return np.asarray(table[rows.indices])
        place = np.minimum(np.searchsorted(ascending, rows.indices), len(table) - 1)
        known = ascending[place] == rows.indices
        return np.asarray(np.where(known, table[place], np.int32(len(table))))


class Entries(NamedTuple):
    """Examples as flat arrays; numbers are of the type of the weights.

    Attributes:
        ends: where the entries of each row begin, and the end of the last, (R + 1,).
        columns: the number of each entry's column, less than the rows of weights.
        values: the value of each entry.
        begins: the first row of each example and the end of the last, (N + 1,).
        costs: (R, A), +inf where an action is not allowed.
        targets: bool (R, A).
        importance: the weight of each example, (N,).
    """

    ends: Ints
    columns: NDArray[np.int32]
    values: NDArray[Any]
    begins: Ints
    costs: NDArray[Any]
    targets: NDArray[np.bool_]
    importance: NDArray[Any]


IMPORTANCE = ("equal", "cost")

_TINY = 1e-30
"""In place of 0, so that no step is divided by it; its root is nothing beside any slope."""
_LEAST_SLOPE = 1e-4
"""Rows of smaller slopes make no step: as probabilities they are right to four digits."""


@register
class Logistic(BaseEstimator):  # type: ignore[misc]
    """Softmax over the allowed actions of a state, weights learned by AdaGrad.

    With one target in each state and equal importance it is multinomial logistic
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
        min_freq: features with fewer entries have no weight.
    """

    def __init__(
        self,
        *,
        epochs: int = 8,
        rate: float = 0.03,
        dropout: float = 0.2,
        importance: str = "equal",
        min_freq: int = 1,
    ) -> None:
        self.epochs = epochs
        self.rate = rate
        self.dropout = dropout
        self.importance = importance
        self.min_freq = min_freq

    def learn(self, given: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        from fsmeu.searn.learners import kernels

        where = type(self).__name__
        epochs = check_int(where, "epochs", self.epochs)
        rate = number_between(where, "rate", self.rate, 0, np.inf)
        dropout = number_between(where, "dropout", self.dropout, 0, 0.99)
        one_of(where, "importance", self.importance, IMPORTANCE)
        least = check_int(where, "min_freq", self.min_freq)
        columns, held = entries_of(given, least, np.float32)  # half the memory, twice as fast
        if self.importance == "cost":
            held.importance[:] = _spans(given)
        weights = np.zeros((len(columns) + 1, given.costs.shape[1]), np.float32)
        squares = np.full_like(weights, _TINY)
        source = np.random.default_rng(seed)
        for _ in range(epochs):
            order = source.permutation(len(given))
            how = (rate, dropout, _LEAST_SLOPE, np.uint64(source.integers(2**63)))
            kernels.logistic_pass(*held, order, weights, squares, *how)
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
    spans = np.maximum.reduceat(finite, given.begins[:-1]) - given.least
    mean = float(spans.mean())
    return spans / mean if mean > 0 else np.ones(len(spans))


@register
class AveragedPerceptron(BaseEstimator):  # type: ignore[misc]
    """A multiclass perceptron whose weights are averaged over all examples of all passes.

    Args:
        epochs: passes over the examples.
        importance: "equal", or "cost": a step is as long as the difference of the costs of the
            action that was decided for and of the best target, in units of the mean cost.
        min_freq: features with fewer entries have no weight.
    """

    def __init__(
        self,
        *,
        epochs: int = 8,
        importance: str = "equal",
        min_freq: int = 1,
    ) -> None:
        self.epochs = epochs
        self.importance = importance
        self.min_freq = min_freq

    def learn(self, given: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        from fsmeu.searn.learners import kernels

        where = type(self).__name__
        epochs = check_int(where, "epochs", self.epochs)
        by_cost = one_of(where, "importance", self.importance, IMPORTANCE) == "cost"
        columns, held = entries_of(given, check_int(where, "min_freq", self.min_freq), np.float64)
        if by_cost:
            held.importance[:] = 1 / _mean_regret(given)
        weights, delays = np.zeros((2, len(columns) + 1, given.costs.shape[1]))
        source = np.random.default_rng(seed)
        for k in range(epochs):
            order = source.permutation(len(given))
            kernels.perceptron_pass(*held, order, weights, delays, k * len(given), by_cost)
        mean = weights - delays / max(1, epochs * len(given))
        return LinearModel(columns, mean, probabilistic=False)


def _mean_regret(given: Decisions) -> float:
    """The mean over allowed actions of their cost less the least of the example; 1 if it is 0."""
    regret = given.costs - np.repeat(given.least, np.diff(given.begins))[:, None]
    return float(regret[np.isfinite(regret)].mean()) or 1.0
