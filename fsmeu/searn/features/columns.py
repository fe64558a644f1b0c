"""Base features of every position of a corpus, as arrays of hashes.

Sentences are laid end to end. A column holds one hash for each position: of the word, its stem, its
part of speech and so on. What is asked for beyond the end of a sentence has a hash of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, one_of, sentence
from fsmeu.searn.features.mixing import Hashes, text_hash
from fsmeu.searn.features.words import case_pattern, lists, shape, stem

__all__ = ["FUNCTIONS", "Columns", "columns_of"]

Row = Sequence[str]
Integers = NDArray[np.int64]
_BEFORE, _AFTER = np.uint64(text_hash("\0before")), np.uint64(text_hash("\0after"))


def _identity(text: str) -> str:
    return text


def _prefix(length: int) -> Callable[[str], str]:
    return lambda text: text[:length]


def _suffix(length: int) -> Callable[[str], str]:
    return lambda text: text[-length:]


def _ending(word: str) -> str:
    """What a stem leaves of its word."""
    return word.lower()[len(stem(word)) :]


FUNCTIONS: dict[str, Callable[[str], str]] = {
    "word": _identity,
    "lower": str.lower,
    "stem": stem,
    "ending": _ending,
    "shape": shape,
    "case": case_pattern,
    "lists": lists,
    **{f"prefix{k}": _prefix(k) for k in (1, 2, 3, 4)},
    **{f"suffix{k}": _suffix(k) for k in (1, 2, 3, 4)},
    "first": _prefix(1),
}
"""Functions of one text that columns may be made with, by name."""


@dataclass(frozen=True)
class Columns:
    """Base features of a corpus.

    Attributes:
        hashes: a hash for each position, (positions,), by the name of the column.
        starts: where each sentence starts, and the end of the last one, (sentences + 1,).
    """

    hashes: Mapping[str, Hashes]
    starts: Integers

    @property
    def sentence_of(self) -> Integers:
        """The number of the sentence of each position, (positions,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def at(self, name: str, positions: Integers, sentences: Integers) -> Hashes:
        """Hashes of a column at positions that may lie outside of their sentences, same shape.

        Args:
            name: the column.
            positions: positions of the corpus.
            sentences: the number of the sentence that each is asked for from.
        """
        held = self.hashes[name]
        begins, ends = self.starts[sentences], self.starts[sentences + 1]
        inside = np.clip(positions, 0, max(0, len(held) - 1))
        found: Hashes = held[inside] if len(held) else np.zeros(positions.shape, np.uint64)
        found = np.where(positions < begins, _BEFORE, found)
        return np.where(positions >= ends, _AFTER, found)


def columns_of(sentences: Sequence[Sequence[Row]], asked: Sequence[str]) -> Columns:
    """The columns of a corpus.

    Args:
        sentences: lists of rows of texts, of which the first is the word.
        asked: names of columns: a function of the word, as ``suffix2``; ``col2`` for the second
            text of a row (``pos`` is the same); ``col2.first`` for a function of it; ``bias``.

    Raises:
        InputError: a name is not known, or a row has no such text.
    """
    lengths = np.array([len(one) for one in sentences], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    made = {}
    for name in dict.fromkeys(asked):
        place, function = _source(name)
        if place < 0:
            made[name] = np.zeros(int(starts[-1]), np.uint64)
            continue
        texts = [_text(row, place, name) for one in sentences for row in one]
        table = {text: text_hash(function(text)) for text in set(texts)}
        made[name] = np.fromiter((table[text] for text in texts), np.uint64, len(texts))
    return Columns(made, starts)


def _source(name: str) -> tuple[int, Callable[[str], str]]:
    """The place in a row and the function that a name stands for; -1 for the bias."""
    where = "feature templates"
    if name == "bias":
        return -1, _identity
    base, _, function = name.replace("pos", "col2", 1).partition(".")
    if base.startswith("col") and base[3:].isdigit() and 1 <= int(base[3:]) <= 1000:
        if function:
            one_of(where, "a function of a column", function, FUNCTIONS)
        return int(base[3:]) - 1, FUNCTIONS[function or "word"]
    known = [*FUNCTIONS, "pos", "bias", "col1"]
    return 0, FUNCTIONS[one_of(where, "a column", name, known)]


def _text(row: Row, place: int, name: str) -> str:
    if place < len(row):
        return row[place]
    must = f"the template column {name!r} needs {place + 1} texts in each row"
    raise InputError(sentence("feature templates", must, " ".join(row)))
