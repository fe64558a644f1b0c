"""Losses of the confusion table for classifiers, and the threshold that is best on given labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.learning.given_loss import binary_loss
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss

__all__ = ["best_threshold", "table_loss", "table_value", "threshold_values"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def table_loss(where: str, loss: Any) -> SpecLoss:
    """The loss that was asked for, one whose value depends on (tp, hyp, ref, n) alone.

    Raises:
        InputError: as for ``binary_loss``, or the value depends on more.
    """
    found = binary_loss(where, loss)
    if not isinstance(found, SpecLoss) or found.confusion is None:
        must = "the loss must be one of a file whose value depends on the confusion table alone"
        remedy = "For example fscore, jaccard, balanced_accuracy or g_tp_pr"
        raise InputError(sentence(where, must, found.name, remedy))
    return found


def table_value(loss: SpecLoss, chosen: Bools, positive: Bools, weights: Any = None) -> float:
    """The value of decisions for labels.

    Args:
        loss: a loss of the confusion table.
        chosen: True where the decision is positive, (examples,).
        positive: True where the label is positive, (examples,).
        weights: weights of examples, (examples,), or None where all are 1.
    """
    w = _summable(np.ones(len(chosen)) if weights is None else np.asarray(weights, np.float64))
    counts = (w @ (chosen & positive), w @ chosen, w @ positive)
    return float(value_of_counts(_form(loss), w.sum(), *counts))


def best_threshold(
    loss: SpecLoss, scores: Floats, positive: Bools, weights: Floats | None = None
) -> tuple[float, float]:
    """The threshold of the best value on these examples, and that value.

    An example is decided positive when its score is at least the threshold. Between two scores
    the threshold is halfway (Koyejo et al. 2014, Algorithm 1, search the scores themselves); -inf
    is that of all and inf that of none. Of equally good ones it is the highest.

    Args:
        loss: a loss of the confusion table.
        scores: one for each example, (examples,).
        positive: True where the label is positive, (examples,).
        weights: weights of examples, (examples,), or None where all are 1.
    """
    thresholds, values = threshold_values(loss, scores, positive, weights)
    sign = 1.0 if loss.kind == "utility" else -1.0
    best = int((sign * values).argmax())
    return float(thresholds[best]), float(values[best])


def threshold_values(
    loss: SpecLoss, scores: Floats, positive: Bools, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Every threshold that makes a difference, descending from inf to -inf, and its value.

    The arguments are those of ``best_threshold``.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], positive[order]
    w = _summable(np.ones(len(scores)) if weights is None else weights[order])
    hyp, tp = (np.append(0.0, np.cumsum(part)) for part in (w, w * hits))
    cuts = np.append(np.append(True, ranked[1:] < ranked[:-1]), True)  # before, between, after
    at = np.flatnonzero(cuts)
    values = value_of_counts(_form(loss), hyp[-1], tp[at], hyp[at], tp[-1])
    return _between(ranked, at), np.asarray(values, np.float64)


def _form(loss: SpecLoss) -> Confusion:
    assert loss.confusion is not None
    return loss.confusion


def _summable(weights: Floats) -> Floats:
    """The weights as multiples of a power of two, so that their sums are exact.

    Otherwise the cells of a table could come out below zero. Whole numbers stay what they are.
    """
    total = float(weights.sum())
    unit = 2.0 ** (np.ceil(np.log2(total)) - 45) if total > 0 else 1.0
    return np.round(weights / unit) * unit


def _between(ranked: Floats, at: NDArray[np.int64]) -> Floats:
    """What only the first k of these descending scores reach, for every k of ``at``, (cuts,)."""
    ends = np.concatenate(([np.inf], ranked, [-np.inf]))
    high, low = ends[at], ends[at + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    found = np.where((low < middle) & (middle <= high), middle, high)
    return np.where(at == 0, np.inf, np.where(at == len(ranked), -np.inf, found))
