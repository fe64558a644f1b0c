"""Which method decides: the first in a fixed order whose condition the problem satisfies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from fsmeu.decoding.method import Method
from fsmeu.decoding.moments import MOMENTS
from fsmeu.decoding.problem import Problem
from fsmeu.decoding.ranking import RANKING
from fsmeu.decoding.ranking_fast import RANKING_FAST
from fsmeu.decoding.search import SEARCH
from fsmeu.decoding.simple import EXHAUSTIVE, MARGINAL, NBEST, VITERBI
from fsmeu.decoding.split import ADDITIVE, COUNTING
from fsmeu.limits import FEW_SEQUENCES

__all__ = ["EXACT", "METHODS", "UNPROVEN", "WITH_KEEP", "exact_in_order", "first_among", "fitting"]

_EXACT = (MOMENTS, RANKING_FAST, ADDITIVE, COUNTING, VITERBI, RANKING, EXHAUSTIVE)

METHODS: dict[str, Method] = {method.name: method for method in (*_EXACT, SEARCH, NBEST, MARGINAL)}
"""Every method by name, in the order in which "auto" takes those that it takes."""

EXACT = tuple(method.name for method in _EXACT)
"""The methods that prove their answers, in the order in which "auto" takes them."""

WITH_KEEP = (RANKING.name, EXHAUSTIVE.name, NBEST.name)
"""The methods that value one candidate at a time, so that few states may be kept."""

UNPROVEN = (SEARCH.name, NBEST.name)
"""The methods that answer where none proves its answer."""


def exact_in_order(problem: Problem) -> tuple[str, ...]:
    """The names of the methods that "auto" takes for a proven answer, in order.

    All sequences are compared only where they are few; where they are more, only when that is asked
    for by name.
    """
    most = min(problem.budget, FEW_SEQUENCES)
    if len(problem.model.labels) ** min(problem.n, 64) > most:
        return tuple(name for name in EXACT if name != EXHAUSTIVE.name)
    return EXACT


def fitting(problem: Problem, names: Iterable[str]) -> Iterator[str]:
    """The names of the methods that fit a problem; each condition is read when it is asked for."""
    return (name for name in names if METHODS[name].fits(problem) is None)


def first_among(problem: Problem, method: str, these: Collection[str]) -> str | None:
    """The method that ``decode`` takes first, if it is one of these; None where it is another.

    Args:
        problem: what is decided, with no states left out.
        method: "auto", or a method by name.
        these: names of methods.
    """
    names = exact_in_order(problem) if method == "auto" else (method,)
    last = max((k for k, name in enumerate(names) if name in these), default=-1)
    found = next(fitting(problem, names[: last + 1]), None)
    return found if found in these else None
