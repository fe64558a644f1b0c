"""Plug-in classifiers: probabilities of any estimator, decided for a loss of the confusion table.

Natarajan, N., Koyejo, O., Ravikumar, P., Dhillon, I. S. (2016), Optimal decision-theoretic
classification using non-decomposable performance metrics. Koyejo, O., Natarajan, N., Ravikumar, P.,
Dhillon, I. S. (2014), Consistent binary classification with generalized performance metrics, NIPS.
Narasimhan, H., Vaish, R., Agarwal, S. (2014), On the statistical consistency of plug-in classifiers
for non-decomposable performance measures, NIPS.
"""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from fsmeu.decoding.decode import decode
from fsmeu.decoding.problem import Decision
from fsmeu.errors import InputError, one_of, sentence, truth, whole
from fsmeu.fst.alphabet import Label
from fsmeu.learning.base import Floats, OuterClassifier, Rows
from fsmeu.learning.calibration import (
    CALIBRATIONS,
    apply_map,
    fit_map,
    fitted,
    probabilities,
    scores,
)
from fsmeu.learning.checks import real
from fsmeu.learning.given_loss import over_classes
from fsmeu.learning.saving import register
from fsmeu.learning.table_losses import best_threshold, table_loss
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Independent

__all__ = ["DTAClassifier", "EUMClassifier", "held_out_parts"]

Ints = NDArray[np.int64]
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
            whole(where, "folds", self.folds, 2)
        estimator = self._inner()
        wanted = ["predict_proba"] if self.calibration is None else []
        missing = [name for name in ("fit", *wanted) if not hasattr(estimator, name)]
        if missing or isinstance(estimator, type):
            must = "the estimator must have fit and predict_proba"
            remedy = "With calibration, decision_function will do instead of predict_proba"
            raise InputError(sentence(where, must, estimator, remedy))
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
        loss: a name on the shelf, the path of a loss file, or a loss of the confusion table.
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
        loss: a name on the shelf, the path of a loss file, or a loss of the confusion table.
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
        refit = truth("EUMClassifier", "refit", self.refit)
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
            raise InputError(sentence("EUMClassifier.fit", must, f"n_samples = {len(positive)}"))
        cut = min(max(1, round(share * len(of_class))), len(of_class) - 1)
        unseen.append(of_class[:cut])
        seen.append(of_class[cut:])
    return np.sort(np.concatenate(seen)), np.sort(np.concatenate(unseen))
