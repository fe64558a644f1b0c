"""Linear models of hashed features, of which only the columns that were seen have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.learning.saving import register

__all__ = ["LinearModel", "numbered_columns"]


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
    return columns, numbers_in(columns, rows)


def numbers_in(columns: NDArray[np.int32], rows: csr_array) -> NDArray[np.int32]:
    """The number of each entry's column among these, or how many there are for other columns."""
    table = np.full(rows.shape[1], len(columns), np.int32)
    table[columns] = np.arange(len(columns), dtype=np.int32)
    return np.asarray(table[rows.indices], np.int32)


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

    def scores(self, rows: csr_array) -> NDArray[Any]:
        """The score of each action for each row, (R, A)."""
        weights = self.weights
        shape = (rows.shape[0], len(weights))
        held = (rows.data, numbers_in(self.columns, rows), rows.indptr)
        return np.asarray(csr_array(held, shape=shape) @ weights)
