"""How many of some independent events happen, in a window that holds all but a stated mass.

The distribution of a count of n events has all but 1e-20 of its mass within ten standard
deviations, so that windows of a few times sqrt(n) values serve for all n + 1. Sums of counts are
convolutions of nonnegative numbers: errors are relative to each probability, and bounded by the
number of operations behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Others",
    "Window",
    "count_window",
    "running_sums",
    "with_event",
    "without_each",
    "without_ends",
]

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


class Others(NamedTuple):
    """For each of some events, the distribution of the count of all others.

    Attributes:
        begin: the number of the first of these events.
        low: the least count.
        chances: P(count = low + j) without each event, (events, width).
        lost: a bound on the mass that is missing in each.
        operations: a bound on the number of roundings behind each probability.
    """

    begin: int
    low: int
    chances: Floats
    lost: float
    operations: int


def count_window(p: Floats) -> Window:
    """The number of events that happen.

    Args:
        p: the probability of each event, (n,).
    """
    if not len(p):
        return Window(0, np.ones(1))
    (first,) = _levels(_groups(p))[-1]
    return _cut(first.low, first.chances, first.lost, first.operations)


def without_each(p: Floats) -> Iterator[Others]:
    """The number of events that happen without each one of them, in their order.

    From the counts of halves, quarters and so on: what is outside of a part is what is outside of
    the part that holds it, and the other half of that. All sums are of nonnegative numbers.

    Args:
        p: the probability of each event, (n,).
    """
    outside = [Window(0, np.ones(1))]
    for level in reversed(_levels(_groups(p))[:-1]):
        outside = [
            outside[k // 2] + level[k ^ 1] if k ^ 1 < len(level) else outside[k // 2]
            for k in range(len(level))
        ]
    for begin in range(0, len(p), _LEAVES):
        yield _without_each(begin, p[begin : begin + _LEAVES], outside[begin // _LEAVES])


def _without_each(begin: int, p: Floats, outside: Window) -> Others:
    """The same for the events of one group, given the count of all other groups."""
    chances = np.zeros(_LEAVES)
    chances[: len(p)] = p
    halves, roundings = [np.stack([1.0 - chances, chances], axis=1)], [0]
    while len(halves[-1]) > 2:
        roundings.append(2 * roundings[-1] + halves[-1].shape[1] + 1)
        halves.append(_products(halves[-1][0::2], halves[-1][1::2]))
    rows, operations = outside.chances[None], outside.operations
    for parts, behind in zip(reversed(halves), reversed(roundings), strict=True):
        other = parts.reshape(-1, 2, parts.shape[1])[:, ::-1].reshape(parts.shape)
        rows = _products(np.repeat(rows, 2, axis=0), other)
        operations += behind + parts.shape[1] + 1
    return Others(begin, outside.low, rows[: len(p)], outside.lost, operations)


def _products(left: Floats, right: Floats) -> Floats:
    """The convolutions of rows with rows, (rows, widths of both less 1)."""
    width = left.shape[1]
    found = np.zeros((len(left), width + right.shape[1] - 1))
    for k in range(right.shape[1]):
        found[:, k : k + width] += left * right[:, k : k + 1]
    return found


def _groups(p: Floats) -> list[Window]:
    """The counts of groups of up to 64 events."""
    return [Window(0, row, 0.0, 2 * _LEAVES) for row in _small_counts(p)]


def _levels(parts: list[Window]) -> list[list[Window]]:
    """The parts, the sums of two of them in a row, of two of these, up to the sum of all."""
    found = [parts]
    while len(parts) > 1:
        pairs = [one + other for one, other in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
        found.append(parts)
    return found


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
