"""What spaces over label sequences share: sentences in, one label or more for each position out.

Gold outputs know the costs of labels against them; chunk tags know which may follow which.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, check_int, message
from fsmeu.fst import tags
from fsmeu.learning.features import checked_labels, checked_sentences, share_of_labels
from fsmeu.limits import MOST_LABEL_CELLS
from fsmeu.losses.language.syntax import steps
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.features.hashing import history_columns, joined_rows
from fsmeu.searn.features.sentences import HashedSentences, hashed_sentences
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces.protocol import States

__all__ = [
    "Gold",
    "LabelSpace",
    "LabelStates",
    "chunks_of",
    "follows",
    "is_order_free",
    "sorted_labels",
    "tag_parts",
]


def tag_parts(tag: Any, where: str = "chunk tags") -> tuple[str, str]:
    """The kind of a tag ("B", "I" or "O") and its type.

    Raises:
        InputError: it is no chunk tag.
    """
    if str(tag) == "O" or tags.is_tag(str(tag), tags.KINDS["bio"]):
        return tags.tag_parts(str(tag))
    remedy = "Use the space LeftToRight for other labels"
    raise InputError(message(where, "labels must be chunk tags: O, B-TYPE, I-TYPE", tag, remedy))


def follows(labels: Sequence[Any]) -> Bools:
    """Which tag may follow which, bool (L + 1, L); the last row is for the first tag.

    Raises:
        InputError: a label is no chunk tag, or none of them can come first.
    """
    parts = [tag_parts(label) for label in labels]
    if all(kind == "I" for kind, _ in parts):
        must = "there must be a tag that can come first: O or B-TYPE"
        raise InputError(message("chunk tags", must, ", ".join(map(str, labels))))
    found = np.ones((len(parts) + 1, len(parts)), bool)
    for k, (kind, name) in enumerate(parts):
        if kind == "I":
            found[:, k] = [other != "O" and theirs == name for other, theirs in (*parts, ("O", ""))]
    return found


def fallback_labels(labels: Sequence[Any]) -> Ints:
    """The tag that each tag stands for after each other, (L + 1, L); the last row: at the start.

    That is the tag itself where it may follow; else B-X for I-X, which is what losses of chunks
    take it for, or the first tag that may follow if there is no B-X.
    """
    may, opening = follows(labels), opening_tags(labels)
    other = np.where(opening >= 0, opening, may.argmax(axis=1)[:, None])
    return np.where(may, np.arange(len(labels)), other)


def opening_tags(labels: Sequence[Any]) -> Ints:
    """For each label the index of B-X if it is I-X and there is one, else -1, (L,)."""
    index = {str(label): k for k, label in enumerate(labels)}
    named = [str(label) for label in labels]
    return np.array([index.get(f"B-{n[2:]}", -1) if n[:2] == "I-" else -1 for n in named], np.int64)


def chunks_of(line: Sequence[Any]) -> list[tuple[int, int, str]]:
    """The chunks of a tag sequence: first position, the one after the last, type.

    As in conlleval, I-X opens a chunk where none of type X goes on.
    """
    found: list[tuple[int, int, str]] = []
    begin, open_type = 0, ""
    for i, tag in enumerate([*line, "O"]):
        kind, name = tag_parts(tag)
        if open_type and (kind != "I" or name != open_type):
            found.append((begin, i, open_type))
            open_type = ""
        if kind != "O" and not open_type:
            begin, open_type = i, name
    return found


def is_order_free(loss: Loss) -> bool:
    """Whether every register only adds up amounts that z and y at the position alone decide.

    Then the value depends on how often each pair of labels stands in the sequences, and is the
    same for both sequences reversed. The condition is sufficient, not necessary: False says
    nothing. Losses written in Python have no text, and False for it.
    """
    if not isinstance(loss, SpecLoss):
        return False
    names = {register.name for register in loss.spec.registers}
    return all(
        amount is not None and not (read - {own}) & (names | {"i"})
        for own, (amount, read) in steps(loss.spec).items()
    )


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """The distinct labels, sorted; by type and text where they cannot be compared.

    Raises:
        InputError: a label cannot be told from others, as a list.
    """
    try:
        found = set(labels)
    except TypeError as error:
        must = "labels must be hashable, such as numbers, texts or tuples"
        raise InputError(message("labels", must)) from error
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda one: (type(one).__name__, str(one)))


class Gold:
    """The gold labels of sentences, of one stream.

    Args:
        loss: the loss, over the labels in this order.
        labels: the labels.
        ys: the gold labels of each sentence.
        oracles: makes oracles of a loss and references, as ``CostOracles``; None where costs are
            not asked for.
        order: the step of the slice that the oracles read: -1 for reversed sentences.

    Attributes:
        lines: the label indices of each sentence.
        y: the same, end to end, (positions,).
        opening: for each label I-X the index of B-X, else -1, (L,).
        oracles: the costs of labels after any labels before; None where they are not asked for.

    Raises:
        InputError: a gold label is none of these.
    """

    def __init__(
        self, loss: Loss, labels: Sequence[Any], ys: Any, oracles: Any, order: int = 1
    ) -> None:
        index = {label: k for k, label in enumerate(labels)}
        strange = next((label for one in ys for label in one if label not in index), None)
        if strange is not None:
            must = "gold labels must be among those of training"
            raise InputError(message("Searn", must, strange))
        self.loss, self.labels, self.opening = loss, labels, opening_tags(labels)
        self.lines = [np.array([index[label] for label in one], np.int64) for one in ys]
        self.y = np.concatenate([np.empty(0, np.int64), *self.lines])
        names, self.oracles = loss.alphabet.labels, oracles
        if oracles is not None:
            self.oracles = oracles(loss, [[names[k] for k in line[::order]] for line in self.lines])

    @property
    def sign(self) -> float:
        """1 for a loss, -1 for a utility."""
        return -1.0 if self.loss.kind == "utility" else 1.0

    @cached_property
    def chunk_ends(self) -> Ints:
        """For each position the end of the gold chunk that it is in, or the next one, (P,)."""
        ends, start = np.arange(len(self.y)) + 1, 0
        for line in self.lines:
            for begin, end, _ in chunks_of([self.labels[k] for k in line]):
                ends[start + begin : start + end] = start + end
            start += len(line)
        return ends

    def losses(self, sentences: Ints, z: Ints) -> Floats:
        """The losses of outputs of sentences of one length n, (B,), from label indices, (B, n)."""
        y = np.array([self.lines[k] for k in sentences.tolist()]).reshape(z.shape)
        return np.asarray(self.sign * self.loss.pair_values(z, y))


@dataclass(frozen=True)
class LabelStates(States):
    """Partly labelled sentences.

    Attributes:
        labels: actions' labels in the order in which they are decided, int32 (B, longest); those
            of a second stream are counted on from the first's.
        past: the last decisions, the newest first, int32 (B, h); -1 before the first.
        oracle: the states of the cost oracles, four numbers for each stream, (B, 4 streams), or
            None.
    """

    labels: NDArray[np.int32]
    past: NDArray[np.int32]
    oracle: Any = None


Space = TypeVar("Space", bound="LabelSpace")
_ORACLE = 4  # numbers of an oracle's state


class LabelSpace(BaseEstimator):  # type: ignore[misc]
    """A space whose outputs are label sequences; see ``protocol.Space``.

    Attributes:
        streams: how many labels a position has.
        backwards: whether the last position is decided first.
        labels_: the labels, or those of each of several streams.
        sentences: the sentences of a search.
        gold: the gold labels of each stream, or None.
    """

    streams: ClassVar[int] = 1
    backwards: ClassVar[bool] = False
    history: int
    crossed_history: int
    labels_: list[Any]
    sentences: HashedSentences
    gold: tuple[Gold, ...] | None

    # -- examples -----------------------------------------------------------------------------

    def read_inputs(self, X: Any, bits: int, crossed: Any, where: str) -> HashedSentences:
        """The sentences as hashed features."""
        if isinstance(X, HashedSentences):
            return X
        if isinstance(crossed, str) or not isinstance(crossed, Sequence):
            raise InputError(message(where, "crossed must be a list of names", crossed))
        return hashed_sentences(checked_sentences(X, where), bits, tuple(map(str, crossed)))

    def read_outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
        """The labels of each sentence, checked."""
        return checked_labels(y, inputs.lengths.tolist(), where)

    def fitted(self: Space, ys: Any) -> Space:
        """A copy that knows the labels of training outputs, after a check of its parameters."""
        for name, value in self.get_params(deep=False).items():
            check_int(type(self).__name__, name, value, least=int(name == "longest"))
        found = copy.copy(self)
        found.labels_ = self._labels(ys)
        return found

    def _labels(self, ys: Any) -> list[Any]:
        return sorted_labels(chain(*ys))

    def read_gold(self, bind: Any, ys: Any, costs: bool = True) -> tuple[Gold, ...]:
        """The gold labels of each stream with the costs of labels against them, or without.

        Args:
            bind: gives the loss over labels (of a stream, given its number).
            ys: checked outputs.
            costs: whether costs are asked for.
        """
        make = self._oracles(self.labels_) if costs else None
        return (Gold(bind(self.labels_), self.labels_, ys, make),)

    def _oracles(self, labels: Sequence[Any]) -> Any:
        """Makes oracles of a loss and references; those of any completion here."""
        return CostOracles

    def score(self, found: Any, ys: Any) -> float:
        """The share of labels that were found."""
        return share_of_labels(found, ys)

    def longest_search(self, inputs: HashedSentences) -> int:
        """The greatest number of decisions for one sentence."""
        return self.streams * int(inputs.lengths.max(initial=0))

    # -- search -------------------------------------------------------------------------------

    def over(self: Space, inputs: HashedSentences, gold: tuple[Gold, ...] | None = None) -> Space:
        """A copy that searches these sentences."""
        found = copy.copy(self)
        found.sentences, found.gold = inputs, gold
        return found

    def start(self, examples: Ints) -> LabelStates:
        """The states before the first decision, for these sentences.

        Raises:
            SizeLimitError: the labels of all sentences, each as long as the longest, are too many.
        """
        count = len(examples)
        longest = self.streams * int(self.sentences.lengths[examples].max(initial=0))
        if count * longest > MOST_LABEL_CELLS:
            must = f"sentences times the longest length must be at most {MOST_LABEL_CELLS:,}"
            remedy = "Split the longest sentences, or give fewer at a time"
            raise SizeLimitError(message("Searn", must, f"{count:,} x {longest:,}", remedy))
        oracle = None
        if self.gold is not None and self.gold[0].oracles is not None:
            oracle = np.column_stack([one.oracles.start(examples) for one in self.gold])
        labels = np.full((count, longest), -1, np.int32)
        past = np.full((count, self._depth()), -1, np.int32)
        return LabelStates(examples, np.zeros(count, np.int64), labels, past, oracle)

    def _depth(self) -> int:
        """How many of the last decisions states hold."""
        return self.history

    def left(self, states: LabelStates) -> Ints:
        """How many labels are not decided yet, (B,)."""
        return np.asarray(self.streams * self.sentences.lengths[states.examples] - states.progress)

    def is_done(self, states: LabelStates) -> Bools:
        """Whether all positions have labels, (B,)."""
        return self.left(states) <= 0

    def positions(self, states: LabelStates) -> Ints:
        """The positions to be labelled next, among those of all sentences, (B,)."""
        starts, done = self.sentences.starts, states.progress // self.streams
        if self.backwards:
            return np.asarray(starts[states.examples + 1] - 1 - done)
        return np.asarray(starts[states.examples] + done)

    def history_of(self, states: LabelStates, at: Ints) -> NDArray[np.int32]:
        """The columns of features of the last decisions at these positions, (B, K)."""
        seen = self.sentences
        return history_columns(states.past, seen.crossed[at], seen.bits, self.crossed_history)

    def rows(self, states: LabelStates) -> tuple[csr_array, Ints | None]:
        """The features of each state's next position and of its last decisions, (B, 2^bits)."""
        at = self.positions(states)
        return joined_rows(self.sentences.matrix, at, self.history_of(states, at)), None

    def _parts(self, actions: Ints) -> tuple[Ints, Ints, Ints]:
        """The number of labels of each action, the first of them, and the others, (B,) each."""
        return np.ones(len(actions), np.int64), actions, actions

    def step(self, states: LabelStates, actions: Ints) -> LabelStates:
        """The states after one action of each."""
        lengths, first, rest = self._parts(actions)
        labels, oracle = states.labels.copy(), states.oracle
        for k in range(int(lengths.max(initial=0))):
            at = np.flatnonzero(lengths > k)
            chosen = (rest if k else first)[at]
            place = states.progress[at] + k
            labels[at, place] = chosen
            if oracle is not None:
                oracle = oracle.copy() if k == 0 else oracle
                oracle[at] = self.oracle_after(states.examples[at], oracle[at], place, chosen)
        past = states.past
        if past.shape[1]:
            past = np.concatenate((first[:, None].astype(np.int32), past[:, :-1]), axis=1)
        return LabelStates(states.examples, states.progress + lengths, labels, past, oracle)

    def oracle_after(self, examples: Ints, oracle: Ints, progress: Ints, chosen: Ints) -> Ints:
        """The oracles' states after one more label of each, (B, 4 streams)."""
        assert self.gold is not None
        after: Ints = oracle.copy()
        first = 0
        for k, gold in enumerate(self.gold):
            at = np.flatnonzero(progress % self.streams == k)
            held = self.oracle_of(oracle, at, k)
            part = slice(_ORACLE * k, _ORACLE * (k + 1))
            after[at, part] = gold.oracles.step(examples[at], held, chosen[at] - first)
            first += len(gold.labels)
        return after

    def oracle_of(self, oracle: Ints, at: Ints, stream: int) -> Ints:
        """The states of a stream's oracle in some states, (b, 4)."""
        part = slice(_ORACLE * stream, _ORACLE * (stream + 1))
        return np.ascontiguousarray(oracle[at, part])

    def keys(self, states: LabelStates) -> Ints:
        """What all that follows depends on, (B, k): last decisions and the oracles' states."""
        rows, back = np.arange(len(states)), range(1, self.streams + 1)
        last = [states.labels[rows, np.maximum(states.progress - k, 0)] for k in back]
        return np.column_stack((states.past, *last, states.oracle)).astype(np.int64)

    def _lines(self, states: LabelStates, n: int, stream: int, first: int) -> Ints:
        """The label indices of a stream in finished states of sentences of length n, (B, n)."""
        held: Ints = states.labels[:, stream : n * self.streams : self.streams].astype(np.int64)
        return np.asarray((held[:, ::-1] if self.backwards else held) - first)

    def losses(self, states: LabelStates) -> Floats:
        """The losses of finished states, (B,), summed over streams."""
        assert self.gold is not None
        found, lengths = np.zeros(len(states)), self.sentences.lengths[states.examples]
        for n in np.unique(lengths).tolist():
            at, first = np.flatnonzero(lengths == n), 0
            some = states.take(at)
            for k, gold in enumerate(self.gold):
                found[at] += gold.losses(some.examples, self._lines(some, n, k, first))
                first += len(gold.labels)
        return found

    def outputs(self, states: LabelStates) -> list[Any]:
        """The labels of finished states."""
        lengths = self.sentences.lengths[states.examples].tolist()
        order = -1 if self.backwards else 1
        lines = zip(states.labels.tolist(), lengths, strict=True)
        return [[self.labels_[k] for k in row[:n][::order]] for row, n in lines]


def well_formed_oracles(labels: Sequence[Any]) -> Callable[..., CostOracles]:
    """``CostOracles`` in whose completions I-X stands after B-X and I-X only.

    Raises:
        InputError: a label is no chunk tag.
    """
    return partial(CostOracles, meanings=fallback_labels(labels))
