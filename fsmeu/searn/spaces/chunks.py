"""Chunk by chunk: an action is the type and the length of the next chunk, or one position outside.

In the paper (section 6.1.5) there are M x L + 1 actions for L types and lengths up to M. Here a
type has the lengths up to its longest chunk in training, and M at most.

Where sentences have no features of segments, a state is one row, and each action has weights of
its own for the features of the next position. Where they have, a state has a row for each length,
with the features of that segment, and each type has weights for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import whole
from fsmeu.learning.saving import register
from fsmeu.searn.features.hashing import history_columns, joined_rows, rows_of_columns
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.spaces.labels import (
    Gold,
    LabelSearch,
    LabelSpace,
    LabelStates,
    LabelTask,
    chunks_of,
    gold_of,
    newest_first,
    tag_parts,
    well_formed_oracles,
)

__all__ = ["ChunkAtATime"]


@register
class ChunkAtATime(LabelSpace):
    """Whole chunks from left to right.

    Costs are those of completions by further chunks, of any length.

    Args:
        longest: the greatest length of a chunk, M; longer ones are found in pieces.
        history: how many types of the last chunks (O is one) are features.
        crossed_history: how many of them are crossed with the features named in ``crossed``.
    """

    def __init__(self, longest: int = 12, history: int = 2, crossed_history: int = 1) -> None:
        self.longest = longest
        self.history = history
        self.crossed_history = crossed_history

    def labels(self, ys: Sequence[Sequence[Any]]) -> list[Any]:
        """The tags O, B-X, I-X of all types X in outputs.

        Raises:
            InputError: a label is no chunk tag.
        """
        names = sorted({tag_parts(label)[1] for one in ys for label in one} - {""})
        return ["O", *(f"{kind}-{name}" for name in names for kind in "BI")]

    def gold(self, bind: Any, labels: Sequence[Any], ys: Any, costs: bool = True) -> Gold:
        """Gold outputs with the costs of tags against them, or with losses only."""
        make = well_formed_oracles(labels) if costs else None
        return gold_of(bind(labels), labels, ys, make)

    def task(self, labels: Sequence[Any], ys: Any) -> ChunkTask:
        """The space with its actions."""
        most = whole(type(self).__name__, "longest", self.longest)
        lengths: dict[str, int] = {}
        for one in ys:
            for begin, end, name in chunks_of(one):
                lengths[name] = min(most, max(lengths.get(name, 0), end - begin))
        types = tuple(sorted(lengths))
        longest = tuple(lengths[name] for name in types)
        history, crossed = self.depths("history", "crossed_history")
        return ChunkTask(tuple(labels), types, longest, history, crossed)


@register
@dataclass(frozen=True)
class ChunkTask(LabelTask):
    """Chunk by chunk.

    Attributes:
        labels: the tags.
        types: the types of chunks.
        longest: the greatest length of each.
        history: how many of the last chunks are features.
        crossed_history: how many of them are crossed.
    """

    labels: tuple[Any, ...]
    types: tuple[str, ...]
    longest: tuple[int, ...]
    history: int
    crossed_history: int

    def search(self, sentences: HashedSentences, gold: Gold | None = None) -> ChunkSearch:
        """The search over sentences."""
        actions = actions_of(self, sentences.segments is not None)
        return ChunkSearch(self, sentences, gold, actions)


@dataclass(frozen=True)
class Actions:
    """The actions.

    With one row for each state: outside, then the lengths of each type. With a row for each length:
    outside and all types for length 1, then for length 2, ...; some of these do not exist.

    Attributes:
        first: the label index of the first position of each, (A,).
        rest: that of the others, (A,).
        lengths: (A,).
        exists: bool (A,).
        number: the action of each label index of a first position and length, (L, M + 1); -1 where
            there is none.
        width: the number of actions of a row.
    """

    first: Ints
    rest: Ints
    lengths: Ints
    exists: NDArray[np.bool_]
    number: Ints
    width: int


def actions_of(task: ChunkTask, by_length: bool) -> Actions:
    """The actions of a task, with a row for each length or one for all."""
    index = {label: k for k, label in enumerate(task.labels)}
    heads = [(index["O"], index["O"], 1)]
    for name, most in zip(task.types, task.longest, strict=True):
        heads.append((index[f"B-{name}"], index[f"I-{name}"], most))
    longest = max(most for _, _, most in heads)
    if by_length:
        lines = [(a, b, m, m <= most) for m in range(1, longest + 1) for a, b, most in heads]
    else:
        lines = [(a, b, m, True) for a, b, most in heads for m in range(1, most + 1)]
    table = np.array(lines, np.int64)
    exists = table[:, 3] > 0
    number = np.full((len(task.labels), longest + 1), -1, np.int64)
    number[table[exists, 0], table[exists, 2]] = np.flatnonzero(exists)
    width = len(heads) if by_length else len(table)
    return Actions(table[:, 0], table[:, 1], table[:, 2], exists, number, width)


@dataclass(frozen=True)
class ChunkSearch(LabelSearch):
    """Chunk by chunk over given sentences; see ``protocol.Search``."""

    actions: Actions

    def _rows_per_state(self, states: LabelStates) -> Ints:
        """How many rows each state has, (B,): one for each length, or one."""
        if self.sentences.segments is None:
            return np.ones(len(states), np.int64)
        return np.asarray(np.minimum(self.left(states), self.actions.number.shape[1] - 1))

    def rows(self, states: LabelStates) -> tuple[csr_array, Ints | None]:
        """The features of the next position, or of segments from there, and of the last chunks."""
        seen = self.sentences
        at = seen.starts[states.examples] + states.progress
        depth = self.task.crossed_history
        added = history_columns(states.past, seen.crossed[at], seen.bits, depth)
        if seen.segments is None:
            return joined_rows(seen.matrix, at, added), None
        counts = self._rows_per_state(states)
        begins = np.concatenate(([0], np.cumsum(counts)))
        lengths = np.arange(begins[-1]) - np.repeat(begins[:-1], counts) + 1
        own = seen.segments(np.repeat(at, counts), lengths)
        columns = np.concatenate((own, np.repeat(added, counts, axis=0)), axis=1)
        return rows_of_columns(columns, seen.matrix.shape[1]), begins

    def _columns(self, states: LabelStates) -> int:
        """The number of actions in this batch."""
        return self.actions.width * int(self._rows_per_state(states).max(initial=1))

    def allowed(self, states: LabelStates) -> NDArray[np.bool_]:
        """Which chunks exist and do not go beyond the end of the sentence, (B, C)."""
        count = self._columns(states)
        fits = self.actions.lengths[:count] <= self.left(states)[:, None]
        return np.asarray(fits & self.actions.exists[:count])

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each action, (B, C), and gold's own action, (B,)."""
        costs = _walked_values(self, states, self._columns(states))
        costs -= costs.min(axis=1, keepdims=True)
        return costs, self._own(states)

    def _own(self, states: LabelStates) -> Ints:
        """The rest of the gold chunk at each state's next position, or outside, (B,)."""
        at = self.sentences.starts[states.examples] + states.progress
        own, ends = self.gold.y[at], self.gold.chunk_ends[at]
        opening = self.gold.opening[own]
        first = np.where(opening >= 0, opening, own)
        lengths = np.minimum(ends - at, self.actions.number.shape[1] - 1)
        return np.asarray(self.actions.number[first, lengths])

    def step(self, states: LabelStates, actions: Ints) -> LabelStates:
        """The states after one action of each."""
        lengths, first = self.actions.lengths[actions], self.actions.first[actions]
        rest = self.actions.rest[actions]
        labels, oracle = states.labels.copy(), states.oracle
        for k in range(int(lengths.max(initial=0))):
            at = np.flatnonzero(lengths > k)
            chosen = (rest if k else first)[at]
            labels[at, states.progress[at] + k] = chosen
            if oracle is not None and self.gold is not None:
                after = self.gold.oracles.step(states.examples[at], oracle[at], chosen)
                oracle = oracle.copy() if k == 0 else oracle
                oracle[at] = after
        past = newest_first(states.past, first)
        return LabelStates(states.examples, states.progress + lengths, labels, past, oracle)


def _walked_values(search: ChunkSearch, states: LabelStates, count: int) -> Floats:
    """The least loss that can be reached after each action, (B, count); +inf where not allowed.

    The oracle is walked through the labels of each type, and asked after each length what is best
    if O or a B comes next: an I would make the chunk longer.
    """
    oracles, actions = search.gold.oracles, search.actions
    heads = np.unique(actions.first)
    found = np.full((len(states), count), np.inf)
    left = search.left(states)
    for head in np.flatnonzero(actions.exists & (actions.lengths == 1)):
        label, at, oracle = int(actions.first[head]), np.arange(len(states)), states.oracle
        for m in range(1, actions.number.shape[1]):
            kept = np.flatnonzero(left[at] >= m)
            action = int(actions.number[label, m])
            if action < 0 or not len(kept):
                break
            at, oracle = at[kept], oracle[kept]
            next_label = actions.first[head] if m == 1 else actions.rest[head]
            oracle = oracles.step(states.examples[at], oracle, np.full(len(at), next_label))
            values = search.gold.sign * oracles.values_at(states.examples[at], oracle)
            on = np.flatnonzero(left[at] > m)
            values[on] += oracles.costs_at(states.examples[at[on]], oracle[on])[:, heads].min(
                axis=1
            )
            found[at, action] = values
    return found
