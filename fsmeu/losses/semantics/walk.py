"""Sequences walked over position by position: the registers of a loss on whole arrays of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.losses.language.dependencies import names_read, needed_registers, steps
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.domains import bounds_of, keep_bounds, keep_whole, memories_of
from fsmeu.losses.semantics.evaluator import BoundLoss, Lanes, Scope, constant_at, evaluate, number


@dataclass(frozen=True, eq=False)
class Registers:
    """The registers of a loss for sequences of one length.

    Attributes:
        starts: the value of each before the first position, by name.
        bounds: the least and greatest value of each, by name.
    """

    starts: dict[str, float]
    bounds: dict[str, tuple[float, float]]


@lru_cache(maxsize=256)
def registers_at(bound: BoundLoss, n: int) -> Registers:
    """The registers of a loss for sequences of length n, whose starts keep their bounds."""
    registers = bound.spec.registers
    held = Registers(
        {r.name: constant_at(bound, r.start, n) for r in registers},
        {r.name: bounds_of(bound, r, n) for r in registers},
    )
    for r in registers:
        keep_bounds(bound, r, held.starts[r.name], *held.bounds[r.name])
    return held


def walk(bound: BoundLoss, z: Ints, y: Ints, lengths: Ints) -> Iterator[dict[str, Floats]]:
    """Register values (pairs,) before the first position and after each.

    Args:
        bound: a loss with labels and parameters.
        z: hypotheses as label indices, shape (pairs, longest).
        y: references, of the same shape.
        lengths: how many labels each pair has, in descending order; where they differ, no step may
            look at the length. A pair that has ended keeps its registers.
    """
    distinct, place = np.unique(lengths, return_inverse=True)
    distinct = distinct if len(z) else np.array([z.shape[1]])
    held = [registers_at(bound, n) for n in distinct.tolist()]
    names = [r.name for r in bound.spec.registers]
    limits = {name: np.array([one.bounds[name] for one in held])[place].T for name in names}
    state = {name: np.array([one.starts[name] for one in held])[place] for name in names}
    yield state
    for i in range(z.shape[1]):
        m = len(z) - int(np.searchsorted(lengths[::-1], i, side="right"))
        tapes = {"z": bound.label_values[z[:m, i]], "y": bound.label_values[y[:m, i]]}
        old = {name: held[:m] for name, held in state.items()}
        n = float(distinct[0]) if len(distinct) == 1 else lengths[:m].astype(np.float64)
        current: dict[str, Lanes] = {**old, **tapes, "i": float(i + 1), "n": n}
        scope = Scope(bound, current, old, memories_of(bound, int(distinct[-1])))
        for r in bound.spec.registers:
            after = np.broadcast_to(evaluate(r.update, scope), (m,))
            keep_whole(r, old[r.name], after, scope)
            keep_bounds(bound, r, after, *limits[r.name][:, :m])
            current[r.name] = after
        state = {name: np.append(current[name], held[m:]) for name, held in state.items()}
        yield state


def trajectories(bound: BoundLoss, n: int, z: Ints, names: set[str]) -> dict[str, Floats]:
    """The values of registers that look at z alone, before and after every position.

    Args:
        bound: the loss.
        n: length of the sequences.
        z: label indices, shape (batch, n).
        names: registers that depend on z (and i) only.

    Returns:
        For each name, an array of shape (batch, n + 1).
    """
    spec = bound.spec
    ours = [r for r in spec.registers if r.name in names]
    order = {r.name: k for k, r in enumerate(spec.registers)}
    labels = bound.label_values[z]
    clock = np.arange(1.0, n + 1.0)[None, :]
    known: dict[str, Floats] = {}
    free = {"z", "i", "n", *bound.params}
    for r in ours:
        amount = steps(spec)[r.name][0]
        if amount is None or not names_read(amount) <= free | known.keys():
            continue
        old = {name: track[:, :-1] for name, track in known.items()}
        now = {
            name: track[:, 1:] if order[name] < order[r.name] else track[:, :-1]
            for name, track in known.items()
        }
        scope = Scope(bound, {**now, "z": labels, "i": clock, "n": float(n)}, old, {})
        added = np.broadcast_to(evaluate(amount, scope), z.shape) if n else np.zeros(z.shape)
        begin = np.full((len(z), 1), constant_at(bound, r.start, n))
        track = np.cumsum(np.concatenate([begin, added], axis=1), axis=1)
        keep_whole(r, track[:, :-1], track[:, 1:], scope)
        known[r.name] = track
    rest = [r for r in ours if r.name not in known]
    tracks = dict(known)
    if rest:
        needed = needed_registers(ours, [r.update for r in rest]) | {r.name for r in rest}
        states = list(walk(_alone(bound, frozenset(needed)), z, z, np.full(len(z), n)))
        tracks |= {r.name: np.stack([state[r.name] for state in states], axis=1) for r in rest}
    for r in ours:
        keep_bounds(bound, r, tracks[r.name], *bounds_of(bound, r, n))
    return tracks


@lru_cache(maxsize=64)
def _alone(bound: BoundLoss, names: frozenset[str]) -> BoundLoss:
    """The loss with these registers alone."""
    registers = tuple(r for r in bound.spec.registers if r.name in names)
    return replace(bound, spec=replace(bound.spec, registers=registers))


def at_end(
    bound: BoundLoss,
    expr: Expr,
    registers: Mapping[str, Lanes],
    shape: tuple[int, ...],
    n: int,
    active: Bools | None = None,
) -> Floats:
    """An expression of the registers after the last position, of this shape.

    Args:
        bound: the loss.
        expr: the value, an output, or a slope of one.
        registers: the registers by name, floats or arrays that broadcast to the shape.
        shape: that of the result.
        n: the length of the sequences.
        active: where the expression must be defined; it is 0 elsewhere.
    """
    current = {**registers, "n": float(n)}
    value = number(expr, Scope(bound, current, current, memories_of(bound, n)), active)
    if active is not None:
        value = np.where(active, value, 0.0)
    return value if value.shape == shape else np.broadcast_to(value, shape).astype(np.float64)
