"""Files in the format of the CoNLL shared tasks: a word with its columns on each line.

Columns are separated by blanks or tabs, sentences by empty lines; the last column holds the tags
where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fsmeu.errors import InputError, sentence
from fsmeu.reading import STDIN, read_text

__all__ = ["Sentence", "inputs_and_tags", "read_sentences", "written"]

Sentence = list[tuple[str, ...]]


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
    text = read_text(name, where)
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
