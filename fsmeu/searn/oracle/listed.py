"""Oracles whose states are listed: classes of the core with the sums so far, for every loss.

States are found from the first position to the last, valued at the end, and merged from the last
position to the first where nothing that follows differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_arcs
from fsmeu.fst.distinct import distinct_rows
from fsmeu.searn.oracle.checks import guard_bytes, refuse_ended, refuse_strange
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.grouping import equal_rows
from fsmeu.searn.oracle.layers import ClassLayer, Walked
from fsmeu.searn.oracle.ties import costs_of, greatest_tie

__all__ = ["Listed", "ListedTables", "list_states"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Listed:
    """The states of one oracle; state 0 is the start.

    Attributes:
        next: the state after each label, (states, labels); -1 after the last position.
        scores: the best value that can be reached, greater being better, (states,).
        begins: where the states before each position begin, then those at the end, (n + 2,).
    """

    next: NDArray[np.int32]
    scores: Floats
    begins: Ints


def list_states(core: Core, walked: Walked, sign: float) -> Listed:
    """The states of one reference.

    Args:
        core: the loss with the reference given.
        walked: its machine.
        sign: 1 for a utility, -1 for a loss.

    Raises:
        LossFileError: the value of a sequence is not defined.
        SizeLimitError: there are too many states.
    """
    n = len(walked.layers)
    classes, sums = np.array([walked.start], np.int64), core.begin(n)[:, None]
    steps: list[Ints] = []
    arcs = 0
    for layer in walked.layers:
        arcs += len(classes) * core.labels
        guard_arcs("cost oracle", arcs)
        classes, sums, targets = _expand(layer, classes, sums)
        steps.append(targets)
    values = core.values(n, walked.constants, walked.ends[classes].T, sums, classes.shape)
    core.check(n, values)
    return _merged(steps, sign * values, core.labels)


def _expand(layer: ClassLayer, classes: Ints, sums: Floats) -> tuple[Ints, Floats, Ints]:
    """Classes (states,) and sums (sums, states) after a position, and where steps lead.

    Args:
        layer: the steps of the classes.
        classes: the class of each state before.
        sums: the sums there, (sums, states).
    """
    goals = layer.next[classes]
    after = sums[:, :, None] + layer.gains[:, classes]
    ranks = [np.unique(total.ravel(), return_inverse=True)[1] for total in after]
    columns = [goals.ravel(), *ranks]
    first, number = distinct_rows(columns)
    totals = after.reshape(len(sums), goals.size)[:, first]
    return goals.ravel()[first], totals, number.reshape(goals.shape)


def _merged(steps: list[Ints], scores: Floats, labels: int) -> Listed:
    """The states merged: those of the last layer by their score, others by where steps lead."""
    ends, classes = np.unique(scores + 0.0, return_inverse=True)
    tables, values = [np.full((len(ends), labels), -1, np.int64)], [ends]
    for targets in reversed(steps):
        first, before = equal_rows(classes[targets])
        rows = classes[targets[first]]
        tables.append(rows)
        values.append(values[-1][rows].max(axis=1))
        classes = before
    tables.reverse()
    begins = np.append(0, np.cumsum([len(table) for table in tables])).astype(np.int64)
    numbered = [table + begins[t + 1] for t, table in enumerate(tables[:-1])]
    table = np.concatenate([*numbered, tables[-1]]).astype(np.int32)
    return Listed(table, np.concatenate(values[::-1]), begins)


class ListedTables:
    """Tables of listed states.

    Args:
        oracles: the states of each reference.
        labels: the number of labels.
    """

    def __init__(self, oracles: Sequence[Listed], labels: int) -> None:
        sizes = [len(one.scores) for one in oracles]
        self._begins = np.append(0, np.cumsum(sizes)).astype(np.int64)
        none = np.zeros((0, labels), np.int32)
        self._next = np.concatenate([none, *(one.next for one in oracles)])
        self._scores = np.concatenate([np.zeros(0), *(one.scores for one in oracles)])

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self._next.nbytes + self._scores.nbytes + self._begins.nbytes

    @property
    def roundings(self) -> Floats:
        """Bounds on differences of values that count as equal, (references,)."""
        return greatest_tie(self._scores, self._begins[:-1])

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch,)."""
        return np.zeros(len(sentences), np.int64)

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch,)."""
        after = self._next[self._rows(sentences, states), labels].astype(np.int64)
        refuse_ended((after < 0).any())
        return after

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        after = self._next[self._rows(sentences, states)]
        refuse_ended((after < 0).any())
        return costs_of(self._scores[self._begins[sentences][:, None] + after])

    def step_one(self, sentence: int, state: int, label: int) -> int:
        """The state after one more label."""
        after = int(self._next[self._row(sentence, state), label])
        refuse_ended(after < 0)
        return after

    def costs_one(self, sentence: int, state: int) -> Floats:
        """The cost of each label in one state, (labels,)."""
        after = self._next[self._row(sentence, state)]
        refuse_ended(bool(after[0] < 0))
        return costs_of(self._scores[int(self._begins[sentence]) + after])

    def _row(self, sentence: int, state: int) -> int:
        begin = int(self._begins[sentence])
        size = int(self._begins[sentence + 1]) - begin
        refuse_strange(not isinstance(state, int) or not 0 <= state < size, state)
        return begin + state

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        return self._scores[self._rows(sentences, states)]

    def _rows(self, sentences: Ints, states: Ints) -> Ints:
        refuse_strange(states.shape != sentences.shape or states.dtype.kind != "i", states)
        begins, ends = self._begins[sentences], self._begins[sentences + 1]
        rows: Ints = begins + states
        refuse_strange(((rows < begins) | (rows >= ends)).any(), states)
        return rows

    @classmethod
    def of(
        cls, cores: Sequence[Core], machines: Sequence[Walked], labels: int, sign: float
    ) -> ListedTables:
        """The tables of several references.

        Raises:
            LossFileError: the value of a sequence is not defined.
            SizeLimitError: there are too many states, or the tables would take too much room.
        """
        found, size = [], 0
        for core, machine in zip(cores, machines, strict=True):
            found.append(list_states(core, machine, sign))
            size += found[-1].next.nbytes + found[-1].scores.nbytes
            guard_bytes(size)
        return cls(found, labels)
