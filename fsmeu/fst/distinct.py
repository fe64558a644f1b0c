"""Distinct whole numbers and rows of whole numbers, numbered in ascending order.

What is numbered here are states, arcs, labels and their combinations, which mostly fill a range.
There, a table over the range takes the place of a sort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsmeu.arrays import Ints

_WIDEST = 8
"""A table may be as many times as long as the numbers are many; beyond that, sorting is faster."""
_SMALL = 1024
_MOST = 1 << 62


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers, ascending, and the place of each number among them (in its shape).

    >>> distinct(np.array([7, -1, 7, 3]))
    (array([-1,  3,  7]), array([2, 0, 2, 1]))
    """
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low > _WIDEST * values.size + _SMALL:
        found, place = np.unique(values, return_inverse=True)
        return found, place.reshape(values.shape)
    held = values - low if low else values
    occurs = np.zeros(high - low + 1, bool)
    occurs[held] = True
    found = np.flatnonzero(occurs)
    number = np.empty(len(occurs), np.int64)
    number[found] = np.arange(len(found))
    return found + low if low else found, number[held]


def first_places(numbers: Ints, count: int) -> Ints:
    """The first place of each of the numbers 0, ..., count - 1 in an array that has them all."""
    first = np.empty(count, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last that is written stays
    return first


def row_keys(columns: Sequence[Ints]) -> Ints:
    """Whole numbers, one for each row, that are in order and equal where the rows are.

    Args:
        columns: at least one, of numbers of at least 0; rows are ordered by the first, then the
            second, and so on.
    """
    key, size = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if size * width > _MOST:
            (found, key), (values, column) = distinct(key), distinct(column)
            size, width = len(found), len(values)
        key, size = key * width + column, size * width
    return key


def distinct_rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first place of each distinct row, in the order of rows, and the number of each row.

    Args:
        columns: at least one, of numbers of at least 0.

    >>> distinct_rows([np.array([1, 0, 1]), np.array([2, 5, 2])])
    (array([1, 0]), array([1, 0, 1]))
    """
    found, number = distinct(row_keys(columns))
    return first_places(number, len(found)), number
