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
from dataclasses import dataclass
from pathlib import Path

from fsmeu.checking.examples import as_labels
from fsmeu.errors import InputError, message
from fsmeu.files import STDIN, read_text
from fsmeu.fst.alphabet import Label
from fsmeu.models import Independent

__all__ = [
    "LineError",
    "Sentence",
    "Token",
    "cell_of",
    "independent",
    "inputs_and_tags",
    "read_sentence",
    "read_sentences",
    "tokens_of",
    "written",
]

_ROUNDED = 1e-3
"""How far from 1 the sum of probabilities that were printed with a few digits may be."""


class LineError(InputError):
    """A fault of one line of a corpus, counted from 1; what it says does not name the line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Token:
    """One line of a sentence.

    Attributes:
        line: the number of the line in the corpus.
        cells: its columns, without the probabilities.
        found: labels and probabilities at its end; empty where there are none.
    """

    line: int
    cells: list[str]
    found: dict[str, float]


def tokens_of(text: str, line: int) -> list[Token]:
    """The tokens of a sentence that begins in this line of the corpus; at least one.

    Lines at its beginning that start with # and have no probabilities are comments.

    Raises:
        InputError: there are only comments.
    """
    tokens: list[Token] = []
    for number, content in enumerate(text.split("\n"), start=line):
        cells = content.split()
        found = _distribution(cells)
        if not found and not tokens and content.startswith("#"):
            continue
        tokens.append(Token(number, cells[: len(cells) - len(found)], found))
    if not tokens:
        raise InputError(message("sentence", "must have tokens", "comments alone"))
    return tokens


def independent(tokens: Sequence[Token]) -> Independent:
    """The model of a sentence whose tokens have probabilities.

    Raises:
        LineError: a token has none, or other labels than the first.
    """
    order = {label: k for k, label in enumerate(tokens[0].found)}
    rows = [_row(token, order) for token in tokens]
    labels: tuple[Label, ...] = as_labels(list(order))
    return Independent(rows, labels)


def read_sentence(text: str, column: int, line: int = 1) -> tuple[Independent, list[str]]:
    """The model of a sentence, and the tags in one of its columns, one for each token.

    Args:
        text: the lines of the sentence.
        column: which column holds the tags, counted from 1; 0 for none, which gives no tags.
        line: the number of its first line in the corpus.

    Raises:
        LineError: a token has no probabilities, other labels than the first, or no such column.
    """
    tokens = tokens_of(text, line)
    model = independent(tokens)
    return model, [cell_of(token, column) for token in tokens] if column else []


def cell_of(token: Token, column: int) -> str:
    """What stands in a column, counted from 1, or from -1 backwards from the last.

    Raises:
        LineError: there is no such column.
    """
    if not 1 <= abs(column) <= len(token.cells):
        must = f"column {column} must be there"
        before = " before the probabilities" if token.found else ""
        got = f"{len(token.cells)}{before}"
        raise LineError(message("columns", must, got), token.line)
    return token.cells[column - 1 if column > 0 else column]


def _distribution(cells: list[str]) -> dict[str, float]:
    """Labels and probabilities of the last cells, up to one whose label was there already.

    ``crf_test`` prints the label that it chose with its probability before all others.
    """
    found: dict[str, float] = {}
    for cell in reversed(cells):
        place = max(cell.rfind("/"), cell.rfind(":"))
        number = _number(cell[place + 1 :]) if place > 0 else None
        if number is None or cell[:place] in found:
            break
        found[cell[:place]] = number
    return dict(reversed(found.items()))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _row(token: Token, order: dict[str, int]) -> list[float]:
    where, found = "probabilities", token.found
    if not found:
        must = "each token must have the probability of each label, as in B-NP:0.25 O:0.75"
        raise LineError(message(where, must, "none"), token.line)
    if found.keys() != order.keys():
        must = f"its labels must be those of the first token, {', '.join(order)}"
        raise LineError(message(where, must, ", ".join(found)), token.line)
    row = [found[label] for label in order]
    total = math.fsum(row)
    if not (all(0 <= p <= 1 for p in row) and abs(total - 1) <= _ROUNDED):
        must = "they must be from 0 to 1 and add up to 1"
        raise LineError(message(where, must, f"a sum of {total}"), token.line)
    return [p / total for p in row]


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
            raise InputError(message(f"{where}, line {number}", must, line.strip()))
        rows.append(row)
    if rows:
        found.append(rows)
    if not found:
        raise InputError(message(where, "there must be a sentence in it"))
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
