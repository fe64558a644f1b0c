"""A value that is one ratio of counts, for every number of ones of the hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.ratios import Ratio, RatioSum, sum_of_ratios

_BLOCK = 1 << 16  # numbers of ones whose ratios are derived at once

_NO_RATIOS = "the value must be a sum of ratios of counts"
_WORSE = "more true positives must never make it worse"
_ONE_RATIO = (
    "under a chain the value must be one ratio of counts, divided by a sum of counts of each "
    "sequence by itself"
)


@dataclass(frozen=True, eq=False)
class RatioByCount:
    """The value as one ratio, signs turned so that greater is better, for k = 0, ..., n.

    For k = 0 and k = n, tp is 0 or ref: b is 0 there. ``most`` is inf where there is no such ratio.
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


def _derived(form: Confusion, n: int, ks: Floats, sign: float) -> RatioSum | str:
    """The value as a sum of ratios in which true positives never make it worse, or what is not."""
    part = sum_of_ratios(form, n, ks)
    if part is None:
        return _NO_RATIOS
    return part if (part.rises if sign > 0 else part.falls) else _WORSE


@lru_cache(maxsize=2)  # 64 MB for a million labels
def ratio_by_count(form: Confusion, n: int, sign: float) -> RatioByCount | str:
    """The ratio by the number of ones; or what must hold."""
    columns = np.zeros((8, n + 1))
    slope, constant, of_ref, below, of_one, most, no_ones, all_ones = columns
    power = 1.0
    least = np.inf
    greatest = 0.0
    for begin in (*range(1, n, _BLOCK), 0, n):
        ks = slice(begin, min(begin + _BLOCK, n) if 0 < begin < n else begin + 1)
        part = _derived(form, n, np.arange(ks.start, ks.stop, dtype=np.float64), sign)
        if isinstance(part, str):
            return part
        ratio = part.ratios[0]
        single = len(part.ratios) == 1
        no_ones[ks] = sign * part.no_ones
        all_ones[ks] = sign * part.all_ones
        if 0 < begin < n:
            if not single or (ratio.below[1] != ratio.below[2]).any():
                return _ONE_RATIO
            power = ratio.power
            slope[ks] = sign * (ratio.top[1] - ratio.top[2])
        elif not single or ratio.power != power:
            most[ks] = np.inf
            continue
        counted = 2 if begin < n else 1  # ones of y where z has zeros, or ones alone
        constant[ks] = sign * ratio.top[0]
        of_ref[ks] = sign * ratio.top[counted]
        below[ks] = ratio.below[0]
        of_one[ks] = ratio.below[counted]
        most[ks] = ratio.most
        least = min(least, ratio.least_below)
        greatest = max(greatest, ratio.most_below)
    for column in columns:
        column.setflags(write=False)
    return RatioByCount(
        slope, constant, of_ref, below, of_one, most, no_ones, all_ones, power, least, greatest,
        sign,
    )  # fmt: skip
