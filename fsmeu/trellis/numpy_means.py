"""One position of the expectation of joint counts given hypotheses, by sparse products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.trellis.plan import Plan
from fsmeu.trellis.terms import Amounts

__all__ = ["entry_gains", "entry_runs", "means"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def means(plan: Plan, mass: Floats, weights: Floats, added: Amounts, rows: Ints) -> Floats:
    """The mass and expectations after a position, (batch, pairs, 1 + counts, counter)."""
    return _moved(plan, mass, weights, _gains(plan, added, rows, weights))


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


def _gains(plan: Plan, added: Amounts, rows: Ints, weights: Floats) -> list[_Gain]:
    """What each joint count gains at a position.

    Args:
        plan: the plan of the references.
        added: what terms add.
        rows: the score rows that the steps of the hypotheses show, (terms, batch).
        weights: the weights of the acceptor's arcs, (batch, arcs).
    """
    by_entry, others = entry_gains(plan, added, rows)
    found = []
    for count, entries in enumerate(by_entry):
        few = [k for k in others if added.term_count[k] == count]
        uses, targets = _joint(plan, added.matrix, rows[few], weights) if few else (None, None)
        found.append(_Gain(entries, uses, targets))
    return found


def entry_gains(plan: Plan, added: Amounts, rows: Ints) -> tuple[list[Floats | None], list[int]]:
    """What joint counts gain by terms of which most amounts are not 0, and the other terms.

    Args:
        plan: the plan of the references.
        added: what terms add.
        rows: the score rows that the steps of the hypotheses show, (terms, batch).

    Returns:
        For each joint count an array (batch, entries of ``arcs_to_targets``), None for nothing; and
        the numbers of all terms that are not in it.
    """
    found: list[Floats | None] = [None] * added.counts
    others = []
    for k, count in enumerate(added.term_count.tolist()):
        table, shown = added.dense[k], plan.entry_features[k]
        if table is None or shown is None:
            others.append(k)
        else:
            gained = table[rows[k] - added.begins[k]][:, shown]
            known = found[count]
            found[count] = gained if known is None else known + gained
    return found, others


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
    owner, entry = entry_runs(added.indptr, rows.ravel())
    feature, amount = added.indices[entry], added.data[entry]
    used, at = entry_runs(uses.pointers, feature)
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


def entry_runs(pointers: Ints, rows: Ints) -> tuple[Ints, Ints]:
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
