"""Corpora of words with columns as hashed sentences, by feature templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.searn.features.columns import columns_of
from fsmeu.searn.features.mixing import indices
from fsmeu.searn.features.segments import SegmentSet, segment_features
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.features.sets import TemplateSet
from fsmeu.searn.features.templates import column_names, template_hashes

__all__ = ["dense_sentences", "templated_sentences"]


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
    shown = indices(template_hashes(columns, templates.static), bits)
    positions, count = shown.shape
    ends = np.arange(positions + 1, dtype=np.int64) * count
    held = (np.ones(shown.size, np.float32), shown.ravel(), ends)
    matrix = csr_array(held, shape=(positions, 1 << bits))
    crossed = template_hashes(columns, templates.crossed)
    made = None if chunks is None else segment_features(sentences, chunks, bits)
    return HashedSentences(matrix, columns.starts, crossed, made)


def dense_sentences(
    values: NDArray[np.float64], starts: NDArray[np.int64], bits: int, crossed: Any = None
) -> HashedSentences:
    """Sentences of which each position has a few numbers, such as pixels; a constant is added.

    Args:
        values: (positions, features); fewer than 2^bits.
        starts: where each sentence starts and the last ends, (sentences + 1,).
        bits: there are 2^bits columns, most of them for what was decided before.
        crossed: hashes that are crossed with the last labels, (positions, C).
    """
    positions = len(values)
    shown = csr_array(np.concatenate([values, np.ones((positions, 1))], axis=1))
    held = (shown.data.astype(np.float32), shown.indices.astype(np.int32), shown.indptr)
    matrix = csr_array(held, shape=(positions, 1 << bits))
    none = np.empty((positions, 0), np.uint64)
    return HashedSentences(matrix, starts, none if crossed is None else crossed)
