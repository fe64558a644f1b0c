"""One position of each sweep, by numpy and sparse products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fsmeu.limits import CACHED_CELLS, SWEPT_CELLS
from fsmeu.trellis.best_plan import BestLayer, BestPlan
from fsmeu.trellis.counts import Counts
from fsmeu.trellis.numpy_mean_gradients import means_back
from fsmeu.trellis.numpy_means import means
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.terms import Amounts

if TYPE_CHECKING:
    from fsmeu.trellis.steps import Swept

__all__ = [
    "arc_back",
    "backward",
    "best",
    "forward",
    "layer_cells",
    "means",
    "means_back",
    "run_cells",
    "sweep_cells",
    "worth",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

layer_cells: int = CACHED_CELLS
sweep_cells: int = SWEPT_CELLS
run_cells: int = 0


def forward(plan: Plan, weights: Floats, mass: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """The mass of the pairs after, and that of counted targets before amounts are counted."""
    after, moves = [], []
    for one in weights:
        mass, moved = _forward(plan, one, mass, counts)
        after.append(mass)
        moves.append(moved)
    return stacked(after), stacked(moves)


def _forward(plan: Plan, weights: Floats, mass: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """The same for one position: (batch, pairs, columns) and (batch, targets, columns)."""
    entries = plan.arcs_to_targets.taken(weights)
    moved = plan.arcs_to_targets.transposed_times(plan.gather.times(mass), entries)
    blocks = np.split(moved, len(plan.amounts), axis=1)
    after = counts.plus(np.ascontiguousarray(blocks[0]), plan.amounts[0])
    for block, amount in zip(blocks[1:], plan.amounts[1:], strict=True):
        after = after + counts.plus(np.ascontiguousarray(block), amount)
    return after, moved


def backward(
    plan: Plan, weights: Floats, value: Floats, swept: Swept, counts: Counts
) -> tuple[Floats, Floats]:
    """The backward values of the pairs before a run, and what flows through each feature."""
    found = []
    for i in range(len(weights) - 1, -1, -1):
        value, ahead = _backward(plan, weights[i], value, counts)
        mass = swept.after[i - 1] if i else swept.mass
        found.append(_flows(plan, weights[i], mass, swept.moved[i], ahead, counts))
    return value, stacked(found[::-1])


def stacked(arrays: Sequence[Floats]) -> Floats:
    """The arrays along a new first axis; a single one is not copied."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def _backward(plan: Plan, weights: Floats, value: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """The backward values of the pairs before a position, and those of counted targets."""
    ahead = np.concatenate([counts.plus(value, amount) for amount in plan.amounts], axis=1)
    arcs = plan.arcs_to_targets
    return plan.scatter.times(arcs.times(ahead, arcs.taken(weights))), ahead


def _flows(
    plan: Plan, weights: Floats, mass: Floats, moved: Floats, ahead: Floats, counts: Counts
) -> Floats:
    """The mass of all paths that show each feature at a position, (batch, features, columns)."""
    found = plan.by_target.times(counts.times(moved, ahead))
    uses = plan.others
    if len(uses.bundle):
        held = uses.holders.times(mass)[:, uses.holder]
        bundles = uses.bundles.times(ahead, uses.bundles.taken(weights))[:, uses.bundle]
        found += uses.collect.times(counts.times(held, bundles))
    return found


def worth(added: Amounts, met: Floats, chances: Floats, sign: float) -> tuple[Floats, Floats]:
    """The worth of score rows, (batch, rows + 1, k), and bounds on amounts, (counts, batch)."""
    batch, features, ends = met.shape
    found = np.zeros((batch, added.matrix.shape[0] + 1, ends))
    side_by_side = met.transpose(1, 0, 2).reshape(features, batch * ends)
    product = (added.matrix @ side_by_side).reshape(-1, batch, ends)
    np.multiply(sign, product.transpose(1, 0, 2), out=found[:, :-1])
    weighted = added.absolute @ np.abs(chances).T
    expected = np.zeros((added.counts, batch))
    np.maximum.at(expected, added.count, weighted)
    return found, expected


def best(plan: BestPlan, layer: BestLayer, scores: Floats) -> BestLayer:
    """The best worth of reaching each pair after a position."""
    _, so_far, to_come = layer.bases.shape
    cells = layer.offsets[plan.source] + _added(scores, plan.early)
    runs = np.concatenate([_maxima(cells, plan.runs), np.zeros((1, scores.shape[1]))])
    shape = (so_far + plan.most, to_come - plan.most)
    bases = np.full((plan.bases, *shape), -np.inf)
    made = [_maximum(plan, layer, runs, *one) for one in plan.several]
    values = np.stack(made) if made else layer.bases[:0]
    for source, moves in ((layer.bases, plan.kept), (values, plan.made)):
        for move in moves:
            count = slice(move.amount, move.amount + so_far)
            left = slice(move.amount, move.amount + shape[1])
            bases[move.new, count] = source[move.old, :, left]
    for base, ways in plan.joined:
        for amount, run, place, late in ways:
            total = runs[run] if place < 0 else 0.0
            total = total + sum(scores[row] for row in late)
            source = layer.bases[plan.run_base[run]] if place < 0 else values[place]
            value = source + sliding_window_view(np.broadcast_to(total, scores.shape[1:]), to_come)
            into = bases[base, amount : amount + so_far]
            np.maximum(into, value[:, amount : amount + shape[1]], out=into)
    return BestLayer(bases, plan.base, runs[plan.run] + _added(scores, plan.late))


def _added(scores: Floats, rows: Ints) -> Floats:
    """The sums over terms of score rows, (cells, k)."""
    total = np.zeros((rows.shape[1], scores.shape[1]))
    for row in rows:
        total += scores[row]
    return total


def _maxima(cells: Floats, starts: Ints) -> Floats:
    """The maxima over the cells of each run, (runs, k)."""
    if len(starts) == len(cells):
        return cells
    found: Floats = np.maximum.reduceat(cells, starts, axis=0)
    return found


def _maximum(plan: BestPlan, layer: BestLayer, runs: Floats, begin: int, end: int) -> Floats:
    """The best over the runs of a set, (counts so far, counts to come)."""
    to_come = layer.bases.shape[2]
    windows = sliding_window_view(runs[begin:end], to_come, axis=1)
    found: Floats = (layer.bases[plan.run_base[begin:end]] + windows).max(axis=0)
    return found


def arc_back(
    plan: BestPlan, layer: BestLayer, scores: Floats, pair: int, count: int, k: int
) -> int:
    """The number of the arc by which a best path reaches a pair."""
    order, begins = plan.arcs_to
    arcs = order[begins[pair] : begins[pair + 1]]
    had = count - plan.adds[arcs]
    inside = (had >= 0) & (had < layer.bases.shape[1]) & (k - had < layer.bases.shape[2])
    arcs, had = arcs[inside], had[inside]
    source = plan.product.source[arcs]
    reach = layer.bases[layer.base[source], had, k - had] + layer.offsets[source, k]
    reach = reach + scores[plan.rows[:, arcs], k].sum(axis=0)
    return int(arcs[reach.argmax()])
