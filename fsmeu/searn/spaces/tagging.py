"""Label by label: from either end, well-formed chunk tags, and two streams in alternation.

Of two streams (section 6.1.4 of the paper) the first label of a position is decided, then the
second, then the first of the next position. The loss of an output is the sum of both streams'
losses, so that the cost of a label is that of its own stream's oracle.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, check_int
from fsmeu.fst import tags
from fsmeu.fst.alphabet import as_alphabet
from fsmeu.learning.saving import register
from fsmeu.learning.tagger import checked_labels, checked_sentences, share_of_labels, sorted_labels
from fsmeu.losses.language.syntax import names_read
from fsmeu.losses.protocol import Loss
from fsmeu.searn.features import HashedSentences, hashed_sentences, history_columns, joined_rows
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces import States

Space = TypeVar("Space", bound="LabelSpace")
_ORACLE = 4  # numbers of an oracle's state


# -- gold labels ----------------------------------------------------------------------------------


def tag_parts(tag: Any) -> tuple[str, str]:
    """The kind of a tag ("B", "I" or "O") and its type; an InputError if it is no chunk tag."""
    if str(tag) == "O" or tags.is_tag(str(tag), tags.KINDS["bio"]):
        return tags.tag_parts(str(tag))
    must = "labels must be chunk tags: O, B-TYPE, I-TYPE"
    remedy = "Use the space LeftToRight"
    raise InputError("chunk tags", must, given=tag, remedy=f"{remedy} for other labels")


def follows(labels: Sequence[Any]) -> Bools:
    """Which tag may follow which, bool (L + 1, L), the last row at the start; or an InputError."""
    names = [str(label) for label in labels]
    for name in names:
        tag_parts(name)
    table = tags.bio().over(as_alphabet(names)).next  # (states, L), the state after each
    allowed: Bools = table[np.append(table.max(axis=0), 0)] >= 0
    if not allowed[-1].any():
        must = "there must be a tag that can come first: O or B-TYPE"
        raise InputError("chunk tags", must, given=", ".join(names))
    return allowed


def is_order_free(loss: Loss) -> bool:
    """Whether every register only adds up amounts that z and y at the position alone decide.

    Then the value is the same for both sequences reversed. False says nothing; losses written in
    Python have no text from which it could be derived.
    """
    if loss.bound is None:
        return False
    spec = loss.bound.spec
    others = {"i", *(register.name for register in spec.registers)}
    return all(
        spec.amounts[r.name] is not None and not (names_read(r.update) - {r.name}) & others
        for r in spec.registers
    )


class Gold:
    """The gold labels of sentences, of one stream, and their cost oracles.

    Attributes:
        sign: 1 for a loss, -1 for a utility.
        opening: of the label I-X the index of B-X, of others -1, (L,).
        lines: the label indices of each sentence.
        y: those of all sentences, (positions,).
        oracles: ``CostOracles``; None before ``add_oracles``.
    """

    def __init__(self, loss: Loss, labels: Sequence[Any], ys: Any) -> None:
        index = {label: k for k, label in enumerate(labels)}
        for label in (label for y in ys for label in y if label not in index):
            must = "gold labels must be among those of training"
            raise InputError("Searn", must, given=label)
        self.loss = loss
        self.labels = labels
        self.sign = -1.0 if loss.kind == "utility" else 1.0
        names = [str(label) for label in labels]
        number = {name: k for k, name in enumerate(names)}
        opening = [number.get(f"B{x[1:]}", -1) if x[:2] == "I-" else -1 for x in names]
        self.opening = np.array(opening, np.int64)
        self.lines = [np.array([index[label] for label in y], np.int64) for y in ys]
        self.y = np.concatenate([np.empty(0, np.int64), *self.lines])
        self.oracles: Any = None

    def add_oracles(self, allowed: Bools, order: int, engine: str) -> None:
        """Sets the cost oracles, which read a sentence in steps of ``order``.

        In completions a label that may not follow (by ``allowed``, as ``follows``) stands for the
        first that may. The engine is as in ``CostOracles``.
        """
        if order < 0 and not is_order_free(self.loss):
            must = (
                "from right to left the loss must not depend on the order of positions: counts "
                "of pairs of labels alone may decide it"
            )
            remedy = "Use the space LeftToRight or WordAtATime"
            raise InputError("RightToLeft", must, given=self.loss, remedy=remedy)
        names = self.loss.alphabet.labels
        lines = [[names[k] for k in line[::order]] for line in self.lines]
        fallback = None
        if not allowed.all():
            own = np.arange(len(self.labels))
            fallback = np.where(allowed, own, allowed.argmax(axis=1)[:, None])
        self.oracles = CostOracles(self.loss, lines, fallback_labels=fallback, engine=engine)

    @cached_property
    def chunk_ends(self) -> Ints:
        """For each position the end of the gold chunk that it is in, or the next one, (P,)."""
        ends = np.arange(len(self.y)) + 1
        start = 0
        for line in self.lines:
            for begin, end, _ in tags.chunks_of([self.labels[k] for k in line]):
                ends[start + begin : start + end] = start + end
            start += len(line)
        return ends

    def losses(self, sentences: Ints, z: Ints) -> Floats:
        """The losses of hypotheses z, label indices (B, n), of sentences of one length n, (B,)."""
        y = np.array([self.lines[k] for k in sentences.tolist()]).reshape(z.shape)
        return np.asarray(self.sign * self.loss.pair_values(z, y))


# -- spaces ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelStates(States):
    """Partly labelled sentences; labels of a second stream are counted on from the first's."""

    labels: NDArray[np.int32]  # in the order in which they are decided, (B, longest)
    past: NDArray[np.int32]  # the last decisions, the newest first, (B, h); -1 before the first
    oracle: Any = None  # the states of the cost oracles, (B, 4 streams)


@dataclass(eq=False, repr=False)
class LabelSpace(BaseEstimator):  # type: ignore[misc]
    """A space whose outputs are label sequences: an action is a label of the stream in turn.

    Args:
        history: how many of the last labels are features: each of the last 1, 2, ..., together.
        crossed_history: how many of them are crossed with the features named in ``crossed``.

    Attributes:
        labels_: the labels, or those of each of several streams.
        sentences, gold: of a search, ``HashedSentences`` and the ``Gold`` of each stream, if any.
        follows: which label of each stream may follow which, as ``follows`` says.
    """

    streams: ClassVar[int] = 1  # how many labels a position has
    order: ClassVar[int] = 1  # the step of a slice of positions as they are decided
    history: int = 2
    crossed_history: int = 1

    # -- examples -----------------------------------------------------------------------------

    def read_inputs(self, X: Any, bits: int, crossed: Any, where: str) -> HashedSentences:
        """The sentences as hashed features."""
        if isinstance(X, HashedSentences):
            return X
        if isinstance(crossed, str | bytes) or not isinstance(crossed, Sequence):
            raise InputError(where, "crossed must be a list of names", given=crossed)
        return hashed_sentences(checked_sentences(X, where), bits, tuple(map(str, crossed)))

    def read_outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
        """The labels of each sentence, or the pairs of labels, checked."""
        outputs = checked_labels(y, inputs.lengths.tolist(), where)
        for pair in chain(*outputs) if self.streams > 1 else ():
            if not isinstance(pair, tuple | list) or len(pair) != self.streams:
                must = "there must be a pair of labels at each position"
                raise InputError(where, must, given=pair)
        return outputs if self.streams == 1 else [list(map(tuple, line)) for line in outputs]

    def fitted(self: Space, ys: Any) -> Space:
        """A copy with the labels of training outputs, after a check of its parameters."""
        for name, value in self.get_params(deep=False).items():
            check_int(type(self).__name__, name, value, least=int(name == "longest"))
        space = copy.copy(self)
        space.labels_ = self._labels(ys)
        return space

    def _labels(self, ys: Any) -> list[Any]:
        """The labels in outputs, sorted; of several streams, those of each."""
        if self.streams == 1:
            return sorted_labels(chain(*ys))
        return [sorted_labels(pair[k] for y in ys for pair in y) for k in range(self.streams)]

    def _streams(self) -> list[list[Any]]:
        """The labels of each stream."""
        return [self.labels_] if self.streams == 1 else self.labels_

    def _follows(self, labels: Sequence[Any]) -> Bools:
        """Which label may follow which, as ``follows``: any."""
        return np.ones((len(labels) + 1, len(labels)), bool)

    def score(self, zs: Any, ys: Any) -> float:
        """The share of labels of references ``ys``, of all streams, that hypotheses ``zs`` have."""
        if self.streams > 1:
            zs, ys = ([list(chain(*pairs)) for pairs in outputs] for outputs in (zs, ys))
        return share_of_labels(zs, ys)

    def longest_search(self, inputs: HashedSentences) -> int:
        """The greatest number of decisions for one sentence."""
        return self.streams * int(inputs.lengths.max(initial=0))

    # -- search -------------------------------------------------------------------------------

    def over(
        self: Space,
        inputs: HashedSentences,
        ys: Any = None,
        bind: Any = None,
        costs: bool = True,
        engine: str = "auto",
    ) -> Space:
        """A copy that searches these sentences; with gold outputs it has the costs of labels.

        ``bind`` gives the loss over labels (of a stream, given its number). Without costs the
        losses of outputs alone are known. The costs are computed by ``engine``, as in
        ``CostOracles``.
        """
        search = copy.copy(self)
        search.sentences = inputs
        search.gold = []
        search.follows = []
        for k, labels in enumerate(self._streams()):
            search.follows.append(self._follows(labels))
            if ys is not None:
                loss = bind(labels) if self.streams == 1 else bind(labels, k)
                lines = ys if self.streams == 1 else [[pair[k] for pair in y] for y in ys]
                gold = Gold(loss, labels, lines)
                if costs:
                    gold.add_oracles(search.follows[k], self.order, engine)
                search.gold.append(gold)
        return search

    def start(self, examples: Ints) -> LabelStates:
        """The states before the first decision, for these sentences, unless they are too many."""
        count = len(examples)
        longest = self.streams * int(self.sentences.lengths[examples].max(initial=0))
        if count * longest > limits.MOST_LABEL_CELLS:
            must = f"sentences times the longest length must be at most {limits.MOST_LABEL_CELLS:,}"
            remedy = "Split the longest sentences, or give fewer at a time"
            raise SizeLimitError("Searn", must, given=f"{count:,} x {longest:,}", remedy=remedy)
        starts = [gold.oracles.start(examples) for gold in self.gold if gold.oracles is not None]
        oracle = np.column_stack(starts) if starts else None
        labels = np.full((count, longest), -1, np.int32)
        depth = max(self.history, 2 * getattr(self, "own_history", 0))
        past = np.full((count, depth), -1, np.int32)
        return LabelStates(examples, np.zeros(count, np.int64), labels, past, oracle)

    def left(self, states: LabelStates) -> Ints:
        """The number of labels that are not decided yet, (B,)."""
        return np.asarray(self.streams * self.sentences.lengths[states.examples] - states.progress)

    def is_done(self, states: LabelStates) -> Bools:
        """Whether all positions have labels, (B,)."""
        return self.left(states) <= 0

    def positions(self, states: LabelStates) -> Ints:
        """The positions to be labelled next, among those of all sentences, (B,)."""
        starts = self.sentences.starts
        done = states.progress // self.streams
        first = starts[states.examples] if self.order > 0 else starts[states.examples + 1] - 1
        return np.asarray(first + self.order * done)

    def history_of(self, states: LabelStates, at: Ints) -> NDArray[np.int32]:
        """The columns of features of the last decisions at these positions, (B, K)."""
        inputs = self.sentences
        return history_columns(states.past, inputs.crossed[at], inputs.bits, self.crossed_history)

    def rows(self, states: LabelStates) -> tuple[csr_array, Ints]:
        """Rows of features, one or several for each state, (R, 2^bits), and their begins, (B + 1,).

        Action a is cell a of the scores of all rows of the state, one after the other.
        """
        at = self.positions(states)
        rows = joined_rows(self.sentences.matrix, at, self.history_of(states, at))
        return rows, np.arange(len(states) + 1)

    def _turns(self, progress: Ints) -> list[tuple[Ints, slice, slice]]:
        """For each stream the states that it decides in, columns of its actions, of its oracle."""
        turns = []
        first = 0
        for k, table in enumerate(self.follows):
            states = np.flatnonzero(progress % self.streams == k)
            last = first + table.shape[1]
            turns.append((states, slice(first, last), slice(_ORACLE * k, _ORACLE * (k + 1))))
            first = last
        return turns

    def allowed(self, states: LabelStates) -> Bools:
        """Which actions are allowed, (B, C): labels of all streams."""
        allowed = np.zeros((len(states), sum(table.shape[1] for table in self.follows)), bool)
        last = states.progress - self.streams
        before = states.labels[np.arange(len(states)), np.maximum(last, 0)]
        for table, (at, columns, _) in zip(self.follows, self._turns(states.progress), strict=True):
            allowed[at, columns] = table[np.where(last[at] >= 0, before[at] - columns.start, -1)]
        return allowed

    def costs(self, states: LabelStates) -> tuple[Floats, Ints]:
        """The cost of each action, (B, C), +inf where it is not allowed; and gold's own, (B,).

        A cost is the least loss that can be reached after the action, less the least of all
        allowed actions. Gold's own action is -1 where there is none.
        """
        allowed = self.allowed(states)
        positions = self.positions(states)
        costs = np.full(allowed.shape, np.inf)
        gold_action = np.full(len(states), -1, np.int64)
        for gold, (at, columns, part) in zip(self.gold, self._turns(states.progress), strict=True):
            oracle = np.ascontiguousarray(states.oracle[at, part])
            costs[at, columns] = gold.oracles.costs_at(states.examples[at], oracle)
            label = gold.y[positions[at]]
            label = np.where(allowed[at, columns.start + label], label, gold.opening[label])
            gold_action[at] = np.where(label >= 0, columns.start + label, -1)
        costs[~allowed] = np.inf
        return costs - costs.min(axis=1, keepdims=True), gold_action

    def _parts(self, actions: Ints) -> tuple[Ints, Ints, Ints]:
        """The number of labels of each action, the first of them, and the others, (B,) each."""
        return np.ones(len(actions), np.int64), actions, actions

    def step(self, states: LabelStates, actions: Ints) -> LabelStates:
        """The states after one action of each."""
        lengths, first, rest = self._parts(actions)
        labels = states.labels.copy()
        oracle = copy.copy(states.oracle)
        past = states.past
        for k in range(int(lengths.max(initial=0))):
            at = np.flatnonzero(lengths > k)
            chosen = (rest if k else first)[at]
            labels[at, states.progress[at] + k] = chosen
            turns = [] if oracle is None else self._turns(states.progress[at] + k)
            for gold, (turn, columns, part) in zip(self.gold, turns, strict=False):
                rows = at[turn]
                label = chosen[turn] - columns.start
                before = np.ascontiguousarray(oracle[rows, part])
                oracle[rows, part] = gold.oracles.step(states.examples[rows], before, label)
        if past.shape[1]:
            past = np.concatenate((first[:, None].astype(np.int32), past[:, :-1]), axis=1)
        return LabelStates(states.examples, states.progress + lengths, labels, past, oracle)

    def keys(self, states: LabelStates) -> Ints:
        """Keys of states, int64 (B, k), equal where last decisions and the oracles' states are."""
        rows = np.arange(len(states))
        back = range(1, self.streams + 1)
        last = [states.labels[rows, np.maximum(states.progress - k, 0)] for k in back]
        return np.column_stack((states.past, *last, states.oracle)).astype(np.int64)

    def losses(self, states: LabelStates) -> Floats:
        """The losses of finished states, (B,), summed over streams; utilities with sign changed."""
        losses = np.zeros(len(states))
        lengths = self.sentences.lengths[states.examples]
        for n in np.unique(lengths).tolist():
            at = np.flatnonzero(lengths == n)
            first = 0
            for k, gold in enumerate(self.gold):
                z = states.labels[at, k : n * self.streams : self.streams].astype(np.int64)
                losses[at] += gold.losses(states.examples[at], z[:, :: self.order] - first)
                first += len(gold.labels)
        return losses

    def outputs(self, states: LabelStates) -> list[Any]:
        """The labels, or pairs of labels, of finished states."""
        names = list(chain(*self._streams()))
        lengths = self.sentences.lengths[states.examples]
        lines = zip(states.labels.tolist(), (self.streams * lengths).tolist(), strict=True)
        sequences = [[names[k] for k in row[:n][:: self.order]] for row, n in lines]
        if self.streams == 1:
            return sequences
        return [list(zip(row[::2], row[1::2], strict=True)) for row in sequences]


@register
class LeftToRight(LabelSpace):
    """One label after the other, from the first position to the last; any label anywhere."""


@register
class RightToLeft(LabelSpace):
    """One label after the other, from the last position to the first.

    The optimal policy completes to the left, and a loss reads from the left: costs are those of
    the reversed sentence. Losses that depend on the order of positions are refused, as of chunks.
    """

    order = -1


@register
class WordAtATime(LabelSpace):
    """Chunk tags from left to right, of which I-X may stand after B-X and I-X only.

    Costs are those of completions in which this holds, too.
    """

    def _follows(self, labels: Sequence[Any]) -> Bools:
        return follows(labels)


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

    streams = 2

    def __init__(self, history: int = 4, own_history: int = 2, crossed_history: int = 1) -> None:
        super().__init__(history, crossed_history)
        self.own_history = own_history

    def _follows(self, labels: Sequence[Any]) -> Bools:
        with suppress(InputError):
            return follows(labels)
        return super()._follows(labels)

    def history_of(self, states: LabelStates, at: Ints) -> NDArray[np.int32]:
        """The columns of the last decisions of both streams, and of the stream itself, (B, K)."""
        crossed = self.sentences.crossed[at]
        bits = self.sentences.bits
        both = history_columns(states.past[:, : self.history], crossed, bits, 0)
        same = states.past[:, 1 : 2 * self.own_history : 2]
        same = np.concatenate((np.full((len(states), 1), -2, np.int32), same), axis=1)  # apart
        own_columns = history_columns(same, crossed, bits, 1 + self.crossed_history)
        return np.concatenate((both, own_columns[:, 1:]), axis=1)
