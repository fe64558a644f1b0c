"""The value of one pair of sequences, or of many at once (Jansche 2007, Algorithm 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, LossFileError, message
from fsmeu.fst.alphabet import listed
from fsmeu.losses.language.dependencies import (
    increment,
    reads_clock,
    steps_read_length,
    unread_registers,
)
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.domains import (
    MOST_WHOLE,
    check_range,
    memories_of,
)
from fsmeu.losses.semantics.evaluator import (
    BoundLoss,
    Lanes,
    Memory,
    Scope,
    function_of,
)
from fsmeu.losses.semantics.walk import at_end, registers_at, walk

_MANY_PAIRS = 100
"""Pairs from which a walk over arrays is faster than one by one."""
_KEPT_STEPS = 1 << 16
"""Steps between states that are kept for the next pairs: 30 MB."""
_EVALUATED_CELLS = 1 << 20
"""Labels of pairs that are walked over together: 8 MB an array."""


_State = tuple[float, ...]
_Gains = tuple[tuple[int, float], ...]


def evaluate(loss: Loss, z: Iterable[object], y: Iterable[object]) -> float:
    """The value of one pair of sequences (Jansche 2007, Algorithm 3).

    Args:
        loss: a loss or utility.
        z: the hypothesis, a sequence of labels.
        y: the reference, of the same length.

    Labels that the loss leaves open are read from both.
    """
    loss, zs, ys = encoded_pair(loss, z, y, "evaluate")
    return float(loss.pair_values(zs[None, :], ys[None, :])[0])


def encoded_pair(
    loss: Loss, z: Iterable[object], y: Iterable[object], where: str
) -> tuple[Loss, Ints, Ints]:
    """The loss over the labels of a pair of sequences, and their label indices, each of shape (n,).

    Raises:
        InputError: a label is unknown, or the lengths differ.
    """
    check_loss(loss, where)
    z, y = listed(z, "hypothesis z"), listed(y, "reference y")
    loss = loss.over((z, y))
    zs, ys = loss.alphabet.encode(z, "hypothesis z"), loss.alphabet.encode(y, "reference y")
    if len(zs) != len(ys):
        must = "hypothesis z and reference y must have the same length"
        raise InputError(message(where, must, f"lengths {len(zs)} and {len(ys)}"))
    return loss, zs, ys


def trace_pairs(bound: BoundLoss, z: Ints, y: Ints) -> list[dict[str, Floats]]:
    """Register values of every pair before and after each position: n + 1 dictionaries.

    Args:
        bound: a loss with labels and parameters.
        z: hypotheses as label indices, shape (pairs, n).
        y: references, of the same shape.
    """
    return list(walk(bound, z, y, np.full(len(z), z.shape[1])))


class _Steps:
    """The steps of a loss on floats, each computed once.

    A state is all registers but counts that no step looks at. A step leads from a state by two
    label indices to the state after it and what the counts gain.
    """

    def __init__(self, bound: BoundLoss, memories: Mapping[str, Memory]) -> None:
        spec = bound.spec
        self._bound, self._memories = bound, memories
        counts = {r.name for r in spec.registers if r.sugar == "count" and increment(r) is not None}
        self.counts = sorted(counts & unread_registers(spec))
        self.states = [r.name for r in spec.registers if r.name not in self.counts]
        self._updates = [(r.name, function_of(r.update)) for r in spec.registers]
        self._reads_clock = reads_clock(spec)
        self._known: dict[Hashable, tuple[_State, _Gains]] = {}

    def step(self, i: int, n: int, labels: tuple[int, int], state: _State) -> tuple[_State, _Gains]:
        """The state after position i of n, and what counts gain there, by their places."""
        key = (labels, state, i) if self._reads_clock else (labels, state)
        known = self._known.get(key)
        if known is not None:
            return known
        old = dict.fromkeys(self.counts, 0.0) | dict(zip(self.states, state, strict=True))
        z, y = self._bound.label_values[list(labels)].tolist()
        now = {**old, "n": float(n), "i": float(i), "z": z, "y": y}
        scope = Scope(self._bound, now, old, self._memories)
        for name, update in self._updates:
            now[name] = float(update(scope, None))
        if len(self._known) >= _KEPT_STEPS:
            self._known.clear()
        gains = tuple((k, now[name]) for k, name in enumerate(self.counts) if now[name])
        known = self._known[key] = tuple(now[name] for name in self.states), gains
        return known


@lru_cache(maxsize=64)
def _steps(bound: BoundLoss, n: int) -> _Steps:
    """The steps for sequences of length n, or of any length for 0."""
    return _Steps(bound, memories_of(bound, n))


def _registers_of_pair(bound: BoundLoss, z: Ints, y: Ints) -> dict[str, float]:
    """The registers of one pair of label indices after the last position, by name."""
    n = len(z)
    held, steps = registers_at(bound, n), _steps(bound, n if steps_read_length(bound.spec) else 0)
    state = tuple(held.starts[name] for name in steps.states)
    totals = [held.starts[name] for name in steps.counts]
    bounds = [held.bounds[name] for name in steps.states]
    bounds = [(max(low, 1 - MOST_WHOLE), min(high, MOST_WHOLE - 1)) for low, high in bounds]
    try:
        with np.errstate(all="ignore"):
            for i, labels in enumerate(zip(z.tolist(), y.tolist(), strict=True), start=1):
                state, gains = steps.step(i, n, labels, state)
                for k, gain in gains:
                    totals[k] += gain
                    if not -MOST_WHOLE < totals[k] < MOST_WHOLE:
                        raise ArithmeticError
                for value, (low, high) in zip(state, bounds, strict=True):
                    if not low <= value <= high or not value.is_integer():
                        raise ArithmeticError
    except (ArithmeticError, LossFileError):  # the walk over arrays tells what is wrong, if it is
        last = deque(walk(bound, z[None], y[None], np.array([n])), maxlen=1).pop()
        return {name: float(values[0]) for name, values in last.items()}
    return dict(zip((*steps.states, *steps.counts), (*state, *totals), strict=True))


def registers_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> dict[str, Floats]:
    """The registers of each pair of label indices after its last position, (pairs,) by name."""
    names = [r.name for r in bound.spec.registers]
    if len(pairs) < _MANY_PAIRS:
        ended = [_registers_of_pair(bound, *pair) for pair in pairs]
        return {name: np.array([row[name] for row in ended], np.float64) for name in names}
    registers = {name: np.empty(len(pairs)) for name in names}
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    order = np.argsort(-lengths, kind="stable")
    apart = np.diff(lengths[order]) != 0
    ends = np.flatnonzero(apart & steps_read_length(bound.spec)) + 1
    size = max(1, _EVALUATED_CELLS // int(lengths.max(initial=1) + 1))
    for run in np.split(order, ends):
        for rows in np.split(run, range(size, len(run), size)):
            z, y = np.zeros((2, len(rows), int(lengths[rows].max(initial=0))), np.int64)
            for k, row in enumerate(rows):
                z[k, : lengths[row]], y[k, : lengths[row]] = pairs[row]
            state = deque(walk(bound, z, y, lengths[rows]), maxlen=1).pop()
            for name in names:
                registers[name][rows] = state[name]
    return registers


def values_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> Floats:
    """The value of each pair of label indices, (pairs,)."""
    if len(pairs) < _MANY_PAIRS:
        ended = ((_registers_of_pair(bound, z, y), len(z)) for z, y in pairs)
        return np.array([value_of_state(bound, state, (), n) for state, n in ended], np.float64)
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    return values_of_registers(bound, registers_of_pairs(bound, pairs), lengths)


def values_of_registers(bound: BoundLoss, ended: Mapping[str, Floats], lengths: Ints) -> Floats:
    """The value of each pair, (pairs,).

    Args:
        bound: a loss with labels and parameters.
        ended: the registers of each pair after its last position, (pairs,) by name.
        lengths: the length of each pair.
    """
    values = np.empty(len(lengths))
    for n in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == n)
        state = {name: held[rows] for name, held in ended.items()}
        values[rows] = value_of_state(bound, state, (len(rows),), n)
    return values


def value_of_state(
    bound: BoundLoss, state: Mapping[str, Lanes], shape: tuple[int, ...], n: int
) -> Floats:
    """The value of each pair that ends in these registers."""
    values = at_end(bound, bound.spec.value, state, shape, n)
    check_range(bound, n, values)
    return values
