"""What is asked of an oracle's tables, however they were made, and how they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.listed import Listed, list_states
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
        _refuse_ended(after)
        return after

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        after = self._next[self._rows(sentences, states)]
        _refuse_ended(after)
        return costs_of(self._scores[self._begins[sentences][:, None] + after])

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        return self._scores[self._rows(sentences, states)]

    def _rows(self, sentences: Ints, states: Ints) -> Ints:
        begins, ends = self._begins[sentences], self._begins[sentences + 1]
        rows: Ints = begins + states
        if states.shape != sentences.shape or ((rows < begins) | (rows >= ends)).any():
            must = "a state must be one that start or step returned for this sentence"
            raise InputError(sentence("cost oracle", must, states))
        return rows


def _refuse_ended(after: NDArray[np.integer]) -> None:
    """Refuses states after the last position, from which no label leads on."""
    if after.min(initial=0) < 0:
        must = "there must be a next position"
        raise InputError(sentence("cost oracle", must, "a state after the last one"))


def make_tables(loss: Loss, ys: Sequence[Ints]) -> Tables:
    """The tables of references given as label indices."""
    sign = 1.0 if loss.kind == "utility" else -1.0
    found: dict[int, Listed] = {}
    for walks in walk_all(loss, ys):
        for k, walked in zip(walks.numbers, walks.machines, strict=True):
            found[k] = list_states(walks.layers.core, walked, sign)
    return ListedTables([found[k] for k in range(len(ys))], len(loss.alphabet))
