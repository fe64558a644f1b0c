"""Values that are sums of ratios of counts, for every number of ones of z at once.

What must hold of coefficients (``ratios.py``) is looked at for blocks of k, a few dozen whatever
the length, with functions of k as intervals: ten million k are decided as fast as a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats
from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.confusion import Confusion, NoFormError, value_of_counts
from fsmeu.losses.algebra.functions import (
    Interval,
    Polynomial,
    UndecidedError,
    constant,
    known,
    rows_at,
)
from fsmeu.losses.algebra.ratios import (
    Part,
    Ratio,
    RatioBounds,
    RatioSum,
    count_polytope,
    degenerate_values,
    derive_ratios,
    ratios_of_number,
)

_REPRODUCED = 1e-11  # what doubles may lose of a value in other orders of operations, as a part


@dataclass(frozen=True, eq=False)
class RatioFamily:
    """The value as a sum of ratios for every number k of ones of z, from 0 to n.

    ``none`` and ``all`` are those of k = 0 and k = n; what holds between is known by blocks of k.
    """

    form: Confusion
    n: int
    none: RatioSum
    all: RatioSum
    parts: tuple[Part, ...]  # the ratios where k is neither
    lows: Floats  # the first k of each block, (blocks,); none where n is 1
    bounds: tuple[RatioBounds, ...]  # of each ratio, by block
    rises: bool
    falls: bool

    @cached_property
    def degenerate(self) -> Floats:
        """What the value adds to ratios without ones of y, and with nothing else, (2, n - 1).

        For k from 1 to n - 1.
        """
        return degenerate_values(self.form, self.n, np.arange(1.0, self.n), self.parts)

    def ratios_at(self, ks: Floats) -> list[Ratio]:
        """The ratios for some numbers of ones from 1 to n - 1; to n where they hold for all."""
        blocks = np.searchsorted(self.lows, ks, side="right") - 1
        ratios = []
        for row, (part, bounds) in enumerate(zip(self.parts, self.bounds, strict=True)):
            most = bounds.most[blocks]
            least = float(bounds.least.min())
            greatest = float(bounds.greatest.max())
            if ks[-1] == self.n:
                end = self.all.ratios[row]
                most[-1] = end.most[0]
                least = min(least, end.least_below)
                greatest = max(greatest, end.most_below)
            top = rows_at(part.top, ks)
            ratios.append(Ratio(top, rows_at(part.below, ks), part.power, most, least, greatest))
        return ratios

    @cached_property
    def holds_for_all(self) -> bool:
        """Whether the ratios where z has nothing but ones are those of fewer ones, n >= 2.

        Other labels do not count then: there are none.
        """
        every = np.array([float(self.n)])
        with np.errstate(divide="ignore", invalid="ignore"):
            return len(self.parts) == len(self.all.ratios) and all(
                part.power == ratio.power
                and np.array_equal(rows_at(part.top, every)[:2], ratio.top[:2])
                and np.array_equal(rows_at(part.below, every)[:2], ratio.below[:2])
                for part, ratio in zip(self.parts, self.all.ratios, strict=True)
            )

    @cached_property
    def of_equal_labels(self) -> RatioFamily | None:
        """The family for labels of one probability, where true positives cancel; else None.

        Given their number, ones of y are anywhere alike, so that A is k / n of them in the mean,
        and N may be replaced by its expectation given A + B if D looks at that sum alone. Where
        that does not depend on A + B, as 0 of kappa, nothing is left that rounding could hide.
        """
        k = Polynomial(np.array([[0.0, 1.0]]))
        others = constant(float(self.n)) - k
        parts = []
        for part in self.parts:
            is_of_sum = (part.below.row(1) - part.below.row(2)).zero_rows().all()
            of_ones = part.top.row(1) * k + part.top.row(2) * others
            if not (is_of_sum and of_ones.zero_rows().all()):
                return None
            fixed = Polynomial(np.array([[1.0], [0.0], [0.0]])) * part.top.row(0)
            parts.append(part._replace(top=fixed))
        return replace(self, parts=tuple(parts))

    def most_of_blocks(self, row: int, ks: Interval) -> Floats:
        """Bounds on the absolute value of a ratio, for blocks of k, (blocks,)."""
        return self._reduced(np.maximum, self.bounds[row].most, ks)

    def least_of_blocks(self, row: int, ks: Interval) -> Floats:
        """Bounds from below on the D of a ratio that are not 0, for blocks of k, (blocks,)."""
        return self._reduced(np.minimum, self.bounds[row].least, ks)

    def _reduced(self, ufunc: np.ufunc, numbers: Floats, ks: Interval) -> Floats:
        """The greatest or least of numbers by the family's blocks, for other blocks of k."""
        first = np.searchsorted(self.lows, ks.low, side="right") - 1
        last = np.searchsorted(self.lows, ks.high, side="right")
        pairs = np.stack([first, last], axis=1).ravel()
        reduced: Floats = ufunc.reduceat(np.append(numbers, numbers[-1]), pairs)[::2]
        return reduced


def family_of(form: Confusion, n: int) -> RatioFamily | None:
    """The value as a sum of ratios for every number of ones; None if it is none. Requires n >= 1.

    Blocks of k are cut in halves where what must hold is not seen for all of a block.
    """
    ends = [ratios_of_number(form, n, float(k)) for k in (0, n)]
    if ends[0] is None or ends[1] is None:
        return None
    rises = ends[0].rises and ends[1].rises
    falls = ends[0].falls and ends[1].falls
    if n == 1:
        return RatioFamily(form, n, ends[0], ends[1], (), np.zeros(0), (), rises, falls)
    blocks = _first_blocks(n)
    while len(blocks.low) <= limits.MOST_COEFFICIENT_BLOCKS:
        try:
            derived = derive_ratios(form, n, blocks)
        except UndecidedError as error:
            blocks = _in_halves(blocks, error.blocks)
            continue
        except (NoFormError, LossFileError):
            return None
        if not _is_reproduced(form, n, blocks.low, derived.parts):
            return None
        return RatioFamily(
            form, n, ends[0], ends[1], tuple(derived.parts), blocks.low,
            tuple(derived.bounds), rises and derived.rises, falls and derived.falls,
        )  # fmt: skip
    return None


def _is_reproduced(form: Confusion, n: int, ks: Floats, parts: Sequence[Part]) -> bool:
    """Whether doubles make the same of the ratios and of the file's expression, at vertices.

    They do not where the file adds numbers that it subtracts later on, and digits are lost.
    """
    places = count_polytope(n, known(ks))
    a = places.corners.a + places.corners.a_k * ks
    b = places.corners.b + places.corners.b_k * ks
    total = np.zeros(places.inside.shape)
    size = np.zeros(places.inside.shape)
    for part in parts:
        top = part.top.at(known(ks))
        below = part.below.at(known(ks))
        scale = np.abs(places.corners.values(below, known(ks)).low) ** -part.power
        total += places.corners.values(top, known(ks)).low * scale
        size += places.corners.sizes(top, known(ks)) * scale
    try:
        wanted = value_of_counts(form, n, a, np.broadcast_to(ks, a.shape), a + b)
    except LossFileError:
        return False
    off = np.abs(np.where(places.inside, total - wanted, 0.0))
    return bool((off <= _REPRODUCED * np.where(places.inside, size, 1.0)).all())


def _first_blocks(n: int) -> Interval:
    """Blocks of the numbers from 1 to n - 1, twice as wide as those nearer to an end."""
    cuts = {1, n}
    width = 1
    while width < n:
        cuts |= {min(width, n - 1), min(width + 1, n), max(n - width, 1)}
        width *= 2
    edges = sorted(cuts)
    lows = np.array([float(low) for low, _ in pairwise(edges)])
    highs = np.array([high - 1.0 for _, high in pairwise(edges)])
    return Interval(lows, highs)


def _in_halves(blocks: Interval, which: Bools) -> Interval:
    """The blocks, some of them cut in two and a single k between the halves."""
    lows = [blocks.low[~which]]
    highs = [blocks.high[~which]]
    low = blocks.low[which]
    high = blocks.high[which]
    middle = np.floor((low + high) / 2)
    for first, last in ((low, middle - 1), (middle, middle), (middle + 1, high)):
        some = last >= first
        lows.append(first[some])
        highs.append(last[some])
    order = np.argsort(np.concatenate(lows), kind="stable")
    return Interval(np.concatenate(lows)[order], np.concatenate(highs)[order])
