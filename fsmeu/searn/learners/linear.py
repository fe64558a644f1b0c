"""Linear models of hashed features, of which only the columns that were seen have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.learning.saving import register
from fsmeu.models.checks import check_shape

__all__ = ["LinearModel", "column_table", "numbered_columns"]


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
        held = getattr(self, "_held", None)
        if held is None or held[0] is not self.columns or held[1] != rows.shape[1]:
            held = self._held = (self.columns, rows.shape[1], *self._look_up(rows.shape[1]))
        _, _, table, ascending, order = held
        if table is not None:
            return np.asarray(table[rows.indices])
        place = np.minimum(np.searchsorted(ascending, rows.indices), len(order) - 1)
        known = ascending[place] == rows.indices
        return np.asarray(np.where(known, order[place], np.int32(len(order))))

    def _look_up(self, size: int) -> tuple[Any, Any, Any]:
        """The table, or None and the columns in ascending order with their numbers."""
        columns = self.columns
        if size <= np.size(self.weights) or not len(columns):
            return column_table(columns, size), None, None
        order = np.argsort(columns).astype(np.int32)
        return None, columns[order], order
