"""What spaces over label sequences share: sentences in, one label for each position out.

Gold outputs know the costs of labels against them; chunk tags know which may follow which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, sentence, whole
from fsmeu.learning.features import checked_sentences
from fsmeu.limits import MOST_LABEL_CELLS
from fsmeu.losses.language.dependencies import steps
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models.checks import check_shape
from fsmeu.searn.features.sentences import HashedSentences, hashed_sentences
from fsmeu.searn.oracle.cost_oracle import CostOracles

__all__ = [
    "Gold",
    "LabelSearch",
    "LabelSpace",
    "LabelStates",
    "LabelTask",
    "check_follows",
    "chunks_of",
    "follows",
    "gold_of",
    "is_order_free",
    "joined",
    "labels_per_position",
    "newest_first",
    "sorted_labels",
    "start_states",
    "state_keys",
    "tag_parts",
    "well_formed_oracles",
]


def tag_parts(tag: Any, where: str = "chunk tags") -> tuple[str, str]:
    """The kind of a tag ("B", "I" or "O") and its type.

    Raises:
        InputError: it is no chunk tag.
    """
    kind, dash, name = str(tag).partition("-")
    if str(tag) == "O" or (kind in ("B", "I") and dash and name):
        return kind, name
    remedy = "Use the space LeftToRight for other labels"
    raise InputError(sentence(where, "labels must be chunk tags: O, B-TYPE, I-TYPE", tag, remedy))


def follows(labels: Sequence[Any]) -> NDArray[np.bool_]:
    """Which tag may follow which, bool (L + 1, L); the last row is for the first tag.

    Raises:
        InputError: a label is no chunk tag, or none of them can come first.
    """
    parts = [tag_parts(label) for label in labels]
    if all(kind == "I" for kind, _ in parts):
        must = "there must be a tag that can come first: O or B-TYPE"
        raise InputError(sentence("chunk tags", must, ", ".join(map(str, labels))))
    found = np.ones((len(parts) + 1, len(parts)), bool)
    for k, (kind, name) in enumerate(parts):
        if kind == "I":
            found[:, k] = [other != "O" and theirs == name for other, theirs in (*parts, ("O", ""))]
    return found


def check_follows(table: NDArray[np.bool_], labels: Sequence[Any]) -> None:
    """Refuses a table of which label may follow which that is not bool (L + 1, L)."""
    check_shape(table, (len(labels) + 1, len(labels)), "which label may follow which")
    if table.dtype != bool:
        raise InputError(sentence("which label may follow which", "must be bool", table.dtype))


def meanings(labels: Sequence[Any]) -> NDArray[np.int64]:
    """The tag that each tag stands for after each other, (L + 1, L); the last row: at the start.

    That is the tag itself where it may follow; else B-X for I-X, which is what losses of chunks
    take it for, or the first tag that may follow if there is no B-X.
    """
    may, opening = follows(labels), opening_tags(labels)
    other = np.where(opening >= 0, opening, may.argmax(axis=1)[:, None])
    return np.where(may, np.arange(len(labels)), other)


def opening_tags(labels: Sequence[Any]) -> NDArray[np.int64]:
    """For each label the index of B-X if it is I-X and there is one, else -1, (L,)."""
    index = {str(label): k for k, label in enumerate(labels)}
    named = [str(label) for label in labels]
    return np.array([index.get(f"B-{n[2:]}", -1) if n[:2] == "I-" else -1 for n in named], np.int64)


def chunks_of(tags: Sequence[Any]) -> list[tuple[int, int, str]]:
    """The chunks of a tag sequence: first position, the one after the last, type.

    As in conlleval, I-X opens a chunk where none of type X goes on.
    """
    found: list[tuple[int, int, str]] = []
    begin, open_type = 0, ""
    for i, tag in enumerate([*tags, "O"]):
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


@dataclass(frozen=True)
class Gold:
    """Gold outputs.

    Attributes:
        loss: the loss.
        labels: the labels, in the order of their indices.
        lines: the label indices of each sentence.
        y: the same, end to end, (positions,).
        opening: for each label I-X the index of B-X, else -1, (L,).
        oracles: the costs of labels after any labels before, as ``CostOracles`` tells them.
    """

    loss: Loss
    labels: tuple[Any, ...]
    lines: list[Ints]
    y: Ints
    opening: Ints
    oracles: Any

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

    def start(self, sentences: Ints) -> Any:
        """The oracle's states before the first label, with B as first axis; None without costs."""
        return None if self.oracles is None else self.oracles.start(sentences)

    def losses(self, sentences: Ints, outputs: Sequence[Sequence[Any]]) -> Floats:
        """The loss of an output of each sentence, (B,); utilities with their sign changed."""
        index = {label: k for k, label in enumerate(self.labels)}
        found = np.empty(len(sentences))
        coded = [np.array([index[label] for label in one], np.int64) for one in outputs]
        lengths = np.array([len(one) for one in coded])
        for n in np.unique(lengths):
            at = np.flatnonzero(lengths == n)
            z = np.array([coded[k] for k in at]).reshape(len(at), n)
            y = np.array([self.lines[sentences[k]] for k in at]).reshape(len(at), n)
            found[at] = self.sign * self.loss.pair_values(z, y)
        return found


def gold_of(
    loss: Loss,
    labels: Sequence[Any],
    ys: Sequence[Sequence[Any]],
    make: Any,
    backwards: bool = False,
) -> Gold:
    """The gold outputs of sentences.

    Args:
        loss: the loss, over the labels in this order.
        labels: the labels.
        ys: the gold labels of each sentence.
        make: ``CostOracles`` or what is like it, or None where costs are not asked for.
        backwards: whether the oracles are those of reversed sentences.

    Raises:
        InputError: a label is none of these.
    """
    index = {label: k for k, label in enumerate(labels)}
    strange = next((label for one in ys for label in one if label not in index), None)
    if strange is not None:
        must = "gold labels must be among those of training"
        raise InputError(sentence("Searn", must, strange))
    lines = [np.array([index[label] for label in one], np.int64) for one in ys]
    y = np.concatenate(lines) if lines else np.empty(0, np.int64)
    names = loss.alphabet.labels
    oracles = None
    if make is not None:
        order = slice(None, None, -1 if backwards else 1)
        oracles = make(loss, [[names[k] for k in line[order]] for line in lines])
    return Gold(loss, tuple(labels), lines, y, opening_tags(labels), oracles)


def well_formed_oracles(labels: Sequence[Any]) -> Any:
    """``CostOracles`` in whose completions I-X stands after B-X and I-X only.

    Raises:
        InputError: a label is no chunk tag.
    """
    return partial(CostOracles, meanings=meanings(labels))


Bind = Callable[..., Loss]
"""Gives the loss over labels."""


class LabelSpace(BaseEstimator):  # type: ignore[misc]
    """A space whose outputs are label sequences; see ``protocol.Space``."""

    def depths(self, *names: str) -> list[int]:
        """The values of parameters that say how far features look back, checked."""
        return [whole(type(self).__name__, name, getattr(self, name), least=0) for name in names]

    def inputs(self, X: Any, bits: int, crossed: Sequence[str], where: str) -> HashedSentences:
        """The sentences as hashed features."""
        if isinstance(X, HashedSentences):
            return X
        if isinstance(crossed, str) or not isinstance(crossed, Sequence):
            raise InputError(sentence(where, "crossed must be a list of names", crossed))
        return hashed_sentences(checked_sentences(X, where), bits, tuple(map(str, crossed)))

    def outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
        """The labels of each sentence, checked."""
        return labels_per_position(y, inputs, where)

    def labels(self, ys: Sequence[Sequence[Any]]) -> list[Any]:
        """The labels of outputs, sorted."""
        return sorted_labels(chain(*ys))

    def gold(self, bind: Bind, labels: Sequence[Any], ys: Any, costs: bool = True) -> Any:
        """Gold outputs with the costs of labels against them, or with losses only."""
        return gold_of(bind(labels), labels, ys, CostOracles if costs else None)

    def score(self, found: Any, ys: Any) -> float:
        """The share of positions whose label was found."""
        both = zip(chain(*found), chain(*ys), strict=True)
        return float(np.mean([one == other for one, other in both]))


def labels_per_position(y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
    """The labels of each sentence, as many as it has positions.

    Raises:
        InputError: they are not, or there is no position at all.
    """
    lines = checked_sentences(y, where)
    found = [list(one.tolist() if isinstance(one, np.ndarray) else one) for one in lines]
    lengths = inputs.lengths.tolist()
    if [len(one) for one in found] != lengths:
        must = "there must be one label for each position of each sentence"
        pairs = zip(lengths, found, strict=False)
        at = next((k for k, (n, one) in enumerate(pairs) if n != len(one)), None)
        got = f"{len(lengths)} sentences and {len(found)} label sequences"
        if at is not None:
            got = f"{lengths[at]} positions and {len(found[at])} labels in sentence {at}"
        raise InputError(sentence(where, must, got))
    if not any(found):
        raise InputError(sentence(where, "there must be a sentence that is not empty"))
    return found


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """The distinct labels, sorted; by type and text where they cannot be compared.

    Raises:
        InputError: a label cannot be told from others, as a list.
    """
    try:
        found = set(labels)
    except TypeError as error:
        must = "labels must be hashable, such as numbers, texts or tuples"
        raise InputError(sentence("labels", must)) from error
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda one: (type(one).__name__, str(one)))


@dataclass(frozen=True)
class LabelStates:
    """Partly labelled sentences.

    Attributes:
        examples: the number of each state's sentence, (B,).
        progress: how many labels are decided, (B,).
        labels: label indices in the order in which they are decided, int32 (B, longest).
        past: the last decisions, the newest first, int32 (B, h); -1 before the first.
        oracle: the states of the cost oracle, with B as first axis, or None.
    """

    examples: Ints
    progress: Ints
    labels: NDArray[np.int32]
    past: NDArray[np.int32]
    oracle: Any = None

    def __len__(self) -> int:
        return len(self.examples)

    def take(self, indices: Any) -> LabelStates:
        """The states at these indices, or where a mask is true."""
        oracle = None if self.oracle is None else self.oracle[indices]
        return LabelStates(
            self.examples[indices],
            self.progress[indices],
            self.labels[indices],
            self.past[indices],
            oracle,
        )


def start_states(examples: Ints, longest: int, depth: int, oracle: Any) -> LabelStates:
    """The states before the first decision.

    Raises:
        SizeLimitError: the labels of all sentences, each as long as the longest, are too many.
    """
    count = len(examples)
    if count * longest > MOST_LABEL_CELLS:
        must = f"sentences times the longest length must be at most {MOST_LABEL_CELLS:,}"
        remedy = "Split the longest sentences, or give fewer at a time"
        raise SizeLimitError(sentence("Searn", must, f"{count:,} x {longest:,}", remedy))
    labels = np.full((count, longest), -1, np.int32)
    past = np.full((count, depth), -1, np.int32)
    return LabelStates(examples, np.zeros(count, np.int64), labels, past, oracle)


def joined(parts: Sequence[LabelStates]) -> LabelStates:
    """All states of several batches."""
    oracle = None
    if parts[0].oracle is not None:
        oracle = np.concatenate([part.oracle for part in parts])
    return LabelStates(
        np.concatenate([part.examples for part in parts]),
        np.concatenate([part.progress for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.past for part in parts]),
        oracle,
    )


def newest_first(past: NDArray[np.int32], decided: Ints) -> NDArray[np.int32]:
    """The last decisions after one more of each state, int32 (B, h)."""
    if not past.shape[1]:
        return past
    return np.concatenate((decided[:, None].astype(np.int32), past[:, :-1]), axis=1)


def state_keys(states: LabelStates) -> Ints:
    """What all that follows depends on, (B, k): last decisions and the oracle's state."""
    last = states.labels[np.arange(len(states)), np.maximum(states.progress - 1, 0)]
    oracle = np.asarray(states.oracle).reshape(len(states), -1)
    return np.column_stack((states.past, last, oracle)).astype(np.int64)


class LabelTask:
    """What spaces over labels share once their actions are known.

    Attributes:
        streams: how many labels a position has.
    """

    streams: ClassVar[int] = 1

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """What it is made of, by name."""
        return dict(vars(self))

    def longest_search(self, sentences: HashedSentences) -> int:
        """The greatest number of decisions for one sentence."""
        return self.streams * int(sentences.lengths.max(initial=0))

    def states(self, sentences: HashedSentences) -> int:
        """About how many decisions there are."""
        return self.streams * int(sentences.starts[-1])


@dataclass(frozen=True)
class LabelSearch:
    """What searches over given sentences share; see ``protocol.Search``."""

    task: Any
    sentences: HashedSentences
    gold: Any

    def start(self, examples: Ints) -> LabelStates:
        """The states before the first decision, for these sentences."""
        oracle = None if self.gold is None else self.gold.start(examples)
        longest = int(self.sentences.lengths[examples].max(initial=0))
        return start_states(examples, longest, self.task.history, oracle)

    def left(self, states: LabelStates) -> Ints:
        """How many labels are not decided yet, (B,)."""
        lengths = self.sentences.lengths[states.examples]
        return np.asarray(self.task.streams * lengths - states.progress)

    def is_done(self, states: LabelStates) -> NDArray[np.bool_]:
        """Whether all positions have labels, (B,)."""
        return self.left(states) <= 0

    def join(self, parts: Sequence[LabelStates]) -> LabelStates:
        """All states of several batches."""
        return joined(parts)

    def keys(self, states: LabelStates) -> Ints:
        """What all that follows depends on, (B, k): last decisions and the oracle's state."""
        return state_keys(states)

    def losses(self, states: LabelStates) -> Floats:
        """The losses of finished states, (B,)."""
        found: Floats = self.gold.losses(states.examples, self.outputs(states))
        return found

    def outputs(self, states: LabelStates) -> list[Any]:
        """The labels of finished states."""
        names = self.task.labels
        lengths = self.sentences.lengths[states.examples].tolist()
        lines = zip(states.labels.tolist(), lengths, strict=True)
        return [[names[k] for k in row[:n]] for row, n in lines]
