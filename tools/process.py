"""Running other programs, one set-up at a time: output is kept, failures become sentences."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from console import DISK_FULL, MAKE_ROOM, SetupFailure

_NETWORK_SIGNS = re.compile(
    r"Retrying \(|NewConnectionError|Temporary failure (in name resolution|resolving)"
    r"|Could not (connect|resolve)|Network is unreachable|Connection (refused|timed out|failed)"
    r"|ProxyError|Read timed out|Name or service not known"
)
_MEMORY_SIGNS = re.compile(
    r"Killed signal terminated|[Oo]ut of memory|Cannot allocate memory|virtual memory exhausted"
)
_NOISE = re.compile(
    r"^\s*$|notice\]|WARNING: |^\s*[━╸-]{5,}|See above|end of output|^\s*(note|hint):"
    r"|metadata-generation-failed|^\s*[×╰│]"
)
_SHOWN_LINES = 6
_running: set[subprocess.Popen[str]] = set()


class ProgramFailed(SetupFailure):
    """A program that the set-up called came back with an error.

    Attributes:
        output: All that it wrote.
    """

    def __init__(self, reason: str, output: str, *remedies: str) -> None:
        super().__init__(reason, *remedies)
        self.output = output


def find_program(*names: str) -> str | None:
    """Returns the path of the first of these programs that the machine has."""
    return next((path for name in names if (path := shutil.which(name))), None)


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """Runs a program to its end and returns what it wrote.

    Open locks are inherited on purpose: if the set-up is killed while the program goes on, the
    next set-up waits for the program instead of working in the same place.

    Args:
        command: Program and arguments.
        cwd: Where to run it.
        env: Variables to add to the environment.
        log: A file that keeps the output when the program fails.

    Raises:
        ProgramFailed: It returned an error.
        SetupFailure: It is not there.
    """
    words = [os.fspath(word) for word in command]
    try:
        child = subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C.UTF-8", "PIP_USER": "0", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            close_fds=False,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        reason = f"the program '{words[0]}' is missing"
        raise SetupFailure(reason) from error
    output = _finish(child)
    if child.returncode:
        raise describe_failure(_program(words), child.returncode, output, log)
    return output


def _program(words: Sequence[str]) -> str:
    return words[2] if words[1:2] == ["-m"] else Path(words[0]).name


def stop_all() -> None:
    """Ends every program that is running now, with all that it started."""
    for child in list(_running):
        _stop(child)


def _finish(child: subprocess.Popen[str]) -> str:
    _running.add(child)
    try:
        return child.communicate()[0]
    except BaseException:
        _stop(child)
        raise
    finally:
        _running.discard(child)


def _stop(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)


def describe_failure(
    program: str, returncode: int, output: str, log: Path | None = None
) -> ProgramFailed:
    """Turns a failed program's output into a failure that names the cause where it is known."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return ProgramFailed(DISK_FULL, output, MAKE_ROOM)
    if _MEMORY_SIGNS.search(output):
        reason = f"the machine's memory ran out ({program} was ended)"
        remedy = "Close other programs or add swap, and call again: finished work is kept."
        return ProgramFailed(reason, output, remedy)
    if _NETWORK_SIGNS.search(output):
        return ProgramFailed(
            f"the network did not answer ({program} could not reach its server)",
            output,
            "Check the connection (or the proxy settings of pip and apt) and call again.",
        )
    remedies = ["The last lines it wrote:\n" + last_lines(output)]
    if log is not None:
        remedies += _keep(log, output)
    how = f"was ended by signal {-returncode}" if returncode < 0 else f"failed ({returncode})"
    return ProgramFailed(f"{program} {how}", output, *remedies)


def last_lines(output: str) -> str:
    """Returns the last telling lines of a program's output, indented."""
    telling = [line for line in output.splitlines() if not _NOISE.search(line)]
    return "\n".join(f"      {line[:200]}" for line in telling[-_SHOWN_LINES:])


def _keep(log: Path, output: str) -> list[str]:
    try:
        log.write_text(output, encoding="utf-8")
    except OSError:
        return []
    return [f"All of it is in {log}."]


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
