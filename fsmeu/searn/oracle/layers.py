"""The machine over z that a reference makes of a loss, its states merged, layer by layer.

Two contents of the core after position i are one *class* if every continuation adds the same to the
sums and ends in what the value does not tell apart. What is found is kept by context, states and
classes ahead, so that references that share the end of a context share the work.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.limits import KEPT_ORACLE_CELLS, KEPT_STEPS, STEPS_PER_STATE
from fsmeu.searn.oracle.checks import guard_bytes
from fsmeu.searn.oracle.core import CannotServeError, Core, Gain
from fsmeu.searn.oracle.grouping import equal_rows

__all__ = ["ClassLayer", "Layers", "Walked"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassLayer:
    """The steps of one position.

    Attributes:
        next: the class after each step, (classes, labels).
        gains: what each step adds to each sum, (sums, classes, labels).
        memo: what is made of the layer and kept with it.
    """

    next: Ints
    gains: Floats
    memo: dict[Hashable, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Walked:
    """The machine of one reference.

    Attributes:
        start: the class of the first state.
        layers: the steps of positions 0, ..., n - 1.
        ends: what the value looks at in the classes after the last, (classes, registers).
        constants: what it looks at in the reference, (constants,).
    """

    start: int
    layers: list[ClassLayer]
    ends: Floats
    constants: Floats


class Layers:
    """The layers of all references that a core was given.

    Args:
        core: the loss with the reference given.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self._forget()

    def _forget(self) -> None:
        """Forgets all that was found."""
        self._codes: list[Ints] = []
        self._code_numbers: dict[bytes, int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._kept: set[tuple[int, int]] = set()
        self._final: dict[int, tuple[Hashable, Ints, Floats]] = {}
        self._found: dict[Hashable, tuple[Hashable, Ints, ClassLayer]] = {}
        self._steps: dict[tuple[int, int], tuple[Ints, list[Gain]]] = {}
        self._distinct: dict[bytes, ClassLayer] = {}
        self._partitions: dict[bytes, int] = {}
        self._cells = self._step_cells = 0
        self._start = self._number_codes(self.core.first)

    def walk(self, contexts: Ints, constants: Floats) -> Walked:
        """The machine of the reference with these contexts, (n,), and constants.

        Raises:
            LossFileError: a step, or what it adds, is not defined after some sequence of labels.
            SizeLimitError: there are too many states.
            CannotServeError: a core for this reference alone is needed.
        """
        if self._cells > KEPT_ORACLE_CELLS:
            self._forget()
        path, n = [self._start], len(contexts)
        asked = contexts.tolist()
        for context in asked:
            path.append(self._forward(path[-1], context))
        for codes in set(path):
            if (codes, n) not in self._kept:
                if not self.core.keeps_bounds(self._codes[codes], n):
                    raise CannotServeError
                self._kept.add((codes, n))
        key, classes, ends = self._classes_at_end(path[-1])
        layers: list[ClassLayer] = []
        for codes, context in zip(reversed(path[:-1]), reversed(asked), strict=True):
            key, classes, layer = self._backward(codes, context, key, classes)
            layers.append(layer)
        return Walked(int(classes[self.core.start]), layers[::-1], ends, constants)

    def forget_steps(self) -> None:
        """Frees what only another walk would use."""
        self._steps.clear()
        self._step_cells = 0

    def _number_codes(self, codes: Ints) -> int:
        key = codes.tobytes()
        if key not in self._code_numbers:
            self._code_numbers[key] = len(self._codes)
            self._codes.append(codes)
            self._cells += codes.size
            guard_bytes(8 * self._cells)
        return self._code_numbers[key]

    def _forward(self, codes: int, context: int) -> int:
        """The number of the states after a step of these."""
        key = (codes, context)
        if key not in self._after:
            self._advance(codes, context)
        return self._after[key]

    def _advance(self, codes: int, context: int) -> tuple[Ints, list[Gain]]:
        """Targets (states, labels), numbered within the next layer, and gains."""
        key = (codes, context)
        if key in self._steps:
            return self._steps[key]
        held = self._codes[codes]
        where, cells = "cost oracle", len(held) * self.core.labels * (1 + self.core.sums)
        guard_size(where, cells // STEPS_PER_STATE)
        if self._step_cells + cells > KEPT_STEPS:
            self.forget_steps()
        after, places, gains = self.core.advance(context, held)
        assert after[0] >= 0, "every sequence of labels has a next step"
        self._after[key] = self._number_codes(after)
        self._steps[key] = places, gains
        self._step_cells += cells
        return places, gains

    def _classes_at_end(self, codes: int) -> tuple[Hashable, Ints, Floats]:
        """A key of the classes after the last position, the class of each state, their ends."""
        if codes not in self._final:
            ends = self.core.ends(self._codes[codes]) + 0.0
            columns = [np.unique(column, return_inverse=True)[1] for column in ends.T]
            rows = np.array(columns, np.int64).reshape(len(columns), len(ends)).T
            first, classes = equal_rows(rows)
            self._final[codes] = (codes, "end"), classes, ends[first]
        return self._final[codes]

    def _backward(
        self, codes: int, context: int, ahead: Hashable, classes: Ints
    ) -> tuple[Hashable, Ints, ClassLayer]:
        """A key of the classes before a position, the class of each state, and the steps."""
        key = (codes, context, ahead)
        if key not in self._found:
            targets, gains = self._advance(codes, context)
            goals = classes[targets]
            mixed = goals
            for gain in gains:
                mixed = mixed * len(gain.amounts) + gain.kinds
            first, before = equal_rows(mixed)
            added = [gain.amounts[gain.kinds[first]] for gain in gains]
            layer = self._layer(
                goals[first], np.array(added).reshape(-1, len(first), goals.shape[1])
            )
            self._cells += before.size
            guard_bytes(8 * self._cells)
            held = before.tobytes()
            partition = (codes, self._partitions.setdefault(held, len(self._partitions)))
            self._found[key] = partition, before, layer
        return self._found[key]

    def _layer(self, goals: Ints, gains: Floats) -> ClassLayer:
        """The layer with these steps: equal ones are one."""
        key = goals.tobytes() + gains.tobytes()
        if key not in self._distinct:
            self._distinct[key] = ClassLayer(goals, gains)
            self._cells += goals.size + gains.size
        return self._distinct[key]
