"""Two label streams in alternation (section 6.1.4): first, second, first of the next position, ...

The loss of an output is the sum of both streams' losses, so that the cost of a label is that of its
own stream's oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, sentence
from fsmeu.learning.saving import register
from fsmeu.losses.protocol import Loss
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
    labels_per_position,
    sorted_labels,
    start_states,
    well_formed_oracles,
)

__all__ = ["Alternating"]

Pair = tuple[Any, Any]


@register
class Alternating(LabelSpace):
    """Pairs of labels at each position, decided one after the other.

    ``y`` has a pair of labels at each position. A stream whose labels are all chunk tags is held
    well-formed, as in ``WordAtATime``. The loss is that of both streams, or a pair of losses.

    Args:
        history: how many of the last decisions of both streams, as they alternate, are features.
        own_history: how many of the last labels of the stream itself are.
        crossed_history: how many of these are crossed with the features named in ``crossed``.
    """

    def __init__(self, history: int = 4, own_history: int = 2, crossed_history: int = 1) -> None:
        self.history = history
        self.own_history = own_history
        self.crossed_history = crossed_history

    def outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Pair]]:
        """The pairs of labels of each sentence, checked."""
        found = labels_per_position(y, inputs, where)
        for one in found:
            for pair in one:
                if not isinstance(pair, tuple | list) or len(pair) != 2:
                    must = "there must be a pair of labels at each position"
                    raise InputError(sentence(where, must, pair))
        return [[(pair[0], pair[1]) for pair in one] for one in found]

    def labels(self, ys: Sequence[Sequence[Pair]]) -> list[Any]:
        """The labels of both streams, a list of each."""
        streams = ([pair[k] for one in ys for pair in one] for k in (0, 1))
        return [sorted_labels(stream) for stream in streams]

    def task(self, labels: Sequence[Any], ys: Any = None) -> JointTask:
        """The space with its actions: the labels of both streams."""
        first, second = (tuple(stream) for stream in labels)
        depth = self.depths("history", "own_history", "crossed_history")
        return JointTask((first, second), (_valid(first), _valid(second)), *depth)

    def gold(
        self, bind: Callable[..., Loss], labels: Sequence[Any], ys: Any, costs: bool = True
    ) -> tuple[Gold, Gold]:
        """The gold labels of both streams."""
        lines = [[[pair[k] for pair in one] for one in ys] for k in (0, 1)]
        first, second = (
            gold_of(bind(labels[k], k), labels[k], lines[k], _oracles(labels[k]) if costs else None)
            for k in (0, 1)
        )
        return first, second

    def score(self, found: Any, ys: Any) -> float:
        """The share of labels of both streams that were found."""
        return super().score(
            [[label for pair in one for label in pair] for one in found],
            [[label for pair in one for label in pair] for one in ys],
        )


def _valid(labels: Sequence[Any]) -> NDArray[np.bool_]:
    """Which label may follow which; all, unless they are chunk tags."""
    try:
        return follows(labels)
    except InputError:
        return np.ones((len(labels) + 1, len(labels)), bool)


def _oracles(labels: Sequence[Any]) -> Any:
    """The oracles of a stream: of well-formed completions if its labels are chunk tags."""
    try:
        return well_formed_oracles(labels)
    except InputError:
        return CostOracles


@register
@dataclass(frozen=True)
class JointTask(LabelTask):
    """Two streams in alternation.

    Attributes:
        labels: the labels of both streams.
        follows: which label may follow which in each stream, bool (L + 1, L).
        history: how many of the last decisions are features.
        own_history: how many of those of the stream itself.
        crossed_history: how many of these are crossed.
    """

    streams: ClassVar[int] = 2

    labels: tuple[tuple[Any, ...], tuple[Any, ...]]
    follows: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    history: int
    own_history: int
    crossed_history: int

    def __post_init__(self) -> None:
        """Refuses tables that are not of these labels."""
        for table, labels in zip(self.follows, self.labels, strict=True):
            check_follows(table, labels)

    def search(
        self, sentences: HashedSentences, gold: tuple[Gold, Gold] | None = None
    ) -> JointSearch:
        """The search over sentences."""
        return JointSearch(self, sentences, gold)


@dataclass(frozen=True)
class JointSearch(LabelSearch):
    """Two streams over given sentences; see ``protocol.Search``.

    Actions 0 to L1 - 1 are labels of the first stream, those behind of the second. The oracles'
    states stand side by side, (B, k1 + k2).
    """

    def start(self, examples: Ints) -> LabelStates:
        """The states before the first decision, for these sentences."""
        oracle = None
        if self.gold is not None and self.gold[0].oracles is not None:
            oracle = np.column_stack([one.start(examples) for one in self.gold])
        longest = 2 * int(self.sentences.lengths[examples].max(initial=0))
        depth = max(self.task.history, 2 * self.task.own_history)
        return start_states(examples, longest, depth, oracle)

    def rows(self, states: LabelStates) -> tuple[csr_array, None]:
        """The features of each state's position and of the last labels, (B, 2^bits)."""
        seen, task = self.sentences, self.task
        at = seen.starts[states.examples] + states.progress // 2
        both = history_columns(states.past[:, : task.history], seen.crossed[at], seen.bits, 0)
        own = states.past[:, 1 : 2 * task.own_history : 2]
        own = np.concatenate((np.full((len(states), 1), -2, np.int32), own), axis=1)  # apart
        alone = history_columns(own, seen.crossed[at], seen.bits, 1 + task.crossed_history)
        return joined_rows(seen.matrix, at, np.concatenate((both, alone[:, 1:]), axis=1)), None

    def allowed(self, states: LabelStates) -> NDArray[np.bool_]:
        """Which labels are allowed, (B, L1 + L2): those of the stream whose turn it is."""
        sizes = [len(one) for one in self.task.labels]
        found = np.zeros((len(states), sum(sizes)), bool)
        stream = states.progress % 2
        before = states.labels[np.arange(len(states)), np.maximum(states.progress - 2, 0)]
        for k, table in enumerate(self.task.follows):
            at = np.flatnonzero(stream == k)
            last = np.where(states.progress[at] >= 2, before[at] - k * sizes[0], -1)
            found[at, k * sizes[0] : k * sizes[0] + sizes[k]] = table[last]
        return found

    def _oracle(self, states: LabelStates, at: Ints, k: int) -> tuple[Any, slice]:
        """The states of a stream's oracle as it takes them, and their columns."""
        shape = self.gold[0].start(states.examples[:0]).shape[1:]
        width = int(np.prod(shape, dtype=np.int64))
        if k == 0:
            return states.oracle[at, :width].reshape(len(at), *shape), slice(0, width)
        shape = self.gold[1].start(states.examples[:0]).shape[1:]
        return states.oracle[at, width:].reshape(len(at), *shape), slice(width, None)

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each label, (B, L1 + L2), and gold's own label, (B,)."""
        allowed = self.allowed(states)
        found, own = np.full(allowed.shape, np.inf), np.full(len(states), -1, np.int64)
        place = self.sentences.starts[states.examples] + states.progress // 2
        for k, gold in enumerate(self.gold):
            at = np.flatnonzero(states.progress % 2 == k)
            if len(at):
                first = k * len(self.task.labels[0])
                oracle, _ = self._oracle(states, at, k)
                costs = gold.oracles.costs_at(states.examples[at], oracle)
                found[at, first : first + costs.shape[1]] = costs
                mine = gold.y[place[at]]
                mine = np.where(allowed[at, first + mine], mine, gold.opening[mine])
                own[at] = np.where(mine >= 0, first + mine, -1)
        found[~allowed] = np.inf
        return found - found.min(axis=1, keepdims=True), own

    def step(self, states: LabelStates, actions: Ints) -> LabelStates:
        """The states after one label of each."""
        labels = states.labels.copy()
        labels[np.arange(len(states)), states.progress] = actions
        past = np.concatenate((actions[:, None].astype(np.int32), states.past), axis=1)[:, :-1]
        oracle = states.oracle
        if oracle is not None and self.gold is not None:
            oracle = oracle.copy()
            for k, gold in enumerate(self.gold):
                at = np.flatnonzero(states.progress % 2 == k)
                if not len(at):
                    continue
                held, columns = self._oracle(states, at, k)
                chosen = actions[at] - k * len(self.task.labels[0])
                after = gold.oracles.step(states.examples[at], held, chosen)
                oracle[at, columns] = after.reshape(len(at), -1)
        return LabelStates(states.examples, states.progress + 1, labels, past, oracle)

    def keys(self, states: LabelStates) -> Ints:
        """What all that follows depends on, (B, k): last decisions and the oracles' states."""
        rows = np.arange(len(states))
        last = [states.labels[rows, np.maximum(states.progress - k, 0)] for k in (1, 2)]
        return np.column_stack((states.past, *last, states.oracle)).astype(np.int64)

    def losses(self, states: LabelStates) -> Floats:
        """The sum of both streams' losses of finished states, (B,)."""
        found = self.outputs(states)
        parts = [
            gold.losses(states.examples, [[pair[k] for pair in one] for one in found])
            for k, gold in enumerate(self.gold)
        ]
        return np.asarray(parts[0] + parts[1])

    def outputs(self, states: LabelStates) -> list[list[Pair]]:
        """The pairs of labels of finished states."""
        first, second = self.task.labels
        found = []
        lengths = self.sentences.lengths[states.examples].tolist()
        for row, n in zip(states.labels.tolist(), lengths, strict=True):
            pairs = zip(row[0 : 2 * n : 2], row[1 : 2 * n : 2], strict=True)
            found.append([(first[a], second[b - len(first)]) for a, b in pairs])
        return found
