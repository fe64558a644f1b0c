"""Equal rows of whole numbers, found by hashing and verified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct_rows

__all__ = ["equal_rows"]

Ints = NDArray[np.int64]

_FACTORS = np.random.default_rng(20090).integers(1, 1 << 62, 4096, np.int64) * 2 + 1


def equal_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The first place of each distinct row (rows,), and the number of each row.

    Rows are multiplied by fixed odd numbers and summed modulo 2^64; whether rows with equal sums
    are equal is checked, and where they are not (about once in 2^64 / rows^2) they are sorted.

    Args:
        rows: whole numbers of at least -1, (rows, columns).
    """
    if not rows.shape[1]:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    factors = np.resize(_FACTORS, rows.shape[1])
    with np.errstate(over="ignore"):
        keys = rows @ factors
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[number]], rows):
        return distinct_rows([column + 1 for column in rows.T])
    return first, number
