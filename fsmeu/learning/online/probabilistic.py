"""Online learners that put a threshold on the probability of the positive class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.rules import LOGISTIC, OFO
from fsmeu.learning.online.state import KNOWN, POSITIVE, PREDICTED, TRUE_POSITIVE
from fsmeu.learning.saving import register

__all__ = ["OFOClassifier", "OnlineLogisticClassifier", "ThresholdClassifier"]

Floats = NDArray[np.float64]


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
        average: whether predictions use the mean of all weight vectors so far instead of the last.
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
    """

    _kind = LOGISTIC

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
        step: c in the step lengths c / sqrt(t).
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether predictions use the mean of all weight vectors so far instead of the last.
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
    """

    _kind = OFO

    @property
    def threshold_(self) -> float:
        """TP / (b POS + PRED) of all predictions so far."""
        below = self.state_[KNOWN] * self.state_[POSITIVE] + self.state_[PREDICTED]
        return float(self.state_[TRUE_POSITIVE] / below) if below > 0 else 0.0
