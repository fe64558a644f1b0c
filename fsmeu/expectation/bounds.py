"""The least and the greatest value of a loss, for bounds on what ``keep`` leaves out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.losses.loss import Loss, SpecLoss
from fsmeu.losses.values import constant

__all__ = ["value_range"]

Ints = NDArray[np.int64]


def value_range(loss: Loss, n: int, z: Ints | None) -> tuple[float, float]:
    """Bounds of the value: the range that the file declares, or the extremes of the machine."""
    if isinstance(loss, SpecLoss) and loss.spec.range is not None:
        names = {**loss.bound.params, "n": float(n)}
        low, high = (constant(side, names) for side in loss.spec.range)
        return low, high
    machine = loss.compile(n, None if z is None else loss.alphabet.decode(z))
    return float(np.nanmin(machine.values)), float(np.nanmax(machine.values))
