"""Records of a corpus as they stand in its file, and blocks of them.

A file is plain or compressed, and read line by line. Where blocks begin depends on the corpus
alone, not on who computes them or where a run began: what is computed together is rounded alike,
so that a run that was resumed writes the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fsmeu.errors import one_of
from fsmeu.files import readable, unpacked
from fsmeu.limits import BLOCK_BYTES, RECORD_BYTES, RECORDS_AT_ONCE

__all__ = ["Record", "Source", "blocks", "format_of", "open_corpus", "read_from", "records"]

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


FORMATS = ("jsonl", "conll")
_COLUMNS = (".bio", ".conll", ".crf", ".iob", ".iob1", ".iob2", ".iobes", ".tsv", ".txt")


@dataclass(frozen=True)
class Record:
    """One record as it stands in the corpus.

    Attributes:
        number: counted from 1, whether good or bad.
        line: the number of its first line.
        text: its bytes; the lines of a sentence in columns are held together by line ends.
        fault: what is wrong with it; empty where that is not known yet.
    """

    number: int
    line: int
    text: bytes
    fault: str = ""


def format_of(name: str, chosen: str | None) -> str:
    """The format of a corpus: the one that was chosen, or what the ending of the name says.

    Raises:
        InputError: there is no such format.
    """
    if chosen is not None:
        return one_of("--format", "the format", chosen, FORMATS)
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    return "conll" if ending in _COLUMNS else "jsonl"


def records(lines: Iterable[Line], form: str) -> Iterator[Record]:
    """The records of these lines: each that is not empty, or sentences with empty lines between."""
    if form == "conll":
        yield from _sentences(lines)
        return
    filled = (line for line in lines if line.text.strip() or not line.whole)
    for number, line in enumerate(filled, start=1):
        yield _record(number, line.number, line.text, line.whole)


def _sentences(lines: Iterable[Line]) -> Iterator[Record]:
    number, begin, size = 0, 0, 0
    held: list[bytes] = []
    whole = True
    for line in lines:
        if line.text.strip() or not line.whole:
            begin = begin or line.number
            size += len(line.text) + 1
            whole = whole and line.whole and size <= RECORD_BYTES
            if whole:
                held.append(line.text)
        elif begin:
            number += 1
            yield _record(number, begin, b"\n".join(held), whole)
            begin, size, held, whole = 0, 0, [], True
    if begin:
        yield _record(number + 1, begin, b"\n".join(held), whole)


def _record(number: int, line: int, text: bytes, whole: bool) -> Record:
    if whole:
        return Record(number, line, text)
    return Record(number, line, b"", f"a record may have at most {RECORD_BYTES:,} bytes.")


def blocks(stream: Iterable[Record]) -> Iterator[list[Record]]:
    """The records in blocks, each of ``RECORDS_AT_ONCE``, or of fewer that are large."""
    block: list[Record] = []
    size = 0
    for record in stream:
        block.append(record)
        size += len(record.text)
        if len(block) >= RECORDS_AT_ONCE or size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block
