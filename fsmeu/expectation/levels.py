"""The distribution of a utility: level sets and their probabilities (Jansche 2007, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.display import Text
from fsmeu.errors import InputError, message
from fsmeu.fst.distinct import same_up_to_rounding

__all__ = ["Levels", "level_sets"]


_SHOWN = 8  # values in a representation
_ROUNDING = 1e-12  # of probabilities: a product of some thousand factors


@dataclass(frozen=True, eq=False)
class Levels(Text):
    """The values that occur and how probable each is.

    Attributes:
        values: values of positive probability, ascending; those that differ by rounding are one.
        probabilities: the probability of each.
        ungrouped: the same with every value as it was computed, shape (2, values). Mean, variance
            and quantiles are those of these values.
    """

    values: Floats
    probabilities: Floats
    ungrouped: Floats

    def __repr__(self) -> str:
        """Lists the most probable values, in ascending order."""
        most = np.sort(np.argsort(-self.probabilities, kind="stable")[:_SHOWN])
        pairs = [f"{self.values[k]:.6g}: {self.probabilities[k]:.4g}" for k in most.tolist()]
        more = len(self.values) - len(pairs)
        rest = f"; {more:,} less probable values" if more else ""
        return f"<levels {', '.join(pairs)}{rest}>"

    @property
    def mean(self) -> float:
        """The expectation."""
        values, probabilities = self.ungrouped
        return float(values @ probabilities)

    @property
    def variance(self) -> float:
        """The variance, around the mean of what was kept."""
        values, probabilities = self.ungrouped
        mass = probabilities.sum()
        if not mass:
            return 0.0
        away = values - values[probabilities.argmax()]  # exact for values that are near each other
        centre = away - away @ probabilities / mass
        return float(centre**2 @ probabilities / mass)

    def quantile(self, q: float) -> float:
        """The least value that is not exceeded with probability q.

        Probabilities are summed from the nearer end, so that small ones there are not lost.
        """
        if not isinstance(q, Real) or not 0.0 <= q <= 1.0:
            raise InputError(message("quantile", "q must lie in 0..1", q))
        if not len(self.values):
            must = "some probability must have been kept to speak of quantiles"
            raise InputError(message("quantile", must, None, "Raise keep"))
        values, probabilities = self.ungrouped
        if q <= 0.5:
            up_to = np.cumsum(probabilities)
            place = int(np.searchsorted(up_to, q * up_to[-1] * (1.0 - _ROUNDING)))
        else:
            from_here = np.cumsum(probabilities[::-1])
            above = (1.0 - q) * from_here[-1] * (1.0 + _ROUNDING)
            place = len(values) - 1 - int(np.searchsorted(from_here, above, side="right"))
        return float(values[min(max(place, 0), len(values) - 1)])


def level_sets(values: Floats, probabilities: Floats) -> Levels:
    """The values of positive probability, with equal ones as one.

    Args:
        values: the value of each final state.
        probabilities: the probability of ending there.
    """
    held = probabilities > 0
    values, place = np.unique(values[held], return_inverse=True)
    probabilities = np.bincount(place, probabilities[held], len(values)).astype(np.float64)
    numbers = same_up_to_rounding(values)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    grouped = np.add.reduceat(probabilities, starts) if len(starts) else probabilities
    return Levels(values[starts], grouped, np.stack([values, probabilities]))
