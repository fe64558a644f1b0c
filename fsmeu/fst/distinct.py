"""Distinct whole numbers and rows of them, numbered; classes of states by refinement (Moore 1956).

What is numbered here are states, arcs, labels and their combinations, which mostly fill a range.
There, a table over the range takes the place of a sort. Machines of losses are wide and shallow, so
that a few sorts of all states refine them, 20 to 100 times as fast as OpenFst's minimisation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints

_MOST = 1 << 62
_ROUNDING = 2 * np.finfo(np.float64).eps  # four operations, each of which rounds by half of it


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers, ascending, and the place of each number among them (in its shape).

    >>> distinct(np.array([7, -1, 7, 3]))
    (array([-1,  3,  7]), array([2, 0, 2, 1]))
    """
    low = int(values.min(initial=0))
    high = int(values.max(initial=0))
    if high - low > limits.WIDEST_TABLE * values.size + limits.SMALL_TABLE:
        numbers, place = np.unique(values, return_inverse=True)
        return numbers, place.reshape(values.shape)
    shifted = values - low if low else values
    occurs = np.zeros(high - low + 1, bool)
    occurs[shifted] = True
    numbers = np.flatnonzero(occurs)
    number = np.empty(len(occurs), np.int64)
    number[numbers] = np.arange(len(numbers))
    return numbers + low if low else numbers, number[shifted]


def first_places(numbers: Ints, count: int) -> Ints:
    """The first place of each of the numbers 0, ..., count - 1 in an array that has them all."""
    first = np.empty(count, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last that is written stays
    return first


def row_keys(columns: Sequence[Ints]) -> Ints:
    """A number for each row, in order and equal where the rows of columns (>= 0) are."""
    key = columns[0]
    size = int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if size * width > _MOST:
            keys, key = distinct(key)
            values, column = distinct(column)
            size = len(keys)
            width = len(values)
        key = key * width + column
        size = size * width
    return key


def distinct_rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first place of each distinct row of numbers >= 0, in order, and the number of each row.

    >>> distinct_rows([np.array([1, 0, 1]), np.array([2, 5, 2])])
    (array([1, 0]), array([1, 0, 1]))
    """
    keys, number = distinct(row_keys(columns))
    return first_places(number, len(keys)), number


def bits(numbers: Floats) -> Ints:
    """Whole numbers (in the shape of the argument) that are equal where the numbers are."""
    return (np.where(np.isnan(numbers), np.nan, numbers) + 0.0).view(np.int64)


def group(columns: Ints) -> Ints:
    """Numbers for rows of whole numbers: the same for equal rows."""
    if columns.shape[1] > len(columns) > 0:
        whole = np.ascontiguousarray(columns).view(f"V{columns.itemsize * columns.shape[1]}")
        return np.unique(whole.ravel(), return_inverse=True)[1]
    numbered = [distinct(column)[1] for column in columns.T]
    return distinct_rows(numbered)[1] if numbered else np.zeros(len(columns), np.int64)


def refine(targets: Ints, outputs: Ints) -> Ints:
    """The class of each state: states of one class have the same outputs after every continuation.

    Targets (states, symbols) and outputs are -1 where there is none. Classes are numbered in the
    order of their first members. Where very many sorts would be needed, as for a long chain of
    states, every state is a class of its own.

    >>> refine(np.array([[1, 2], [3, 3], [3, 3], [-1, -1]]), np.array([-1, -1, -1, 0]))
    array([0, 1, 1, 2])
    """
    classes = np.unique(outputs, return_inverse=True)[1]
    for _ in range(max(limits.FEWEST_SORTS, limits.MOST_SORTED_CELLS // max(1, targets.size))):
        after = np.append(classes, -1)[targets]
        finer = group(np.concatenate([classes[:, None], after], axis=1))
        if finer.max(initial=-1) == classes.max(initial=-1):
            return by_first(classes)
        classes = finer
    return np.arange(len(targets))


def refine_layers(steps: Sequence[tuple[Ints, Ints]], ends: Ints) -> list[Ints]:
    """For each layer of a machine the class of each state, from 0; -1 where no output can follow.

    ``steps`` has for each layer but the last the places (states, symbols) in the next layer that
    its steps lead to, -1 for none, and outputs (states, any number) of these steps; ``ends`` the
    output of each state of the last layer, -1 for none. There is one sort for each layer.
    """
    layers = [ends]
    for targets, outputs in reversed(steps):
        after = np.append(layers[-1], -1)[targets]
        live = after.max(axis=1, initial=-1) >= 0
        classes = np.full(len(targets), -1, np.int64)
        classes[live] = group(np.concatenate([after[live], outputs[live]], axis=1))
        layers.append(classes)
    return layers[::-1]


def by_first(classes: Ints) -> Ints:
    """The same classes, numbered in the order of their first members; -1 stays."""
    numbers, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(np.where(numbers < 0, -1, first)))
    return (rank - int((numbers < 0).any()))[inverse]


@np.errstate(over="ignore")
def same_up_to_rounding(ascending: Floats) -> Ints:
    """Numbers 0, 1, ... for values in ascending order, the same for those that differ by rounding.

    Rounding is relative to the values themselves: 1e-17 is not 0, beside however great values it
    stands. Each value is compared with the first of its group, so that a row of near ones does not
    become one. Whole numbers, halves, quarters and eighths are exact in doubles and stay apart.

    >>> same_up_to_rounding(np.array([0.0, 1e-17, 0.3, 0.1 + 0.2, 2**53 - 2, 2**53 - 1]))
    array([0, 1, 2, 2, 3, 4])
    """
    near = _ROUNDING * np.abs(ascending)
    exact = 8.0 * ascending == np.floor(8.0 * ascending)
    apart = (np.diff(ascending) > np.minimum(near[:-1], near[1:])) | (exact[:-1] & exact[1:])
    first = 0  # of the group: its first place, its last, whether one of it is exact
    last = -1
    has_exact = False
    for k in (np.flatnonzero(~apart) + 1).tolist():
        if last != k - 1:
            first = k - 1
            has_exact = bool(exact[k - 1])
        if ascending[k] - ascending[first] > near[first] or (has_exact and exact[k]):
            apart[k - 1] = True
            first = k
            has_exact = False
        last = k
        has_exact = has_exact or bool(exact[k])
    return np.concatenate([[0], np.cumsum(apart)])[: len(ascending)].astype(np.int64)


def distinct_sets(owner: Ints, member: Ints, owners: int) -> tuple[Ints, Ints, Ints]:
    """The number of each owner's set of members; and the distinct sets, arrays of set and member.

    Each of the owners 0, 1, ... has members, none twice. Small sets have small numbers.
    """
    order = np.argsort(row_keys([owner, member]))
    owner = owner[order]
    member = member[order]
    ends = np.cumsum(np.bincount(owner, minlength=owners))
    content = member.tobytes()
    bounds = (member.itemsize * ends).tolist()
    sets = [content[begin:end] for begin, end in zip([0, *bounds], bounds, strict=False)]
    numbers = {members: k for k, members in enumerate(sorted(dict.fromkeys(sets), key=len))}
    number = np.array([numbers[members] for members in sets], np.int64)
    first = first_places(number, len(numbers))
    chosen = first[number[owner]] == owner
    return number, number[owner[chosen]], member[chosen]
