"""Rows of features put together: what is seen at a position, and what was decided before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["joined_rows", "rows_of_columns", "stacked"]

Ints = NDArray[np.int64]


def joined_rows(matrix: csr_array, positions: Ints, added: NDArray[np.int32]) -> csr_array:
    """Rows of a matrix, each with more columns of value 1 behind it, a ``csr_array`` (B, columns).

    Args:
        matrix: (P, columns).
        positions: the row of the matrix for each row, (B,).
        added: the columns that are added to each, (B, K); a negative one is left out.
    """
    taken = matrix[positions]
    begins = taken.indptr.astype(np.int64)
    kept = added >= 0
    more = kept.sum(axis=1)
    ends = np.concatenate(([0], np.cumsum(np.diff(begins) + more)))
    shift = ends[:-1] - begins[:-1]
    columns = np.empty(ends[-1], np.int32)
    values = np.empty(ends[-1], matrix.dtype)
    own = np.arange(begins[-1]) + np.repeat(shift, np.diff(begins))
    columns[own], values[own] = taken.indices, taken.data
    other = np.arange(int(more.sum())) + np.repeat(begins[1:], more)  # behind b + 1 rows
    columns[other], values[other] = added[kept], 1
    return csr_array((values, columns, ends), shape=(len(positions), matrix.shape[1]))


def rows_of_columns(columns: NDArray[np.int32], count: int) -> csr_array:
    """Rows that have the value 1 in these columns, a ``csr_array`` (B, count) of float32.

    Args:
        columns: (B, K); negative ones are left out.
        count: the number of columns of the matrix.
    """
    kept = columns >= 0
    ends = np.concatenate(([0], np.cumsum(kept.sum(axis=1), dtype=np.int64)))
    held = (np.ones(int(ends[-1]), np.float32), columns[kept], ends)
    return csr_array(held, shape=(len(columns), count))


def stacked(parts: list[csr_array]) -> csr_array:
    """The rows of all parts, one below the other."""
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    columns = np.concatenate([part.indices for part in parts])
    values = np.concatenate([part.data for part in parts])
    return csr_array((values, columns, ends), shape=(len(counts), parts[0].shape[1]))
