"""A value that is one ratio of counts, for every number of ones of the hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.ratio_family import family_of
from fsmeu.losses.algebra.ratios import Ratio, RatioSum

_NO_RATIOS = "the value must be a sum of ratios of counts"
_WORSE = "more true positives must never make it worse"
_ONE_RATIO = (
    "under a chain the value must be one ratio of counts, divided by a sum of counts of each "
    "sequence by itself"
)


@dataclass(frozen=True, eq=False)
class RatioByCount:
    """The value as one ratio, signs turned so that greater is better, for k = 0, ..., n.

    For k = 0, and for k = n where the ratio is another there, tp is 0 or ref, and b is 0. ``most``
    is inf where there is no such ratio.
    """

    slope: Floats  # b, (n + 1,)
    constant: Floats  # t_0, (n + 1,)
    of_ref: Floats  # t_2, (n + 1,)
    below: Floats  # D without ones of y, (n + 1,)
    of_one: Floats  # what a one of y adds to D, (n + 1,)
    most: Floats  # a bound on |N / D^a|, (n + 1,)
    no_ones: Floats  # what a reference without ones adds, (n + 1,)
    all_ones: Floats  # what a reference of ones alone adds, (n + 1,)
    power: float  # a
    least: float  # the least D that is not 0
    greatest: float  # the greatest D
    sign: float  # what values are multiplied by so that greater is better
    last: int  # the number of ones up to which the ratio is one function of k, from 1 on

    def fill(self, ks: slice, ratio: Ratio, counted: int) -> None:
        """Sets what a ratio has for some k, ``counted`` being the row of the ones of y in it."""
        self.constant[ks] = self.sign * ratio.top[0]
        self.of_ref[ks] = self.sign * ratio.top[counted]
        self.below[ks] = ratio.below[0]
        self.of_one[ks] = ratio.below[counted]
        self.most[ks] = ratio.most

    def at(self, k: int) -> RatioSum | None:
        """The value where z has k ones; None where it is not this one ratio."""
        if self.most[k] == np.inf:
            return None
        ks = slice(k, k + 1)
        of_hit = self.slope[ks] + self.of_ref[ks]
        ratio = Ratio(
            self.sign * np.stack([self.constant[ks], of_hit, self.of_ref[ks]]),
            np.stack([self.below[ks], self.of_one[ks], self.of_one[ks]]),
            self.power,
            self.most[ks],
            self.least,
            self.greatest,
        )
        no_ones = self.sign * self.no_ones[ks]
        all_ones = self.sign * self.all_ones[ks]
        return RatioSum([ratio], no_ones, all_ones, self.sign > 0, self.sign < 0)


def ratio_by_count(form: Confusion, n: int, sign: float) -> RatioByCount | str:
    """The ratio by the number of ones; or what must hold. It is kept. Requires n >= 2."""
    return form.of_lengths.get((n, sign), lambda: _ratio_by_count(form, n, sign))


def _ratio_by_count(form: Confusion, n: int, sign: float) -> RatioByCount | str:
    """The same, derived."""
    family = family_of(form, n)
    if family is None:
        return _NO_RATIOS
    if not (family.rises if sign > 0 else family.falls):
        return _WORSE
    last = n if family.holds_for_all else n - 1
    between = np.arange(1.0, last + 1)
    ratios = family.ratios_at(between)
    if len(ratios) != 1 or (ratios[0].below[1] != ratios[0].below[2]).any():
        return _ONE_RATIO
    ratio = ratios[0]
    ends = {0: family.none} if last == n else {0: family.none, n: family.all}
    like = {k: end for k, end in ends.items() if _is_like(end, ratio)}
    used = [ratio, *(end.ratios[0] for end in like.values())]
    least = min(one.least_below for one in used)
    greatest = max(one.most_below for one in used)
    slope, constant, of_ref, below, of_one, most, no_ones, all_ones = np.zeros((8, n + 1))
    table = RatioByCount(
        slope, constant, of_ref, below, of_one, most, no_ones, all_ones, ratio.power, least,
        greatest, sign, last,
    )  # fmt: skip
    ks = slice(1, last + 1)
    table.slope[ks] = sign * (ratio.top[1] - ratio.top[2])
    table.fill(ks, ratio, 2)
    for k in ends:
        if k in like:
            table.fill(slice(k, k + 1), like[k].ratios[0], 1 if k else 2)
        else:
            table.most[k] = np.inf
    degenerate = (
        [family.none.no_ones, family.degenerate[0], family.all.no_ones],
        [family.none.all_ones, family.degenerate[1], family.all.all_ones],
    )
    table.no_ones[:] = sign * np.concatenate(degenerate[0])
    table.all_ones[:] = sign * np.concatenate(degenerate[1])
    return table


def _is_like(end: RatioSum, ratio: Ratio) -> bool:
    """Whether a sum is one ratio of the same power."""
    return len(end.ratios) == 1 and end.ratios[0].power == ratio.power
