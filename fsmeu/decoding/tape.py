"""The steps of one tape of a split loss: its states, what a step leads to, shows and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import refuse
from fsmeu.expectation.transfer import Transfer
from fsmeu.expectation.walk import SparseWalker
from fsmeu.fst.compose import guard_size
from fsmeu.losses.split import Part

__all__ = ["Step", "Tape", "walk_tape"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Step:
    """One position of a tape; arrays are (labels, states before).

    Attributes:
        transfer: where each (label, state) leads.
        features: number of the row of feature values that the step shows.
        counted: what the step adds to the counter.
    """

    transfer: Transfer
    features: Ints
    counted: Ints

    @property
    def targets(self) -> Ints:
        """The state after, for each (label, state)."""
        return self.transfer.targets


@dataclass(frozen=True, eq=False)
class Tape:
    """All positions of a tape.

    Attributes:
        steps: the step of each position.
        rows: distinct rows of feature values.
        most: the greatest value that the counter can reach.
        states: the number of states before each position, and at the end.
    """

    steps: tuple[Step, ...]
    rows: Floats
    most: int
    states: tuple[int, ...]


def walk_tape(part: Part, n: int) -> Tape:
    """The steps of a part over n positions.

    Raises:
        RefusalError: the counter does not count in whole numbers from 0 upwards.
    """
    view = part.view(n)
    names = view.linear_names
    shown = [names.index(f"#{k}") for k in range(part.features)]
    counter = names.index(part.counter) if part.counter is not None else None
    walker, contexts = SparseWalker(view), view.contexts()
    codes = walker.codes
    raw: list[tuple[Transfer, int]] = []
    states = [1]
    previous: tuple[object, Ints, Ints] | None = None
    for i in range(1, n + 1):
        if (
            previous is not None
            and previous[0] == contexts[i - 1]
            and np.array_equal(previous[1], codes)
        ):
            raw.append(raw[-1])
            codes = previous[2]
        else:
            after, transfer = walker.step(i, codes)
            guard_size("decode", transfer.width * view.symbols)
            raw.append((transfer, i))
            previous = (contexts[i - 1], codes, after)
            codes = after
        states.append(len(codes))
    return _number_rows(raw, shown, counter, tuple(states), view.symbols)


def _number_rows(
    raw: list[tuple[Transfer, int]],
    shown: list[int],
    counter: int | None,
    states: tuple[int, ...],
    symbols: int,
) -> Tape:
    distinct = {first: transfer for transfer, first in raw}
    gains = {first: _gains(transfer, symbols) for first, transfer in distinct.items()}
    cells = [g[shown].reshape(len(shown), g.shape[1] * g.shape[2]).T for g in gains.values()]
    if shown and cells:
        # Nothing remembered yet is nan, which np.unique would not find equal to itself.
        together = np.nan_to_num(np.concatenate(cells), nan=np.inf)
        rows, numbers = np.unique(together, axis=0, return_inverse=True)
        rows = np.where(np.isinf(rows), np.nan, rows)
    else:
        rows, numbers = np.zeros((1, 0)), np.zeros(sum(len(c) for c in cells), np.int64)
    ends = np.cumsum([len(c) for c in cells]) if cells else np.zeros(0, int)
    steps: dict[int, Step] = {}
    for (first, transfer), end, cell in zip(distinct.items(), ends, cells, strict=True):
        shape = transfer.targets.shape
        counted = np.zeros(shape) if counter is None else gains[first][counter]
        whole = counted.astype(np.int64)
        if (whole != counted).any() or (whole < 0).any():
            must = "the counts that the value looks at must grow by whole numbers"
            refuse("counting", must)
        ids = numbers[end - len(cell) : end].reshape(shape)
        steps[first] = Step(transfer, ids, whole)
    order = [steps[first] for _, first in raw]
    most = sum(int(step.counted.max(initial=0)) for step in order)
    return Tape(tuple(order), rows, most, states)


def _gains(transfer: Transfer, symbols: int) -> Floats:
    if transfer.gains is None:
        return np.zeros((0, symbols, transfer.targets.shape[1]))
    return transfer.gains
