"""Values tp * g(hyp, ref) + h(hyp, ref) of long sequences of independent labels of two kinds.

A one at position i, with k ones in all, is worth the sum over s of P(y_i = 1, ref = s) g(k, s). Of
two positions the more probable one is worth at least as much where g is nowhere negative: the
difference is p_i - p_j times the sum over s of P(s - 1 of the other labels are ones) g(k, s). So
the best sequence with k ones has them at the k most probable positions, and what these are worth
together is a sum over a window of ref that holds all but a stated mass. Work grows as n times the
window's width, a few times sqrt(n), and memory as the width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.decoding.ranking import ranked, ranked_fault
from fsmeu.fst.compose import guard_size
from fsmeu.limits import TABLES_PER_STATE
from fsmeu.losses.algebra.confusion import Confusion, confusion
from fsmeu.losses.algebra.split import Split, TapeLoss
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.roundings import LEAST, relative_error
from fsmeu.trellis.tapes import values_at
from fsmeu.trellis.windows import Others, Window, count_window, without_each

__all__ = ["LinearInTp", "counting_in_windows", "is_for_windows", "linear_in_tp", "ranked_values"]

COUNTED_AT_ONCE = 128  # positions up to which one table holds all counts; then windows are faster

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearInTp:
    """A value that is linear in tp: its slope and its offset for numbers of ones.

    Attributes:
        form: the loss, split by tape.
        table: how its registers follow from the confusion table.
        n: the length.
        sign: 1 for a utility, -1 for a loss.
        greatest: the greatest absolute value.
    """

    form: Split
    table: Confusion
    n: int
    sign: float
    greatest: float

    def at(self, hyp: Floats, ref: Floats) -> tuple[Floats, Floats, Floats]:
        """Slopes and offsets, (hyp, ref), and the offsets' terms without signs."""
        n, hyp, ref = float(self.n), hyp[:, None], ref[None, :]
        possible = np.ones((len(hyp), ref.shape[1]), bool)
        z_count, y_count = self._count(self.form.z, hyp), self._count(self.form.y, ref)
        slopes, offset = values_at(self.form, self.n, z_count, y_count, possible)
        slope, size = np.zeros(possible.shape), np.abs(offset)
        for joint_count, each in zip(self.form.joint_counts, slopes, strict=True):
            (tn, fn), (fp, tp) = self.table.amounts[joint_count.register]
            slope += (tp - fp - fn + tn) * each
            if tn or fn or fp:
                offset = offset + each * (tn * (n - hyp - ref) + fp * hyp + fn * ref)
                size += np.abs(each) * (abs(tn) * n + abs(fp) * hyp + abs(fn) * ref)
        return slope, offset, size

    def _count(self, part: TapeLoss, ones: Floats) -> Floats:
        """Where the counter of a tape ends that has so many ones."""
        if part.counter is None:
            return ones
        amounts = self.table.amounts[part.counter]
        ended: Floats = amounts[0, 0] * (self.n - ones) + amounts[1, 1] * ones
        return ended


def is_for_windows(problem: Problem) -> bool:
    """True when the sequence is long and windows serve it.

    That is for independent labels of two kinds, a value of the confusion table in a finite range
    that the file declares, and no constraint.
    """
    if problem.n <= COUNTED_AT_ONCE or ranked_fault(problem) is not None:
        return False
    return linear_in_tp(problem) is not None


def linear_in_tp(problem: Problem) -> LinearInTp | None:
    """The value as it is summed, None where it has not the properties."""
    form = problem.split
    table = None if form is None or not form.counted else confusion(form.bound)
    if form is None or table is None:
        return None
    low, high = declared_range(form.bound, problem.n)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return LinearInTp(form, table, problem.n, problem.sign, max(abs(low), abs(high)))


def counting_in_windows(problem: Problem, why: str) -> Answer | None:
    """The best sequence; None where more true positives would make some value worse.

    Requires that it ``is_for_windows``.

    Proven: see the head of this module. Tables whose ref lies outside of the window have a mass
    that is bounded, and a value in the declared range; so is what is lost at the ends of windows on
    the way. All probabilities are sums of nonnegative numbers, so that errors are a part of what is
    summed without signs.

    Raises:
        SizeLimitError: there are too many tables (hyp, ref) in the window.
    """
    value_of, p = linear_in_tp(problem), problem.probabilities
    assert value_of is not None
    assert p is not None
    order = np.argsort(-p, kind="stable")
    found = ranked_values(value_of, p[order])
    if found is None:
        return None
    values, errors, lost = found
    best = int((problem.sign * values).argmax())
    chosen = ranked(order, best)
    proven = is_proven(problem, problem.sign * values, errors, best, chosen)
    why += f"; labels are independent, counts are held in windows that lack {lost:.0e} of the mass"
    value, error = float(values[best]), float(errors[best])
    return Answer(chosen, proven, f"{why} at most", problem.n + 1, value, error)


def ranked_values(linear: LinearInTp, p: Floats) -> tuple[Floats, Floats, float] | None:
    """The expected values with ones at the first k positions, for all k; bounds; the mass lost.

    Args:
        linear: the value.
        p: probabilities in descending order, (n,).

    Returns:
        Arrays (n + 1,) and a number; None where a slope in the window is of the wrong sign.
    """
    whole = count_window(p)
    guard_size("decode", len(p) * len(whole.chances) // TABLES_PER_STATE)
    values, errors = np.empty((2, len(p) + 1))
    joint, lost = np.zeros((1, len(whole.chances))), whole.lost  # E[tp where ref = s], (k, s)
    none = Others(-1, 0, np.ones((1, 1)), 0.0, 0)
    for others in chain([none], without_each(p)):
        begin, end = others.begin + 1, others.begin + 1 + len(others.chances)
        if begin:
            joint = joint[-1] + np.cumsum(_joint(others, p[begin - 1 : end - 1], whole), axis=0)
        ones = np.arange(begin, end, dtype=np.float64)
        slope, offset, size = linear.at(ones, whole.counts)
        if begin and (linear.sign * slope < 0).any():
            return None
        part = np.einsum("ks,ks->k", joint, slope)
        values[begin:end] = part + offset @ whole.chances
        total = np.abs(part) + size @ whole.chances
        most = ones * np.abs(slope).max(axis=1), np.abs(offset).max(axis=1)
        errors[begin:end] = _errors(linear, whole, others, total, most)
        lost = max(lost, whole.lost + others.lost)
    return values, errors, lost


def _joint(others: Others, p: Floats, whole: Window) -> Floats:
    """P(y_i = 1, ref = s) for events in a group and s in the window of ref, (events, s)."""
    found = np.zeros((len(p), len(whole.chances)))
    shift = others.low + 1 - whole.low
    begin, end = max(0, shift), min(found.shape[1], shift + others.chances.shape[1])
    if end > begin:
        found[:, begin:end] = p[:, None] * others.chances[:, begin - shift : end - shift]
    return found


def _errors(
    linear: LinearInTp, whole: Window, others: Others, total: Floats, most: tuple[Floats, Floats]
) -> Floats:
    """Bounds on the errors of values, (k,).

    Args:
        linear: the value.
        whole: the window of ref.
        others: what the joint probabilities come from.
        total: the sums without signs, (k,).
        most: the greatest that true positives and the offset add in the window, (k,) each.
    """
    operations = max(others.operations + linear.n + 1, whole.operations) + len(whole.chances) + 8
    underflow = LEAST * relative_error(operations * linear.n)
    lost = whole.lost * (2 * linear.greatest + most[1]) + others.lost * most[0]
    found: Floats = relative_error(operations) * total + lost + underflow * (most[0] + most[1])
    return found
