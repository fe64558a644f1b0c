"""Importance-weighted binary problems, each given to a classifier of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils.validation import has_fit_parameter

from fsmeu.errors import InputError, sentence
from fsmeu.learning.saving import register
from fsmeu.searn.learners.linear import column_table, numbered_columns
from fsmeu.searn.learners.protocol import Decisions

__all__ = ["Constant", "compact_rows", "fitted", "given_base", "margins", "only_flat", "renumbered"]

Floats = NDArray[np.float64]


@register
class Constant(BaseEstimator):  # type: ignore[misc]
    """What a binary problem without examples of both classes is solved by.

    Args:
        margin: the margin for every row.
    """

    def __init__(self, margin: float = 0.0) -> None:
        self.margin = margin

    def decision_function(self, rows: Any) -> Floats:
        """The margin for each row, (R,)."""
        return np.full(rows.shape[0], float(self.margin))

    def predict(self, rows: Any) -> Floats:
        """The same, as a regressor predicts."""
        return self.decision_function(rows)


def given_base(base: Any, default: Any, where: str) -> Any:
    """The estimator behind a reduction, checked to take weights of examples.

    Raises:
        InputError: it does not.
    """
    found = default if base is None else base
    try:
        takes = not isinstance(found, type) and has_fit_parameter(found, "sample_weight")
    except Exception:  # whatever a strange object raises
        takes = False
    if not takes:
        must = "base must be an estimator of scikit-learn whose fit takes sample_weight"
        raise InputError(sentence(where, must, found))
    return found


def fitted(base: Any, rows: Any, labels: Any, weights: Floats, seed: int) -> Any:
    """A copy of a classifier, trained on the rows of positive weight.

    Args:
        base: the classifier.
        rows: (R, columns).
        labels: bool (R,), or numbers for a regressor.
        weights: (R,).
        seed: its ``random_state``, where it has one.
    """
    kept = np.flatnonzero(weights > 0)
    labels = np.asarray(labels)[kept]
    if not len(kept):
        return Constant(0.0)
    if not is_regressor(base):
        held = np.unique(labels)
        if len(held) < 2:
            return Constant(1.0 if held[0] else -1.0)
    made = clone(base)
    if "random_state" in made.get_params(deep=False):
        made.set_params(random_state=seed % 2**31)
    mean = float(weights[kept].mean())
    return made.fit(rows[kept], labels, sample_weight=weights[kept] / mean)


def margins(model: Any, rows: Any) -> Floats:
    """How far each row is on the positive side, (R,): above 0 where it is."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(rows), np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows)[:, 1] - 0.5, np.float64)
    return np.asarray(model.predict(rows), np.float64) - 0.5


def compact_rows(given: Decisions, least: int) -> tuple[NDArray[np.int32], csr_array]:
    """The columns that are used, (U,), and the rows over these alone, (R, U)."""
    columns, numbers = numbered_columns(given.rows, least)
    return columns, _over(given.rows, numbers, len(columns))


def renumbered(columns: NDArray[np.int32], rows: csr_array) -> csr_array:
    """Rows over the columns that were used in training alone, (R, U)."""
    return _over(rows, column_table(columns, rows.shape[1])[rows.indices], len(columns))


def _over(rows: csr_array, numbers: NDArray[np.int32], count: int) -> csr_array:
    held = (rows.data.astype(np.float64), numbers, rows.indptr)
    whole = csr_array(held, shape=(rows.shape[0], count + 1))
    whole.sum_duplicates()
    found = csr_array(whole[:, :count])
    if found.nnz < 2**31:  # scikit-learn takes no others
        found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found


def only_flat(given: Decisions, where: str) -> None:
    """Refuses examples of several rows.

    Raises:
        InputError: there are such.
    """
    if not given.is_flat:
        must = "the space must have the same actions in all states"
        remedy = "Use OneAgainstAll, CostRegression, Logistic or AveragedPerceptron"
        raise InputError(sentence(where, must, None, remedy))
