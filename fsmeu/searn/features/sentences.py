"""Sentences as hashed features: one sparse row for each position, laid end to end.

Hashes are the same on every machine and in every process. A text is hashed by BLAKE2 to 64 bits.
Two hashes are combined by a multiplication and the finalizer of the generator splitmix64 (Steele,
Lea and Flood 2014), which spreads each bit over all others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Ints
from fsmeu.learning.features import feature_items

Hashes = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """The hash of a text, a whole number below 2^64."""
    held = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(held, digest_size=8).digest(), "big")


def mixed(first: Hashes | np.uint64, second: Hashes | np.uint64) -> Hashes:
    """The hashes of pairs of hashes, in this order; the shapes are broadcast."""
    with np.errstate(over="ignore"):
        z = np.asarray(first) * _GOLDEN + np.asarray(second) + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))


def indices(hashes: Hashes, bits: int) -> NDArray[np.int32]:
    """The first bits of hashes, as columns of a matrix that has 2^bits of them; same shape."""
    return np.asarray(hashes >> np.uint64(64 - bits), np.int32)


def uniform(seed: int, *numbers: Any) -> NDArray[np.float64]:
    """A number from [0, 1) for each item of arrays of whole numbers, 53 bits of its hash."""
    found: Hashes = np.asarray(seed, np.uint64)
    for one in numbers:
        found = mixed(found, np.asarray(one).astype(np.uint64))
    return np.asarray((found >> np.uint64(11)) * 2.0**-53, np.float64)


_SEED = np.uint64(text_hash("history"))  # keeps these features apart from those of positions


def history_columns(
    past: Any, crossed: Hashes, bits: int, crossed_depth: int = 1
) -> NDArray[np.int32]:
    """The columns of a constant, of the last 1, 2, ... decisions, and of crossed ones, (B, K).

    ``past`` has the newest first, (B, h), at least -2; each hash of ``crossed`` (B, C) is crossed
    with the last 1, ..., ``crossed_depth`` of them.
    """
    key = np.full(len(past), _SEED)
    found = [key]
    for k in range(past.shape[1]):
        key = mixed(key, (past[:, k].astype(np.int64) + 2).astype(np.uint64))
        found.append(key)
        if k < crossed_depth:
            found += [mixed(key, crossed[:, c]) for c in range(crossed.shape[1])]
    return indices(np.stack(found, axis=1), bits)


def rows_of_columns(columns: NDArray[np.int32], count: int) -> csr_array:
    """Rows, (B, count) of float32, that have the value 1 in columns (B, K) but negative ones."""
    kept = columns >= 0
    ends = np.concatenate(([0], np.cumsum(kept.sum(axis=1), dtype=np.int64)))
    held = (np.ones(int(ends[-1]), np.float32), columns[kept], ends)
    return csr_array(held, shape=(len(columns), count))


def joined_rows(matrix: csr_array, positions: Ints, added: NDArray[np.int32]) -> csr_array:
    """Rows of a matrix, each with ``added`` columns (B, K) as in ``rows_of_columns`` behind it."""
    taken, more = matrix[positions], rows_of_columns(added, matrix.shape[1])
    begins, extra = taken.indptr.astype(np.int64), more.indptr
    ends = begins + extra
    columns, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], matrix.dtype)
    for part, shift in ((taken, extra[:-1]), (more, begins[1:])):
        at = np.arange(len(part.indices)) + np.repeat(shift, np.diff(part.indptr))
        columns[at], values[at] = part.indices, part.data
    return csr_array((values, columns, ends), shape=(len(positions), matrix.shape[1]))


@dataclass(frozen=True)
class HashedSentences:
    """What is seen of each position, before anything is decided.

    ``segments`` is None, or a function of first positions (B,) and lengths (B,) that returns the
    hashed columns of features of these segments, int32 (B, K); for chunks.
    """

    matrix: csr_array  # the values of hashed features, (positions, 2^bits) of float32
    starts: Ints  # where each sentence begins, and where the last ends, (S + 1,)
    crossed: Hashes  # of what is crossed with labels decided before, (positions, C)
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
    known: dict[str, tuple[int, int]] = {}  # hash, number among crossed names or -1
    group = {name: k for k, name in enumerate(crossed)}
    hashes, values, ends = list[int](), list[float](), [0]
    lines: list[list[int]] = []
    for position in chain.from_iterable(sentences):
        lines.append([0] * len(group))
        for name, value in feature_items(position):
            if name not in known:
                known[name] = text_hash(name), group.get(re.split("[:=]", name, maxsplit=1)[0], -1)
            number, place = known[name]
            hashes.append(number)
            values.append(value)
            if place >= 0:
                lines[-1][place] ^= number
        ends.append(len(hashes))
    columns = indices(np.array(hashes, np.uint64), bits)
    held = (np.array(values, np.float32), columns, np.array(ends, np.int64))
    matrix = csr_array(held, shape=(len(lines), 1 << bits))
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sentences]))).astype(np.int64)
    marks = np.array(lines, np.uint64).reshape(len(lines), len(group))
    return HashedSentences(matrix, starts, marks)
