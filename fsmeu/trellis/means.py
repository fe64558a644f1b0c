"""The expected value of given hypotheses under a loss that splits by tape.

One sweep forward in the expectation semiring (Eisner 2002) over the tape of y composed with the
model: mass, and beside it the expectation of each joint count so far, both for every value of y's
counter. What a step of y adds to a joint count is looked up, because the step of z is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Layered
from fsmeu.limits import COUNTER_ROOM
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.scores import arc_weights, value_tables
from fsmeu.trellis.split_trellis import References, SplitTrellis
from fsmeu.trellis.steps import Steps
from fsmeu.trellis.terms import Amounts

__all__ = [
    "Place",
    "Position",
    "final_weights",
    "hypothesis_sums",
    "hypothesis_values",
    "places_of",
    "positions",
    "score_rows",
    "start_masses",
    "with_room",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def hypothesis_values(
    trellis: SplitTrellis,
    references: References,
    z: Ints,
    models: Sequence[Layered],
    block: int | None = None,
) -> Sums:
    """The expected value of each hypothesis under its model, with what bounds its error.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        z: label indices of the hypotheses, (batch, n).
        models: a model of this structure for each.
        block: how many hypotheses are swept at once; None for all.
    """
    n = z.shape[1]
    ending, ended = hypothesis_sums(trellis, references, z, models, block)
    slopes, offset = value_tables(trellis, n)
    mass, cancelled = ending[:, 0], _cancelled(trellis, references, z)
    values = np.einsum("bc,bc->b", mass, offset[ended])
    sizes = np.einsum("bc,bc->b", mass, np.abs(offset[ended]))
    for count, slope in enumerate(slopes):
        values += np.einsum("bc,bc->b", ending[:, 1 + count], slope[ended])
        size = np.abs(ending[:, 1 + count]) + cancelled[count, :, None] * mass
        sizes += np.einsum("bc,bc->b", size, np.abs(slope[ended]))
    roundings = sum(plan.operations for plan in references.plans[:n])
    roundings += n * (6 + len(trellis.terms)) + sum(ending.shape[1:]) + len(references.pairs[n])
    return Sums(values, mass.sum(axis=1), sizes, roundings)


def _cancelled(trellis: SplitTrellis, references: References, z: Ints) -> Floats:
    """How much joint counts may have gained, signs aside; 0 for those that nothing is taken from.

    An array (joint counts, batch).
    """
    n = z.shape[1]
    added = [place.added for place in places_of(trellis, references, n)]
    found = np.zeros((len(trellis.form.joint_counts), len(z)))
    if any(one.signs[0].any() for one in added):
        for one, rows in zip(added, score_rows(trellis, z)[0], strict=True):
            for count, row in zip(one.term_count.tolist(), rows, strict=True):
                found[count] += one.greatest_of_rows[row]
        found[~np.any([one.signs[0] for one in added], axis=0)] = 0.0
    return found


def hypothesis_sums(
    trellis: SplitTrellis,
    references: References,
    z: Ints,
    models: Sequence[Layered],
    block: int | None = None,
) -> tuple[Floats, Ints]:
    """Masses and expectations of joint counts by the end of y's counter, and the ends of z's.

    Arrays (batch, 1 + joint counts, counter) and (batch,). Joint counts are what steps add to them.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        z: label indices of the hypotheses, (batch, n).
        models: a model of this structure for each.
        block: how many hypotheses are swept at once; None for all.
    """
    n, size = z.shape[1], block or len(z)
    rows, ended = score_rows(trellis, z)
    places = places_of(trellis, references, n)
    found = []
    for begin in range(0, len(z), size):
        some = slice(begin, begin + size)
        shown = [np.ascontiguousarray(one[:, some]) for one in rows]
        mass = start_masses(trellis, references, n, models[some])
        for at in positions(trellis, places, shown, models[some]):
            mass = with_room(mass, at.room)
            mass = at.steps.means(at.plan, mass, at.weights, at.added, at.rows)
        final = final_weights(references, models[some])
        found.append(np.einsum("bp,bpqc->bqc", final, mass[..., : trellis.y.most(n) + 1]))
    return np.concatenate(found), ended


class Place(NamedTuple):
    """What a position of the sweep has in common for all hypotheses and models.

    Attributes:
        plan: the plan of the references.
        added: what terms add.
        room: how many values of the counter the numbers before it are given.
    """

    plan: Plan
    added: Amounts
    room: int


def places_of(trellis: SplitTrellis, references: References, n: int) -> list[Place]:
    """The positions of sequences of length n, in their order."""
    found = []
    for i, plan in enumerate(references.plans[:n]):
        added = trellis.amounts(trellis.z.layer(i).shown, plan, i, n)
        found.append(Place(plan, added, _room(trellis, i + 1, n)))
    return found


class Position(NamedTuple):
    """What one position of the sweep is computed from.

    Attributes:
        plan: the plan of the references.
        weights: the weights of the acceptor's arcs, (batch, arcs).
        added: what terms add.
        rows: the score rows that the steps of the hypotheses show, (terms, batch).
        room: how many values of the counter the numbers before it are given.
        steps: what computes it.
    """

    plan: Plan
    weights: Floats
    added: Amounts
    rows: Ints
    room: int
    steps: Steps


def start_masses(
    trellis: SplitTrellis, references: References, n: int, models: Sequence[Layered]
) -> Floats:
    """The mass and expectations before the first position, (batch, pairs, 1 + counts, counter)."""
    counts, pairs = len(trellis.form.joint_counts), len(references.pairs[0])
    mass = np.zeros((len(models), pairs, 1 + counts, _room(trellis, 0, n)))
    mass[:, :, 0, 0] = np.stack([model.start for model in models])
    return mass


def positions(
    trellis: SplitTrellis,
    places: Sequence[Place],
    rows: Sequence[Ints],
    models: Sequence[Layered],
) -> Iterator[Position]:
    """What each position of the sweep is computed from, in their order.

    Args:
        trellis: both tapes.
        places: what the positions have in common for all sweeps.
        rows: the score rows of each position, (terms, batch).
        models: a model for each hypothesis.
    """
    steps = trellis.steps(len(models) * len(rows))
    for place, weights, shown in zip(places, arc_weights(models), rows, strict=True):
        yield Position(place.plan, weights, place.added, shown, place.room, steps)


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


def _room(trellis: SplitTrellis, position: int, n: int) -> int:
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
