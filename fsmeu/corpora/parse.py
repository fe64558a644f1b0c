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
from fsmeu.corpora.columns import Token, cell_of, independent, read_sentence, tokens_of
from fsmeu.corpora.records import Record
from fsmeu.errors import FsmeuError, InputError, as_number, message, one_of
from fsmeu.fst.alphabet import Label
from fsmeu.models import Model, from_json
from fsmeu.models.adapters import parse_json

__all__ = [
    "Item",
    "Places",
    "conditioned",
    "half_mean_segment",
    "parse",
    "read_gold",
    "spelled",
]

_WHERE = re.compile(r"(constraint|given)(?=[ :])")


def conditioned(model: Model, constraint: Any) -> Model:
    """The model of P(y | y is allowed); the model itself where there is no constraint.

    Args:
        model: a label model.
        constraint: what ``model.given`` takes, or None.

    Raises:
        FsmeuError: as ``model.given``; the message names the option --given.
    """
    if constraint is None:
        return model
    try:
        return model.given(constraint)
    except FsmeuError as error:
        raise type(error)(_WHERE.sub("--given", str(error), count=1)) from None


_OURS = ("id", "z", "y")


@dataclass(frozen=True, eq=False)
class Item:
    """A record that was read.

    Attributes:
        number: the number of the record.
        line: where it begins.
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
    """The record as data.

    In JSON, a record is a model as ``from_json`` reads it, with "id" and "z" beside its own keys;
    "y", a reference, may be there too.

    Args:
        record: the record.
        form: "jsonl" or "conll".
        column: for "conll", the column of the hypothesis, counted from 1; 0 for none.
        given: the constraint on which its model is conditioned, or None.

    Raises:
        FsmeuError: it is no such record.
    """
    text = text_of(record)
    if form == "conll":
        told, tags = read_sentence(text, column, record.line)
        model = conditioned(told, given)
        return Item(record.number, record.line, None, model, tags if column else None)
    content = object_of(text)
    name = id_of(content)
    rest = {key: value for key, value in content.items() if key not in _OURS}
    model = conditioned(from_json(rest), given)
    return Item(record.number, record.line, name, model, content.get("z"))


def text_of(record: Record) -> str:
    """The record as text.

    Raises:
        InputError: it is too large, or not UTF-8.
    """
    if record.fault:
        raise InputError(record.fault)
    try:
        return record.text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(message("record", "must be UTF-8 text")) from None


def spelled(text: str, model: Model | None) -> list[str]:
    """The labels of a text, as on the command line: words, or the letters of a single one."""
    words = text.replace(",", " ").split()
    letters = len(words) == 1 and (model is None or words[0] not in model.alphabet.index)
    return list(words[0]) if letters else words


def id_of(content: Mapping[str, Any]) -> str | int | None:
    """What the corpus calls a record; None where it does not.

    Raises:
        InputError: it is neither a text nor a whole number.
    """
    name = content.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise InputError(message("key 'id'", "must be a text or a whole number", name))
    return name


def object_of(text: str) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        InputError: it is none.
    """
    must = 'each line must be a JSON object, such as {"probs": [0.2, 0.9]}'
    if text.lstrip()[:1] != "{":
        raise InputError(message("record", must, text.strip()))
    try:
        content = parse_json(text, "record")
    except RecursionError:
        raise InputError(message("record", "must not be nested this deeply")) from None
    if not isinstance(content, dict):
        raise InputError(message("record", must, text.strip()))
    return content


_GOLD, _SYSTEM = "-2", "-1"
"""The columns that conlleval reads: the reference before the decision, at the end."""


@dataclass(frozen=True)
class Places:
    """Where the sequences of a record stand.

    Attributes:
        gold: the key or column of the reference; None for what is usual: "y", and the last column
            but one.
        systems: keys or columns of decisions; with none, and without models, the last column.
        names: names of columns, from the first on.
    """

    gold: str | None = None
    systems: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def read_gold(record: Record, form: str, places: Places, given: Any = None) -> Item:
    """The record as data.

    Args:
        record: the record.
        form: "jsonl" or "conll".
        places: where its sequences stand.
        given: the constraint on which its model is conditioned, or None.

    Raises:
        FsmeuError: it is no such record.
    """
    text = text_of(record)
    if form == "conll":
        tokens = tokens_of(text, record.line)
        lines = [token.line for token in tokens]
        name, model, found = None, *_of_columns(tokens, places)
    else:
        lines, content = [], object_of(text)
        name, (model, found) = id_of(content), _of_object(content, places)
    gold, systems = found.pop(""), found
    for where, labels in systems.items():
        if len(labels) != len(gold):
            must = f"{where} must have as many labels as the reference, {len(gold)}"
            raise InputError(message("record", must, len(labels)))
    if model is not None and model.n != len(gold):
        must = f"the model must be as long as the reference, {len(gold)}"
        raise InputError(message("record", must, model.n))
    model = None if model is None else conditioned(model, given)
    return Item(record.number, record.line, name, model, None, gold, systems, lines)


def _of_columns(
    tokens: Sequence[Token], places: Places
) -> tuple[Model | None, dict[str, Sequence[Label]]]:
    """The model of a sentence in columns, and its sequences; the reference has an empty name."""
    has_model = any(len(token.found) > 1 for token in tokens)
    if has_model and places.gold is None:
        must = "the column of the reference must be given where labels have probabilities"
        raise InputError(message("--gold", must, "none", "For example: --gold 2"))
    model = independent(tokens) if has_model else None
    usual = not has_model and places.gold is None and not places.systems
    wanted = {"": places.gold or _GOLD, **{name: name for name in places.systems}}
    if usual:
        wanted["last column"] = _SYSTEM
    columns = {name: _column(place, places.names) for name, place in wanted.items()}
    cells = {name: [cell_of(token, k) for token in tokens] for name, k in columns.items()}
    return model, dict(zip(cells, map(as_labels, cells.values()), strict=True))


def _column(place: str, names: tuple[str, ...]) -> int:
    """The number of a column, from 1 or from -1 backwards."""
    number = as_number(place)
    if number:
        return number
    if not names:
        must = "a column must be a number, from 1 or from -1 backwards"
        raise InputError(message("column", must, place, "Names are given by --columns A,B,C"))
    return names.index(one_of("column", "its name", place, names)) + 1


def _of_object(
    content: dict[str, Any], places: Places
) -> tuple[Model | None, dict[str, Sequence[Label]]]:
    """The model of a JSON object, and its sequences; the reference has an empty name."""
    gold = places.gold or "y"
    ours = {*_OURS, gold, *places.systems}
    rest = {key: value for key, value in content.items() if key not in ours}
    model = from_json(rest) if rest else None
    wanted = {"": gold, **{name: name for name in places.systems}}
    return model, {name: _labels(content, key, model) for name, key in wanted.items()}


def _labels(content: Mapping[str, Any], key: str, model: Model | None) -> list[Label]:
    """The labels under a key: a list, or a text that is read as on the command line."""
    found = content.get(key)
    if found is None:
        must = f'a record must have the key "{key}", as in "{key}": [0, 1] or "{key}": "01"'
        raise InputError(message("record", must, f"the keys {', '.join(content)}"))
    if isinstance(found, str):
        return list(as_labels(spelled(found, model)))
    if not isinstance(found, list) or not all(_is_label(label) for label in found):
        raise InputError(message(f"key '{key}'", "must be a list of labels, or a text", found))
    return found


def _is_label(label: object) -> bool:
    return isinstance(label, int | str) and not isinstance(label, bool) and label != ""


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
