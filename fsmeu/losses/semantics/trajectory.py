"""Registers that look at one hypothesis alone: their values at every position, for many at once."""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.language.dependencies import names_read, steps
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.domains import bounds_of, keep_bounds, keep_whole, memory_of
from fsmeu.losses.semantics.evaluator import Scope, constant_at, evaluate


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
    tracks = {**known, **_walk(bound, n, labels, rest, known)} if rest else known
    for r in ours:
        keep_bounds(bound, r, tracks[r.name], *bounds_of(bound, r, n))
    return tracks


def _walk(
    bound: BoundLoss, n: int, labels: Floats, registers: list[Register], known: dict[str, Floats]
) -> dict[str, Floats]:
    """Trajectories of registers that must be followed position by position."""
    memories = {r.name: memory_of(bound, r, n) for r in registers if r.sugar == "memory"}
    tracks = {r.name: np.empty((len(labels), n + 1)) for r in registers}
    for r in registers:
        tracks[r.name][:, 0] = constant_at(bound, r.start, n)
    ours = {r.name for r in registers}
    for i in range(1, n + 1):
        old = {name: t[:, i - 1] for name, t in (known | tracks).items()}
        current = {**old, "z": labels[:, i - 1], "i": float(i), "n": float(n)}
        scope = Scope(bound, current, old, memories)
        for r in bound.spec.registers:
            if r.name in known:
                current[r.name] = known[r.name][:, i]
            elif r.name in ours:
                after = evaluate(r.update, scope)
                keep_whole(r, old[r.name], after, scope)
                current[r.name] = tracks[r.name][:, i] = after
    return tracks
