"""Records as data: a label model, a reference, and what systems decided.

In JSON lines these are keys of a record. In columns a sentence has a token with its columns,
separated by blanks or tabs, on each line, and empty lines around it. In files of the CoNLL shared
tasks the last column holds the tags where there are any; taggers print the probability of each
label behind each token: ``crfsuite tag -l`` as LABEL:0.25, ``crf_test -v2`` of CRF++ as LABEL/0.25.
Labels are then independent; probabilities have a few digits, and are divided by their sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fsmeu.corpora.records import Record
from fsmeu.errors import FsmeuError, InputError, as_number, message, one_of
from fsmeu.files import STDIN, read_text
from fsmeu.fst.alphabet import Label, as_labels
from fsmeu.models import Independent, Model, from_json
from fsmeu.models.adapters import parse_json

_WHERE = re.compile(r"(constraint|given)(?=[ :])")
_ROUNDED = 1e-3
"""How far from 1 the sum of probabilities that were printed with a few digits may be."""


class LineError(InputError):
    """A fault of one line of a corpus, counted from 1, which its message does not name."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Token(NamedTuple):
    """One line of a sentence: its number in the corpus, columns, and probabilities of labels."""

    line: int
    cells: list[str]
    chances: dict[str, float]


@dataclass(frozen=True)
class Places:
    """Where the sequences of a record stand: keys, or columns by number or name.

    The reference is "y" or the last column but one, as conlleval reads it, where it is None, and
    there is none where it is ""; then there must be a model. The only decision without systems,
    models and a place of the reference is the last column. ``names`` are those of columns.
    """

    gold: str | None = None
    systems: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Item:
    """A record that was read; labels of its sequences are texts, which are known to any loss."""

    number: int  # of the record, from 1
    line: int  # the one in which it begins
    id: str | int | None  # what the corpus calls it
    model: Any  # its label model, or None
    gold: Sequence[Label] = ()  # its reference, where one is asked for
    systems: Mapping[str, Sequence[Label]] = field(default_factory=dict)  # decisions by their place
    lines: Sequence[int] = ()  # that of each label, in columns


def read_record(record: Record, form: str, places: Places, given: Any = None) -> Item:
    """The record of a "jsonl" or "conll" corpus as data, its model on a condition if one is given.

    In JSON, a record is a model as ``from_json`` reads it, with "id" and sequences beside its keys.
    """
    if record.fault:
        raise InputError(record.fault)
    try:
        text = record.text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(message("record", "must be UTF-8 text")) from None
    wanted, name, lines = {one: one for one in places.systems}, None, list[int]()
    if form == "conll":
        tokens = _tokens(text, record.line)
        lines, where = [token.line for token in tokens], places.gold
        has_model = where == "" or any(len(token.chances) > 1 for token in tokens)
        if has_model and where is None:
            must = "the column of the reference must be given where labels have probabilities"
            raise InputError(message("--gold", must, "none", "For example: --gold 2"))
        model: Model | None = _independent(tokens) if has_model else None
        wanted = wanted or ({"last column": "-1"} if where is None else {})
        gold = "-2" if where is None else where
        labels = partial(_column_labels, tokens, places.names)
    else:
        name, content = _object_of(text)
        gold = "y" if places.gold is None else places.gold
        ours = {"id", "z", "y", gold, *wanted}
        rest = {key: value for key, value in content.items() if key not in ours}
        model = from_json(rest) if rest or not gold else None
        labels = partial(_key_labels, content, model)
    y = labels(gold) if gold else ()
    systems = {one: labels(place) for one, place in wanted.items()}
    if gold:
        sizes = {f"{one} must have as many labels": len(z) for one, z in systems.items()}
        sizes |= {} if model is None else {"the model must be as long": model.n}
        for must, size in sizes.items():
            if size != len(y):
                raise InputError(message("record", f"{must} as the reference, {len(y)}", size))
    model = None if model is None else conditioned(model, given)
    return Item(record.number, record.line, name, model, y, systems, lines)


def conditioned(model: Model, constraint: Any) -> Model:
    """The model given a constraint, or itself where that is None; messages name --given."""
    if constraint is None:
        return model
    try:
        return model.given(constraint)
    except FsmeuError as error:
        raise type(error)(_WHERE.sub("--given", str(error), count=1)) from None


def _tokens(text: str, line: int) -> list[_Token]:
    """The tokens of a sentence; lines before them with # and no probabilities are comments."""
    tokens: list[_Token] = []
    for number, content in enumerate(text.split("\n"), start=line):
        cells = content.split()
        chances = _distribution(cells)
        if chances or tokens or not content.startswith("#"):
            tokens.append(_Token(number, cells[: len(cells) - len(chances)], chances))
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


def _independent(tokens: Sequence[_Token]) -> Independent:
    """The model of tokens with probabilities; a LineError where labels differ, or have none."""
    labels, rows = list(tokens[0].chances), []
    for token in tokens:
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
        rows.append([p / math.fsum(row) for p in row])
    return Independent(rows, as_labels(labels))


def _column_labels(tokens: Sequence[_Token], names: tuple[str, ...], place: str) -> list[str]:
    """The texts of a column, by its name, or by its number from 1 or from -1 backwards."""
    column = as_number(place)
    if not column and not names:
        must = "a column must be a number, from 1 or from -1 backwards"
        raise InputError(message("column", must, place, "Names are given by --columns A,B,C"))
    column = column or names.index(one_of("column", "its name", place, names)) + 1
    for token in tokens:
        if abs(column) > len(token.cells):
            got = f"{len(token.cells)}{' before the probabilities' if token.chances else ''}"
            raise LineError(message("columns", f"column {column} must be there", got), token.line)
    return [token.cells[column - (column > 0)] for token in tokens]


def _object_of(text: str) -> tuple[str | int | None, dict[str, Any]]:
    """What the corpus calls a record, or None, and the JSON object; an InputError if it is none."""
    must = 'each line must be a JSON object, such as {"probs": [0.2, 0.9]}'
    if text.lstrip()[:1] != "{":
        raise InputError(message("record", must, text.strip()))
    try:
        content: Any = parse_json(text, "record")
    except RecursionError:
        raise InputError(message("record", "must not be nested this deeply")) from None
    name = content.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise InputError(message("key 'id'", "must be a text or a whole number", name))
    return name, content


def _key_labels(content: dict[str, Any], model: Model | None, key: str) -> list[str]:
    """The texts of labels: a list, or a text as on the command line, words or letters of one."""
    value = content.get(key)
    if value is None:
        must = f'a record must have the key "{key}", as in "{key}": [0, 1] or "{key}": "01"'
        raise InputError(message("record", must, f"the keys {', '.join(content)}"))
    if isinstance(value, str):
        words = value.replace(",", " ").split()
        letters = len(words) == 1 and (model is None or words[0] not in model.alphabet.index)
        return list(words[0]) if letters else words
    if not isinstance(value, list) or not all(
        isinstance(label, int | str) and not isinstance(label, bool) and label != ""
        for label in value
    ):
        raise InputError(message(f"key '{key}'", "must be a list of labels, or a text", value))
    return list(map(str, value))


def half_mean_segment(rows: Iterable[Sequence[int]]) -> tuple[Fraction, int]:
    """The mean number of units in a segment, and half of it as a whole number of at least 1.

    That is the usual k of Pk and WindowDiff. A row of n slots, 1 for a boundary, has n + 1 units
    and one segment more than boundaries. Halves are rounded up.

    >>> half_mean_segment([[0, 1, 0, 0, 1, 0, 0]])  # 8 units in 3 segments
    (Fraction(8, 3), 1)
    """
    units = segments = 0
    for row in rows:
        units += len(row) + 1
        segments += sum(row) + 1
    mean = Fraction(units, segments)
    return mean, max(1, int(mean / 2 + Fraction(1, 2)))


Sentence: TypeAlias = list[tuple[str, ...]]


def read_sentences(name: str | Path, least: int = 1, most: int | None = None) -> list[Sentence]:
    """The sentences of a file, lists of rows of texts; "-" is standard input.

    All rows must have as many columns, at least ``least``; at most ``most`` sentences are read.
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
