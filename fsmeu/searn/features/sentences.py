"""Sentences as hashed features: one row for each position, laid end to end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Ints
from fsmeu.learning.features import feature_items
from fsmeu.searn.features.hashing import indices, rows_of_columns, text_hash
from fsmeu.searn.features.segments import SegmentSet, segment_features
from fsmeu.searn.features.templates import TemplateSet, column_names, columns_of, template_hashes

__all__ = [
    "HashedSentences",
    "feature_rows",
    "hashed_sentences",
    "templated_sentences",
]

_NAME = re.compile(r"[^:=]*")


@dataclass(frozen=True)
class HashedSentences:
    """What is seen of each position, before anything is decided.

    Attributes:
        matrix: the values of hashed features, a ``csr_array`` (positions, 2^bits) of float32.
        starts: where each sentence begins among the positions, and where the last ends, (S + 1,).
        crossed: hashes of what is crossed with labels decided before, uint64 (positions, C).
        segments: None, or a function of first positions (B,) and lengths (B,) that returns the
            hashed columns of features of these segments, int32 (B, K); for chunks.
    """

    matrix: csr_array
    starts: Ints
    crossed: NDArray[np.uint64]
    segments: Any = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """The length of each sentence, (S,)."""
        return np.diff(self.starts)

    @property
    def bits(self) -> int:
        """The logarithm of the number of columns."""
        return int(self.matrix.shape[1]).bit_length() - 1


def hashed_sentences(
    sentences: Sequence[Sequence[Any]], bits: int, crossed: Sequence[str] = ()
) -> HashedSentences:
    """The hashed features of sentences.

    Args:
        sentences: for each position a dictionary of features or a list of their names, read as
            ``fsmeu.learning.features`` reads them.
        bits: there are 2^bits columns; features that share one are taken for the same.
        crossed: names of features that are to be crossed with labels decided before. The name of a
            feature ends at the first ":" or "=": that of ``"w0=the"`` is ``"w0"``.
    """
    known: dict[str, tuple[int, int, int]] = {}
    group = {name: k for k, name in enumerate(crossed)}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    lines: list[list[int]] = []
    for one in sentences:
        for position in one:
            line = [0] * len(group)
            for name, value in feature_items(position):
                found = known.get(name)
                if found is None:
                    found = known[name] = _hashed(name, bits, group)
                columns.append(found[0])
                values.append(value)
                if found[1] >= 0:
                    line[found[1]] ^= found[2]
            ends.append(len(columns))
            lines.append(line)
    held = (np.array(values, np.float32), np.array(columns, np.int32), np.array(ends, np.int64))
    matrix = csr_array(held, shape=(len(ends) - 1, 1 << bits))
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sentences]))).astype(np.int64)
    marks = np.array(lines, np.uint64).reshape(len(lines), len(group))
    return HashedSentences(matrix, starts, marks)


def _hashed(name: str, bits: int, group: dict[str, int]) -> tuple[int, int, int]:
    """The column of a feature, the number of its name among the crossed ones or -1, its hash."""
    number = text_hash(name)
    found = _NAME.match(name)
    column = int(indices(np.array(number, np.uint64), bits))
    return column, group.get(found.group() if found else name, -1), number


def feature_rows(lines: Sequence[Any], bits: int) -> csr_array:
    """The hashed features of each line, a ``csr_array`` (lines, 2^bits)."""
    return hashed_sentences([[line] for line in lines], bits).matrix


def templated_sentences(
    sentences: Sequence[Sequence[Sequence[str]]],
    templates: TemplateSet,
    bits: int = 21,
    chunks: SegmentSet | None = None,
) -> HashedSentences:
    """The features of sentences.

    Args:
        sentences: lists of rows of texts, of which the first is the word.
        templates: the features of positions.
        bits: there are 2^bits columns.
        chunks: the features of chunks, for spaces that decide chunk by chunk.
    """
    columns = columns_of(sentences, column_names([*templates.static, *templates.crossed]))
    matrix = rows_of_columns(indices(template_hashes(columns, templates.static), bits), 1 << bits)
    crossed = template_hashes(columns, templates.crossed)
    made = None if chunks is None else segment_features(sentences, chunks, bits)
    return HashedSentences(matrix, columns.starts, crossed, made)
