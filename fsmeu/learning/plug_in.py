"""Plug-in classifiers: probabilities of any estimator, decided for a loss.

Natarajan, N., Koyejo, O., Ravikumar, P., Dhillon, I. S. (2016), Optimal decision-theoretic
classification using non-decomposable performance metrics. Koyejo, O., Natarajan, N., Ravikumar, P.,
Dhillon, I. S. (2014), Consistent binary classification with generalized performance metrics, NIPS.
Narasimhan, H., Vaish, R., Agarwal, S. (2014), On the statistical consistency of plug-in classifiers
for non-decomposable performance measures, NIPS.

Scores become probabilities by a sigmoid (Platt 1999) or an isotonic step function (Zadrozny and
Elkan 2002). The scores of an example come from an estimator that has not seen it; the final one has
seen all, as ``CalibratedClassifierCV(ensemble=False)`` of scikit-learn does it. Folds are drawn at
random, and always the same: of rows that are sorted by kinds which the labels merge, runs of rows
would be folds with kinds that the others lack.

In multi-label classification each row is a sequence of independent labels, whose F or Jaccard is
maximised in expectation (Dembczynski et al. 2011; Ye et al. 2012; Natarajan 2016, Algorithm 2).
"""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import expit, xlogy
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, has_fit_parameter

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decode import decode
from fsmeu.decoding.decode_many import decode_many
from fsmeu.decoding.problem import Decision
from fsmeu.errors import InputError, check_bool, check_int, message, one_of
from fsmeu.fst.alphabet import Label
from fsmeu.learning.base import OuterClassifier, Rows, real
from fsmeu.learning.given_loss import best_threshold, binary_loss, over_classes, table_loss
from fsmeu.learning.saving import register
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent

__all__ = [
    "DTAClassifier",
    "EUMClassifier",
    "ExampleWiseClassifier",
    "apply_map",
    "fit_map",
    "held_out_parts",
    "scores",
]

CALIBRATIONS = ("sigmoid", "isotonic")
"""The kinds of maps."""


def fitted(where: str, estimator: Any, rows: Rows, positive: Floats, weights: Any) -> Any:
    """A copy of the estimator, fitted to rows with labels 1 and 0.

    Raises:
        InputError: weights are given and the estimator takes none.
    """
    made = clone(estimator)
    labels = positive.astype(np.int64)
    if weights is None:
        return made.fit(rows, labels)
    last = made.steps[-1] if isinstance(made, Pipeline) else ("", made)
    if not has_fit_parameter(last[1], "sample_weight"):
        must = "the estimator must take sample_weight where weights are given"
        raise InputError(message(where, must, made))
    name = f"{last[0]}__sample_weight" if isinstance(made, Pipeline) else "sample_weight"
    return made.fit(rows, labels, **{name: weights})


def probabilities(estimator: Any, rows: Rows) -> Floats:
    """The probability of a positive label for each row, (rows,), as a fitted estimator tells it."""
    found: Floats = np.asarray(estimator.predict_proba(rows), np.float64)[:, 1]
    return found


def scores(estimator: Any, rows: Rows) -> Floats:
    """What is to be mapped to probabilities: decision values, or probabilities without these."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(rows), np.float64).ravel()
    return probabilities(estimator, rows)


def fit_map(
    where: str, kind: str, estimator: Any, rows: Rows, positive: Floats, weights: Any, folds: int
) -> dict[str, Any]:
    """The map of one of ``CALIBRATIONS``, numbers and arrays by name.

    Raises:
        InputError: there are fewer examples of a class than folds.
    """
    least = int(min(positive.sum(), len(positive) - positive.sum()))
    if least < folds:
        must = f"calibration needs at least {folds} examples of each class, one for each fold"
        raise InputError(message(where, must, least, "Lower folds, or leave calibration out"))
    found = np.empty(len(positive))
    parts = StratifiedKFold(folds, shuffle=True, random_state=0)
    for train, test in parts.split(np.zeros(len(positive)), positive):
        part = None if weights is None else weights[train]
        made = fitted(where, estimator, _safe_indexing(rows, train), positive[train], part)
        found[test] = scores(made, _safe_indexing(rows, test))
    if kind == "sigmoid":
        slope, offset = _sigmoid(found, positive, weights)
        return {"kind": kind, "slope": slope, "offset": offset}
    steps = IsotonicRegression(out_of_bounds="clip").fit(found, positive, weights)
    return {"kind": kind, "at": steps.X_thresholds_, "to": steps.y_thresholds_}


def apply_map(made: dict[str, Any], found: Floats) -> Floats:
    """The probabilities that a map gives to scores, (rows,)."""
    if made["kind"] == "sigmoid":
        mapped: Floats = expit(made["slope"] * found + made["offset"])
        return mapped
    stepped: Floats = np.clip(np.interp(found, made["at"], made["to"]), 0.0, 1.0)
    return stepped


def _sigmoid(found: Floats, positive: Floats, weights: Floats | None) -> tuple[float, float]:
    """Slope and offset of the sigmoid that is most likely (Platt 1999).

    The targets are (N+ + 1) / (N+ + 2) for positive and 1 / (N- + 2) for negative examples, with
    N+ and N- their weights.
    """
    w = np.ones(len(found)) if weights is None else weights
    many, few = float(w @ positive), float(w @ (1 - positive))
    target = np.where(positive > 0, (many + 1) / (many + 2), 1 / (few + 2))
    scale = max(float(np.abs(found).max()), np.finfo(np.float64).tiny)
    x = found / scale

    def cost(parameters: Floats) -> tuple[float, Floats]:
        z = parameters[0] * x + parameters[1]
        lost = np.logaddexp(0.0, z) - target * z + _entropy(target)
        slope = w * (expit(z) - target)
        total = w.sum()
        return float(w @ lost) / total, np.array([slope @ x, slope.sum()]) / total

    start = np.array([0.0, np.log((many + 1) / (few + 1))])
    best = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(best.x[0] / scale), float(best.x[1])


def _entropy(target: Floats) -> Floats:
    """Subtracted so that the cost is near zero where the fit is good, for the stopping rule."""
    found: Floats = xlogy(target, target) + xlogy(1 - target, 1 - target)
    return found


_WARNED: WeakSet[DTAClassifier] = WeakSet()
"""Those that have warned of a single row."""


class PlugInClassifier(OuterClassifier):
    """What both classifiers share: an estimator of probabilities, calibrated if wanted.

    Attributes:
        loss_: the loss.
        estimator_: the fitted estimator; its classes are 0 and 1.
        calibration_: the map from its scores to probabilities, or None.
    """

    loss: Any
    calibration: str | None
    folds: int
    loss_: SpecLoss
    estimator_: Any
    calibration_: dict[str, Any] | None

    def _check(self) -> Any:
        """The estimator to be copied; sets ``loss_``."""
        where = type(self).__name__
        self.loss_ = table_loss(where, self.loss)
        if self.calibration is not None:
            one_of(where, "calibration", self.calibration, CALIBRATIONS)
            check_int(where, "folds", self.folds, 2)
        estimator = self._inner()
        wanted = ["predict_proba"] if self.calibration is None else []
        missing = [name for name in ("fit", *wanted) if not hasattr(estimator, name)]
        if missing or isinstance(estimator, type):
            must = "the estimator must have fit and predict_proba"
            remedy = "With calibration, decision_function will do instead of predict_proba"
            raise InputError(message(where, must, estimator, remedy))
        return estimator

    def _estimate(self, estimator: Any, rows: Rows, positive: Floats, weights: Any) -> None:
        """Sets ``estimator_`` and ``calibration_``."""
        where = type(self).__name__
        self.calibration_ = None
        if self.calibration is not None:
            parts = (rows, positive, weights)
            self.calibration_ = fit_map(where, self.calibration, estimator, *parts, self.folds)
        self.estimator_ = fitted(where, estimator, rows, positive, weights)

    def _probabilities(self, rows: Rows) -> Floats:
        """The probability that each row is positive, (rows,)."""
        if self.calibration_ is None:
            return probabilities(self.estimator_, rows)
        return apply_map(self.calibration_, scores(self.estimator_, rows))

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of both classes for each row, (rows, 2)."""
        p = self._probabilities(self._rows(X))
        return np.stack([1.0 - p, p], axis=1)


@register
class DTAClassifier(PlugInClassifier):
    """Decides a test set as a whole (decision-theoretic approach; Natarajan 2016, section 4).

    The rows given to ``predict`` are one sequence of independent labels whose probabilities come
    from the estimator; the decision is the sequence of the best expected value, by ``decode``
    (Algorithm 1 of the paper, Algorithm 2 where the value is fractional-linear; unlike these, no
    positives at all is a candidate too). So the decision for a row depends on the rows beside it:
    rows that are given one by one are each decided for their own value, which is worse for all of
    them together, and ``predict`` warns of a single row once. Where rows come one by one, use
    ``EUMClassifier``, whose threshold is fixed by ``fit``.

    Decisions are as good as the probabilities: where these are far from the truth, give
    ``calibration``. Up to about 4,400 rows take seconds for F-scores and Jaccard; other losses take
    longer.

    Args:
        loss: a built-in name, the path of a loss file, or a loss of the confusion table.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.
        calibration: None, "sigmoid" (Platt 1999) or "isotonic", fitted by cross-validation.
        folds: the number of folds for that.

    >>> rows = np.arange(8.0)[:, None]
    >>> made = DTAClassifier("jaccard").fit(rows, ["no"] * 5 + ["yes"] * 3)
    >>> made.predict(rows).tolist().count("yes")
    3
    """

    def __init__(
        self,
        loss: Any = "fscore",
        estimator: Any = None,
        *,
        calibration: str | None = None,
        folds: int = 5,
    ) -> None:
        self.loss = loss
        self.estimator = estimator
        self.calibration = calibration
        self.folds = folds

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DTAClassifier:
        """Itself, fitted to rows and labels of two classes."""
        estimator = self._check()
        rows, positive, weights = self._training(X, y, sample_weight)
        self._estimate(estimator, rows, positive, weights)
        return self

    def decide(self, X: Any) -> Decision:
        """The decision for these rows as one sequence: labels of the loss, value, and its proof."""
        return self._decide(self._probabilities(self._rows(X)))[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of these rows, decided together, (rows,); a single row is warned of once."""
        p = self._probabilities(self._rows(X))
        if len(p) == 1 and self not in _WARNED:
            _WARNED.add(self)
            text = "DTAClassifier decides the rows of a call together, and was given a single one"
            warnings.warn(f"{text}: use EUMClassifier for rows one by one", stacklevel=2)
        decision, labels = self._decide(p)
        return self._named(np.array([label == labels[1] for label in decision.labels], bool))

    def _decide(self, p: Floats) -> tuple[Decision, tuple[Label, ...]]:
        """The decision for these probabilities, and the labels that stand for both classes."""
        loss = over_classes(self.loss_, self.classes_, type(self).__name__)
        labels = loss.alphabet.labels
        return decode(loss, Independent(np.stack([1.0 - p, p], axis=1), labels)), labels


@register
class EUMClassifier(PlugInClassifier):
    """A threshold that is best on held-out examples (empirical utility maximization).

    One part of the training examples is for the estimator, the other for the threshold
    (Koyejo et al. 2014, Algorithm 1; Narasimhan et al. 2014, Algorithm 1).

    Args:
        loss: a built-in name, the path of a loss file, or a loss of the confusion table.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.
        calibration: None, "sigmoid" (Platt 1999) or "isotonic", fitted by cross-validation.
        folds: the number of folds for that.
        held_out: the share of the examples of each class that the threshold is chosen on.
        refit: fit the estimator again to all examples, once the threshold is chosen.
        random_state: which examples are held out.

    Attributes:
        threshold_: rows whose last class is at least as probable are of that class.
        value_: the value of the held-out examples.
    """

    threshold_: float
    value_: float

    def __init__(
        self,
        loss: Any = "fscore",
        estimator: Any = None,
        *,
        calibration: str | None = None,
        folds: int = 5,
        held_out: float = 0.3,
        refit: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.estimator = estimator
        self.calibration = calibration
        self.folds = folds
        self.held_out = held_out
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EUMClassifier:
        """Itself, fitted to rows and labels of two classes."""
        estimator = self._check()
        refit = check_bool("EUMClassifier", "refit", self.refit)
        share = "number between 0 and 1"
        held = real("EUMClassifier", "held_out", self.held_out, share, lambda one: 0 < one < 1)
        rows, positive, weights = self._training(X, y, sample_weight)
        seen, unseen = held_out_parts(positive, held, self.random_state)
        weight = (None, None) if weights is None else (weights[seen], weights[unseen])
        self._estimate(estimator, _safe_indexing(rows, seen), positive[seen], weight[0])
        p = self._probabilities(_safe_indexing(rows, unseen))
        loss = over_classes(self.loss_, self.classes_, "EUMClassifier")
        assert isinstance(loss, SpecLoss)
        best = best_threshold(loss, p, positive[unseen] > 0, weight[1])
        self.threshold_, self.value_ = best
        if refit:
            self._estimate(estimator, rows, positive, weights)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, (rows,)."""
        return self._named(self._probabilities(self._rows(X)) >= self.threshold_)


def held_out_parts(positive: Floats, share: float, random_state: Any) -> tuple[Ints, Ints]:
    """Indices of examples to be fitted and of those held out, drawn from each class alone."""
    random = check_random_state(random_state)
    seen, unseen = [], []
    for label in (0, 1):
        of_class = random.permutation(np.flatnonzero(positive == label))
        if len(of_class) < 2:
            must = "there must be at least two examples of each class, one of them to hold out"
            raise InputError(message("EUMClassifier.fit", must, f"n_samples = {len(positive)}"))
        cut = min(max(1, round(share * len(of_class))), len(of_class) - 1)
        unseen.append(of_class[:cut])
        seen.append(of_class[cut:])
    return np.sort(np.concatenate(seen)), np.sort(np.concatenate(unseen))


@register
class ExampleWiseClassifier(OuterClassifier):
    """Decides the labels of each row for the best expected value of that row, by ``decode_many``.

    A label has an estimator of its own; given the row, labels are independent. A label that all
    training rows have, or none, has the probability 1 or 0. With one column of two classes a row
    is a sequence of one label.

    Args:
        loss: a built-in name such as "fscore" or "jaccard", a path, or a loss over two labels.
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
            raise InputError(message(where, must, chosen))
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
            raise InputError(message("ExampleWiseClassifier.fit", must, table))
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
