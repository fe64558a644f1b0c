"""Additive losses: marginals of the y-part, then a best path through the z-part.

Where the value is a sum over positions of amounts that depend on a step of each tape, the
expected amount of every step of z can be tabulated, and the best sequence is a best path. Exact
under any model: Hamming, cost matrices, Pk, WindowDiff.
"""

from __future__ import annotations

from fsmeu.decoding.meeting import Worth, step_worths
from fsmeu.decoding.path import best_path
from fsmeu.decoding.problem import Answer, Problem, refuse

__all__ = ["additive"]


def additive(problem: Problem) -> Answer:
    """The best path through the z-part.

    Requires a loss that splits by tape, its value affine in accumulators alone.
    """
    form = problem.split
    if form is None or not form.additive:
        refuse("additive", "the value must be a sum over positions that splits by tape")
    worth = step_worths(form, problem.model)
    signed = Worth(worth.z, problem.sign * worth.steps, problem.sign * worth.ends)
    path, best = best_path(signed, problem.constraint)
    why = "the value is a sum over positions, and each tape's share of a step is known"
    return Answer(path, True, why, 0, problem.sign * best)
