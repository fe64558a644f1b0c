"""Distributions of counts, and of joint counts for each value of them, in windows.

With the hypothesis given, a part of a corpus has the distribution P of its reference's count, and
for each value of that the expectation E of each joint count, as polynomials in one variable. For
two independent parts together these are

    P = P1 P2,    E = E1 P2 + P1 E2

so that those of a corpus are a product tree. A distribution of n events has all but 1e-20 of its
mass within ten standard deviations: ends of a window whose mass is far below rounding are cut off.
What a window lacks is the event that some count lay outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from fsmeu.arrays import Floats

T = TypeVar("T")

_CUT = 1e-20  # what each end of a window may be short of when two counts of events are added
_LEAVES = 64  # events whose counts are convolved for all groups at once, before windows are cut


@dataclass(frozen=True, eq=False)
class Window:
    """Masses and expectations by a count: ``tables[0][j]`` is P(count = low + j)."""

    low: int  # the least count of the window
    tables: Floats  # masses, then the expectation of each joint count, (1 + joint counts, width)
    lost: float = 0.0  # a bound on the mass that is missing

    @property
    def masses(self) -> Floats:
        """The masses, (width,)."""
        masses: Floats = self.tables[0]
        return masses

    @property
    def counts(self) -> Floats:
        """The counts of the window, (width,)."""
        return np.arange(self.low, self.low + self.tables.shape[1], dtype=np.float64)

    def plus(self, other: Window, cut: float) -> Window:
        """The sums of two independent parts; each end of the window may lose a mass.

        The other may have no expectations; then what its part would add to them is left out.
        """
        tables = np.stack([np.convolve(table, other.tables[0]) for table in self.tables])
        for table, added in zip(tables[1:], other.tables[1:], strict=False):
            table += np.convolve(self.tables[0], added)
        sums = Window(self.low + other.low, tables, self.lost + other.lost)
        return sums.without_ends(cut)

    def without_ends(self, cut: float) -> Window:
        """The window without ends of a mass up to ``cut`` each; itself where nothing is left."""
        mass = self.masses
        begin = int(np.searchsorted(np.cumsum(mass), cut, side="right"))
        end = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), cut, side="right"))
        if end <= begin:
            return self
        lost = self.lost + 2 * float(mass[:begin].sum() + mass[end:].sum())
        tables = np.ascontiguousarray(self.tables[:, begin:end])
        return Window(self.low + begin, tables, lost)


def sum_of_all(parts: Sequence[Window], cut: float, quantities: int) -> Window:
    """The sums over all parts, by a product tree, each of which may lose a mass at both ends.

    ``quantities`` says how many tables a window has, should there be no parts.
    """
    plus = partial(Window.plus, cut=cut)
    return product_tree(parts, plus)[-1][0] if parts else Window(0, np.eye(quantities, 1))


def all_but_one(parts: Sequence[Window], cut: float) -> list[Window]:
    """For each part the masses of the sum over all others: a product tree from the top down.

    Nothing is divided out: products are of numbers that are not negative. Each may lose a mass at
    both ends.
    """
    masses = [Window(part.low, part.tables[:1], part.lost) for part in parts]
    outside = [Window(0, np.ones((1, 1)))] if parts else []
    for level in reversed(product_tree(masses, partial(Window.plus, cut=cut))[:-1]):
        pairs = ((outside[k // 2], level[k ^ 1 : (k ^ 1) + 1]) for k in range(len(level)))
        outside = [above.plus(sibling[0], cut) if sibling else above for above, sibling in pairs]
    return outside


def product_tree(parts: Sequence[T], plus: Callable[[T, T], T]) -> list[list[T]]:
    """The levels of a tree of sums of neighbours: the parts first, the sum of all last."""
    levels = [list(parts)]
    while len(levels[-1]) > 1:
        last = levels[-1]
        pairs = list(map(plus, last[0::2], last[1::2]))
        levels.append(pairs + last[len(last) - len(last) % 2 :])
    return levels


def count_window(p: Floats) -> Window:
    """The number of events that happen, given the probability of each, (n,)."""
    return sum_of_all(_groups(p), _CUT, 1).without_ends(_CUT)


def _groups(p: Floats) -> list[Window]:
    """The counts of groups of 64 events, padded by some that do not happen."""
    padded = np.append(p, np.zeros(-len(p) % _LEAVES)).reshape(-1, _LEAVES)
    counts = np.eye(1, _LEAVES + 1).repeat(len(padded), axis=0)  # (groups, counts)
    for k, event in enumerate(padded.T[:, :, None]):
        moved = counts[:, : k + 1] * event
        counts[:, : k + 1] *= 1.0 - event
        counts[:, 1 : k + 2] += moved
    return [Window(0, row[None]) for row in counts]
