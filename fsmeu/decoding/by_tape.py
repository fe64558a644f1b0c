"""The best sequence of a loss that splits by tape, and whether rounding leaves it the best.

The worth of steps comes from the joint distribution of steps of y and the end of its counter: first
by roots of unity, which is fast. Where the values that this is multiplied by are so unequal that
its errors could change the decision, it is computed by convolutions, whose errors are relative.
What then still could is cancellation between values of both signs, and nothing is claimed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.meeting import Distribution, Worth, step_worths
from fsmeu.decoding.path import best_path
from fsmeu.decoding.polynomials import convolved
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Problem, refuse
from fsmeu.decoding.transforms import transformed
from fsmeu.errors import SizeLimitError
from fsmeu.losses.split import Split

__all__ = ["best_by_tape"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Found = tuple[Ints, int, float, bool]


def best_by_tape(problem: Problem, form: Split, method: str) -> Found:
    """Label indices of the best path, the number of ends compared, its value, whether it is proven.

    Requires that the value looks at no more than one counter of each tape.

    Raises:
        RefusalError: the worth of a step is no number that doubles can hold.
    """
    found = _best(problem, form, method, transformed)
    if found[3]:
        return found
    try:
        return _best(problem, form, method, convolved)
    except SizeLimitError:
        return found


def _best(problem: Problem, form: Split, method: str, distribution: Distribution) -> Found:
    plain = step_worths(form, problem.model, distribution)
    if not (np.isfinite(plain.steps).all() and np.isfinite(plain.ends).all()):
        refuse(method, "the worth of a step must be a number that doubles can hold")
    worth = Worth(plain.z, problem.sign * plain.steps, problem.sign * plain.ends, plain.errors)
    path, end, totals = best_path(worth, problem.constraint)
    proven = is_proven(problem, totals, worth.errors, end, path)
    return path, len(totals), problem.sign * float(totals[end]), proven
