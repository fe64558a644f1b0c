"""Logistic classifiers trained for utilities: of Jansche's approximation, and of the expectation.

Jansche, M. (2005), Maximum expected F-measure training of logistic regression models, HLT/EMNLP,
maximises a ratio of expectations (``SmoothF``). The exact expectation is that of the loss with its
tapes exchanged, since the hypothesis follows the classifier (``batch_value``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.sparse import csr_array, issparse
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, check_bool, check_int
from fsmeu.expectation.expect import value_and_gradient
from fsmeu.learning import base
from fsmeu.learning.saving import register
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent
from fsmeu.progress import Progress, check_progress

_SAME = 1e-3  # optima are equally good when their objectives differ by no more than this
_MOST, _IN_VAIN = 32, 4  # of restarts="auto": starts, and those in a row that gain nothing
_TOGETHER = 32  # nodes of up to so many events are convolved at once, larger ones each by itself


@dataclass(frozen=True)
class SmoothF:
    """A function of the parameters, (1 + features,): the approximate F-measure of equation 6.

    With p_i = g(gamma (theta_0 + x_i theta)), g the logistic function and w_i the weights, it is
    A / (alpha npos + (1 - alpha) m), where A is the sum of w_i p_i over positive examples, m that
    over all examples, and npos the weight of the positive ones. One call takes O(nk) time and,
    beside the data, O(k) memory, as Figure 1 does.
    """

    rows: base.Rows  # examples, (examples, features), an array or a ``csr_array``
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
            hits += float(y @ p)
            marked += float(p.sum())
            relevant += float(y @ w)
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
        squares = np.zeros(self.rows.shape[1])
        total = 0.0
        for block, _, w in self._blocks():
            squares += w @ (block.power(2) if issparse(block) else block**2)
            total += float(w.sum())
        squares = np.sqrt(squares / total)
        return np.append(1.0, np.where(squares > 0, squares, 1.0))

    def _blocks(self) -> Iterator[tuple[base.Rows, Floats, Floats]]:
        """Blocks of rows with their classes and weights; none of them is a copy."""
        for a in range(0, self.rows.shape[0], limits.ROWS_AT_ONCE):
            y = self.positive[a : a + limits.ROWS_AT_ONCE]
            block = self.rows
            if issparse(block):  # whose slices would be copies
                begins = block.indptr[a : a + len(y) + 1]
                part = slice(begins[0], begins[-1])
                arrays = block.data[part], block.indices[part], begins - begins[0]
                block = csr_array(arrays, shape=(len(y), block.shape[1]), copy=False)
            w = np.ones(len(y)) if self.weights is None else self.weights[a : a + len(y)]
            yield block if issparse(block) else block[a : a + len(y)], y, w


@register
@dataclass(eq=False, repr=False)
class MaxExpectedFClassifier(base.LogisticClassifier):
    """A logistic regression whose parameters maximise an approximate F-measure (Jansche 2005).

    The objective is F~ of equation 6 less l2 / 2 times the sum of the squared coefficients; the
    intercept goes free. It is not concave: L-BFGS starts from several random points, and the best
    end is kept. With the default penalty starts mostly meet at one end, and F of rows that were not
    seen is mostly greater than without one (the paper has none), where the supremum is often at
    infinity: ``bound`` keeps the search in a box. So it is with a great penalty, which leaves no
    coefficients: all examples are called positive. Features should be of like size and near 0
    (``StandardScaler``). Probabilities (equation 1, whatever gamma is) are parameters of a decision
    rule rather than estimates: training for F pushes them towards 0 and 1.

    Args:
        alpha: the weight of recall, from 0 (only precision) to 1 (only recall); 0.5 is F1, and
            beta^2 / (1 + beta^2) is F_beta.
        gamma: the steepness with which g(gamma x theta) stands for a decision. Without penalty
            and bound, gamma only rescales the parameters.
        l2: the factor of the penalty. What is best for rows that were not seen depends on the data:
            choose it by ``GridSearchCV(..., {"l2": [1e-5, 1e-4, 1e-3]}, scoring="f1")``.
        restarts: how many starting points; "auto" goes on until four in a row have not raised the
            best objective by more than 0.001, up to 32.
        random_state: their seed.
        spread: every second starting point gives scores of about this root mean square on the
            training data, the others of a third of it.
        bound: the greatest size of the intercept and of coefficients times the root mean square of
            their features; ``math.inf`` for none.
        max_iter: iterations of L-BFGS for each starting point.
        tol: L-BFGS ends where no derivative exceeds it, or an iteration gains a thousandth of it.
        fit_intercept: whether there is an intercept.
        pos_label: the class whose F-measure it is; None as in ``DTAClassifier``.

    Attributes:
        classes_, pos_label_: both classes, sorted; the positive one.
        coef_, intercept_: the parameters, (1, features) and (1,), for ``classes_[1]``.
        objective_, objectives_: that of the best end and of every end, (starts,).
        spread_, reached_: the deviation of ``objectives_``; how many are within 0.001 of the best.
        smooth_f_, n_iter_: F~ of the best end, without the penalty; iterations of L-BFGS to it.
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
        self, X: Any, y: Any, sample_weight: Any = None, progress: Progress | None = None
    ) -> MaxExpectedFClassifier:
        """Itself, fitted to rows, dense or sparse, and labels of two classes.

        A weight of 2 counts an example twice. ``progress`` is called after each start with the
        share of the work that is done, from 0 to 1, and a note (``fsmeu.Progress``).
        """
        where = type(self).__name__
        callback = check_progress(where, progress)
        if self.restarts != "auto":
            check_int(where, "restarts", self.restarts)
        check_int(where, "max_iter", self.max_iter)
        base.number_between(where, "alpha", self.alpha, 0, 1)
        base.check_real(where, "l2", self.l2, *base.NONNEGATIVE)
        base.check_real(where, "bound", self.bound, "number above 0, or infinite", lambda x: x > 0)
        for name in ("gamma", "spread", "tol"):
            base.check_real(where, name, getattr(self, name), *base.POSITIVE_NUMBER)
        rows, positive, weights = self._training(X, y, sample_weight)
        if weights is not None and len(np.unique(positive[weights > 0])) < 2:
            must = "each class must have an example of positive weight"
            raise InputError(f"{where}.fit", must)
        smooth = SmoothF(rows, positive, weights, float(self.alpha), float(self.gamma))
        # On the parameters times the root mean squares of their features, other units of features
        # give the same search.
        units = smooth.root_mean_squares()
        random = base.random_of(where, self.random_state)
        width = float(self.spread) / math.sqrt(len(units))
        bounds = np.tile([-float(self.bound), float(self.bound)], (len(units), 1))
        if not check_bool(where, "fit_intercept", self.fit_intercept):
            bounds[0] = 0.0

        def objective(scaled: Floats) -> tuple[float, Floats]:
            theta = scaled / units
            value, gradient = smooth(theta)
            theta[0] = 0.0
            penalty = 0.5 * self.l2 * float(theta @ theta)
            return value - penalty, (gradient - self.l2 * theta) / units

        automatic = isinstance(self.restarts, str)
        most = _MOST if automatic else int(self.restarts)
        tol = float(self.tol)
        raised = 0  # the number of the last start that found a greater end
        ends = list[Any]()
        while len(ends) < most and not (automatic and len(ends) - raised >= _IN_VAIN):
            start = random.normal(0.0, width if len(ends) % 2 else width / 3, len(units))
            end = base.maximize(
                objective, start, self.max_iter, tol, ftol=tol / 1000, bounds=bounds
            )
            if end.fun > max((previous.fun for previous in ends), default=-math.inf) + _SAME:
                raised = len(ends) + 1
            ends.append(OptimizeResult(end, x=end.x / units))
            expected = min(most, raised + _IN_VAIN) if automatic else most
            callback(len(ends) / expected, f"start {len(ends)} of {expected}")
        self.objectives_ = np.array([end.fun for end in ends])
        best = int(np.argmax(self.objectives_))
        theta = ends[best].x
        self.coef_ = self._sign * theta[None, 1:]
        self.intercept_ = self._sign * theta[:1]
        self.objective_ = float(ends[best].fun)
        self.spread_ = float(self.objectives_.std())
        self.reached_ = int((self.objectives_ >= self.objective_ - _SAME).sum())
        self.smooth_f_ = float(smooth(theta)[0])
        self.n_iter_ = int(ends[best].nit)
        if self.n_iter_ >= self.max_iter:
            text = f"the best start was still rising after max_iter={self.max_iter} iterations"
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self


class CountTree:
    """The number of independent events that happen, which have the probabilities p, (n,).

    Its distribution is a convolution, made by a balanced tree of single events: ``levels`` has,
    from the leaves up, that of the count of each node, (nodes, events of a node + 1); an odd node
    is paired with one that never counts. From the root down, each node learns the mean value of its
    own count, those of all others summed out; at a leaf, the difference between one and none is the
    derivative. O(n^2) operations; on the way up of nonnegative numbers, so that small probabilities
    are as accurate as large ones.
    """

    def __init__(self, p: Floats) -> None:
        self.n = len(p)
        level = np.stack((1.0 - p, p), axis=1) if self.n else np.ones((1, 1))
        self.levels = [level]
        while len(level) > 1:
            if len(level) % 2:
                level = self.levels[-1] = np.concatenate((level, np.eye(1, level.shape[1])))
            level = _by_rows(level[1::2], level[0::2], full=True)
            self.levels.append(level)

    @property
    def distribution(self) -> Floats:
        """P(k events happen) for k = 0, ..., n, shape (n + 1,)."""
        return self.levels[-1][0, : self.n + 1]

    def derivatives(self, values: Floats) -> Floats:
        """The derivatives of the expected value of counts 0, ..., n with respect to p, (n,)."""
        down: Floats = np.zeros((1, self.levels[-1].shape[1]))
        down[0, : self.n + 1] = values
        for level in reversed(self.levels[:-1]):
            down = down[: len(level) // 2]
            below = np.empty(level.shape)
            below[0::2] = _by_rows(down, level[1::2])
            below[1::2] = _by_rows(down, level[0::2])
            down = below
        return (down[:, -1] - down[:, 0])[: self.n]


def _by_rows(left: Floats, right: Floats, full: bool = False) -> Floats:
    """Correlations of rows with shorter ones, (nodes, size), or full convolutions of equal ones."""
    nodes, size = right.shape
    if size > _TOGETHER:
        function = np.convolve if full else np.correlate
        return np.array([function(*pair) for pair in zip(left, right, strict=True)])
    total = np.zeros((nodes, 2 * size - 1 if full else size))
    for k in range(size):
        if full:
            total[:, k : k + size] += right[:, k : k + 1] * left
        else:
            total += right[:, k : k + 1] * left[:, k : k + size]
    return total


def batch_value(loss: Loss, y: Ints) -> base.Objective:
    """E[value(Z, y)] and its derivatives, (n,), as a function of the probabilities of 1, (n,).

    The references y are label indices, (n,), of a loss over two labels. Where its value depends on
    the confusion table alone, true and false positives are independent counts: E is the sum over
    both of P(tp) P(fp) value(tp, fp), whatever the value is. Else the composition is summed.
    """
    form = loss.confusion
    if form is None:
        swapped = loss.swapped
        labels = loss.alphabet.decode(y)

        def summed(p: Floats) -> tuple[float, Floats]:
            model = Independent(np.stack((1.0 - p, p), axis=1), swapped.alphabet.labels)
            value, slopes = value_and_gradient(swapped, labels, model)
            assert isinstance(slopes, np.ndarray)
            return value, slopes[:, 1] - slopes[:, 0]

        return summed
    n = len(y)
    ref = int(y.sum())
    cells = (ref + 1) * (n - ref + 1)
    if cells > limits.CONFUSION_CELLS:
        must = f"a batch may have at most {limits.CONFUSION_CELLS:,} confusion tables"
        got = f"{cells:,} for {n:,} examples"
        raise InputError("batch", must, given=got, remedy="Give batch_size=2000")
    positive = y == 1
    alarms = np.arange(n - ref + 1)
    table = np.array([value_of_counts(form, n, tp, tp + alarms, ref) for tp in range(ref + 1)])

    def counted(p: Floats) -> tuple[float, Floats]:
        true = CountTree(p[positive])
        false = CountTree(p[~positive])
        values = table @ false.distribution
        slopes = np.empty(n)
        slopes[positive] = true.derivatives(values)
        slopes[~positive] = false.derivatives(true.distribution @ table)
        return float(true.distribution @ values), slopes

    return counted


@register
@dataclass(eq=False, repr=False)
class MaxExpectedUtilityClassifier(base.LogisticClassifier):
    """A logistic classifier that maximises the exact expected utility of the training labels.

    The labels Z of a batch are independent, P(Z_i = 1) = 1 / (1 + exp(-(w x_i + b))), the labels y
    are given, and (w, b) maximises the mean over batches of E[utility(Z, y)], less l2 / 2 times the
    squared length of w; the intercept b goes free, because positives may be rare (Jansche 2007,
    section 1.3, names this objective). A loss is minimised. It is not concave: L-BFGS climbs from
    the solution of maximum likelihood and from random starts, and the best is kept. Without l2 the
    greatest value may lie at infinity. Labels of a sequence have no weights in a loss: there is no
    ``sample_weight``.

    A batch is a sequence. Where the value depends on the confusion table alone, batches are drawn
    at random, with the share of positive examples of the whole, and a value and gradient takes
    O(n^2) time (about 2 ms for 200 examples, 7 ms for 1,000). For other losses batches are runs of
    rows as they are given, and the composition is summed, which is slower by far.

    Args:
        loss: a built-in name, the path of a loss file, or a loss over two labels.
        loss_params: parameters of the loss by name, such as {"beta": 2}.
        batch_size: the greatest number of examples of a batch; None for one batch of all.
        l2: the penalty on the weights.
        restarts: the number of random starts beside that of maximum likelihood.
        max_iter: the greatest number of iterations of each climb.
        random_state: seeds the batches and the random starts.
        pos_label: the positive class, as in ``DTAClassifier``.

    Attributes:
        loss_: the loss.
        classes_, pos_label_: both classes, sorted; the positive one.
        coef_, intercept_: the weights, (1, features) and (1,), for ``classes_[1]``.
        expected_value_, n_iter_: the mean over batches, and the iterations of the best climb.
        objectives_: where each climb ended, the first from maximum likelihood, (1 + restarts,).
    """

    loss: Any = "fscore"
    _: KW_ONLY
    loss_params: dict[str, Any] | None = None
    batch_size: int | None = None
    l2: float = 1e-4
    restarts: int = 4
    max_iter: int = 200
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> MaxExpectedUtilityClassifier:
        """Itself, fitted to rows, dense or sparse, and labels of two classes."""
        where = type(self).__name__
        restarts = check_int(where, "restarts", self.restarts, least=0)
        steps = check_int(where, "max_iter", self.max_iter)
        l2 = base.check_real(where, "l2", self.l2, *base.NONNEGATIVE)
        self.loss_ = base.binary_loss(where, self.loss, self.loss_params)
        rows, positive, _ = self._training(X, y)
        loss = self._named_loss()
        random = base.random_of(where, self.random_state)
        batches = [np.arange(len(positive))]
        signs = 2.0 * positive - 1.0
        if self.batch_size is not None:
            count = -(-len(positive) // check_int(where, "batch_size", self.batch_size))
            if loss.confusion is not None:
                shuffled = random.permutation(len(positive))
                dealt = shuffled[np.argsort(positive[shuffled], kind="stable")]
                batches = [np.sort(dealt[k::count]) for k in range(count)]
            else:
                batches = np.array_split(batches[0], count)

        def likelihood(scores: Floats) -> tuple[float, Floats]:
            margins = signs * scores
            return float(log_expit(margins).mean()), signs * expit(-margins) / len(signs)

        objective = _of_weights(rows, l2, _expected(loss, positive.astype(np.int64), batches))
        zeros = np.zeros(rows.shape[1] + 1)
        starts = [base.maximize(_of_weights(rows, l2, likelihood), zeros, steps).x]
        squares = rows.multiply(rows).sum() if hasattr(rows, "multiply") else float((rows**2).sum())
        size = 2.0 / np.sqrt(1.0 + squares / rows.shape[0])  # gives scores of about 2
        starts += [size * random.standard_normal(rows.shape[1] + 1) for _ in range(restarts)]
        ends = [base.maximize(objective, start, steps) for start in starts]
        best = max(ends, key=lambda end: end.fun)
        self.coef_ = self._sign * best.x[None, :-1]
        self.intercept_ = self._sign * best.x[-1:]
        self.objectives_ = np.array([end.fun for end in ends])
        sign = 1.0 if loss.kind == "utility" else -1.0
        self.expected_value_ = sign * (best.fun + l2 / 2 * float(self.coef_[0] @ self.coef_[0]))
        self.n_iter_ = int(best.nit)
        return self


def _of_weights(rows: base.Rows, l2: float, of_scores: base.Objective) -> base.Objective:
    """A function of the scores of rows, less the penalty, as a function of (w, b)."""

    def objective(weights: Floats) -> tuple[float, Floats]:
        value, slopes = of_scores(rows @ weights[:-1] + weights[-1])
        free = np.append(weights[:-1], 0.0)
        gradient = np.append(rows.T @ slopes, slopes.sum()) - l2 * free
        return value - l2 / 2 * float(free @ free), gradient

    return objective


def _expected(loss: Loss, y: Ints, batches: list[Ints]) -> base.Objective:
    """The mean expected utility of the batches, as a function of scores."""
    parts = [(batch, batch_value(loss, y[batch])) for batch in batches]
    sign = (1.0 if loss.kind == "utility" else -1.0) / len(parts)

    def of_scores(scores: Floats) -> tuple[float, Floats]:
        p = expit(scores)
        value = 0.0
        slopes = np.zeros(len(p))
        for batch, expected in parts:
            part, slopes[batch] = expected(p[batch])
            value += sign * part
        return value, sign * slopes * (p * (1.0 - p))

    return of_scores
