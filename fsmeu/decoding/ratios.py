"""Decisions for values that are sums of ratios of counts, of independent labels of two kinds.

If more true positives never make the value worse, the best sequence with k ones has them at the k
most probable positions (Natarajan 2016, Theorem 6), so that n + 1 candidates remain. Their expected
values come from generating functions at a few nodes (``trellis/independent.py``): those of all k
where rows are short, for many rows at once; where they are long, of the k that bounds leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import Answer, Method, Problem, certify, optimality_gap
from fsmeu.decoding.ranking import ranked_fault
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.algebra.ratio_family import RatioFamily, family_of
from fsmeu.trellis.independent import SHORT, RowValues, UnfitError, row_values
from fsmeu.trellis.independent_search import ranked_values

RANKED_CELLS = 4_000_000  # values of candidates that are computed at once: 32 MB

_NOT_BINARY = "labels must be two, independent, and P(0) be 1 - P(1), or the range be declared"
WHY = (
    "labels are independent and the value is a sum of ratios of counts that never gets worse with "
    "more true positives, so the best sequence ranks positions by probability"
)


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where rules serve it."""
    if problem.keep is not None:
        return "keep is for methods that value one candidate at a time"
    fault = ranked_fault(problem)
    if fault is not None:
        return fault
    ranking = ranking_of(problem)
    return ranking if isinstance(ranking, str) else None


def ranking_of(problem: Problem) -> RowValues | RatioFamily | str:
    """What values candidates of this length, short or long; or what must hold and does not.

    A RangeError for values outside of the declared range.
    """
    return problem.cached("ratios", partial(_derived, problem))


def _derived(problem: Problem) -> RowValues | RatioFamily | str:
    form = problem.confusion
    assert form is not None
    if not problem.n:
        return "there must be labels"
    _check_extremes(form, problem.n)
    family = family_of(form, problem.n)
    if family is None:
        return "the value must be a sum of ratios of counts"
    if not (family.rises if problem.sign > 0 else family.falls):
        return "more true positives must never make it worse"
    if problem.n > SHORT:
        return family
    try:
        return row_values(family)
    except UnfitError as error:
        return str(error)


def _check_extremes(form: Confusion, n: int) -> None:
    """A RangeError if a value is outside of the declared range at a vertex of all tables.

    A ratio is extreme at a vertex: all pairs in one cell of the table, or all but one where the
    denominator would be 0.
    """
    if form.bound.spec.range is None:
        return
    tables = [cells for cells in product({0, 1, n - 1, n}, repeat=4) if sum(cells) == n]
    _, missed, wrong, hits = np.array(tables, np.float64).T
    value_of_counts(form, n, hits, wrong + hits, missed + hits)


def _decide(problems: Sequence[Problem]) -> list[Answer | str]:
    """The best of the n + 1 sequences that rank positions by probability, for each problem."""
    ranking = ranking_of(problems[0])
    assert not isinstance(ranking, str)
    # Whether P(1) suffices depends on the numbers of a model: the first was asked, not the others.
    fitting = [row for row, problem in enumerate(problems) if problem.probabilities is not None]
    answers: list[Answer | str] = [_NOT_BINARY] * len(problems)
    size = rows_at_once(problems[0].n)
    for begin in range(0, len(fitting), size):
        rows = fitting[begin : begin + size]
        some = [problems[row] for row in rows]
        found: Sequence[Answer | str]
        if isinstance(ranking, RatioFamily):
            found = [_long_answer(problem, ranking) for problem in some]
        else:
            found = _answers(some, ranking)
        for row, answer in zip(rows, found, strict=True):
            answers[row] = answer
    return answers


def rows_at_once(n: int) -> int:
    """How many sequences of a length are decided at once."""
    return max(1, RANKED_CELLS // (n + 1))


class DecidedRows(NamedTuple):
    """The best sequences of several rows."""

    indices: Ints  # label indices, (rows, n)
    values: Floats  # expected values, (rows,)
    errors: Floats  # bounds on their errors, (rows,)
    gaps: Floats  # bounds on how far others are above the best, (rows,)


def decide_rows(ranking: RowValues, p: Floats, sign: float, off: Floats) -> DecidedRows:
    """The best sequence of each row.

    Args:
        ranking: what values candidates.
        p: P(1), (rows, n).
        sign: 1 where greater values are better, -1 where smaller ones are.
        off: what values may be off by besides, (rows,).
    """
    descending = np.sort(p, axis=1)[:, ::-1]
    values, errors = ranking.values(np.ascontiguousarray(descending))
    errors += off[:, None]
    scores = sign * values
    best = scores.argmax(axis=1)
    gaps = optimality_gap(scores, errors, best)
    at = (np.arange(len(p)), best)
    return DecidedRows(most_probable(p, descending, best), values[at], errors[at], gaps)


def most_probable(p: Floats, descending: Floats, counts: Ints) -> Ints:
    """Ones at as many of the most probable positions of each row, (rows, n); of equal, the first.

    Args:
        p: probabilities, (rows, n).
        descending: the same in descending order.
        counts: how many ones, (rows,).
    """
    last = np.take_along_axis(descending, np.maximum(counts - 1, 0)[:, None], axis=1)
    indices = ((p >= last) & (counts > 0)[:, None]).astype(np.int64)
    for row in np.flatnonzero(indices.sum(axis=1) != counts):  # ties with the last of them
        equal = np.flatnonzero(p[row] == last[row])
        above = int(np.count_nonzero(p[row] > last[row]))
        indices[row, equal[counts[row] - above :]] = 0
    return indices


def _answers(problems: Sequence[Problem], ranking: RowValues) -> list[Answer]:
    """The answers to problems of a short length."""
    first = problems[0]
    p = np.stack([problem.probabilities for problem in problems])  # type: ignore[misc]
    off = np.array([_off(problem) for problem in problems])
    decided = decide_rows(ranking, p, first.sign, off)
    answers = []
    for row, problem in enumerate(problems):
        value = float(decided.values[row])
        error = float(decided.errors[row])
        answer = Answer(decided.indices[row], False, WHY, problem.n + 1, value, error)
        answers.append(certify(problem, answer, float(decided.gaps[row])))
    return answers


def _off(problem: Problem) -> float:
    """What values may be off by as P(0) is not 1 - P(1)."""
    return problem.binary.off if problem.binary else 0.0


def _long_answer(problem: Problem, family: RatioFamily) -> Answer | str:
    """The answer to a problem of a long length, or what must hold and does not."""
    p = problem.probabilities
    assert p is not None
    descending = -p
    descending.sort()
    np.negative(descending, out=descending)
    try:
        table = ranked_values(family, descending, problem.sign)
    except UnfitError as error:
        return str(error)
    errors = table.errors + _off(problem)
    scores = problem.sign * table.values
    best = int(scores.argmax())
    gap = float(optimality_gap(scores, errors, best))
    gap = max(gap, table.outside + _off(problem) - float(scores[best] - errors[best]))
    indices = most_probable(p[None], descending[None], table.ks[best : best + 1])[0]
    value = float(table.values[best])
    answer = Answer(indices, False, WHY, problem.n + 1, value, float(errors[best]))
    return certify(problem, answer, gap)


RATIOS = Method("ratios", _condition, _decide, together=True)
