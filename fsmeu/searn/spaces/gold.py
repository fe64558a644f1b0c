"""Gold labels, the costs of labels against them, and which chunk tags may follow which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.fst import tags
from fsmeu.fst.alphabet import as_alphabet
from fsmeu.losses.language.syntax import steps
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.cost_oracle import CostOracles


def tag_parts(tag: Any) -> tuple[str, str]:
    """The kind of a tag ("B", "I" or "O") and its type; an InputError if it is no chunk tag."""
    if str(tag) == "O" or tags.is_tag(str(tag), tags.KINDS["bio"]):
        return tags.tag_parts(str(tag))
    must, remedy = "labels must be chunk tags: O, B-TYPE, I-TYPE", "Use the space LeftToRight"
    raise InputError(message("chunk tags", must, tag, f"{remedy} for other labels"))


def follows(labels: Sequence[Any]) -> Bools:
    """Which tag may follow which, bool (L + 1, L); the last row is for the first tag.

    Raises:
        InputError: a label is no chunk tag, or none of them can come first.
    """
    names = [str(label) for label in labels]
    for name in names:
        tag_parts(name)
    table = tags.bio().over(as_alphabet(names)).next  # (states, L), the state after each
    found: Bools = table[np.append(table.max(axis=0), 0)] >= 0
    if not found[-1].any():
        must = "there must be a tag that can come first: O or B-TYPE"
        raise InputError(message("chunk tags", must, ", ".join(names)))
    return found


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


class Gold:
    """The gold labels of sentences, of one stream, and oracles that know the costs of others.

    In completions a tag that may not follow stands for its B-X, which is what losses of chunks take
    it for, or for the first tag that may follow if there is none.

    Args:
        loss: the loss, over the labels in this order.
        labels: the labels.
        ys: the gold labels of each sentence; an InputError if one is none of these.
        allowed: which label may follow which, as ``follows``; None for any.
        costs: whether costs are asked for.
        order: the step of the slice that the oracles read: -1 for reversed sentences.
    """

    def __init__(
        self,
        loss: Loss,
        labels: Sequence[Any],
        ys: Any,
        allowed: Bools | None = None,
        costs: bool = True,
        order: int = 1,
    ) -> None:
        index = {label: k for k, label in enumerate(labels)}
        strange = next((label for one in ys for label in one if label not in index), None)
        if strange is not None:
            must = "gold labels must be among those of training"
            raise InputError(message("Searn", must, strange))
        self.loss, self.labels = loss, labels
        self.sign = -1.0 if loss.kind == "utility" else 1.0
        texts = {str(label): k for k, label in enumerate(labels)}
        named = [str(label) for label in labels]
        opening = [texts.get(f"B-{name[2:]}", -1) if name[:2] == "I-" else -1 for name in named]
        self.opening = np.array(opening, np.int64)  # of I-X the index of B-X, else -1, (L,)
        self.lines = [np.array([index[label] for label in one], np.int64) for one in ys]
        self.y = np.concatenate([np.empty(0, np.int64), *self.lines])  # (positions,)
        self.oracles: Any = None
        if costs:
            meanings, names = None, loss.alphabet.labels
            if allowed is not None:
                first = allowed.argmax(axis=1)[:, None]
                other = np.where(self.opening >= 0, self.opening, first)
                meanings = np.where(allowed, np.arange(len(labels)), other)
            lines = [[names[k] for k in line[::order]] for line in self.lines]
            self.oracles = CostOracles(loss, lines, meanings=meanings)

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
