"""The time that a decision may take where that is asked for, and the share of work that is done."""

from __future__ import annotations

import math
import time
from numbers import Real
from typing import Any

from fsmeu import errors
from fsmeu.progress import Progress, check_progress

_SHORTEST = 1e-3  # seconds of a first attempt, at least
_BETWEEN = 0.1  # seconds between two calls of progress


class Clock:
    """The time since it was first read, against a limit in seconds, None for no limit.

    ``progress`` is called with the share of the work that is done a few times a second.
    """

    def __init__(
        self,
        seconds: float | None = None,
        progress: Progress | None = None,
        where: str = "decode",
    ) -> None:
        limit: Any = math.inf if seconds is None else seconds
        if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) > 0:
            must = "seconds must be a number above 0, or None for no limit"
            raise errors.InputError(where, must, given=seconds)
        self.seconds = float(limit)
        self.progress = None if progress is None else check_progress(where, progress)
        self._begin: float | None = None
        self._told = self._done = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was first read."""
        now = time.monotonic()
        self._begin = now if self._begin is None else self._begin
        return now - self._begin

    def over(self, done: float = 0.0) -> bool:
        """True when there is no time left; takes note of, and tells, the share of work done."""
        passed = self.elapsed
        self._done = max(self._done, done)
        if self.progress is not None and passed - self._told > _BETWEEN:
            self._told = passed
            self.progress(min(1.0, max(self._done, passed / self.seconds)), "")
        return passed > self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, 0 where there are none."""
        return max(0.0, self.seconds - self.elapsed)

    @property
    def ran_out(self) -> str:
        """The sentence that the time was over."""
        return f"the {self.seconds:g} seconds were over (give it more with seconds=...)"

    def half(self) -> Clock:
        """A clock for a first attempt, which may take half of the time that is left."""
        return Clock(max(self.left / 2, _SHORTEST), self.progress)

    def again(self) -> Clock:
        """A clock of the same limit that was not read yet."""
        return Clock(None if self.seconds == math.inf else self.seconds, self.progress)

    def check(self) -> None:
        """Raises a TimeoutError when there is no time left; the best so far is then the answer."""
        if self.over():
            raise TimeoutError


class ToldBounds:
    """Bounds of the best value as progress: how much of the first gap between them is closed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._first = 0.0  # the first gap that is finite

    def __call__(self, lower: float, upper: float, last: bool = False) -> None:
        """Tells the bounds, which may be the last."""
        gap = upper - lower
        done = 1.0 if last else 0.0
        if not last and math.isfinite(gap):
            self._first = self._first or gap
            done = 1.0 - min(1.0, gap / self._first) if self._first else 1.0
        self._progress(done, f"the best is between {lower:.6f} and {upper:.6f}")
