"""The adjoint of one position of the expectation of joint counts, by sparse products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.numpy_means import entry_runs
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.terms import Amounts

__all__ = ["means_back"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def means_back(
    plan: Plan, mass: Floats, weights: Floats, added: Amounts, rows: Ints, worth: Floats
) -> tuple[Floats, Floats]:
    """What the numbers before add, (as mass), and derivatives for the arcs, (batch, arcs)."""
    batch, pairs = mass.shape[:2]
    ahead = _uncounted(plan, worth)
    table, entries = plan.arcs_to_targets, plan.arcs_to_targets.taken(weights)
    gathered = plan.gather.times(mass.reshape(batch, pairs, -1))
    back = table.times(ahead.reshape(batch, plan.targets, -1), entries)
    before = plan.gather.transposed_times(back).reshape(mass.shape)
    sources = np.repeat(np.arange(table.shape[0]), np.diff(table.pointers))
    flat = ahead.reshape(batch, plan.targets, -1)
    products = np.einsum("bek,bek->be", gathered[:, sources], flat[:, table.columns])
    assert table.index is not None
    slopes = _summed(products, table.index, weights.shape[1])
    for count in range(added.counts):
        terms = np.flatnonzero(added.term_count == count)
        if len(terms):
            _of_count(
                plan, mass, weights, added, rows[terms], ahead[:, :, 1 + count], before, slopes
            )
    return before, slopes


def _uncounted(plan: Plan, worth: Floats) -> Floats:
    """What the numbers of counted targets add, (batch, targets, quantities, counter).

    A number that is moved by an amount adds what stands there.
    """
    batch, pairs, quantities, size = worth.shape
    ahead = np.zeros((batch, len(plan.amounts), pairs, quantities, size))
    for place, amount in enumerate(plan.amounts):
        ahead[:, place, :, :, : max(0, size - amount)] = worth[..., amount:]
    return ahead.reshape(batch, plan.targets, quantities, size)


def _of_count(
    plan: Plan,
    mass: Floats,
    weights: Floats,
    added: Amounts,
    rows: Ints,
    ahead: Floats,
    before: Floats,
    slopes: Floats,
) -> None:
    """Adds what the mass before adds by way of a joint count, and what arcs do.

    Args:
        plan: the plan of the references.
        mass: the mass and expectations before.
        weights: the weights of the acceptor's arcs, (batch, arcs).
        added: what terms add.
        rows: the score rows of the terms of this count, (terms, batch).
        ahead: what the expectations of the count add at counted targets, (batch, targets, c).
        before: what the numbers before add; added to.
        slopes: derivatives for the arcs; added to.
    """
    uses, batch = plan.uses.by_feature, len(mass)
    owner, entry = entry_runs(added.matrix.indptr, rows.ravel())
    feature, amount = added.matrix.indices[entry], added.matrix.data[entry]
    used, at = entry_runs(uses.pointers, feature)
    if not len(at):
        return
    whose, share, arc = owner[used] % batch, amount[used], uses.arc[at]
    holder, reached = uses.holder[at], ahead[whose, uses.goal[at]]
    held = plan.uses.holders.times(np.ascontiguousarray(mass[:, :, 0]))
    met = np.einsum("uc,uc->u", held[whose, holder], reached)
    np.add.at(slopes, (whose, arc), share * met)
    pulled = np.zeros(held.shape)
    np.add.at(pulled, (whose, holder), (share * weights[whose, arc])[:, None] * reached)
    before[:, :, 0] += plan.uses.holders.transposed_times(pulled)


def _summed(products: Floats, index: Ints, arcs: int) -> Floats:
    """The sum of the products of each arc, (batch, arcs)."""
    batch = len(products)
    places = (np.arange(batch)[:, None] * arcs + index).ravel()
    found = np.bincount(places, products.ravel(), batch * arcs).astype(np.float64)
    return found.reshape(batch, arcs)
