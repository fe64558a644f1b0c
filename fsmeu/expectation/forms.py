"""Values as ratios of totals: of losses that split by tape, or of tables of two labels.

The value of hypotheses that count k is gain T (fixed + steep S)^-power + offset, T being what both
tapes have in common and S what references count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.cache import Cache
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.algebra.polynomial import NoFormError, at
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.algebra.value import TotalsRatio, Value, ratio_of_totals, value_at_length
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model
from fsmeu.models.chains import binary_chain
from fsmeu.trellis.chains import ChainGroup, PairAmounts, chain_of
from fsmeu.trellis.tapes import value_coefficients

_SAME = 1e-12  # the part of a coefficient by which equal ones may differ


class TotalsForm(Protocol):
    """A value of totals at a length n."""

    def ratio(self, n: int, ks: Floats, least: float, most: float) -> TotalsRatio | None:
        """The value for counts ks of z, those of y being from ``least`` to ``most``; or None."""

    def answers(self, n: int, hyp: Floats, ref: Floats) -> Floats:
        """The values where T is 0, for counts of z and y, (k,) or (1,)."""

    def derived(self, n: int) -> Cache:
        """What is kept of a length."""


@dataclass(frozen=True, eq=False)
class SplitTotals:
    """The value of a loss that splits by tape."""

    form: Split

    def ratio(self, n: int, ks: Floats, least: float, most: float) -> TotalsRatio | None:
        """The value for counts ks of z, those of y being from ``least`` to ``most``; or None."""
        return ratio_of_totals(self.form, n, ks, least, most)

    def answers(self, n: int, hyp: Floats, ref: Floats) -> Floats:
        """The values where T is 0, for counts of z and y, (k,) or (1,)."""
        possible = np.ones(max(len(hyp), len(ref)), bool)
        return value_coefficients(self.form, n, hyp, ref, possible)[1]

    def derived(self, n: int) -> Cache:
        """What is kept of a length."""
        return self.form.bound.at(n).derived


@dataclass(frozen=True, eq=False)
class LabelTotals:
    """The value of a confusion table of two labels, of which one is counted as items."""

    value: Value
    item: int  # the label

    def ratio(self, n: int, ks: Floats, least: float, most: float) -> TotalsRatio | None:
        """The value for counts ks >= 1 of z as a ratio of items of both tapes; or None."""
        value = self.value
        end = value.all if self.item else value.none
        if len(value.quotients) != 1 or end != value.quotients:
            return None
        ones = ks if self.item else n - ks
        inner = ones[(ones > 0) & (ones < n)]
        last = np.array([float(n * self.item)])  # z has items alone, as has y
        for some in (inner, last):
            if len(some) and np.abs(value.degenerate(some)[self.item]).max() > _SAME:
                return None
        [(top, below, power)] = value.quotients
        try:
            sides = [
                [np.broadcast_to(at(row, ones), ones.shape) for row in side.rows()]
                for side in (top, below)
            ]
        except NoFormError:
            return None
        (constant, slope, of_ref), (fixed, of_tp, steep) = sides
        if of_tp.any():
            return None
        if not self.item:  # tp = T + n - k - S, ref = n - S
            constant = constant + slope * (n - ks) + of_ref * n
            of_ref = -(slope + of_ref)
            fixed = fixed + steep * n
            steep = -steep
        multiple = of_ref / steep if steep.all() else constant / np.where(fixed, fixed, 1.0)
        size = np.abs(constant).max() + np.abs(of_ref).max() * n
        left = np.abs(constant - multiple * fixed) + np.abs(of_ref - multiple * steep) * n
        if (left > _SAME * size).any() or (multiple.any() and power != 1.0):
            return None
        if ((steep < 0) | (fixed + steep * max(least, 1.0) <= 0)).any():
            return None
        return TotalsRatio(slope, fixed, steep, power, multiple)

    def answers(self, n: int, hyp: Floats, ref: Floats) -> Floats:
        """The values where T is 0, for counts of z and y, (k,) or (1,)."""
        hyp, ref = np.broadcast_arrays(hyp, ref)
        possible = hyp + ref <= n
        hyp = np.where(possible, hyp, 0.0)
        ref = np.where(possible, ref, 0.0)
        if self.item:
            return value_of_counts(self.value.form, n, np.zeros(hyp.shape), hyp, ref)
        return value_of_counts(self.value.form, n, n - hyp - ref, n - hyp, n - ref)

    def derived(self, n: int) -> Cache:
        """What is kept of a length."""
        kept: Cache = self.value.form.bound.at(n).derived.get(("items", self.item), Cache)
        return kept


def chain_totals(loss: Loss, model: Model) -> tuple[LabelTotals, ChainGroup] | None:
    """The value of a loss that looks at confusion tables, under a chain of two labels; or None."""
    tables = None if loss.confusion is None else binary_chain(model)
    value = None
    if loss.confusion is not None and tables is not None:
        value = value_at_length(loss.confusion, model.n)
    if value is None or tables is None:
        return None
    ks = np.arange(1.0, model.n + 1.0)
    for item in (1, 0):
        form = LabelTotals(value, item)
        derive = partial(form.ratio, model.n, ks, 1.0, float(model.n))
        if form.derived(model.n).get("ratio", derive) is not None:
            counted = np.eye(2)[item]
            amounts = PairAmounts(counted, counted, np.outer(counted, counted))
            return form, ChainGroup(chain_of(*tables), amounts)
    return None
