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

Two things are only seen while computing, and are results: that a counter does not grow by whole
numbers, once its steps are known, and that what a step is worth is more than doubles can hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsmeu.decoding.counting_windows import counting_in_windows, is_for_windows
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Method, Problem
from fsmeu.errors import InputError, message
from fsmeu.fst.constraint import walk
from fsmeu.fst.layers import Layer
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import arc_weights_many
from fsmeu.trellis.batches import Decided
from fsmeu.trellis.kept import structure_of
from fsmeu.trellis.tapes import UncountableError

__all__ = ["ADDITIVE", "COUNTING", "split_answers", "unmet_condition"]


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
    if not is_for_windows(problems[0]):
        return split_answers(problems)
    return [counting_in_windows(one, _why(one)) or split_answers([one])[0] for one in problems]


ADDITIVE = Method("additive", _is_additive, split_answers)
COUNTING = Method("counting", lambda problem: unmet_condition(problem.split), _by_counting)
