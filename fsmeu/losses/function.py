"""Losses written in Python: an object with ``start``, ``step`` and ``value`` (Jansche 2007)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, one_of, shorten
from fsmeu.fst.alphabet import Alphabet, Label, as_alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.losses.machine.view import LossAutomaton
from fsmeu.losses.protocol import Loss


class SimpleFunction(Protocol):
    """The methods of a Python loss. States are hashable; the start is the same for every n."""

    def start(self) -> Hashable:
        """The state before anything is read."""

    def step(self, state: Any, z: Label, y: Label) -> Hashable:
        """The state after one more pair of labels."""

    def value(self, state: Any) -> float:
        """The value of a pair that ends in this state."""


class _Swapped:
    """A simple function that reads the tapes of another the other way round."""

    def __init__(self, function: SimpleFunction) -> None:
        self.function = function
        self.start = function.start
        self.value = function.value

    def step(self, state: Any, z: Label, y: Label) -> Hashable:
        return self.function.step(state, y, z)


class _FunctionAutomaton(LossAutomaton):
    """The view of a Python loss: states are numbered as they are reached, steps computed once."""

    def __init__(
        self, function: SimpleFunction, alphabet: Alphabet, n: int, z: Ints | None
    ) -> None:
        self.function = function
        self.alphabet = alphabet
        self.n = n
        self.z = z
        self.linear = 0
        self.space = None
        self.memo = {}
        self.states: list[Hashable] = []
        self.numbers: dict[Hashable, int] = {}
        self.steps: dict[tuple[int, int, int], int] = {}
        self.symbols = len(alphabet) ** (2 if z is None else 1)
        self.start = self._number(function.start())

    def _number(self, state: Hashable) -> int:
        try:
            number = self.numbers.setdefault(state, len(self.states))
        except TypeError:
            raise InputError("loss", "states must be hashable", given=state) from None
        if number == len(self.states):
            guard_size("loss in Python", number + 1)
            self.states.append(state)
        return number

    def _step(self, code: int, z: int, y: int) -> int:
        key = (code, z, y)
        if key not in self.steps:
            pair = self.alphabet.labels[z], self.alphabet.labels[y]
            self.steps[key] = self._number(self.function.step(self.states[code], *pair))
        return self.steps[key]

    def advance(self, i: int, codes: Ints, symbols: Ints | None = None) -> tuple[Ints, None]:
        size = len(self.alphabet)
        read = range(self.symbols) if symbols is None else symbols.tolist()
        first = 0 if self.z is None else size * int(self.z[i - 1])
        pairs = [divmod(first + symbol, size) for symbol in read]
        rows = [[self._step(int(code), z, y) for z, y in pairs] for code in codes]
        return np.array(rows, np.int64).reshape(len(codes), len(pairs)), None

    def values(self, codes: Ints) -> tuple[Floats, Floats]:
        states = [self.states[int(code)] for code in codes]
        values = [_number_of(self.function.value(state), state) for state in states]
        return np.array(values, np.float64), np.empty((0, len(codes)))

    def registers(self, codes: Ints) -> dict[str, Any]:
        """The states themselves, as the one register ``state``."""
        states = np.empty(len(codes), object)
        states[:] = [self.states[int(code)] for code in codes]
        return {"state": states}


def _number_of(value: Any, state: Hashable) -> float:
    """The value of a state as a float, which must be finite."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        must = f"the value of state {shorten(state)} must be a finite number"
        raise InputError("loss in Python", must, given=value)
    return number


@dataclass(frozen=True, eq=False)
class FunctionLoss(Loss):
    """A loss from a Python object with ``start``, ``step`` and ``value``."""

    function: SimpleFunction
    alphabet: Alphabet
    name: str
    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind} {shorten(self.name)}, in Python>"

    def with_labels(self, alphabet: Alphabet) -> FunctionLoss:
        """The same function over other labels."""
        return replace(self, alphabet=alphabet)

    @property
    def swapped(self) -> FunctionLoss:
        """The loss whose value for (z, y) is that of this one for (y, z)."""
        return replace(self, function=_Swapped(self.function))

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> LossAutomaton:
        """The loss as an engine walks it; no register is kept in the weight."""
        return _FunctionAutomaton(self.function, self.alphabet, n, z)

    def against(self, y: Ints, copies: int) -> LossAutomaton:
        """The loss of any hypothesis against a reference, given by label indices, (n,)."""
        return self.swapped.view(len(y), y)

    def pair_values(self, z: Sequence[Ints] | Ints, y: Sequence[Ints] | Ints) -> Floats:
        """The value of each pair of rows of label indices, (rows,)."""
        labels = self.alphabet.labels
        values = np.empty(len(z))
        for row, pair in enumerate(zip(z, y, strict=True)):
            state = self.function.start()
            for a, b in zip(*pair, strict=True):
                state = self.function.step(state, labels[a], labels[b])
            values[row] = _number_of(self.function.value(state), state)
        return values


def function_loss(
    function: SimpleFunction,
    labels: Alphabet | Sequence[Label] | str = (0, 1),
    *,
    kind: str = "loss",
    name: str | None = None,
) -> FunctionLoss:
    """A loss from a Python object with ``start()``, ``step(state, z, y)`` and ``value(state)``."""
    kind = one_of("function_loss", "kind", kind, ("loss", "utility"))
    if name is not None and not isinstance(name, str):
        raise InputError("function_loss", "name must be a text", given=name)
    for method in ("start", "step", "value"):
        if not callable(getattr(function, method, None)):
            must = "the object must have the methods start, step and value"
            raise InputError("function_loss", must, given=f"one without {method}")
    return FunctionLoss(function, as_alphabet(labels), name or type(function).__name__, kind)
