"""The exact expected value of given labels when a hypothesis follows independent probabilities.

The hypothesis tape follows the classifier, the reference is given (Jansche 2005): the expectation
of the loss with its tapes exchanged. Where the value depends on the confusion table alone, true
and false positives are independent counts, so that E = sum over both of P(tp) P(fp) value(tp, fp),
whatever the value is; elsewhere the composition is summed by ``value_and_gradient``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.expectation.gradient import value_and_gradient
from fsmeu.learning.count_tree import CountTree
from fsmeu.limits import CONFUSION_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Independent

__all__ = ["BatchValue", "batch_value"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
            raise InputError(sentence("batch", must, got, "Give batch_size=2000"))
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
