"""Losses that no file can say: simple functions in Python (Jansche 2007, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import Alphabet, Label

__all__ = ["FunctionView", "SimpleFunction"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SimpleFunction(Protocol):
    """What a Python loss provides. States are hashable; the start is the same for every n."""

    def start(self) -> Hashable:
        """The state before anything is read."""

    def step(self, state: Any, z: Label, y: Label) -> Hashable:
        """The state after one more pair of labels."""

    def value(self, state: Any) -> float:
        """What ending in a state is worth."""


@dataclass
class FunctionView:
    """The view of a Python loss: states are numbered as they are met, steps are asked once each.

    Attributes:
        function: the loss.
        alphabet: the labels of both tapes.
        n: the length of the sequences.
        z: label indices of the hypothesis, or None to leave it free.
    """

    function: SimpleFunction
    alphabet: Alphabet
    n: int
    z: Ints | None = None
    linear: int = 0
    space: int | None = None
    states: list[Hashable] = field(default_factory=list)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    steps: dict[tuple[int, int, int], int] = field(default_factory=dict)
    memo: dict[Hashable, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.alphabet)
        self.symbols = size if self.z is not None else size * size
        self.start = self._number(self.function.start())

    def _number(self, state: Hashable) -> int:
        try:
            known = self.numbers.setdefault(state, len(self.states))
        except TypeError:
            raise InputError(sentence("loss", "states must be hashable", state)) from None
        if known == len(self.states):
            self.states.append(state)
        return known

    def _step(self, code: int, z: int, y: int) -> int:
        key = (code, z, y)
        if key not in self.steps:
            labels = self.alphabet.labels
            self.steps[key] = self._number(
                self.function.step(self.states[code], labels[z], labels[y])
            )
        return self.steps[key]

    def contexts(self) -> list[Hashable]:
        """The label of z at each position, when it is given."""
        return [()] * self.n if self.z is None else self.z.tolist()

    def advance(self, i: int, codes: Ints, symbols: Ints | None = None) -> tuple[Ints, None]:
        """Targets (states, symbols) of the step at position i."""
        size = len(self.alphabet)
        read = range(self.symbols) if symbols is None else symbols.tolist()
        first = 0 if self.z is None else size * int(self.z[i - 1])
        pairs = [divmod(first + symbol, size) for symbol in read]
        rows = [[self._step(int(code), z, y) for z, y in pairs] for code in codes]
        return np.array(rows, np.int64).reshape(len(codes), len(pairs)), None

    def values(self, codes: Ints) -> tuple[Floats, Floats]:
        """The value of each state; no register rides in the weight."""
        values = np.array([self._value(int(code)) for code in codes], np.float64)
        return values, np.empty((0, len(codes)))

    def _value(self, code: int) -> float:
        state = self.states[code]
        value = float(self.function.value(state))
        if not np.isfinite(value):
            must = f"the value of state {state!r} must be finite"
            raise InputError(sentence("loss", must, value))
        return value

    def registers(self, codes: Ints) -> dict[str, Any]:
        """The states themselves, as the one register ``state``."""
        held = np.empty(len(codes), object)
        held[:] = [self.states[int(code)] for code in codes]
        return {"state": held}
