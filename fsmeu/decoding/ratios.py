"""Decisions for values that are sums of ratios of counts, of independent labels of two kinds.

If more true positives never make the value worse, the best sequence with k ones has them at the k
most probable positions (Natarajan 2016, Theorem 6), so that n + 1 candidates remain. Their expected
values come from generating functions at a few nodes (``trellis/independent.py``): those of all k
where rows are short, for many rows at once; where they are long, of the k that bounds leave. Very
short rows are valued by tables of all counts (``trellis/count_tables.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import Answer, Method, Problem, certify, optimality_gap
from fsmeu.decoding.ranking import ranked_fault
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.algebra.ratio_family import RatioFamily, family_of
from fsmeu.models import Bernoulli, Model
from fsmeu.models.checks import vector_of_numbers
from fsmeu.trellis.count_tables import (
    RowValues,
    count_tables,
    grows_with_hits,
)
from fsmeu.trellis.independent import UnfitError, node_values
from fsmeu.trellis.independent_search import UNSEEN, ranked_values

if TYPE_CHECKING:
    from fsmeu.trellis.ranked_kernels import BestOfRows


_NO_RATIOS = "the value must be a sum of ratios of counts"
_WORSE = "more true positives must never make it worse"
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
    is_short = problem.n < limits.FEWEST_FOR_NODES
    # Tables of all counts need no ratios at their own length: that there are any is asked once.
    family = _family(form, limits.FEWEST_FOR_NODES if is_short else problem.n)
    if family is None:
        return _NO_RATIOS
    if is_short:
        tables = count_tables(form, problem.n)
        return tables if grows_with_hits(tables, problem.sign) else _WORSE
    _check_extremes(form, problem.n)
    if not (family.rises if problem.sign > 0 else family.falls):
        return _WORSE
    if problem.n > limits.SHORT_RULE:
        return family
    try:
        return node_values(family)
    except UnfitError as error:
        return str(error)


def _family(form: Confusion, n: int) -> RatioFamily | None:
    """The value as a sum of ratios at a length, derived once."""
    return form.bound.at(n).derived.get("ratio family", partial(family_of, form, n))


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
    answers: list[Answer | str] = []
    size = rows_at_once(problems[0].n)
    for begin in range(0, len(problems), size):
        some = problems[begin : begin + size]
        found: Sequence[Answer | str]
        if isinstance(ranking, RatioFamily):
            found = [_long_answer(problem, ranking) for problem in some]
        else:
            found = _answers(some, ranking)
        for problem, answer in zip(some, found, strict=True):
            again = None
            if isinstance(answer, Answer) and answer.gap > 1e-9 * abs(answer.value or 0.0):
                again = _equal_answer(problem)
            answers.append(again or answer)
    return answers


def _equal_answer(problem: Problem) -> Answer | None:
    """The answer where all labels have one probability, if it is proven: roundings cancel less."""
    p = problem.probabilities
    assert p is not None
    assert problem.confusion is not None
    if problem.n < 2 or p.min() < p.max():
        return None
    family = _family(problem.confusion, problem.n)
    equal = None if family is None else family.of_equal_labels
    answer = "" if equal is None else _long_answer(problem, equal, unseen=-1.0)
    return answer if isinstance(answer, Answer) else None


def rows_at_once(n: int) -> int:
    """How many sequences of a length are decided at once."""
    return max(1, limits.RANKED_CELLS // (n + 1))


def decide_rows(ranking: RowValues, p: Floats, sign: float, off: Floats | float) -> BestOfRows:
    """The best sequence of each row.

    Args:
        ranking: what values candidates.
        p: P(1), (rows, n).
        sign: 1 where greater values are better, -1 where smaller ones are.
        off: what values may be off by besides, (rows, 1), or of all rows.
    """
    from fsmeu.trellis.ranked_kernels import BestOfRows, choose_best

    descending = _descending(p)
    values, errors = ranking.values(descending)
    errors += off
    best = BestOfRows(np.empty(p.shape, np.int64), *np.empty((3, len(p))))
    choose_best(p, descending, values, errors, sign, best)
    return best


def _descending(p: Floats) -> Floats:
    """Probabilities in descending order along the last axis."""
    descending = -p
    descending.sort(axis=-1)
    return np.negative(descending, out=descending)


def _answers(problems: Sequence[Problem], ranking: RowValues) -> list[Answer]:
    """The answers to problems of a short length."""
    p = np.array([problem.probabilities for problem in problems])
    off = np.array([[_off(problem)] for problem in problems])
    best = decide_rows(ranking, p, problems[0].sign, off)
    answers = []
    for row, problem in enumerate(problems):
        value = float(best.values[row])
        answer = Answer(best.indices[row], WHY, problem.n + 1, value)
        answers.append(certify(problem, answer, float(best.gaps[row])))
    return answers


def _off(problem: Problem) -> float:
    """What values may be off by as P(0) is not 1 - P(1)."""
    return problem.binary.off if problem.binary else 0.0


def _long_answer(problem: Problem, family: RatioFamily, unseen: float = UNSEEN) -> Answer | str:
    """The answer to a problem of a long length, or what must hold and does not.

    ``unseen`` is as of ``ranked_values``.
    """
    from fsmeu.trellis.ranked_kernels import fill_most_probable

    p = problem.probabilities
    assert p is not None
    descending = _descending(p)
    try:
        table = ranked_values(family, descending, problem.sign, unseen)
    except UnfitError as error:
        return str(error)
    errors = table.errors + _off(problem)
    scores = problem.sign * table.values
    best = int(scores.argmax())
    gap = float(optimality_gap(scores, errors, best))
    gap = max(gap, table.outside + _off(problem) - float(scores[best] - errors[best]))
    indices = np.empty(problem.n, np.int64)
    fill_most_probable(p, descending, int(table.ks[best]), indices)
    value = float(table.values[best])
    answer = Answer(indices, WHY, problem.n + 1, value)
    return certify(problem, answer, gap)


class Vectors(NamedTuple):
    """Vectors of one length among models."""

    rows: Ints  # where they are, (vectors,)
    p: Floats  # their numbers, (vectors, n)


def is_plain_matrix(models: Any) -> TypeGuard[NDArray[Any]]:
    """Whether models are the rows of an array of numbers, none of them masked."""
    return type(models) is np.ndarray and models.ndim == 2 and models.dtype.kind in "fiu"


def vectors_by_length(models: Sequence[Any] | NDArray[Any]) -> Iterator[Vectors]:
    """The models that are vectors of numbers, or Bernoulli's."""
    if is_plain_matrix(models):
        yield Vectors(np.arange(len(models)), models.astype(np.float64, copy=False))
        return
    by_length: dict[int, dict[int, Floats]] = {}
    for row, model in enumerate(models):
        vector = None if isinstance(model, Model) else vector_of_numbers(model)
        if isinstance(model, Bernoulli):
            vector = model.p
        if vector is not None:
            by_length.setdefault(len(vector), {})[row] = vector
    for vectors in by_length.values():
        yield Vectors(np.array(list(vectors)), np.stack(list(vectors.values())))


RATIOS = Method("ratios", _condition, _decide, together=True, limited=False)
