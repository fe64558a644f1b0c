"""The method ``lanes``: one sentence, long or of many labels, whose value is a ratio of totals.

The search is that of ``totals.py``. Ages stop at a cap, the first of some that hypotheses and
references hardly ever reach (``losses/algebra/saturation.py``), so that long documents have as many
states as short ones. A chain of two labels needs no trellis where the loss looks at their confusion
table.
"""

from __future__ import annotations

from fsmeu import limits
from fsmeu.decoding.problem import Answer, Method, Problem, one_by_one
from fsmeu.decoding.totals import WHY, best_by_lanes
from fsmeu.expectation.forms import LabelTotals, chain_totals
from fsmeu.expectation.query import allowed_layers
from fsmeu.expectation.totals import (
    ESCAPED,
    TotalsProblem,
    caps,
    problem_of,
    totals_problem,
    unmet_by_totals,
)
from fsmeu.models.base import arc_weights_many
from fsmeu.models.chains import is_binary_chain
from fsmeu.trellis.chains import ChainGroup
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.trellis_cache import Refused, trellis_of


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where lanes may serve it."""
    if problem.keep is not None:
        return "no states may be left out"
    if problem.n == 0:
        return "there must be a label"
    if problem.n > 1 and _chain(problem) is not None:
        return None
    return unmet_by_totals(problem.loss, problem.n)


def _chain(problem: Problem) -> tuple[LabelTotals, ChainGroup] | None:
    """A chain of two labels of which all sequences are allowed, and the value by their table."""
    return None if problem.constraint is not None else chain_totals(problem.loss, problem.model)


def _by_lanes(problem: Problem) -> Answer | str:
    """The best sequence, or what does not hold."""
    chain = _chain(problem)
    if chain is not None:
        return _decided(problem, problem_of(problem.loss, problem.n, chain[0], chain[1:]))
    allowed = None
    if problem.constraint is not None:
        allowed = allowed_layers(problem.model, problem.constraint).layers
    for cap in caps(problem.loss, problem.n):
        trellis = trellis_of(problem.loss, problem.model, allowed, cap)
        if isinstance(trellis, Refused):
            return str(trellis.error)
        group = LaneGroup(trellis, arc_weights_many([problem.model]))
        totals = totals_problem(problem.loss, problem.n, [group])
        if totals is not None and totals.escaped > ESCAPED:
            continue
        answer = _decided(problem, totals)
        if isinstance(answer, str) or cap is None or not trellis.reaches_cap(answer.indices):
            return answer
    return "chunks must be shorter"


def _decided(problem: Problem, totals: TotalsProblem | None) -> Answer | str:
    """The best sequence, or what does not hold."""
    if totals is None:
        return "what references count must not be so much"
    found = best_by_lanes(totals, problem.width)
    if found is None:
        return "the value must be a ratio of totals, of counts that are not negative"
    return Answer(
        indices=found.labels[0],
        why=WHY,
        candidates=problem.n + 1,
        value=problem.sign * found.value,
        gap=max(0.0, found.upper - found.value) + totals.escaped,
        doubt="bounds reach beyond its value",
    )


def _counts_are_faster(problem: Problem) -> bool:
    """Whether counts are faster, as the sequence is short and its labels are few."""
    if is_binary_chain(problem.model) and problem.confusion is not None:
        return problem.n < limits.LONG_CHAIN
    work: float = problem.n**2 * (len(problem.loss.labels) - 1) ** limits.POWER_OF_LABELS
    if work >= limits.LANE_DECISION_WORK or _condition(problem) is not None:
        return False
    trellis = problem.trellis
    return (
        not isinstance(trellis, Refused) and trellis.work(problem.n, 1) < limits.SWEEP_DECISION_WORK
    )


LANES = Method("lanes", _condition, one_by_one(_by_lanes), after_counting=_counts_are_faster)
