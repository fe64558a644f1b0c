"""What the set-up tells the user: steps as they run, and one clear sentence when one fails.

Everything goes to standard error, so that the output of the command itself stays clean. On a
terminal a step is one line that is rewritten as it proceeds; in a log it is plain lines.
"""

from __future__ import annotations

import errno
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

DISK_FULL = "the disk is full (no space left on device)"
MAKE_ROOM = (
    "Free some space (a first set-up needs about 1 GB), or point FSMEU_CACHE and TMPDIR at a "
    "roomier disk, and call again: finished work is kept."
)


class SetupFailure(Exception):
    """The set-up cannot go on, for a reason that the user can do something about."""

    def __init__(self, reason: str, *remedies: str) -> None:
        super().__init__(reason)
        self.reason = reason  # one clause without a full stop
        self.remedies = remedies  # what the user can do, one sentence each
        self.step = ""  # what was being done; set by the step that the failure passes through

    def report(self) -> str:
        """Returns the text for the user: one sentence, then the ways out."""
        doing = f" while {self.step}" if self.step else ""
        lines = [f"fsmeu set-up stopped{doing}: {self.reason}."]
        lines += [f"  - {remedy}" for remedy in self.remedies]
        return "\n".join(lines)


def failure_from_os_error(error: OSError) -> SetupFailure:
    """Says in the user's words why the machine refused a file operation."""
    where = f" at {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return SetupFailure(f"{DISK_FULL}{where}", MAKE_ROOM)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SetupFailure(
            f"no permission to read or write{where}",
            "Set FSMEU_CACHE to a directory that you can write, or work in a copy of the "
            "project that belongs to you.",
        )
    return SetupFailure(f"the operating system says '{error.strerror or error}'{where}")


class Step:
    """One running step; on a terminal its line counts the seconds until it ends."""

    def __init__(self, doing: str, stream: TextIO) -> None:
        self._doing = doing
        self._stream = stream
        self._state = "..."
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._clock: threading.Thread | None = None
        if stream.isatty():
            self._clock = threading.Thread(target=self._tick, daemon=True)
            self._clock.start()
        else:
            self._say()

    def progress(self, done: int, total: int, what: str) -> None:
        """Shows that `done` of `total` parts are finished, `what` being the newest."""
        self._state = f"... {done}/{total} {what}"
        self._say()

    def end(self, state: str) -> None:
        """Shows how the step ended, and how long it took."""
        self._state = state
        self._ended.set()
        if self._clock:
            self._clock.join()
        self._say()
        if self._clock:
            self._stream.write("\n")

    def _tick(self) -> None:
        while not self._ended.is_set():
            self._say()
            self._ended.wait(1)

    def _say(self) -> None:
        seconds = time.monotonic() - self._started
        line = f"[set-up] {self._doing} {self._state} ({seconds:.0f} s)"
        if self._clock:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[2K{line[:width]}")
        else:
            self._stream.write(line + "\n")
        self._stream.flush()


@contextmanager
def guard(doing: str) -> Iterator[None]:
    """Names what was being done ("opening the cache") in any failure of the body, in words."""
    try:
        yield
    except SetupFailure as failure:
        failure.step = failure.step or doing
        raise
    except OSError as error:
        refusal = failure_from_os_error(error)
        refusal.step = doing
        raise refusal from error


@contextmanager
def step(doing: str) -> Iterator[Step]:
    """Runs one step in sight of the user; yields it, to report progress to; guarded."""
    shown = Step(doing, sys.stderr)
    try:
        with guard(doing):
            yield shown
    except BaseException:
        shown.end("... stopped")
        raise
    shown.end("... done")
