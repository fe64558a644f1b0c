"""Fast online F-measure optimisation (Liu, Zhang, Zhou and Yang, NeurIPS 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, one_of, sentence, whole
from fsmeu.learning.checks import positive_number
from fsmeu.learning.online.probabilistic import ThresholdClassifier
from fsmeu.learning.online.rules import FOFO
from fsmeu.learning.online.state import (
    DOUBLES,
    FOFO_SIZE,
    HORIZON,
    LAST,
    MEAN,
    OPEN,
    SCALE,
    STAGE,
    STAGES,
    THETA,
)
from fsmeu.learning.saving import register

__all__ = ["FOFOClassifier"]

Floats = NDArray[np.float64]
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
        step: c in the step lengths c / sqrt(t) of the weights.
        schedule: "sqrt" for these, "constant" for steps of length c.
        average: whether probabilities are by the mean of all weight vectors so far (equation 5),
            not by the last.
        fit_intercept: whether there is an intercept; it is learned like any weight.
        measure: "f" or "jaccard".
        beta: of F_beta.
        horizon: n. None is the number of examples in ``fit``; in ``partial_fit`` it is 1024 first,
            and when so many were seen, stages are planned anew for twice as many.
        gamma_scale: what the steps of the threshold are multiplied by; "auto" for sqrt(10 / pi).
        predict_with: "mean" for the mean threshold of the stage, as in the listing, "last" for the
            last threshold, as in the text of section 4.
    """

    _kind = FOFO
    _size = FOFO_SIZE

    def __init__(
        self,
        *,
        step: float = 1.0,
        schedule: str = "sqrt",
        average: bool = False,
        fit_intercept: bool = True,
        measure: str = "f",
        beta: float = 1.0,
        horizon: int | None = None,
        gamma_scale: float | str = 1.0,
        predict_with: str = "mean",
    ) -> None:
        super().__init__(
            step=step,
            schedule=schedule,
            average=average,
            fit_intercept=fit_intercept,
            measure=measure,
            beta=beta,
        )
        self.horizon = horizon
        self.gamma_scale = gamma_scale
        self.predict_with = predict_with

    @property
    def threshold_(self) -> float:
        """The mean of the thresholds of the present stage, or the last threshold."""
        return float(self.state_[THETA if self.state_[LAST] else MEAN])

    @property
    def stage_(self) -> tuple[int, int]:
        """The number of the present stage, from 1, and of all stages that are planned."""
        return int(self.state_[STAGE]), int(self.state_[STAGES])

    def _start(self, state: Floats, horizon: int | None) -> Floats:
        where = type(self).__name__
        if self.horizon is not None:
            horizon = whole(where, "horizon", self.horizon)
        state[HORIZON] = horizon or FIRST_HORIZON
        state[DOUBLES] = float(horizon is None)
        state[OPEN] = 1.0
        state[SCALE] = self._scale(where)
        with_last = one_of(where, "predict_with", self.predict_with, ("mean", "last")) == "last"
        state[LAST] = float(with_last)
        return state

    def _scale(self, where: str) -> float:
        """What steps are multiplied by; 0 for the automatic factor."""
        if not isinstance(self.gamma_scale, str):
            return positive_number(where, "gamma_scale", self.gamma_scale)
        if self.gamma_scale != "auto":
            must = 'gamma_scale must be a finite number above 0 or "auto"'
            raise InputError(sentence(where, must, self.gamma_scale))
        return 0.0
