"""Hill climbing from several starts, by L-BFGS; and checks of the parameters that steer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from fsmeu.errors import InputError, sentence

__all__ = ["Climb", "climb", "climb_all", "nonnegative"]

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
"""A function of the weights and its gradient."""


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended.

    Attributes:
        weights: the weights there.
        value: the objective there.
        steps: the number of iterations.
    """

    weights: Floats
    value: float
    steps: int


def climb(objective: Objective, start: Floats, steps: int, tolerance: float = 1e-6) -> Climb:
    """A local maximum of an objective, by L-BFGS (Liu & Nocedal 1989).

    Args:
        objective: gives the value and the gradient; the value is to be as great as possible.
        start: the weights to begin with.
        steps: the greatest number of iterations; none with 0.
        tolerance: a climb ends where no derivative is greater than this.
    """
    if not steps:
        return Climb(start, objective(start)[0], 0)

    def downhill(weights: Floats) -> tuple[float, Floats]:
        value, slopes = objective(weights)
        return -value, -slopes

    options = {"maxiter": steps, "maxfun": 4 * steps + 20, "gtol": tolerance, "ftol": 1e-12}
    found = minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
    return Climb(np.asarray(found.x, np.float64), float(-found.fun), int(found.nit))


def climb_all(
    objective: Objective, starts: Iterable[Floats], steps: int, tolerance: float = 1e-6
) -> list[Climb]:
    """Where the climb from each start ended, in their order."""
    return [climb(objective, start, steps, tolerance) for start in starts]


def nonnegative(where: str, name: str, value: object) -> float:
    """A number that was given, checked.

    Raises:
        InputError: it is no finite number of at least 0.
    """
    if isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < np.inf:
        return float(value)
    raise InputError(sentence(where, f"{name} must be a finite number of at least 0", value))
