"""Logistic regression trained for the F-measure by a ratio of expectations (Jansche 2005).

Jansche, M. (2005), Maximum expected F-measure training of logistic regression models, HLT/EMNLP.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fsmeu.errors import InputError, sentence, whole
from fsmeu.learning.base import BinaryClassifier, Floats, Rows
from fsmeu.learning.saving import register

__all__ = ["MaxExpectedFClassifier", "SmoothF"]

_BLOCK = 4096
"""Rows that are looked at together: what is kept for each of them does not grow with all rows."""
_SAME = 1e-3
"""Optima count as equally good when their objectives differ by no more than this."""


@dataclass(frozen=True)
class SmoothF:
    """A function of the parameters, (1 + features,): the approximate F-measure of equation 6.

    With p_i = g(gamma (theta_0 + x_i theta)), g the logistic function and w_i the weights, it is
    A / (alpha npos + (1 - alpha) m), where A is the sum of w_i p_i over positive examples, m that
    over all examples, and npos the weight of the positive ones. One call takes O(nk) time and,
    beside the data, O(k) memory, as Figure 1 does. (Line 10 of the figure has d for p, and lines
    10 and 15 leave out gamma; equations 5 and 6 and the derivatives below them are followed.)

    Attributes:
        rows: examples, (examples, features), an array or a ``csr_array``.
        positive: 1 for positive examples, 0 for others, (examples,).
        weights: weights of examples, (examples,), or None where all are 1.
        alpha: the weight of recall in the harmonic mean, from 0 (precision) to 1 (recall).
        gamma: the steepness of the approximation to a decision (below equation 4).
    """

    rows: Rows
    positive: Floats
    weights: Floats | None = None
    alpha: float = 0.5
    gamma: float = 1.0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """The value and the gradient, (1 + features,)."""
        hits = marked = relevant = 0.0
        slopes = np.zeros((2, len(theta)))  # of A and of m
        for block, y, w in self._blocks():
            p = expit(self.gamma * (block @ theta[1:] + theta[0]))
            change = self.gamma * w * p * (1 - p)
            p *= w
            hits, marked, relevant = hits + float(y @ p), marked + p.sum(), relevant + float(y @ w)
            both = np.stack([y * change, change], axis=1)
            slopes[:, 0] += both.sum(axis=0)
            slopes[:, 1:] += (block.T @ both).T
        below = self.alpha * relevant + (1 - self.alpha) * marked
        if below == 0:  # precision where no example has a probability that doubles tell from 0
            return 0.0, np.zeros(len(theta))
        value = hits / below
        return value, (slopes[0] - value * (1 - self.alpha) * slopes[1]) / below

    def root_mean_squares(self) -> Floats:
        """The root mean square of each feature, (1 + features,): 1 for the constant and for 0."""
        squares, total = np.zeros(self.rows.shape[1]), 0.0
        for block, _, w in self._blocks():
            squares += w @ (block.power(2) if issparse(block) else block**2)
            total += float(w.sum())
        squares = np.sqrt(squares / total)
        return np.append(1.0, np.where(squares > 0, squares, 1.0))

    def _blocks(self) -> Iterator[tuple[Rows, Floats, Floats]]:
        """Blocks of rows with their classes and weights; the rows are not copied."""
        count = self.rows.shape[0]
        for a in range(0, count, _BLOCK):
            b = min(a + _BLOCK, count)
            w = np.ones(b - a) if self.weights is None else self.weights[a:b]
            yield _between(self.rows, a, b), self.positive[a:b], w


@register
class MaxExpectedFClassifier(BinaryClassifier):
    """A logistic regression whose parameters maximise an approximate F-measure (Jansche 2005).

    The objective is F~ of equation 6 less l2 / 2 times the sum of the squared coefficients; the
    intercept goes free. It is not concave, so L-BFGS starts from several random points, and the
    best end is kept. Without a penalty its supremum is often at infinity: ``bound`` keeps the
    search in a box. Features should be of like size and near 0 (``StandardScaler``).

    F_alpha = 1 / (alpha / R + (1 - alpha) / P) is F_beta for alpha = beta^2 / (1 + beta^2).

    Args:
        alpha: the weight of recall, from 0 (only precision) to 1 (only recall); 0.5 is F1.
        gamma: the steepness with which g(gamma x theta) stands for a decision. Without penalty
            and bound, gamma only rescales the parameters.
        l2: the factor of the penalty.
        restarts: how many starting points.
        random_state: the seed of the starting points.
        spread: every second starting point gives scores of about this root mean square on the
            training data, the others of a third of it: on the data of section 6 near starts miss
            the optimum of F~.25, and with many features far ones end lower.
        bound: the greatest absolute value of the intercept and of each coefficient times the root
            mean square of its feature; ``math.inf`` for none.
        max_iter: iterations of L-BFGS for each starting point.
        tol: L-BFGS ends where no component of the gradient exceeds it, or where an iteration
            gains less than a thousandth of it.
        fit_intercept: whether there is an intercept.

    Attributes:
        coef_: the coefficients, (1, features).
        intercept_: the intercept, (1,).
        objective_: the objective of the best end, penalty included.
        objectives_: that of every end, (restarts,).
        spread_: the standard deviation of ``objectives_``.
        reached_: how many ends are within 0.001 of the best.
        smooth_f_: F~ of the best end, without the penalty.
        n_iter_: iterations of L-BFGS from the starting point of the best end.
    """

    def __init__(
        self,
        alpha: float = 0.5,
        gamma: float = 1.0,
        l2: float = 0.0,
        restarts: int = 32,
        random_state: Any = None,
        *,
        spread: float = 10.0,
        bound: float = 100.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        fit_intercept: bool = True,
    ) -> None:
        self.alpha, self.gamma, self.l2 = alpha, gamma, l2
        self.restarts, self.random_state = restarts, random_state
        self.spread, self.bound = spread, bound
        self.max_iter, self.tol, self.fit_intercept = max_iter, tol, fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MaxExpectedFClassifier:
        """The classifier itself, trained.

        Args:
            X: examples, (examples, features), dense or sparse.
            y: their classes, (examples,), of two kinds; the greater is the positive one.
            sample_weight: their weights, (examples,): a weight of 2 counts an example twice.

        Raises:
            InputError: a parameter is out of its range, there are not two classes, or all
                examples of a class have weight 0.
        """
        self._check_parameters()
        rows, positive, weights = self._training(X, y, sample_weight)
        if weights is not None:
            self._check_weights(positive, weights)
        smooth = SmoothF(rows, positive, weights, float(self.alpha), float(self.gamma))
        ends = self._search(smooth)
        self.objectives_ = np.array([-float(end.fun) for end in ends])
        best = int(np.argmax(self.objectives_))
        theta: Floats = ends[best].theta
        self.intercept_, self.coef_ = theta[:1].copy(), theta[1:].reshape(1, -1).copy()
        self.objective_, self.spread_ = float(self.objectives_[best]), float(self.objectives_.std())
        self.reached_ = int((self.objectives_ >= self.objective_ - _SAME).sum())
        self.smooth_f_ = float(smooth(theta)[0])
        self.n_iter_ = int(ends[best].nit)
        if self.n_iter_ >= self.max_iter:
            text = f"the best start was still rising after max_iter={self.max_iter} iterations"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> Floats:
        """The scores x theta, (examples,); positive ones mean the positive class."""
        scores: Floats = self._rows(X) @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of both classes, (examples, 2): equation 1, whatever gamma is.

        They are parameters of a decision rule rather than estimates: training for F pushes them
        towards 0 and 1.
        """
        scores = self.decision_function(X)
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict(self, X: Any) -> Any:
        """The classes, (examples,): positive where the probability exceeds 1/2 (section 2)."""
        return self._named(self.decision_function(X) > 0)

    def _search(self, smooth: SmoothF) -> list[OptimizeResult]:
        """What L-BFGS ends with from every start, with the parameters as ``theta``.

        It works on the parameters times the root mean squares of their features, so that features
        of other units give the same search.
        """
        units, random = smooth.root_mean_squares(), check_random_state(self.random_state)
        size = len(units)
        width = float(self.spread) / math.sqrt(size)
        box = [(-float(self.bound), float(self.bound))] * size
        if not self.fit_intercept:
            box[0] = (0.0, 0.0)

        def falling(scaled: Floats) -> tuple[float, Floats]:
            theta = scaled / units
            value, gradient = smooth(theta)
            theta[0] = 0.0
            penalty = 0.5 * self.l2 * float(theta @ theta)
            return penalty - value, (self.l2 * theta - gradient) / units

        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": self.tol / 1000}
        ends = []
        for k in range(self.restarts):
            start = random.normal(0.0, width if k % 2 else width / 3, size)
            end = minimize(falling, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
            end.theta = end.x / units
            ends.append(end)
        return ends

    def _check_parameters(self) -> None:
        """Raises InputError where a parameter is out of its range."""
        where = type(self).__name__
        whole(where, "restarts", self.restarts)
        whole(where, "max_iter", self.max_iter)
        _real(where, "alpha", self.alpha, "from 0 to 1", 0 <= _number(self.alpha) <= 1)
        _real(where, "l2", self.l2, "of at least 0", 0 <= _number(self.l2) < math.inf)
        _real(where, "bound", self.bound, "above 0, or infinite", _number(self.bound) > 0)
        for name in ("gamma", "spread", "tol"):
            value = getattr(self, name)
            _real(where, name, value, "above 0", 0 < _number(value) < math.inf)

    def _check_weights(self, positive: Floats, weights: Floats) -> None:
        """Raises InputError where the examples of a class weigh nothing."""
        if not (weights[positive > 0].any() and weights[positive == 0].any()):
            must = "each class must have an example of positive weight"
            raise InputError(sentence(f"{type(self).__name__}.fit", must))


def _between(rows: Rows, a: int, b: int) -> Rows:
    """Rows a, ..., b - 1, (b - a, features), on the memory of all rows."""
    if not issparse(rows):
        return rows[a:b]
    first, last = rows.indptr[a], rows.indptr[b]
    held = (rows.data[first:last], rows.indices[first:last], rows.indptr[a : b + 1] - first)
    return csr_array(held, shape=(b - a, rows.shape[1]), copy=False)


def _number(value: object) -> float:
    """The value as a number; not a number (NaN) where it is none."""
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan


def _real(where: str, name: str, value: object, which: str, holds: bool) -> None:
    if not holds:
        raise InputError(sentence(where, f"{name} must be a number {which}", value))
