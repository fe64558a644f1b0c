"""Online learners: thresholds on a probability, and different costs of the two kinds of error.

The measures of those that learn costs are quotients a TP / (b POS + c TP + FP) (``state``).
A classifier reaches the value v where (a - v c) TP - v FP reaches v b POS: to be at least v is a
matter of a linear function of its counts, in which a positive example is worth a - v c and a
negative one v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, check_int, message, one_of
from fsmeu.learning.base import positive_number
from fsmeu.learning.online import state as at
from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.state import values_of
from fsmeu.learning.saving import register

__all__ = [
    "FOFOClassifier",
    "OFOClassifier",
    "OMCSLClassifier",
    "OnlineLogisticClassifier",
    "STAMPClassifier",
]


class ThresholdClassifier(OnlineClassifier):
    """An online learner of the positive class's probability and of a threshold on it.

    The probability is learned by stochastic gradient descent on the logistic loss; how the
    threshold moves does not change it, so that all such learners with the same settings see the
    same probabilities.

    The arguments are those of ``OFOClassifier``.
    """

    @property
    def threshold_(self) -> float:
        """The probability from which on an example is predicted positive."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Floats:
        """The probability of both classes, (examples, 2)."""
        positive = expit(self._margins(X)[:, 0])
        return np.stack([1.0 - positive, positive], axis=1)

    def proba_then_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Floats:
        """The probability of the positive class before each label was used, (examples,).

        The arguments are those of ``partial_fit``, which does the same. Examples of weight 0 get
        no number.
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

    @property
    def threshold_(self) -> float:
        """1/2."""
        return 0.5


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


FIRST_HORIZON = 1024


@register
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

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool | str = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        horizon: int | None = None,
        gamma_scale: float | str = 1.0,
        predict_with: str = "mean",
    ) -> None:
        self.step, self.schedule, self.average = step, schedule, average
        self.fit_intercept, self.measure, self.beta = fit_intercept, measure, beta
        self.horizon = horizon
        self.gamma_scale = gamma_scale
        self.predict_with = predict_with

    @property
    def threshold_(self) -> float:
        """The mean of the thresholds of the present stage, or the last threshold."""
        return float(self.state_[at.THETA if self.state_[at.LAST] else at.MEAN])

    @property
    def stage_(self) -> tuple[int, int]:
        """The number of the present stage, from 1, and of all stages that are planned."""
        return int(self.state_[at.STAGE]), int(self.state_[at.STAGES])

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        where = type(self).__name__
        if self.horizon is not None:
            horizon = check_int(where, "horizon", self.horizon)
        state[at.HORIZON] = horizon or FIRST_HORIZON
        state[at.DOUBLES] = float(horizon is None)
        state[at.OPEN] = 1.0
        state[at.SCALE] = self._scale(where)
        with_last = one_of(where, "predict_with", self.predict_with, ("mean", "last")) == "last"
        state[at.LAST] = float(with_last)
        return state

    def _scale(self, where: str) -> float:
        """What steps are multiplied by; 0 for the automatic factor."""
        if not isinstance(self.gamma_scale, str):
            return positive_number(where, "gamma_scale", self.gamma_scale)
        if self.gamma_scale != "auto":
            must = 'gamma_scale must be a finite number above 0 or "auto"'
            raise InputError(message(where, must, self.gamma_scale))
        return 0.0


@register
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

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool | str = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        epoch: int = 100,
        growth: float = 1.0,
    ) -> None:
        self.step, self.schedule, self.average = step, schedule, average
        self.fit_intercept, self.measure, self.beta = fit_intercept, measure, beta
        self.epoch = epoch
        self.growth = growth

    def decision_function(self, X: Any) -> Floats:
        """The margin of each example, (examples,)."""
        return self._margins(X)[:, 0]

    @property
    def level_(self) -> float:
        """The present level v."""
        return float(self.state_[at.LEVEL])

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        where = type(self).__name__
        state[at.LEVEL] = 1.0
        state[at.EPOCH] = check_int(where, "epoch", self.epoch)
        state[at.GROWTH] = max(positive_number(where, "growth", self.growth), 1.0)
        return state


@register
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

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool | str = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        classifiers: int = 10,
        gamma: float = 100.0,
        random_state: Any = None,
    ) -> None:
        self.step, self.schedule, self.average = step, schedule, average
        self.fit_intercept, self.measure, self.beta = fit_intercept, measure, beta
        self.classifiers = classifiers
        self.gamma = gamma
        self.random_state = random_state

    def decision_function(self, X: Any) -> Floats:
        """The margin of each example by the classifier that has been best so far, (examples,)."""
        return self._margins(X)[:, int(np.argmax(self.scores_))]

    @property
    def scores_(self) -> Floats:
        """The measure of each classifier's own predictions so far, (classifiers,)."""
        hits, predicted = self.state_[at.OMCSL_COUNTS :].reshape(-1, 2).T
        numbers = self.state_[[at.GAIN, at.KNOWN, at.MATCHED]]
        return values_of(numbers, hits, predicted, self.state_[at.POSITIVE])

    def _classifiers(self) -> int:
        return check_int(type(self).__name__, "classifiers", self.classifiers)

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        own = np.zeros(at.OMCSL_COUNTS + 2 * self._classifiers())
        own[: len(state)] = state
        own[at.SHARPNESS] = positive_number(type(self).__name__, "gamma", self.gamma)
        return own
