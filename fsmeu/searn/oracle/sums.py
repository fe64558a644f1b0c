"""Tables of losses whose value is a sum over positions, and of all others, their sums unfolded.

Where the value is linear in all sums that it reads, and reads nothing else, what is added so far
does not change what is best: best[class] = max over labels of amount(label) + best'[class after
it]. Any other loss becomes such a one when the sums so far are parts of the states: then steps add
nothing, and the last states are worth their values. The cost of a label is the difference of the
two sides. Great amounts may cancel in it, so that both are computed with the rounding errors of
sums and products of doubles (two doubles a number), once for all positions that share their steps
and what follows. The best value after a prefix is that before it minus the costs of its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.fst.compose import guard_arcs
from fsmeu.fst.distinct import distinct_rows
from fsmeu.searn.oracle.checks import costs_of, greatest_tie, guard_bytes, refuse, refuse_strange
from fsmeu.searn.oracle.product import ClassLayer, Machine, equal_rows
from fsmeu.trellis.roundings import LEAST, UNIT, Twofold, relative_error, twofold_product

__all__ = ["NotAdditiveError", "SummedTables", "Weighted", "linear", "unfolded"]

_EXACT_BITS = 42
_ROUNDED = relative_error(4)  # as in ``fst.distinct``
_GREAT_EXPONENT = 1000
"""Scores from 2 to the power of this on are scaled down, so that differences do not overflow."""


class NotAdditiveError(Exception):
    """The value is not linear in what adds up, or reads something else."""


class Weighted(NamedTuple):
    """A machine over z whose paths add up to the score: base + scale * (amounts + end).

    Attributes:
        start: the class of the first state.
        layers: the steps of positions 0, ..., n - 1.
        ratios: what each sum counts, (sums,).
        ends: what the classes after the last position are worth, (classes,); None where nothing.
        base: the score without any amount.
        scale: what the amounts are multiplied by.
    """

    start: int
    layers: list[ClassLayer]
    ratios: Floats
    ends: Floats | None
    base: float = 0.0
    scale: float = 1.0


def linear(machine: Machine, sign: float) -> Weighted:
    """The machine with amounts on its steps, where the value is a sum over positions.

    Raises:
        NotAdditiveError: the value is not linear in what adds up, or reads something else.
    """
    reads_states = machine.ends.shape[1] > 0
    n = len(machine.layers)
    found = None if reads_states else machine.steps.slopes(n, machine.constants)
    if found is None:
        raise NotAdditiveError
    base, slopes = found
    scale = float(np.abs(slopes).max(initial=0.0)) or 1.0
    if not (np.isfinite(scale) and np.isfinite(base)):
        raise NotAdditiveError
    ratios = sign * slopes / scale
    return Weighted(machine.start, machine.layers, ratios, None, sign * base, scale)


def unfolded(machine: Machine, sign: float) -> Weighted:
    """The machine whose states hold the sums so far, with scores at its end, merged backwards.

    Raises:
        LossFileError: the value of a sequence is not defined.
        SizeLimitError: there are too many states.
    """
    n, labels = len(machine.layers), machine.steps.labels
    classes, sums = np.array([machine.start], np.int64), machine.steps.begin(n)[:, None]
    steps: list[Ints] = []
    arcs = 0
    for layer in machine.layers:
        arcs += len(classes) * labels
        guard_arcs("cost oracle", arcs)
        goals = layer.next[classes]
        after = sums[:, :, None] + layer.gains[:, classes]
        ranks = [np.unique(total.ravel(), return_inverse=True)[1] for total in after]
        first, number = distinct_rows([goals.ravel(), *ranks])
        steps.append(number.reshape(goals.shape))
        classes, sums = goals.ravel()[first], after.reshape(len(sums), goals.size)[:, first]
    held = machine.ends[classes].T
    values = machine.steps.values(n, machine.constants, held, sums, classes.shape)
    ends, merged = np.unique(sign * values + 0.0, return_inverse=True)
    layers: list[ClassLayer] = []
    for targets in reversed(steps):
        first, before = equal_rows(merged[targets])
        layers.append(without_gains(merged[targets[first]]))
        merged = before
    return Weighted(0, layers[::-1], np.zeros(0), ends)


def without_gains(following: Ints) -> ClassLayer:
    """A layer whose steps add nothing, from the class after each, (classes, labels)."""
    return ClassLayer(following, np.zeros((0, *following.shape)))


class SummedTables:
    """Tables of several references; a state is (position, class, bits of the costs so far, twice).

    Args:
        machines: a machine of each reference.
        labels: the number of labels.

    Raises:
        NotAdditiveError: amounts are too great.
        SizeLimitError: the tables would take too much room.

    Attributes:
        roundings: bounds on what rounding does to costs, (references,).
    """

    def __init__(self, machines: Sequence[Weighted], labels: int) -> None:
        count = len(machines)
        self._lengths = np.array([len(one.layers) for one in machines], np.int64)
        self._begins = np.append(0, np.cumsum(self._lengths + 1)).astype(np.int64)
        self._start = np.array([one.start for one in machines], np.int64)
        self._base, self._scale = np.zeros(count), np.zeros(count)
        self._best, self.roundings, self._slack = _zeros(count), np.zeros(count), np.zeros(count)
        pool = _Pool(machines)
        swept = [part for k, one in enumerate(machines) for part in self._swept(pool, k, one)]
        self._rows = np.array([one.row for one in swept], np.int64)
        self._classes = np.array([len(pool.best[one.number].high) for one in swept], np.int64)
        none = np.zeros((0, labels))
        self._next = np.concatenate([none, *pool.next]).astype(np.int32)
        self._costs = Twofold(
            np.concatenate([none, *(one.high for one in pool.costs)]),
            np.concatenate([none, *(one.low for one in pool.costs)]),
        )

    def _swept(self, pool: _Pool, k: int, machine: Weighted) -> list[_Before]:
        """What is known before each position, and after the last, of one reference."""
        n, scale = len(machine.layers), float(np.ldexp(machine.scale, pool.exponent))
        if not np.isfinite(scale):
            raise NotAdditiveError
        found = [pool.end(machine)]
        for layer in reversed(machine.layers):
            found.append(pool.before(layer, machine.ratios, found[-1]))
        added = sum((one.added for one in found), Fraction(0))
        added += _fraction(pool.best[found[-1].number][machine.start])
        self._base[k], self._scale[k] = machine.base, scale
        self._best.high[k] = high = float(added)
        self._best.low[k] = float(added - Fraction(high))
        if machine.ends is not None:
            self.roundings[k] = greatest_tie(machine.ends, np.zeros(1, np.int64))[0]
        else:
            lost = 32 * (n + len(machine.ratios)) * UNIT**2 * sum(one.size for one in found)
            error = LEAST + sum(one.error for one in found)
            self.roundings[k] = self._slack[k] = scale * 2 * (error + lost)
        guard_bytes(8 * (pool.cells + 2 * int(self._begins[k + 1])))
        return found[::-1]

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        arrays = (self._next, self._costs.high, self._costs.low, self._rows, self._classes)
        return sum(array.nbytes for array in arrays)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 4)."""
        found = np.zeros((len(sentences), 4), np.int64)
        found[:, 1] = self._start[sentences]
        return found

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 4)."""
        rows, lost = self._points(sentences, states, 1)
        lost = lost + self._costs[rows, labels]
        bits = [(part + 0.0).view(np.int64) for part in (lost.high, lost.low)]
        return np.stack([states[:, 0] + 1, self._next[rows, labels], *bits], axis=1)

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        rows, _ = self._points(sentences, states, 1)
        costs: Floats = self._costs.high[rows] * self._scale[sentences][:, None]
        costs[costs <= self._slack[sentences][:, None]] = 0.0
        return costs

    @np.errstate(over="ignore", invalid="ignore")
    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        totals = self._best[sentences] - self._points(sentences, states, 0)[1]
        base, scale, zero = self._base[sentences], self._scale[sentences], np.zeros(len(states))
        product = twofold_product(scale, totals.high) + Twofold(scale * totals.low, zero)
        found = (Twofold(base, zero) + product).high
        return np.where(np.isfinite(found), found, base + scale * totals.high)

    def _points(self, sentences: Ints, states: Ints, ahead: int) -> tuple[Ints, Twofold]:
        """Rows of the tables and costs so far of states; there must be positions ahead."""
        refuse_strange(states.shape != (len(sentences), 4) or states.dtype.kind != "i", states)
        position, classes = states[:, 0], states[:, 1]
        room = self._lengths[sentences] - position
        refuse_strange(((position < 0) | (room < 0)).any(), states)
        refuse(int((room < ahead).any()), states)
        layers = self._begins[sentences] + position
        refuse_strange(((classes < 0) | (classes >= self._classes[layers])).any(), states)
        bits = np.ascontiguousarray(states[:, 2:].T).view(np.float64)
        return self._rows[layers] + classes, Twofold(bits[0], bits[1])


class _Before(NamedTuple):
    """What is known before a position.

    Attributes:
        number: the number of the best sums of all classes, less the greatest of them.
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

    def __init__(self, machines: Sequence[Weighted]) -> None:
        layers = {id(layer): layer for one in machines for layer in one.layers}
        great = max((np.abs(one.gains).max(initial=0.0) for one in layers.values()), default=0.0)
        ends = [np.abs(one.ends).max(initial=0.0) for one in machines if one.ends is not None]
        self.exponent = int(np.frexp(great)[1])
        if ends:
            self.exponent = max(0, int(np.frexp(max(ends))[1]) - _GREAT_EXPONENT)
        self._has_ends = bool(ends)
        self.best: list[Twofold] = []
        self.next: list[Ints] = []
        self.costs: list[Twofold] = []
        self.cells = self._rows = 0
        self._numbers: dict[bytes, int] = {}
        self._amounts: dict[tuple[int, bytes], tuple[Twofold, float, float]] = {}
        self._found: dict[tuple[int, bytes, int], _Before] = {}

    def end(self, machine: Weighted) -> _Before:
        """What is known after the last position."""
        if machine.ends is None:  # one class: the value reads no state
            return _Before(self._number(_zeros(1)), 0, Fraction(0), 0.0, 0.0)
        ends = np.ldexp(machine.ends, -self.exponent)
        return _Before(self._number(Twofold(ends, np.zeros(len(ends)))), 0, Fraction(0), 0.0, 0.0)

    def before(self, layer: ClassLayer, ratios: Floats, ahead: _Before) -> _Before:
        """What is known before a position in which each sum counts by its ratio."""
        key = (id(layer), ratios.tobytes(), ahead.number)
        if key not in self._found:
            amounts, size, error = self._amounts_of(layer, ratios)
            sums = amounts + self.best[ahead.number][layer.next]
            best = sums.max(axis=1)
            costs, top = best[:, None] - sums, best.max(axis=0)
            if self._has_ends:  # scores themselves, of which some differ by rounding alone
                tied = costs_of(np.ldexp(sums.high, self.exponent)) == 0.0
                costs.high[tied], costs.low[tied] = 0.0, 0.0
                top = Twofold(np.zeros(()), np.zeros(()))
            self.next.append(layer.next)
            self.costs.append(costs)
            row, self._rows = self._rows, self._rows + len(layer.next)
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


def _is_exact(numbers: Floats) -> Bools:
    """Whether numbers have so few digits that they can hardly be the outcome of a rounding."""
    digits = np.ldexp(np.frexp(numbers)[0], _EXACT_BITS)
    found: Bools = digits == np.floor(digits)
    return found


def _fraction(number: Twofold) -> Fraction:
    return Fraction(float(number.high)) + Fraction(float(number.low))


def _zeros(*shape: int) -> Twofold:
    return Twofold(np.zeros(shape), np.zeros(shape))
