"""Partitions of states by what can be told apart: refinement on whole arrays (Moore 1956).

OpenFst minimises deterministic acceptors as well, and exactly if outputs are written as labels
(``fsmeu.fst.minimize``), but takes 20 to 100 times as long on the machines of losses: they are wide
and shallow, so that a few sorts of all states at once are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.minimize import indistinguishable
from fsmeu.limits import FEWEST_SORTS, MOST_SORTED_CELLS, MOST_SORTS

__all__ = ["by_first", "group", "refine", "refine_layers"]

Ints = NDArray[np.int64]


def group(columns: Ints) -> Ints:
    """Numbers for rows of whole numbers: the same for equal rows."""
    if columns.shape[1] > len(columns) > 0:
        whole = np.ascontiguousarray(columns).view(f"V{columns.itemsize * columns.shape[1]}")
        return np.unique(whole.ravel(), return_inverse=True)[1]
    key = np.zeros(len(columns), np.int64)
    for column in columns.T:
        distinct = np.unique(column, return_inverse=True)[1]
        key = np.unique(key * (len(columns) + 1) + distinct, return_inverse=True)[1]
    return key


def refine(targets: Ints, outputs: Ints) -> Ints:
    """The class of each state: states of one class have the same outputs after every continuation.

    Where many rounds of sorting would be needed, OpenFst's partitions are faster; they leave out
    states that no output follows, or that the first state does not reach.

    Args:
        targets: target (states, symbols) of each step, -1 where there is none.
        outputs: the number of each state's output, -1 where it has none.

    Returns:
        Class numbers from 0 in the order of their first members; -1 for states that are left out.

    >>> refine(np.array([[1, 2], [3, 3], [3, 3], [-1, -1]]), np.array([-1, -1, -1, 0]))
    array([0, 1, 1, 2])
    """
    classes = np.unique(outputs, return_inverse=True)[1]
    rounds = max(FEWEST_SORTS, MOST_SORTED_CELLS // max(1, targets.size))
    for _ in range(min(MOST_SORTS, rounds)):
        after = np.append(classes, -1)[targets]
        finer = group(np.concatenate([classes[:, None], after], axis=1))
        if finer.max(initial=-1) == classes.max(initial=-1):
            return by_first(classes)
        classes = finer
    return by_first(indistinguishable(targets, outputs))


def refine_layers(depth: Ints, targets: Ints, outputs: Ints) -> Ints:
    """The same for a machine in layers, from the last to the first: one sort for each.

    Args:
        depth: the layer of each state, ascending; steps lead from each layer to the next.
        targets: target (states, symbols) of each step, -1 where there is none.
        outputs: the number of each state's output, -1 where it has none.

    Returns:
        Class numbers from 0, through all layers; -1 for states after which there is no output.
    """
    classes = np.full(len(depth) + 1, -1, np.int64)
    ends = np.cumsum(np.bincount(depth))
    known = 0
    for begin, end in reversed(list(zip([0, *ends[:-1]], ends, strict=True))):
        rows = np.concatenate([outputs[begin:end, None], classes[targets[begin:end]]], axis=1)
        live = rows.max(axis=1) >= 0
        numbers = group(rows[live])
        classes[begin:end][live] = known + numbers
        known += int(numbers.max(initial=-1)) + 1
    return by_first(classes[:-1])


def by_first(classes: Ints) -> Ints:
    """The same classes, numbered in the order of their first members; -1 stays."""
    known, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(np.where(known < 0, -1, first))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - int(len(known) > 0 and known[0] < 0)
    return rank[inverse]
