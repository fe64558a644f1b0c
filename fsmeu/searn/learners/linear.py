"""Linear models of hashed features: logistic regression by AdaGrad, and the averaged perceptron.

A learner is a scikit-learn estimator with ``learn(decisions, seed)`` in place of ``fit``. A model
has ``scores(rows)``, the score of each action for each row, (R, A), greater being better, and
``probabilistic``: whether a softmax over the allowed actions of an example gives probabilities.

Only the columns that were seen have weights. Passes over examples are compiled (``kernels``); which
features are left out by dropout is decided by a hash of the seed and the entry's number.
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


@dataclass(frozen=True)
class Decisions:
    """Examples of decisions: states with their actions.

    Usually an example is one row of features, and each action has weights of its own for them.
    Where actions have features of their own, it is several rows (one for each action, or for each
    group of actions), and the action that is decided for is one cell of all its rows.
    """

    rows: csr_array  # hashed features, (R, columns)
    costs: Floats  # the cost of each action, (R, A); +inf where it is not allowed
    targets: Bools  # the actions that are to be learned, (R, A); at least one of each example
    begins: Ints  # the first row of each example and the end of the last, (N + 1,)

    def __len__(self) -> int:
        return len(self.begins) - 1

    @property
    def least(self) -> Floats:
        """The least cost of each example, (N,)."""
        return np.minimum.reduceat(self.costs.min(axis=1), self.begins[:-1])

    @property
    def greatest(self) -> Floats:
        """What the worst allowed action of each example costs more than the best, (N,)."""
        allowed = np.where(np.isfinite(self.costs), self.costs, -np.inf).max(axis=1)
        return np.maximum.reduceat(allowed, self.begins[:-1]) - self.least

    def taken(self, examples: Ints) -> Decisions:
        """These examples only."""
        counts = np.diff(self.begins)[examples]
        begins = np.concatenate(([0], np.cumsum(counts)))
        rows = np.arange(begins[-1]) + np.repeat(self.begins[examples] - begins[:-1], counts)
        return Decisions(self.rows[rows], self.costs[rows], self.targets[rows], begins)


def numbered_columns(rows: csr_array, least: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The columns with so many entries or more, and rows' columns by number: the last for others.

    Frequent columns stand first, so that their weights stay in the processor's cache.
    """
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    frequent = np.flatnonzero(counts >= max(1, least))
    columns = frequent[np.argsort(-counts[frequent], kind="stable")].astype(np.int32)
    return columns, column_table(columns, rows.shape[1])[rows.indices]


def column_table(columns: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """The number of each column among these, or how many there are for other columns, (size,)."""
    table = np.full(size, len(columns), np.int32)
    table[columns] = np.arange(len(columns), dtype=np.int32)
    return table


@register
@dataclass(eq=False, repr=False)
class LinearModel(BaseEstimator):  # type: ignore[misc]
    """Weights of features and actions."""

    columns: Any = None  # the hashed columns that have weights, int32 (U,)
    weights: Any = None  # (U + 1, A); the last row, of all other columns, is 0
    probabilistic: bool = True  # whether softmax of the scores gives probabilities

    def check_parts(self) -> None:
        """Refuses weights without a row for each column, which would be read beyond their end."""
        actions = self.weights.shape[-1]
        check_shape(self.columns, (self.columns.size,), "LinearModel columns")
        check_shape(self.weights, (self.columns.size + 1, actions), "LinearModel weights")

    def scores(self, rows: csr_array) -> NDArray[Any]:
        """The score of each action for each row, (R, A).

        The weights of columns are looked up in a table over all of them, or by bisection where that
        would be larger than the weights.
        """
        columns = self.columns
        size = rows.shape[1]
        count = len(self.columns)
        lookup = getattr(self, "_lookup", None)
        if lookup is None or lookup[0] is not columns or lookup[1] != size:
            small = size <= np.size(self.weights) or not count
            table = column_table(columns, size) if small else np.argsort(columns).astype(np.int32)
            lookup = self._lookup = (columns, size, table, None if small else columns[table])
        _, _, table, ascending = lookup
        if ascending is None:
            numbers = table[rows.indices]
        else:
            place = np.minimum(np.searchsorted(ascending, rows.indices), count - 1)
            matches = ascending[place] == rows.indices
            numbers = np.where(matches, table[place], np.int32(count))
        shape = (rows.shape[0], len(self.weights))
        return np.asarray(csr_array((rows.data, numbers, rows.indptr), shape=shape) @ self.weights)


class Entries(NamedTuple):
    """Decisions as kernels take them; numbers are of the type of the weights."""

    ends: Ints  # where the entries of each row begin, and the end of the last, (R + 1,)
    columns: NDArray[np.int32]  # the number of each entry's column, less than the rows of weights
    values: NDArray[Any]  # the value of each entry
    begins: Ints
    costs: NDArray[Any]
    targets: Bools
    importance: NDArray[Any]  # the weight of each example, (N,)


class LogisticSettings(NamedTuple):
    """The settings of a pass of logistic regression."""

    rate: float  # the length of a step
    dropout: float  # the share of the entries that is left out
    least: float  # a row whose slopes are all less makes no step
    seed: np.uint64  # says which entries are left out
    by_cost: bool  # whether slopes are weighed by costs


class _Problem(NamedTuple):
    """What a linear learner learns from."""

    epochs: int
    by_cost: bool  # whether costs count
    columns: NDArray[np.int32]  # the hashed columns that have weights, (U,)
    entries: Entries


class _Linear(BaseEstimator):  # type: ignore[misc]
    """A linear learner with ``epochs``, ``importance`` and ``min_freq``."""

    def _read(self, data: Decisions, kind: Any) -> _Problem:
        """What is to be learned, numbers being of this kind.

        Where costs count, they are in units of the mean over all examples of the greatest one.
        """
        where = type(self).__name__
        epochs = check_int(where, "epochs", self.epochs)
        by_cost = one_of(where, "importance", self.importance, ("cost", "equal")) == "cost"
        rows = data.rows
        least = check_int(where, "min_freq", self.min_freq)
        columns, numbers = numbered_columns(rows, least)
        ends, begins = (array.astype(np.int64, copy=False) for array in (rows.indptr, data.begins))
        values = rows.data.astype(kind, copy=False)
        costs = data.costs.astype(kind)
        unit = float(data.greatest.mean()) if by_cost else 1.0
        importance = np.full(len(data), 1 / (unit or 1.0), kind)
        arrays = (begins, costs, data.targets, importance)
        return _Problem(epochs, by_cost, columns, Entries(ends, numbers, values, *arrays))


_TINY = 1e-30  # no step is divided by 0; its root is nothing beside any slope
_LEAST_SLOPE = 1e-4  # rows of smaller slopes make no step: probabilities are right to four digits


@register
@dataclass(eq=False, repr=False, kw_only=True)
class Logistic(_Linear):
    """Softmax over the allowed actions of a state, weights learned by AdaGrad.

    With one target in each state and equal importance it is multinomial logistic regression, and
    the first iteration of ``Searn`` trains a maximum entropy Markov model (section 7 of the paper).
    Dropout (entries are left out, the others scaled up) takes the place of a penalty on weights.

    By costs, an action that is no target is pushed down by its probability times what it costs
    more than the target, and the target is pushed up by the sum of these. Where the features leave
    P(y) for the target y, the probabilities p of actions a are then those for which, for all y,
    p(y) sum_t P(t) [c_t(y) - c_t(t)] = P(y) sum_a p(a) [c_y(a) - c_y(y)]: with two actions, odds
    times the ratio of costs, so that the more probable action is the one of less expected cost;
    with equal costs of all mistakes, p = P. An action that is the target of no state is never
    decided for, however little it costs.

    Args:
        epochs: passes over the examples.
        rate: the length of a step.
        dropout: the share of entries that is left out in a pass.
        importance: "cost": a wrong action weighs as much as its cost less that of the target, in
            units of the mean over all examples of the greatest of these, so that states in which
            nothing can go wrong weigh nothing; or "equal": the targets alone count, and all
            mistakes are alike (learned by argmin).
        min_freq: features with fewer entries have no weight.
    """

    epochs: int = 8
    rate: float = 0.03
    dropout: float = 0.2
    importance: str = "cost"
    min_freq: int = 1

    def learn(self, decisions: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        from fsmeu.searn.learners import kernels

        rate = number_between(type(self).__name__, "rate", self.rate, 0, np.inf)
        dropout = number_between(type(self).__name__, "dropout", self.dropout, 0, 0.99)
        # Single precision takes half the memory and half the time.
        problem = self._read(decisions, np.float32)
        weights = np.zeros((len(problem.columns) + 1, decisions.costs.shape[1]), np.float32)
        squares = np.full_like(weights, _TINY)
        source = np.random.default_rng(seed)
        for _ in range(problem.epochs):
            order = source.permutation(len(decisions))
            left_out = np.uint64(source.integers(2**63))
            options = LogisticSettings(rate, dropout, _LEAST_SLOPE, left_out, problem.by_cost)
            kernels.logistic_pass(problem.entries, order, weights, squares, options)
        return LinearModel(problem.columns, weights, probabilistic=True)


@register
@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPerceptron(_Linear):
    """A multiclass perceptron whose weights are averaged over all examples of all passes.

    Args:
        epochs: passes over the examples.
        importance: "cost": a step is as long as the difference of the costs of the action that was
            decided for and of the best target, in units of the mean over all examples of the
            greatest one; or "equal": all steps are alike (learned by argmin).
        min_freq: features with fewer entries have no weight.
    """

    epochs: int = 8
    importance: str = "cost"
    min_freq: int = 1

    def learn(self, decisions: Decisions, seed: int) -> LinearModel:
        """The model that was learned from examples."""
        from fsmeu.searn.learners import kernels

        problem = self._read(decisions, np.float64)
        weights, delays = np.zeros((2, len(problem.columns) + 1, decisions.costs.shape[1]))
        source = np.random.default_rng(seed)
        seen = 0
        for _ in range(problem.epochs):
            order = source.permutation(len(decisions))
            kernels.perceptron_pass(problem.entries, order, weights, delays, seen, problem.by_cost)
            seen += len(decisions)
        mean = weights - delays / max(1, seen)
        return LinearModel(problem.columns, mean, probabilistic=False)
