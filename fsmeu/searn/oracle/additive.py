"""Oracles of losses that are sums over positions of real amounts: one table for each layer.

Where the value is linear in all sums that it looks at, and looks at nothing else, what is added so
far does not change what is best: best[class] = max over labels of amount(label) + best'[class after
it]. The cost of a label is the difference of the two sides. Great amounts may cancel in it, so that
both are computed with the rounding errors of sums and products of doubles (two doubles a number),
once for all positions that share their steps and what follows. The best value after a prefix is
that before it minus the costs of its labels: a state is three whole numbers, of which the last two
hold the bits of the sum of these costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.oracle.checks import guard_bytes, refuse_ended, refuse_strange
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.layers import ClassLayer, Walked
from fsmeu.trellis.roundings import LEAST, UNIT, Twofold, relative_error, twofold_product

__all__ = ["AdditiveTables", "NotAdditiveError", "add_states", "linear_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_EXACT_BITS = 42
_ROUNDED = relative_error(4)  # as in ``losses.semantics.rounding``


class NotAdditiveError(Exception):
    """The value is not linear in what adds up, or looks at something else."""


class AdditiveTables:
    """Tables of additive oracles; a state is (position and class, bits of the costs so far, twice).

    Args:
        labels: the number of labels.
        count: the number of references.

    Attributes:
        roundings: costs up to this are 0, by reference, (references,).
    """

    def __init__(self, labels: int, count: int) -> None:
        self._lengths, self._begins = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._base, self._scale, self.roundings = np.zeros(count), np.zeros(count), np.zeros(count)
        self._start, self._best = np.zeros(count, np.int64), _zeros(count)
        self._next, self._costs = np.zeros((0, labels), np.int32), _zeros(0, labels)
        self._rows, self._classes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._span = 1

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        arrays = (self._next, self._costs.high, self._costs.low, self._rows, self._classes)
        return sum(array.nbytes for array in arrays)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 3)."""
        return self._numbered(self._start[sentences], _zeros(len(sentences)))

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 3)."""
        layers, classes, lost = self._points(sentences, states, 1)
        rows = self._rows[layers] + classes
        position = layers + 1 - self._begins[sentences]
        place = position * self._span + self._next[rows, labels]
        return self._numbered(place, lost + self._costs[rows, labels])

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        layers, classes, _ = self._points(sentences, states, 1)
        relative = self._costs.high[self._rows[layers] + classes]
        costs: Floats = relative * self._scale[sentences][:, None]
        costs[costs <= self.roundings[sentences][:, None]] = 0.0
        return costs

    def step_one(self, sentence: int, state: tuple[int, ...], label: int) -> tuple[int, ...]:
        """The state after one more label."""
        after = self.step(np.array([sentence]), _batch(state), np.array([label]))
        return tuple(after[0].tolist())

    def costs_one(self, sentence: int, state: tuple[int, ...]) -> Floats:
        """The cost of each label in one state, (labels,)."""
        found: Floats = self.costs(np.array([sentence]), _batch(state))[0]
        return found

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        _, _, lost = self._points(sentences, states, 0)
        return self._scored(sentences, self._best[sentences] - lost)

    @np.errstate(over="ignore", invalid="ignore")
    def _scored(self, sentences: Ints, totals: Twofold) -> Floats:
        """Scores with these totals of amounts, (batch,)."""
        base, scale = self._base[sentences], self._scale[sentences]
        product = twofold_product(scale, totals.high)
        least = Twofold(scale * totals.low, np.zeros(len(base)))
        found = (Twofold(base, np.zeros(len(base))) + product + least).high
        return np.where(np.isfinite(found), found, base + scale * totals.high)

    def _numbered(self, place: Ints, lost: Twofold) -> Ints:
        bits = [(part + 0.0).view(np.int64) for part in (lost.high, lost.low)]
        return np.stack([place, *bits], axis=1)

    def _points(self, sentences: Ints, states: Ints, ahead: int) -> tuple[Ints, Ints, Twofold]:
        """Layers, classes and costs so far of states; there must be positions ahead."""
        strange = states.shape != (len(sentences), 3) or states.dtype.kind != "i"
        refuse_strange(strange, states)
        position, classes = np.divmod(states[:, 0], self._span)
        room = self._lengths[sentences] - position
        refuse_strange(((position < 0) | (room < 0)).any(), states)
        refuse_ended((room < ahead).any())
        layers = self._begins[sentences] + position
        refuse_strange((classes >= self._classes[layers]).any(), states)
        bits = np.ascontiguousarray(states[:, 1:].T).view(np.float64)
        return layers, classes, Twofold(bits[0], bits[1])

    @classmethod
    def of(cls, cores: Sequence[Core], machines: Sequence[Walked], sign: float) -> AdditiveTables:
        """The tables of several references."""
        made = cls(cores[0].labels, len(machines))
        pool = _Pool(machines)
        rows: list[int] = []
        classes: list[int] = []
        for k, (core, machine) in enumerate(zip(cores, machines, strict=True)):
            n = len(machine.layers)
            base, ratios, slope = linear_scores(core, machine, sign)
            scale = float(np.ldexp(slope, pool.exponent))
            if not np.isfinite(scale):
                raise NotAdditiveError
            ahead = pool.nothing(len(machine.ends))
            swept = [ahead]
            added, size, error = Fraction(0), 0.0, LEAST
            for layer in reversed(machine.layers):
                ahead = pool.before(layer, ratios, ahead)
                swept.append(ahead)
                added += ahead.added
                size, error = size + ahead.size, error + ahead.error
            added += _fraction(pool.best[ahead.number][machine.start])
            made._lengths[k], made._begins[k], made._start[k] = n, len(rows), machine.start
            made._base[k], made._scale[k] = base, scale
            made._best.high[k] = high = float(added)
            made._best.low[k] = float(added - Fraction(high))
            lost = 32 * (n + len(ratios)) * UNIT**2 * size  # each sum of two doubles loses 2 units
            made.roundings[k] = scale * 2 * (error + lost)
            rows += [one.row for one in swept[::-1]]
            classes += [len(pool.best[one.number].high) for one in swept[::-1]]
            here = np.array([k])
            core.check(n, sign * made._scored(here, made._best[here]))
            guard_bytes(8 * (pool.cells + 2 * len(rows)))
        made._rows, made._classes = np.array(rows, np.int64), np.array(classes, np.int64)
        made._next = np.concatenate([made._next, *(one.astype(np.int32) for one in pool.next)])
        made._costs = Twofold(
            np.concatenate([made._costs.high, *(one.high for one in pool.costs)]),
            np.concatenate([made._costs.low, *(one.low for one in pool.costs)]),
        )
        made._span = max(classes)
        return made


class _Before(NamedTuple):
    """What is known before a position.

    Attributes:
        number: the number of the best sums of all classes, of which the greatest is 0.
        row: where the table of the position begins.
        added: the greatest best sum, minus that after the position.
        size: the greatest sum of absolute terms that an amount has.
        error: how much the amounts of a step may be wrong because their terms are rounded.
    """

    number: int
    row: int
    added: Fraction
    size: float
    error: float


class _Pool:
    """Tables of positions; those of equal steps with equal best sums behind them are one.

    Args:
        machines: the machines of the references.

    Attributes:
        exponent: all amounts are below 2 to the power of this, and divided by it.
        best: best sums that occur, (classes,) each.
        next, costs: the tables, (classes, labels) each.
        cells: how many numbers they take.
    """

    def __init__(self, machines: Sequence[Walked]) -> None:
        layers = {id(layer): layer for machine in machines for layer in machine.layers}
        greatest = [np.abs(layer.gains).max(initial=0.0) for layer in layers.values()]
        self.exponent = int(np.frexp(max(greatest, default=0.0))[1])
        self.best: list[Twofold] = []
        self.next: list[Ints] = []
        self.costs: list[Twofold] = []
        self.cells = self._rows = 0
        self._numbers: dict[bytes, int] = {}
        self._amounts: dict[tuple[int, bytes], tuple[Twofold, float, float]] = {}
        self._found: dict[tuple[int, bytes, int], _Before] = {}

    def nothing(self, classes: int) -> _Before:
        """What is known after the last position."""
        return _Before(self._number(_zeros(classes)), 0, Fraction(0), 0.0, 0.0)

    def before(self, layer: ClassLayer, ratios: Floats, ahead: _Before) -> _Before:
        """What is known before a position in which each sum counts by its ratio."""
        key = (id(layer), ratios.tobytes(), ahead.number)
        if key not in self._found:
            amounts, size, error = self._amounts_of(layer, ratios)
            sums = amounts + self.best[ahead.number][layer.next]
            best = sums.max(axis=1)
            self.next.append(layer.next)
            self.costs.append(best[:, None] - sums)
            row, self._rows = self._rows, self._rows + len(layer.next)
            top = best.max(axis=0)
            number = self._number(best - top)
            self._found[key] = _Before(number, row, _fraction(top), size, error)
            self.cells += 3 * layer.next.size
            guard_bytes(8 * self.cells)
        return self._found[key]

    def _number(self, best: Twofold) -> int:
        key = best.high.tobytes() + best.low.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.best)
            self.best.append(best)
            self.cells += 2 * len(best.high)
        return self._numbers[key]

    def _amounts_of(self, layer: ClassLayer, ratios: Floats) -> tuple[Twofold, float, float]:
        """What steps add, (classes, labels), its greatest size, and a bound on its error."""
        key = (id(layer), ratios.tobytes())
        if key not in self._amounts:
            total = _zeros(*layer.next.shape)
            size = error = total.high
            for ratio, gains in zip(ratios, np.ldexp(layer.gains, -self.exponent), strict=True):
                term = twofold_product(ratio, gains)
                total, size = total + term, size + np.abs(term.high)
                unsure = ~(_is_exact(gains) & _is_exact(ratio))
                error = error + _ROUNDED * np.where(unsure, np.abs(term.high), 0.0)
            self._amounts[key] = total, float(size.max()), float(error.max())
        return self._amounts[key]


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


def _is_exact(numbers: Floats) -> NDArray[np.bool_]:
    """Whether numbers have so few digits that they can hardly be the outcome of a rounding."""
    digits = np.ldexp(np.frexp(numbers)[0], _EXACT_BITS)
    found: NDArray[np.bool_] = digits == np.floor(digits)
    return found


def _fraction(number: Twofold) -> Fraction:
    return Fraction(float(number.high)) + Fraction(float(number.low))


def _zeros(*shape: int) -> Twofold:
    return Twofold(np.zeros(shape), np.zeros(shape))


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
