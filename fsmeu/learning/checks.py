"""Checks of numbers that estimators are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

from fsmeu.errors import InputError, sentence

__all__ = ["nonnegative", "positive_number", "real"]


def real(where: str, name: str, value: object, which: str, holds: Callable[[float], bool]) -> float:
    """A number that was given, checked.

    Args:
        where: who asks, for messages.
        name: what it is called.
        value: what was given.
        which: what it must be, in words.
        holds: whether a number is that.

    Raises:
        InputError: it is not a number, or not such a one.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isnan(number) and holds(number):
        return number
    raise InputError(sentence(where, f"{name} must be a {which}", value))


def nonnegative(where: str, name: str, value: object) -> float:
    """A finite number of at least 0 that was given, checked.

    Raises:
        InputError: it is none.
    """
    must = "finite number of at least 0"
    return real(where, name, value, must, lambda number: 0.0 <= number < math.inf)


def positive_number(where: str, name: str, value: object) -> float:
    """A finite number above 0 that was given, checked.

    Raises:
        InputError: it is none.
    """
    must = "finite number above 0"
    return real(where, name, value, must, lambda number: 0.0 < number < math.inf)
