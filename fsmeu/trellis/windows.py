"""Distributions of counts, and of joint counts for each value of them, in windows.

With the hypothesis given, a part of a corpus has the distribution P of its reference's count, and
for each value of that the expectation E of each joint count, as polynomials in one variable. For
two independent parts together these are

    P = P1 P2,    E = E1 P2 + P1 E2

so that those of a whole are a product tree. A distribution of n events has all but 1e-20 of its
mass within ten standard deviations: ends of a window whose mass is far below rounding are cut off.
What a window lacks is the event that some count lay outside, and its mass is bounded. Masses are
sums of nonnegative numbers, with errors relative to each and bounded by the operations behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats

_CUT = 1e-20
"""What each end of a window may be short of when two counts of events are added."""

_LEAVES = 64
"""Events whose counts are convolved for all groups at once, before windows are cut."""


@dataclass(frozen=True, eq=False)
class Window:
    """Masses and expectations by a count: ``tables[0][j]`` is P(count = low + j).

    Attributes:
        low: the least count of the window.
        tables: masses, then the expectation of each joint count there, (1 + joint counts, width).
        lost: a bound on the mass that is missing.
        operations: a bound on the number of roundings behind each number.
    """

    low: int
    tables: Floats
    lost: float = 0.0
    operations: int = 0

    @property
    def chances(self) -> Floats:
        """The masses, (width,)."""
        found: Floats = self.tables[0]
        return found

    @property
    def counts(self) -> Floats:
        """The counts of the window, (width,)."""
        return np.arange(self.low, self.low + self.tables.shape[1], dtype=np.float64)

    @property
    def masses(self) -> Window:
        """The window without the expectations."""
        return Window(self.low, self.tables[:1], self.lost, self.operations)

    def plus(self, other: Window, cut: float) -> Window:
        """The sums of two independent parts; each end of the window may lose a mass.

        The other may have no expectations; then what its part would add to them is left out.
        """
        tables = np.stack([np.convolve(table, other.tables[0]) for table in self.tables])
        for table, added in zip(tables[1:], other.tables[1:], strict=False):
            table += np.convolve(self.tables[0], added)
        terms = min(self.tables.shape[1], other.tables.shape[1])
        operations = self.operations + other.operations + terms + 2
        found = Window(self.low + other.low, tables, self.lost + other.lost, operations)
        return found.without_ends(cut)

    def without_ends(self, cut: float) -> Window:
        """The window without what its ends hold, up to a mass each."""
        kept, off = _without_ends(self.chances, cut)
        tables = np.ascontiguousarray(self.tables[:, kept])
        return Window(self.low + kept.start, tables, self.lost + off, self.operations)


def nothing(quantities: int) -> Window:
    """The sums over no sentence."""
    tables = np.zeros((quantities, 1))
    tables[0] = 1.0
    return Window(0, tables)


def sum_of_all(parts: Sequence[Window], cut: float, quantities: int) -> Window:
    """The sums over all parts, by a product tree.

    Args:
        parts: those of each sentence.
        cut: what each end of a window may lose at each product.
        quantities: how many tables a window has, should there be no parts.
    """
    return _tree(parts, cut)[-1][0] if parts else nothing(quantities)


def all_but_one(parts: Sequence[Window], cut: float) -> list[Window]:
    """For each part the masses of the sum over all others: a product tree from the top down.

    Nothing is divided out: each product is of numbers that are not negative.

    Args:
        parts: those of each sentence.
        cut: what each end of a window may lose at each product.
    """
    if not parts:
        return []
    levels = _tree([part.masses for part in parts], cut)
    outside = [nothing(1)]
    for level in reversed(levels[:-1]):
        inside: list[Window] = []
        for k in range(len(level)):
            sibling = k ^ 1
            above = outside[k // 2]
            inside.append(above.plus(level[sibling], cut) if sibling < len(level) else above)
        outside = inside
    return outside


def _tree(parts: Sequence[Window], cut: float) -> list[list[Window]]:
    """The levels of the tree, the parts first."""
    levels = [list(parts)]
    while len(levels[-1]) > 1:
        last = levels[-1]
        pairs = [a.plus(b, cut) for a, b in zip(last[0::2], last[1::2], strict=False)]
        levels.append(pairs + last[len(last) - len(last) % 2 :])
    return levels


def _without_ends(mass: Floats, cut: float) -> tuple[slice, float]:
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


def count_window(p: Floats) -> Window:
    """The number of events that happen, given the probability of each, (n,)."""
    return sum_of_all(_groups(p), _CUT, 1).without_ends(_CUT)  # groups are padded


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


def without_each(p: Floats) -> Iterator[Others]:
    """The number of events that happen without each one of them, in their order.

    Args:
        p: the probability of each event, (n,).
    """
    for k, outside in enumerate(all_but_one(_groups(p), _CUT)):
        yield _without_each(k * _LEAVES, p[k * _LEAVES : (k + 1) * _LEAVES], outside)


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
    return [Window(0, row[None], 0.0, 2 * _LEAVES) for row in _small_counts(p)]


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
