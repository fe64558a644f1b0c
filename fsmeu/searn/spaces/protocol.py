"""What a search space is to the trainer: states of many searches at once, and their actions.

A space says how outputs are decided piece by piece. As an estimator of scikit-learn it holds
parameters; ``fitted`` to training outputs it knows its actions; ``over`` examples it is a search.
The trainer and the searches at test time know nothing else. Spaces of one's own that walk one
example at a time are lifted to this by ``custom``.

Actions are numbered 0 to C - 1 within a batch of states; arrays of a step have these as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.sparse import csr_array

from fsmeu.arrays import Bools, Floats, Ints

__all__ = ["Space", "States", "joined"]

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
        held: dict[str, Any] = vars(self)
        taken: dict[str, Any] = {k: None if v is None else v[indices] for k, v in held.items()}
        return type(self)(**taken)


def joined(parts: Sequence[Batch]) -> Batch:
    """All states of several batches."""
    held = {name: [getattr(part, name) for part in parts] for name in vars(parts[0])}
    made: dict[str, Any] = {k: None if v[0] is None else np.concatenate(v) for k, v in held.items()}
    return type(parts[0])(**made)


class Space(Protocol):
    """A search space; the second half of its methods is for one that is ``over`` examples."""

    def read_inputs(self, X: Any, bits: int, crossed: Any, where: str) -> Any:
        """The examples, checked; they have a length."""

    def read_outputs(self, y: Any, inputs: Any, where: str) -> Any:
        """The gold outputs of these examples, checked."""

    def fitted(self, ys: Any) -> Space:
        """A copy that knows the actions of gold outputs; it has ``labels_``."""

    def read_gold(self, bind: Any, ys: Any, costs: bool = True) -> Any:
        """What knows the losses of outputs, and costs; ``bind(labels)`` gives the loss."""

    def over(self, inputs: Any, gold: Any = None) -> Space:
        """A copy that searches these examples."""

    def longest_search(self, inputs: Any) -> int:
        """The greatest number of decisions for one example; 0 where it is not known."""

    def score(self, found: Any, ys: Any) -> float:
        """How much of gold outputs was found, from 0 to 1."""

    def start(self, examples: Ints) -> Any:
        """The states before the first decision, for these examples."""

    def is_done(self, states: Any) -> Bools:
        """Whether everything is decided, (B,)."""

    def rows(self, states: Any) -> tuple[csr_array, Ints | None]:
        """Features: one row for each state, or several; then where those of each state begin.

        With one row, action a is cell a of the row of scores. With several it is cell a of the
        cells of all rows of the state, one after the other.
        """

    def allowed(self, states: Any) -> Bools:
        """Which actions are allowed, (B, C)."""

    def costs(self, states: Any) -> tuple[Floats, Ints]:
        """The cost of each action, (B, C), +inf where it is not allowed; and gold's own, (B,).

        A cost is the least loss that can be reached after the action, less the least of all
        allowed actions. Gold's own action is -1 where there is none.
        """

    def step(self, states: Any, actions: Ints) -> Any:
        """The states after one action of each."""

    def losses(self, states: Any) -> Floats:
        """The losses of finished states, (B,); utilities with their sign changed."""

    def outputs(self, states: Any) -> list[Any]:
        """The outputs of finished states."""
