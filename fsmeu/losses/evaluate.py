"""The value of one pair of sequences, or of many at once (Jansche 2007, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.fst.sequences import listed
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.domains import keep_bounds, keep_whole, memory_of
from fsmeu.losses.semantics.evaluator import Lanes, Scope, constant_at, number
from fsmeu.losses.semantics.evaluator import evaluate as evaluate_expr

__all__ = ["at_end", "encoded_pair", "evaluate", "trace_pairs", "values_of_pairs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    spec, (pairs, n) = bound.spec, z.shape
    memories = {r.name: memory_of(bound, r, n) for r in spec.registers if r.sugar == "memory"}
    state = {r.name: np.full(pairs, constant_at(bound, r.start, n)) for r in spec.registers}
    trace = [state]
    for i in range(n):
        tapes = {"z": bound.label_values[z[:, i]], "y": bound.label_values[y[:, i]]}
        current: dict[str, Lanes] = {**state, **tapes, "i": float(i + 1), "n": float(n)}
        scope = Scope(bound, current, state, memories)
        for register in spec.registers:
            after = evaluate_expr(register.update, scope)
            keep_whole(register, state[register.name], after, scope)
            current[register.name] = after
        state = {r.name: np.broadcast_to(current[r.name], (pairs,)) for r in spec.registers}
        trace.append(state)
    for register in spec.registers:
        keep_bounds(bound, register, n, np.array([state[register.name] for state in trace]))
    return trace


def values_of_pairs(bound: BoundLoss, z: Ints, y: Ints) -> Floats:
    """The value of each pair of rows."""
    return value_of_state(bound, trace_pairs(bound, z, y)[-1], *z.shape)


def value_of_state(bound: BoundLoss, state: dict[str, Floats], pairs: int, n: int) -> Floats:
    """What ending in these register values is worth, for each pair."""
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
