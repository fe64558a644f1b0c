"""Online learners that give the two kinds of error different costs.

All measures here are quotients a TP / (b POS + c TP + FP) (``online/state.py``). A classifier
reaches the value v where (a - v c) TP - v FP reaches v b POS: to be at least v is a matter of a
linear function of its counts, in which a positive example is worth a - v c and a negative one v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import whole
from fsmeu.learning.checks import positive_number
from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.rules import OMCSL, STAMP
from fsmeu.learning.online.state import (
    EPOCH,
    GAIN,
    GROWTH,
    KNOWN,
    LEVEL,
    MATCHED,
    OMCSL_COUNTS,
    POSITIVE,
    SHARPNESS,
    STAMP_SIZE,
    values_of,
)
from fsmeu.learning.saving import register

__all__ = ["OMCSLClassifier", "STAMPClassifier"]

Floats = NDArray[np.float64]


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
        step: c in the step lengths c / sqrt(t).
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether predictions use the mean of all weight vectors so far instead of the last.
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
        epoch: the number of examples of each of the first two stages.
        growth: what it is multiplied by after each pair of stages.
    """

    _kind = STAMP
    _size = STAMP_SIZE

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        epoch: int = 100,
        growth: float = 1.0,
    ) -> None:
        super().__init__(
            step=step,
            schedule=schedule,
            average=average,
            fit_intercept=fit_intercept,
            measure=measure,
            beta=beta,
        )
        self.epoch = epoch
        self.growth = growth

    def decision_function(self, X: Any) -> Floats:
        """The margin of each example, (examples,)."""
        return self._margins(X)[:, 0]

    @property
    def level_(self) -> float:
        """The present level v."""
        return float(self.state_[LEVEL])

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        where = type(self).__name__
        state[LEVEL] = 1.0
        state[EPOCH] = whole(where, "epoch", self.epoch)
        state[GROWTH] = max(positive_number(where, "growth", self.growth), 1.0)
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
        step: c in the step lengths c / sqrt(t).
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether predictions use the mean of all weight vectors so far instead of the last.
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
        classifiers: K; Liu et al. (2018) compare with 10.
        gamma: how sharply better classifiers are preferred; the default is ours.
        random_state: where the draws begin.
    """

    _kind = OMCSL

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        classifiers: int = 10,
        gamma: float = 100.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            step=step,
            schedule=schedule,
            average=average,
            fit_intercept=fit_intercept,
            measure=measure,
            beta=beta,
        )
        self.classifiers = classifiers
        self.gamma = gamma
        self.random_state = random_state

    def decision_function(self, X: Any) -> Floats:
        """The margin of each example by the classifier that has been best so far, (examples,)."""
        return self._margins(X)[:, int(np.argmax(self.scores_))]

    @property
    def scores_(self) -> Floats:
        """The measure of each classifier's own predictions so far, (classifiers,)."""
        hits, predicted = self.state_[OMCSL_COUNTS:].reshape(-1, 2).T
        numbers = self.state_[[GAIN, KNOWN, MATCHED]]
        return values_of(numbers, hits, predicted, self.state_[POSITIVE])

    def _classifiers(self) -> int:
        return whole(type(self).__name__, "classifiers", self.classifiers)

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        own = np.zeros(OMCSL_COUNTS + 2 * self._classifiers())
        own[: len(state)] = state
        own[SHARPNESS] = positive_number(type(self).__name__, "gamma", self.gamma)
        return own
