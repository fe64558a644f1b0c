"""Sentences in columns, with the probability of each label behind each token.

This is what taggers print: ``crfsuite tag -l`` as LABEL:0.25, ``crf_test -v2`` of CRF++ as
LABEL/0.25. Labels of a sentence are then independent, with these probabilities; they are printed
with a few digits, so that they add up to 1 only about, and are divided by their sum.
"""

from __future__ import annotations

import math

from fsmeu.checking.examples import as_labels
from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.models import Independent

__all__ = ["read_sentence"]

_ROUNDED = 1e-3
"""How far from 1 the sum of probabilities that were printed with a few digits may be."""


def read_sentence(text: str, column: int) -> tuple[Independent, list[str]]:
    """The model of a sentence, and the tags in one of its columns, one for each token.

    Lines at its beginning that start with # and have no probabilities are comments.

    Args:
        text: the lines of the sentence.
        column: which column holds the tags, counted from 1; 0 for none, which gives no tags.

    Raises:
        InputError: a token has no probabilities, other labels than the first, or no such column.
    """
    rows: list[list[float]] = []
    tags: list[str] = []
    order: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        found = _distribution(cells)
        if not found and not rows and line.startswith("#"):
            continue
        where = f"line {number} of the sentence"
        order = order or {label: k for k, label in enumerate(found)}
        rows.append(_row(found, order, where))
        if column:
            tags.append(_cell(cells[: len(cells) - len(found)], column, where))
    if not rows:
        raise InputError(sentence("sentence", "must have tokens", "comments alone"))
    labels: tuple[Label, ...] = as_labels(list(order))
    return Independent(rows, labels), tags


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


def _row(found: dict[str, float], order: dict[str, int], where: str) -> list[float]:
    if not found:
        must = "each token must have the probability of each label, as in B-NP:0.25 O:0.75"
        raise InputError(sentence(where, must, "none"))
    if found.keys() != order.keys():
        must = f"its labels must be those of the first token, {', '.join(order)}"
        raise InputError(sentence(where, must, ", ".join(found)))
    row = [found[label] for label in order]
    total = math.fsum(row)
    if not (all(0 <= p <= 1 for p in row) and abs(total - 1) <= _ROUNDED):
        must = "probabilities must be from 0 to 1 and add up to 1"
        raise InputError(sentence(where, must, f"a sum of {total}"))
    return [p / total for p in row]


def _cell(cells: list[str], column: int, where: str) -> str:
    if column > len(cells):
        must = f"column {column} must be there"
        raise InputError(sentence(where, must, f"{len(cells)} before the probabilities"))
    return cells[column - 1]
