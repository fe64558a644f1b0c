"""The least and the greatest value of a loss, for bounds on what ``keep`` leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fsmeu.errors import SizeLimitError
from fsmeu.fst.layers import Layered
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import declared_range

__all__ = ["value_range"]


def value_range(loss: Loss, n: int, z: Any, pairs: Callable[[], Layered]) -> tuple[float, float]:
    """Bounds of the value of these pairs: the range that the file declares, or the extremes met.

    A side that is declared infinite is sought in the machine, too; it stays infinite where the
    machine is too large to be built.
    """
    low, high = -math.inf, math.inf
    if isinstance(loss, SpecLoss):
        low, high = declared_range(loss.bound, n)
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    try:
        machine = loss.compile(n, z, pairs=pairs())
    except SizeLimitError:
        return low, high
    least, most = float(np.nanmin(machine.values)), float(np.nanmax(machine.values))
    return max(low, least), min(high, most)
