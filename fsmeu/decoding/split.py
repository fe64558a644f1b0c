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

  This is convex in theta; its least value is sought by halves.

So ends are valued in the order of their bounds, until no bound is above the best value: 1 of 25 on
most sentences. The first is the likeliest count of y, or, where none is likely by far, the end that
would be best if tp did not depend on ref: sweeps without counts find it. The bound rests on
tp >= 0, which amounts or the declared range tell (``trellis/joint_counts.py``), on tp <= C_j, the
greatest sum of amounts over hypotheses with hyp = j, and on g >= 0, which is looked at. Where one
of them is not known, or there are several joint counts, every end is valued.

For many independent labels of two kinds, a one at position i, with k ones in all, is worth the sum
over s of P(y_i = 1, ref = s) g(k, s). Where g is nowhere negative, the more probable of two
positions is worth at least as much: the difference is p_i - p_j times the sum over s of
P(s - 1 of the other labels are ones) g(k, s). So the k most probable positions are best, and what
they are worth is a sum over a window of ref, a few times sqrt(n) wide, that lacks a stated mass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.decoding.problem import Answer, Method, Problem
from fsmeu.decoding.ranked import ranked, ranked_fault
from fsmeu.errors import FsmeuError
from fsmeu.fst.compose import guard_size
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.algebra.split import Split
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis.batches import BestHypotheses
from fsmeu.trellis.engine import MOST_ENDS, SplitTrellis
from fsmeu.trellis.ranked_counts import hits_by_ref
from fsmeu.trellis.trellis_cache import Refused, sweep_obstacle
from fsmeu.trellis.windows import count_window

_SLOWER = 16  # how many times as slow as the estimate a machine that is busy may be
GAINS_OVERFLOW = "expected gains overflow doubles"


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_answers(problems: Sequence[Problem]) -> Sequence[Answer | str]:
    """The best sequence for each of several problems alike, or what is seen not to hold."""
    first = problems[0]
    trellis = first.trellis
    if isinstance(trellis, Refused):
        return [str(trellis.error)] * len(problems)
    if len(problems) > 1 and not _is_quick(trellis, first):
        return [split_answers([problem])[0] for problem in problems]
    decided = _decided(trellis, problems)
    answers: list[Answer | str] = []
    for row, problem in enumerate(problems):
        values = decided.values[row]
        end = int(decided.best[row])
        if end < 0 or not np.isfinite(values[end]):
            answers.append(GAINS_OVERFLOW)
            continue
        doubt = ""
        if (values > values[end]).any():  # bounds of ends that were not tried
            tried = int(decided.tried[row])
            counts = f"{tried} of {len(values)} counts of z were tried"
            is_spent = tried >= _ends_in_budget(trellis, problem)
            stopped = problem.stopped if is_spent else problem.clock.ran_out
            doubt = f"only {counts} before {stopped}"
        answers.append(
            Answer(
                decided.labels[row, : problem.n],
                why_split(problem),
                candidates=0 if _is_additive(problem) is None else len(values),
                value=problem.sign * float(values[end]),
                gap=float(values.max() - values[end]),
                doubt=doubt,
            )
        )
    return answers


def _ends_in_budget(trellis: SplitTrellis, problem: Problem) -> int:
    """How many ends the budget allows to try."""
    return trellis.ends_in(problem.n, problem.sign, problem.budget * limits.SUMS_PER_CANDIDATE)


def _ends_allowed(trellis: SplitTrellis, problem: Problem) -> int:
    """How many ends the budget allows, and the time surely, even on a slow machine."""
    sums = problem.clock.left * limits.SUMS_PER_SECOND / _SLOWER
    in_time = trellis.ends_in(problem.n, problem.sign, sums)
    return min(in_time, _ends_in_budget(trellis, problem))


def _is_quick(trellis: SplitTrellis, problem: Problem) -> bool:
    """Whether all ends can be tried."""
    return _ends_allowed(trellis, problem) >= int(trellis.paths.columns[problem.n])


def _decided(trellis: SplitTrellis, problems: Sequence[Problem]) -> BestHypotheses:
    """The best hypotheses; of one problem that is not quick, by the ends that are allowed.

    Where the time is limited, how long an end takes is measured on a few of them, which are tried
    again with all others.
    """
    first = problems[0]
    sign = first.sign
    clock = first.clock
    models = arc_weights_many([problem.model for problem in problems])
    if _is_quick(trellis, first):
        return trellis.decide(models, sign)
    few = _ends_allowed(trellis, first)
    begin = clock.elapsed
    decided = trellis.decide(models, sign, few)
    if clock.seconds == math.inf:
        return decided
    taken = clock.elapsed - begin
    in_time = int(min(few * clock.left / max(taken, 1e-9), MOST_ENDS))
    more = min(in_time, _ends_in_budget(trellis, first))
    if more > few and decided.tried[0] == few:
        decided = trellis.decide(models, sign, more)
    return decided


def _obstacle(problem: Problem) -> FsmeuError | None:
    """The error that a sweep over the trellis would meet; None where it meets none."""
    if isinstance(problem.trellis, Refused):
        return problem.trellis.error
    return sweep_obstacle(problem.trellis, problem.n, "decode")


def why_split(problem: Problem) -> str:
    """Which property makes the answer exact, in words."""
    form = problem.split
    assert form is not None
    if form.additive:
        return "the value is a sum over positions, and each tape's share of a step is known"
    names = ", ".join(count.register for count in form.joint_counts) or "no joint count"
    return f"the value is linear in {names}, and otherwise looks at one count of each tape"


def _is_additive(problem: Problem) -> str | None:
    """The condition that the loss does not meet; None where it is additive."""
    if problem.split is None or not problem.split.additive:
        return "the value must be a sum over positions that splits by tape"
    return None


def unmet_condition(form: Split | None) -> str | None:
    """The condition that a loss does not meet, from its split by tape, if any; or None."""
    if form is None:
        return "what reads both tapes must only be counted, and the value be linear in it"
    for part, tape in ((form.z, "z"), (form.y, "y")):
        if not part.counted:
            may = f"the value may look at one count of {tape} that nothing else reads"
            return f"{may}, not at {', '.join(part.ends)}"
    return None


def _by_counting(problems: Sequence[Problem]) -> Sequence[Answer | str]:
    """The best sequences; of many independent labels by windows of their counts."""
    if not _has_windows(problems[0]):
        return split_answers(problems)
    return [_in_windows(problem) or split_answers([problem])[0] for problem in problems]


# -- many independent labels -----------------------------------------------------------------------


def _has_windows(problem: Problem) -> bool:
    """Whether labels are many and independent, so that windows of their counts may serve."""
    few = problem.n <= limits.COUNTED_AT_ONCE or ranked_fault(problem) is not None
    return not few and problem.loss.value_range(problem.n).finite


def _in_windows(problem: Problem) -> Answer | None:
    """The best sequence; None where more true positives would make some value worse."""
    p = problem.probabilities
    assert p is not None
    order = np.argsort(-p, kind="stable")
    values = _ranked_values(problem, p[order])
    if values is None:
        return None
    best = int((problem.sign * values).argmax())
    why = f"{why_split(problem)}; labels are independent, so the best ranks them by probability"
    return Answer(ranked(order, best), why, problem.n + 1, float(values[best]), 0.0)


def _ranked_values(problem: Problem, p: Floats) -> Floats | None:
    """Expected values with ones at the first k positions, (n + 1,), p in descending order.

    None where a slope in the window is of the wrong sign.
    """
    n = problem.n
    form = problem.confusion
    assert form is not None
    window = count_window(p)
    ref = window.counts
    guard_size("decode", n * len(ref) // limits.TABLES_PER_STATE)
    values: list[float] = []
    for joint in hits_by_ref(p, window):  # E[tp; ref = s] for some k, (ks, refs)
        hyp = np.arange(len(values), len(values) + len(joint), dtype=np.float64)[:, None]
        least = np.maximum(hyp + ref - n, 0.0)  # the value is linear in tp between these
        most = np.minimum(hyp, ref)
        at_least = value_of_counts(form, n, least, hyp, ref)
        rise = value_of_counts(form, n, most, hyp, ref) - at_least
        if (problem.sign * rise < 0).any():
            return None
        slope = rise / np.maximum(most - least, 1.0)
        offset = at_least - slope * least
        values += ((joint * slope).sum(axis=1) + (offset * window.masses).sum(axis=1)).tolist()
    return np.array(values)


ADDITIVE = Method(
    "additive", _is_additive, split_answers, together=True, claim=why_split, obstacle=_obstacle
)
COUNTING = Method(
    "counting",
    lambda problem: unmet_condition(problem.split),
    _by_counting,
    together=True,
    claim=why_split,
    obstacle=lambda problem: None if _has_windows(problem) else _obstacle(problem),
)
