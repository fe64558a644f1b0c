"""The value of one pair of sequences, or of many at once (Jansche 2007, Algorithm 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, sentence
from fsmeu.fst.sequences import listed
from fsmeu.losses.language.dependencies import steps_read_length
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.domains import bounds_of, keep_bounds, keep_whole, memory_of
from fsmeu.losses.semantics.evaluator import Lanes, Scope, constant_at, number
from fsmeu.losses.semantics.evaluator import evaluate as evaluate_expr
from fsmeu.losses.semantics.one_pair import registers_of_pair, value_of_pair

_MANY_PAIRS = 100
"""Pairs from which a walk over arrays is faster than one by one."""
_EVALUATED_CELLS = 1 << 20
"""Labels of pairs that are walked over together: 8 MB an array."""


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
        raise InputError(sentence(where, must, f"lengths {len(zs)} and {len(ys)}"))
    return loss, zs, ys


def trace_pairs(bound: BoundLoss, z: Ints, y: Ints) -> list[dict[str, Floats]]:
    """Register values of every pair before and after each position: n + 1 dictionaries.

    Args:
        bound: a loss with labels and parameters.
        z: hypotheses as label indices, shape (pairs, n).
        y: references, of the same shape.
    """
    return list(_walk(bound, z, y, np.full(len(z), z.shape[1])))


def _walk(bound: BoundLoss, z: Ints, y: Ints, lengths: Ints) -> Iterator[dict[str, Floats]]:
    """Register values (pairs,) before the first position and after each.

    Args:
        bound: a loss with labels and parameters.
        z: hypotheses as label indices, shape (pairs, longest).
        y: references, of the same shape.
        lengths: how many labels each pair has, in descending order; where they differ, no step may
            look at the length. A pair that has ended keeps its registers.
    """
    spec, pairs = bound.spec, len(z)
    distinct, place = np.unique(lengths, return_inverse=True)

    def by_length(number: Callable[[int], Any]) -> Floats:
        """What holds for the length of each pair, (pairs, ...)."""
        return np.array([number(n) for n in distinct.tolist()], np.float64)[place]

    longest = int(distinct[-1]) if pairs else 0
    memories = {r.name: memory_of(bound, r, longest) for r in spec.registers if r.sugar == "memory"}
    limits = {r.name: by_length(partial(bounds_of, bound, r)).T for r in spec.registers}
    state = {r.name: by_length(partial(constant_at, bound, r.start)) for r in spec.registers}
    for r in spec.registers:
        keep_bounds(bound, r, state[r.name], *limits[r.name])
    yield state
    for i in range(longest):
        m = pairs - int(np.searchsorted(lengths[::-1], i, side="right"))
        tapes = {"z": bound.label_values[z[:m, i]], "y": bound.label_values[y[:m, i]]}
        old = {name: held[:m] for name, held in state.items()}
        n = float(longest) if len(distinct) == 1 else lengths[:m].astype(np.float64)
        current: dict[str, Lanes] = {**old, **tapes, "i": float(i + 1), "n": n}
        scope = Scope(bound, current, old, memories)
        for r in spec.registers:
            after = np.broadcast_to(evaluate_expr(r.update, scope), (m,))
            keep_whole(r, old[r.name], after, scope)
            keep_bounds(bound, r, after, *limits[r.name][:, :m])
            current[r.name] = after
        state = {name: np.append(current[name], held[m:]) for name, held in state.items()}
        yield state


def registers_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> dict[str, Floats]:
    """The registers of each pair of label indices after its last position, (pairs,) by name."""
    names = [r.name for r in bound.spec.registers]
    if len(pairs) < _MANY_PAIRS:
        ended = [registers_of_pair(bound, *pair) for pair in pairs]
        if None not in ended:
            return {name: np.array([row[name] for row in ended if row]) for name in names}
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
            state = deque(_walk(bound, z, y, lengths[rows]), maxlen=1).pop()
            for name in names:
                registers[name][rows] = state[name]
    return registers


def values_of_pairs(bound: BoundLoss, pairs: Sequence[tuple[Ints, Ints]]) -> Floats:
    """The value of each pair of label indices, (pairs,)."""
    if len(pairs) < _MANY_PAIRS:
        values = [value_of_pair(bound, *pair) for pair in pairs]
        if None not in values:
            return np.array(values, np.float64)
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
        values[rows] = value_of_state(bound, state, len(rows), n)
    return values


def value_of_state(bound: BoundLoss, state: dict[str, Floats], pairs: int, n: int) -> Floats:
    """The value of each pair that ends in these registers, (pairs,)."""
    values = at_end(bound, bound.spec.value, state, pairs, n)
    check_range(bound, n, values)
    return values


def at_end(
    bound: BoundLoss, expr: Expr, registers: Mapping[str, Lanes], states: int, n: int
) -> Floats:
    """An expression of the registers after the last position, shape (states,)."""
    memories = {r.name: memory_of(bound, r, n) for r in bound.spec.registers if r.sugar == "memory"}
    current = {**registers, "n": float(n)}
    values = number(expr, Scope(bound, current, current, memories))
    return np.broadcast_to(values, (states,)).astype(np.float64)
