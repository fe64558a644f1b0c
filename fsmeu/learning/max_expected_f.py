"""Logistic regression trained for the F-measure by a ratio of expectations (Jansche 2005).

Jansche, M. (2005), Maximum expected F-measure training of logistic regression models, HLT/EMNLP.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, check_int, message
from fsmeu.learning import base
from fsmeu.learning.base import Climb, LogisticClassifier, Rows, climb, real
from fsmeu.learning.saving import register

_BLOCK = 4096
"""Rows that are looked at together."""
_SAME = 1e-3
"""Optima count as equally good when their objectives differ by no more than this."""
_MOST, _IN_VAIN = 32, 4
"""Of restarts="auto": the greatest number of starts, and of those in a row that gain nothing."""


@dataclass(frozen=True)
class SmoothF:
    """A function of the parameters, (1 + features,): the approximate F-measure of equation 6.

    With p_i = g(gamma (theta_0 + x_i theta)), g the logistic function and w_i the weights, it is
    A / (alpha npos + (1 - alpha) m), where A is the sum of w_i p_i over positive examples, m that
    over all examples, and npos the weight of the positive ones. One call takes O(nk) time and,
    beside the data, O(k) memory, as Figure 1 does. (Line 10 of the figure has d for p, and lines
    10 and 15 leave out gamma; equations 5 and 6 and the derivatives below them are followed.)
    """

    rows: Rows  # examples, (examples, features), an array or a ``csr_array``
    positive: Floats  # 1 for positive examples, 0 for others, (examples,)
    weights: Floats | None = None  # of examples, (examples,); None where all are 1
    alpha: float = 0.5  # the weight of recall in the harmonic mean, from 0 (precision) to 1
    gamma: float = 1.0  # the steepness of the approximation to a decision (below equation 4)

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
        """Blocks of rows with their classes and weights."""
        for a in range(0, self.rows.shape[0], _BLOCK):
            y = self.positive[a : a + _BLOCK]
            w = np.ones(len(y)) if self.weights is None else self.weights[a : a + _BLOCK]
            yield _between(self.rows, a, a + len(y)), y, w


def _between(rows: Rows, a: int, b: int) -> Rows:
    """Rows a, ..., b - 1, on the memory of all rows; a slice of sparse ones would be a copy."""
    if not issparse(rows):
        return rows[a:b]
    first, last = rows.indptr[a], rows.indptr[b]
    held = (rows.data[first:last], rows.indices[first:last], rows.indptr[a : b + 1] - first)
    return csr_array(held, shape=(b - a, rows.shape[1]), copy=False)


@register
@dataclass(eq=False, repr=False)
class MaxExpectedFClassifier(LogisticClassifier):
    """A logistic regression whose parameters maximise an approximate F-measure (Jansche 2005).

    The objective is F~ of equation 6 less l2 / 2 times the sum of the squared coefficients; the
    intercept goes free. It is not concave, so L-BFGS starts from several random points, and the
    best end is kept. With the default penalty starts mostly meet at one end, and F of rows that
    were not seen is mostly greater than without one (the paper has none), where the supremum is
    often at infinity: ``bound`` keeps the search in a box. A great penalty may drive it there too,
    since the intercept goes free: to no coefficients and an infinite intercept, where all examples
    are called positive. Where a climb ends on such a way is a matter of rounding. Features should
    be of like size and near 0 (``StandardScaler``).

    Probabilities (equation 1, whatever gamma is) are parameters of a decision rule rather than
    estimates: training for F pushes them towards 0 and 1.

    F_alpha = 1 / (alpha / R + (1 - alpha) / P) is F_beta for alpha = beta^2 / (1 + beta^2).

    Args:
        alpha: the weight of recall, from 0 (only precision) to 1 (only recall); 0.5 is F1.
        gamma: the steepness with which g(gamma x theta) stands for a decision. Without penalty
            and bound, gamma only rescales the parameters.
        l2: the factor of the penalty. What is best for rows that were not seen depends on the data:
            about 1 over the number of rows on a9a, less than the default on ijcnn1 and w8a. Choose
            it by ``GridSearchCV(..., {"l2": [1e-5, 1e-4, 1e-3]}, scoring="f1")``.
        restarts: how many starting points; "auto" goes on until four in a row have not raised the
            best objective by more than 0.001, up to 32.
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
        objectives_: that of every end, (starts,).
        spread_: the standard deviation of ``objectives_``.
        reached_: how many ends are within 0.001 of the best.
        smooth_f_: F~ of the best end, without the penalty.
        n_iter_: iterations of L-BFGS from the starting point of the best end.
    """

    alpha: float = 0.5
    gamma: float = 1.0
    l2: float = 1e-4
    restarts: int | str = "auto"
    random_state: Any = None
    _: KW_ONLY
    spread: float = 10.0
    bound: float = 100.0
    max_iter: int = 500
    tol: float = 1e-6
    fit_intercept: bool = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        progress: Callable[[float], None] | None = None,
    ) -> MaxExpectedFClassifier:
        """Itself, fitted to rows, dense or sparse, and labels of two classes.

        A weight of 2 counts an example twice. ``progress`` is called after each start with the
        share of the work that is done, from 0 to 1.
        """
        where = type(self).__name__
        if self.restarts != "auto":
            check_int(where, "restarts", self.restarts)
        check_int(where, "max_iter", self.max_iter)
        base.number_between(where, "alpha", self.alpha, 0, 1)
        real(where, "l2", self.l2, *base.NONNEGATIVE)
        real(where, "bound", self.bound, "number above 0, or infinite", lambda value: value > 0)
        for name in ("gamma", "spread", "tol"):
            real(where, name, getattr(self, name), *base.POSITIVE_NUMBER)
        rows, positive, weights = self._training(X, y, sample_weight)
        if weights is not None and len(np.unique(positive[weights > 0])) < 2:
            must = "each class must have an example of positive weight"
            raise InputError(message(f"{where}.fit", must))
        smooth = SmoothF(rows, positive, weights, float(self.alpha), float(self.gamma))
        ends = self._search(smooth, progress)
        self.objectives_ = np.array([end.value for end in ends])
        best = int(np.argmax(self.objectives_))
        theta = ends[best].weights
        self.intercept_, self.coef_ = theta[:1].copy(), theta[1:].reshape(1, -1).copy()
        self.objective_, self.spread_ = float(self.objectives_[best]), float(self.objectives_.std())
        self.reached_ = int((self.objectives_ >= self.objective_ - _SAME).sum())
        self.smooth_f_ = float(smooth(theta)[0])
        self.n_iter_ = ends[best].steps
        if self.n_iter_ >= self.max_iter:
            text = f"the best start was still rising after max_iter={self.max_iter} iterations"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self

    def _search(self, smooth: SmoothF, progress: Callable[[float], None] | None) -> list[Climb]:
        """Where the climb from every start ended.

        It works on the parameters times the root mean squares of their features, so that features
        of other units give the same search; the weights of the ends are the parameters.
        """
        units, random = smooth.root_mean_squares(), check_random_state(self.random_state)
        width, bound = float(self.spread) / math.sqrt(len(units)), float(self.bound)
        box = np.tile([-bound, bound], (len(units), 1))
        if not self.fit_intercept:
            box[0] = 0.0

        def rising(scaled: Floats) -> tuple[float, Floats]:
            theta = scaled / units
            value, gradient = smooth(theta)
            theta[0] = 0.0
            penalty = 0.5 * self.l2 * float(theta @ theta)
            return value - penalty, (gradient - self.l2 * theta) / units

        automatic = isinstance(self.restarts, str)
        most = _MOST if automatic else int(self.restarts)
        tol, best, raised = float(self.tol), -math.inf, 0
        ends: list[Climb] = []
        while len(ends) < most and not (automatic and len(ends) - raised >= _IN_VAIN):
            start = random.normal(0.0, width if len(ends) % 2 else width / 3, len(units))
            end = climb(rising, start, self.max_iter, tol, gain=tol / 1000, box=box)
            ends.append(end._replace(weights=end.weights / units))
            if end.value > best + _SAME:
                raised = len(ends)
            best = max(best, end.value)
            if progress is not None:
                progress(len(ends) / (min(most, raised + _IN_VAIN) if automatic else most))
        return ends
