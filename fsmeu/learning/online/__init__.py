"""Online learners: ``partial_fit``, predictions before labels, a running measure, constant memory.

A learner holds a weight vector, at most two more for its mean over time, and a short vector of
numbers, however many examples it has seen; ``kernels`` has the loop over examples. Its measure is
that of predictions made before their labels were used (progressive validation), a quotient
a TP / (b POS + c TP + FP) in the weights of true positives, of positives and of false positives
(a, b, c: F_beta 1 + beta^2, beta^2, 1; Jaccard 1, 1, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

from fsmeu import limits
from fsmeu.arrays import Bools, Floats
from fsmeu.errors import (
    InputError,
    SizeLimitError,
    check_bool,
    check_int,
    one_of,
)
from fsmeu.learning import base
from fsmeu.learning.saving import register
from fsmeu.models.checks import check_shape

LOGISTIC, OFO, FOFO = 0, 1, 2  # the learners
_STATE_FIELDS = (
    "true_positive",  # the weight of positives that were predicted
    "predicted",  # that of all predicted positives
    "positive",  # that of all positives
    "total",  # that of all examples
    "seen",  # how many examples these were
    "hit_gain",  # a of the measure
    "positive_share",  # b
    "hit_share",  # c
    "threshold",  # of FOFO, as all that follows
    "mean_threshold",  # over the stage
    "start",  # the threshold at the beginning of the stage
    "radius",  # how far from there it may go
    "gamma",  # the length of steps
    "done",  # steps of the stage so far
    "stage",  # its number, from 1
    "stages",  # how many are planned
    "length",  # steps of a stage
    "horizon",  # examples of the next plan
    "repeats",  # whether plans follow each other
    "may_plan",  # whether one may begin now
    "scale",  # what steps are multiplied by; 0 is automatic
    "uses_last",  # whether the last threshold predicts, not the mean
)
STATE = np.dtype([(name, np.float64) for name in _STATE_FIELDS])
"""What a learner remembers beside weights."""

MEANS = {"False": 0, "True": 1, "suffix": 2}  # vectors that the mean of weights needs, by average
Self = TypeVar("Self", bound="OnlineClassifier")


def coefficients(measure: str, beta: float) -> tuple[float, float, float]:
    """The numbers a, b, c of a measure, "f" or "jaccard"."""
    return (1.0, 1.0, 0.0) if measure == "jaccard" else (1.0 + beta * beta, beta * beta, 1.0)


def values_of(numbers: Any, hits: Any, predicted: Any, positive: Any) -> Floats:
    """The measure with the numbers a, b, c of counts of one shape; 0 where it is 0/0."""
    a, b, c = numbers
    below = np.asarray(b * positive + c * hits + predicted - hits)
    return np.asarray(a * hits / np.where(below > 0, below, 1.0))


def skipped(seen: float) -> float:
    """The number of first weight vectors that a suffix mean leaves out: over 1/4, at most 1/2."""
    return 2.0 ** (math.floor(math.log2(seen)) - 1.0) if seen >= 2.0 else 0.0


def threshold(kind: int, state: Any) -> Any:
    """The probability from which on a learner predicts a positive: of one without a rule, 1/2."""
    if kind == FOFO:  # the average threshold of the stage (Algorithm 2, line 6), or the last
        return state["threshold"] if state["uses_last"] else state["mean_threshold"]
    below = state["positive_share"] * state["positive"] + state["predicted"] if kind == OFO else 0.0
    return state["true_positive"] / below if below > 0.0 else 0.0 if kind == OFO else 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(base.LogisticClassifier):
    """An online learner of the positive class's probability and of a threshold on it.

    The probability is learned by stochastic gradient descent on the logistic loss; how the
    threshold moves does not change it: learners with the same settings see the same probabilities.

    Attributes:
        classes_, pos_label_: both classes, sorted; the positive one.
        weights_: those of the positive class, (1, features + 1), the last for the intercept.
        delays_: what makes their mean over time (``kernels.run``), (0, 1 or 2, features + 1).
        state_: what else the learner remembers, one record of ``STATE``, (1,).
    """

    _kind: ClassVar[int]

    step: float = 1.0
    schedule: str = "sqrt"
    average: bool | str = False
    fit_intercept: bool = True
    measure: str = "f"
    beta: float = 1.0

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """This classifier after one pass over rows, dense or sparse; weight 0 means absent."""
        self._learn(X, y, None, sample_weight, fresh=True)
        return self

    def partial_fit(
        self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """This classifier after more examples, of which the first show or name both classes.

        The first also decide which class is positive, unless ``pos_label`` says it: few examples do
        not tell which one is rarer.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def predict_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> NDArray[Any]:
        """The class predicted for each example before its label is learned from, (examples,)."""
        return self._named(self._learn(X, y, classes, sample_weight)[0])

    def proba_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Floats:
        """The probability of the positive class before the label is learned from, (examples,)."""
        return self._learn(X, y, classes, sample_weight)[1]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example, (examples,)."""
        return self._named(self.decision_function(X) * self._sign >= 0.0)

    def decision_function(self, X: Any) -> Floats:
        """The probability of the positive class less the threshold, (examples,).

        It is negated where the positive class is not ``classes_[1]``, whose scores these are.
        """
        p = expit(super().decision_function(X) * self._sign)
        return np.asarray(self._sign * (p - self.threshold_))

    @property
    def threshold_(self) -> float:
        """The probability from which on an example is predicted positive."""
        return float(threshold(self._kind, self.state_[0]))

    @property
    def score_(self) -> float:
        """The measure of all predictions that were made before labels; 0 where it is 0/0."""
        state = self.state_[0]
        numbers = state["hit_gain"], state["positive_share"], state["hit_share"]
        counts = state["true_positive"], state["predicted"], state["positive"]
        return float(values_of(numbers, *counts))

    @property
    def measure_name(self) -> str:
        """The name of the measure in tables: "Jaccard", or "F" and the number beta."""
        return "Jaccard" if self.measure == "jaccard" else f"F{self.beta:g}"

    @property
    def seen_(self) -> int:
        """The number of examples it has learned from."""
        return int(self.state_["seen"][0])

    @property
    def coef_(self) -> Floats:
        """The weights that predictions are made with, for ``classes_[1]``, (1, features)."""
        return self._sign * self._used()[:, :-1]

    @property
    def intercept_(self) -> Floats:
        """The intercept that predictions are made with, for ``classes_[1]``, (1,)."""
        return self._sign * self._used()[:, -1]

    def _used(self) -> Floats:
        """The weights, or their mean over time, (1, features + 1)."""
        if not len(self.delays_):
            return self.weights_
        seen = float(self.state_["seen"][0])
        left = skipped(seen) if len(self.delays_) > 1 else 0.0
        return np.asarray(self.weights_ + self.delays_[:1] / max(seen - left, 1.0))

    def check_parts(self) -> None:
        """Raises an InputError unless arrays are as long as the compiled loop takes them to be."""
        super().check_parts()
        if hasattr(self, "state_"):
            where = type(self).__name__
            wide = self.n_features_in_ + 1
            check_shape(self.weights_, (1, wide), where)
            check_shape(self.delays_, (len(self.delays_), wide), where)
            check_shape(self.state_, (1,), where)
            if self.state_.dtype != STATE:
                raise InputError(where, "state_ must have its fields", given=self.state_.dtype)

    def _begin(self, features: int, horizon: int | None) -> None:
        """Checks the parameters and forgets everything; the horizon is the number of examples."""
        where = type(self).__name__
        mean = self.average
        must = "number above 0 and at most 1e100"
        base.check_real(where, "step", self.step, *base.POSITIVE_NUMBER)
        beta = base.check_real(where, "beta", self.beta, must, lambda value: 0.0 < value <= 1e100)
        one_of(where, "schedule", self.schedule, ("sqrt", "constant"))
        one_of(where, "measure", self.measure, ("f", "jaccard"))
        check_bool(where, "fit_intercept", self.fit_intercept)
        mean = mean if isinstance(mean, str) else str(check_bool(where, "average", mean))
        means = MEANS[one_of(where, "average", mean, MEANS)]
        if features >= limits.ONLINE_WEIGHTS:
            limit = f"{limits.ONLINE_WEIGHTS:,} weights (fsmeu.learning.limits.ONLINE_WEIGHTS)"
            must = f"there may be at most {limit}"
            raise SizeLimitError(where, must, given=f"{features + 1:,}")
        self.weights_: Floats = np.zeros((1, features + 1))
        self.delays_: Floats = np.zeros((means, features + 1))
        self.state_: NDArray[np.void] = np.zeros(1, STATE)
        self.state_[["hit_gain", "positive_share", "hit_share"]] = coefficients(self.measure, beta)

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, fresh: bool = False
    ) -> tuple[Bools, Floats]:
        """Predictions before labels were used, bool, and their probabilities, (examples,) each."""
        from fsmeu.learning.online import kernels

        first = fresh or not hasattr(self, "state_")
        rows, positive, weights = self._training(X, y, sample_weight, classes, first)
        weights = np.ones(len(positive)) if weights is None else weights
        if first:
            self._begin(rows.shape[1], int(np.count_nonzero(weights)) if fresh else None)
        settings = (float(bool(self.fit_intercept)), float(self.step), self.schedule == "sqrt")
        learned = (self._kind, self.state_, self.weights_, self.delays_, settings)
        predicted, probabilities = kernels.run(*learned, _flat(rows), positive, weights)
        parts = probabilities[weights != 0.0], self.weights_, self.state_.view(np.float64)
        if not all(np.isfinite(part).all() for part in parts):
            must = "weights and their products with rows must stay finite"
            remedy = "Scale the features, or give a smaller step"
            raise InputError(type(self).__name__, must, given="an overflow", remedy=remedy)
        return predicted > 0, probabilities


def _flat(rows: base.Rows) -> tuple[Any, Any, Any]:
    """Values row by row, the column of each (none where rows are whole), where rows begin."""
    if issparse(rows):
        return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    begins = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return np.ascontiguousarray(rows).ravel(), np.empty(0, np.int64), begins


@register
class OnlineLogisticClassifier(OnlineClassifier):
    """Online logistic regression with the threshold 1/2, the baseline LR of Liu et al. (2018).

    Args:
        step: c in the step lengths c / sqrt(t).
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether predictions use the mean of all weight vectors so far instead of the last;
            "suffix" for the mean of the last ones, from 1/2 to 3/4 of all (Rakhlin et al. 2012).
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
        pos_label: the positive class, as in ``DTAClassifier``.
    """

    _kind = LOGISTIC


@register
class OFOClassifier(OnlineClassifier):
    """Online F-measure optimisation: the threshold is half the running F.

    Busa-Fekete, Szorenyi, Dembczynski, Huellermeier (NIPS 2015), Algorithm 1. The best threshold on
    the true probability is half the best F, and the learner takes the F of its own predictions so
    far for the best one. With F_beta, and with the Jaccard index J, the best thresholds are
    F_beta / (1 + beta^2) and J / (1 + J) (see ``FOFOClassifier``); in counts all are
    TP / (b POS + PRED) with b = beta^2, or 1 for Jaccard. It is 0 before the first example.
    Parameters are those of ``OnlineLogisticClassifier``.
    """

    _kind = OFO


@register
@dataclass(eq=False, repr=False, kw_only=True)
class FOFOClassifier(OnlineClassifier):
    """Online learning of a probability and of the threshold that is best for F on it.

    Liu et al. (2018), Algorithms 1 and 2. With eta for the probability of the positive class and pi
    for the rate of positives, the best threshold minimises the strongly convex

        Q(theta) = 1/2 E[(eta - theta)_+^2] + 1/2 beta^2 pi theta^2    on [0, 1 / (1 + beta^2)],

    with beta = 1 equation (6) of the paper; that of the Jaccard index is the one of F1
    (``docs/papers/liu2018.md`` derives both, and lengths of steps). It is learned by
    projected stochastic gradient steps on Q, with the running rate of positives and the present
    probability in place of pi and eta, in m stages of n0 steps: m = floor(log2(2 n / log2 n) / 2)
    - 1 (at least 1), n0 = floor(n / m). Stage k begins at the mean of the thresholds of stage k - 1
    (the first at 0), stays within R_{k-1} of its start, and has steps of gamma_scale R_{k-1} /
    sqrt(10 n0), where R_0 is the width of the domain and R_k = R_{k-1} / 2.
    Where positives are rare, they are too short by sqrt(10 / pi): ``gamma_scale="auto"`` multiplies
    by that, with the running rate (POS + 1) / (TOTAL + 2), so that no gamma is tuned. Predictions
    use the mean of the stage so far, the start included, as the listing says. What is left of n
    examples after m n0, and whatever comes after n, belongs to the last stage.

    Args:
        step, schedule, average, fit_intercept, measure, beta, pos_label: as in
            ``OnlineLogisticClassifier``.
        horizon: n. None is the number of examples in ``fit``; in ``partial_fit`` it is 1024 first,
            and when so many were seen, stages are planned anew for twice as many.
        gamma_scale: what the steps of the threshold are multiplied by; "auto" for sqrt(10 / pi).
        predict_with: "mean" of the stage, as in the listing, or "last", as in section 4.
    """

    _kind = FOFO

    horizon: int | None = None
    gamma_scale: float | str = 1.0
    predict_with: str = "mean"

    @property
    def stage_(self) -> tuple[int, int]:
        """The number of the present stage, from 1, and of all stages that are planned."""
        return int(self.state_["stage"][0]), int(self.state_["stages"][0])

    def _begin(self, features: int, horizon: int | None) -> None:
        super()._begin(features, horizon)
        where = type(self).__name__
        scale = self.gamma_scale
        if self.horizon is not None:
            horizon = check_int(where, "horizon", self.horizon)
        must = 'finite number above 0 or "auto"'
        above = base.POSITIVE_NUMBER[1]
        scale = (
            0.0 if scale == "auto" else base.check_real(where, "gamma_scale", scale, must, above)
        )
        last = one_of(where, "predict_with", self.predict_with, ("mean", "last")) == "last"
        self.state_["horizon"] = horizon or limits.FIRST_HORIZON
        self.state_["repeats"] = horizon is None
        self.state_["may_plan"] = True
        self.state_["scale"] = scale
        self.state_["uses_last"] = last
