"""Sparse matrices whose structure is kept while their entries change, and sets that occur often."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.fst.distinct import first_places, row_keys
from fsmeu.limits import MOST_BLOCK_MATRICES

__all__ = ["Sparse", "distinct_sets", "sparse"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix, its entries ones or taken from a vector of weights.

    Attributes:
        shape: the number of rows and columns.
        pointers: where the entries of each row begin, (rows + 1,).
        columns: the column of each entry.
        order: for each entry, its place among those that the matrix was made of.
        index: the index of the weight of each entry; None where all entries are ones.
        blocks: block-diagonal matrices of several copies, by their number; the last few held.
    """

    shape: tuple[int, int]
    pointers: Ints
    columns: Ints
    order: Ints
    index: Ints | None
    blocks: dict[int, csr_array] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self.columns)

    @property
    def rows(self) -> tuple[Ints, Ints]:
        """Where the entries of each row begin, and the column of each entry."""
        return self.pointers, self.columns

    @property
    def weight_index(self) -> Ints:
        """The index of the weight of each entry, of a matrix that has weights."""
        assert self.index is not None
        return self.index

    @property
    def longest_row(self) -> int:
        """The greatest number of entries of a row."""
        return int(np.diff(self.pointers).max(initial=0))

    @cached_property
    def _in_order(self) -> bool:
        return self.index is not None and np.array_equal(self.index, np.arange(len(self.index)))

    def taken(self, weights: Floats) -> Floats:
        """The entries, from vectors of weights (batch, weights), as an array (batch, entries)."""
        if self._in_order and weights.shape[1] == self.entries:
            return weights
        return weights[:, self.index]

    def times(self, values: Floats, entries: Floats | None = None) -> Floats:
        """The products with values (batch, columns, k) as an array (batch, rows, k).

        Args:
            values: a C-contiguous array.
            entries: the entries of the matrices, (batch, entries), where they are not ones.
        """
        return self._product(self._block(values.shape[0], entries), values)

    def transposed_times(self, values: Floats, entries: Floats | None = None) -> Floats:
        """The products of the transposes with values (batch, rows, k), (batch, columns, k)."""
        return self._product(self._block(-values.shape[0], entries), values)

    @staticmethod
    def _product(matrix: csr_array, values: Floats) -> Floats:
        batch, _, width = values.shape
        product: Floats = matrix @ values.reshape(-1, width)
        return product.reshape(batch, -1, width)

    def _block(self, batch: int, entries: Floats | None) -> csr_array:
        """The block-diagonal matrix of as many copies with these entries, or ones.

        With a negative number of copies, its transpose.
        """
        if batch not in self.blocks:
            if len(self.blocks) >= MOST_BLOCK_MATRICES:
                self.blocks.clear()
            copies = self._copies(abs(batch))
            self.blocks[batch] = copies if batch > 0 else copies.T
        if entries is None:
            return self.blocks[batch]
        matrix = copy.copy(self.blocks[batch])
        matrix.data = entries.ravel()
        return matrix

    def _copies(self, batch: int) -> csr_array:
        copies = np.arange(batch)[:, None]
        columns = (self.columns + copies * self.shape[1]).ravel()
        starts = (self.pointers[:-1] + copies * len(self.columns)).ravel()
        pointers = np.append(starts, batch * len(self.columns))
        held = (np.ones(len(columns)), columns.astype(np.int32), pointers.astype(np.int32))
        return csr_array(held, shape=(batch * self.shape[0], batch * self.shape[1]))


def sparse(rows: Ints, columns: Ints, shape: tuple[int, int], index: Ints | None = None) -> Sparse:
    """The sparse matrix with entries at these places, each of them once.

    Args:
        rows: the row of each entry.
        columns: the column of each entry.
        shape: the number of rows and columns.
        index: the index of the weight of each entry, where they are not ones.
    """
    order = np.argsort(row_keys([rows, columns]))
    pointers = np.append(0, np.cumsum(np.bincount(rows, minlength=shape[0])))
    picked = None if index is None else index[order]
    return Sparse(shape, pointers, columns[order], order, picked)


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
