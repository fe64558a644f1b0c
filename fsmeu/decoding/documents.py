"""The method ``lanes``: one sentence, long or of many labels, whose value is a ratio of totals.

The search is that of ``lanes.py``. Ages stop at a cap, the first of some that hypotheses and
references hardly ever reach (``losses/algebra/saturation.py``), so that long documents have as many
states as short ones.
"""

from __future__ import annotations

from fsmeu import limits
from fsmeu.decoding.chain_ratios import CHAIN_RATIOS
from fsmeu.decoding.lanes import WHY, best_by_lanes
from fsmeu.decoding.problem import Answer, Method, Problem, certify, one_by_one
from fsmeu.expectation.query import allowed_layers
from fsmeu.expectation.totals import ESCAPED, caps, totals_problem, unmet_by_totals
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.trellis_cache import Refused, trellis_of


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where lanes may serve it."""
    if problem.keep is not None:
        return "no states may be left out"
    if problem.n == 0:
        return "there must be a label"
    unmet = unmet_by_totals(problem.loss, problem.n)
    if unmet is None and CHAIN_RATIOS.condition(problem) is None:
        return "the labels must be no chain of two labels: chain_ratios has closer bounds for these"
    return unmet


def _by_lanes(problem: Problem) -> Answer | str:
    """The best sequence, or what does not hold."""
    allowed = None
    if problem.constraint is not None:
        allowed = allowed_layers(problem.model, problem.constraint).layers
    for cap in caps(problem.loss, problem.n):
        trellis = trellis_of(problem.loss, problem.model, allowed, cap)
        if isinstance(trellis, Refused):
            return str(trellis.error)
        group = LaneGroup(trellis, arc_weights_many([problem.model]))
        totals = totals_problem(problem.loss, problem.n, [group])
        if totals is None:
            return "what references count must not be so much"
        if totals.escaped > ESCAPED:
            continue
        found = best_by_lanes(totals)
        if found is None:
            return "the value must be a ratio of totals, of counts that are not negative"
        if cap is not None and trellis.reaches_cap(found.labels[0]):
            continue
        value = problem.sign * found.value
        answer = Answer(found.labels[0], WHY, problem.n + 1, value)
        gap = max(0.0, found.upper - found.value) + found.error
        return certify(problem, answer, gap, "bounds reach beyond its value")
    return "chunks must be shorter"


def _counts_are_faster(problem: Problem) -> bool:
    """Whether counts are faster, as the sequence is short and its labels are few."""
    work: float = problem.n**2 * (len(problem.loss.labels) - 1) ** limits.POWER_OF_LABELS
    if work >= limits.LANE_DECISION_WORK or _condition(problem) is not None:
        return False
    trellis = problem.trellis
    return (
        not isinstance(trellis, Refused) and trellis.work(problem.n, 1) < limits.SWEEP_DECISION_WORK
    )


LANES = Method("lanes", _condition, one_by_one(_by_lanes), after_counting=_counts_are_faster)
