"""Batches of states whose decisions are labels of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import SizeLimitError, sentence
from fsmeu.limits import MOST_LABEL_CELLS

__all__ = ["LabelStates", "joined", "newest_first", "start_states", "state_keys"]

Ints = NDArray[np.int64]


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
