"""Losses that split by tape, under any model: ``additive`` and ``counting``.

Additive values are sums over positions: the expected amount of every step of z is known, and the
best sequence is a best path (Hamming, cost matrices, Pk, WindowDiff). Counting values look at one
count of each tape besides (after Dembczynski et al. 2011): the best path is sought for one end of
z's counter at a time.

For value = tp * g(hyp, ref) + h(hyp, ref), let A_k(j) be the best sum, over hypotheses with
hyp = j, of what their steps add to E[tp * g(k, ref)]: one sweep backward with the weights g(k, .),
and one for the maximum, give it for every j. With T_s = E[tp; ref = s] and P_s = P(ref = s), the
expected value of a hypothesis with hyp = j is sum_s T_s g(j, s) + H(j), where
H(j) = sum_s P_s h(j, s).

* For j = k the best is A_k(k) + H(k): exact.
* For other j and any theta >= 0, because 0 <= T_s <= P_s C_j,

      sum_s T_s g(j, s) <= theta A_k(j) + sum_s P_s C_j max(0, g(j, s) - theta g(k, s)).

  The least of these is sought among theta = 0 and theta = g(j, s) / g(k, s).

So ends are valued in the order of their bounds, from k = E[ref] on, until no bound is above the
best value: 1 or 2 of 25 on real sentences. The bound rests on tp >= 0, which is proven from the
amounts that steps add (``trellis/nonnegative.py``), on tp <= C_j, the greatest sum of amounts over
hypotheses with hyp = j, and on g >= 0, which is looked at. Where one of them is not known, or there
are several joint counts, every end is valued. An end is left out only if its bound plus what
rounding may have done to it is below the best value.

For many independent labels of two kinds, and a joint count tp, a one at position i, with k ones in
all, is worth the sum over s of P(y_i = 1, ref = s) g(k, s). Of two positions the more probable one
is worth at least as much where g is nowhere negative: the difference is p_i - p_j times the sum
over s of P(s - 1 of the other labels are ones) g(k, s). So the best sequence with k ones has them
at the k most probable positions, and what these are worth together is a sum over a window of ref
that holds all but a stated mass. Work grows as n times the window's width, a few times sqrt(n), and
memory as the width.

Two things are only seen while computing, and are results: that a counter does not grow by whole
numbers, once its steps are known, and that what a step is worth is more than doubles can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Method, Problem
from fsmeu.decoding.ranking import best_ranked, ranked_fault
from fsmeu.errors import InputError, message
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import walk
from fsmeu.fst.layers import Layer
from fsmeu.limits import TABLES_PER_STATE
from fsmeu.losses.algebra.confusion import Confusion, confusion
from fsmeu.losses.algebra.split import Split, TapeLoss
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.models import arc_weights_many
from fsmeu.trellis.batches import Decided
from fsmeu.trellis.kept import structure_of
from fsmeu.trellis.roundings import LEAST, relative_error
from fsmeu.trellis.tapes import UncountableError, values_at
from fsmeu.trellis.windows import Others, Window, count_window, without_each

__all__ = ["ADDITIVE", "COUNTING", "split_answers", "unmet_condition"]

COUNTED_AT_ONCE = 128  # positions up to which one table holds all counts; then windows are faster


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_answers(problems: Sequence[Problem]) -> Sequence[Answer | str]:
    """The best sequence for each of several problems that differ in the numbers of the model only.

    Requires a loss that splits by tape, its value looking at no more than one counter of each.

    Proven: the split is derived from the expression trees, for every length. Errors are bounded,
    and the best is claimed if no other reaches it by more than ``PRECISION``.

    Returns:
        Answers, or what must hold and does not: a counter does not grow by whole numbers, or the
        score of a step is no number that doubles can hold.
    """
    first = problems[0]
    assert isinstance(first.loss, SpecLoss)
    try:
        structure = structure_of(first.loss, first.model, _allowed(first))
        models = arc_weights_many([problem.model for problem in problems])
        decided = structure.decide(models, first.sign, first.jobs)
    except UncountableError as error:
        return [str(error)] * len(problems)
    return [_answer(problem, decided, row) for row, problem in enumerate(problems)]


def _answer(problem: Problem, decided: Decided, row: int) -> Answer | str:
    """The answer to one of several problems."""
    values, errors, end = decided.values[row], decided.errors[row], int(decided.best[row])
    settled = end >= 0 or problem.constraint is not None
    if not settled or not np.isfinite(errors).all() or (end >= 0 and np.isinf(values[end])):
        return "the worth of a step must be a number that doubles can hold"
    if end < 0:
        raise InputError(message("decode", "a sequence must satisfy the constraint"))
    path = decided.labels[row, : problem.n]
    proven = is_proven(problem, values, errors, end, path)
    value, error = problem.sign * float(values[end]), float(errors[end])
    candidates = 0 if _is_additive(problem) is None else len(values)
    return Answer(path, proven, _why(problem), candidates, value, error)


def _why(problem: Problem) -> str:
    """Which property makes the answer exact, in words."""
    form = problem.split
    assert form is not None
    if form.additive:
        return "the value is a sum over positions, and each tape's share of a step is known"
    names = ", ".join(one.register for one in form.joint_counts) or "no joint count"
    return f"the value is linear in {names}, and otherwise looks at one count of each tape"


def _allowed(problem: Problem) -> Sequence[Layer] | None:
    """The acceptor of the sequences that are allowed, None where all are."""
    if problem.constraint is None:
        return None
    allowed = walk(problem.constraint, len(problem.loss.alphabet), problem.n)
    if not len(allowed.ends):
        raise InputError(message("decode", "a sequence must satisfy the constraint"))
    return allowed.layers()


def _is_additive(problem: Problem) -> str | None:
    """What must hold of the loss and does not; None where it is additive."""
    if problem.split is None or not problem.split.additive:
        return "the value must be a sum over positions that splits by tape"
    return None


def unmet_condition(form: Split | None) -> str | None:
    """What must hold of a loss, split by tape if it splits, and does not; None where all does."""
    if form is None:
        return "what reads both tapes must only be counted, and the value be linear in it"
    for part, tape in ((form.z, "z"), (form.y, "y")):
        if not part.counted:
            may = f"the value may look at one count of {tape} that nothing else reads"
            return f"{may}, not at {', '.join(part.ends)}"
    return None


def _by_counting(problems: Sequence[Problem]) -> Sequence[Answer | str]:
    """The best sequences; of many independent labels by windows of their counts."""
    if not _is_for_windows(problems[0]):
        return split_answers(problems)
    return [_in_windows(one, _why(one)) or split_answers([one])[0] for one in problems]


# -- many independent labels -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _LinearInTp:
    """A value that is linear in tp: its slope and its offset for numbers of ones."""

    form: Split
    table: Confusion  # how its registers follow from the confusion table
    n: int
    sign: float  # 1 for a utility, -1 for a loss
    greatest: float  # the greatest absolute value

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


def _is_for_windows(problem: Problem) -> bool:
    """True for a long sequence of independent labels, a value as above, and no constraint."""
    if problem.n <= COUNTED_AT_ONCE or ranked_fault(problem) is not None:
        return False
    return _linear_in_tp(problem) is not None


def _linear_in_tp(problem: Problem) -> _LinearInTp | None:
    """The value, None where it is not linear in tp or the file declares no finite range."""
    form = problem.split
    table = None if form is None or not form.counted else confusion(form.bound)
    if form is None or table is None:
        return None
    low, high = declared_range(form.bound, problem.n)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return _LinearInTp(form, table, problem.n, problem.sign, max(abs(low), abs(high)))


def _in_windows(problem: Problem, why: str) -> Answer | None:
    """The best sequence; None where more true positives would make some value worse.

    Requires that it ``_is_for_windows``; a SizeLimitError where there are too many tables.

    Proven: see the head of this module. Tables whose ref lies outside of the window have a mass
    that is bounded, and a value in the declared range; so is what is lost at the ends of windows on
    the way. All probabilities are sums of nonnegative numbers, so that errors are a part of what is
    summed without signs.
    """
    value_of, p = _linear_in_tp(problem), problem.probabilities
    assert value_of is not None
    assert p is not None
    order = np.argsort(-p, kind="stable")
    found = _ranked_values(value_of, p[order])
    if found is None:
        return None
    why += f"; labels are independent, counts are held in windows that lack {found[2]:.0e} of the"
    return best_ranked(problem, order, *found[:2], f"{why} mass at most")


def _ranked_values(linear: _LinearInTp, p: Floats) -> tuple[Floats, Floats, float] | None:
    """The expected values with ones at the first k positions, bounds, (n + 1,), and the mass lost.

    Probabilities are in descending order. None where a slope in the window is of the wrong sign.
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
    linear: _LinearInTp, whole: Window, others: Others, total: Floats, most: tuple[Floats, Floats]
) -> Floats:
    """Bounds on the errors of values, (k,), whose sums without signs are ``total``.

    In the window of ref, true positives and the offset add no more than ``most``, (k,) each.
    """
    operations = max(others.operations + linear.n + 1, whole.operations) + len(whole.chances) + 8
    underflow = LEAST * relative_error(operations * linear.n)
    lost = whole.lost * (2 * linear.greatest + most[1]) + others.lost * most[0]
    found: Floats = relative_error(operations) * total + lost + underflow * (most[0] + most[1])
    return found


ADDITIVE = Method("additive", _is_additive, split_answers)
COUNTING = Method("counting", lambda problem: unmet_condition(problem.split), _by_counting)
