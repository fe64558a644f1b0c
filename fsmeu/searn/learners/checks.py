"""Checks of numbers that are given as parameters."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from fsmeu.errors import InputError, sentence

__all__ = ["number_between"]


def number_between(where: str, name: str, value: Any, low: float, high: float) -> float:
    """A number that was given, checked.

    Raises:
        InputError: it is no number, or not between both bounds.
    """
    if isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high:
        return float(value)
    span = f"from {low:g} to {high:g}" if np.isfinite(high) else f"of at least {low:g}"
    raise InputError(sentence(where, f"{name} must be a number {span}", value))
