"""What classifiers share: two classes of any type, dense or sparse rows, weights of examples."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fsmeu.errors import InputError, sentence

__all__ = ["BinaryClassifier", "Rows"]

Floats = NDArray[np.float64]
Rows: TypeAlias = Any
"""Examples as rows, (examples, features): an array of doubles or a ``csr_array``."""


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
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:
            where = f"{type(self).__name__}.fit"
            must = "the labels must be of two classes"
            found = f"{len(self.classes_)} class{'es' if len(self.classes_) != 1 else ''}"
            remedy = "Only binary classification is supported"  # scikit-learn looks for these words
            raise InputError(sentence(where, must, found, remedy))
        if weights is not None:
            weights = _check_sample_weight(
                weights, rows, dtype=np.float64, ensure_non_negative=True
            )
        positive = (labels == self.classes_[1]).astype(np.float64)
        return csr_array(rows) if issparse(rows) else rows, positive, weights

    def _rows(self, rows: Any) -> Rows:
        """Checked rows to predict, (examples, features)."""
        check_is_fitted(self)
        found = validate_data(self, rows, accept_sparse="csr", dtype=np.float64, reset=False)
        return csr_array(found) if issparse(found) else found

    def _named(self, positive: NDArray[np.bool_]) -> NDArray[Any]:
        """The class of each example, from whether it is positive."""
        return self.classes_[positive.astype(np.int64)]
