"""Files in the format of the CoNLL shared tasks: a word with its columns on each line.

Columns are separated by blanks or tabs, sentences by empty lines; the last column holds the tags
where there are any. Files that end in ``.gz`` are unpacked.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from fsmeu.errors import InputError, SizeLimitError, sentence
from fsmeu.limits import MOST_CORPUS_BYTES

__all__ = ["Sentence", "inputs_and_tags", "read_sentences", "written"]

Sentence = list[tuple[str, ...]]
STDIN = "-"


def read_sentences(name: str | Path, least: int = 1, most: int | None = None) -> list[Sentence]:
    """The sentences of a file, lists of rows of texts; all rows have as many columns.

    Args:
        name: the file; "-" is standard input.
        least: how many columns there must be.
        most: how many sentences are read; None for all.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or rows differ in their columns.
        SizeLimitError: it is too large.
    """
    where = "standard input" if str(name) == STDIN else f"file {name}"
    text = _text(name, where)
    found: list[Sentence] = []
    rows: Sentence = []
    width = 0
    for number, line in enumerate(text.split("\n"), start=1):
        row = tuple(line.split())
        if not row:
            if rows:
                found.append(rows)
            rows = []
            if len(found) == most:
                break
            continue
        width = width or len(row)
        if len(row) != width or width < least:
            must = f"each row must have {max(width, least)} columns"
            raise InputError(sentence(f"{where}, line {number}", must, line.strip()))
        rows.append(row)
    if rows:
        found.append(rows)
    if not found:
        raise InputError(sentence(where, "there must be a sentence in it"))
    return found


def inputs_and_tags(sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[list[str]]]:
    """The sentences without their last column, and that column."""
    inputs = [[row[:-1] for row in one] for one in sentences]
    return inputs, [[row[-1] for row in one] for one in sentences]


def written(sentences: Sequence[Sequence[Sequence[str]]], tags: Sequence[Sequence[str]]) -> str:
    """The text of a file: the rows of each sentence with one more column."""
    blocks = (
        "".join(f"{' '.join(row)} {tag}\n" for row, tag in zip(rows, column, strict=True))
        for rows, column in zip(sentences, tags, strict=True)
    )
    return "\n".join(blocks)


def _text(name: str | Path, where: str) -> str:
    try:
        content = _content(name)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(sentence(where, f"the file cannot be read ({reason})")) from None
    except ValueError as error:  # a name with a zero byte, or standard input that is closed
        raise InputError(sentence(where, f"the file cannot be read ({error})")) from None
    if len(content) > MOST_CORPUS_BYTES:
        must = f"a corpus may have at most {MOST_CORPUS_BYTES:,} bytes"
        raise SizeLimitError(sentence(where, must, "more", "Cut it into several files"))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(sentence(where, "must be UTF-8 text")) from None


def _content(name: str | Path) -> bytes:
    """At most one byte more than a corpus may have."""
    if str(name) == STDIN:
        if sys.stdin is None:
            must = "it is closed"
            raise ValueError(must)
        return sys.stdin.buffer.read(MOST_CORPUS_BYTES + 1)
    path = Path(name).expanduser()
    if path.suffix == ".gz":
        with gzip.open(path, "rb") as packed:
            return packed.read(MOST_CORPUS_BYTES + 1)
    with path.open("rb") as file:
        return file.read(MOST_CORPUS_BYTES + 1)
