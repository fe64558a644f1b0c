"""``MaxExpectedUtilityClassifier``: logistic weights of the greatest exact expected utility.

The hypothesis tape follows the classifier, the reference is given (Jansche 2005): the expectation
of the loss with its tapes exchanged. Where the value depends on the confusion table alone, true
and false positives are independent counts, so that E = sum over both of P(tp) P(fp) value(tp, fp),
whatever the value is; elsewhere the composition is summed by ``value_and_gradient``.

The distribution of a sum of independent counts is a convolution, made by a balanced tree whose
leaves are single events. From the root down, each node learns what its own count is worth when the
counts of all others are summed out; at a leaf, the difference between one and none is the
derivative with respect to the event's probability. O(n^2) additions and multiplications, all of
nonnegative numbers on the way up, so that small probabilities are as accurate as large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils import check_random_state

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, check_int, message
from fsmeu.expectation.gradient import value_and_gradient
from fsmeu.learning.base import LogisticClassifier, Objective, Rows, climb, nonnegative
from fsmeu.learning.given_loss import binary_loss, over_classes
from fsmeu.learning.saving import register
from fsmeu.limits import CONFUSION_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent

__all__ = ["CountTree", "MaxExpectedUtilityClassifier", "batch_value"]

_TOGETHER = 32
"""Nodes of up to this many events are convolved all at once, larger ones each by itself."""


class CountTree:
    """The number of independent events that happen.

    Args:
        p: the probability of each event, (n,).

    Attributes:
        n: the number of events.
        levels: for each level from the leaves up, the distribution of the count of each node,
            (nodes, events of a node + 1); an odd node is paired with one that never counts.
    """

    def __init__(self, p: Floats) -> None:
        self.n = len(p)
        level = np.stack((1.0 - p, p), axis=1) if self.n else np.ones((1, 1))
        self.levels = [level]
        while len(level) > 1:
            if len(level) % 2:
                level = self.levels[-1] = np.concatenate((level, _nothing(level.shape[1])))
            level = _sums(level[0::2], level[1::2])
            self.levels.append(level)

    @property
    def distribution(self) -> Floats:
        """P(k events happen) for k = 0, ..., n, shape (n + 1,)."""
        return self.levels[-1][0, : self.n + 1]

    def derivatives(self, worth: Floats) -> Floats:
        """The derivatives of the expected worth of the count with respect to p, shape (n,).

        Args:
            worth: what each count is worth, (n + 1,).
        """
        if not self.n:
            return np.zeros(0)
        down: Floats = np.zeros((1, self.levels[-1].shape[1]))
        down[0, : self.n + 1] = worth
        for level in reversed(self.levels[:-1]):
            below, down = np.empty(level.shape), down[: len(level) // 2]
            below[0::2] = _means(down, level[1::2])
            below[1::2] = _means(down, level[0::2])
            down = below
        found: Floats = (down[:, 1] - down[:, 0])[: self.n]
        return found


def _nothing(size: int) -> Floats:
    """The distribution of a count that is always 0, (1, size)."""
    return np.eye(1, size)


def _sums(left: Floats, right: Floats) -> Floats:
    """The distribution of the sum of two counts, row by row, (nodes, 2 size - 1)."""
    nodes, size = left.shape
    if size > _TOGETHER:
        return np.array([np.convolve(*both) for both in zip(left, right, strict=True)])
    found = np.zeros((nodes, 2 * size - 1))
    for k in range(size):
        found[:, k : k + size] += left[:, k : k + 1] * right
    return found


def _means(worth: Floats, other: Floats) -> Floats:
    """What a count is worth in the mean over another that adds to it, row by row, (nodes, size)."""
    nodes, size = other.shape
    if size > _TOGETHER:
        both = zip(worth, other, strict=True)
        return np.array([np.correlate(whole, part, "valid") for whole, part in both])
    found = np.zeros((nodes, size))
    for k in range(size):
        found += other[:, k : k + 1] * worth[:, k : k + size]
    return found


class BatchValue(Protocol):
    """The expected value of one batch as a function of the probabilities of the second label."""

    def __call__(self, p: Floats) -> tuple[float, Floats]:
        """E[value(Z, y)], p_i the probability of the second label, and its derivatives, (n,)."""


def batch_value(loss: Loss, y: Ints) -> BatchValue:
    """The expected value of a batch, as a function of probabilities.

    Args:
        loss: a loss over two labels.
        y: label indices of the references, (n,).

    Raises:
        InputError: the batch is too large to be summed as a whole.
    """
    form = loss.confusion if isinstance(loss, SpecLoss) else None
    return _ByComposition(loss, y) if form is None else _ByTable(form, y)


class _ByTable:
    """Losses of the confusion table: two independent counts."""

    def __init__(self, form: Confusion, y: Ints) -> None:
        n, ref = len(y), int(y.sum())
        cells = (ref + 1) * (n - ref + 1)
        if cells > CONFUSION_CELLS:
            must = f"a batch may have at most {CONFUSION_CELLS:,} confusion tables"
            got = f"{cells:,} for {n:,} examples"
            raise InputError(message("batch", must, got, "Give batch_size=2000"))
        self.positive = y == 1
        false = np.arange(n - ref + 1)
        rows = [value_of_counts(form, n, tp, tp + false, ref) for tp in range(ref + 1)]
        self.table = np.array(rows)

    def __call__(self, p: Floats) -> tuple[float, Floats]:
        true, false = CountTree(p[self.positive]), CountTree(p[~self.positive])
        worth = self.table @ false.distribution
        slopes = np.empty(len(p))
        slopes[self.positive] = true.derivatives(worth)
        slopes[~self.positive] = false.derivatives(true.distribution @ self.table)
        return float(true.distribution @ worth), slopes


class _ByComposition:
    """Any other loss: forward and backward through the composition with its tapes exchanged."""

    def __init__(self, loss: Loss, y: Ints) -> None:
        self.loss, self.y = loss.swapped, loss.alphabet.decode(y)

    def __call__(self, p: Floats) -> tuple[float, Floats]:
        model = Independent(np.stack((1.0 - p, p), axis=1), self.loss.alphabet.labels)
        value, slopes = value_and_gradient(self.loss, self.y, model)
        assert isinstance(slopes, np.ndarray)
        return value, slopes[:, 1] - slopes[:, 0]


@register
class MaxExpectedUtilityClassifier(LogisticClassifier):
    """A logistic classifier that maximises the exact expected utility of the training labels.

    The labels Z of a batch are independent, P(Z_i = 1) = 1 / (1 + exp(-(w x_i + b))), the labels y
    are given, and (w, b) maximises the mean over batches of E[utility(Z, y)], less l2 / 2 times the
    squared length of w; the intercept b goes free, because positives may be rare. Jansche 2005
    maximises an approximation of E[F], Jansche 2007, section 1.3, names the exact expectation. A
    loss is minimised. The objective is not concave: L-BFGS climbs from the solution of maximum
    likelihood and from random starts, and the best is kept. Without l2 the greatest value may lie
    at infinity.

    A batch is a sequence. Where the value depends on the confusion table alone, its order does not
    matter: batches are drawn at random, with the share of positive examples of the whole, and a
    value and gradient takes O(n^2) time (about 2 ms for 200 examples, 7 ms for 1,000 and 60 ms
    for 4,000). For other losses batches are runs of rows as they are given, and the composition is
    summed, which is slower by far.

    There is no ``sample_weight``: labels of a sequence have no weights in a loss.

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

    loss_: Loss

    def __init__(
        self,
        loss: Any = "fscore",
        *,
        loss_params: dict[str, Any] | None = None,
        batch_size: int | None = None,
        l2: float = 1e-4,
        restarts: int = 4,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.loss_params = loss_params
        self.batch_size = batch_size
        self.l2 = l2
        self.restarts = restarts
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MaxExpectedUtilityClassifier:
        """The classifier itself, after training.

        Args:
            X: examples, (examples, features), dense or sparse.
            y: their classes, of which there must be two.
        """
        where = type(self).__name__
        restarts = check_int(where, "restarts", self.restarts, least=0)
        steps = check_int(where, "max_iter", self.max_iter)
        l2 = nonnegative(where, "l2", self.l2)
        self.loss_ = binary_loss(where, self.loss, self.loss_params)
        rows, positive, _ = self._training(X, y)
        loss = over_classes(self.loss_, self.classes_, where)
        random = check_random_state(self.random_state)
        batches = self._batches(loss, positive, random)
        likely = climb(_likelihood(rows, positive, l2), np.zeros(rows.shape[1] + 1), steps)
        aim = _expected(loss, rows, positive, batches, l2)
        starts = [likely.weights, *_random_starts(rows, restarts, random)]
        climbs = [climb(aim, start, steps) for start in starts]
        best = max(climbs, key=lambda one: one.value)
        self.coef_, self.intercept_ = best.weights[None, :-1], best.weights[-1:]
        self.objectives_ = np.array([one.value for one in climbs])
        sign = 1.0 if loss.kind == "utility" else -1.0
        self.expected_value_ = sign * (best.value + _penalty(best.weights, l2)[0])
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


def _likelihood(rows: Rows, positive: Floats, l2: float) -> Objective:
    """The mean log-likelihood of the labels less the penalty, as a function of (w, b)."""
    signs = 2.0 * positive - 1.0

    def objective(weights: Floats) -> tuple[float, Floats]:
        scores = signs * (rows @ weights[:-1] + weights[-1])
        pull = signs * expit(-scores) / len(signs)
        cost, slopes = _penalty(weights, l2)
        value = float(log_expit(scores).mean())
        return value - cost, np.append(rows.T @ pull, pull.sum()) - slopes

    return objective


def _expected(
    loss: Loss, rows: Rows, positive: Floats, batches: list[Ints], l2: float
) -> Objective:
    """The mean expected utility of the batches less the penalty, as a function of (w, b)."""
    y = positive.astype(np.int64)
    parts = [(batch, batch_value(loss, y[batch])) for batch in batches]
    sign = (1.0 if loss.kind == "utility" else -1.0) / len(parts)

    def objective(weights: Floats) -> tuple[float, Floats]:
        p = expit(rows @ weights[:-1] + weights[-1])
        value, pull = 0.0, np.zeros(len(p))
        for batch, expected in parts:
            part, slopes = expected(p[batch])
            value += sign * part
            pull[batch] = sign * slopes
        pull *= p * (1.0 - p)
        cost, slopes = _penalty(weights, l2)
        return value - cost, np.append(rows.T @ pull, pull.sum()) - slopes

    return objective


def _penalty(weights: Floats, l2: float) -> tuple[float, Floats]:
    """l2 / 2 times the squared length of w, and its derivatives for (w, b)."""
    free = np.append(weights[:-1], 0.0)
    return l2 / 2 * float(free @ free), l2 * free


def _random_starts(rows: Rows, count: int, random: Any) -> Iterator[Floats]:
    """Random weights that give scores of about 2 in size."""
    squares = rows.multiply(rows).sum() if hasattr(rows, "multiply") else float((rows**2).sum())
    size = 2.0 / np.sqrt(1.0 + squares / rows.shape[0])
    for _ in range(count):
        yield size * random.standard_normal(rows.shape[1] + 1)
