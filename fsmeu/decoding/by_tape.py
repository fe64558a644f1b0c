"""The best sequence of a loss that splits by tape, one end of z's counter at a time.

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
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Problem
from fsmeu.errors import InputError, sentence
from fsmeu.fst.constraint import walk
from fsmeu.fst.layers import Layer
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import layered_many
from fsmeu.trellis.engine import engine_of
from fsmeu.trellis.tape import UncountableError

__all__ = ["Found", "best_by_tape"]


@dataclass(frozen=True, eq=False)
class Found:
    """A best sequence.

    Attributes:
        indices: its label indices.
        ends: how many ends of the counter were compared.
        value: its expected value.
        error: a bound on the error of that.
        proven: whether no sequence is better beyond rounding.
    """

    indices: Ints
    ends: int
    value: float
    error: float
    proven: bool


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def best_by_tape(problems: Sequence[Problem], jobs: int = 1) -> list[Found | str]:
    """The best sequence for each of several problems that differ in the numbers of the model only.

    Requires a loss that splits by tape, its value looking at no more than one counter of each.

    Args:
        problems: the problems.
        jobs: how many threads decide.

    Returns:
        What was found, or what must hold and does not: a counter does not grow by whole numbers, or
        the worth of a step is no number that doubles can hold.
    """
    first, form = problems[0], problems[0].split
    assert isinstance(first.loss, SpecLoss)
    assert form is not None
    try:
        engine = engine_of(first.loss, form, first.n)
        model = first.model
        structure = engine.structure(model.layered(), model.structure, _allowed(first))
        models = layered_many([problem.model for problem in problems])
        decided = structure.decide(models, first.sign, jobs)
    except UncountableError as error:
        return [str(error)] * len(problems)
    found: list[Found | str] = []
    for row, problem in enumerate(problems):
        errors, end = decided.errors[row], int(decided.best[row])
        if not np.isfinite(errors).all():
            found.append("the worth of a step must be a number that doubles can hold")
            continue
        if end < 0:
            raise InputError(sentence("decode", "a sequence must satisfy the constraint"))
        path, values = decided.labels[row, : problem.n], decided.values[row]
        proven = is_proven(problem, values, errors, end, path)
        value = problem.sign * float(values[end])
        found.append(Found(path, len(values), value, float(errors[end]), proven))
    return found


def _allowed(problem: Problem) -> Sequence[Layer] | None:
    """The acceptor of the sequences that are allowed, None where all are."""
    if problem.constraint is None:
        return None
    allowed = walk(problem.constraint, len(problem.loss.alphabet), problem.n)
    if not len(allowed.ends):
        raise InputError(sentence("decode", "a sequence must satisfy the constraint"))
    return allowed.layers()
