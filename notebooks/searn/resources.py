"""Processor time and memory that a piece of work takes."""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["Clock", "peak_memory", "reset_peak"]

_STATUS = Path("/proc/self/status")


def reset_peak() -> None:
    """Lets the peak of memory start anew, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """The greatest memory of this process since the last reset (or its start), in megabytes."""
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Clock:
    """Seconds of processor time of this process, which can be stopped.

    Attributes:
        seconds: what was counted so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun: float | None = time.process_time()

    def stop(self) -> float:
        """Stops, and returns the seconds so far."""
        if self._begun is not None:
            self.seconds += time.process_time() - self._begun
            self._begun = None
        return self.seconds

    def start(self) -> None:
        """Goes on."""
        if self._begun is None:
            self._begun = time.process_time()
