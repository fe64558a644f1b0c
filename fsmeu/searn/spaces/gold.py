"""Gold outputs of sentences: their label indices, and the oracles of costs against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces.tags import chunks_of, meanings, opening_tags

__all__ = ["Gold", "gold_of", "well_formed_oracles"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
