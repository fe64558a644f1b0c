"""Bases of estimators: checks, two classes of any type, maximisation, and the loss to learn for.

An estimator is a dataclass: its fields are the parameters that scikit-learn sees. ``classes`` has
what is said of classes and labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags, indexable, validation
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data as validate
from threadpoolctl import threadpool_limits

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import Argument, FsmeuError, InputError, Wording, wording
from fsmeu.learning.classes import (
    check_classes,
    check_positive,
    column_of_class,
    over_classes,
    plain,
    positive_class,
)
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.loss import SpecLoss, load
from fsmeu.losses.protocol import Loss, as_loss

Rows: TypeAlias = Any  # (examples, features): doubles, a ``csr_array``, or what an estimator takes
Training: TypeAlias = tuple[Rows, Floats, Floats | None]  # with 1 for positive ones, and weights


def check_real(
    where: str, name: str, value: object, expected: str, predicate: Callable[[float], bool]
) -> float:
    """The number, for which the predicate holds; an InputError that it must be as expected."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isnan(number) and predicate(number):
        return number
    raise InputError(where, f"{name} must be a {expected}", given=value)


NONNEGATIVE = ("finite number of at least 0", lambda x: 0.0 <= x < math.inf)
POSITIVE_NUMBER = ("finite number above 0", lambda x: 0.0 < x < math.inf)


def number_between(where: str, name: str, value: object, low: float, high: float) -> float:
    """The number, checked: an InputError unless it is between both bounds or one of them."""
    span = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
    return check_real(where, name, value, f"number {span}", lambda x: low <= x <= high)


class ExampleTypeError(InputError, TypeError):
    """Examples of a wrong type: an InputError where scikit-learn raises a TypeError."""


@contextmanager
def checking(where: str) -> Iterator[None]:
    """A context in which what scikit-learn refuses is an InputError with its words."""
    try:
        yield
    except (FsmeuError, NotFittedError):
        raise
    except (ValueError, TypeError) as error:
        kind = ExampleTypeError if isinstance(error, TypeError) else InputError
        raise kind(where, " ".join(str(error).split())) from error


def random_of(where: str, random_state: Any) -> np.random.RandomState:
    """The generator of a seed, a generator, or None; an InputError if it is none of these."""
    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except (ValueError, TypeError):
        must = "random_state must be None, a generator or a whole number from 0 to 2^32 - 1"
        raise InputError(where, must, given=random_state) from None


_FORM: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


@dataclass(eq=False, repr=False)
class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes, ``classes_``, sorted, of which ``pos_label_`` is the positive.

    That is ``pos_label``, or what ``positive_class`` finds. Columns of probabilities, and the signs
    of scores and weights, are those of ``classes_``, as scikit-learn has them.
    """

    pos_label: Any = field(default=None, kw_only=True)

    @property
    def pos_label_(self) -> Any:
        """The positive class."""
        return plain(self.classes_[self.positive_])

    @property
    def _ordered(self) -> NDArray[Any]:
        """Both classes, the positive one last, (2,)."""
        return self.classes_[[1 - self.positive_, self.positive_]]

    @property
    def _sign(self) -> float:
        """What a score of the positive class is multiplied by to be one of ``classes_[1]``."""
        return 1.0 if self.positive_ else -1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _checked(self, rows: Any, labels: Any, first: bool = True) -> tuple[Rows, NDArray[Any]]:
        """Checked rows, (examples, features), and as many labels; sets ``n_features_in_``."""
        rows, labels = validate(self, rows, labels, y_numeric=False, **_FORM, reset=first)
        return csr_array(rows) if issparse(rows) else rows, labels

    def _training(
        self, rows: Any, labels: Any, weights: Any = None, classes: Any = None, first: bool = True
    ) -> Training:
        """Checked rows, 1 for positive ones and 0 for others, and weights; first, sets classes."""
        where = f"{type(self).__name__}.fit"
        with checking(where):
            rows, labels = self._checked(rows, labels, first)
            check_classification_targets(labels)
            weights = checked_weights(rows, weights)
        if first or classes is not None:
            with checking(where):
                unique = np.unique(labels if classes is None else classes)
            if len(unique) != 2:
                got = f"{len(unique)} class{'es' if len(unique) != 1 else ''}"
                remedy = "Only binary classification is supported"  # scikit-learn looks for this
                remedy += ". Where labels come in parts, give both classes at the first call"
                if len(unique) > 2:
                    remedy += f". One class against all others: y == {plain(unique[0])!r}"
                raise InputError(where, "there must be two classes", given=got, remedy=remedy)
            if not first and not np.array_equal(unique, self.classes_):
                raise InputError(where, "classes must stay the same", given=unique.tolist())
            self.classes_: NDArray[Any] = unique
        strange = labels[~np.isin(labels, self.classes_)]
        if len(strange):
            must = f"labels must be of the classes {self.classes_.tolist()}"
            raise InputError(where, must, given=np.unique(strange).tolist())
        if first:
            loss = getattr(self, "loss_", None)
            greater = labels == self.classes_[1]
            self.positive_ = positive_class(
                where, self.classes_, greater, self.pos_label, weights, loss
            )
        positive = labels == self.classes_[self.positive_]
        return rows, np.asarray(positive, np.float64), weights

    def _named(self, positive: Bools) -> NDArray[Any]:
        """The class of each example, from whether it is positive."""
        return self._ordered[positive.astype(np.int64)]

    def _columns(self, p: Floats) -> Floats:
        """The probability of each class, (examples, 2), from that of the positive one."""
        return np.stack([1.0 - p, p][:: 1 if self.positive_ else -1], axis=1)

    def _named_loss(self) -> Loss:
        """The loss whose labels stand for both classes, the positive one last."""
        return over_classes(self.loss_, self._ordered, type(self).__name__, positive=1)

    def check_parts(self) -> None:
        """Raises an InputError unless the index of the positive class, if known, is one of two."""
        if hasattr(self, "classes_"):
            check_positive(self.positive_, type(self).__name__, (0, 1))


def checked_weights(rows: Rows, weights: Any) -> Floats | None:
    """Weights of examples, (examples,), or None."""
    if weights is None:
        return None
    how = {"dtype": np.float64, "ensure_non_negative": True}
    found = np.asarray(validation._check_sample_weight(weights, rows, **how))
    if not found.any():  # which scikit-learn before 1.8 does not say
        raise ValueError("sample_weight must be above 0 for some example")
    return found


class LogisticClassifier(BinaryClassifier):
    """A classifier of linear scores, ``coef_`` and ``intercept_``, with logistic probabilities."""

    def decision_function(self, X: Any) -> Floats:
        """The logarithm of the odds of the greater class, ``classes_[1]``, (examples,)."""
        validation.check_is_fitted(self)
        with checking(type(self).__name__):
            rows = validate(self, X, **_FORM, reset=False)
        return np.asarray(rows @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, (examples, 2)."""
        scores = LogisticClassifier.decision_function(self, X)  # subclasses may have a threshold
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each example, (examples,)."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64)]


class MetaClassifier(BinaryClassifier):
    """A classifier around an estimator, which is given the rows as they are.

    What ``fit`` does for its ``loss`` is forgotten where another one is set.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        old = getattr(self, name, None)
        same = value is old or (isinstance(value, str) and value == old)
        if name in ("loss", "loss_params") and not same:
            self._forget_loss()
        super().__setattr__(name, value)

    def _forget_loss(self) -> None:
        """Deletes what was derived from the loss."""
        self.__dict__.pop("loss_", None)

    def _bound_loss(self) -> Any:
        """The loss of the parameters."""
        raise NotImplementedError

    def _named_loss(self) -> Loss:
        if not hasattr(self, "loss_"):  # another one was set after fit
            self.loss_ = self._bound_loss()
        return super()._named_loss()

    def _calibration(self) -> str | None:
        """The kind of calibration; None for none."""
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._inner()
        if hasattr(inner, "__sklearn_tags__") and not isinstance(inner, type):
            tags.input_tags = get_tags(inner).input_tags
        return tags

    def _inner(self) -> Any:
        """The estimator to be copied."""
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _weighing(self, weights: Floats | None) -> dict[str, Floats]:
        """The argument of the estimator's ``fit`` for weights; an InputError where it has none."""
        inner = self._inner()
        name, last = last_step(inner)
        if weights is not None and not validation.has_fit_parameter(last, "sample_weight"):
            must = "the estimator must take sample_weight where weights are given"
            raise InputError(type(self).__name__, must, given=inner)
        key = f"{name}__sample_weight" if name else "sample_weight"
        return {} if weights is None else {key: weights}

    def _fitted(self, rows: Rows, positive: Floats, weights: Floats | None) -> Any:
        """A copy of the estimator, fitted to rows with labels of ``classes_``.

        One that is frozen keeps what it has learned; an InputError where that is of other classes.
        """
        with checking(f"{type(self).__name__}.fit"):
            weighing = self._weighing(weights)
            copied = clone(self._inner())
            last = last_step(copied)[1]
            if isinstance(last, BinaryClassifier) and last.pos_label is None:
                last.set_params(pos_label=self.pos_label_)
            fitted = copied.fit(rows, self._named(positive > 0), **weighing)
        self._column(fitted)
        return fitted

    def _column(self, fitted: Any) -> int:
        """The column of ``predict_proba`` of a fitted estimator that is the positive class's."""
        return column_of_class(type(self).__name__, fitted, self.classes_, self.positive_)

    def _positive_column(self, fitted: Any, rows: Rows) -> Floats:
        """P(positive class) of each row, (rows,), by a fitted estimator, or this number for all."""
        if isinstance(fitted, float):
            return np.full(validation._num_samples(rows), fitted)
        with checking(type(self).__name__):
            columns = np.asarray(fitted.predict_proba(rows), np.float64)
        return columns[:, self._column(fitted)]

    def _checked(self, rows: Any, labels: Any, first: bool = True, **how: bool) -> Any:
        """Rows as they are, and as many checked labels; sets ``n_features_in_`` if it is known."""
        inner = self._inner()
        needs = ("fit", "predict_proba") if self._calibration() is None else ("fit",)
        if isinstance(inner, type) or not all(hasattr(inner, name) for name in needs):
            must = "the estimator must have fit and predict_proba"
            remedy = "With calibration, decision_function will do instead of predict_proba"
            remedy *= hasattr(self, "calibration")
            raise InputError(type(self).__name__, must, given=inner, remedy=remedy)
        checked = validate(self, y=labels, **how)
        if not validation._num_samples(rows):
            raise InputError(f"{type(self).__name__}.fit", "there must be examples", given="none")
        validate(self, rows, skip_check_array=True)
        return indexable(rows, checked)[0], checked


def last_step(estimator: Any) -> tuple[str, Any]:
    """The name and the estimator of the last step of a pipeline; "" and the estimator of others."""
    return estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)


def positive_probabilities(model: Any, rows: Rows) -> Floats:
    """P(positive class) of each row, (rows,), by a classifier of this package."""
    return np.asarray(model.predict_proba(rows), np.float64)[:, model.positive_]


Objective: TypeAlias = Callable[[Floats], tuple[float, Floats]]  # of weights, and its gradient


def maximize(
    objective: Objective,
    x0: Floats,
    steps: int,
    tol: float = 1e-6,
    ftol: float = 1e-12,
    bounds: Any = None,
) -> OptimizeResult:
    """A local maximum of an objective, by at most so many steps of L-BFGS (Liu & Nocedal 1989).

    The weights ``x``, the objective there, ``fun``, and the number of iterations, ``nit``. It ends
    where no derivative is greater than ``tol``, or where a step gains no more than ``ftol`` times
    the value. The bounds are the least and the greatest weights, (weights, 2), if there are any.
    """
    if not steps:
        return OptimizeResult(x=x0, fun=objective(x0)[0], nit=0)
    options = {"maxiter": steps, "maxfun": 4 * steps + 20, "gtol": tol, "ftol": ftol}
    how: dict[str, Any] = {"method": "L-BFGS-B", "bounds": bounds, "options": options}
    with threadpool_limits(1, "blas"):  # on matrices this small more threads cost more
        end = minimize(lambda x: tuple(-part for part in objective(x)), x0, jac=True, **how)
    return OptimizeResult(end, fun=float(-end.fun))


def given_loss(loss: Any, params: Any, where: str, labels: Any = None) -> Loss:
    """The loss of a built-in name or path, with parameters and open labels, or the loss itself."""
    if not isinstance(params, Mapping | None) or not all(isinstance(x, str) for x in params or ()):
        must = "loss_params must be a dictionary of the parameters of the loss"
        raise InputError(where, must, given=params)
    if params and not isinstance(loss, str | PathLike):
        must = "loss_params may be given with the name or the path of a loss only"
        raise InputError(where, must, given=dict(params))
    try:
        return as_loss(loss, where, params or {}, labels)
    except InputError as error:
        raise error.but(remedy=_in_loss_params(error.remedy)) from error


def _in_loss_params(remedy: str) -> str:
    """The advice, with parameters of a loss written as an estimator takes them."""
    if not isinstance(remedy, Wording):
        return remedy
    parts: list[str | Argument] = []
    for part in remedy.parts:
        if isinstance(part, Argument) and part.of_loss:
            part = part._replace(written=f'loss_params={{"{part.name}": {part.value}}}')
        parts.append(part)
    return wording(*parts)


def binary_loss(where: str, loss: Any, params: Any = None, table: bool = False) -> Any:
    """The loss of ``given_loss``; an InputError unless it is over two labels, or of a table."""
    chosen = given_loss(loss, params, where)
    if len(chosen.alphabet) != 2:
        must = "the loss must be one over two labels"
        raise InputError(where, must, given=f"{chosen.name} over {chosen.alphabet.labels}")
    if table and getattr(chosen, "confusion", None) is None:
        must = "the loss must be one of a file whose value depends on the confusion table alone"
        remedy = "For example fscore, jaccard, balanced_accuracy or g_tp_pr"
        raise InputError(where, must, given=chosen.name, remedy=remedy)
    return chosen


def table_value(loss: SpecLoss, chosen: Bools, positive: Bools) -> float:
    """The value of decisions for labels, both True where positive, (examples,)."""
    counts = (float(part.sum()) for part in (chosen & positive, chosen, positive))
    assert loss.confusion is not None
    return float(value_of_counts(loss.confusion, len(chosen), *counts))


def best_threshold(
    loss: SpecLoss, scores: Floats, positive: Bools, weights: Floats | None = None
) -> tuple[float, float]:
    """The threshold of the best value on these examples, the highest of several, and that value."""
    thresholds, values = threshold_values(loss, scores, positive, weights)
    best = int((values if loss.kind == "utility" else -values).argmax())
    return float(thresholds[best]), float(values[best])


def threshold_values(
    loss: SpecLoss, scores: Floats, positive: Bools, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Every threshold that makes a difference, descending from inf to -inf, and its value.

    Examples with at least such a score are decided positive. Between two scores the threshold is
    halfway (Koyejo et al. 2014, Algorithm 1, search the scores themselves). The loss is one of the
    confusion table; labels are True where positive, (examples,).
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = positive[order]
    w = np.ones(len(scores)) if weights is None else np.asarray(weights[order], np.float64)
    # Multiples of a power of two have exact sums; else cells of a table could come out below 0.
    unit = 2.0 ** (np.ceil(np.log2(w.sum())) - 45) if w.any() else 1.0
    w = np.round(w / unit) * unit
    hyp, tp = (np.append(0.0, np.cumsum(part)) for part in (w, w * hits))
    ends = np.concatenate(([np.inf], ranked, [-np.inf]))
    # How many are positive, (cuts,): none, all, or down to a score that is above the next.
    at = np.flatnonzero(np.concatenate(([True], ranked[1:] < ranked[:-1], [True])))
    assert loss.confusion is not None
    values = value_of_counts(loss.confusion, hyp[-1], tp[at], hyp[at], tp[-1])
    high = ends[at]
    low = ends[at + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    cut = np.where((low < middle) & (middle <= high), middle, high)
    cut = np.where(at == 0, np.inf, np.where(at == len(ranked), -np.inf, cut))
    return cut, np.asarray(values, np.float64)


def measures(model: Any, labels: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Accuracy, precision, recall and F1 of the positive class, and the mean value of the loss.

    With several labels for each example, precision, recall and F1 are means over examples.
    """
    if labels.shape != predicted.shape:
        must = f"the model gives labels of shape {predicted.shape}"
        raise InputError("labels", must, given=f"shape {labels.shape}")
    check_classes("labels", labels, model.classes_)
    pos_label = model.classes_[getattr(model, "positive_", 1)]
    positive = labels == pos_label
    chosen = predicted == pos_label
    average = "binary" if labels.ndim == 1 else "samples"
    scores = precision_recall_fscore_support(positive, chosen, average=average, zero_division=0)
    values = {"accuracy": float(accuracy_score(positive, chosen))}
    values |= dict(zip(("precision", "recall", "F1"), map(float, scores[:3]), strict=True))
    loss: Any = getattr(model, "loss_", None)
    if hasattr(loss, "pair_values"):
        zs, ys = (np.atleast_2d(part).astype(np.int64) for part in (chosen, positive))
        class_loss: Any = model._named_loss()
        values[loss.name] = float(class_loss.pair_values(zs, ys).mean())
    return values


def confusion_loss(model: Any) -> SpecLoss:
    """The loss that the model decides for, or the F-score or Jaccard index of its parameters."""
    loss = getattr(model, "loss_", None)
    params = model.get_params(deep=False)
    if loss is None and params.get("measure") == "jaccard":
        return load("jaccard")
    if loss is None:
        return load("fscore", **{x: params[x] for x in ("alpha", "beta") if x in params})
    if loss.confusion is None:
        must = "the value of the loss must depend on the confusion table alone"
        raise InputError("threshold plot", must, given=loss.name)
    return model._named_loss()  # type: ignore[no-any-return]
