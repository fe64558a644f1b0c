"""What is asked of an oracle's tables, however they were made, and how they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.additive import NotAdditiveError, add_states
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.counted import count_states
from fsmeu.searn.oracle.layers import Walked
from fsmeu.searn.oracle.listed import Listed, list_states
from fsmeu.searn.oracle.loops import Work
from fsmeu.searn.oracle.memory import guard_bytes
from fsmeu.searn.oracle.pool import NotCountedError
from fsmeu.searn.oracle.states import refuse_ended, refuse_strange
from fsmeu.searn.oracle.ties import costs_of
from fsmeu.searn.oracle.walks import walk_all

__all__ = ["ListedTables", "Tables", "make_tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tables(Protocol):
    """The tables of several references; states are whole numbers, those of a batch an array."""

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""

    def start(self, sentences: Ints) -> Ints:
        """The first states."""

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each."""

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""

    def step_one(self, sentence: int, state: Any, label: int) -> Any:
        """The state after one more label."""

    def costs_one(self, sentence: int, state: Any) -> Floats:
        """The cost of each label in one state, (labels,)."""

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""


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


def make_tables(loss: Loss, ys: Sequence[Ints], meanings: Ints | None = None) -> Tables:
    """The tables of references given as label indices.

    Args:
        loss: the loss.
        ys: the references.
        meanings: as in ``CostOracles``.

    Raises:
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.
    """
    sign = 1.0 if loss.kind == "utility" else -1.0
    machines: dict[int, Walked] = {}
    cores: dict[int, Core] = {}
    for walks in walk_all(loss, ys, meanings):
        cores |= dict.fromkeys(walks.numbers, walks.layers.core)
        machines |= dict(zip(walks.numbers, walks.machines, strict=True))
    numbers = range(len(ys))
    return _chosen([cores[k] for k in numbers], [machines[k] for k in numbers], loss, sign)


def _chosen(cores: Sequence[Core], machines: Sequence[Walked], loss: Loss, sign: float) -> Tables:
    """The first tables that suit the value: of counts, of sums, of all states."""
    with suppress(NotCountedError):
        return count_states(cores, machines, sign, _work(loss))
    with suppress(NotAdditiveError):
        return add_states(cores, machines, sign)
    found = []
    size = 0
    for core, machine in zip(cores, machines, strict=True):
        found.append(list_states(core, machine, sign))
        size += found[-1].next.nbytes + found[-1].scores.nbytes
        guard_bytes(size)
    return ListedTables(found, len(loss.alphabet))


def _work(loss: Loss) -> Work:
    """How much was computed for a loss; that of one in Python is not kept."""
    memo = loss.memo("oracle work") if isinstance(loss, SpecLoss) else {}
    found: Work = memo.setdefault("work", Work())
    return found
