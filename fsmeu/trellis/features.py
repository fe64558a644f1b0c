"""What the arcs of a composed tape show, and tables of several kinds of positions.

A feature belongs to the *target* of a step where that tells it, and to its *source* otherwise. A
combination of features that belong to sources is a *source feature set*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Ints, Places
from fsmeu.fst.distinct import distinct_rows


class Features(NamedTuple):
    """What arcs show: for each term a number among the features of all terms, or ``none``.

    Attributes:
        of_target: by pair after, (pairs, terms).
        of_source: by source feature set, (sets, terms).
        source_feature_set: of each arc.
    """

    of_target: Ints
    of_source: Ints
    source_feature_set: Ints


def features_of(arcs: Ints, first: Ints, pairs: int, adds: Bools) -> Features:
    """The features of the arcs of a kind, those that add something."""
    target = arcs[2]
    features = arcs[4:-1]
    none = int(first[-1])
    number = np.where(adds, np.arange(none), none)
    of_target = np.full((pairs, len(features)), none)
    of_source = np.full((len(target), len(features)), none)
    for t, feature in enumerate(features):
        shown = number[feature + first[t]]
        of_target[target, t] = shown
        is_told = np.ones(pairs, bool)  # whether all arcs to a pair show the same
        is_told[target[of_target[target, t] != shown]] = False
        of_target[~is_told, t] = none
        of_source[:, t] = np.where(is_told[target], none, shown)
    if not len(target):
        return Features(of_target, of_source, np.zeros(0, np.int64))
    place, number = distinct_rows([np.zeros_like(target), *of_source.T])
    return Features(of_target, of_source[place], number)


def begins_of(keys: Ints, count: int) -> Ints:
    """Where the rows of 0, ..., count - 1 begin among sorted keys, and the end, (count + 1,)."""
    return np.searchsorted(keys, np.arange(count + 1))


class ConcatenatedRows:
    """Rows of several kinds, one kind after the other."""

    def __init__(self, columns: int) -> None:
        self._none = np.zeros((0, columns), np.int64)
        self.parts: list[Ints] = []
        self.begins = [0]

    def __len__(self) -> int:
        return self.begins[-1]

    def add(self, rows: Ints) -> None:
        """Appends the rows of the next kind."""
        self.parts.append(rows)
        self.begins.append(self.begins[-1] + len(rows))

    def rows(self) -> Ints:
        """All rows, (rows, columns)."""
        return np.ascontiguousarray(np.concatenate([self._none, *self.parts]), np.int64)

    def places(self) -> Places:
        """The same, where no number is negative."""
        return self.rows().astype(np.uint32)
