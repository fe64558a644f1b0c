"""Records as data: a label model, a hypothesis or a reference, and what systems decided.

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
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fsmeu.checking.examples import as_labels
from fsmeu.corpora.records import Record
from fsmeu.errors import FsmeuError, InputError, as_number, message, one_of
from fsmeu.files import STDIN, read_text
from fsmeu.fst.alphabet import Label
from fsmeu.models import Independent, Model, from_json
from fsmeu.models.adapters import parse_json

_WHERE = re.compile(r"(constraint|given)(?=[ :])")
_OURS = ("id", "z", "y")
LABELS = "must be a list of labels, or a text"
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


def conditioned(model: Model, constraint: Any) -> Model:
    """The model given a constraint, or itself where that is None; messages name --given."""
    if constraint is None:
        return model
    try:
        return model.given(constraint)
    except FsmeuError as error:
        raise type(error)(_WHERE.sub("--given", str(error), count=1)) from None


@dataclass(frozen=True, eq=False)
class Item:
    """A record that was read.

    Attributes:
        number: the number of the record, which begins in ``line``.
        id: what the corpus calls it; None where it does not.
        model: its label model, or None.
        z: its hypothesis, a list of labels or a text of them; None where none is asked for.
        gold: its reference, where one is asked for.
        systems: decisions by the key or column that they stand in, each as long as the reference.
        lines: the line of each label, in columns; empty where the record is one line.
    """

    number: int
    line: int
    id: str | int | None
    model: Any
    z: Any = None
    gold: Sequence[Label] = ()
    systems: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    lines: Sequence[int] = ()


def parse(record: Record, form: str, column: int = 0, given: Any = None) -> Item:
    """The record as data: its model, and a hypothesis if there is one.

    In JSON, a record is a model as ``from_json`` reads it, with "id", "z" and perhaps a reference
    "y" beside its own keys. In columns, the hypothesis has a column, counted from 1; 0 for none.
    """
    if form == "conll":
        tokens = tokens_of(_text_of(record), record.line)
        model: Model = independent(tokens)
        name, z = None, [cell_of(token, column) for token in tokens] if column else None
    else:
        name, content = _object_of(_text_of(record))
        z = content.get("z")
        model = from_json({key: value for key, value in content.items() if key not in _OURS})
    return Item(record.number, record.line, name, conditioned(model, given), z)


def _text_of(record: Record) -> str:
    """The record as text; an InputError where it is too large, or not UTF-8."""
    if record.fault:
        raise InputError(record.fault)
    try:
        return record.text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(message("record", "must be UTF-8 text")) from None


def _object_of(text: str) -> tuple[str | int | None, dict[str, Any]]:
    """What the corpus calls a record, or None, and the JSON object; an InputError if it is none."""
    must = 'each line must be a JSON object, such as {"probs": [0.2, 0.9]}'
    if text.lstrip()[:1] != "{":
        raise InputError(message("record", must, text.strip()))
    try:
        content = parse_json(text, "record")
    except RecursionError:
        raise InputError(message("record", "must not be nested this deeply")) from None
    assert isinstance(content, dict)
    name = content.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise InputError(message("key 'id'", "must be a text or a whole number", name))
    return name, content


def spelled(text: str, model: Model | None) -> list[str]:
    """The labels of a text, as on the command line: words, or the letters of a single one."""
    words = text.replace(",", " ").split()
    letters = len(words) == 1 and (model is None or words[0] not in model.alphabet.index)
    return list(words[0]) if letters else words


@dataclass(frozen=True)
class Places:
    """Where the sequences of a record stand: keys, or columns by number or name.

    The reference is usually "y", and the last column but one, as conlleval reads it; the only
    decision without systems and models is the last column. ``names`` are those of columns.
    """

    gold: str | None = None
    systems: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def read_gold(record: Record, form: str, places: Places, given: Any = None) -> Item:
    """The record as data: its reference, its model if any, and what systems decided."""
    text, lines, name = _text_of(record), list[int](), None
    if form == "conll":
        tokens = tokens_of(text, record.line)
        lines = [token.line for token in tokens]
        model, gold, systems = _of_columns(tokens, places)
    else:
        name, content = _object_of(text)
        model, gold, systems = _of_object(content, places)
    for where, labels in systems.items():
        if len(labels) != len(gold):
            must = f"{where} must have as many labels as the reference, {len(gold)}"
            raise InputError(message("record", must, len(labels)))
    if model is not None and model.n != len(gold):
        must = f"the model must be as long as the reference, {len(gold)}"
        raise InputError(message("record", must, model.n))
    model = None if model is None else conditioned(model, given)
    return Item(record.number, record.line, name, model, None, gold, systems, lines)


Found = tuple[Model | None, Sequence[Label], dict[str, Sequence[Label]]]
"""A model, a reference, and the decisions of systems by name."""


def _of_columns(tokens: Sequence[Token], places: Places) -> Found:
    has_model = any(len(token.chances) > 1 for token in tokens)
    if has_model and places.gold is None:
        must = "the column of the reference must be given where labels have probabilities"
        raise InputError(message("--gold", must, "none", "For example: --gold 2"))
    model = independent(tokens) if has_model else None
    wanted = {name: name for name in places.systems}
    if not has_model and places.gold is None and not places.systems:
        wanted["last column"] = "-1"

    def labels(place: str) -> Sequence[Label]:
        column = _column(place, places.names)
        return as_labels([cell_of(token, column) for token in tokens])

    gold = labels(places.gold or "-2")
    return model, gold, {name: labels(place) for name, place in wanted.items()}


def _column(place: str, names: tuple[str, ...]) -> int:
    """The number of a column, from 1 or from -1 backwards."""
    number = as_number(place)
    if number:
        return number
    if not names:
        must = "a column must be a number, from 1 or from -1 backwards"
        raise InputError(message("column", must, place, "Names are given by --columns A,B,C"))
    return names.index(one_of("column", "its name", place, names)) + 1


def _of_object(content: dict[str, Any], places: Places) -> Found:
    gold = places.gold or "y"
    ours = {*_OURS, gold, *places.systems}
    rest = {key: value for key, value in content.items() if key not in ours}
    model = from_json(rest) if rest else None

    def labels(key: str) -> Sequence[Label]:
        value = content.get(key)
        if value is None:
            must = f'a record must have the key "{key}", as in "{key}": [0, 1] or "{key}": "01"'
            raise InputError(message("record", must, f"the keys {', '.join(content)}"))
        if isinstance(value, str):
            return as_labels(spelled(value, model))
        if not isinstance(value, list) or not all(
            isinstance(label, int | str) and not isinstance(label, bool) and label != ""
            for label in value
        ):
            raise InputError(message(f"key '{key}'", LABELS, value))
        return value

    return model, labels(gold), {name: labels(name) for name in places.systems}


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
