"""The file of results: JSON lines, each complete, to which a run that was killed can be resumed."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fsmeu.errors import InputError, as_whole, sentence

__all__ = ["Output", "as_line", "open_output"]

_BEGIN = b'{"record": '
_PIECE = 1 << 16


def as_line(data: dict[str, Any]) -> str:
    """The result of a record as one line of JSON, without its end."""
    return json.dumps(data, allow_nan=False)


@dataclass(frozen=True)
class Output:
    """A file of results that is open.

    Attributes:
        file: where the next result goes.
        last: the last result that it holds; None when it holds none.
    """

    file: BinaryIO
    last: dict[str, Any] | None = None

    @property
    def done(self) -> int:
        """The number of the last record with a result."""
        return int(self.last["record"]) if self.last else 0

    def write(self, results: Iterable[dict[str, Any]]) -> None:
        """Adds results; the system has them when this returns."""
        self.file.write("".join(as_line(data) + "\n" for data in results).encode())
        self.file.flush()


@contextmanager
def open_output(path: Path, resume: bool) -> Iterator[Output]:
    """The file that results are written to.

    Args:
        path: the file; it must be empty or not be there unless a run is resumed.
        resume: whether to go on after the last complete line; one that is incomplete is cut off.

    Raises:
        InputError: the file holds something else, or another run writes to it.
    """
    where = f"output {path}"
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(sentence(where, "must not be in use by another run")) from None
        size = file.seek(0, 2)
        if size and not resume:
            remedy = "Add --resume to go on with it, or remove it"
            raise InputError(sentence(where, "must be a new file", "one with results", remedy))
        end = _after_newline(file, size)  # of the last complete line
        last = _last(file, end, size, where) if size else None
        file.truncate(end)
        yield Output(file, last)


def _after_newline(file: BinaryIO, end: int) -> int:
    """The place behind the last line end before ``end``, 0 where there is none."""
    while end > 0:
        begin = max(0, end - _PIECE)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _last(file: BinaryIO, end: int, size: int, where: str) -> dict[str, Any] | None:
    """The last result, once it is seen that the file holds results."""
    must = "must hold results of this command to be resumed"
    file.seek(end)
    rest = file.read(len(_BEGIN))
    if end < size and not _BEGIN.startswith(rest):
        raise InputError(sentence(where, must, "another text"))
    if not end:
        return None
    begin = _after_newline(file, end - 1)
    file.seek(begin)
    try:
        last = json.loads(file.read(end - begin))
        if as_whole(last["record"], least=1) is not None:
            return dict(last)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise InputError(sentence(where, must, "another text"))
