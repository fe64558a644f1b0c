"""The time that methods which try many candidates may take, and who is told how far they are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from numbers import Real

from fsmeu.errors import FsmeuError, InputError, message

__all__ = ["Clock", "OutOfTimeError", "checked_seconds"]

_BETWEEN = 0.1


class OutOfTimeError(FsmeuError):
    """The time of a decision is over; whoever tries candidates answers with the best so far."""


def checked_seconds(seconds: float | None) -> float:
    """The seconds that were given, infinite for None.

    Raises:
        InputError: it is not a number above 0.
    """
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not seconds > 0:
        must = "seconds must be a number above 0, or None for no limit"
        raise InputError(message("decode", must, seconds))
    return float(seconds)


class Clock:
    """The time since it was first asked, against a limit.

    Args:
        seconds: the limit; it may be infinite.
        progress: called with the share of the work that is done, from 0 to 1, a few times a second.
    """

    def __init__(
        self, seconds: float = math.inf, progress: Callable[[float], None] | None = None
    ) -> None:
        self.seconds, self._progress = seconds, progress
        self._begin: float | None = None
        self._told = -math.inf
        self._done = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was first asked."""
        now = time.monotonic()
        if self._begin is None:
            self._begin = self._told = now
        return now - self._begin

    def over(self) -> bool:
        """True when there is no time left; tells how much of the work, or of the time, is done."""
        passed = self.elapsed
        now = time.monotonic()
        if self._progress is not None and now - self._told > _BETWEEN:
            self._told = now
            self._progress(min(1.0, max(self._done, passed / self.seconds)))
        return passed > self.seconds

    def check(self) -> None:
        """Does nothing while there is time.

        Raises:
            OutOfTimeError: there is none left.
        """
        if self.over():
            raise OutOfTimeError(message("decode", f"it may take {self.seconds:g} seconds"))

    def tell(self, done: float) -> None:
        """Takes note of the share of the work that is done."""
        self._done = max(self._done, done)

    def half(self) -> Clock:
        """A clock for a first attempt, which may take half of the time."""
        return Clock(self.seconds / 2, self._progress)
