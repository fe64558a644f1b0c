"""What classifiers share: two classes of any type, rows of features, weights of examples."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fsmeu.errors import InputError, sentence

__all__ = ["BinaryClassifier", "OuterClassifier", "Rows"]

Floats = NDArray[np.float64]
Rows: TypeAlias = Any
"""Examples as rows, (examples, features): an array of doubles or a ``csr_array``.

Of a classifier around an estimator, they are whatever that estimator takes.
"""


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes; the greater of them in sorted order is the positive one.

    Attributes:
        classes_: both classes, the positive one last.
        n_features_in_: the number of features.
    """

    classes_: NDArray[Any]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _training(
        self, rows: Any, labels: Any, weights: Any = None
    ) -> tuple[Rows, Floats, Floats | None]:
        """Checked examples: rows (examples, features), 1 for positive ones and 0, and weights.

        Sets ``classes_`` and ``n_features_in_``.
        """
        rows, labels = validate_data(
            self, rows, labels, accept_sparse="csr", dtype=np.float64, y_numeric=False
        )
        rows = csr_array(rows) if issparse(rows) else rows
        return rows, self._targets(labels), self._weights(rows, weights)

    def _targets(self, labels: NDArray[Any]) -> Floats:
        """1 for examples of the positive class and 0 for others; sets ``classes_``."""
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:
            where = f"{type(self).__name__}.fit"
            must = "the labels must be of two classes"
            found = f"{len(self.classes_)} class{'es' if len(self.classes_) != 1 else ''}"
            remedy = "Only binary classification is supported"  # scikit-learn looks for these words
            raise InputError(sentence(where, must, found, remedy))
        return np.asarray(labels == self.classes_[1], np.float64)

    def _weights(self, rows: Rows, weights: Any) -> Floats | None:
        """Checked weights of examples, (examples,), or None."""
        if weights is None:
            return None
        checked: Floats = _check_sample_weight(
            weights, rows, dtype=np.float64, ensure_non_negative=True
        )
        return checked

    def _rows(self, rows: Any) -> Rows:
        """Checked rows to predict, (examples, features)."""
        check_is_fitted(self)
        found = validate_data(self, rows, accept_sparse="csr", dtype=np.float64, reset=False)
        return csr_array(found) if issparse(found) else found

    def _named(self, positive: NDArray[np.bool_]) -> NDArray[Any]:
        """The class of each example, from whether it is positive."""
        return self.classes_[positive.astype(np.int64)]


class OuterClassifier(BinaryClassifier):
    """A classifier around an estimator, which is given the rows as they are."""

    estimator: Any

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._inner()
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = get_tags(inner).input_tags
        return tags

    def _inner(self) -> Any:
        """The estimator to be copied."""
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _training(
        self, rows: Any, labels: Any, weights: Any = None
    ) -> tuple[Rows, Floats, Floats | None]:
        """Rows as they are, 1 for positive ones and 0 for others, and weights."""
        rows, labels = self._pairs(rows, labels)
        return rows, self._targets(labels), self._weights(rows, weights)

    def _pairs(self, rows: Any, labels: Any, **how: bool) -> tuple[Rows, NDArray[Any]]:
        """Rows as they are, and as many checked labels; sets ``n_features_in_`` if it is known."""
        checked = validate_data(self, y=labels, **how)
        validate_data(self, rows, skip_check_array=True)
        rows, _ = indexable(rows, checked)
        return rows, checked

    def _rows(self, rows: Any) -> Rows:
        """The rows to predict, as they are; the estimator looks at them."""
        check_is_fitted(self)
        return rows
