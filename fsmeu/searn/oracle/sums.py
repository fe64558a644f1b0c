"""Tables of losses whose value is linear in real amounts: one number for each class."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.searn.oracle.product import CostLayer, Machine, Small, guard_bytes, is_exact
from fsmeu.searn.oracle.tables import NotServedError, Tables, nbytes_of
from fsmeu.twofold import Twofold, twofold_product

_GREAT = 1e290  # as in ``twofold_product``
_ROUNDED = 5e-16  # of an amount of a file and its product with a slope


class SummedTables(Tables):
    """Sums; a state ends in the bits of the costs so far, two doubles.

    What is added so far does not change what is best: best[class] = max over labels of
    amount(label) + best'[class after it]. Great amounts may cancel in the cost of a label, so that
    sums are whole multiples of a power of 2, without rounding. The best value after a prefix is
    that before it minus the costs of its labels.
    """

    def __init__(
        self, machines: Sequence[Machine], amounts: Floats, labels: int, sign: float
    ) -> None:
        super().__init__(machines)
        pool = _Pool(amounts)
        self._rows = np.zeros(self._begins[-1], np.int64)
        self._base, self._scale, self.roundings = np.zeros((3, len(machines)))
        self._best = Twofold(*np.zeros((2, len(machines))))
        for k, machine in enumerate(machines):
            self._base[k], self._scale[k], weights = pool.weights(machine, sign)
            number = 0
            total = 0
            error = 0.0
            for at in range(self._begins[k + 1] - 2, self._begins[k] - 1, -1):
                layer = machine.layers[at - self._begins[k]]
                number, self._rows[at], added, more = pool.before(layer, weights, number)
                self._classes[at] = len(layer.next)
                total = total + added
                error = error + more
            best = _twofold([total + pool.best[number][machine.start]], weights.unit)
            self._best.high[k], self._best.low[k] = *best.high, *best.low
            self.roundings[k] = 2 * error * self._scale[k]
        self._classes[self._begins[1:] - 1] = 1
        lists = (pool.next, [x.high for x in pool.costs], [x.low for x in pool.costs])
        targets, *costs = (np.concatenate([np.zeros((0, labels)), *part]) for part in lists)
        self._next = targets.astype(np.int32)
        self._costs = Twofold(*costs)
        self.nbytes = nbytes_of(self._next, self._rows, *costs)
        numbers = np.arange(len(machines))
        values = self.scores(numbers, self.start(numbers))
        great = (self._scale, self._costs.high, self._scale.max(initial=0) * self._costs.high)
        if max(np.abs(part).max(initial=0.0) for part in (*great, self._best.high)) > _GREAT:
            raise NotServedError
        for machine, value in zip(machines, values, strict=True):
            machine.steps.checked(len(machine.layers), sign * np.array([value]))

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
        totals = self._best[sentences] - _numbers(states)
        scale = self._scale[sentences]
        base = self._base[sentences]
        zero = np.zeros(len(states))
        product = twofold_product(scale, totals.high) + Twofold(scale * totals.low, zero)
        return (Twofold(base, zero) + product).high


def _numbers(states: Ints) -> Twofold:
    """The costs so far of states, (batch,)."""
    return Twofold(*np.ascontiguousarray(states[:, 2:].T).view(np.float64))


class _Weights(NamedTuple):
    """The amounts that steps add, by their numbers."""

    key: bytes
    amounts: NDArray[Any]  # Python's whole numbers, multiples of a unit, (numbers,)
    errors: Floats  # how much the amounts may be wrong because they are rounded, (numbers,)
    unit: int  # how many units make 1, a power of 2


class _Pool:
    """Tables of positions; those of equal steps with equal best sums ahead are one.

    ``amounts`` are what steps add to each sum, by number, (sums, numbers).
    """

    def __init__(self, amounts: Floats) -> None:
        self._amounts = amounts
        self.best: list[NDArray[Any]] = [np.zeros(1, object)]  # less the greatest, (classes,)
        self.next: list[Small] = []  # (classes, labels) each, as costs
        self.costs: list[Twofold] = []
        self._rows = 0
        self._numbers: dict[tuple[int, ...], int] = {(0,): 0}
        self._weights: dict[bytes, _Weights] = {}
        self._cache: dict[tuple[int, bytes, int], tuple[int, int, int, float]] = {}

    def weights(self, machine: Machine, sign: float) -> tuple[float, float, _Weights]:
        """The intercept, the scale and the integer amounts of the score."""
        n = len(machine.layers)
        affine = None if machine.ends.shape[1] else machine.steps.slopes(n, machine.constants)
        if affine is None or not np.isfinite([affine[0], *affine[1]]).all():
            raise NotServedError
        scale = float(np.abs(affine[1]).max(initial=0.0)) or 1.0
        ratios = sign * affine[1] / scale
        key = ratios.tobytes()
        if key not in self._weights:
            gains = self._amounts
            terms = np.abs(ratios[:, None] * gains)
            terms[is_exact(gains) & is_exact(ratios)[:, None]] = 0.0
            factors = [Fraction(x) for x in ratios.tolist()]
            exact = [
                sum((a * Fraction(b) for a, b in zip(factors, column, strict=True)), Fraction(0))
                for column in gains.T.tolist()
            ]
            unit = max((x.denominator for x in exact), default=1)
            whole = [x.numerator * (unit // x.denominator) for x in exact]
            errors = _ROUNDED * terms.sum(axis=0)
            self._weights[key] = _Weights(key, np.array(whole, object), errors, unit)
        return sign * affine[0], scale, self._weights[key]

    def before(
        self, layer: CostLayer, weights: _Weights, ahead: int
    ) -> tuple[int, int, int, float]:
        """The table of best sums before a position: its id, row, maximum and error."""
        key = (id(layer), weights.key, ahead)
        if key not in self._cache:
            sums = weights.amounts[layer.kinds] + self.best[ahead][layer.next]
            best = sums.max(axis=1)
            top = int(best.max())
            self.next.append(layer.next)
            self.costs.append(_twofold(best[:, None] - sums, weights.unit))
            normal = tuple((best - top).tolist())
            number = self._numbers.setdefault(normal, len(self.best))
            if number == len(self.best):
                self.best.append(np.array(normal, object))
            error = float(weights.errors[layer.kinds].max())
            self._cache[key] = number, self._rows, top, error
            self._rows += len(layer.next)
            guard_bytes(32 * self._rows * layer.next.shape[1])
        return self._cache[key]


def _twofold(numbers: Any, unit: int) -> Twofold:
    """Multiples of a unit as two doubles each, of the same shape, unless they are too great."""
    array = np.asarray(numbers, object)
    try:
        high = (array / unit).astype(np.float64)
    except OverflowError:
        raise NotServedError from None
    pairs = zip(array.flat, high.flat, strict=True)
    low = [float(Fraction(a, unit) - Fraction(b)) for a, b in pairs]
    return Twofold(high, np.array(low).reshape(array.shape))
