"""Ranking by probability (Jansche 2007, Algorithm 1; Natarajan 2016, Algorithm 1).

When the value depends on (tp, hyp, ref, n) and does not get worse with more true positives, the
best sequence with k ones has them at the k most probable positions (Natarajan 2016, Theorem 6), so
n + 1 candidates remain. With the first k positions in that order chosen, tp and ref - tp are
independent sums, and one table of distributions serves all candidates: O(n^3) together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.method import Method
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.fst.compose import guard_size
from fsmeu.limits import TABLES_PER_STATE
from fsmeu.losses.algebra.confusion import Confusion, tp_counterexample, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error

__all__ = [
    "RANKING",
    "ROUNDINGS",
    "prefix_counts",
    "ranked",
    "ranked_fault",
    "ranked_problem",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDINGS = 20
"""Operations per position between a probability and the value of a candidate, generously."""

_WHY = (
    "labels are independent and the value depends on (tp, hyp, ref, n) and never gets worse with "
    "more true positives, so the best sequence ranks positions by probability"
)


def _condition(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where ranked sequences suffice."""
    fault = ranked_fault(problem)
    if fault is not None:
        return fault
    guard_size("decode by ranking", (problem.n + 1) ** 3 // TABLES_PER_STATE)
    form, _ = ranked_problem(problem)
    found = problem.kept("tp_counterexample", lambda: tp_counterexample(form, problem.n))
    if found is None:
        return None
    return (
        f"more true positives must never make it worse; with n={found.n} hyp={found.hyp} "
        f"ref={found.ref} the value is {found.value:g} at tp={found.tp} but "
        f"{found.value_with_one_more:g} at tp={found.tp + 1}"
    )


def _ranking(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability.

    Requires independent labels of two kinds and a loss of the confusion table that is TP-monotonic.
    With ``keep``, candidates are valued by their kept states, and nothing is proven.

    Proven: every register adds an amount of the pair of labels alone (from the text), and at every
    table of this length one more true positive is not worse (all tables are looked at), so that
    swapping a one to a more probable position is never worse (Natarajan 2016, Theorem 6). The
    n + 1 values are sums of probability times value, in which only values of both signs cancel:
    their errors are at most ``ROUNDINGS`` n units of rounding of their expected absolute values,
    and the best is claimed if no other reaches it by more than ``PRECISION``.
    """
    form, p = ranked_problem(problem)
    order = np.argsort(-p, kind="stable")
    if problem.keep is not None:
        values = problem.values([ranked(order, k) for k in range(problem.n + 1)])
        best = int((problem.sign * values).argmax())
        why = f"{_WHY}; but only {problem.keep} states per layer were kept"
        return Answer(ranked(order, best), False, why, problem.n + 1)
    values, sizes, underflow = _candidate_values(form, p[order])
    best = int((problem.sign * values).argmax())
    errors = relative_error(ROUNDINGS * (problem.n + 1)) * (sizes + underflow)
    chosen = ranked(order, best)
    proven = is_proven(problem, problem.sign * values, errors, best, chosen)
    return Answer(chosen, proven, _WHY, problem.n + 1, float(values[best]))


def ranked_fault(problem: Problem) -> str | None:
    """What ranking positions needs and a problem does not have; None where it has it."""
    if problem.confusion is None:
        return "the value must depend on (tp, hyp, ref, n) of two labels only"
    if problem.probabilities is None:
        return "the labels must be independent"
    if problem.constraint is not None:
        return "there must be no constraint: the ranked sequences may not satisfy it"
    return None


def ranked_problem(problem: Problem) -> tuple[Confusion, Floats]:
    """The confusion form and the probabilities of a problem that has both."""
    form, p = problem.confusion, problem.probabilities
    assert form is not None
    assert p is not None
    return form, p


def ranked(order: Ints, k: int) -> Ints:
    """Label indices with ones at the first k positions of an order."""
    indices = np.zeros(len(order), np.int64)
    indices[order[:k]] = 1
    return indices


def prefix_counts(p: Floats) -> Floats:
    """P(the first k labels hold c ones) for every sequence, an array (sequences, k, c).

    Args:
        p: probabilities of ones, (sequences, n).
    """
    batch, n = p.shape
    table = np.zeros((batch, n + 1, n + 1))
    table[:, 0, 0] = 1.0
    for k in range(n):
        one = p[:, k : k + 1]
        np.multiply(table[:, k, : k + 2], 1.0 - one, out=table[:, k + 1, : k + 2])
        table[:, k + 1, 1 : k + 2] += table[:, k, : k + 1] * one
    return table


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _candidate_values(form: Confusion, p: Floats) -> Floats:
    """The expected value of each candidate, the first k of the sorted positions being ones.

    Returns:
        Three rows: the values, the expected absolute values, and what was too small to be summed.
    """
    n = len(p)
    first, last = prefix_counts(p[None])[0], prefix_counts(p[None, ::-1])[0]
    found = np.empty((3, n + 1))
    for k in range(n + 1):
        tp, rest = np.arange(k + 1.0)[:, None], np.arange(n - k + 1.0)[None, :]
        table = value_of_counts(form, n, tp, float(k), tp + rest)
        left, right = first[k, : k + 1], last[n - k, : n - k + 1]
        size = np.abs(table)
        found[:, k] = left @ table @ right, left @ size @ right, (n + 1) * LEAST * size.max()
    return found


RANKING = Method("ranking", _condition, _ranking)
