"""Derivatives of the expected value of hypotheses with respect to the weights of a model's arcs.

The sweep of ``means`` is run forward, all its layers kept, and then backward: what a number of a
layer adds to the expected value follows from what those after it add (the adjoint of the same
linear steps). An arc's derivative is the sum, over all numbers that it multiplies, of the number
times what the one it leads to adds. One sweep each way, whatever the number of arcs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Layered
from fsmeu.trellis.means import (
    final_weights,
    places_of,
    positions,
    score_rows,
    start_masses,
    with_room,
)
from fsmeu.trellis.scores import value_tables
from fsmeu.trellis.split_trellis import References, SplitTrellis

__all__ = ["hypothesis_gradients"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def hypothesis_gradients(
    trellis: SplitTrellis,
    references: References,
    z: Ints,
    models: Sequence[Layered],
) -> tuple[Floats, list[Floats]]:
    """The expected value of each hypothesis, (batch,), and its derivatives.

    These are, for each position, dE/d(weight) of the model's arcs, (batch, arcs), every arc being
    a free variable.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        z: label indices of the hypotheses, (batch, n).
        models: a model of this structure for each.
    """
    rows, ended = score_rows(trellis, z)
    mass, masses = start_masses(trellis, references, z.shape[1], models), []
    places = places_of(trellis, references, z.shape[1])
    swept = list(positions(trellis, places, rows, models))
    for at in swept:
        mass = with_room(mass, at.room)
        masses.append(mass)
        mass = at.steps.means(at.plan, mass, at.weights, at.added, at.rows)
    worth = _ending(trellis, references, models, ended, mass.shape)
    values = np.einsum("bpqc,bpqc->b", mass, worth)
    slopes: list[Floats] = []
    for at, before in zip(reversed(swept), reversed(masses), strict=True):
        ahead = np.ascontiguousarray(worth[..., : before.shape[3]])
        worth, arcs = at.steps.means_back(at.plan, before, at.weights, at.added, at.rows, ahead)
        slopes.append(arcs)
    return values, slopes[::-1]


def _ending(
    trellis: SplitTrellis,
    references: References,
    models: Sequence[Layered],
    ended: Ints,
    shape: tuple[int, ...],
) -> Floats:
    """What each number of the last layer adds to the expected value, (batch, pairs, 1 + counts, c).

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        models: the models.
        ended: where the counter of each hypothesis ends, (batch,).
        shape: the shape of the last layer.
    """
    n = models[0].n
    slopes, offset = value_tables(trellis, n)
    tables = np.stack([offset[ended], *(slope[ended] for slope in slopes)], axis=1)
    worth = np.zeros(shape)
    size = tables.shape[2]
    final = final_weights(references, models)
    worth[..., :size] = final[:, :, None, None] * tables[:, None]
    return worth
