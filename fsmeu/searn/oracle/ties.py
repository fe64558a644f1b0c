"""Costs from scores: what differs from the best by rounding alone costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["costs_of", "greatest_tie"]

Floats = NDArray[np.float64]

_ROUNDING = 2 * np.finfo(np.float64).eps  # as in ``losses.semantics.rounding``


def costs_of(scores: Floats, slack: float | Floats = 0.0) -> Floats:
    """How much less than the best of its row each score is, of the shape of ``scores``.

    Two values that differ by rounding are equal, as in ``same_up_to_rounding``: relative to the
    values themselves, while whole numbers, halves, quarters and eighths stay apart.

    Args:
        scores: greater is better, (..., labels).
        slack: a difference up to which scores are equal as well, that of sums of real numbers.
    """
    best = scores.max(axis=-1, keepdims=True)
    costs: Floats = best - scores
    with np.errstate(over="ignore", invalid="ignore"):
        near = _ROUNDING * np.maximum(np.abs(best), np.abs(scores))
        exact = (8.0 * best == np.floor(8.0 * best)) & (8.0 * scores == np.floor(8.0 * scores))
        costs[((costs <= near) & ~exact) | (costs <= slack)] = 0.0
    return costs


def greatest_tie(scores: Floats, begins: NDArray[np.int64]) -> Floats:
    """The greatest difference that ``costs_of`` may take for rounding, (groups,).

    Args:
        scores: the scores of all groups, one group after another; infinite ones do not occur.
        begins: where each group begins; none is empty.
    """
    if not len(begins):
        return np.zeros(0)
    sizes = np.where(np.isfinite(scores), np.abs(scores), 0.0)
    found: Floats = _ROUNDING * np.maximum.reduceat(sizes, begins)
    return found
