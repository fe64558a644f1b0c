"""Handwriting recognition (Daumé et al. 2009, section 6.1.1): ten folds of words of letter images.

Small: one fold to train on and nine to predict; large: the other way round. Features are pixels and
the letters before, so that the model is linear in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.searn.features.sentences import HashedSentences
from searn.data import Letters, letters
from searn.task import Part, Split, held_out, part_of

__all__ = ["folds", "held_out_folds"]

BITS = 16


def _whole(data: Letters) -> Part:
    starts = data.starts.tolist()
    names = [data.names[a:b] for a, b in pairwise(starts)]
    return Part(_pixel_features(data.pixels, data.starts), names)


def _pixel_features(pixels: NDArray[np.float64], starts: NDArray[np.int64]) -> HashedSentences:
    """Sentences whose positions have pixels, (positions, pixels), and a constant.

    Most of the 2^BITS columns are for what was decided before.
    """
    count = len(pixels)
    shown = csr_array(np.concatenate([pixels, np.ones((count, 1))], axis=1))
    held = (shown.data.astype(np.float32), shown.indices.astype(np.int32), shown.indptr)
    matrix = csr_array(held, shape=(count, 1 << BITS))
    return HashedSentences(matrix, starts, np.empty((count, 0), np.uint64))


def folds(small: bool, quick: bool) -> Iterator[Split]:
    """The ten folds, or one of 60 words with as many to predict."""
    data = letters()
    whole = _whole(data)
    if quick:
        order = np.random.default_rng(0).permutation(len(whole.labels)).tolist()
        yield Split(part_of(whole, order[:60]), part_of(whole, order[60:120]))
        return
    for fold in range(10):
        inside, outside = np.flatnonzero(data.folds == fold), np.flatnonzero(data.folds != fold)
        train, test = (inside, outside) if small else (outside, inside)
        parts = (part_of(whole, one.tolist()) for one in (train, test))
        yield Split(*parts, numbers=test)


def held_out_folds(small: bool, quick: bool) -> Iterator[Split]:
    """A part of the training data of the first fold, and the rest of it to predict.

    For the small task a fifth of the training fold is predicted, for the large one a tenth; words
    are drawn, since the file is sorted by word.
    """
    split = next(folds(small, quick))
    yield held_out(split.train, 0.2 if small else 0.1, shuffled=True)
