"""Distinct sets of members, found by sums of random marks and then compared."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.fst.distinct import first_places, row_keys

__all__ = ["distinct_sets"]


def distinct_sets(owner: Ints, member: Ints, owners: int) -> tuple[Ints, Ints, Ints]:
    """The distinct sets of members that owners have.

    Args:
        owner: the owner of each membership, 0, ..., owners - 1; each has at least one.
        member: the member, at most once for each owner.
        owners: the number of owners.

    Returns:
        The number of each owner's set; and the distinct sets as parallel arrays, set and member.
    """
    order = np.argsort(row_keys([owner, member]))
    owner, member = owner[order], member[order]
    sizes = np.bincount(owner, minlength=owners)
    begins = np.cumsum(sizes) - sizes
    marks = _marks(int(member.max(initial=0)).bit_length())
    sums = np.add.reduceat(marks[member], begins) if owners else marks[:0]
    number, first = _alike(sizes, sums)
    shift = (begins[first][number] - begins)[owner]
    same = np.array_equal(sizes[first][number], sizes)
    if not (same and np.array_equal(member[np.arange(len(member)) + shift], member)):
        number, first = np.arange(owners), np.arange(owners)  # two sets have equal sums
    kept = np.zeros(owners, bool)
    kept[first] = True
    held = kept[owner]
    return number, number[owner[held]], member[held]


@lru_cache(maxsize=4)
def _marks(bits: int) -> Ints:
    """Random numbers, one for each number of as many bits; more bits have the same and others."""
    return np.random.default_rng(0).integers(1 << 62, size=1 << bits)


def _alike(sizes: Ints, sums: Ints) -> tuple[Ints, Ints]:
    """The number of each set, the same for equal sums, and the first set of each number.

    Args:
        sizes: the size of each set; small sets have small numbers.
        sums: the sum of the marks of its members.
    """
    found, place = np.unique(sums, return_inverse=True)
    first = first_places(place, len(found))
    order = np.lexsort((found, sizes[first]))
    return np.argsort(order)[place], first[order]
