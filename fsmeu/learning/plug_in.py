"""Plug-in classifiers: probabilities of any estimator, decided for a loss.

Natarajan, N., Koyejo, O., Ravikumar, P., Dhillon, I. S. (2016), Optimal decision-theoretic
classification using non-decomposable performance metrics. Koyejo, O., Natarajan, N., Ravikumar, P.,
Dhillon, I. S. (2014), Consistent binary classification with generalized performance metrics, NIPS.
Narasimhan, H., Vaish, R., Agarwal, S. (2014), On the statistical consistency of plug-in classifiers
for non-decomposable performance measures, NIPS.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.decode import decode, decode_many
from fsmeu.errors import InputError, check_bool, check_int, leave_out, one_of
from fsmeu.expectation.expect import expect
from fsmeu.learning import base
from fsmeu.learning import calibration as maps
from fsmeu.learning.classes import is_named
from fsmeu.learning.prior import (
    ClassBins,
    Estimate,
    ShareWarning,
    adapted,
    depend_on_class,
    doubts,
    estimated_prior,
)
from fsmeu.learning.saving import register
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Independent


@dataclass(eq=False, repr=False)
class PlugInClassifier(base.MetaClassifier):
    """An ``estimator_`` of probabilities, calibrated where that is wanted."""

    loss: Any = "fscore"
    estimator: Any = None
    _: KW_ONLY
    loss_params: dict[str, Any] | None = None
    calibration: str | None = None
    folds: int = 5

    def _bound_loss(self) -> SpecLoss:
        """The loss of the parameters, one of the confusion table."""
        where = type(self).__name__
        loss: SpecLoss = base.binary_loss(where, self.loss, self.loss_params, table=True)
        return loss

    def _calibration(self) -> str | None:
        """The kind of calibration, checked; None for none."""
        if self.calibration is None:
            return None
        check_int(type(self).__name__, "folds", self.folds, 2)
        return one_of(type(self).__name__, "calibration", self.calibration, maps.KINDS)

    def _training(self, rows: Any, labels: Any, weights: Any = None, *more: Any) -> base.Training:
        """Checked rows, classes 1 and 0, and weights, as in the base; sets ``loss_``."""
        self.loss_ = self._bound_loss()
        self._calibration()
        return super()._training(rows, labels, weights, *more)

    def _estimate(self, rows: base.Rows, positive: Floats, weights: Any) -> Floats | None:
        """Sets ``estimator_`` and ``calibrator_``; scores of rows that were held out, (rows,).

        None where nothing is calibrated.
        """
        kind = self._calibration()
        self.calibrator_: Any = None
        scores = None if kind is None else self._held_out_scores(rows, positive, weights)
        self.estimator_ = self._fitted(rows, positive, weights)
        if kind is not None and scores is not None:
            with base.checking(f"{type(self).__name__}.fit"):
                self.calibrator_ = maps.calibrator(kind, scores, positive, weights)
        return scores

    def _held_out_scores(self, rows: base.Rows, positive: Floats, weights: Any) -> Floats:
        """Scores of each row by an estimator that was fitted to the other folds, (rows,).

        Folds are drawn at random, and always the same: rows may be sorted by kinds that the labels
        merge.
        """
        least = int(min(positive.sum(), len(positive) - positive.sum()))
        if least < self.folds:
            must = f"calibration needs at least {self.folds} examples of each class, one in a fold"
            remedy = "Lower folds, or give calibration=None"
            raise InputError(type(self).__name__, must, given=least, remedy=remedy)
        scores = np.empty(len(positive))
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=0)
        for train, test in folds.split(positive, positive):
            kept = None if weights is None else weights[train]
            fitted = self._fitted(_safe_indexing(rows, train), positive[train], kept)
            held_out = _safe_indexing(rows, test)
            scores[test] = maps.positive_scores(fitted, held_out, self._column(fitted))
        return scores

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of both classes for each row, (rows, 2)."""
        return self._columns(self._positive_probabilities(X))

    def _positive_probabilities(self, X: Any) -> Floats:
        """The probability of the positive class for each row, (rows,)."""
        return self._calibrated(self._scores(X))

    def _scores(self, X: Any) -> Floats:
        """What is calibrated, (rows,), by the fitted estimator; else P(positive class)."""
        check_is_fitted(self)
        if self.calibrator_ is None:
            return self._positive_column(self.estimator_, X)
        with base.checking(type(self).__name__):
            return maps.positive_scores(self.estimator_, X, self._column(self.estimator_))

    def _calibrated(self, scores: Floats) -> Floats:
        """The probability of the positive class for each score, (rows,)."""
        if self.calibrator_ is None:
            return scores
        return maps.calibrated(self.calibrator_, scores)


_ESTIMATE = "estimate"
_AUTO = "auto"
_NO_WEIGHTING = 'Leave it out, or give calibration="isotonic"'
_WARNED: WeakSet[DTAClassifier] = WeakSet()  # those that have warned of a single row


@register
@dataclass(eq=False, repr=False, kw_only=True)
class DTAClassifier(PlugInClassifier):
    """Decides a test set as a whole (decision-theoretic approach; Natarajan 2016, section 4).

    The rows given to ``predict`` are one sequence of independent labels whose probabilities come
    from the estimator; the decision is the sequence of the best expected value, by ``decode``
    (Algorithms 1 and 2 of the paper; unlike these, no positives at all is a candidate too). So the
    decision for a row depends on the rows beside it: where rows come one by one, use
    ``EUMClassifier``, whose threshold is fixed by ``fit``. Decisions are as good as the
    probabilities: where these are far from the truth, give ``calibration``.

    Args:
        loss: a built-in name, the path of a loss file, or a loss of the confusion table. It may be
            set after ``fit``.
        loss_params: parameters of the loss by name, such as {"beta": 2}.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``. It is
            given the labels as they are. One that is frozen (``FrozenEstimator``) must be of the
            same classes, and is to be given rows that it has not seen: its calibration and the
            share of training are those of these rows.
        calibration: "sigmoid" (Platt 1999), "isotonic", or None for none, fitted to rows that are
            held out in cross-validation. "auto" is "isotonic" where ``fit`` finds
            ``prior="estimate"``, as probabilities that are off lead the estimate astray; else None.
        folds: the number of folds of this cross-validation.
        pos_label: the positive class, which the loss counts. None is 1 of 0 and 1 or of -1 and 1,
            True of False and True, and of other classes the rarer, of which a warning tells; or
            the class that the loss counts by its name (``positive_class``).
        prior: the share of positives among the rows to be decided, where it is not that of
            training: a number between 0 and 1, or "estimate" for the share that is most likely for
            the rows of a call (Saerens, Latinne and Decaestecker 2002; ``prior_of`` tells it). None
            is that of training. Rows of each class must be distributed as in training. It may be
            set after ``fit``. A ``ShareWarning`` says so where an estimate is 0 or 1, where rows
            hardly determine it, where calibration shows that no share explains the rows, and where
            weights of classes shift probabilities while ``prior`` is None.

    Attributes:
        classes_, pos_label_: both classes, sorted; the positive one.
        training_prior_: the share of positives in training, by weight.
        estimator_, calibrator_: the fitted estimator, and the map of its scores, or None.
        class_bins_: how held-out rows of each class are distributed, or None.

    >>> rows = np.arange(8.0)[:, None]
    >>> model = DTAClassifier("jaccard", pos_label="yes").fit(rows, ["no"] * 5 + ["yes"] * 3)
    >>> model.predict(rows).tolist().count("yes")
    3
    """

    prior: float | str | None = None
    calibration: str | None = _AUTO

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DTAClassifier:
        """Itself, fitted to rows and labels of two classes."""
        rows, positive, weights = self._training(X, y, sample_weight)
        self.training_prior_ = float(np.average(positive, weights=weights))
        self._check_prior(self._calibration() is not None)
        self._warn_of_weights(positive, weights)
        scores = self._estimate(rows, positive, weights)
        bins = None if scores is None else tuple(ClassBins.of(scores, positive, weights))
        self.class_bins_ = bins
        return self

    def _calibration(self) -> str | None:
        """The kind of calibration, checked; None for none."""
        if self.calibration != _AUTO:
            return super()._calibration()
        check_int(type(self).__name__, "folds", self.folds, 2)
        return "isotonic" if self.prior == _ESTIMATE else None

    def _check_prior(self, calibrated: bool) -> None:
        """Refuses a prior that is none, or that nothing of the estimator's can be adapted to."""
        where = type(self).__name__
        if self.prior is None:
            return
        if isinstance(self.prior, str):
            one_of(where, "prior", self.prior, (_ESTIMATE,))
        else:
            expected = f'number between 0 and 1, "{_ESTIMATE}" or None'
            base.check_real(where, "prior", self.prior, expected, lambda x: 0 < x < 1)
        share = self.training_prior_
        if not 0.0 < share < 1.0:
            must = "with a prior, both classes must have weight in training"
            raise InputError(where, must, given=f"a share of positives of {share:g}")
        weighting = maps.class_weighting(self._inner())
        if weighting and not calibrated:
            must = "with a prior, probabilities must be those of the class frequencies of training"
            raise InputError(where, must, given=weighting, remedy=_NO_WEIGHTING)

    def _warn_of_weights(self, positive: Floats, weights: Floats | None) -> None:
        """Warns of weights that depend on the class where decisions take them for frequencies."""
        if self.prior is not None:
            return
        weighting = "" if self._calibration() else maps.class_weighting(self._inner())
        rows = float(positive.mean())
        if weighting:
            text = f"{weighting} makes probabilities, and decisions, assume another share of "
            text += f"positives than training has ({rows:.3g}). {_NO_WEIGHTING}"
        elif weights is not None and depend_on_class(weights, positive):
            text = f"by sample_weight, the share of positives is {self.training_prior_:.3g}, which "
            text += (
                f"decisions assume of new rows, and {rows:.3g} of the training rows. Give prior="
            )
            text += (
                f"{rows:.3g} if new rows are like these, prior={self.training_prior_:.3g} if not"
            )
        else:
            return
        warnings.warn(f"{type(self).__name__}.fit: {text}.", ShareWarning, stacklevel=3)

    def prior_of(self, X: Any) -> float:
        """The share of positives among these rows that decisions for them assume."""
        return self._prior_of(self._scores(X)).share

    def _prior_of(self, scores: Floats) -> Estimate:
        """The same, from the scores of the rows, (rows,)."""
        self._check_prior(self.calibrator_ is not None)  # it may have been set after fit
        if self.prior == _ESTIMATE:
            p = self._calibrated(scores)
            found = estimated_prior(p, self.training_prior_, type(self).__name__)
            for doubt in [*doubts(found), *self._doubts_of_fit(scores, found.share)]:
                text = f"{type(self).__name__}: the share of positives among these rows is "
                text += f"estimated as {found.share:.3g}, but {doubt}."
                warnings.warn(text, ShareWarning, stacklevel=4)
            return found
        share = self.training_prior_ if self.prior is None else float(self.prior)
        return Estimate(share, share, share)

    def _doubts_of_fit(self, scores: Floats, share: float) -> list[str]:
        """What the rows held out in training say against an estimate, in words."""
        if self.class_bins_ is None:
            if self.calibration != _AUTO:
                return []
            return [
                "fit has not calibrated probabilities, which may be off: call it with "
                f'prior="{_ESTIMATE}", or give calibration=None if they are known to be right'
            ]
        moved = ClassBins(*self.class_bins_).misfit(scores, share)
        if not moved:
            return []
        return [
            f"they look otherwise than rows of both classes did in training: {moved:.0%} of them "
            "have other scores than such a mixture, so that no share explains them"
        ]

    def _positive_probabilities(self, X: Any) -> Floats:
        """The probability of the positive class for each row, at the prior of the rows, (rows,)."""
        p = super()._positive_probabilities(X)
        return (
            p if self.prior is None else adapted(p, self.training_prior_, self._prior_of(p).share)
        )

    def decide(self, X: Any) -> Decision:
        """The decision for these rows as one sequence: labels of the loss, value, and its proof.

        Where no positives at all, or positives alone, is the most likely share, that is an estimate
        and no knowledge: nothing is claimed to be proven then, and ``why`` has the expected value
        at a share that the rows do not exclude.
        """
        scores = self._scores(X)
        p = self._calibrated(scores)
        estimate = self._prior_of(scores)
        share = estimate.share
        loss = self._named_loss()
        decision = decode(loss, self._model(p, share))
        if self.prior != _ESTIMATE or 0.0 < share < 1.0:
            return decision
        far = estimate.high if share == 0.0 else estimate.low
        there = expect(loss, decision.labels, self._model(p, far)).value
        why = f"{decision.why}; but that the share of positives is {share:g} is an estimate: at "
        why += f"{far:.2g}, which the rows do not exclude, its expected value is {there:.4f}"
        lower, upper = loss.value_range(len(p))
        return replace(decision, exact=False, lower=lower, upper=upper, why=why)

    def _model(self, p: Floats, share: float) -> Independent:
        """The rows' labels at a share of positives, from probabilities at that of training."""
        if self.prior is not None:
            p = adapted(p, self.training_prior_, share)
        return Independent(np.stack([1.0 - p, p], axis=1), self._named_loss().alphabet.labels)

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of these rows, decided together, (rows,); a single row is warned of once."""
        labels = self.decide(X).labels
        positive = self._named_loss().alphabet.labels[1]
        if len(labels) == 1 and self not in _WARNED:
            _WARNED.add(self)
            text = "DTAClassifier decides the rows of a call together, and was given a single one"
            warnings.warn(f"{text}: use EUMClassifier for rows one by one", stacklevel=2)
        return self._named(np.array([label == positive for label in labels], bool))


@register
@dataclass(eq=False, repr=False, kw_only=True)
class EUMClassifier(PlugInClassifier):
    """A threshold that is best on held-out examples (empirical utility maximization).

    One part of the training examples is for the estimator, the other for the threshold
    (Koyejo et al. 2014, Algorithm 1; Narasimhan et al. 2014, Algorithm 1).

    Args:
        loss, loss_params, estimator, folds, pos_label: as in ``DTAClassifier``; another loss needs
            another ``fit``.
        calibration: None, "sigmoid" or "isotonic".
        held_out: the share of the examples of each class that the threshold is chosen on.
        refit: fit the estimator again to all examples, once the threshold is chosen.
        random_state: which examples are held out.

    Attributes:
        classes_, pos_label_: both classes, sorted; the positive one.
        threshold_: rows whose positive class is at least as probable are of that class.
        value_: the value of the held-out examples.
    """

    held_out: float = 0.3
    refit: bool = False
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EUMClassifier:
        """Itself, fitted to rows and labels of two classes."""
        where = "EUMClassifier"
        share = "number between 0 and 1"
        refit = check_bool(where, "refit", self.refit)
        held_share = base.check_real(where, "held_out", self.held_out, share, lambda x: 0 < x < 1)
        rows, positive, weights = self._training(X, y, sample_weight)
        train, test = held_out_parts(positive, held_share, self.random_state)
        train_weights = None if weights is None else weights[train]
        test_weights = None if weights is None else weights[test]
        self._estimate(_safe_indexing(rows, train), positive[train], train_weights)
        p = self._positive_probabilities(_safe_indexing(rows, test))
        loss: Any = self._named_loss()
        best = base.best_threshold(loss, p, positive[test] > 0, test_weights)
        self.threshold_, self.value_ = best
        if refit:
            self._estimate(rows, positive, weights)
        return self

    def _forget_loss(self) -> None:
        super()._forget_loss()
        for name in ("threshold_", "value_"):
            self.__dict__.pop(name, None)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, (rows,)."""
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            must = "the threshold must be one that fit has chosen for this loss"
            got = f"loss={self.loss!r}, set after fit"
            raise InputError(type(self).__name__, must, given=got, remedy="Call fit again")
        return self._named(self._positive_probabilities(X) >= self.threshold_)


def held_out_parts(positive: Floats, share: float, random_state: Any) -> tuple[Ints, Ints]:
    """Indices of examples to be fitted and of those held out, drawn from each class alone.

    Both parts have examples of both classes. ``train_test_split(stratify=)`` of scikit-learn does
    not see to that: of 1,000 examples with 3 positives and a share of .1 it holds out no positive.
    """
    random = base.random_of("EUMClassifier", random_state)
    train = []
    test = []
    for label in (0, 1):
        of_class = random.permutation(np.flatnonzero(positive == label))
        if len(of_class) < 2:
            must = "there must be at least two examples of each class, one of them to hold out"
            raise InputError("EUMClassifier.fit", must, given=f"n_samples = {len(positive)}")
        cut = min(max(1, round(share * len(of_class))), len(of_class) - 1)
        test.append(of_class[:cut])
        train.append(of_class[cut:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


@register
@dataclass(eq=False, repr=False)
class ExampleWiseClassifier(base.MetaClassifier):
    """Decides the labels of each row for the best expected value of that row, by ``decode_many``.

    A label has an estimator of its own; given the row, labels are independent (Dembczynski et al.
    2011; Ye et al. 2012; Natarajan 2016, Algorithm 2). A label that all training rows have, or
    none, has the probability 1 or 0. With one column of two classes a row is one label.

    Args:
        loss: a built-in name such as "fscore" or "jaccard", a path, or a loss over two labels. It
            may be set after ``fit``.
        loss_params: parameters of the loss by name, such as {"beta": 2}.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.
        pos_label: the positive one of two classes, as in ``DTAClassifier``; of several labels 1.

    Attributes:
        loss_: the loss.
        estimators_: the fitted estimator of each label, or its constant probability.
        columns_: the number of labels, or None where the labels were of one column.
    """

    loss: Any = "fscore"
    estimator: Any = None
    _: KW_ONLY
    loss_params: dict[str, Any] | None = None

    def _bound_loss(self) -> Any:
        """The loss of the parameters, one over two labels."""
        return base.binary_loss(type(self).__name__, self.loss, self.loss_params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExampleWiseClassifier:
        """Itself, fitted to rows and labels: 0 or 1, (rows, labels), or classes, (rows,)."""
        where = type(self).__name__
        self.loss_ = self._bound_loss()
        with base.checking(f"{where}.fit"):
            y = y if y is None or issparse(y) else np.asarray(y)
        self.columns_: int | None = None
        if y is not None and y.ndim == 2 and y.shape[1] != 1:
            whole = y.toarray() if issparse(y) else y
            with base.checking(f"{where}.fit"):
                rows, table = self._checked(X, whole, multi_output=True)
                weights = base.checked_weights(rows, sample_weight)
            if type_of_target(table) != "multilabel-indicator" or not np.isin(table, (0, 1)).all():
                must = "labels must be 0 or 1, a column for each label"
                raise InputError(f"{where}.fit", must, given=table)
            if self.pos_label is not None and not is_named(1, str(self.pos_label)):
                must = "with several labels, 1 is the positive value of each"
                remedy = leave_out("pos_label")
                raise InputError(f"{where}.fit", must, given=self.pos_label, remedy=remedy)
            self.classes_ = np.array([0, 1])
            self.positive_ = 1
            self.columns_ = table.shape[1]
        else:
            rows, positive, weights = self._training(X, y, sample_weight)
            table = positive[:, None]
        self.estimators_ = [
            float(label[0]) if label.min() == label.max() else self._fitted(rows, label, weights)
            for label in table.astype(np.float64).T
        ]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each label, (rows, labels); of both classes where y was one column."""
        table = self._positive_probabilities(X)
        return self._columns(table[:, 0]) if self.columns_ is None else table

    def _positive_probabilities(self, X: Any) -> Floats:
        """The probability of each label, (rows, labels), or of the positive class, (rows, 1)."""
        check_is_fitted(self)
        return np.stack([self._positive_column(one, X) for one in self.estimators_], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of each row as 0 and 1, (rows, labels); classes where y was one column."""
        p = self._positive_probabilities(X)
        loss = self._named_loss()
        labels = loss.alphabet.labels
        models: list[Any] = list(p)
        if labels != (0, 1):
            models = [Independent(np.stack([1.0 - row, row], axis=1), labels) for row in p]
        decided = [decision.labels for decision in decode_many(loss, models)]
        chosen = np.array([[label == labels[1] for label in row] for row in decided], bool)
        chosen = chosen.reshape(p.shape)
        return self._named(chosen if self.columns_ is not None else chosen[:, 0])
