"""Sequences walked over position by position (Jansche 2007, Algorithm 3).

Many pairs are walked over together, the registers being arrays; of few, each step is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.semantics import domains, evaluator
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import BoundLoss, Lanes, Scope, evaluate


def register_values(
    bound: BoundLoss, z: Ints, y: Ints, lengths: Ints
) -> Iterator[dict[str, Floats]]:
    """Register values (pairs,) by name, before the first position and after each.

    ``z`` and ``y`` are label indices, (pairs, longest), ``lengths`` those of the pairs, descending;
    where they differ, no step may look at it. A pair that has ended keeps its registers.
    """
    distinct, place = np.unique(lengths, return_inverse=True)
    distinct = distinct if len(z) else np.array([z.shape[1]])
    at = [bound.at(n) for n in distinct.tolist()]
    names = [r.name for r in bound.spec.registers]
    state = {name: np.array([one.checked_starts[name] for one in at])[place] for name in names}
    sides = {name: np.array([one.bounds[name] for one in at])[place].T for name in names}
    yield state
    for i in range(z.shape[1]):
        m = len(z) - int(np.searchsorted(lengths[::-1], i, side="right"))
        tapes = {"z": bound.label_values[z[:m, i]], "y": bound.label_values[y[:m, i]]}
        old = {name: values[:m] for name, values in state.items()}
        n = float(distinct[0]) if len(distinct) == 1 else lengths[:m].astype(np.float64)
        current: dict[str, Lanes] = {**old, **tapes, "i": float(i + 1), "n": n}
        scope = Scope(bound, current, old, at[-1].memories)
        for r in bound.spec.registers:
            after = np.broadcast_to(evaluate(r.update, scope), (m,))
            domains.keep_whole(r, old[r.name], after, scope)
            bounds = domains.RegisterBounds(*sides[r.name][:, :m])
            domains.keep_bounds(bound.spec, r, after, bounds, scope)
            current[r.name] = after
        state = {name: np.append(current[name], values[m:]) for name, values in state.items()}
        yield state


_State = tuple[float, ...]
_Gains = tuple[tuple[int, float], ...]


class _PairSteps:
    """The steps of a loss on floats, each computed once, for one length or for all.

    A state is all registers but counts that no step looks at; a step tells what these gain.
    """

    def __init__(self, at: LossAtLength) -> None:
        spec = at.spec
        self._bound = at.bound
        self._memories = at.memories
        counts = [r.name for r in spec.registers if r.sugar == "count" and ast.increment(r)]
        self.counts = sorted(spec.unread & set(counts))
        self.states = [r.name for r in spec.registers if r.name not in self.counts]
        self._reads_clock = spec.reads_clock
        self._cache: dict[Hashable, tuple[_State, _Gains]] = {}

    def step(self, i: int, n: int, labels: tuple[int, int], state: _State) -> tuple[_State, _Gains]:
        """The state after position i of n, and what counts gain there, by their places."""
        key = (labels, state, i) if self._reads_clock else (labels, state)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        old = dict.fromkeys(self.counts, 0.0) | dict(zip(self.states, state, strict=True))
        z, y = (float(self._bound.label_values[label]) for label in labels)
        current = {**old, "n": float(n), "i": float(i), "z": z, "y": y}
        scope = Scope(self._bound, current, old, self._memories)
        for r in self._bound.spec.registers:
            current[r.name] = float(evaluator.value_of(r.update, scope, None))
        if len(self._cache) >= limits.KEPT_PAIR_STEPS:
            self._cache.clear()
        gains = tuple((k, current[name]) for k, name in enumerate(self.counts) if current[name])
        cached = self._cache[key] = tuple(current[name] for name in self.states), gains
        return cached

    def path(self, z: Ints, y: Ints) -> Iterator[tuple[_State, list[float]]]:
        """States and counts of a pair, before the first position and after each.

        Where something may be wrong, an ArithmeticError or LossFileError: ``register_values``
        tells what.
        """
        n = len(z)
        at = self._bound.at(n)
        starts = at.checked_starts
        state = tuple(starts[x] for x in self.states)
        totals = [starts[x] for x in self.counts]
        declared = [at.bounds[x] for x in self.states]
        most = domains.MOST_WHOLE - 1
        bounds = [(max(low, -most), min(high, most)) for low, high in declared]
        yield state, totals
        for i, labels in enumerate(zip(z.tolist(), y.tolist(), strict=True), start=1):
            state, gains = self.step(i, n, labels, state)
            for k, gain in gains:
                totals[k] += gain
                if not -domains.MOST_WHOLE < totals[k] < domains.MOST_WHOLE:
                    raise ArithmeticError
            for value, (low, high) in zip(state, bounds, strict=True):
                if not low <= value <= high or not value.is_integer():
                    raise ArithmeticError
            yield state, totals


def _steps_at(bound: BoundLoss, n: int) -> _PairSteps:
    """The steps of a loss for sequences of length n, which all lengths share where none reads n."""
    at = bound.at(n)
    owner = at if bound.spec.steps_read_length else bound
    return owner.derived.get("steps", lambda: _PairSteps(at))


def _registers_of_pair(bound: BoundLoss, z: Ints, y: Ints) -> dict[str, float]:
    """The registers of one pair of label indices after the last position, by name."""
    steps = _steps_at(bound, len(z))
    try:
        with np.errstate(all="ignore"):
            state, totals = deque(steps.path(z, y), maxlen=1).pop()
    except (ArithmeticError, LossFileError):
        last = deque(register_values(bound, z[None], y[None], np.array([len(z)])), maxlen=1).pop()
        return {name: float(values[0]) for name, values in last.items()}
    return dict(zip((*steps.states, *steps.counts), (*state, *totals), strict=True))


def trajectories(bound: BoundLoss, z: Ints, names: set[str]) -> dict[str, Floats]:
    """The values of registers that look at z (batch, n) and i alone, (batch, n + 1) by name."""
    if not names:
        return {}
    n = z.shape[1]
    bound = _alone(bound, frozenset(names))
    steps = _steps_at(bound, n)
    if len(z) < limits.MANY_PAIRS:
        with suppress(ArithmeticError, LossFileError), np.errstate(all="ignore"):
            rows = [[(*state, *totals) for state, totals in steps.path(row, row)] for row in z]
            tracks = np.array(rows, np.float64).reshape(len(z), n + 1, len(names))
            return {x: tracks[..., k] for k, x in enumerate((*steps.states, *steps.counts))}
    states = list(register_values(bound, z, z, np.full(len(z), n)))
    return {name: np.stack([state[name] for state in states], axis=1) for name in states[0]}


def _alone(bound: BoundLoss, names: frozenset[str]) -> BoundLoss:
    """The loss with these registers alone."""
    registers = tuple(r for r in bound.spec.registers if r.name in names)
    spec = replace(bound.spec, registers=registers)
    return bound.derived.get(names, lambda: replace(bound, spec=spec))


def registers_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> dict[str, Floats]:
    """The registers of each pair of label indices after its last position, (pairs,) by name."""
    names = [r.name for r in bound.spec.registers]
    if len(pairs) < limits.MANY_PAIRS:
        states = [_registers_of_pair(bound, *pair) for pair in pairs]
        return {name: np.array([row[name] for row in states], np.float64) for name in names}
    registers = {name: np.empty(len(pairs)) for name in names}
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    order = np.argsort(-lengths, kind="stable")
    apart = np.diff(lengths[order]) != 0
    ends = np.flatnonzero(apart & bound.spec.steps_read_length) + 1
    size = max(1, limits.EVALUATED_CELLS // int(lengths.max(initial=1) + 1))
    for run in np.split(order, ends):
        for rows in np.split(run, range(size, len(run), size)):
            z, y = np.zeros((2, len(rows), int(lengths[rows].max(initial=0))), np.int64)
            for k, row in enumerate(rows):
                z[k, : lengths[row]], y[k, : lengths[row]] = pairs[row]
            state = deque(register_values(bound, z, y, lengths[rows]), maxlen=1).pop()
            for name in names:
                registers[name][rows] = state[name]
    return registers


def values_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> Floats:
    """The value of each pair of label indices, (pairs,)."""
    if len(pairs) < limits.MANY_PAIRS:
        states = ((_registers_of_pair(bound, z, y), len(z)) for z, y in pairs)
        return np.array([bound.at(n).value(state, ()) for state, n in states], np.float64)
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    return values_of_registers(bound, registers_of_pairs(bound, pairs), lengths)


def values_of_registers(bound: BoundLoss, final: Mapping[str, Floats], lengths: Ints) -> Floats:
    """The value of each pair, (pairs,), given its registers at its end by name, and its length."""
    values = np.empty(len(lengths))
    for n in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == n)
        state = {name: column[rows] for name, column in final.items()}
        values[rows] = bound.at(n).value(state, (len(rows),))
    return values
