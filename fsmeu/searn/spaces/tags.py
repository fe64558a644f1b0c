"""Chunk tags: their parts, and which may follow which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.models.checks import check_shape

__all__ = ["check_follows", "chunks_of", "follows", "meanings", "opening_tags", "tag_parts"]


def tag_parts(tag: Any, where: str = "chunk tags") -> tuple[str, str]:
    """The kind of a tag ("B", "I" or "O") and its type.

    Raises:
        InputError: it is no chunk tag.
    """
    kind, dash, name = str(tag).partition("-")
    if str(tag) == "O" or (kind in ("B", "I") and dash and name):
        return kind, name
    remedy = "Use the space LeftToRight for other labels"
    raise InputError(sentence(where, "labels must be chunk tags: O, B-TYPE, I-TYPE", tag, remedy))


def follows(labels: Sequence[Any]) -> NDArray[np.bool_]:
    """Which tag may follow which, bool (L + 1, L); the last row is for the first tag.

    Raises:
        InputError: a label is no chunk tag, or none of them can come first.
    """
    parts = [tag_parts(label) for label in labels]
    if all(kind == "I" for kind, _ in parts):
        must = "there must be a tag that can come first: O or B-TYPE"
        raise InputError(sentence("chunk tags", must, ", ".join(map(str, labels))))
    found = np.ones((len(parts) + 1, len(parts)), bool)
    for k, (kind, name) in enumerate(parts):
        if kind == "I":
            found[:, k] = [other != "O" and theirs == name for other, theirs in (*parts, ("O", ""))]
    return found


def check_follows(table: NDArray[np.bool_], labels: Sequence[Any]) -> None:
    """Refuses a table of which label may follow which that is not bool (L + 1, L)."""
    check_shape(table, (len(labels) + 1, len(labels)), "which label may follow which")
    if table.dtype != bool:
        raise InputError(sentence("which label may follow which", "must be bool", table.dtype))


def meanings(labels: Sequence[Any]) -> NDArray[np.int64]:
    """The tag that each tag stands for after each other, (L + 1, L); the last row: at the start.

    That is the tag itself where it may follow; else B-X for I-X, which is what losses of chunks
    take it for, or the first tag that may follow if there is no B-X.
    """
    may, opening = follows(labels), opening_tags(labels)
    other = np.where(opening >= 0, opening, may.argmax(axis=1)[:, None])
    return np.where(may, np.arange(len(labels)), other)


def opening_tags(labels: Sequence[Any]) -> NDArray[np.int64]:
    """For each label the index of B-X if it is I-X and there is one, else -1, (L,)."""
    index = {str(label): k for k, label in enumerate(labels)}
    named = [str(label) for label in labels]
    return np.array([index.get(f"B-{n[2:]}", -1) if n[:2] == "I-" else -1 for n in named], np.int64)


def chunks_of(tags: Sequence[Any]) -> list[tuple[int, int, str]]:
    """The chunks of a tag sequence: first position, the one after the last, type.

    As in conlleval, I-X opens a chunk where none of type X goes on.
    """
    found: list[tuple[int, int, str]] = []
    begin, open_type = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        kind, name = tag_parts(tag)
        if open_type and (kind != "I" or name != open_type):
            found.append((begin, i, open_type))
            open_type = ""
        if kind != "O" and not open_type:
            begin, open_type = i, name
    return found
