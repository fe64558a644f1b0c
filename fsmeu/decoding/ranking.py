"""Ranking by probability (Jansche 2007, Algorithm 1; Natarajan 2016, Algorithms 1 and 2).

When the value depends on (tp, hyp, ref, n) and does not get worse with more true positives, the
best sequence with k ones has them at the k most probable positions (Natarajan 2016, Theorem 6), so
n + 1 candidates remain. With the first k positions in that order chosen, tp and ref - tp are
independent sums, and one table of distributions serves all candidates: O(n^3) together.
Sums of ratios of counts need less: ``ratios.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.candidates import late_sentence, valued_candidates
from fsmeu.decoding.problem import (
    Answer,
    Method,
    Problem,
    certify,
    one_by_one,
    optimality_gap,
)
from fsmeu.fst.compose import guard_size
from fsmeu.losses.algebra import confusion
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error

NO_TABLE = "the value must depend on (tp, hyp, ref, n) of two labels only"

_ROUNDINGS = 20  # per position between a probability and the value of a candidate, generously

_SO = (
    "never gets worse with more true positives, so the best sequence ranks positions by probability"
)
WHY = f"labels are independent and the value depends on (tp, hyp, ref, n) and {_SO}"


def ranked_fault(problem: Problem) -> str | None:
    """The condition of ranking positions that a problem does not meet; None where it meets all."""
    if problem.confusion is None:
        return NO_TABLE
    if problem.probabilities is None:
        return "the labels must be independent"
    if problem.constraint is not None:
        return "there must be no constraint: the ranked sequences may not satisfy it"
    return None


def ranked(order: Ints, k: int) -> Ints:
    """Label indices with ones at the first k positions of an order."""
    indices = np.zeros(len(order), np.int64)
    indices[order[:k]] = 1
    return indices


def ranked_answer(
    problem: Problem, order: Ints, values: Floats, errors: Floats, why: str
) -> Answer:
    """The best of the sequences with ones at the first k positions of an order, by their values.

    Args:
        problem: the problem.
        order: all positions, (n,).
        values: expected values by k, (n + 1,).
        errors: bounds on their errors, (n + 1,).
        why: the property that makes the best one exact.
    """
    off = problem.binary.off if problem.binary else 0.0
    errors = errors + off
    scores = problem.sign * values
    best = int(scores.argmax())
    gap = float(optimality_gap(scores, errors, best))
    value = float(values[best])
    error = float(errors[best])
    answer = Answer(ranked(order, best), False, why, problem.n + 1, value, error)
    return certify(problem, answer, gap)


def valued_ranking(problem: Problem, engine: str = "auto") -> Answer:
    """The best of the n + 1 sequences that rank positions by probability, each valued by itself.

    Where the time is short, those with a likely number of ones come first.
    """
    p = problem.probabilities
    assert p is not None
    order = np.argsort(-p, kind="stable")
    numbers = np.argsort(np.abs(np.arange(problem.n + 1) - p.sum()), kind="stable")
    candidates = [ranked(order, int(k)) for k in numbers]
    values, errors = valued_candidates(problem, candidates, engine)
    late = late_sentence(problem, len(values), len(candidates))
    if not late and problem.keep is None:
        place = np.argsort(numbers)
        return ranked_answer(problem, order, values[place], errors[place], WHY)
    best = int((problem.sign * values).argmax())
    why = late or f"{WHY}; but only {problem.keep} states per layer were kept"
    value = float(values[best])
    return Answer(candidates[best], False, why, len(values), value, float(errors[best]))


# -- any value of the confusion table --------------------------------------------------------------


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where ranked sequences suffice."""
    fault = ranked_fault(problem)
    form = problem.confusion
    if fault is not None or form is None:
        return fault
    guard_size("decode by ranking", (problem.n + 1) ** 3 // limits.TABLES_PER_STATE)
    case = problem.cached("tp_counterexample", lambda: confusion.tp_counterexample(form, problem.n))
    if case is None:
        return None
    at = f"with n={case.n} hyp={case.hyp} ref={case.ref} the value is {case.value:g}"
    worse = f"{case.value_with_one_more:g} at tp={case.tp + 1}"
    return f"more true positives must never make it worse; {at} at tp={case.tp} but {worse}"


def _ranking(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability.

    With ``keep``, candidates are valued by their kept states, and nothing is proven.

    Proven: at every table of this length one more true positive is not worse (all are looked at).
    The n + 1 values are sums of probability times value, in which only values of both signs cancel:
    their errors are at most ``_ROUNDINGS`` n units of rounding of their expected absolute values.
    """
    if problem.keep is not None:
        return valued_ranking(problem)
    form = problem.confusion
    p = problem.probabilities
    assert form is not None
    assert p is not None
    order = np.argsort(-p, kind="stable")
    values, sizes, underflow, tried = _candidate_values(problem, form, p[order])
    if len(tried) <= problem.n:
        best = int(tried[(problem.sign * values[tried]).argmax()])
        only = f"only {len(tried)} of {problem.n + 1} numbers of ones were tried"
        why = f"{WHY}; but {only} before {problem.stopped}"
        return Answer(ranked(order, best), False, why, len(tried))
    errors = relative_error(_ROUNDINGS * (problem.n + 1)) * (sizes + underflow)
    return ranked_answer(problem, order, values, errors, WHY)


class _Candidates(NamedTuple):
    """The sequences with ones at the first k of the sorted positions, by k, (n + 1,) each."""

    values: Floats  # expected values
    sizes: Floats  # expected absolute values
    underflow: Floats  # bounds on what underflowed in the sums
    tried: Ints  # the k that were tried, at least one; the arrays hold 0 at all others


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _candidate_values(problem: Problem, form: Confusion, p: Floats) -> _Candidates:
    """Candidates for probabilities in descending order; those near the expected count first.

    That are as many as the budget has; fewer, where the time is over before.
    """
    from fsmeu.trellis.ranked_kernels import prefix_counts

    n = len(p)
    first = prefix_counts(p, False)
    last = prefix_counts(p, True)
    sums = np.zeros((3, n + 1))
    order = np.argsort(np.abs(np.arange(n + 1) - p.sum()), kind="stable")
    count = min(n + 1, problem.budget)
    done = 0
    while done < count and not (done and problem.clock.over(done / count)):
        k = int(order[done])
        tp = np.arange(k + 1.0)[:, None]
        fn = np.arange(n - k + 1.0)[None, :]
        table = value_of_counts(form, n, tp, float(k), tp + fn)
        size = np.abs(table)
        left = first[k, : k + 1]
        right = last[n - k, : n - k + 1]
        sums[:, k] = left @ table @ right, left @ size @ right, (n + 1) * LEAST * size.max()
        done += 1
    values, sizes, underflow = sums
    return _Candidates(values, sizes, underflow, order[:done])


RANKING = Method("ranking", _condition, one_by_one(_ranking), limited=False)
