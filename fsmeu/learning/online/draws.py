"""Uniform numbers that depend on the place of an example in the stream alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["uniform"]

Floats = NDArray[np.float64]


def uniform(seed: int, seen: int, weights: Floats) -> Floats:
    """A number from [0, 1) for each example, (examples,).

    It depends on the seed and on how many examples of positive weight came before: pieces get the
    same numbers as the whole. (The mixing function is that of SplitMix64, Steele et al. 2014.)
    """
    place = np.cumsum(weights > 0.0).astype(np.uint64) + np.uint64(seen)
    word = (place + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.asarray((word >> np.uint64(11)) * 2.0**-53)
