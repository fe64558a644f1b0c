"""Additive losses: marginals of the y-part, then a best path through the z-part.

Where the value is a sum over positions of amounts that depend on a step of each tape, the
expected amount of every step of z can be tabulated, and the best sequence is a best path. Exact
under any model: Hamming, cost matrices, Pk, WindowDiff.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmeu.decoding.method import Method
from fsmeu.decoding.problem import Answer, Problem

__all__ = ["ADDITIVE", "additive_many"]


def _condition(problem: Problem) -> str | None:
    """What must hold of the loss and does not; None where it is additive."""
    form = problem.split
    if form is None or not form.additive:
        return "the value must be a sum over positions that splits by tape"
    return None


def _additive(problem: Problem) -> Answer | str:
    """The best path through the z-part.

    Requires a loss that splits by tape, its value affine in accumulators alone.

    Proven: the split is derived from the expression trees, for every length; the expected value is
    then a sum over the steps of z, and a best path through them is a best sequence. Errors are
    bounded, and the best is claimed if no other reaches it by more than ``PRECISION``; see
    ``by_tape``.
    """
    return additive_many([problem])[0]


def additive_many(problems: Sequence[Problem]) -> list[Answer | str]:
    """The same for several problems that differ in the numbers of the model only."""
    why = "the value is a sum over positions, and each tape's share of a step is known"
    from fsmeu.decoding.by_tape import best_by_tape  # loads scipy, which takes a while

    return [
        found
        if isinstance(found, str)
        else Answer(found.indices, found.proven, why, 0, found.value, found.error)
        for found in best_by_tape(problems)
    ]


ADDITIVE = Method("additive", _condition, _additive)
