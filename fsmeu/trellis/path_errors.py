"""What rounding may have done to the worth of paths, which is a sum over their steps.

Where everything that is summed has one sign, errors are a part of the worth itself. Where it has
not, they are a part of the sum without signs, which is bounded for all paths that end at one count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.counts import Coefficients, Counts
from fsmeu.trellis.roundings import LEAST, UNIT, relative_error
from fsmeu.trellis.terms import Amounts

__all__ = ["PathErrors", "Sizes", "path_errors"]

Floats = NDArray[np.float64]


class Sizes:
    """How much the joint counts can add, for bounds on errors; sums over positions.

    Attributes:
        greatest: for each joint count the greatest amount, (counts,).
        expected: the same, amounts weighted by the probability of what y shows, (counts, batch).
        terms: the greatest number of amounts that are added up for one step.
        signs: whether some amounts of each joint count are below 0, and above, (2, counts).
        weighed: amounts without signs, weighted by what y's features are worth for each end k,
            the greatest of each position added up, (batch, k); None where that was not asked for.
    """

    def __init__(self, counts: int, batch: int) -> None:
        self.greatest, self.expected = np.zeros(counts), np.zeros((counts, batch))
        self.terms = 1
        self.signs = np.zeros((2, counts), bool)
        self.weighed: Floats | None = None

    def see(self, added: Amounts, expected: Floats) -> None:
        """Adds a run: what terms add at each position, and how much that is expected to be.

        Args:
            added: what terms add.
            expected: the expected amounts, (counts, batch, positions).
        """
        length = expected.shape[2]
        self.greatest += length * added.greatest
        self.terms = max(self.terms, added.longest_row)
        self.expected += expected[:, :, 0] if length == 1 else expected.sum(axis=2)
        self.signs |= added.signs

    def weigh(self, added: Amounts, met: Floats) -> None:
        """Adds what a run can add to the worth of a path, signs aside.

        A step shows one score row of each term.

        Args:
            added: what terms add.
            met: what features of y are worth, (positions, batch, features, k).
        """
        length, batch, features, ends = met.shape
        side_by_side = np.abs(met).transpose(2, 0, 1, 3).reshape(features, length * batch * ends)
        rows = (added.absolute @ side_by_side).reshape(len(added.count), length, batch, ends)
        total = np.zeros((batch, ends)) if self.weighed is None else self.weighed
        for begin, end in pairwise([*added.begins.tolist(), len(rows)]):
            if end > begin:
                total += rows[begin:end].max(axis=0).sum(axis=0)
        self.weighed = total


@dataclass(frozen=True, eq=False)
class PathErrors:
    """Bounds on the error of the worth of paths, under each of several models.

    Attributes:
        absolute: for each end k a bound for all paths, (batch, k).
        relative: the part of its worth that the error of a path may be, beside ``underflow``;
            infinite where errors are no part of the worth.
        underflow: for each end k, what is lost where numbers are too small for doubles, (k,).
    """

    absolute: Floats
    relative: float
    underflow: Floats

    def of_best(self, row: int, totals: Floats) -> Floats:
        """For each end k, a bound on how far the best path and all others are from theirs, (k,).

        No path is worth more than the best one by this bound, and that one is worth its total up to
        it: with a part ``relative`` of its worth, which has one sign, no path gets past the best by
        more than that part of the best.

        Args:
            row: the model.
            totals: the worth of the best path of each end, (k,).
        """
        with np.errstate(invalid="ignore"):
            parts = self.relative * np.abs(totals) + self.underflow
        found: Floats = np.fmin(self.absolute[row], parts)
        return found


def path_errors(
    slopes: Sequence[Floats],
    offset: Floats,
    ending: Floats,
    counts: Counts,
    sizes: Sizes,
    operations: int,
) -> PathErrors:
    """Bounds on the error of the worth of every path.

    A probability errs by a part of itself for every operation on the way (coefficients); or all of
    them together, as the root of the sum of squares, by a part of their sum (roots of unity: each
    operation errs by a unit of rounding of the sum of weights, and the transform back magnifies
    nothing).

    Args:
        slopes: the slope of each joint count for counts of z and y, (k, y counts).
        offset: the offset for these, (k, y counts).
        ending: the distribution of y's count at the end, (batch, columns).
        counts: how that is held.
        sizes: how much joint counts can add.
        operations: the roundings behind the worth of a path, at most.
    """
    chances = np.abs(counts.probabilities(ending))
    rounding = 2 * (operations + sizes.terms) * UNIT
    exact = isinstance(counts, Coefficients)
    total = np.maximum(1.0, chances.sum(axis=1))
    errors, underflow = np.zeros((len(ending), len(offset))), np.zeros(len(offset))
    shares = [(offset, 1.0, np.ones(len(ending)))]
    shares += list(zip(slopes, sizes.greatest.tolist(), sizes.expected, strict=True))
    for values, greatest, expected in shares:
        size = np.abs(values)
        parts = rounding if exact else 2 * (sizes.terms + counts.size) * UNIT
        errors += greatest * (parts + 4 * UNIT) * (chances @ size.T)
        if not exact:
            magnified = np.linalg.norm(size, axis=1)
            errors += 4 * rounding * (expected * total)[:, None] * magnified
        underflow += greatest * LEAST * UNIT * operations * size.sum(axis=1)
    relative = relative_error(operations + sizes.terms + 8)
    if exact and sizes.weighed is not None:
        errors = np.minimum(errors, relative * (sizes.weighed + chances @ np.abs(offset).T))
    if not exact or not _has_one_sign(slopes, offset, sizes):
        relative = np.inf
    return PathErrors(errors + underflow, relative, underflow)


def _has_one_sign(slopes: Sequence[Floats], offset: Floats, sizes: Sizes) -> bool:
    """True when nothing that is added up is below 0, or nothing above."""
    below, above = bool((offset < 0).any()), bool((offset > 0).any())
    for table, (less, more) in zip(slopes, sizes.signs.T, strict=True):
        falls, rises = (table < 0).any(), (table > 0).any()
        below |= bool((falls and more) or (rises and less))
        above |= bool((rises and more) or (falls and less))
    return not (below and above)
