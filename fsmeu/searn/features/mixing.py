"""Hashes that are the same on every machine and in every process, whole arrays at a time.

A text is hashed by BLAKE2 to 64 bits. Two hashes are combined by a multiplication and the finalizer
of the generator splitmix64 (Steele, Lea and Flood 2014), which spreads each bit over all others.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hashes", "indices", "mixed", "text_hash"]

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
