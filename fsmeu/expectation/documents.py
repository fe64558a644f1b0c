"""Expected values and derivatives of documents: long sequences of any labels.

A ratio of totals comes from generating functions at a few nodes (``totals.py``), with ages that
stop at a cap, so that there are as many states as for a short sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.expectation.composition import window_form
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, Levels, LossyValue, ranged_expectation
from fsmeu.expectation.totals import (
    ESCAPED,
    TotalsProblem,
    caps,
    expected_ratio,
    ratio_gradient,
    totals_problem,
    unmet_by_totals,
)
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.trellis_cache import Refused, trellis_of


def is_document(query: Query) -> bool:
    """Whether it is a long sequence, z given, whose value is a ratio of totals."""
    if query.z is None or window_form(query) is not None:
        return False
    if unmet_by_totals(query.loss, query.n) is not None:
        return False
    if query.n**2 * (len(query.loss.labels) - 1) >= limits.DOCUMENT_WORK:
        return True
    trellis = trellis_of(query.loss, query.model)
    return isinstance(trellis, Refused) or trellis.work(query.n, 1) >= limits.SWEEP_WORK


def _document_problem(query: Query, most_escaped: float) -> TotalsProblem | None:
    """The problem with the least cap on ages that z stays below, and y with high probability."""
    assert query.z is not None
    for cap in caps(query.loss, query.n):
        trellis = trellis_of(query.loss, query.model, None, cap)
        if isinstance(trellis, Refused):
            return None
        if cap is None or not trellis.reaches_cap(query.z):
            group = LaneGroup(trellis, arc_weights_many([query.model]))
            problem = totals_problem(query.loss, query.n, [group])
            if problem is None or problem.escaped <= most_escaped:
                return problem
    return None


def document_expectation(query: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation of a document; None if lanes do not apply."""
    problem = _document_problem(query, ESCAPED)
    if problem is None or query.z is None:
        return None
    found = expected_ratio(problem, [[query.z]])
    if found is None:
        return None
    estimate = LossyValue(found.value, found.size, escaped=found.escaped)
    listed = partial(levels, query)
    return ranged_expectation(query.loss, query.n, query.where, estimate, listed)


def document_gradient(query: Query) -> tuple[float, list[Floats]] | None:
    """The value of a document and its derivatives by arc weights; None if lanes do not apply."""
    problem = _document_problem(query, ESCAPED * ESCAPED)  # derivatives may be many times the value
    if problem is None or query.z is None:
        return None
    found = ratio_gradient(problem, [query.z])
    return None if found is None else (float(found[0][0]), found[1][0])
