"""Search spaces: in which order, and in which pieces, an output is decided.

As an estimator of scikit-learn a space holds parameters; ``fitted`` to training outputs it knows
its actions; ``over`` examples it is a search, whose methods take states of many searches at once.
Actions are numbered 0 to C - 1 within a batch of states; arrays of a step have these as columns.
``tagging.LabelSpace`` has all methods that a space must have; ``custom.CustomSpace`` makes one of
an object that walks one example at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fsmeu.arrays import Ints

Batch = TypeVar("Batch", bound="States")


@dataclass(frozen=True)
class States:
    """A batch of B states; every attribute is an array with B as its first axis, or None.

    Attributes:
        examples: the number of each state's example, (B,).
        progress: a number that grows with every step, (B,): beams compare states of equal progress.
    """

    examples: Ints
    progress: Ints

    def __len__(self) -> int:
        return len(self.examples)

    def take(self: Batch, indices: Any) -> Batch:
        """The states at these indices, or where a mask is true."""
        parts = vars(self).items()
        held: dict[str, Any] = {name: None if x is None else x[indices] for name, x in parts}
        return type(self)(**held)


def joined(parts: Sequence[Batch]) -> Batch:
    """All states of several batches."""
    held: dict[str, Any] = {name: [getattr(one, name) for one in parts] for name in vars(parts[0])}
    for name, lines in held.items():
        held[name] = None if lines[0] is None else np.concatenate(lines)
    return type(parts[0])(**held)
