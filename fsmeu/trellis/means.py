"""The expected value of given hypotheses under a loss that splits by tape.

One sweep forward in the expectation semiring (Eisner 2002) over the tape of y composed with the
model: mass, and beside it the expectation of each joint count so far, both for every value of y's
counter. What a step of y adds to a joint count is looked up, because the step of z is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.fst.layers import Layered
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.scores import arc_weights, value_tables
from fsmeu.trellis.split_trellis import References, SplitTrellis
from fsmeu.trellis.tape import TapeLayer
from fsmeu.trellis.terms import Amounts

__all__ = ["hypothesis_values"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROOM = 16
"""Arrays over the values of the counter grow by as many at once."""


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
    state, ended = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    mass = np.zeros((batch, len(references.pairs[0]), 1 + counts, _room(trellis, 0, n)))
    mass[:, :, 0, 0] = np.stack([model.start for model in models])
    weights = arc_weights(models)
    for i in range(n):
        plan, steps = references.plans[i], trellis.z.layer(i)
        rows = _score_rows(steps, state, z[:, i])
        added = trellis.amounts(steps.shown, plan, i, n)
        mass = _with_room(mass, _room(trellis, i + 1, n))
        mass = _moved(plan, mass, weights[i], _gains(trellis, plan, added, rows, weights[i]))
        ended += steps.counted[state, z[:, i]]
        state = steps.targets[state, z[:, i]]
    final = np.stack([model.final for model in models])[:, references.pairs[n].acceptor]
    ending = np.einsum("bp,bpqc->bqc", final, mass[..., : trellis.y.most(n) + 1])
    slopes, offset = value_tables(trellis, n)
    values = np.einsum("bc,bc->b", ending[:, 0], offset[ended])
    for count, slope in enumerate(slopes, start=1):
        values += np.einsum("bc,bc->b", ending[:, count], slope[ended])
    return values, ending[:, 0].sum(axis=1)


def _room(trellis: SplitTrellis, position: int, n: int) -> int:
    """How many values of the counter arrays hold before a position: enough, in few sizes."""
    enough = trellis.y.most(position) + 1
    return min(trellis.y.most(n) + 1, -(-enough // _ROOM) * _ROOM)


def _with_room(mass: Floats, size: int) -> Floats:
    """The array with as many values of the counter, zeros beyond those that it has."""
    if mass.shape[3] == size:
        return mass
    wider = np.zeros((*mass.shape[:3], size))
    wider[..., : mass.shape[3]] = mass
    return wider


@dataclass(frozen=True, eq=False)
class _Gain:
    """What a joint count gains at a position.

    Attributes:
        entries: for each entry of the plan's ``arcs_to_targets``, (batch, entries); None for none.
        uses: for sets of pairs, a matrix (rows, batch x sets); None for nothing.
        rows: the counted targets of all sequences that its rows stand for.
    """

    entries: Floats | None
    uses: csr_array | None
    rows: Ints | None


def _gains(
    trellis: SplitTrellis, plan: Plan, added: Amounts, rows: Ints, weights: Floats
) -> list[_Gain]:
    """What each joint count gains at a position.

    Args:
        trellis: both tapes.
        plan: the plan of the references.
        added: what terms add.
        rows: the score rows that the steps of the hypotheses show, (terms, batch).
        weights: the weights of the acceptor's arcs, (batch, arcs).
    """
    found = []
    for count in range(len(trellis.form.joint_counts)):
        terms = [k for k, term in enumerate(trellis.terms) if term.count == count]
        entries: Floats | None = None
        few = []
        for k in terms:
            table, shown = added.dense[k], plan.entry_features[k]
            if table is None or shown is None:
                few.append(k)
            else:
                gained = table[rows[k] - added.begins[k]][:, shown]
                entries = gained if entries is None else entries + gained
        uses, targets = _joint(plan, added.matrix, rows[few], weights) if few else (None, None)
        found.append(_Gain(entries, uses, targets))
    return found


def _score_rows(steps: TapeLayer, state: Ints, label: Ints) -> Ints:
    """The score rows that the steps of the hypotheses show, (terms, batch)."""
    rows, known = [], 0
    for ids, shown in zip(steps.features, steps.shown, strict=True):
        rows.append(known + np.searchsorted(shown, ids[state, label]))
        known += len(shown)
    return np.array(rows, np.int64).reshape(len(rows), -1)


def _joint(
    plan: Plan, added: csr_array, rows: Ints, weights: Floats
) -> tuple[csr_array, Ints] | tuple[None, None]:
    """What a joint count gains: a matrix (counted targets that gain, batch x sets of pairs).

    Args:
        plan: the plan of the references.
        added: what terms add, (score rows, features of y).
        rows: the score rows of the terms of this count, (terms, batch).
        weights: the weights of the acceptor's arcs, (batch, arcs).

    Returns:
        The matrix, and the counted targets (batch x targets) of its rows; None for nothing.
    """
    uses, batch = plan.uses.by_feature, len(weights)
    goals, holders = plan.targets, plan.uses.holders.shape[0]
    owner, entry = _runs(added.indptr, rows.ravel())
    feature, amount = added.indices[entry], added.data[entry]
    used, at = _runs(uses.pointers, feature)
    if not len(at):
        return None, None
    whose = owner[used] % batch
    data = amount[used] * weights[whose, uses.arc[at]]
    row, column = whose * goals + uses.goal[at], whose * holders + uses.holder[at]
    order = np.argsort(row, kind="stable")
    targets, starts = np.unique(row[order], return_index=True)
    pointers = np.append(starts, len(row))
    shape = (len(targets), batch * holders)
    return csr_array((data[order], column[order], pointers), shape=shape), targets


def _runs(pointers: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The entries of some rows of a sparse matrix: the place of the row in the list, the entry."""
    begin = pointers[rows].astype(np.int64)
    sizes = pointers[rows + 1] - begin
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(rows)), sizes)
    return owner, np.arange(len(owner)) + (begin - ends + sizes)[owner]


def _moved(plan: Plan, mass: Floats, weights: Floats, gains: Sequence[_Gain]) -> Floats:
    """The mass and expectations after a position, (batch, pairs, 1 + counts, counter).

    Args:
        plan: the plan of the references.
        mass: the same before the position.
        weights: the weights of the acceptor's arcs, (batch, arcs).
        gains: for each joint count what it gains.
    """
    batch, pairs, quantities, size = mass.shape
    gathered = plan.gather.times(mass.reshape(batch, pairs, -1))
    entries = plan.arcs_to_targets.taken(weights)
    moved = plan.arcs_to_targets.transposed_times(gathered, entries).reshape(
        batch, -1, quantities, size
    )
    sources = gathered.reshape(batch, -1, quantities, size)[:, :, 0]
    held: Floats | None = None
    for count, gain in enumerate(gains, start=1):
        if gain.entries is not None:
            gained = gain.entries * entries
            moved[:, :, count] += plan.arcs_to_targets.transposed_times(
                np.ascontiguousarray(sources), gained
            )
        if gain.uses is not None:
            if held is None:
                held = plan.uses.holders.times(np.ascontiguousarray(mass[:, :, 0]))
            into = moved.reshape(-1, quantities, size)
            into[gain.rows, count] += gain.uses @ held.reshape(-1, size)
    after = _counted(plan, moved.reshape(batch, len(plan.amounts), -1))
    return after.reshape(batch, -1, quantities, size)


def _counted(plan: Plan, moved: Floats) -> Floats:
    """The mass of the pairs after, from that of counted targets, (batch, amounts, the rest).

    An amount is counted by moving all numbers by as many places: the last values of the counter
    have no mass yet.
    """
    after = np.zeros((len(moved), moved.shape[2]))
    for place, amount in enumerate(plan.amounts):
        into = after[:, amount:]
        into += moved[:, place, : moved.shape[2] - amount]
    return after
