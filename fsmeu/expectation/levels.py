"""The distribution of a utility: level sets and their probabilities (Jansche 2007, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence

__all__ = ["Levels", "level_sets"]

Floats = NDArray[np.float64]

_SAME = 1e-12
_CANCELLED = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Levels:
    """The values that occur and how probable each is.

    Attributes:
        values: distinct values of positive probability, ascending.
        probabilities: the probability of each.
    """

    values: Floats
    probabilities: Floats

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.values @ self.probabilities)

    @property
    def variance(self) -> float:
        """The variance, around the mean of what was kept."""
        mass = self.probabilities.sum()
        if not mass:
            return 0.0
        centre = self.values - self.mean / mass
        return float(centre**2 @ self.probabilities / mass)

    def quantile(self, q: float) -> float:
        """The least value that is not exceeded with probability q."""
        if not isinstance(q, Real) or not 0.0 <= q <= 1.0:
            raise InputError(sentence("quantile", "q must lie in 0..1", q))
        if not len(self.values):
            must = "some probability must have been kept to speak of quantiles"
            raise InputError(sentence("quantile", must, None, "Raise keep"))
        total = np.cumsum(self.probabilities)
        place = int(np.searchsorted(total, q * total[-1] * (1.0 - 1e-12)))
        return float(self.values[min(place, len(self.values) - 1)])


def level_sets(values: Floats, probabilities: Floats) -> Levels:
    """Groups equal values; values that differ by rounding only count as equal.

    Rounding is relative to the values themselves; next to 0 it is relative to the greatest of them,
    because there a difference of two may have cancelled.

    Args:
        values: the value of each final state.
        probabilities: the probability of ending there.
    """
    held = probabilities > 0
    values, probabilities = values[held], probabilities[held]
    order = np.argsort(values, kind="stable")
    values, probabilities = values[order], probabilities[order]
    if not len(values):
        return Levels(values, probabilities)
    size = np.abs(values)
    same = np.maximum(_SAME * np.maximum(size[:-1], size[1:]), _CANCELLED * size.max())
    gap = np.diff(values) > same
    starts = np.concatenate([[0], np.flatnonzero(gap) + 1])
    return Levels(values[starts], np.add.reduceat(probabilities, starts))
