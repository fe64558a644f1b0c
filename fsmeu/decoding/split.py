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

from collections.abc import Mapping, Sequence

import numpy as np

from fsmeu.decoding.counting_windows import counting_in_windows, is_for_windows
from fsmeu.decoding.method import Method
from fsmeu.decoding.precision import checked, is_precise, is_proven
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.errors import InputError, message
from fsmeu.expectation.expect import split_values
from fsmeu.fst.constraint import walk
from fsmeu.fst.layers import Layer
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import arc_weights_many
from fsmeu.trellis.batches import Decided
from fsmeu.trellis.kept import structure_of
from fsmeu.trellis.tapes import UncountableError

__all__ = ["ADDITIVE", "COUNTING", "split_answers", "split_together", "unmet_condition"]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_answers(problems: Sequence[Problem], jobs: int = 1) -> list[Answer | str]:
    """The best sequence for each of several problems that differ in the numbers of the model only.

    Requires a loss that splits by tape, its value looking at no more than one counter of each.

    Proven: the split is derived from the expression trees, for every length. Errors are bounded,
    and the best is claimed if no other reaches it by more than ``PRECISION``.

    Args:
        problems: the problems.
        jobs: how many threads decide.

    Returns:
        Answers, or what must hold and does not: a counter does not grow by whole numbers, or the
        score of a step is no number that doubles can hold.
    """
    first = problems[0]
    assert isinstance(first.loss, SpecLoss)
    try:
        structure = structure_of(first.loss, first.model, _allowed(first))
        models = arc_weights_many([problem.model for problem in problems])
        decided = structure.decide(models, first.sign, jobs)
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
    form = problem.split
    candidates = 0 if form is None or form.additive else len(values)
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
    form = problem.split
    if form is None or not form.additive:
        return "the value must be a sum over positions that splits by tape"
    return None


def _is_counting(problem: Problem) -> str | None:
    """What must hold of the loss and does not; None where it looks at one count of each tape."""
    return unmet_condition(problem.split)


def unmet_condition(form: Split | None) -> str | None:
    """What must hold of a loss, split by tape if it splits, and does not; None where all does."""
    if form is None:
        return "what reads both tapes must only be counted, and the value be linear in it"
    for part, tape in ((form.z, "z"), (form.y, "y")):
        if not part.counted:
            seen = ", ".join(part.ends)
            may = f"the value may look at one count of {tape} that nothing else reads"
            return f"{may}, not at {seen}"
    return None


def _by_counting(problem: Problem) -> Answer | str:
    """The best sequence; of many independent labels by windows of their counts."""
    if is_for_windows(problem):
        answer = counting_in_windows(problem, _why(problem))
        if answer is not None:
            return answer
    return split_answers([problem])[0]


ADDITIVE = Method("additive", _is_additive, lambda problem: split_answers([problem])[0])
COUNTING = Method("counting", _is_counting, _by_counting)


def split_together(
    method: Method, problems: Mapping[int, Problem], jobs: int = 1
) -> dict[int, Answer]:
    """The answers by row of problems that differ in the numbers of the model only.

    Those that are exact and whose value is known to be precise, or is computed once more.

    Args:
        method: ``ADDITIVE`` or ``COUNTING``, which fits.
        problems: the problems by row.
        jobs: how many threads decide.
    """
    first = next(iter(problems.values()))
    if method is COUNTING and is_for_windows(first):
        return {}
    told = zip(problems, split_answers(list(problems.values()), jobs), strict=True)
    answers = {row: answer for row, answer in told if isinstance(answer, Answer)}
    doubtful = [row for row, answer in answers.items() if not is_precise(answer)]
    again: dict[int, float] = {}
    if doubtful and isinstance(first.loss, SpecLoss):
        zs = [answers[row].indices for row in doubtful]
        sums = split_values(first.loss, zs, [problems[row].model for row in doubtful])
        if sums is not None:
            again = dict(zip(doubtful, sums.values.tolist(), strict=True))
    checks = {row: checked(problems[row], one, again.get(row)) for row, one in answers.items()}
    return {row: answer for row, answer in checks.items() if answer.exact}
