"""Records as data: a label model, a hypothesis or a reference, and what systems decided.

In JSON lines these are keys of a record; in columns, columns of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fsmeu.checking.examples import as_labels
from fsmeu.corpora.columns import Token, cell_of, independent, tokens_of
from fsmeu.corpora.records import Record
from fsmeu.errors import FsmeuError, InputError, as_number, message, one_of
from fsmeu.fst.alphabet import Label
from fsmeu.models import Model, from_json
from fsmeu.models.adapters import parse_json

_WHERE = re.compile(r"(constraint|given)(?=[ :])")
_OURS = ("id", "z", "y")
LABELS = "must be a list of labels, or a text"


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
