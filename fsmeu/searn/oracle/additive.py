"""Oracles of losses that are sums over positions of real amounts: one number for each class.

Where the value is linear in all sums that it looks at, and looks at nothing else, what is added so
far does not change what is best: best[class] = max over labels of amount(label) + best'[class after
it]. A state is two whole numbers, the second of which holds the bits of the sum so far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.oracle.checks import guard_bytes, refuse_ended, refuse_strange
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.layers import ClassLayer, Walked
from fsmeu.searn.oracle.ties import costs_of

__all__ = ["AdditiveTables", "NotAdditiveError", "add_states", "linear_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_EPSILON = float(np.finfo(np.float64).eps)
_FRACTION = 1024.0
_MOST_EXACT = 2.0**42


class NotAdditiveError(Exception):
    """The value is not linear in what adds up, or looks at something else."""


class AdditiveTables:
    """Tables of additive oracles; a state is (position and class, bits of the sum so far).

    Args:
        labels: the number of labels.
        count: the number of references.
    """

    def __init__(self, labels: int, count: int) -> None:
        self._lengths, self._begins = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._base, self._scale, self._slack = np.zeros(count), np.zeros(count), np.zeros(count)
        self._start = np.zeros(count, np.int64)
        self._next, self._amounts = np.zeros((0, labels), np.int32), np.zeros((0, labels))
        self._rows, self._classes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._cells, self._best = np.zeros(0, np.int64), np.zeros(0)
        self._span = 1

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        arrays = (self._next, self._amounts, self._rows, self._classes, self._cells, self._best)
        return sum(array.nbytes for array in arrays)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 2)."""
        return self._numbered(self._start[sentences], np.zeros(len(sentences)))

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 2)."""
        layers, classes, sums = self._points(sentences, states, 1)
        rows = self._rows[layers] + classes
        position = layers + 1 - self._begins[sentences]
        place = position * self._span + self._next[rows, labels]
        return self._numbered(place, sums + self._amounts[rows, labels])

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        layers, classes, _ = self._points(sentences, states, 1)
        rows = self._rows[layers] + classes
        ahead = self._best[self._cells[layers + 1][:, None] + self._next[rows]]
        costs = costs_of(self._amounts[rows] + ahead, self._slack[sentences][:, None])
        return costs * self._scale[sentences][:, None]

    def step_one(self, sentence: int, state: tuple[int, int], label: int) -> tuple[int, int]:
        """The state after one more label."""
        after = self.step(np.array([sentence]), _batch(state), np.array([label]))
        place, bits = after[0].tolist()
        return place, bits

    def costs_one(self, sentence: int, state: tuple[int, int]) -> Floats:
        """The cost of each label in one state, (labels,)."""
        found: Floats = self.costs(np.array([sentence]), _batch(state))[0]
        return found

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        layers, classes, sums = self._points(sentences, states, 0)
        total = sums + self._best[self._cells[layers] + classes]
        found: Floats = self._base[sentences] + self._scale[sentences] * total
        return found

    def _numbered(self, place: Ints, sums: Floats) -> Ints:
        return np.stack([place, (sums + 0.0).view(np.int64)], axis=1)

    def _points(self, sentences: Ints, states: Ints, ahead: int) -> tuple[Ints, Ints, Floats]:
        """Layers, classes and sums of states; there must be positions ahead."""
        strange = states.shape != (len(sentences), 2) or states.dtype.kind != "i"
        refuse_strange(strange, states)
        position, classes = np.divmod(states[:, 0], self._span)
        room = self._lengths[sentences] - position
        refuse_strange(((position < 0) | (room < 0)).any(), states)
        refuse_ended((room < ahead).any())
        layers = self._begins[sentences] + position
        refuse_strange((classes >= self._classes[layers]).any(), states)
        return layers, classes, np.ascontiguousarray(states[:, 1]).view(np.float64)

    @classmethod
    def of(cls, cores: Sequence[Core], machines: Sequence[Walked], sign: float) -> AdditiveTables:
        """The tables of several references."""
        made = cls(cores[0].labels, len(machines))
        pool = _Amounts()
        rows: list[int] = []
        classes: list[int] = []
        best: list[Floats] = []
        for k, (core, machine) in enumerate(zip(cores, machines, strict=True)):
            n = len(machine.layers)
            base, ratios, scale = linear_scores(core, machine, sign)
            layers = [pool.number(layer, ratios) for layer in machine.layers]
            ahead = np.zeros(len(machine.ends))
            swept = [ahead]
            for at in reversed(layers):
                ahead = (pool.amounts[at] + ahead[pool.next[at]]).max(axis=1)
                swept.append(ahead)
            made._lengths[k], made._begins[k], made._start[k] = n, len(rows), machine.start
            made._base[k], made._scale[k] = base, scale
            made._slack[k] = _slack([pool.amounts[at] for at in layers])
            rows += [pool.begins[at] for at in layers] + [0]
            best += swept[::-1]
            classes += [len(one) for one in swept[::-1]]
            core.check(n, np.array([sign * (base + scale * ahead[machine.start])]))
            guard_bytes(8 * (pool.cells + sum(classes) + 2 * len(rows)))
        made._rows, made._classes = np.array(rows, np.int64), np.array(classes, np.int64)
        made._cells = np.append(0, np.cumsum(classes))[:-1].astype(np.int64)
        made._best = np.concatenate(best)
        made._next = np.concatenate([made._next, *(one.astype(np.int32) for one in pool.next)])
        made._amounts = np.concatenate([made._amounts, *pool.amounts])
        made._span = max(classes)
        return made


class _Amounts:
    """Layers with what their steps add to the score, those of equal ratios shared."""

    def __init__(self) -> None:
        self.next: list[Ints] = []
        self.amounts: list[Floats] = []
        self.begins: list[int] = []
        self.cells = self._rows = 0
        self._numbers: dict[tuple[int, bytes], int] = {}

    def number(self, layer: ClassLayer, ratios: Floats) -> int:
        """The number of a layer in which each sum counts by its ratio."""
        key = (id(layer), ratios.tobytes())
        if key not in self._numbers:
            self._numbers[key] = len(self.next)
            self.next.append(layer.next)
            self.amounts.append(np.tensordot(ratios, layer.gains, axes=1) + 0.0)
            self.begins.append(self._rows)
            self._rows += len(layer.next)
            self.cells += 2 * layer.next.size
        return self._numbers[key]


def linear_scores(core: Core, machine: Walked, sign: float) -> tuple[float, Floats, float]:
    """The score without any gain, what each sum counts relative to the greatest, and its scale.

    Raises:
        NotAdditiveError: the value is not linear in what adds up, or looks at something else.
    """
    looks_at_states = machine.ends.shape[1] > 0
    found = None if looks_at_states else core.slopes(len(machine.layers), machine.constants)
    if found is None:
        raise NotAdditiveError
    base, slopes = found
    scale = float(np.abs(slopes).max(initial=0.0)) or 1.0
    ratios = sign * slopes / scale
    if not (np.isfinite(scale) and np.isfinite(base)):
        raise NotAdditiveError
    return sign * base, ratios, scale


def _slack(amounts: Sequence[Floats]) -> float:
    """How much sums of these amounts, one of each array, may differ by rounding alone.

    Sums of multiples of 1/1024 are exact unless they are very great.
    """
    greatest = [float(np.abs(one).max()) for one in amounts]
    exact = all((one * _FRACTION == np.floor(one * _FRACTION)).all() for one in amounts)
    if exact and sum(greatest) < _MOST_EXACT:
        return 0.0
    return 2.0 * _EPSILON * (len(amounts) + 1) * sum(greatest)


def _batch(state: object) -> Ints:
    """A batch of one state."""
    whole = isinstance(state, tuple) and all(isinstance(x, int) for x in state)
    refuse_strange(not whole, state)
    return np.array([state], np.int64)


def add_states(cores: Sequence[Core], machines: Sequence[Walked], sign: float) -> AdditiveTables:
    """The tables of several references.

    Raises:
        NotAdditiveError: the value is not linear in what adds up, or looks at something else.
        LossFileError: the value is not defined.
        SizeLimitError: the tables would take too much room.
    """
    if not machines:
        raise NotAdditiveError
    return AdditiveTables.of(cores, machines, sign)
