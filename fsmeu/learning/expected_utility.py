"""``MaxExpectedUtilityClassifier``: logistic weights of the greatest exact expected utility.

The hypothesis tape follows the classifier, the reference is given (Jansche 2005): the expectation
of the loss with its tapes exchanged. Where the value depends on the confusion table alone, true
and false positives are independent counts, so that E = sum over both of P(tp) P(fp) value(tp, fp),
whatever the value is; elsewhere the composition is summed by ``value_and_gradient``.

The distribution of a count is a convolution, made by a balanced tree whose leaves are single
events. From the root down, each node learns the mean value of its own count, those of all others
summed out; at a leaf, the difference between one and none is the derivative with respect to the
event's probability. O(n^2) operations, on the way up all of nonnegative numbers, so that small
probabilities are as accurate as large ones.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils import check_random_state

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, check_int, message
from fsmeu.expectation.expect import value_and_gradient
from fsmeu.learning.base import NONNEGATIVE, LogisticClassifier, Objective, Rows, climb, real
from fsmeu.learning.given_loss import binary_loss, over_classes
from fsmeu.learning.saving import register
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent

CONFUSION_CELLS = 1 << 26  # confusion tables of a batch trained on as a whole: 512 MB of values

_TOGETHER = 32
"""Nodes of up to this many events are convolved all at once, larger ones each by itself."""


class CountTree:
    """The number of independent events that happen, which have the probabilities p, (n,).

    ``levels`` has, from the leaves up, the distribution of the count of each node, (nodes, events
    of a node + 1); an odd node is paired with one that never counts.
    """

    def __init__(self, p: Floats) -> None:
        self.n = len(p)
        level = np.stack((1.0 - p, p), axis=1) if self.n else np.ones((1, 1))
        self.levels = [level]
        while len(level) > 1:
            if len(level) % 2:
                level = self.levels[-1] = np.concatenate((level, np.eye(1, level.shape[1])))
            level = _sums(level[0::2], level[1::2])
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
            below, down = np.empty(level.shape), down[: len(level) // 2]
            below[0::2] = _means(down, level[1::2])
            below[1::2] = _means(down, level[0::2])
            down = below
        return (down[:, -1] - down[:, 0])[: self.n]


def _sums(left: Floats, right: Floats) -> Floats:
    """The distribution of the sum of two counts, row by row, (nodes, 2 size - 1)."""
    nodes, size = left.shape
    if size > _TOGETHER:
        return np.array([np.convolve(*both) for both in zip(left, right, strict=True)])
    total = np.zeros((nodes, 2 * size - 1))
    for k in range(size):
        total[:, k : k + size] += left[:, k : k + 1] * right
    return total


def _means(values: Floats, other: Floats) -> Floats:
    """Mean values of a count over another that adds to it, row by row, (nodes, size)."""
    nodes, size = other.shape
    if size > _TOGETHER:
        both = zip(values, other, strict=True)
        return np.array([np.correlate(all_, part, "valid") for all_, part in both])
    mean = np.zeros((nodes, size))
    for k in range(size):
        mean += other[:, k : k + 1] * values[:, k : k + size]
    return mean


def batch_value(loss: Loss, y: Ints) -> Objective:
    """E[value(Z, y)] and its derivatives, (n,), as a function of the probabilities of 1, (n,).

    The references y are label indices, (n,), of a loss over two labels.
    """
    form = loss.confusion if isinstance(loss, SpecLoss) else None
    return _by_composition(loss, y) if form is None else _by_table(form, y)


def _by_table(form: Confusion, y: Ints) -> Objective:
    """Of losses of the confusion table: two independent counts."""
    n, ref = len(y), int(y.sum())
    cells = (ref + 1) * (n - ref + 1)
    if cells > CONFUSION_CELLS:
        must = f"a batch may have at most {CONFUSION_CELLS:,} confusion tables"
        got = f"{cells:,} for {n:,} examples"
        raise InputError(message("batch", must, got, "Give batch_size=2000"))
    positive, alarms = y == 1, np.arange(n - ref + 1)
    table = np.array([value_of_counts(form, n, tp, tp + alarms, ref) for tp in range(ref + 1)])

    def expected(p: Floats) -> tuple[float, Floats]:
        true, false = CountTree(p[positive]), CountTree(p[~positive])
        values, slopes = table @ false.distribution, np.empty(n)
        slopes[positive] = true.derivatives(values)
        slopes[~positive] = false.derivatives(true.distribution @ table)
        return float(true.distribution @ values), slopes

    return expected


def _by_composition(loss: Loss, y: Ints) -> Objective:
    """Of any other loss: forward and backward through the composition with its tapes exchanged."""
    swapped, labels = loss.swapped, loss.alphabet.decode(y)

    def expected(p: Floats) -> tuple[float, Floats]:
        model = Independent(np.stack((1.0 - p, p), axis=1), swapped.alphabet.labels)
        value, slopes = value_and_gradient(swapped, labels, model)
        assert isinstance(slopes, np.ndarray)
        return value, slopes[:, 1] - slopes[:, 0]

    return expected


@register
@dataclass(eq=False, repr=False)
class MaxExpectedUtilityClassifier(LogisticClassifier):
    """A logistic classifier that maximises the exact expected utility of the training labels.

    The labels Z of a batch are independent, P(Z_i = 1) = 1 / (1 + exp(-(w x_i + b))), the labels y
    are given, and (w, b) maximises the mean over batches of E[utility(Z, y)], less l2 / 2 times the
    squared length of w; the intercept b goes free, because positives may be rare. Jansche 2005
    maximises an approximation of E[F], Jansche 2007, section 1.3, names the exact expectation. A
    loss is minimised. The objective is not concave: L-BFGS climbs from the solution of maximum
    likelihood and from random starts, and the best is kept. Without l2 the greatest value may lie
    at infinity. There is no ``sample_weight``: labels of a sequence have no weights in a loss.

    A batch is a sequence. Where the value depends on the confusion table alone, its order does not
    matter: batches are drawn at random, with the share of positive examples of the whole, and a
    value and gradient takes O(n^2) time (about 2 ms for 200 examples, 7 ms for 1,000 and 60 ms
    for 4,000). For other losses batches are runs of rows as they are given, and the composition is
    summed, which is slower by far.

    Args:
        loss: a built-in name, the path of a loss file, or a loss over two labels.
        loss_params: parameters of the loss by name, such as {"beta": 2}.
        batch_size: the greatest number of examples of a batch; None for one batch of all.
        l2: the penalty on the weights.
        restarts: the number of random starts beside that of maximum likelihood.
        max_iter: the greatest number of iterations of each climb.
        random_state: seeds the batches and the random starts.

    Attributes:
        loss_: the loss.
        coef_: the weights, (1, features).
        intercept_: the intercept, (1,).
        expected_value_: the mean of the expected value over batches.
        objectives_: where each climb ended, the first from maximum likelihood, (1 + restarts,).
        n_iter_: the number of iterations of the best climb.
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
        l2 = real(where, "l2", self.l2, *NONNEGATIVE)
        self.loss_ = binary_loss(where, self.loss, self.loss_params)
        rows, positive, _ = self._training(X, y)
        loss = over_classes(self.loss_, self.classes_, where)
        random = check_random_state(self.random_state)
        batches = self._batches(loss, positive, random)
        aim = _of_weights(rows, l2, _expected(loss, positive.astype(np.int64), batches))
        likelihood = _of_weights(rows, l2, _likelihood(positive))
        starts = [climb(likelihood, np.zeros(rows.shape[1] + 1), steps).weights]
        squares = rows.multiply(rows).sum() if hasattr(rows, "multiply") else float((rows**2).sum())
        size = 2.0 / np.sqrt(1.0 + squares / rows.shape[0])  # gives scores of about 2
        starts += [size * random.standard_normal(rows.shape[1] + 1) for _ in range(restarts)]
        climbs = [climb(aim, start, steps) for start in starts]
        best = max(climbs, key=lambda one: one.value)
        self.coef_, self.intercept_ = best.weights[None, :-1], best.weights[-1:]
        self.objectives_ = np.array([one.value for one in climbs])
        sign = 1.0 if loss.kind == "utility" else -1.0
        self.expected_value_ = sign * (best.value + l2 / 2 * float(self.coef_[0] @ self.coef_[0]))
        self.n_iter_ = best.steps
        return self

    def _batches(self, loss: Loss, positive: Floats, random: Any) -> list[Ints]:
        """The rows of each batch."""
        n = len(positive)
        if self.batch_size is None:
            return [np.arange(n)]
        count = -(-n // check_int(type(self).__name__, "batch_size", self.batch_size))
        if not isinstance(loss, SpecLoss) or loss.confusion is None:
            return [part.astype(np.int64) for part in np.array_split(np.arange(n), count)]
        shuffled = random.permutation(n)
        dealt = shuffled[np.argsort(positive[shuffled], kind="stable")]
        return [np.sort(dealt[k::count]) for k in range(count)]


def _of_weights(rows: Rows, l2: float, of_scores: Objective) -> Objective:
    """A function of the scores of rows, less the penalty, as a function of (w, b)."""

    def objective(weights: Floats) -> tuple[float, Floats]:
        value, slopes = of_scores(rows @ weights[:-1] + weights[-1])
        free = np.append(weights[:-1], 0.0)
        gradient = np.append(rows.T @ slopes, slopes.sum()) - l2 * free
        return value - l2 / 2 * float(free @ free), gradient

    return objective


def _likelihood(positive: Floats) -> Objective:
    """The mean log-likelihood of the labels, as a function of scores."""
    signs = 2.0 * positive - 1.0

    def of_scores(scores: Floats) -> tuple[float, Floats]:
        margins = signs * scores
        return float(log_expit(margins).mean()), signs * expit(-margins) / len(signs)

    return of_scores


def _expected(loss: Loss, y: Ints, batches: list[Ints]) -> Objective:
    """The mean expected utility of the batches, as a function of scores."""
    parts = [(batch, batch_value(loss, y[batch])) for batch in batches]
    sign = (1.0 if loss.kind == "utility" else -1.0) / len(parts)

    def of_scores(scores: Floats) -> tuple[float, Floats]:
        p, value = expit(scores), 0.0
        slopes = np.zeros(len(p))
        for batch, expected in parts:
            part, slopes[batch] = expected(p[batch])
            value += sign * part
        return value, sign * slopes * (p * (1.0 - p))

    return of_scores
