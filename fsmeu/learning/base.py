"""What classifiers share: two classes of any type, rows of features, checks, hill climbing.

An estimator is a dataclass: its fields are the parameters that scikit-learn sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import InputError, message

Rows: TypeAlias = Any
"""Examples, (examples, features): doubles, a ``csr_array``, or what an inner estimator takes."""
Training: TypeAlias = tuple[Rows, Floats, Floats | None]
"""Rows, 1 for positive ones and 0 for others, (examples,), and weights, (examples,), or None."""


def real(where: str, name: str, value: object, which: str, holds: Callable[[float], bool]) -> float:
    """The number, checked: an InputError unless it is a ``which``, that is, unless it ``holds``."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isnan(number) and holds(number):
        return number
    raise InputError(message(where, f"{name} must be a {which}", value))


Range: TypeAlias = tuple[str, Callable[[float], bool]]
NONNEGATIVE: Range = ("finite number of at least 0", lambda x: 0.0 <= x < math.inf)
POSITIVE_NUMBER: Range = ("finite number above 0", lambda x: 0.0 < x < math.inf)


def number_between(where: str, name: str, value: object, low: float, high: float) -> float:
    """The number, checked: an InputError unless it is between both bounds or one of them."""
    span = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
    return real(where, name, value, f"number {span}", lambda x: low <= x <= high)


_FORM: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes; the greater of them in sorted order is the positive one.

    Attributes:
        classes_: both classes, the positive one last.
        n_features_in_: the number of features.
    """

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _training(
        self, rows: Any, labels: Any, weights: Any = None, classes: Any = None, first: bool = True
    ) -> Training:
        """Checked examples: rows (examples, features), 1 for positive ones and 0, and weights.

        The first ones set ``n_features_in_`` and ``classes_``; later ones must suit these.
        """
        rows, labels = validate_data(self, rows, labels, y_numeric=False, **_FORM, reset=first)
        rows = csr_array(rows) if issparse(rows) else rows
        return rows, self._targets(labels, classes, first), self._weights(rows, weights)

    def _targets(self, labels: NDArray[Any], classes: Any = None, first: bool = True) -> Floats:
        """1 for examples of the positive class and 0 for others; sets or checks ``classes_``."""
        where = f"{type(self).__name__}.fit"
        check_classification_targets(labels)
        if first or classes is not None:
            known = np.unique(labels if classes is None else classes)
            if len(known) != 2:
                got = f"{len(known)} class{'es' if len(known) != 1 else ''}"
                remedy = "Only binary classification is supported"  # scikit-learn looks for this
                remedy += ". Where labels come in parts, give both classes at the first call"
                raise InputError(message(where, "there must be two classes", got, remedy))
            if not first and not np.array_equal(known, self.classes_):
                raise InputError(message(where, "classes must stay the same", known.tolist()))
            self.classes_ = known
        positive = labels == self.classes_[1]
        strange = labels[~positive & (labels != self.classes_[0])]
        if len(strange):
            must = f"labels must be of the classes {self.classes_.tolist()}"
            raise InputError(message(where, must, np.unique(strange).tolist()))
        return np.asarray(positive, np.float64)

    def _weights(self, rows: Rows, weights: Any) -> Floats | None:
        """Checked weights of examples, (examples,), or None."""
        how = {"dtype": np.float64, "ensure_non_negative": True}
        return None if weights is None else np.asarray(_check_sample_weight(weights, rows, **how))

    def _rows(self, rows: Any) -> Rows:
        """The rows to predict, checked, (examples, features)."""
        check_is_fitted(self)
        checked = validate_data(self, rows, **_FORM, reset=False)
        return csr_array(checked) if issparse(checked) else checked

    def _named(self, positive: Bools) -> NDArray[Any]:
        """The class of each example, from whether it is positive."""
        return self.classes_[positive.astype(np.int64)]


class LogisticClassifier(BinaryClassifier):
    """A classifier of linear scores, whose logistic function is the positive class's probability.

    Attributes:
        coef_: the coefficients, (1, features).
        intercept_: the intercept, (1,).
    """

    def decision_function(self, X: Any) -> Floats:
        """The logarithm of the odds of the positive class, (examples,)."""
        scores: Floats = self._rows(X) @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, (examples, 2)."""
        scores = LogisticClassifier.decision_function(self, X)  # subclasses may have a threshold
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each example, (examples,)."""
        return self._named(self.decision_function(X) > 0)


class OuterClassifier(BinaryClassifier):
    """A classifier around an estimator, which is given the rows as they are."""

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._inner()
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = get_tags(inner).input_tags
        return tags

    def _inner(self) -> Any:
        """The estimator to be copied."""
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _labelled(self, rows: Any, labels: Any, weights: Any) -> Training:
        """Rows as they are, 1 for positive ones and 0 for others, and weights."""
        rows, labels = self._pairs(rows, labels)
        return rows, self._targets(labels), self._weights(rows, weights)

    def _pairs(self, rows: Any, labels: Any, **how: bool) -> tuple[Rows, NDArray[Any]]:
        """Rows as they are, and as many checked labels; sets ``n_features_in_`` if it is known."""
        checked = validate_data(self, y=labels, **how)
        validate_data(self, rows, skip_check_array=True)
        return indexable(rows, checked)[0], checked

    def _rows(self, rows: Any) -> Rows:
        """The rows to predict, as they are; the estimator looks at them."""
        check_is_fitted(self)
        return rows


def positive_chances(estimator: Any, rows: Rows) -> Floats:
    """The probability of a positive label for each row, (rows,), as a fitted estimator tells it."""
    return np.asarray(estimator.predict_proba(rows), np.float64)[:, 1]


Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]
"""A function of the weights and its gradient."""


class Climb(NamedTuple):
    """Where a climb ended: the weights, the objective there, the number of iterations."""

    weights: Floats
    value: float
    steps: int


def climb(
    objective: Objective,
    start: Floats,
    steps: int,
    tolerance: float = 1e-6,
    *,
    gain: float = 1e-12,
    box: Floats | None = None,
) -> Climb:
    """A local maximum of an objective, by at most so many steps of L-BFGS (Liu & Nocedal 1989).

    It ends where no derivative is greater than the tolerance, or where a step gains no more than
    ``gain`` times the value. The box has the least and the greatest weights, (weights, 2).
    """
    if not steps:
        return Climb(start, objective(start)[0], 0)
    options = {"maxiter": steps, "maxfun": 4 * steps + 20, "gtol": tolerance, "ftol": gain}

    def downhill(weights: Floats) -> tuple[float, Floats]:
        value, slopes = objective(weights)
        return -value, -slopes

    with threadpool_limits(1, "blas"):  # on matrices this small more threads cost more
        end = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return Climb(np.asarray(end.x, np.float64), float(-end.fun), int(end.nit))
