"""Bounds of an expectation: of its rounding errors, and of what was left out by ``keep``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fsmeu.errors import SizeLimitError
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, check_finite
from fsmeu.fst.layers import Layered, pair_layers
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.roundings import Sums, relative_error

__all__ = ["bounded_expectation", "kept_expectation", "sums_of_levels"]


def bounded_expectation(asked: Query, found: Sums, levels: Callable[[], Levels]) -> Expectation:
    """The expectation, with bounds that rounding does not reach past.

    Args:
        asked: the query.
        found: its value as a batch of one.
        levels: its distribution, when it is asked for.
    """
    value, kept = float(found.values[0]), float(found.masses[0])
    check_finite("expect", value)
    error = _error(asked, found)
    return Expectation(value, value - error, value + error, kept, levels)


def kept_expectation(asked: Query, levels: Levels, roundings: int) -> Expectation:
    """The kept part with bounds: what was lost is worth at least the least and at most the most.

    Args:
        asked: the query.
        levels: what was kept.
        roundings: a bound on the roundings behind each of its probabilities.
    """
    roundings += 8 * (asked.n + 1)  # of the mass of the model
    found = sums_of_levels(levels, roundings)
    value, kept, error = float(found.values[0]), float(found.masses[0]), _error(asked, found)
    lost = max(0.0, float(asked.model.total_mass()) - kept)
    z = None if asked.z is None else asked.loss.alphabet.decode(asked.z)
    least, most = _value_range(
        asked.loss, asked.n, z, lambda: pair_layers(asked.hypothesis, asked.model.layered())
    )
    rounding = relative_error(roundings)
    lower = value + _left_out(lost, least, -rounding) - error
    upper = value + _left_out(lost, most, rounding) + error
    return Expectation(value, lower, upper, kept, lambda: levels)


def _error(asked: Query, found: Sums) -> float:
    """A bound on the error of a value; 0 where sequences are empty: one pair has one value."""
    return float(found.errors[0]) if asked.n else 0.0


def sums_of_levels(levels: Levels, roundings: int) -> Sums:
    """The mean of a distribution as a sum, in a batch of one."""
    values, probabilities = levels.ungrouped
    size = float(np.abs(values) @ probabilities)
    means, masses, sizes = np.array([[levels.mean], [probabilities.sum()], [size]])
    return Sums(means, masses, sizes, roundings)


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
