"""Records of a corpus as they stand in its file, and blocks of them.

A file is plain or compressed, and read line by line. Where blocks begin depends on the corpus
alone, not on who computes them or where a run began: what is computed together is rounded alike,
so that a run that was resumed writes the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeAlias

from fsmeu.errors import one_of
from fsmeu.files import readable, unpacked

RECORDS_AT_ONCE = 256  # records decided together: fast, and what a killed run computes again
RECORD_BYTES = 1 << 26  # bytes of one record: 100,000 positions of 23 labels with all digits
BLOCK_BYTES = 1 << 24  # bytes after which a block of records ends early

_MARK = b"\xef\xbb\xbf"
_COLUMNS = (".bio", ".conll", ".crf", ".iob", ".iob1", ".iob2", ".iobes", ".tsv", ".txt")

Line: TypeAlias = tuple[int, bytes | None]
"""The number of a line, from 1, and its bytes without the end; None where these are too many."""


@dataclass(frozen=True)
class Source:
    """A corpus that is open: its name in messages, its bytes as stored, and how many if known."""

    where: str
    raw: BinaryIO
    size: int | None = None

    @property
    def position(self) -> int:
        """Bytes of the file that have been read, compressed as they are."""
        return 0 if self.size is None else self.raw.tell()

    def lines(self) -> Iterator[Line]:
        """The lines; an InputError where the file is not what its first bytes say."""
        number, stream = 0, None
        while True:
            with readable(f"{self.where}, after line {number}", "must be readable to its end"):
                stream = stream or unpacked(self.raw)
                text = stream.readline(RECORD_BYTES + 1)
                whole = len(text) <= RECORD_BYTES
                while not whole and text and not text.endswith(b"\n"):
                    text = stream.readline(RECORD_BYTES)
            if whole and not text:
                return
            number += 1
            text = text.removeprefix(_MARK) if number == 1 else text
            yield number, text.rstrip(b"\r\n") if whole else None


@contextmanager
def open_corpus(path: Path) -> Iterator[Source]:
    """The corpus in a file; an InputError where it cannot be opened."""
    where, place = f"corpus {path}", path.expanduser()
    with readable(where):
        file = place.open("rb")
    with file:
        yield Source(where, file, place.stat().st_size if place.is_file() else None)


def format_of(name: str, chosen: str | None) -> str:
    """The format of a corpus: the one that was chosen, or what the ending of the name says."""
    if chosen is not None:
        return one_of("--format", "the format", chosen, ("jsonl", "conll"))
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    return "conll" if ending in _COLUMNS else "jsonl"


@dataclass(frozen=True)
class Record:
    """One record as it stands in the corpus: its number and first line from 1, its bytes.

    ``fault`` says what is wrong with it, and is empty where that is not known yet.
    """

    number: int
    line: int
    text: bytes
    fault: str = ""


def records(lines: Iterable[Line], form: str) -> Iterator[Record]:
    """The records of these lines: each that is not empty, or sentences with empty lines between."""
    number, begin, size = 0, 0, 0
    held: list[bytes] = []
    for line, text in chain(lines, [(0, b"")]):
        filled = text is None or bool(text.strip())
        if filled:
            begin = begin or line
            size += RECORD_BYTES + 1 if text is None else len(text) + 1
            held.append(text or b"")
            if size > RECORD_BYTES:
                held.clear()
        if begin and (form == "jsonl" or not filled):
            number += 1
            fault = f"a record may have at most {RECORD_BYTES:,} bytes."
            yield Record(number, begin, b"\n".join(held), fault if size > RECORD_BYTES else "")
            begin, size, held = 0, 0, []


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
