"""Linear chains given by log-potentials, normalised exactly with logarithms throughout.

A chain gives a sequence y the score sum_i unary[i, y_i] + sum_i pairwise[i, y_i, y_{i+1}]; a score
of -inf forbids it. ``conditionals`` turns the scores into P(y_1) and P(y_{i+1} | y_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.fst.layers import Floats

__all__ = ["Conditionals", "conditionals", "first_impossible"]


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
