"""What a search space is to the trainer: states of many searches at once, and their actions.

A *space* says how outputs are decided piece by piece; it is an estimator of scikit-learn in that
it holds parameters only. ``inputs(X, bits, crossed, where)`` and ``outputs(y, inputs, where)`` are
the examples and gold outputs, checked; ``labels(ys)`` are the labels of these, ``gold(bind, labels,
ys, costs)`` is what knows their costs (``bind(labels)`` gives the loss), and ``score(found, ys)``
how much of them was found. ``task(labels, ys)`` fixes the actions; it has
``search(inputs, gold)``, the search over given examples, ``longest_search(inputs)``, the greatest
number of decisions for one of them, and ``states(inputs)``, about how many there are for all. The
trainer and the searches at test time know nothing else. Spaces of one's own that walk one example
at a time are lifted to this by ``custom``.

A batch of B states is an object with ``len``, ``take(indices)``, ``examples`` (the number of each
state's example) and ``progress`` (a number that grows with every step: beams compare states of
equal progress). Actions are numbered 0 to C - 1 within a batch; a step's arrays have these as
columns.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints

__all__ = ["Search"]


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
