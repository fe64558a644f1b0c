"""The expected value of given hypotheses under a loss that splits by tape.

One sweep forward in the expectation semiring (Eisner 2002) over the tape of y composed with the
model: mass, and beside it the expectation of each joint count so far, both for every value of y's
counter. What a step of y adds to a joint count is looked up, because the step of z is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Layered
from fsmeu.limits import COUNTER_ROOM
from fsmeu.trellis.scores import arc_weights, value_tables
from fsmeu.trellis.split_trellis import References, SplitTrellis

__all__ = ["final_weights", "hypothesis_values", "room", "score_rows", "with_room"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def hypothesis_values(
    trellis: SplitTrellis,
    references: References,
    z: Ints,
    models: Sequence[Layered],
) -> tuple[Floats, Floats]:
    """The expected value of each hypothesis under its model, and the models' masses, (batch,).

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        z: label indices of the hypotheses, (batch, n).
        models: a model of this structure for each.
    """
    batch, n = z.shape
    counts = len(trellis.form.joint_counts)
    mass = np.zeros((batch, len(references.pairs[0]), 1 + counts, room(trellis, 0, n)))
    mass[:, :, 0, 0] = np.stack([model.start for model in models])
    weights, steps = arc_weights(models), trellis.steps(batch * n)
    rows, ended = score_rows(trellis, z)
    for i in range(n):
        plan = references.plans[i]
        added = trellis.amounts(trellis.z.layer(i).shown, plan, i, n)
        mass = with_room(mass, room(trellis, i + 1, n))
        mass = steps.means(plan, mass, weights[i], added, rows[i])
    final = final_weights(references, models)
    ending = np.einsum("bp,bpqc->bqc", final, mass[..., : trellis.y.most(n) + 1])
    slopes, offset = value_tables(trellis, n)
    values = np.einsum("bc,bc->b", ending[:, 0], offset[ended])
    for count, slope in enumerate(slopes, start=1):
        values += np.einsum("bc,bc->b", ending[:, count], slope[ended])
    return values, ending[:, 0].sum(axis=1)


def score_rows(trellis: SplitTrellis, z: Ints) -> tuple[list[Ints], Ints]:
    """The score rows that each step of the hypotheses shows, and where their counters end.

    Args:
        trellis: both tapes.
        z: label indices of the hypotheses, (batch, n).

    Returns:
        For each position an array (terms, batch); and one of shape (batch,).
    """
    state, ended = np.zeros(len(z), np.int64), np.zeros(len(z), np.int64)
    rows = []
    for i, label in enumerate(z.T):
        steps = trellis.z.layer(i)
        rows.append(np.ascontiguousarray(steps.score_rows[:, state, label]))
        ended += steps.counted[state, label]
        state = steps.targets[state, label]
    return rows, ended


def final_weights(references: References, models: Sequence[Layered]) -> Floats:
    """The final weight of each pair of the last layer, (batch, pairs)."""
    pairs = references.pairs[models[0].n]
    found: Floats = np.stack([model.final for model in models])[:, pairs.acceptor]
    return found


def room(trellis: SplitTrellis, position: int, n: int) -> int:
    """How many values of the counter arrays hold before a position: enough, in few sizes."""
    enough = trellis.y.most(position) + 1
    return min(trellis.y.most(n) + 1, -(-enough // COUNTER_ROOM) * COUNTER_ROOM)


def with_room(mass: Floats, size: int) -> Floats:
    """The array with as many values of the counter, zeros beyond those that it has."""
    if mass.shape[3] == size:
        return mass
    wider = np.zeros((*mass.shape[:3], size))
    wider[..., : mass.shape[3]] = mass
    return wider
