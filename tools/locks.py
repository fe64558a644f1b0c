"""One set-up at a time: advisory locks that end with the processes that hold them."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, purpose: str) -> Iterator[None]:
    """Holds a lock file; waits, and says so, while another process holds it.

    The lock belongs to the open file, which child processes inherit. So it lasts until this
    process *and* every program it started are gone, however they ended.

    Args:
        path: The lock file, made when missing and never removed.
        purpose: What the lock guards, for the message: "making the environment".
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        os.set_inheritable(descriptor, True)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"[set-up] waiting: another set-up is {purpose} ...", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
