"""What a query returns: the expected value, its bounds, and its distribution when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.display import Distribution
from fsmeu.errors import InputError, message
from fsmeu.expectation.levels import Levels

__all__ = ["Expectation", "check_finite"]


@dataclass(frozen=True, eq=False)
class Expectation(Distribution):
    """The expected value of a loss or utility, and more.

    Attributes:
        value: the expectation; with ``keep``, the part of it that was kept.
        lower: the truth is at least this.
        upper: the truth is at most this.
        kept: the probability mass that was kept; 1 without ``keep``.
    """

    value: float
    lower: float
    upper: float
    kept: float
    _levels: Callable[[], Levels] = field(repr=False)
    _outputs: Callable[[], dict[str, float]] = field(repr=False, default=dict)

    def __float__(self) -> float:
        return self.value

    @cached_property
    def levels(self) -> Levels:
        """The distribution of the utility, ascending: ``.values`` and ``.probabilities``."""
        return self._levels()

    @cached_property
    def outputs(self) -> dict[str, float]:
        """The expectations of the further outputs that the loss's file names, from one sweep."""
        return self._outputs()

    @property
    def variance(self) -> float:
        """The variance of the utility."""
        return self.levels.variance

    def quantile(self, q: float) -> float:
        """The least value that is not exceeded with probability q."""
        return self.levels.quantile(q)


def check_finite(where: str, numbers: float | Floats) -> None:
    """Refuses results that doubles cannot hold.

    Raises:
        InputError: one is infinite or no number.
    """
    if not np.isfinite(numbers).all():
        must = "the result must be a number that doubles can hold; values of the loss are too large"
        raise InputError(message(where, must, None, "Scale the loss down"))
