"""A corpus of models: JSON lines, from a file or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from fsmeu.cli.inputs import STDIN
from fsmeu.errors import FsmeuError, InputError, sentence
from fsmeu.models import Model, from_json
from fsmeu.models.interchange import MAX_JSON_BYTES

__all__ = ["read_corpus"]


def read_corpus(name: str, loss_name: str) -> list[Model]:
    """The models of a corpus, a JSON object on each line; empty lines are passed over.

    Raises:
        InputError: the message names the file and the line.
    """
    where = "standard input" if name == STDIN else f"corpus {name}"
    models = []
    for number, text in enumerate(_text(name, loss_name, where).splitlines(), start=1):
        if text.strip():
            models.append(_model(text, f"{where}, line {number}"))
    return models


def _model(text: str, where: str) -> Model:
    if text.lstrip()[:1] != "{":
        must = 'each line must be a JSON object, such as {"probs": [0.2, 0.9]}'
        raise InputError(sentence(where, must, text.strip()))
    try:
        return from_json(text)
    except FsmeuError as error:
        message = f"{where}: {error}"
        raise InputError(message) from None


def _text(name: str, loss_name: str, where: str) -> str:
    content = _content(name, loss_name, where)
    if len(content) > MAX_JSON_BYTES:
        must = f"a corpus may have at most {MAX_JSON_BYTES:,} bytes"
        raise InputError(sentence(where, must, "more", "Cut it into several files"))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(sentence(where, "a corpus must be UTF-8 text")) from None


def _content(name: str, loss_name: str, where: str) -> bytes:
    """At most one byte more than a corpus may have."""
    if name != STDIN:
        try:
            with Path(name).expanduser().open("rb") as file:
                return file.read(MAX_JSON_BYTES + 1)
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(sentence(where, f"the file cannot be read ({reason})")) from None
    if loss_name == STDIN:
        must = "standard input holds the loss or the corpus, not both"
        raise InputError(sentence("-", must, None, "Put one of them into a file"))
    if sys.stdin is None:
        raise InputError(sentence(where, "must be open to read a corpus from it"))
    return sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
