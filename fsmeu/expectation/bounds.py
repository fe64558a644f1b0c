"""Bounds of an expectation of which only the most probable states were kept."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fsmeu.errors import SizeLimitError
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation
from fsmeu.fst.layers import Layered, pair_layers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import declared_range

__all__ = ["kept_expectation"]


def kept_expectation(asked: Query, levels: Levels, lost_ulps: float) -> Expectation:
    """The kept part with bounds: what was lost is worth at least the least and at most the most.

    Args:
        asked: the query.
        levels: what was kept.
        lost_ulps: units of the last place that probabilities had lost before they were summed, as
            those that come from logarithms have: as many as the logarithm is great.
    """
    value, kept = levels.mean, float(levels.probabilities.sum())
    lost = max(0.0, float(asked.model.total_mass()) - kept)
    z = None if asked.z is None else asked.loss.alphabet.decode(asked.z)
    least, most = _value_range(
        asked.loss, asked.n, z, lambda: pair_layers(asked.hypothesis, asked.model.layered())
    )
    rounding = 4 * sys.float_info.epsilon * (asked.n + 1 + lost_ulps)
    values, probabilities = levels.ungrouped
    size = float(np.abs(values) @ probabilities)
    lower = value + _left_out(lost, least, -rounding) - rounding * size
    upper = value + _left_out(lost, most, rounding) + rounding * size
    return Expectation(value, lower, upper, kept, lambda: levels)


def _left_out(lost: float, extreme: float, rounding: float) -> float:
    """What the lost mass is worth at an extreme of the value, rounded outwards."""
    if not lost and not math.isfinite(extreme):
        return 0.0
    return lost * extreme + rounding * abs(extreme)


def _value_range(loss: Loss, n: int, z: Any, pairs: Callable[[], Layered]) -> tuple[float, float]:
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
