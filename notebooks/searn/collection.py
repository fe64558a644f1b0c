"""Collections of documents to summarise: words with their dependency trees, a query, references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, message

__all__ = ["Collection", "checked", "subtree_order"]

Texts = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents laid end to end, word by word.

    Attributes:
        words: all words, (N,).
        tags: their parts of speech, (N,).
        relations: the relation of each to its head, (N,).
        heads: the place of each word's head, -1 for the root of a sentence, (N,).
        sentences: the number of the sentence of each word, never falling, (N,).
        documents: the number of the document of each word, never falling, (N,).
        quoted: whether each stands in quotes, (N,).
        query: the words of the query.
        references: the words of each reference summary.
    """

    words: Texts
    tags: Texts
    relations: Texts
    heads: Ints
    sentences: Ints
    documents: Ints
    quoted: NDArray[np.bool_]
    query: Texts
    references: tuple[Texts, ...]

    def __len__(self) -> int:
        return len(self.words)


def checked(given: Collection) -> Collection:
    """The collection itself, checked.

    Raises:
        InputError: lengths do not agree, a head lies outside of its sentence, heads form a cycle,
            or a sentence has no root or several.
    """
    where, n = "collection", len(given)
    parts = (given.tags, given.relations, given.heads, given.sentences, given.documents)
    if any(len(part) != n for part in (*parts, given.quoted)):
        raise InputError(message(where, "there must be one entry of each kind for each word"))
    heads, sentences = np.asarray(given.heads), np.asarray(given.sentences)
    if (heads < -1).any() or (heads >= n).any():
        raise InputError(message(where, "a head must be the place of a word, or -1"))
    inner = heads >= 0
    if (sentences[heads[inner]] != sentences[inner]).any():
        raise InputError(message(where, "a head must stand in the sentence of its word"))
    for number in np.unique(sentences):
        if (heads[sentences == number] < 0).sum() != 1:
            must = f"sentence {number} must have one root"
            raise InputError(message(where, must))
    if len(subtree_order(heads)) != n:
        raise InputError(message(where, "heads must form trees, without cycles"))
    return given


def subtree_order(heads: Ints) -> list[int]:
    """Words in an order with heads before their children; those in cycles are missing."""
    children: dict[int, list[int]] = {}
    for place, head in enumerate(heads.tolist()):
        children.setdefault(head, []).append(place)
    found: list[int] = []
    waiting = list(reversed(children.get(-1, [])))
    while waiting:
        place = waiting.pop()
        found.append(place)
        waiting.extend(reversed(children.get(place, [])))
    return found
