"""One position of each sweep, by compiled loops; the same as ``numpy_steps``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import COMPILED_CACHED_CELLS, COMPILED_SWEPT_CELLS, RUN_CELLS
from fsmeu.trellis import compiled_best, compiled_loops, compiled_mean_gradients
from fsmeu.trellis.best_plan import BestLayer, BestPlan
from fsmeu.trellis.counts import Counts
from fsmeu.trellis.numpy_means import entry_gains
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.steps import Swept
from fsmeu.trellis.terms import Amounts

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

layer_cells: int = COMPILED_CACHED_CELLS
sweep_cells: int = COMPILED_SWEPT_CELLS
run_cells: int = RUN_CELLS


def forward(plan: Plan, weights: Floats, mass: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """The mass of the pairs after, and that of counted targets before amounts are counted."""
    batch, _, columns = mass.shape
    positions, targets = len(weights), plan.targets
    moved = np.empty((positions, batch, targets, columns))
    after = np.empty((positions, batch, targets // len(plan.amounts), columns))
    turns = counts.turns(plan.amounts)
    compiled_loops.forward_run(mass, *plan.loops, weights, turns, moved, after)
    return after, moved


def backward(
    plan: Plan, weights: Floats, value: Floats, swept: Swept, counts: Counts
) -> tuple[Floats, Floats]:
    """The backward values of the pairs before a run, and what flows through each feature."""
    batch, _, columns = value.shape
    before = np.empty((batch, plan.gather.shape[1], columns))
    found = np.empty((len(weights), batch, plan.feature_count, columns))
    turns = counts.turns(plan.amounts)
    parts = (weights, turns, *swept, *plan.flow_loops)
    compiled_loops.backward_run(value, *plan.loops, *parts, before, found)
    return before, found


def worth(added: Amounts, met: Floats, chances: Floats, sign: float) -> tuple[Floats, Floats]:
    """The worth of score rows, (batch, rows + 1, k), and bounds on amounts, (counts, batch)."""
    found = np.empty((len(met), len(added.count) + 1, met.shape[2]))
    expected = np.empty((added.counts, len(met)))
    compiled_loops.worth(*added.loops, met, chances, sign, added.count, found, expected)
    return found, expected


def means(plan: Plan, mass: Floats, weights: Floats, added: Amounts, rows: Ints) -> Floats:
    """The mass and expectations after a position, (batch, pairs, 1 + counts, counter)."""
    batch, _, quantities, size = mass.shape
    gains, gaining = np.empty((0, batch, 0)), np.empty(0, np.int64)
    terms = (added.term_count, rows)
    if not added.is_sparse:
        by_entry, others = entry_gains(plan, added, rows)
        terms = (added.term_count[others], rows[others])
        found = [(count, one) for count, one in enumerate(by_entry) if one is not None]
        if found:
            gaining = np.array([count for count, _ in found], np.int64)
            gains = np.stack([one for _, one in found])
    after = np.empty((batch, plan.targets // len(plan.amounts), quantities, size))
    loops = (
        *plan.counting_loops,
        weights,
        gains,
        gaining,
        *terms,
        *added.loops,
        *plan.uses.arc_loops,
    )
    compiled_loops.means(mass, *loops, after)
    return after


def means_back(
    plan: Plan, mass: Floats, weights: Floats, added: Amounts, rows: Ints, worth: Floats
) -> tuple[Floats, Floats]:
    """What the numbers before add, (as mass), and derivatives for the arcs, (batch, arcs)."""
    before, slopes = np.empty(mass.shape), np.empty(weights.shape)
    loops = (
        *plan.counting_loops,
        weights,
        added.term_count,
        rows,
        *added.loops,
        *plan.uses.arc_loops,
    )
    compiled_mean_gradients.means_back(mass, *loops, worth, before, slopes)
    return before, slopes


def best(plan: BestPlan, layer: BestLayer, scores: Floats) -> BestLayer:
    """The best worth of reaching each pair after a position."""
    _, so_far, to_come = layer.bases.shape
    bases = np.empty((plan.bases, so_far + plan.most, to_come - plan.most))
    offsets = np.empty((len(plan.base), scores.shape[1]))
    tables = plan.tables
    compiled_best.best(
        layer.bases,
        layer.offsets,
        scores,
        plan.source,
        plan.early,
        plan.runs,
        plan.run_base,
        tables.several,
        tables.kept,
        tables.made,
        tables.ways,
        tables.late,
        plan.run,
        plan.late,
        bases,
        offsets,
    )
    return BestLayer(bases, plan.base, offsets)


def arc_back(
    plan: BestPlan, layer: BestLayer, scores: Floats, pair: int, count: int, k: int
) -> int:
    """The number of the arc by which a best path reaches a pair."""
    order, begins = plan.arcs_to
    arcs, product = order[begins[pair] : begins[pair + 1]], plan.product
    tables = (layer.bases, layer.base, layer.offsets, scores)
    found: int = compiled_best.arc_back(
        *tables, arcs, product.source, plan.adds, plan.rows, count, k
    )
    return found
