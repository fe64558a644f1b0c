"""Online learners: ``partial_fit``, predictions before labels, a running measure, constant memory.

The memory of a learner is one or a few weight vectors and a short vector of numbers (``state``),
however many examples it has seen; ``kernels`` has the loop over examples. The measure is computed
on predictions that were made before the label of the example was used (progressive validation).

The measures of learners of costs are quotients a TP / (b POS + c TP + FP). A classifier reaches the
value v where (a - v c) TP - v FP reaches v b POS: to be at least v is a matter of a linear function
of its counts, in which a positive example is worth a - v c and a negative one v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.utils.validation import check_random_state

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import InputError, SizeLimitError, check_bool, check_int, message, one_of
from fsmeu.learning.base import BinaryClassifier, Rows, positive_number, real
from fsmeu.learning.online import state as at
from fsmeu.learning.saving import register

ONLINE_WEIGHTS = 1 << 27  # classifiers times features: 1 GB, and as much for the mean of weights

FIRST_HORIZON = 1024
MEANS = {"False": 0, "True": 1, "suffix": 2}
"""Vectors that the mean of weights needs beside each weight vector, by ``average``."""
Self = TypeVar("Self", bound="OnlineClassifier")


@dataclass(eq=False, repr=False, kw_only=True)
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
    _size: ClassVar[int] = at.OWN

    step: float = 1.0
    schedule: str = "sqrt"
    average: bool | str = False
    fit_intercept: bool = True
    measure: str = "f"
    beta: float = 1.0

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """This classifier after one pass over the examples, in the order of the rows.

        Rows are dense or sparse, (examples, features); an example of weight 0 is skipped.
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

        The first call needs both classes where its labels do not show them.
        """
        self._more(X, y, classes, sample_weight)
        return self

    def predict_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> NDArray[Any]:
        """The class predicted for each example before its label is learned from, (examples,)."""
        return self._named(self._more(X, y, classes, sample_weight)[0])

    def _more(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Bools, Floats]:
        """What was predicted before labels were used, and with which probability."""
        first = not hasattr(self, "state_")
        rows, positive, weights = self._training(X, y, sample_weight, classes, first)
        if first:
            self._begin(rows.shape[1], None)
        return self._pass(rows, positive, weights)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example, (examples,)."""
        return self._named(self.decision_function(X) >= 0.0)

    def decision_function(self, X: Any) -> Floats:
        """By how much each example exceeds what is needed to be predicted positive, (examples,)."""
        return self._margins(X)[:, 0]

    @property
    def score_(self) -> float:
        """The measure of all predictions that were made before labels; 0 where it is 0/0."""
        counts = self.state_[[at.TRUE_POSITIVE, at.PREDICTED, at.POSITIVE]]
        return float(at.values_of(self.state_[at.MEASURE], *counts))

    @property
    def seen_(self) -> int:
        """How many examples it has learned from."""
        return int(self.state_[at.SEEN])

    @property
    def coef_(self) -> Floats:
        """The weights that predictions are made with, (classifiers, features)."""
        return self._used()[:, :-1]

    @property
    def intercept_(self) -> Floats:
        """The intercepts that predictions are made with, (classifiers,)."""
        return self._used()[:, -1]

    def _used(self) -> Floats:
        if not len(self.delays_):
            return self.weights_
        count, seen = len(self.weights_), float(self.state_[at.SEEN])
        left = at.skipped(seen) if len(self.delays_) > count else 0.0
        return np.asarray(self.weights_ + self.delays_[:count] / max(seen - left, 1.0))

    def _margins(self, X: Any) -> Floats:
        """Of each example by each classifier, (examples, classifiers)."""
        rows = self._rows(X)
        return np.asarray(rows @ self.coef_.T) + self.intercept_

    def _begin(self, features: int, horizon: int | None) -> None:
        """Checks the parameters and forgets everything; the horizon is the number of examples."""
        where = type(self).__name__
        positive_number(where, "step", self.step)
        must = "number above 0 and at most 1e100"
        beta = real(where, "beta", self.beta, must, lambda value: 0.0 < value <= 1e100)
        one_of(where, "schedule", self.schedule, ("sqrt", "constant"))
        one_of(where, "measure", self.measure, ("f", "jaccard"))
        check_bool(where, "fit_intercept", self.fit_intercept)
        mean = self.average
        mean = mean if isinstance(mean, str) else str(check_bool(where, "average", mean))
        means = MEANS[one_of(where, "average", mean, MEANS)]
        shape = (self._classifiers(), features + 1)
        if shape[0] * shape[1] > ONLINE_WEIGHTS:
            must = f"there may be at most {ONLINE_WEIGHTS:,} weights (fsmeu.limits.ONLINE_WEIGHTS)"
            raise SizeLimitError(message(where, must, f"{shape[0]:,} times {shape[1]:,}"))
        self.weights_: Floats = np.zeros(shape)
        self.delays_: Floats = np.zeros((means * shape[0], shape[1]))
        self.state_: Floats = np.zeros(self._size)
        self.state_[at.MEASURE] = at.coefficients(self.measure, beta)
        self._start(horizon)
        self.seed_ = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31 - 1))

    def _classifiers(self) -> int:
        """How many linear classifiers are learned."""
        return 1

    def _start(self, horizon: int | None) -> None:
        """Sets a learner's own part of the state."""

    def _pass(self, rows: Rows, positive: Floats, given: Floats | None) -> tuple[Bools, Floats]:
        """What was predicted before labels were used, and with which probability, (examples,)."""
        from fsmeu.learning.online import kernels

        weights = np.ones(len(positive)) if given is None else given
        drawn = hasattr(self, "random_state")
        draws = _uniform(self.seed_, self.seen_, weights) if drawn else weights
        settings = (float(bool(self.fit_intercept)), float(self.step), self.schedule == "sqrt")
        learned = (self._kind, self.state_, self.weights_, self.delays_, settings)
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            predicted, chances = kernels.run(*learned, _flat(rows), (positive, weights, draws))
        known = np.isfinite(chances) | (weights == 0.0)
        finite = np.isfinite(self.weights_).all() and np.isfinite(self.state_).all()
        if not (known.all() and finite):
            must = "weights and their products with rows must stay finite"
            remedy = "Scale the features, or give a smaller step"
            raise InputError(message(type(self).__name__, must, "an overflow", remedy))
        return predicted > 0, chances


def _uniform(seed: int, seen: int, weights: Floats) -> Floats:
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
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    begins = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return np.ascontiguousarray(rows).ravel(), np.empty(0, np.int64), begins


class ThresholdClassifier(OnlineClassifier):
    """An online learner of the positive class's probability and of a threshold on it.

    The probability is learned by stochastic gradient descent on the logistic loss; how the
    threshold moves does not change it, so that all such learners with the same settings see the
    same probabilities.
    """

    @property
    def threshold_(self) -> float:
        """The probability from which on an example is predicted positive: 1/2."""
        return 0.5

    def predict_proba(self, X: Any) -> Floats:
        """The probability of both classes, (examples, 2)."""
        positive = expit(self._margins(X)[:, 0])
        return np.stack([1.0 - positive, positive], axis=1)

    def proba_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Floats:
        """The probability of the positive class before the label is learned from, (examples,).

        Examples of weight 0 get no number.
        """
        return self._more(X, y, classes, sample_weight)[1]

    def decision_function(self, X: Any) -> Floats:
        """The probability of the positive class less the threshold, (examples,)."""
        return np.asarray(expit(self._margins(X)[:, 0]) - self.threshold_)


@register
class OnlineLogisticClassifier(ThresholdClassifier):
    """Online logistic regression with the threshold 1/2, the baseline LR of Liu et al. (2018).

    Args:
        step: c in the step lengths c / sqrt(t).
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether predictions use the mean of all weight vectors so far instead of the last;
            "suffix" for the mean of the last ones, from 1/2 to 3/4 of all (Rakhlin et al. 2012).
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
    """

    _kind = at.LOGISTIC


@register
class OFOClassifier(ThresholdClassifier):
    """Online F-measure optimisation: the threshold is half the running F.

    Busa-Fekete, Szorenyi, Dembczynski, Huellermeier (NIPS 2015), Algorithm 1. The best threshold on
    the true probability is half the best F, and the learner takes the F of its own predictions so
    far for the best one. With F_beta, and with the Jaccard index J, the best thresholds are
    F_beta / (1 + beta^2) and J / (1 + J) (see ``FOFOClassifier``); in counts all are
    TP / (b POS + PRED) with b = beta^2, or 1 for Jaccard. It is 0 before the first example.

    Args:
        step, schedule, average, fit_intercept, measure, beta: as in ``OnlineLogisticClassifier``.
    """

    _kind = at.OFO

    @property
    def threshold_(self) -> float:
        """TP / (b POS + PRED) of all predictions so far."""
        below = self.state_[at.KNOWN] * self.state_[at.POSITIVE] + self.state_[at.PREDICTED]
        return float(self.state_[at.TRUE_POSITIVE] / below) if below > 0 else 0.0


@register
@dataclass(eq=False, repr=False, kw_only=True)
class FOFOClassifier(ThresholdClassifier):
    """Online learning of a probability and of the threshold that is best for F on it.

    Liu et al. (2018), Algorithms 1 and 2. Write eta(x) for the probability of the positive class,
    pi for the rate of positives. A classifier that predicts positive with the indicator f has

        F_beta = (1 + beta^2) E[eta f] / (beta^2 pi + E[f]).

    Let v be the best value. Every f has (1 + beta^2) E[eta f] <= v (beta^2 pi + E[f]), and the best
    has equality, so the best f maximises E[((1 + beta^2) eta - v) f]: it is positive where eta is
    at least theta = v / (1 + beta^2). The equality then reads E[(eta - theta)_+] = beta^2 pi theta:
    theta is the root of q(theta) = beta^2 pi theta - E[(eta - theta)_+], which increases, so it
    minimises the strongly convex

        Q(theta) = 1/2 E[(eta - theta)_+^2] + 1/2 beta^2 pi theta^2    on [0, 1 / (1 + beta^2)],

    with beta = 1 equation (6) of the paper. The Jaccard index is J = E[eta f] / (pi + E[f] -
    E[eta f]). In the same way the best f maximises E[((1 + v) eta - v) f], so theta = v / (1 + v),
    and E[(eta - theta)_+] = pi theta: the objective of F1. (J = F1 / (2 - F1) grows with F1, so the
    two have the same best threshold; only the running measure differs.)

    The threshold is learned by projected stochastic gradient steps on Q, with the running rate
    of positives and the present probability in place of pi and eta, in m stages of n0 steps: m =
    floor(log2(2 n / log2 n) / 2) - 1 (at least 1), n0 = floor(n / m). Stage k begins at the mean of
    the thresholds of stage k - 1 (the first at 0), stays within R_{k-1} of its start, and has steps
    gamma_scale R_{k-1} / sqrt(10 n0), where R_0 is the width of the domain and R_k = R_{k-1} / 2.
    Predictions use the mean of the stage so far, the start included, as the listing says. What is
    left of n examples after m n0, and whatever comes after n, belongs to the last stage.

    A step of length R / (G sqrt(n0)) is best where G^2 is the mean square of the gradient; the
    constants have G = sqrt(10). But a gradient is a difference of two terms that are not negative,
    (eta - theta)_+ and beta^2 pi theta, so its square is at most the greater of their squares, of
    which the first has a mean of at most E[eta^2] <= pi and the second is of the order pi^2. Where
    positives are rare, the printed steps are too short by sqrt(10 / pi). ``gamma_scale="auto"``
    multiplies by that, with the running rate (POS + 1) / (TOTAL + 2), so that no gamma is tuned;
    ``step`` still is. ``notebooks/liu2018.py`` compares it with ``OFOClassifier``.

    Args:
        step, schedule, average, fit_intercept, measure, beta: as in ``OnlineLogisticClassifier``.
        horizon: n. None is the number of examples in ``fit``; in ``partial_fit`` it is 1024 first,
            and when so many were seen, stages are planned anew for twice as many.
        gamma_scale: what the steps of the threshold are multiplied by; "auto" for sqrt(10 / pi).
        predict_with: "mean" for the mean threshold of the stage, as in the listing, "last" for the
            last threshold, as in the text of section 4.
    """

    _kind = at.FOFO
    _size = at.FOFO_SIZE

    horizon: int | None = None
    gamma_scale: float | str = 1.0
    predict_with: str = "mean"

    @property
    def threshold_(self) -> float:
        """The mean of the thresholds of the present stage, or the last threshold."""
        return float(self.state_[at.THETA if self.state_[at.LAST] else at.MEAN])

    @property
    def stage_(self) -> tuple[int, int]:
        """The number of the present stage, from 1, and of all stages that are planned."""
        return int(self.state_[at.STAGE]), int(self.state_[at.STAGES])

    def _start(self, horizon: int | None) -> None:
        where, state, scale = type(self).__name__, self.state_, self.gamma_scale
        if self.horizon is not None:
            horizon = check_int(where, "horizon", self.horizon)
        if isinstance(scale, str) and scale != "auto":
            must = 'gamma_scale must be a finite number above 0 or "auto"'
            raise InputError(message(where, must, scale))
        last = one_of(where, "predict_with", self.predict_with, ("mean", "last")) == "last"
        state[[at.HORIZON, at.DOUBLES]] = horizon or FIRST_HORIZON, horizon is None
        state[[at.OPEN, at.LAST]] = 1.0, last
        state[at.SCALE] = 0.0 if scale == "auto" else positive_number(where, "gamma_scale", scale)


@register
@dataclass(eq=False, repr=False, kw_only=True)
class STAMPClassifier(OnlineClassifier):
    """Stochastic alternate maximisation of a quotient of rates of rewards.

    Narasimhan, Kar, Jain (ICML 2015), the procedure STAMP for pseudo-linear measures. TP and FP are
    replaced by rewards: an example with the margin m on its own side gives 1 - log2(1 + exp(-m)), a
    concave lower bound of [m >= 0] (the logistic reward with which Liu et al., 2018, compare). Two
    stages alternate, of the same number of examples each: the weights climb the linear function of
    the present level v, in which a positive example is worth a - v c and a negative one v; then,
    with the weights held, v is estimated anew as the measure of the mean rewards. In this second
    stage nothing else is learned. F_1 gives 2 - v and v. Where the mean reward of positives is
    below 0, v is 0; the first level is 1, at which F_1 has equal costs.

    Args:
        step, schedule, average, fit_intercept, measure, beta: as in ``OnlineLogisticClassifier``.
        epoch: the number of examples of each of the first two stages.
        growth: what it is multiplied by after each pair of stages.
    """

    _kind = at.STAMP
    _size = at.STAMP_SIZE

    epoch: int = 100
    growth: float = 1.0

    @property
    def level_(self) -> float:
        """The present level v."""
        return float(self.state_[at.LEVEL])

    def _start(self, horizon: int | None) -> None:
        where = type(self).__name__
        self.state_[at.LEVEL] = 1.0
        self.state_[at.EPOCH] = check_int(where, "epoch", self.epoch)
        self.state_[at.GROWTH] = max(positive_number(where, "growth", self.growth), 1.0)


@register
@dataclass(eq=False, repr=False, kw_only=True)
class OMCSLClassifier(OnlineClassifier):
    """Online learning of several classifiers with different costs, one of which predicts.

    Yan, Yang, Yang, Chen (AAAI 2017). Classifier j of K has the costs of the level v = j / (K + 1):
    an error on a positive example costs a - v c, on a negative one v, scaled to the sum 1 (for F_1:
    1 - v/2 and v/2). All are updated with every example. The one that predicts is drawn with a
    probability proportional to exp(gamma M_j), where M_j is the measure of its own predictions so
    far; ``predict`` uses the one with the greatest.

    Args:
        step, schedule, average, fit_intercept, measure, beta: as in ``OnlineLogisticClassifier``.
        classifiers: K; Liu et al. (2018) compare with 10.
        gamma: how sharply better classifiers are preferred; the default is ours.
        random_state: where the draws begin.
    """

    _kind = at.OMCSL

    classifiers: int = 10
    gamma: float = 100.0
    random_state: Any = None

    def decision_function(self, X: Any) -> Floats:
        """The margin of each example by the classifier that has been best so far, (examples,)."""
        return self._margins(X)[:, int(np.argmax(self.scores_))]

    @property
    def scores_(self) -> Floats:
        """The measure of each classifier's own predictions so far, (classifiers,)."""
        hits, predicted = self.state_[at.OMCSL_COUNTS :].reshape(-1, 2).T
        positive = self.state_[at.POSITIVE]
        return at.values_of(self.state_[at.MEASURE], hits, predicted, positive)

    def _classifiers(self) -> int:
        return check_int(type(self).__name__, "classifiers", self.classifiers)

    def _start(self, horizon: int | None) -> None:
        sharpness = positive_number(type(self).__name__, "gamma", self.gamma)
        self.state_ = np.append(self.state_, [sharpness, *[0.0] * (2 * self._classifiers())])
