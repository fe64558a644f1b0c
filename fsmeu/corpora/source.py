"""The file of a corpus: plain or compressed, read line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fsmeu.limits import RECORD_BYTES
from fsmeu.reading import readable, unpacked

__all__ = ["Line", "Source", "open_corpus", "read_from"]

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Line:
    """One line of a corpus.

    Attributes:
        number: counted from 1.
        text: its bytes without the end of line.
        whole: False where it is longer than a record may be; the text is then empty.
    """

    number: int
    text: bytes
    whole: bool = True


class Source:
    """A corpus that is open.

    Attributes:
        where: what it is called in messages.
        size: bytes of the file; None where that is not known.
    """

    def __init__(self, where: str, raw: BinaryIO, size: int | None) -> None:
        self.where = where
        self.size = size
        self._raw = raw
        self._counts = size is not None

    @property
    def position(self) -> int:
        """Bytes of the file that have been read, compressed as they are."""
        return self._raw.tell() if self._counts else 0

    def lines(self) -> Iterator[Line]:
        """The lines.

        Raises:
            InputError: the file cannot be read, or is not what its first bytes say.
        """
        number = 0
        stream = None
        while True:
            with readable(f"{self.where}, after line {number}", "must be readable to its end"):
                stream = stream or unpacked(self._raw)
                text = stream.readline(RECORD_BYTES + 1)
                whole = len(text) <= RECORD_BYTES
                while not whole and text and not text.endswith(b"\n"):
                    text = stream.readline(RECORD_BYTES)
            if whole and not text:
                return
            number += 1
            text = text if whole else b""
            text = text.removeprefix(_MARK) if number == 1 else text
            yield Line(number, text.rstrip(b"\r\n"), whole)


@contextmanager
def open_corpus(path: Path) -> Iterator[Source]:
    """The corpus in a file.

    Raises:
        InputError: it cannot be opened.
    """
    where = f"corpus {path}"
    with readable(where):
        file = path.expanduser().open("rb")
    with file:
        regular = path.expanduser().is_file()
        yield Source(where, file, path.expanduser().stat().st_size if regular else None)


def read_from(stream: BinaryIO) -> Source:
    """The corpus that standard input holds."""
    return Source("standard input", stream, None)
