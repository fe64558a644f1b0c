"""Label by label: from either end, well-formed chunk tags, and two streams in alternation.

Of two streams (section 6.1.4 of the paper) the first label of a position is decided, then the
second, then the first of the next position. The loss of an output is the sum of both streams'
losses, so that the cost of a label is that of its own stream's oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.learning.saving import register
from fsmeu.searn.features.hashing import history_columns
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces.labels import (
    Gold,
    LabelSpace,
    LabelStates,
    follows,
    is_order_free,
    sorted_labels,
    well_formed_oracles,
)

__all__ = ["Alternating", "LeftToRight", "RightToLeft", "WordAtATime"]

Space = TypeVar("Space", bound="_Tagging")


class _Tagging(LabelSpace):
    """What the spaces below share: an action is a label of the stream whose turn it is.

    Args:
        history: how many of the last labels are features: each of the last 1, 2, ..., together.
        crossed_history: how many of them are crossed with the features named in ``crossed``.

    Attributes:
        follows: of a search, which label of each stream may follow which, bool (L + 1, L) each;
            the last row is for the first label.
    """

    follows: list[Bools]

    def __init__(self, history: int = 2, crossed_history: int = 1) -> None:
        self.history = history
        self.crossed_history = crossed_history

    def over(self: Space, inputs: HashedSentences, gold: tuple[Gold, ...] | None = None) -> Space:
        """A copy that searches these sentences."""
        found = super().over(inputs, gold)
        found.follows = [self._follows(labels) for labels in self._streams()]
        return found

    def _streams(self) -> list[list[Any]]:
        """The labels of each stream."""
        return [self.labels_]

    def _follows(self, labels: Sequence[Any]) -> Bools:
        """Which label may follow which; any here."""
        return np.ones((len(labels) + 1, len(labels)), bool)

    def allowed(self, states: LabelStates) -> Bools:
        """Which labels are allowed, (B, labels of all streams)."""
        found = np.zeros((len(states), sum(table.shape[1] for table in self.follows)), bool)
        place, first = states.progress - self.streams, 0
        before = states.labels[np.arange(len(states)), np.maximum(place, 0)]
        for k, table in enumerate(self.follows):
            at = np.flatnonzero(states.progress % self.streams == k)
            last = np.where(place[at] >= 0, before[at] - first, -1)
            found[at, first : first + table.shape[1]] = table[last]
            first += table.shape[1]
        return found

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each label, (B, labels of all streams), and gold's own label, (B,)."""
        assert self.gold is not None
        allowed, place, first = self.allowed(states), self.positions(states), 0
        found, own = np.full(allowed.shape, np.inf), np.full(len(states), -1, np.int64)
        for k, gold in enumerate(self.gold):
            at = np.flatnonzero(states.progress % self.streams == k)
            if len(at):
                oracle = self.oracle_of(states.oracle, at, k)
                costs = gold.oracles.costs_at(states.examples[at], oracle)
                found[at, first : first + costs.shape[1]] = costs
                mine = gold.y[place[at]]
                mine = np.where(allowed[at, first + mine], mine, gold.opening[mine])
                own[at] = np.where(mine >= 0, first + mine, -1)
            first += len(gold.labels)
        found[~allowed] = np.inf
        return found - found.min(axis=1, keepdims=True), own


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

    def read_gold(self, bind: Any, ys: Any, costs: bool = True) -> tuple[Gold, ...]:
        """The gold labels with the costs of labels against them, or without.

        Raises:
            InputError: the loss may depend on the order of positions.
        """
        loss = bind(self.labels_)
        if costs and not is_order_free(loss):
            must = (
                "from right to left the loss must not depend on the order of positions: counts "
                "of pairs of labels alone may decide it"
            )
            remedy = "Use the space LeftToRight or WordAtATime"
            raise InputError(message(type(self).__name__, must, loss, remedy))
        return (Gold(loss, self.labels_, ys, CostOracles if costs else None, order=-1),)


@register
class WordAtATime(_Tagging):
    """Chunk tags from left to right, of which I-X may stand after B-X and I-X only.

    Costs are those of completions in which this holds, too.
    """

    def _follows(self, labels: Sequence[Any]) -> Bools:
        return follows(labels)

    def _oracles(self, labels: Sequence[Any]) -> Any:
        return well_formed_oracles(labels)


@register
class Alternating(_Tagging):
    """Pairs of labels at each position, decided one after the other.

    ``y`` has a pair of labels at each position. A stream whose labels are all chunk tags is held
    well-formed, as in ``WordAtATime``. The loss is that of both streams, or a pair of losses.

    Args:
        history: how many of the last decisions of both streams, as they alternate, are features.
        own_history: how many of the last labels of the stream itself are.
        crossed_history: how many of these are crossed with the features named in ``crossed``.
    """

    streams = 2

    def __init__(self, history: int = 4, own_history: int = 2, crossed_history: int = 1) -> None:
        super().__init__(history, crossed_history)
        self.own_history = own_history

    def read_outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
        """The pairs of labels of each sentence, checked."""
        found = super().read_outputs(y, inputs, where)
        for pair in (pair for one in found for pair in one):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                must = "there must be a pair of labels at each position"
                raise InputError(message(where, must, pair))
        return [[tuple(pair) for pair in one] for one in found]

    def _labels(self, ys: Any) -> list[Any]:
        return [sorted_labels(pair[k] for one in ys for pair in one) for k in (0, 1)]

    def _streams(self) -> list[list[Any]]:
        first, second = self.labels_
        return [first, second]

    def _follows(self, labels: Sequence[Any]) -> Bools:
        try:
            return follows(labels)
        except InputError:
            return super()._follows(labels)

    def _oracles(self, labels: Sequence[Any]) -> Any:
        try:
            return well_formed_oracles(labels)
        except InputError:
            return CostOracles

    def read_gold(self, bind: Any, ys: Any, costs: bool = True) -> tuple[Gold, ...]:
        """The gold labels of both streams with the costs of labels against them, or without."""
        lines = [[[pair[k] for pair in one] for one in ys] for k in (0, 1)]
        return tuple(
            Gold(bind(labels, k), labels, lines[k], self._oracles(labels) if costs else None)
            for k, labels in enumerate(self.labels_)
        )

    def score(self, found: Any, ys: Any) -> float:
        """The share of labels of both streams that were found."""
        flat = ([[label for pair in y for label in pair] for y in some] for some in (found, ys))
        return super().score(*flat)

    def _depth(self) -> int:
        return max(self.history, 2 * self.own_history)

    def history_of(self, states: LabelStates, at: Ints) -> NDArray[np.int32]:
        """The columns of the last decisions of both streams, and of the stream itself, (B, K)."""
        crossed, bits = self.sentences.crossed[at], self.sentences.bits
        both = history_columns(states.past[:, : self.history], crossed, bits, 0)
        own = states.past[:, 1 : 2 * self.own_history : 2]
        own = np.concatenate((np.full((len(states), 1), -2, np.int32), own), axis=1)  # apart
        alone = history_columns(own, crossed, bits, 1 + self.crossed_history)
        return np.concatenate((both, alone[:, 1:]), axis=1)

    def outputs(self, states: LabelStates) -> list[Any]:
        """The pairs of labels of finished states."""
        both = [*self.labels_[0], *self.labels_[1]]
        lengths = self.sentences.lengths[states.examples].tolist()
        lines = zip(states.labels.tolist(), lengths, strict=True)
        named = ([both[k] for k in row[: 2 * n]] for row, n in lines)
        return [list(zip(row[::2], row[1::2], strict=True)) for row in named]
