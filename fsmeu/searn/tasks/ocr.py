"""Handwriting recognition (Daumé et al. 2009, section 6.1.1): ten folds of words of letter images.

Small: one fold to train on and nine to predict; large: the other way round. Features are pixels and
the letters before, so that the model is linear in them; "pairs" adds the pairs of neighbouring
pixels, which stand for the paper's quadratic kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.corpus import dense_sentences
from fsmeu.searn.tasks.data import Letters, letters
from fsmeu.searn.tasks.task import Part, Split, held_out, part_of

__all__ = ["folds", "held_out_folds", "pixel_pairs"]

BITS = 16
HEIGHT, WIDTH = 16, 8


def pixel_pairs(pixels: NDArray[np.float64], reach: int = 2) -> NDArray[np.float64]:
    """Products of pixels that are at most ``reach`` rows and columns apart, (letters, pairs)."""
    image = pixels.reshape(-1, HEIGHT, WIDTH)
    found = []
    for down in range(reach + 1):
        for right in range(-reach, reach + 1):
            if (down, right) <= (0, 0):
                continue
            first = image[:, : HEIGHT - down, max(0, -right) : WIDTH - max(0, right)]
            second = image[:, down:, max(0, right) : WIDTH + min(0, right)]
            found.append((first * second).reshape(len(image), -1))
    return np.concatenate(found, axis=1)


def _whole(data: Letters, pairs: bool) -> Part:
    values = data.pixels
    if pairs:
        values = np.concatenate([values, pixel_pairs(values)], axis=1)
    starts = data.starts.tolist()
    names = [data.names[a:b] for a, b in pairwise(starts)]
    return Part(dense_sentences(values, data.starts, BITS), names)


def folds(small: bool, quick: bool, pairs: bool = False) -> Iterator[Split]:
    """The ten folds, or one of 60 words with as many to predict."""
    data = letters()
    whole = _whole(data, pairs)
    if quick:
        order = np.random.default_rng(0).permutation(len(whole.labels)).tolist()
        yield Split(part_of(whole, order[:60]), part_of(whole, order[60:120]))
        return
    for fold in range(10):
        inside, outside = np.flatnonzero(data.folds == fold), np.flatnonzero(data.folds != fold)
        train, test = (inside, outside) if small else (outside, inside)
        parts = (part_of(whole, one.tolist()) for one in (train, test))
        yield Split(*parts, numbers=test)


def held_out_folds(small: bool, quick: bool, pairs: bool = False) -> Iterator[Split]:
    """A part of the training data of the first fold, and the rest of it to predict.

    For the small task a fifth of the training fold is predicted, for the large one a tenth; words
    are drawn, since the file is sorted by word.
    """
    split = next(folds(small, quick, pairs))
    yield held_out(split.train, 0.2 if small else 0.1, shuffled=True)
