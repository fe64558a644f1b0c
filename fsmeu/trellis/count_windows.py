"""How many of some independent events happen, in a window that holds all but a stated mass.

The distribution of a count of n events has all but 1e-20 of its mass within ten standard
deviations, so that windows of a few times sqrt(n) values serve for all n + 1. Sums of counts are
convolutions of nonnegative numbers: errors are relative to each probability, and bounded by the
number of operations behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Window", "count_window", "running_sums", "with_event", "without_ends"]

Floats = NDArray[np.float64]

_CUT = 1e-20
"""What each end of a window may be short of when two counts are added."""

_LEAVES = 64
"""Events whose counts are convolved for all groups at once, before windows are cut."""


@dataclass(frozen=True, eq=False)
class Window:
    """The distribution of a count: P(count = low + j) is chances[j].

    Attributes:
        low: the least count of the window.
        chances: the probabilities, (width,).
        lost: a bound on the mass that is missing, outside and near the ends.
        operations: a bound on the number of roundings behind each probability.
    """

    low: int
    chances: Floats
    lost: float = 0.0
    operations: int = 0

    @property
    def counts(self) -> Floats:
        """The counts of the window, (width,)."""
        return np.arange(self.low, self.low + len(self.chances), dtype=np.float64)

    def __add__(self, other: Window) -> Window:
        """The sum of two independent counts."""
        chances = np.convolve(self.chances, other.chances)
        terms = min(len(self.chances), len(other.chances))
        operations = self.operations + other.operations + terms + 1
        return _cut(self.low + other.low, chances, self.lost + other.lost, operations)


def count_window(p: Floats) -> Window:
    """The number of events that happen.

    Args:
        p: the probability of each event, (n,).
    """
    parts = [Window(0, row, 0.0, 2 * _LEAVES) for row in _small_counts(p)]
    if not parts:
        return Window(0, np.ones(1))
    while len(parts) > 1:
        pairs = [one + other for one, other in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    first = parts[0]
    return _cut(first.low, first.chances, first.lost, first.operations)


def with_event(window: Window, probability: float) -> Window:
    """The count with one more event; nothing is cut off."""
    chances = np.zeros(len(window.chances) + 1)
    np.multiply(window.chances, 1.0 - probability, out=chances[:-1])
    chances[1:] += probability * window.chances
    return Window(window.low, chances, window.lost, window.operations + 3)


def running_sums(parts: Iterable[Window]) -> list[Window]:
    """The counts of no part, the first, the first two, and so on."""
    found = [Window(0, np.ones(1))]
    for part in parts:
        found.append(found[-1] + part)
    return found


def _small_counts(p: Floats) -> Floats:
    """The distribution of the count of each group of up to 64 events, (groups, 65)."""
    groups = -(-len(p) // _LEAVES)
    padded = np.zeros(groups * _LEAVES)
    padded[: len(p)] = p
    events = padded.reshape(groups, _LEAVES)
    found = np.zeros((groups, _LEAVES + 1))
    found[:, 0] = 1.0
    for k in range(_LEAVES):
        one = events[:, k : k + 1]
        moved = found[:, : k + 1] * one
        found[:, : k + 1] *= 1.0 - one
        found[:, 1 : k + 2] += moved
    return found


def _cut(low: int, chances: Floats, lost: float, operations: int) -> Window:
    """The window without what its ends hold, up to ``_CUT`` each."""
    kept, off = without_ends(chances, _CUT)
    return Window(low + kept.start, chances[kept], lost + off, operations)


def without_ends(mass: Floats, cut: float) -> tuple[slice, float]:
    """The places that are left where each end may lose a mass, and a bound on what both lose.

    All places are left where the mass of all is no more than that.

    Args:
        mass: the mass of each place, at least 0, (places,).
        cut: what each end may lose.
    """
    begin = int(np.searchsorted(np.cumsum(mass), cut, side="right"))
    end = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), cut, side="right"))
    if end <= begin:
        return slice(0, len(mass)), 0.0
    return slice(begin, end), 2 * float(mass[:begin].sum() + mass[end:].sum())
