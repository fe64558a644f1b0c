"""What is asked of an oracle's tables, however they were made, and how they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.additive import NotAdditiveError, add_states
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.counted import count_states
from fsmeu.searn.oracle.layers import Walked
from fsmeu.searn.oracle.listed import ListedTables
from fsmeu.searn.oracle.loops import Work
from fsmeu.searn.oracle.pool import NotCountedError
from fsmeu.searn.oracle.walks import walk_all

__all__ = ["Tables", "make_tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tables(Protocol):
    """The tables of several references; states are whole numbers, those of a batch an array."""

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""

    @property
    def roundings(self) -> Floats:
        """Bounds on what rounding does to costs, which are 0 up to there, (references,)."""

    def start(self, sentences: Ints) -> Ints:
        """The first states."""

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each."""

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""

    def step_one(self, sentence: int, state: Any, label: int) -> Any:
        """The state after one more label."""

    def costs_one(self, sentence: int, state: Any) -> Floats:
        """The cost of each label in one state, (labels,)."""

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""


def make_tables(loss: Loss, ys: Sequence[Ints], meanings: Ints | None = None) -> Tables:
    """The tables of references given as label indices.

    Args:
        loss: the loss.
        ys: the references.
        meanings: as in ``CostOracles``.

    Raises:
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.
    """
    sign = 1.0 if loss.kind == "utility" else -1.0
    machines: dict[int, Walked] = {}
    cores: dict[int, Core] = {}
    for walks in walk_all(loss, ys, meanings):
        cores |= dict.fromkeys(walks.numbers, walks.layers.core)
        machines |= dict(zip(walks.numbers, walks.machines, strict=True))
    numbers = range(len(ys))
    return _chosen([cores[k] for k in numbers], [machines[k] for k in numbers], loss, sign)


def _chosen(cores: Sequence[Core], machines: Sequence[Walked], loss: Loss, sign: float) -> Tables:
    """The first tables that suit the value: of counts, of sums, of all states."""
    with suppress(NotCountedError):
        return count_states(cores, machines, sign, _work(loss))
    with suppress(NotAdditiveError):
        return add_states(cores, machines, sign)
    return ListedTables.of(cores, machines, len(loss.alphabet), sign)


def _work(loss: Loss) -> Work:
    """How much was computed for a loss; that of one in Python is not kept."""
    memo = loss.memo("oracle work") if isinstance(loss, SpecLoss) else {}
    found: Work = memo.setdefault("work", Work())
    return found
