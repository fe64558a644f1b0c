"""Records of a corpus as they stand in it, and blocks of them.

Where blocks begin depends on the corpus alone, not on who computes them or where a run began: what
is computed together is rounded alike, so that a run that was resumed writes the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fsmeu.corpora.source import Line
from fsmeu.errors import one_of
from fsmeu.limits import BLOCK_BYTES, RECORD_BYTES, RECORDS_AT_ONCE

__all__ = ["FORMATS", "Record", "blocks", "format_of", "records"]

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
