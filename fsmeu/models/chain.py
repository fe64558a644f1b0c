"""Linear chains given by log-potentials, normalised exactly with logarithms throughout.

A chain gives a sequence y the score sum_i unary[i, y_i] + sum_i pairwise[i, y_i, y_{i+1}]; a score
of -inf forbids it. ``conditionals`` turns the scores into P(y_1) and P(y_{i+1} | y_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.fst.layers import Floats

__all__ = ["Conditionals", "conditionals", "first_impossible"]

_MOST_SPREAD = 150.0
"""Scores that differ by no more than this are multiplied as they are: the least product of four of
them is far above the least double."""


@dataclass(frozen=True, eq=False)
class Conditionals:
    """A chain of conditional probabilities.

    Attributes:
        first: P(y_1), shape (L,).
        steps: P(y_{i+1} | y_i), shape (n - 1, L, L); a row of zeros where y_i is a dead end.
        log_partition: logarithm of the sum of exp(score) over all sequences.
    """

    first: Floats
    steps: Floats
    log_partition: float


def conditionals(unary: Floats, pairwise: Floats) -> Conditionals:
    """Normalises a chain of at least one position, of which some sequence is possible.

    Args:
        unary: log-potentials, shape (n, L).
        pairwise: log-potentials, shape (n - 1, L, L).
    """
    shared = len(pairwise) > 1 and pairwise.strides[0] == 0
    if _spread(unary) + _spread(pairwise[:1] if shared else pairwise) <= _MOST_SPREAD:
        return _conditionals_by_products(unary, pairwise[:1] if shared else pairwise)
    n, labels = unary.shape
    steps = np.empty((n - 1, labels, labels))
    rest = np.zeros(labels)
    shifts = np.zeros(n)
    for i in range(n - 2, -1, -1):
        steps[i], logs = _softmax(pairwise[i] + (unary[i + 1] + rest))
        shifts[i + 1] = logs.max()
        rest = logs - shifts[i + 1]
    first, shifts_first = _softmax(unary[0] + rest)
    shifts[0] = shifts_first
    return Conditionals(first, steps, float(shifts.sum()))


def _spread(scores: Floats) -> float:
    """The difference between the greatest and the least score that is finite."""
    top = scores.max(initial=-np.inf)
    least = np.where(np.isneginf(scores), top, scores).min(initial=np.inf) if scores.size else top
    return float(top - least) if np.isfinite(top) else 0.0


def _conditionals_by_products(unary: Floats, pairwise: Floats) -> Conditionals:
    """The same where products of potentials stay far from the limits of doubles.

    The pairwise potentials may be one table for all positions, (1, L, L).
    """
    n, labels = unary.shape
    tops = unary.max(axis=1)
    single = np.exp(unary - tops[:, None])
    top = pairwise.max(axis=(1, 2), initial=-np.inf)
    double = np.broadcast_to(np.exp(pairwise - top[:, None, None]), (n - 1, labels, labels))
    ahead, rest, logs = np.empty((n, labels)), np.ones(labels), 0.0
    sums = np.empty((n - 1, labels))
    for i in range(n - 1, 0, -1):
        ahead[i] = single[i] * rest
        sums[i - 1] = double[i - 1] @ ahead[i]
        greatest = sums[i - 1].max()
        rest = sums[i - 1] / greatest
        logs += float(np.log(greatest))
    first = single[0] * rest
    total = first.sum()
    divisor = np.where(sums > 0, sums, 1.0)
    steps = double * ahead[1:, None, :] / divisor[:, :, None]
    logs += float(np.log(total)) + float(tops.sum())
    logs += float(np.broadcast_to(top, (max(0, n - 1),)).sum())
    return Conditionals(first / total, steps, logs)


def first_impossible(unary: Floats, pairwise: Floats) -> int | None:
    """The first position (from 0) that no allowed sequence reaches, or None."""
    reached = np.ones(unary.shape[1], bool)
    for i in range(len(unary)):
        if i:
            reached = (np.isfinite(pairwise[i - 1]) & reached[:, None]).any(axis=0)
        reached &= np.isfinite(unary[i])
        if not reached.any():
            return i
    return None


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Rows of exp(scores) divided by their sums, and the logarithms of the sums.

    A row of -inf becomes a row of zeros with logarithm -inf.
    """
    top = scores.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - shift[..., None])
    sums = weights.sum(axis=-1)
    alive = sums > 0
    divisor = np.where(alive, sums, 1.0)
    logs = np.where(alive, np.log(divisor) + shift, -np.inf)
    return weights / divisor[..., None], logs
