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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.decode import decode, decode_many
from fsmeu.errors import InputError, check_bool, check_int, leave_out, one_of
from fsmeu.expectation.expect import expect
from fsmeu.learning import base
from fsmeu.learning.classes import is_named
from fsmeu.learning.prior import adapted, estimated_prior, farthest_share
from fsmeu.learning.saving import register
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Independent


@dataclass(eq=False, repr=False)
class PlugInClassifier(base.MetaClassifier):
    """An ``estimator_`` of probabilities, calibrated where that is wanted."""

    loss: Any = "fscore"
    estimator: Any = None
    _: KW_ONLY
    calibration: str | None = None
    folds: int = 5

    def _training(self, rows: Any, labels: Any, weights: Any = None, *more: Any) -> base.Training:
        """Checked rows, classes 1 and 0, and weights, as in the base; sets ``loss_``."""
        where = type(self).__name__
        self.loss_: SpecLoss = base.binary_loss(where, self.loss, table=True)
        if self.calibration is not None:
            one_of(where, "calibration", self.calibration, ("sigmoid", "isotonic"))
            check_int(where, "folds", self.folds, 2)
        return super()._training(rows, labels, weights, *more)

    def _estimate(self, rows: base.Rows, positive: Floats, weights: Any) -> None:
        """Sets ``estimator_``, with ``calibration`` that of scikit-learn around it.

        Its scores in cross-validation are mapped by a sigmoid (Platt 1999) or an isotonic step
        function (Zadrozny and Elkan 2002). Folds are drawn at random, and always the same: rows may
        be sorted by kinds that the labels merge.
        """
        if self.calibration is None:
            self.estimator_ = self._fitted(rows, positive, weights)
            return
        least = int(min(positive.sum(), len(positive) - positive.sum()))
        if least < self.folds:
            must = f"calibration needs at least {self.folds} examples of each class, one in a fold"
            remedy = "Lower folds, or leave calibration out"
            raise InputError(type(self).__name__, must, given=least, remedy=remedy)
        calibrated = CalibratedClassifierCV(
            self._inner(),
            method=self.calibration,
            cv=StratifiedKFold(self.folds, shuffle=True, random_state=0),
            ensemble=False,
        )
        with base.checking(f"{type(self).__name__}.fit"), warnings.catch_warnings():
            # Pipelines get weights by the name of their last step; it warns that they had none.
            warnings.filterwarnings("ignore", ".* does not appear to accept sample_weight")
            how = {**self._weighing(weights), "sample_weight": weights}
            self.estimator_ = calibrated.fit(rows, self._named(positive > 0), **how)
        self._column(self.estimator_.calibrated_classifiers_[0].estimator)

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of both classes for each row, (rows, 2)."""
        return self._columns(self._positive_probabilities(X))

    def _positive_probabilities(self, X: Any) -> Floats:
        """The probability of the positive class for each row, (rows,)."""
        check_is_fitted(self)
        return self._positive_column(self.estimator_, X)


_ESTIMATE = "estimate"
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
        loss: a built-in name, the path of a loss file, or a loss of the confusion table.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.
        calibration, folds: None, "sigmoid" (Platt 1999) or "isotonic", fitted by cross-validation.
        pos_label: the positive class, which the loss counts. None is 1 of 0 and 1 or of -1 and 1,
            True of False and True, and of other classes the rarer, of which a warning tells; or
            the class that the loss counts by its name (``positive_class``).
        prior: the share of positives among the rows to be decided, where it is not that of
            training: a number between 0 and 1, or "estimate" for the share that is most likely for
            the rows of a call (Saerens, Latinne and Decaestecker 2002; ``prior_of`` tells it). None
            is that of training. Rows of each class must be distributed as in training. It may be
            set after ``fit``.

    Attributes:
        classes_, pos_label_: both classes, sorted; the positive one.
        training_prior_: the share of positives in training, by weight.

    >>> rows = np.arange(8.0)[:, None]
    >>> model = DTAClassifier("jaccard", pos_label="yes").fit(rows, ["no"] * 5 + ["yes"] * 3)
    >>> model.predict(rows).tolist().count("yes")
    3
    """

    prior: float | str | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DTAClassifier:
        """Itself, fitted to rows and labels of two classes."""
        rows, positive, weights = self._training(X, y, sample_weight)
        self.training_prior_ = float(np.average(positive, weights=weights))
        self._check_prior()
        self._estimate(rows, positive, weights)
        return self

    def _check_prior(self) -> None:
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
        inner = self._inner()
        last = inner.steps[-1][1] if isinstance(inner, Pipeline) else inner
        weighing = getattr(last, "class_weight", None)
        if weighing is not None and self.calibration is None:
            must = "with a prior, probabilities must be those of the class frequencies of training"
            remedy = "Leave class_weight out, or give calibration"
            raise InputError(where, must, given=f"class_weight={weighing!r}", remedy=remedy)

    def prior_of(self, X: Any) -> float:
        """The share of positives among these rows that decisions for them assume."""
        return self._prior_of(super()._positive_probabilities(X))

    def _prior_of(self, p: Floats) -> float:
        """The same, from the probabilities of the rows at the share of training, (rows,)."""
        self._check_prior()  # it may have been set after fit
        if self.prior is None:
            return self.training_prior_
        if self.prior == _ESTIMATE:
            return estimated_prior(p, self.training_prior_, type(self).__name__)
        return float(self.prior)

    def _positive_probabilities(self, X: Any) -> Floats:
        """The probability of the positive class for each row, at the prior of the rows, (rows,)."""
        p = super()._positive_probabilities(X)
        return p if self.prior is None else adapted(p, self.training_prior_, self._prior_of(p))

    def decide(self, X: Any) -> Decision:
        """The decision for these rows as one sequence: labels of the loss, value, and its proof.

        Where no positives at all, or positives alone, is the most likely share, that is an estimate
        and no knowledge: nothing is claimed to be proven then, and ``why`` has the expected value
        at a share that the rows do not exclude.
        """
        p = super()._positive_probabilities(X)
        share = self._prior_of(p)
        loss = self._named_loss()
        decision = decode(loss, self._model(p, share))
        if self.prior != _ESTIMATE or 0.0 < share < 1.0:
            return decision
        far = farthest_share(p, self.training_prior_, share)
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
        loss, estimator, calibration, folds, pos_label: as in ``DTAClassifier``.
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

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, (rows,)."""
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
        loss: a built-in name such as "fscore" or "jaccard", a path, or a loss over two labels.
        estimator: any classifier with ``predict_proba``; None is ``LogisticRegression``.
        pos_label: the positive one of two classes, as in ``DTAClassifier``; of several labels 1.

    Attributes:
        loss_: the loss.
        estimators_: the fitted estimator of each label, or its constant probability.
        columns_: the number of labels, or None where the labels were of one column.
    """

    loss: Any = "fscore"
    estimator: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExampleWiseClassifier:
        """Itself, fitted to rows and labels: 0 or 1, (rows, labels), or classes, (rows,)."""
        where = type(self).__name__
        self.loss_ = base.binary_loss(where, self.loss)
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
