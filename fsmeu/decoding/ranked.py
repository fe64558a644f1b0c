"""Decisions of independent labels of two kinds, which rank positions by probability.

If one more true positive never makes the value worse (``losses/algebra/monotone.py``), the best
sequence with k ones has them at the k most probable positions (Jansche 2007, Algorithm 1; Natarajan
2016, Theorem 6 and Algorithms 1 and 2), so that n + 1 candidates remain.

``ratios``: the value is a sum of quotients of counts; all k are valued together, at a few nodes
(``trellis/ranked.py``), of long sequences those k that bounds leave. ``ranking``: any other value,
by tables of counts (``trellis/ranked_counts.py``); where there are too many of these, k is searched
for along the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.candidates import late_sentence, valued_candidates
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.problem import OPEN, Answer, Method, Problem, one_by_one
from fsmeu.fst.compose import guard_size
from fsmeu.losses.algebra.confusion import (
    Counterexample,
    corner_tables,
    tp_counterexample,
    value_of_counts,
)
from fsmeu.losses.algebra.monotone import never_worse
from fsmeu.losses.algebra.value import Value, value_at_length
from fsmeu.models import Bernoulli, Model
from fsmeu.models.checks import vector_of_numbers
from fsmeu.trellis.given_labels import expected_values
from fsmeu.trellis.item_quotients import UnfitError
from fsmeu.trellis.ranked import RankedRows, most_probable, ranked_values
from fsmeu.trellis.ranked_counts import RankedCounts, search_along

NO_TABLE = "the value must depend on (tp, hyp, ref, n) of two labels only"
_NO_RATIOS = "the value must be a sum of ratios of counts"
_UNEVEN = "the denominator must weigh ones of y alike whatever the number of ones of z"
_WORSE = "more true positives must never make it worse"
_SO = (
    "never gets worse with more true positives, so the best sequence ranks positions by probability"
)
WHY = f"labels are independent and the value is a sum of ratios of counts that {_SO}"
_WHY_RANKED = f"labels are independent and the value depends on (tp, hyp, ref, n) and {_SO}"
_RANKED = "the best of the sequences that rank positions by probability"
_UNKNOWN = "whether more true positives make it worse is not known: there are too many tables"
_CUT = 1e-13  # the probability of what is left out at either end of a count


# -- what must hold --------------------------------------------------------------------------------


def ranked_fault(problem: Problem) -> str | None:
    """The condition of ranking positions that a problem does not meet; None where it meets all."""
    if problem.confusion is None:
        return NO_TABLE
    if problem.probabilities is None:
        return "the labels must be independent"
    if problem.constraint is not None:
        return "there must be no constraint: the ranked sequences may not satisfy it"
    return None


def worse_table(problem: Problem) -> Counterexample | bool:
    """A table that one more true positive makes worse; False if there is none, True if unknown."""
    form = problem.confusion
    assert form is not None
    if not problem.n or never_worse(form, problem.n):
        return False
    if problem.n > limits.LONGEST_TABLED:
        return True
    case = problem.cached("tp_counterexample", lambda: tp_counterexample(form, problem.n))
    return case or False


def _ratios_condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where rules serve it."""
    if problem.keep is not None:
        return "keep is for methods that value one candidate at a time"
    fault = ranked_fault(problem)
    if fault is not None:
        return fault
    if not problem.n:
        return "there must be labels"
    rows = rows_of(problem)
    if isinstance(rows, str):
        return rows
    return _WORSE if worse_table(problem) else None


def rows_of(problem: Problem) -> RankedRows | str:
    """What values rows of the length of a problem; or what must hold and does not. It is kept.

    A RangeError for values outside of the declared range.
    """
    return problem.cached("ranked rows", partial(_derived_rows, problem))


def _derived_rows(problem: Problem) -> RankedRows | str:
    form = problem.confusion
    assert form is not None
    value = value_at_length(form, problem.n)
    if value is None:
        return _NO_RATIOS
    if form.bound.spec.range is not None:  # a ratio is extreme where most pairs are in one cell
        value_of_counts(form, problem.n, *corner_tables(problem.n))
    try:
        return RankedRows(value)
    except UnfitError:
        return _UNEVEN


# -- sums of quotients -----------------------------------------------------------------------------


def _by_ratios(problems: Sequence[Problem]) -> list[Answer | str]:
    """The best of the n + 1 sequences that rank positions by probability, for each problem."""
    rows = rows_of(problems[0])
    assert isinstance(rows, RankedRows)
    n = problems[0].n
    if n > limits.SHORT_RULE:
        return [_long_answer(problem, rows.value) for problem in problems]
    answers: list[Answer | str] = []
    size = rows_at_once(n)
    for begin in range(0, len(problems), size):
        some = problems[begin : begin + size]
        p = np.array([problem.probabilities for problem in some])
        best = rows.best(p, some[0].sign)
        pairs = zip(best.indices, best.values.tolist(), strict=True)
        answers += [Answer(z, WHY, n + 1, value, 0.0) for z, value in pairs]
    return answers


def rows_at_once(n: int) -> int:
    """How many sequences of a length are decided at once."""
    return max(1, limits.RANKED_CELLS // (n + 1))


def decide_rows(problem: Problem, p: Floats, rows: Sequence[int]) -> Iterator[tuple[int, Decision]]:
    """Proven decisions for rows of probabilities like that of a problem, each with its row.

    Every one is looked at again; those whose value is another then, or whose digits cancel, are
    left out.
    """
    ranked_rows = rows_of(problem)
    assert isinstance(ranked_rows, RankedRows)
    best = ranked_rows.best(p, problem.sign)
    estimate = expected_values(ranked_rows.value, best.indices, p)
    again = estimate.values
    declared = problem.loss.value_range(problem.n)
    reach = estimate.reach(declared.width)
    low = again - reach
    high = again + reach
    if problem.sign > 0:
        high = np.maximum(again, np.minimum(high, declared.high))
    else:
        low = np.minimum(again, np.maximum(low, declared.low))
    is_same = np.abs(again - best.values) <= reach
    is_proven = (is_same & ~estimate.cancels(declared.width)).tolist()
    columns = (best.indices.tolist(), again.tolist(), low.tolist(), high.tolist())
    proof: dict[str, Any] = {
        "exact": True,
        "method": "ratios",
        "why": WHY,
        "candidates": problem.n + 1,
    }
    for row, proven, z, value, lower, upper in zip(rows, is_proven, *columns, strict=True):
        if proven:  # labels are their own indices
            yield row, Decision(labels=z, value=value, lower=lower, upper=upper, **proof)


def _long_answer(problem: Problem, value: Value) -> Answer:
    """The answer to a problem of a long length."""
    p = problem.probabilities
    assert p is not None
    descending = -np.sort(-p)
    found = ranked_values(value, descending, problem.sign)
    best = int(found.scores.argmax())
    score = float(found.scores[best])
    indices = most_probable(p[None], descending[None], found.ks[best : best + 1])[0]
    gap = max(0.0, found.outside - score)
    return Answer(indices, WHY, problem.n + 1, problem.sign * score, gap)


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


# -- any value of the confusion table --------------------------------------------------------------


def ranked(order: Ints, k: int) -> Ints:
    """Label indices with ones at the first k positions of an order."""
    indices = np.zeros(len(order), np.int64)
    indices[order[:k]] = 1
    return indices


def _ranking_condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where ranked sequences suffice.

    None, too, where that is not known, as there are too many tables: the answer is not proven.
    """
    fault = ranked_fault(problem)
    if fault is not None:
        return fault
    if not problem.loss.value_range(problem.n).finite:
        guard_size("decode by ranking", (problem.n + 1) ** 3 // limits.TABLES_PER_STATE)
    case = worse_table(problem)
    if isinstance(case, bool):
        return None
    at = f"with n={case.n} hyp={case.hyp} ref={case.ref} the value is {case.value:g}"
    worse = f"{case.value_with_one_more:g} at tp={case.tp + 1}"
    return f"{_WORSE}; {at} at tp={case.tp} but {worse}"


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _ranking(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability.

    With ``keep``, candidates are valued by their kept states, and nothing is proven.
    """
    if problem.keep is not None:
        return valued_ranking(problem)
    form = problem.confusion
    p = problem.probabilities
    assert form is not None
    assert p is not None
    n = problem.n
    order = np.argsort(-p, kind="stable")
    counts = RankedCounts(p[order], _CUT if problem.loss.value_range(n).finite else 0.0)
    scores: dict[int, float] = {}

    def score(k: int) -> float:
        scores[k] = problem.sign * counts.value(form, k)
        return scores[k]

    only = ""
    if n > limits.LONGEST_RANKED:
        search_along(score, n)
        only = f"{len(scores)} of {n + 1} numbers of ones were searched along the ranking"
    else:
        for k in _likely_first(p)[: problem.budget].tolist():
            if scores and problem.clock.over(len(scores) / (n + 1)):
                break
            score(k)
        if len(scores) <= n:
            tried = f"only {len(scores)} of {n + 1} numbers of ones were tried"
            only = f"{tried} before {problem.stopped}"
    best = max(scores, key=lambda k: scores[k])
    return _ranked_answer(problem, ranked(order, best), problem.sign * scores[best], only)


def _likely_first(p: Floats) -> Ints:
    """The numbers of ones, the expected one first."""
    return np.argsort(np.abs(np.arange(len(p) + 1) - p.sum()), kind="stable")


def _ranked_answer(problem: Problem, indices: Ints, value: float, only: str = "") -> Answer:
    """The answer that is the best of the ranked sequences, or of some of them."""
    unknown = worse_table(problem) is True
    doubt = only or (_UNKNOWN if unknown else OPEN)
    why = _RANKED if unknown else _WHY_RANKED
    gap = np.inf if only or unknown else 0.0
    return Answer(indices, why, problem.n + 1, value, gap, doubt=doubt)


def valued_ranking(problem: Problem, engine: str = "auto") -> Answer:
    """The best of the n + 1 sequences that rank positions by probability, each valued by itself.

    Where the time is short, those with a likely number of ones come first.
    """
    p = problem.probabilities
    assert p is not None
    order = np.argsort(-p, kind="stable")
    candidates = [ranked(order, int(k)) for k in _likely_first(p)]
    values = valued_candidates(problem, candidates, engine)
    best = int((problem.sign * values).argmax())
    only = late_sentence(problem, len(values), len(candidates))
    if problem.keep is not None and not only:
        only = f"only {problem.keep} states per layer were kept"
    return _ranked_answer(problem, candidates[best], float(values[best]), only)


RATIOS = Method("ratios", _ratios_condition, _by_ratios, together=True, limited=False)
RANKING = Method("ranking", _ranking_condition, one_by_one(_ranking), limited=False)
