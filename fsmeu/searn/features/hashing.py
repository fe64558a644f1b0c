"""Hashes that are the same on every machine and in every process, and sparse rows made of them.

A text is hashed by BLAKE2 to 64 bits. Two hashes are combined by a multiplication and the finalizer
of the generator splitmix64 (Steele, Lea and Flood 2014), which spreads each bit over all others.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Ints

__all__ = [
    "Hashes",
    "history_columns",
    "indices",
    "joined_rows",
    "mixed",
    "rows_of_columns",
    "text_hash",
    "uniform",
]

Hashes = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """The hash of a text, a whole number below 2^64."""
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


def mixed(first: Hashes | np.uint64, second: Hashes | np.uint64) -> Hashes:
    """The hashes of pairs of hashes, in this order; the shapes are broadcast."""
    with np.errstate(over="ignore"):
        z = np.asarray(first) * _GOLDEN + np.asarray(second) + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        found: Hashes = z ^ (z >> np.uint64(31))
    return found


def indices(hashes: Hashes, bits: int) -> NDArray[np.int32]:
    """The first bits of hashes, as columns of a matrix that has 2^bits of them; same shape."""
    found: NDArray[np.int32] = (hashes >> np.uint64(64 - bits)).astype(np.int32)
    return found


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


_SEED = np.uint64(text_hash("history"))
"""Keeps these features apart from those of positions."""


def history_columns(
    past: Any, crossed: NDArray[np.uint64], bits: int, crossed_depth: int = 1
) -> NDArray[np.int32]:
    """The columns of a constant, of the last 1, 2, ... decisions, and of crossed ones, (B, K).

    Args:
        past: the last decisions, the newest first, (B, h); at least -2.
        crossed: hashes of what is seen, (B, C), each of which is crossed with the last 1, ...,
            ``crossed_depth`` decisions.
        bits: there are 2^bits columns.
        crossed_depth: see above.
    """
    key = np.full(len(past), _SEED)
    found = [key]
    for k in range(past.shape[1]):
        key = mixed(key, (past[:, k].astype(np.int64) + 2).astype(np.uint64))
        found.append(key)
        if k < crossed_depth:
            found += [mixed(key, crossed[:, c]) for c in range(crossed.shape[1])]
    return indices(np.stack(found, axis=1), bits)


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
