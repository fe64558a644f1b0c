"""Label by label: from left to right, from right to left, and well-formed chunk tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, sentence
from fsmeu.learning.saving import register
from fsmeu.searn.features.hashing import history_columns, joined_rows
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces.labels import (
    Gold,
    LabelSearch,
    LabelSpace,
    LabelStates,
    LabelTask,
    check_follows,
    follows,
    gold_of,
    is_order_free,
    newest_first,
    well_formed_oracles,
)

__all__ = ["LeftToRight", "RightToLeft", "WordAtATime"]


class _Tagging(LabelSpace):
    """What the spaces below share.

    Args:
        history: how many of the last labels are features: each of the last 1, 2, ..., together.
        crossed_history: how many of them are crossed with the features named in ``crossed``.
    """

    backwards = False

    def __init__(self, history: int = 2, crossed_history: int = 1) -> None:
        self.history = history
        self.crossed_history = crossed_history

    def task(self, labels: Sequence[Any], ys: Any = None) -> TaggingTask:
        """The space with its actions, which are the labels."""
        history, crossed = self.depths("history", "crossed_history")
        return TaggingTask(tuple(labels), history, crossed, self.backwards)


@register
class LeftToRight(_Tagging):
    """One label after the other, from the first position to the last; any label anywhere."""


@register
class RightToLeft(_Tagging):
    """One label after the other, from the last position to the first.

    The optimal policy completes to the left, and a loss reads from the left: costs are those of
    the reversed sentence, which is right where the loss does not depend on the order of positions
    (derived from its text). Other losses are refused: those of chunks, since B marks where a chunk
    begins, and reversed tags are chunk tags no more.
    """

    backwards = True

    def gold(self, bind: Any, labels: Sequence[Any], ys: Any, costs: bool = True) -> Gold:
        """Gold outputs with the costs of labels against them, or with losses only.

        Raises:
            InputError: the loss may depend on the order of positions.
        """
        loss = bind(labels)
        if costs and not is_order_free(loss):
            must = (
                "from right to left the loss must not depend on the order of positions: counts "
                "of pairs of labels alone may decide it"
            )
            remedy = "Use the space LeftToRight or WordAtATime"
            raise InputError(sentence(type(self).__name__, must, loss, remedy))
        return gold_of(loss, labels, ys, CostOracles if costs else None, backwards=True)


@register
class WordAtATime(_Tagging):
    """Chunk tags from left to right, of which I-X may stand after B-X and I-X only.

    Costs are those of completions in which this holds, too.
    """

    def task(self, labels: Sequence[Any], ys: Any = None) -> TaggingTask:
        """The space with its actions, which are the tags."""
        return replace(super().task(labels), follows=follows(labels))

    def gold(self, bind: Any, labels: Sequence[Any], ys: Any, costs: bool = True) -> Gold:
        """Gold outputs with the costs of tags against them, or with losses only."""
        make = well_formed_oracles(labels) if costs else None
        return gold_of(bind(labels), labels, ys, make)


@register
@dataclass(frozen=True)
class TaggingTask(LabelTask):
    """Label by label.

    Attributes:
        labels: the actions.
        history: how many of the last labels are features.
        crossed_history: how many of them are crossed.
        backwards: whether the last position is labelled first.
        follows: which label may follow which, bool (L + 1, L), its last row for the first label;
            None where all may.
    """

    labels: tuple[Any, ...]
    history: int
    crossed_history: int
    backwards: bool
    follows: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Refuses a table that is not of these labels."""
        if self.follows is not None:
            check_follows(self.follows, self.labels)

    def search(self, sentences: HashedSentences, gold: Gold | None = None) -> TaggingSearch:
        """The search over sentences."""
        return TaggingSearch(self, sentences, gold)


@dataclass(frozen=True)
class TaggingSearch(LabelSearch):
    """Label by label over given sentences; see ``protocol.Search``."""

    def _positions(self, states: LabelStates) -> Ints:
        """The positions to be labelled next, (B,)."""
        starts = self.sentences.starts
        if self.task.backwards:
            return np.asarray(starts[states.examples + 1] - 1 - states.progress)
        return np.asarray(starts[states.examples] + states.progress)

    def rows(self, states: LabelStates) -> tuple[csr_array, None]:
        """The features of each state's next position and of its last labels, (B, 2^bits)."""
        at = self._positions(states)
        seen, depth = self.sentences, self.task.crossed_history
        added = history_columns(states.past, seen.crossed[at], seen.bits, depth)
        return joined_rows(seen.matrix, at, added), None

    def allowed(self, states: LabelStates) -> NDArray[np.bool_]:
        """Which labels are allowed, (B, L)."""
        if self.task.follows is None:
            return np.ones((len(states), len(self.task.labels)), bool)
        last = states.labels[np.arange(len(states)), np.maximum(states.progress - 1, 0)]
        return np.asarray(self.task.follows[np.where(states.progress > 0, last, -1)])

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each label, (B, L), and gold's own label, (B,)."""
        costs = self.gold.oracles.costs_at(states.examples, states.oracle)
        allowed = self.allowed(states)
        costs = np.where(allowed, costs, np.inf)
        costs -= costs.min(axis=1, keepdims=True)
        own = self.gold.y[self._positions(states)]
        return costs, np.where(allowed[np.arange(len(own)), own], own, self.gold.opening[own])

    def step(self, states: LabelStates, actions: Ints) -> LabelStates:
        """The states after one label of each."""
        labels = states.labels.copy()
        labels[np.arange(len(states)), states.progress] = actions
        past = newest_first(states.past, actions)
        oracle = states.oracle
        if oracle is not None and self.gold is not None:
            oracle = self.gold.oracles.step(states.examples, oracle, actions)
        return LabelStates(states.examples, states.progress + 1, labels, past, oracle)

    def outputs(self, states: LabelStates) -> list[list[Any]]:
        """The labels of finished states."""
        found = super().outputs(states)
        return [line[::-1] for line in found] if self.task.backwards else found
