"""Random numbers that are hashes of what they are drawn for, so that order does not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.mixing import mixed

__all__ = ["uniform"]


def uniform(seed: int, *numbers: Any) -> NDArray[np.float64]:
    """A number from [0, 1) for each, of the shape of the numbers: the upper 53 bits of a hash.

    Args:
        seed: a whole number from 0 to 2^64 - 1.
        numbers: arrays of whole numbers, which say together what is drawn for.
    """
    found: NDArray[np.uint64] = np.asarray(seed, np.uint64)
    for one in numbers:
        found = mixed(found, np.asarray(one).astype(np.uint64))
    return np.asarray((found >> np.uint64(11)) * 2.0**-53, np.float64)
