"""What online learners share: one pass over examples, predictions before labels, constant memory.

The memory of a learner is one or a few weight vectors and a short vector of numbers, however many
examples it has seen. Its measure is computed on predictions that were made before the label of the
example was used (progressive validation).
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_random_state, validate_data

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, SizeLimitError, check_bool, message, one_of
from fsmeu.learning.base import BinaryClassifier, Rows, positive_number, real
from fsmeu.learning.online.state import OWN, SEEN, fresh, measured, skipped
from fsmeu.limits import ONLINE_WEIGHTS

__all__ = ["OnlineClassifier"]


def uniform(seed: int, seen: int, weights: Floats) -> Floats:
    """A number from [0, 1) for each example, (examples,).

    It depends on the seed and on how many examples of positive weight came before: pieces get the
    same numbers as the whole. (The mixing function is that of SplitMix64, Steele et al. 2014.)
    """
    place = np.cumsum(weights > 0.0).astype(np.uint64) + np.uint64(seen)
    word = (place + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.asarray((word >> np.uint64(11)) * 2.0**-53)


def _flat(rows: Rows) -> tuple[Any, Any, Any]:
    """Values row by row, the column of each (none where rows are whole), where rows begin."""
    if issparse(rows):
        return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    begins = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return np.ascontiguousarray(rows).ravel(), np.empty(0, np.int64), begins


Self = TypeVar("Self", bound="OnlineClassifier")
SCHEDULES = ("sqrt", "constant")
MEANS = {"False": 0, "True": 1, "suffix": 2}
"""Vectors that the mean of weights needs beside each weight vector, by ``average``."""


class OnlineClassifier(BinaryClassifier):
    """A classifier that learns from one example after the other.

    Attributes:
        classes_: both classes, the positive one last.
        weights_: (classifiers, features + 1), the last column for the intercept.
        delays_: what turns them into their mean over time (``kernels.run``), (0, 1 or 2 times the
            classifiers, features + 1).
        state_: what else the learner remembers (``state``).
        seed_: where its uniform numbers begin.
    """

    _kind: ClassVar[int]
    _size: ClassVar[int] = OWN
    weights_: Floats
    delays_: Floats
    state_: Floats
    seed_: int

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool | str = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
    ) -> None:
        self.step = step
        self.schedule = schedule
        self.average = average
        self.fit_intercept = fit_intercept
        self.measure = measure
        self.beta = beta

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """This classifier after one pass over the examples, in the order of the rows.

        Args:
            X: examples, (examples, features), dense or sparse.
            y: labels of two classes.
            sample_weight: weights of examples; one of weight 0 is skipped.
        """
        rows, positive, weights = self._training(X, y, sample_weight)
        known = np.ones(len(positive)) if weights is None else weights
        self._begin(rows.shape[1], int(np.count_nonzero(known)))
        self._pass(rows, positive, known)
        return self

    def partial_fit(
        self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """This classifier after more examples.

        Args:
            X: examples, (examples, features), dense or sparse.
            y: labels.
            classes: both classes; needed at the first call where the labels do not show both.
            sample_weight: weights of examples; one of weight 0 is skipped.
        """
        self.predict_then_fit(X, y, classes, sample_weight)
        return self

    def predict_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> NDArray[Any]:
        """The class predicted for each example before its label was used, (examples,).

        The arguments are those of ``partial_fit``, which does the same.
        """
        return self._named(self._more(X, y, classes, sample_weight)[0])

    def _more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[NDArray[np.bool_], Floats]:
        """What was predicted before labels were used, and with which probability."""
        first = not hasattr(self, "state_")
        rows, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False, reset=first
        )
        positive = self._positive(labels, classes, first)
        known = np.ones(len(positive))
        if sample_weight is not None:
            known = _check_sample_weight(
                sample_weight, rows, dtype=np.float64, ensure_non_negative=True
            )
        if first:
            self._begin(rows.shape[1], None)
        return self._pass(rows, positive, known)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example, (examples,)."""
        return self._named(self.decision_function(X) >= 0.0)

    def decision_function(self, X: Any) -> Floats:
        """By how much each example exceeds what is needed to be predicted positive, (examples,)."""
        raise NotImplementedError

    @property
    def score_(self) -> float:
        """The measure of all predictions that were made before labels; 0 where it is 0/0."""
        return measured(self.state_)

    @property
    def seen_(self) -> int:
        """How many examples it has learned from."""
        return int(self.state_[SEEN])

    @property
    def coef_(self) -> Floats:
        """The weights that predictions are made with, (classifiers, features)."""
        return np.asarray(self._used()[:, :-1])

    @property
    def intercept_(self) -> Floats:
        """The intercepts that predictions are made with, (classifiers,)."""
        return self._used()[:, -1]

    def _used(self) -> Floats:
        count, seen = len(self.weights_), float(self.state_[SEEN])
        if not len(self.delays_):
            return self.weights_
        left = skipped(seen) if len(self.delays_) > count else 0.0
        return np.asarray(self.weights_ + self.delays_[:count] / max(seen - left, 1.0))

    def _margins(self, X: Any) -> Floats:
        """Of each example by each classifier, (examples, classifiers)."""
        rows = self._rows(X)
        return np.asarray(rows @ self.coef_.T) + self.intercept_

    def _begin(self, features: int, horizon: int | None) -> None:
        """Checks the parameters and forgets everything."""
        where = type(self).__name__
        positive_number(where, "step", self.step)
        must = "number above 0 and at most 1e100"
        real(where, "beta", self.beta, must, lambda value: 0.0 < value <= 1e100)
        one_of(where, "schedule", self.schedule, SCHEDULES)
        one_of(where, "measure", self.measure, ("f", "jaccard"))
        check_bool(where, "fit_intercept", self.fit_intercept)
        shape = (self._classifiers(), features + 1)
        if shape[0] * shape[1] > ONLINE_WEIGHTS:
            must = f"there may be at most {ONLINE_WEIGHTS:,} weights (fsmeu.limits.ONLINE_WEIGHTS)"
            raise SizeLimitError(message(where, must, f"{shape[0]:,} times {shape[1]:,}"))
        self.weights_ = np.zeros(shape)
        average = self.average
        chosen = average if isinstance(average, str) else str(check_bool(where, "average", average))
        self.delays_ = np.zeros(
            (MEANS[one_of(where, "average", chosen, MEANS)] * shape[0], shape[1])
        )
        self.state_ = self._start(fresh(self._size, self.measure, float(self.beta)), horizon)
        seed = check_random_state(getattr(self, "random_state", 0)).randint(2**31 - 1)
        self.seed_ = int(seed)

    def _classifiers(self) -> int:
        """How many linear classifiers are learned."""
        return 1

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        """The state before the first example; the horizon is the number of examples, if known."""
        return state

    def _positive(self, labels: Any, classes: Any, first: bool) -> Floats:
        """1 for positive examples and 0 for others; sets or checks ``classes_``."""
        where = f"{type(self).__name__}.partial_fit"
        check_classification_targets(labels)
        if first or classes is not None:
            found = np.unique(labels if classes is None else classes)
            if len(found) != 2:
                many = f"{len(found)} class{'es' if len(found) != 1 else ''}"
                remedy = "Give both as classes at the first call"
                raise InputError(message(where, "there must be two classes", many, remedy))
            if not first and not np.array_equal(found, self.classes_):
                raise InputError(message(where, "classes must stay the same", found.tolist()))
            self.classes_ = found
        positive = labels == self.classes_[1]
        strange = labels[~positive & (labels != self.classes_[0])]
        if len(strange):
            must = f"labels must be of the classes {self.classes_.tolist()}"
            raise InputError(message(where, must, np.unique(strange).tolist()))
        return np.asarray(positive, np.float64)

    def _pass(
        self, rows: Any, positive: Floats, weights: Floats
    ) -> tuple[NDArray[np.bool_], Floats]:
        """What was predicted before labels were used, and with which probability, (examples,)."""
        from fsmeu.learning.online import kernels

        if issparse(rows):
            rows = csr_array(rows)
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
        drawn = hasattr(self, "random_state")
        draws = uniform(self.seed_, self.seen_, weights) if drawn else weights
        settings = (float(bool(self.fit_intercept)), float(self.step), self.schedule == "sqrt")
        learned = (self._kind, self.state_, self.weights_, self.delays_, settings)
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            predicted, chances = kernels.run(*learned, _flat(rows), (positive, weights, draws))
        known = np.isfinite(chances) | (weights == 0.0)
        if (
            not all(np.isfinite(part).all() for part in (self.weights_, self.state_))
            or not known.all()
        ):
            must = "weights and their products with rows must stay finite"
            remedy = "Scale the features, or give a smaller step"
            raise InputError(message(type(self).__name__, must, "an overflow", remedy))
        return predicted > 0, chances
