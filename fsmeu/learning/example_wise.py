"""Multi-label classification in which every example is decided for its own value.

Each row is a sequence of independent labels; F or Jaccard of every row is maximised in expectation
(Dembczynski et al. 2011; Ye et al. 2012; Natarajan 2016, Algorithm 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from fsmeu.decoding.decode_many import decode_many
from fsmeu.errors import InputError, sentence
from fsmeu.learning.base import Floats, OuterClassifier, Rows
from fsmeu.learning.calibration import fitted, probabilities
from fsmeu.learning.given_loss import binary_loss, over_classes
from fsmeu.learning.saving import register
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent

__all__ = ["ExampleWiseClassifier"]


@register
class ExampleWiseClassifier(OuterClassifier):
    """Decides the labels of each row for the best expected value of that row, by ``decode_many``.

    A label has an estimator of its own; given the row, labels are independent. A label that all
    training rows have, or none, has the probability 1 or 0. With one column of two classes a row
    is a sequence of one label.

    Args:
        loss: a name on the shelf such as "fscore" or "jaccard", a path, or a loss over two labels.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.

    Attributes:
        loss_: the loss.
        estimators_: the fitted estimator of each label, or its constant probability.
        columns_: the number of labels, or None where the labels were of one column.
    """

    loss_: Loss
    estimators_: list[Any]
    columns_: int | None

    def __init__(self, loss: Any = "fscore", estimator: Any = None) -> None:
        self.loss = loss
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExampleWiseClassifier:
        """Itself, fitted to rows and labels: 0 or 1, (rows, labels), or classes, (rows,)."""
        where = "ExampleWiseClassifier"
        self.loss_ = binary_loss(where, self.loss)
        chosen = self._inner()
        if isinstance(chosen, type) or not all(
            hasattr(chosen, n) for n in ("fit", "predict_proba")
        ):
            must = "the estimator must have fit and predict_proba"
            raise InputError(sentence(where, must, chosen))
        y = y if y is None or issparse(y) else np.asarray(y)
        if y is not None and y.ndim == 2 and y.shape[1] != 1:
            rows, table, weights = self._table(X, y, sample_weight)
            self.columns_ = table.shape[1]
        else:
            rows, positive, weights = self._training(X, y, sample_weight)
            table, self.columns_ = positive[:, None], None
        self.estimators_ = [_of_label(chosen, rows, column, weights) for column in table.T]
        return self

    def _table(self, X: Any, y: Any, weights: Any) -> tuple[Rows, Floats, Any]:
        """Checked rows, labels (rows, labels) and weights."""
        rows, table = self._pairs(X, y.toarray() if issparse(y) else y, multi_output=True)
        if type_of_target(table) != "multilabel-indicator" or not np.isin(table, (0, 1)).all():
            must = "labels must be 0 or 1, a column for each label"
            raise InputError(sentence("ExampleWiseClassifier.fit", must, table))
        self.classes_ = np.array([0, 1])
        return rows, table.astype(np.float64), self._weights(rows, weights)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each label, (rows, labels); of both classes where y was one column."""
        p = self._probabilities(self._rows(X))
        return p if self.columns_ is not None else np.concatenate([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of each row as 0 and 1, (rows, labels); classes where y was one column."""
        p = self._probabilities(self._rows(X))
        loss = over_classes(self.loss_, self.classes_, "ExampleWiseClassifier")
        labels, models = loss.alphabet.labels, list(p)
        if labels != (0, 1):
            models = [Independent(np.stack([1.0 - row, row], axis=1), labels) for row in p]
        decided = [decision.labels for decision in decode_many(loss, models)]
        chosen = np.array([[label == labels[1] for label in row] for row in decided], bool)
        chosen = chosen.reshape(p.shape)
        return self._named(chosen) if self.columns_ is not None else self._named(chosen[:, 0])

    def _probabilities(self, rows: Rows) -> Floats:
        columns = [
            np.full(_num_samples(rows), one) if isinstance(one, float) else probabilities(one, rows)
            for one in self.estimators_
        ]
        return np.stack(columns, axis=1)


def _of_label(estimator: Any, rows: Rows, column: Floats, weights: Any) -> Any:
    """The fitted estimator of a label, or its probability where it never changes."""
    if column.min() == column.max():
        return float(column[0])
    return fitted("ExampleWiseClassifier", estimator, rows, column, weights)
