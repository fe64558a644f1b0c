"""Sentences in columns: a token with its columns on each line, empty lines between sentences.

Columns are separated by blanks or tabs. In files of the CoNLL shared tasks the last column holds
the tags where there are any. Taggers print the probability of each label behind each token:
``crfsuite tag -l`` as LABEL:0.25, ``crf_test -v2`` of CRF++ as LABEL/0.25. Labels of a sentence are
then independent, with these probabilities; they are printed with a few digits, so that they add up
to 1 only about, and are divided by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from fsmeu.checking.examples import as_labels
from fsmeu.errors import InputError, message
from fsmeu.files import STDIN, read_text
from fsmeu.models import Independent

_ROUNDED = 1e-3
"""How far from 1 the sum of probabilities that were printed with a few digits may be."""


class LineError(InputError):
    """A fault of one line of a corpus, counted from 1, which its message does not name."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Token(NamedTuple):
    """One line of a sentence: its number in the corpus, columns, and probabilities of labels."""

    line: int
    cells: list[str]
    chances: dict[str, float]


def tokens_of(text: str, line: int = 1) -> list[Token]:
    """The tokens of a sentence that begins in this line of the corpus; an InputError if none.

    Lines at its beginning that start with # and have no probabilities are comments.
    """
    tokens: list[Token] = []
    for number, content in enumerate(text.split("\n"), start=line):
        cells = content.split()
        chances = _distribution(cells)
        if chances or tokens or not content.startswith("#"):
            tokens.append(Token(number, cells[: len(cells) - len(chances)], chances))
    if not tokens:
        raise InputError(message("sentence", "must have tokens", "comments alone"))
    return tokens


def _distribution(cells: list[str]) -> dict[str, float]:
    """Labels and probabilities of the last cells, up to one whose label was there already.

    ``crf_test`` prints the label that it chose with its probability before all others.
    """
    chances: dict[str, float] = {}
    for cell in reversed(cells):
        place = max(cell.rfind("/"), cell.rfind(":"))
        try:
            number = float(cell[place + 1 :])
        except ValueError:
            break
        if place <= 0 or cell[:place] in chances:
            break
        chances[cell[:place]] = number
    return dict(reversed(chances.items()))


def independent(tokens: Sequence[Token]) -> Independent:
    """The model of tokens with probabilities; a LineError where labels differ, or have none."""
    labels = list(tokens[0].chances)
    return Independent([_row(token, labels) for token in tokens], as_labels(labels))


def _row(token: Token, labels: list[str]) -> list[float]:
    """The probabilities of these labels, divided by their sum."""
    row, must = [token.chances.get(label, math.nan) for label in labels], ""
    got = ", ".join(token.chances) or "none"
    if not token.chances:
        must = "each token must have the probability of each label, as in B-NP:0.25 O:0.75"
    elif set(token.chances) != set(labels):
        must = f"its labels must be those of the first token, {', '.join(labels)}"
    elif not (all(0 <= p <= 1 for p in row) and abs(math.fsum(row) - 1) <= _ROUNDED):
        must, got = "they must be from 0 to 1 and add up to 1", f"a sum of {sum(row)}"
    if must:
        raise LineError(message("probabilities", must, got), token.line)
    return [p / math.fsum(row) for p in row]


def cell_of(token: Token, column: int) -> str:
    """What stands in a column, counted from 1, or from -1 backwards; a LineError if nothing."""
    if not 1 <= abs(column) <= len(token.cells):
        got = f"{len(token.cells)}{' before the probabilities' if token.chances else ''}"
        raise LineError(message("columns", f"column {column} must be there", got), token.line)
    return token.cells[column - 1 if column > 0 else column]


Sentence: TypeAlias = list[tuple[str, ...]]


def read_sentences(name: str | Path, least: int = 1, most: int | None = None) -> list[Sentence]:
    """The sentences of a file, lists of rows of texts; "-" is standard input.

    All rows have as many columns, at least ``least``; at most ``most`` sentences are read.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or rows differ in their columns.
        SizeLimitError: it is too large.
    """
    where = "standard input" if str(name) == STDIN else f"file {name}"
    rows = enumerate((tuple(line.split()) for line in read_text(name, where).split("\n")), start=1)
    filled = (list(group) for some, group in groupby(rows, lambda row: bool(row[1])) if some)
    sentences: list[Sentence] = []
    width = 0
    for group in islice(filled, most):
        width = width or len(group[0][1])
        for number, row in group:
            if len(row) != width or width < least:
                must = f"each row must have {max(width, least)} columns"
                raise InputError(message(f"{where}, line {number}", must, " ".join(row)))
        sentences.append([row for _, row in group])
    if not sentences:
        raise InputError(message(where, "there must be a sentence in it"))
    return sentences


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
