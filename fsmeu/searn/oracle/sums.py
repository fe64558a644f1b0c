"""Tables of losses whose value is a sum over positions.

Where the value is linear in all sums that it reads, what is added so far does not change what is
best: best[class] = max over labels of amount(label) + best'[class after it]. Great amounts may
cancel in the cost of a label, so that sums are whole multiples of a power of 2, without rounding.
The best value after a prefix is that before it minus the costs of its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.searn.oracle.product import Layer, Machine, Small, guard_bytes
from fsmeu.searn.oracle.tables import NotServedError, Tables
from fsmeu.trellis.roundings import Twofold, relative_error, twofold_product

_EXACT_BITS = 42
_GREAT = 1e290  # as in ``twofold_product``


class SummedTables(Tables):
    """Sums; a state ends in the bits of the costs so far, two doubles.

    Raises:
        NotServedError: a value is not linear in the sums, reads something else, or is too great.
    """

    def __init__(self, machines: Sequence[Machine], labels: int, sign: float) -> None:
        super().__init__(machines)
        pool, self._rows = _Pool(), np.zeros(self._begins[-1], np.int64)
        self._base, self._scale, self.roundings = np.zeros((3, len(machines)))
        self._best = Twofold(*np.zeros((2, len(machines))))
        for k, machine in enumerate(machines):
            self._base[k], self._scale[k], weights = pool.weights(machine, sign)
            number, total, error = 0, 0, 0.0
            for at in range(self._begins[k + 1] - 2, self._begins[k] - 1, -1):
                layer = machine.layers[at - self._begins[k]]
                number, self._rows[at], added, more = pool.before(layer, weights, number)
                self._classes[at], total, error = len(layer.next), total + added, error + more
            best = _twofold([total + pool.best[number][machine.start]], weights.unit)
            self._best.high[k], self._best.low[k] = best.high[0], best.low[0]
            self.roundings[k] = 2 * error * self._scale[k]
        self._classes[self._begins[1:] - 1] = 1
        nothing = np.zeros((0, labels))
        self._next = np.concatenate([nothing, *pool.next]).astype(np.int32)
        parts = ([getattr(one, part) for one in pool.costs] for part in ("high", "low"))
        self._costs = Twofold(*(np.concatenate([nothing, *part]) for part in parts))
        self.nbytes = sum(
            a.nbytes for a in (self._next, self._costs.high, self._costs.low, self._rows)
        )
        every = np.arange(len(machines))
        values = self.scores(every, self.start(every))
        great = (self._scale, self._costs.high, self._scale.max(initial=0) * self._costs.high)
        if max(np.abs(part).max(initial=0.0) for part in (*great, self._best.high)) > _GREAT:
            raise NotServedError
        for machine, value in zip(machines, values, strict=True):
            machine.steps.check(len(machine.layers), sign * np.array([value]))

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 4)."""
        rows = self._rows[self._layers(sentences, states, 1)] + states[:, 1]
        lost = _numbers(states) + self._costs[rows, labels]
        bits = [(part + 0.0).view(np.int64) for part in (lost.high, lost.low)]
        return np.stack([states[:, 0] + 1, self._next[rows, labels], *bits], axis=1)

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        rows = self._rows[self._layers(sentences, states, 1)] + states[:, 1]
        costs: Floats = self._costs.high[rows] * self._scale[sentences][:, None]
        costs[costs <= self.roundings[sentences][:, None]] = 0.0
        return costs

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        self._layers(sentences, states, 0)
        totals, scale = self._best[sentences] - _numbers(states), self._scale[sentences]
        base, zero = self._base[sentences], np.zeros(len(states))
        product = twofold_product(scale, totals.high) + Twofold(scale * totals.low, zero)
        return (Twofold(base, zero) + product).high


def _numbers(states: Ints) -> Twofold:
    """The costs so far of states, (batch,)."""
    return Twofold(*np.ascontiguousarray(states[:, 2:].T).view(np.float64))


class _Weights(NamedTuple):
    """What steps add, by the number of it."""

    key: bytes
    amounts: NDArray[Any]  # Python's whole numbers, multiples of a unit, (numbers,)
    errors: Floats  # how much the amounts may be wrong because they are rounded, (numbers,)
    unit: int  # how many units make 1, a power of 2


class _Pool:
    """Tables of positions; those of equal steps with equal best sums behind them are one."""

    def __init__(self) -> None:
        self.best: list[NDArray[Any]] = [np.zeros(1, object)]  # less the greatest, (classes,)
        self.next: list[Small] = []  # (classes, labels) each, as costs
        self.costs: list[Twofold] = []
        self._rows = 0
        self._numbers: dict[tuple[int, ...], int] = {(0,): 0}
        self._weights: dict[bytes, _Weights] = {}
        self._found: dict[tuple[int, bytes, int], tuple[int, int, int, float]] = {}

    def weights(self, machine: Machine, sign: float) -> tuple[float, float, _Weights]:
        """The score without any amount, what amounts are multiplied by, and the amounts."""
        n = len(machine.layers)
        found = None if machine.ends.shape[1] else machine.steps.slopes(n, machine.constants)
        if found is None or not np.isfinite([found[0], *found[1]]).all():
            raise NotServedError
        scale = float(np.abs(found[1]).max(initial=0.0)) or 1.0
        ratios = sign * found[1] / scale
        key = ratios.tobytes()
        if key not in self._weights:
            gains = machine.steps.amounts()  # (sums, numbers)
            terms = np.abs(ratios[:, None] * gains)
            terms[_is_exact(gains) & _is_exact(ratios)[:, None]] = 0.0
            factors = [Fraction(one) for one in ratios.tolist()]
            exact = [
                sum((a * Fraction(b) for a, b in zip(factors, column, strict=True)), Fraction(0))
                for column in gains.T.tolist()
            ]
            unit = max((one.denominator for one in exact), default=1)
            whole = _objects([one.numerator * (unit // one.denominator) for one in exact])
            errors = relative_error(4) * terms.sum(axis=0)
            self._weights[key] = _Weights(key, whole, errors, unit)
        return sign * found[0], scale, self._weights[key]

    def before(self, layer: Layer, weights: _Weights, ahead: int) -> tuple[int, int, int, float]:
        """The number of best sums before a position, its first row, greatest sum, and its error.

        ``ahead`` is the number of the best sums after the position.
        """
        key = (id(layer), weights.key, ahead)
        if key not in self._found:
            sums = weights.amounts[layer.kinds] + self.best[ahead][layer.next]
            best = sums.max(axis=1)
            top = int(best.max())
            self.next.append(layer.next)
            self.costs.append(_twofold(best[:, None] - sums, weights.unit))
            normal = tuple((best - top).tolist())
            number = self._numbers.setdefault(normal, len(self.best))
            if number == len(self.best):
                self.best.append(_objects(normal))
            error = float(weights.errors[layer.kinds].max())
            self._found[key] = number, self._rows, top, error
            self._rows += len(layer.next)
            guard_bytes(32 * self._rows * layer.next.shape[1])
        return self._found[key]


def _objects(numbers: Sequence[int]) -> NDArray[Any]:
    """Python's whole numbers as an array, however great they are."""
    return np.fromiter(numbers, object, len(numbers))


def _twofold(numbers: Any, unit: int) -> Twofold:
    """Multiples of a unit as two doubles each, of the same shape, unless they are too great."""
    array = np.asarray(numbers, object)
    flat = array.ravel().tolist()
    try:
        high = [one / unit for one in flat]
    except OverflowError:
        raise NotServedError from None
    low = [float(Fraction(a, unit) - Fraction(b)) for a, b in zip(flat, high, strict=True)]
    parts = (np.array(part, np.float64).reshape(array.shape) for part in (high, low))
    return Twofold(*parts)


def _is_exact(numbers: Floats) -> Bools:
    """Whether numbers have so few digits that they can hardly be the outcome of a rounding."""
    digits = np.ldexp(np.frexp(numbers)[0], _EXACT_BITS)
    found: Bools = digits == np.floor(digits)
    return found
