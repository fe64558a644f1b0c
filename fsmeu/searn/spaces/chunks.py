"""Chunk by chunk: an action is the type and the length of the next chunk, or one position outside.

In the paper (section 6.1.5) there are M x L + 1 actions for L types and lengths up to M. Here a
type has the lengths up to its longest chunk in training, and M at most.

Where sentences have no features of segments, a state is one row, and each action has weights of
its own for the features of the next position. Where they have, a state has a row for each length,
with the features of that segment, and each type has weights for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.fst.tags import chunks_of
from fsmeu.learning.saving import register
from fsmeu.searn.features import HashedSentences, rows_of_columns
from fsmeu.searn.spaces.tagging import LabelStates, WordAtATime, tag_parts


class Actions(NamedTuple):
    """The actions, A in number: outside, then the lengths of each type.

    With a row for each length: outside and all types of length 1, then of length 2, ...
    """

    first: Ints  # the label index of the first position of each, (A,)
    rest: Ints  # that of the others, (A,)
    lengths: Ints  # (A,)
    exists: Bools  # (A,)
    number: Ints  # by the label index of a first position and length, (L, M + 1); -1 for none
    width: int  # the number of actions of a row


@register
class ChunkAtATime(WordAtATime):
    """Whole chunks from left to right.

    Costs are those of completions by further chunks, of any length.

    Args:
        longest: the greatest length of a chunk, M; longer ones are decided in pieces.
        history: how many types of the last chunks (O is one) are features.
        crossed_history: how many of them are crossed with the features named in ``crossed``.

    Attributes:
        longest_: the greatest length of each type of chunks.
        actions: the actions of a search.
    """

    longest_: dict[str, int]
    actions: Actions

    def __init__(self, longest: int = 12, history: int = 2, crossed_history: int = 1) -> None:
        super().__init__(history, crossed_history)
        self.longest = longest

    def _labels(self, ys: Any) -> list[Any]:
        """The tags O, B-X, I-X of all types X in outputs."""
        names = sorted({tag_parts(label)[1] for y in ys for label in y} - {""})
        return ["O", *(f"{kind}-{name}" for name in names for kind in "BI")]

    def fitted(self, ys: Any) -> ChunkAtATime:
        """A copy with the tags and lengths of training chunks."""
        space = super().fitted(ys)
        lengths: dict[str, int] = {}
        for begin, end, name in (chunk for y in ys for chunk in chunks_of(y)):
            lengths[name] = min(self.longest, max(lengths.get(name, 0), end - begin))
        space.longest_ = dict(sorted(lengths.items()))
        return space

    def over(self, inputs: HashedSentences, *how: Any, **more: Any) -> ChunkAtATime:
        """A copy that searches these sentences, as in ``LabelSpace``."""
        search = super().over(inputs, *how, **more)
        by_length = inputs.segments is not None
        index = {label: k for k, label in enumerate(self.labels_)}
        heads = [(index["O"], index["O"], 1)]
        heads += [(index[f"B-{x}"], index[f"I-{x}"], most) for x, most in self.longest_.items()]
        greatest = max(most for _, _, most in heads)
        if by_length:
            lines = [(a, b, m, m <= most) for m in range(1, greatest + 1) for a, b, most in heads]
        else:
            lines = [(a, b, m, True) for a, b, most in heads for m in range(1, most + 1)]
        first, rest, lengths, exists = np.array(lines, np.int64).T
        number = np.full((len(index), greatest + 1), -1, np.int64)
        number[first[exists > 0], lengths[exists > 0]] = np.flatnonzero(exists)
        width = len(heads) if by_length else len(lines)
        search.actions = Actions(first, rest, lengths, exists > 0, number, width)
        return search

    def _rows_per_state(self, states: LabelStates) -> Ints:
        """The number of rows of each state, (B,): one for each length, or one."""
        if self.sentences.segments is None:
            return np.ones(len(states), np.int64)
        return np.asarray(np.minimum(self.left(states), self.actions.number.shape[1] - 1))

    def rows(self, states: LabelStates) -> tuple[csr_array, Ints]:
        """The features of the next position, or of segments from there, and of the last chunks."""
        inputs = self.sentences
        if inputs.segments is None:
            return super().rows(states)
        at = self.positions(states)
        counts = self._rows_per_state(states)
        begins = np.concatenate(([0], np.cumsum(counts)))
        lengths = np.arange(begins[-1]) - np.repeat(begins[:-1], counts) + 1
        history = np.repeat(self.history_of(states, at), counts, axis=0)
        columns = np.concatenate((inputs.segments(np.repeat(at, counts), lengths), history), axis=1)
        return rows_of_columns(columns, inputs.matrix.shape[1]), begins

    def allowed(self, states: LabelStates) -> Bools:
        """Which chunks exist and do not go beyond the end of the sentence, (B, C)."""
        count = self.actions.width * int(self._rows_per_state(states).max(initial=1))
        fits = self.actions.lengths[:count] <= self.left(states)[:, None]
        return np.asarray(fits & self.actions.exists[:count])

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each action, (B, C), and gold's own: the rest of its chunk, or outside, (B,).

        The oracle steps through the labels of each type; after each length the best cost of O and
        of all B is added: an I would make the chunk longer.
        """
        (gold,) = self.gold
        actions = self.actions
        left = self.left(states)
        heads = np.unique(actions.first)
        oracles = gold.oracles
        costs = np.full(self.allowed(states).shape, np.inf)
        for head in np.flatnonzero(actions.exists & (actions.lengths == 1)):
            label = int(actions.first[head])
            at = np.arange(len(states))
            oracle = states.oracle
            for m in range(1, actions.number.shape[1]):
                inside = np.flatnonzero(left[at] >= m)
                action = int(actions.number[label, m])
                if action < 0 or not len(inside):
                    break
                at = at[inside]
                oracle = oracle[inside]
                chosen = np.full(len(at), label if m == 1 else actions.rest[head])
                oracle = oracles.step(states.examples[at], oracle, chosen)
                values = gold.sign * oracles.values_at(states.examples[at], oracle)
                more = np.flatnonzero(left[at] > m)
                next_costs = oracles.costs_at(states.examples[at[more]], oracle[more])
                values[more] += next_costs[:, heads].min(axis=1)
                costs[at, action] = values
        positions = self.positions(states)
        opening = gold.opening[gold.y[positions]]
        first = np.where(opening >= 0, opening, gold.y[positions])
        lengths = np.minimum(gold.chunk_ends[positions] - positions, actions.number.shape[1] - 1)
        gold_action = np.asarray(actions.number[first, lengths])
        return costs - costs.min(axis=1, keepdims=True), gold_action

    def _parts(self, actions: Ints) -> tuple[Ints, Ints, Ints]:
        table = self.actions
        return table.lengths[actions], table.first[actions], table.rest[actions]
