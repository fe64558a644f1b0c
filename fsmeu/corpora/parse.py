"""Records as data: an id, a label model and, where it is asked for, a hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsmeu.corpora.columns import read_sentence
from fsmeu.corpora.records import Record
from fsmeu.errors import InputError, sentence
from fsmeu.models import Model, from_json
from fsmeu.models.interchange import parse_json

__all__ = ["Item", "id_of", "object_of", "parse", "spelled", "text_of"]

_OURS = ("id", "z", "y")


@dataclass(frozen=True, eq=False)
class Item:
    """A record that was read.

    Attributes:
        number: the number of the record.
        line: where it begins.
        id: what the corpus calls it; None where it does not.
        model: its label model.
        z: its hypothesis, a list of labels or a text of them; None where it has none.
    """

    number: int
    line: int
    id: str | int | None
    model: Model
    z: Any = None


def parse(record: Record, form: str, column: int = 0) -> Item:
    """The record as data.

    In JSON, a record is a model as ``from_json`` reads it, with "id" and "z" beside its own keys;
    "y", a reference, may be there too.

    Args:
        record: the record.
        form: "jsonl" or "conll".
        column: for "conll", the column of the hypothesis, counted from 1; 0 for none.

    Raises:
        FsmeuError: it is no such record.
    """
    text = text_of(record)
    if form == "conll":
        model, tags = read_sentence(text, column, record.line)
        return Item(record.number, record.line, None, model, tags if column else None)
    content = object_of(text)
    name = id_of(content)
    rest = {key: value for key, value in content.items() if key not in _OURS}
    return Item(record.number, record.line, name, from_json(rest), content.get("z"))


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
        raise InputError(sentence("record", "must be UTF-8 text")) from None


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
        raise InputError(sentence("key 'id'", "must be a text or a whole number", name))
    return name


def object_of(text: str) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        InputError: it is none.
    """
    must = 'each line must be a JSON object, such as {"probs": [0.2, 0.9]}'
    if text.lstrip()[:1] != "{":
        raise InputError(sentence("record", must, text.strip()))
    try:
        content = parse_json(text, "record")
    except RecursionError:
        raise InputError(sentence("record", "must not be nested this deeply")) from None
    if not isinstance(content, dict):
        raise InputError(sentence("record", must, text.strip()))
    return content
