"""Sums over independent sentences: of a count, and of joint counts for each value of it.

With the hypothesis given, a sentence has the distribution P of its reference's count, and for each
value of that the expectation E of each joint count, as polynomials in one variable. For two
independent sentences together these are

    P = P1 P2,    E = E1 P2 + P1 E2

so that those of a corpus are a product tree. Ends of a window whose mass is far below rounding are
cut off; what a window lacks is the event that some count lay outside, and its mass is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.count_windows import without_ends

__all__ = ["SumWindow", "all_but_one", "sum_of_all"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SumWindow:
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
    def counts(self) -> Floats:
        """The counts of the window, (width,)."""
        return np.arange(self.low, self.low + self.tables.shape[1], dtype=np.float64)

    @property
    def masses(self) -> SumWindow:
        """The window without the expectations."""
        return SumWindow(self.low, self.tables[:1], self.lost, self.operations)

    def plus(self, other: SumWindow, cut: float) -> SumWindow:
        """The sums of two independent parts; each end of the window may lose a mass.

        The other may have no expectations; then what its part would add to them is left out.
        """
        tables = np.stack([np.convolve(table, other.tables[0]) for table in self.tables])
        for table, added in zip(tables[1:], other.tables[1:], strict=False):
            table += np.convolve(self.tables[0], added)
        terms = min(self.tables.shape[1], other.tables.shape[1])
        operations = self.operations + other.operations + terms + 2
        kept, off = without_ends(tables[0], cut)
        found = np.ascontiguousarray(tables[:, kept])
        low = self.low + other.low + kept.start
        return SumWindow(low, found, self.lost + other.lost + off, operations)


def nothing(quantities: int) -> SumWindow:
    """The sums over no sentence."""
    tables = np.zeros((quantities, 1))
    tables[0] = 1.0
    return SumWindow(0, tables)


def sum_of_all(parts: Sequence[SumWindow], cut: float, quantities: int) -> SumWindow:
    """The sums over all parts, by a product tree.

    Args:
        parts: those of each sentence.
        cut: what each end of a window may lose at each product.
        quantities: how many tables a window has, should there be no parts.
    """
    return _tree(parts, cut)[-1][0] if parts else nothing(quantities)


def all_but_one(parts: Sequence[SumWindow], cut: float) -> list[SumWindow]:
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
        inside: list[SumWindow] = []
        for k in range(len(level)):
            sibling = k ^ 1
            above = outside[k // 2]
            inside.append(above.plus(level[sibling], cut) if sibling < len(level) else above)
        outside = inside
    return outside


def _tree(parts: Sequence[SumWindow], cut: float) -> list[list[SumWindow]]:
    """The levels of the tree, the parts first."""
    levels = [list(parts)]
    while len(levels[-1]) > 1:
        last = levels[-1]
        pairs = [a.plus(b, cut) for a, b in zip(last[0::2], last[1::2], strict=False)]
        levels.append(pairs + last[len(last) - len(last) % 2 :])
    return levels
