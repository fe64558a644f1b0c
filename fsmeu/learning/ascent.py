"""Hill climbing by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

__all__ = ["Climb", "climb"]

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


def climb(
    objective: Objective,
    start: Floats,
    steps: int,
    tolerance: float = 1e-6,
    *,
    gain: float = 1e-12,
    box: Floats | None = None,
) -> Climb:
    """A local maximum of an objective, by L-BFGS (Liu & Nocedal 1989).

    Args:
        objective: gives the value and the gradient; the value is to be as great as possible.
        start: the weights to begin with.
        steps: the greatest number of iterations; none with 0.
        tolerance: a climb ends where no derivative is greater than this ...
        gain: ... or where a step gains no more than this part of the value.
        box: the least and the greatest value of each weight, (weights, 2); None for no bounds.
    """
    if not steps:
        return Climb(start, objective(start)[0], 0)

    def downhill(weights: Floats) -> tuple[float, Floats]:
        value, slopes = objective(weights)
        return -value, -slopes

    options = {"maxiter": steps, "maxfun": 4 * steps + 20, "gtol": tolerance, "ftol": gain}
    with threadpool_limits(1, "blas"):  # on matrices this small more threads cost more
        found = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return Climb(np.asarray(found.x, np.float64), float(-found.fun), int(found.nit))
