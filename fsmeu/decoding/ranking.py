"""Ranking by probability (Jansche 2007, Algorithm 1; Natarajan 2016, Algorithms 1 and 2).

When the value depends on (tp, hyp, ref, n) and does not get worse with more true positives, the
best sequence with k ones has them at the k most probable positions (Natarajan 2016, Theorem 6), so
n + 1 candidates remain. With the first k positions in that order chosen, tp and ref - tp are
independent sums, and one table of distributions serves all candidates: O(n^3) together.
Sums of ratios of counts need less: ``ratios.py``.

Where values have a range, counts far from their means are left out: of a candidate, and where it is
asked whether more true positives make it worse. Where i of z = 1 and j of z = 0 change places,
the expected value changes by (p_j - p_i) E[v(tp + 1, k, ref) - v(tp, k, ref)], ref - 1 and tp being
counts without i and j. At most n / 2 such changes make a sequence a ranked one, so that it cannot
be better than that by more than n / 2 times the width of the range times P(ref is left out).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.candidates import late_sentence, valued_candidates
from fsmeu.decoding.problem import (
    HIDDEN,
    Answer,
    Method,
    Problem,
    certify,
    one_by_one,
    optimality_gap,
)
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.losses.algebra import confusion
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error
from fsmeu.trellis.windows import Window, count_window

NO_TABLE = "the value must depend on (tp, hyp, ref, n) of two labels only"

_APART = 64  # where numbers of ones of y begin and end that are looked at: a multiple of it
_ROOM = 6  # times the tables of all lengths are the cube of the length
_CUT = 1e-20  # the probability of what is left out at either end of a count
_ROUNDINGS = 20  # per position between a probability and the value of a candidate, generously

_SO = (
    "never gets worse with more true positives, so the best sequence ranks positions by probability"
)
WHY = f"labels are independent and the value depends on (tp, hyp, ref, n) and {_SO}"
RANKED = "the best of the sequences that rank positions by probability"
UNKNOWN = "whether more true positives make it worse was not asked, as there are too many tables"


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


class LikelyRefs(NamedTuple):
    """The numbers of ones of y whose tables tell whether more true positives make it worse."""

    numbers: range
    why: str  # what is known of the best of the ranked sequences, if none of these tables tells so
    beyond: float  # how far others may be above them then; infinite where there are too many tables


def likely_refs(problem: Problem) -> LikelyRefs:
    """The numbers of ones of y that are likely; all, where values have no range."""
    n = problem.n
    p = problem.probabilities
    assert p is not None
    ends = problem.loss.value_range(n)
    numbers = range(n + 1)
    beyond = 0.0
    if n > _APART and ends.finite:
        window = count_window(p)
        low = (window.low - 1) // _APART * _APART
        high = -(-(window.low + len(window.masses)) // _APART) * _APART
        numbers = range(max(0, low), min(n, high) + 1)
        beyond = n * window.lost * ends.width
    tables = _ROOM * sum((ref + 1) * (n - ref + 1) for ref in numbers)
    if tables // limits.TABLES_PER_STATE > max_states():
        return LikelyRefs(numbers, RANKED, np.inf)
    return LikelyRefs(numbers, WHY, beyond)


def ranked_answer(
    problem: Problem, order: Ints, values: Floats, errors: Floats, why: str, beyond: float = 0.0
) -> Answer:
    """The best of the sequences with ones at the first k positions of an order, by their values.

    Args:
        problem: the problem.
        order: all positions, (n,).
        values: expected values by k, (n + 1,).
        errors: bounds on their errors, (n + 1,).
        why: the property that makes the best one exact.
        beyond: how far other sequences may be above these; infinite where nothing is known.
    """
    off = problem.binary.off if problem.binary else 0.0
    errors = errors + off
    scores = problem.sign * values
    best = int(scores.argmax())
    gap = float(optimality_gap(scores, errors, best))
    value = float(values[best])
    answer = Answer(ranked(order, best), why, problem.n + 1, value)
    return certify(problem, answer, gap + beyond, UNKNOWN if beyond == np.inf else HIDDEN)


def valued_ranking(problem: Problem, engine: str = "auto") -> Answer:
    """The best of the n + 1 sequences that rank positions by probability, each valued by itself.

    Where the time is short, those with a likely number of ones come first.
    """
    p = problem.probabilities
    assert p is not None
    order = np.argsort(-p, kind="stable")
    numbers = np.argsort(np.abs(np.arange(problem.n + 1) - p.sum()), kind="stable")
    candidates = [ranked(order, int(k)) for k in numbers]
    values = valued_candidates(problem, candidates, engine)
    errors = 0.0 * values
    late = late_sentence(problem, len(values), len(candidates))
    refs = likely_refs(problem)
    if not late and problem.keep is None:
        place = np.argsort(numbers)
        return ranked_answer(problem, order, values[place], errors[place], refs.why, refs.beyond)
    best = int((problem.sign * values).argmax())
    why = late or f"{refs.why}; but only {problem.keep} states per layer were kept"
    value = float(values[best])
    return Answer(candidates[best], why, len(values), value)


# -- any value of the confusion table --------------------------------------------------------------


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where ranked sequences suffice.

    None, too, where it is not asked for, as there are too many tables: the answer is not proven.
    """
    fault = ranked_fault(problem)
    form = problem.confusion
    if fault is not None or form is None:
        return fault
    n = problem.n
    refs = likely_refs(problem)
    cells = 2 * (n + 1) ** 2 // limits.CELLS_PER_STATE
    if not problem.loss.value_range(n).finite:
        cells = max(cells, (n + 1) ** 3 // limits.TABLES_PER_STATE)
    guard_size("decode by ranking", cells)
    if refs.beyond == np.inf:
        return None
    numbers = refs.numbers
    what = ("tp_counterexample", numbers[0], numbers[-1])
    case = problem.cached(what, lambda: confusion.tp_counterexample(form, n, numbers))
    if case is None:
        return None
    at = f"with n={case.n} hyp={case.hyp} ref={case.ref} the value is {case.value:g}"
    worse = f"{case.value_with_one_more:g} at tp={case.tp + 1}"
    return f"more true positives must never make it worse; {at} at tp={case.tp} but {worse}"


def _ranking(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability.

    With ``keep``, candidates are valued by their kept states, and nothing is proven.

    Proven: at every likely table of this length one more true positive is not worse: all are looked
    at. The n + 1 values are sums of probability times value, in which only values of both signs
    cancel: errors are at most ``_ROUNDINGS`` n units of rounding of the expected absolute values.
    """
    if problem.keep is not None:
        return valued_ranking(problem)
    form = problem.confusion
    p = problem.probabilities
    assert form is not None
    assert p is not None
    order = np.argsort(-p, kind="stable")
    refs = likely_refs(problem)
    values, errors, tried = _candidate_values(problem, form, p[order])
    if len(tried) <= problem.n:
        best = int(tried[(problem.sign * values[tried]).argmax()])
        only = f"only {len(tried)} of {problem.n + 1} numbers of ones were tried"
        why = f"{refs.why}; but {only} before {problem.stopped}"
        return Answer(ranked(order, best), why, len(tried))
    return ranked_answer(problem, order, values, errors, refs.why, refs.beyond)


class _Candidates(NamedTuple):
    """The sequences with ones at the first k of the sorted positions, by k, (n + 1,) each."""

    values: Floats  # expected values
    errors: Floats  # bounds on their errors
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
    ends = problem.loss.value_range(n)
    cut = _CUT if ends.finite else 0.0
    sums = np.zeros((2, n + 1))
    order = np.argsort(np.abs(np.arange(n + 1) - p.sum()), kind="stable")
    count = min(n + 1, problem.budget)
    done = 0
    while done < count and not (done and problem.clock.over(done / count)):
        k = int(order[done])
        hits = _likely(first[k, : k + 1], cut)
        missed = _likely(last[n - k, : n - k + 1], cut)
        tp = hits.counts[:, None]
        table = value_of_counts(form, n, tp, float(k), tp + missed.counts)
        value = hits.masses @ table @ missed.masses
        size = value if table.min() >= 0 else hits.masses @ np.abs(table) @ missed.masses
        underflow = (n + 1) * LEAST * np.abs(table).max()
        lost = (hits.lost + missed.lost) * max(map(abs, ends)) if cut else 0.0
        sums[:, k] = value, relative_error(_ROUNDINGS * (n + 1)) * (size + underflow) + lost
        done += 1
    return _Candidates(sums[0], sums[1], order[:done])


def _likely(masses: Floats, cut: float) -> Window:
    """The window of a count without ends of a mass up to ``cut`` each; all of it where it is 0."""
    window = Window(0, masses[None])
    return window.without_ends(cut) if cut else window


RANKING = Method("ranking", _condition, one_by_one(_ranking), limited=False)
