"""What a search space is to the trainer: states of many searches at once, and their actions.

A *space* says how outputs are decided piece by piece; it is an estimator of scikit-learn in that
it holds parameters only. ``space.task(labels, ys)`` fixes its actions from the training outputs,
and ``task.search(inputs, gold)`` is the search over given examples. The trainer and the searches at
test time know nothing else. Spaces of one's own that walk one example at a time are lifted to this
by ``one_by_one``.

A batch of B states is an object with ``len``, ``take(indices)``, ``examples`` (the number of each
state's example) and ``progress`` (a number that grows with every step: beams compare states of
equal progress). Actions are numbered
0 to C - 1 within a batch; a step's arrays have these as columns.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Search", "Space", "States", "Task"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class States(Protocol):
    """A batch of states."""

    examples: Ints
    progress: Ints

    def __len__(self) -> int: ...

    def take(self, indices: Any) -> Any:
        """The states at these indices, or where a mask is true."""


class Search(Protocol):
    """A space over given examples; with their gold outputs it knows costs."""

    def start(self, examples: Ints) -> Any:
        """The states before the first decision, for these examples."""

    def is_done(self, states: Any) -> NDArray[np.bool_]:
        """Whether everything is decided, (B,)."""

    def rows(self, states: Any) -> tuple[csr_array, Ints | None]:
        """Features: one row for each state, or several; then where those of each state begin.

        With one row, action a is cell a of the row of scores. With several it is cell a of the
        cells of all rows of the state, one after the other.
        """

    def allowed(self, states: Any) -> NDArray[np.bool_]:
        """Which actions are allowed, (B, C)."""

    def costs(self, states: Any) -> tuple[Floats, Ints]:
        """The cost of each action, (B, C), +inf where it is not allowed; and gold's own, (B,).

        A cost is the least loss that can be reached after the action, less the least of all
        allowed actions. Gold's own action is -1 where there is none.
        """

    def step(self, states: Any, actions: Ints) -> Any:
        """The states after one action of each."""

    def join(self, parts: Any) -> Any:
        """All states of several batches."""

    def losses(self, states: Any) -> Floats:
        """The losses of finished states, (B,); utilities with their sign changed."""

    def outputs(self, states: Any) -> list[Any]:
        """The outputs of finished states."""


class Task(Protocol):
    """A space with its actions."""

    def search(self, inputs: Any, gold: Any = None) -> Search:
        """The search over examples, with the costs of their gold outputs if these are given."""

    def longest_search(self, inputs: Any) -> int:
        """The greatest number of decisions for one example."""

    def states(self, inputs: Any) -> int:
        """About how many decisions there are for all examples; for progress bars."""


class Space(Protocol):
    """How outputs are decided piece by piece."""

    def inputs(self, X: Any, bits: int, crossed: Any, where: str) -> Any:
        """The examples as the search takes them, checked; with ``len``."""

    def outputs(self, y: Any, inputs: Any, where: str) -> list[Any]:
        """The gold outputs, checked."""

    def labels(self, ys: list[Any]) -> list[Any]:
        """The labels of outputs."""

    def task(self, labels: Any, ys: Any) -> Task:
        """The space with its actions."""

    def gold(self, bind: Any, labels: Any, ys: Any, costs: bool = True) -> Any:
        """Gold outputs as ``Task.search`` takes them; ``bind(labels)`` gives the loss."""

    def score(self, found: Any, ys: Any) -> float:
        """How much of the gold outputs was found."""
