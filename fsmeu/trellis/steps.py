"""What computes positions of a sweep: numpy, or loops that numba has compiled.

Both compute the same sums in the same way. The loops are part of the extra "fast"; loading them
takes a while, so that they are taken once a trellis has been swept often.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fsmeu.extras import is_installed
from fsmeu.limits import COMPILED_AFTER
from fsmeu.trellis import numpy_steps
from fsmeu.trellis.best_plan import BestLayer, BestPlan
from fsmeu.trellis.counts import Counts
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.terms import Amounts

__all__ = ["Steps", "Swept", "steps_after"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Swept(NamedTuple):
    """What the sweep forward found of a run.

    Attributes:
        mass: the mass of the pairs before the run, (batch, pairs, columns).
        after: the mass of the pairs after each position, (positions, batch, pairs, columns).
        moved: the mass of the counted targets, (positions, batch, targets, columns).
    """

    mass: Floats
    after: Floats
    moved: Floats


class Steps(Protocol):
    """Some positions of each sweep; arrays of one have the sequences of a batch as first axis.

    Sums are computed for a run: positions in a row that have one plan. In a run of several the
    pairs before and after a position are the same.

    Attributes:
        layer_cells: how many numbers a layer of a batch should have at most, where only one is
            held.
        sweep_cells: the same for all layers, where all are held.
        run_cells: how many numbers the flows of a run should have at most.
    """

    layer_cells: int
    sweep_cells: int
    run_cells: int

    def forward(
        self, plan: Plan, weights: Floats, mass: Floats, counts: Counts
    ) -> tuple[Floats, Floats]:
        """The mass of the pairs after, and that of counted targets before amounts are counted.

        Arrays (positions, batch, pairs, columns) and (positions, batch, targets, columns).

        Args:
            plan: the plan of the run.
            weights: the weights of the acceptor's arcs, (positions, batch, arcs).
            mass: the mass of the pairs before the run, (batch, pairs, columns).
            counts: how the distribution of the counter is held.
        """

    def backward(
        self, plan: Plan, weights: Floats, value: Floats, swept: Swept, counts: Counts
    ) -> tuple[Floats, Floats]:
        """The backward values of the pairs before a run, and what flows through each feature.

        Arrays (batch, pairs, columns) and (positions, batch, features, columns): the latter is the
        mass of all paths that show a feature at a position.

        Args:
            plan: the plan of the run; features are those of all terms, in the terms' order.
            weights: the weights of the acceptor's arcs, (positions, batch, arcs).
            value: the backward values of the pairs after the run, (batch, pairs, columns).
            swept: what the sweep forward found.
            counts: how the distribution of the counter is held.
        """

    def worth(
        self, added: Amounts, met: Floats, chances: Floats, sign: float
    ) -> tuple[Floats, Floats]:
        """The worth of score rows, (batch, rows + 1, k), and bounds on amounts, (counts, batch).

        One more row is 0. A bound is the greatest that a score row of a joint count adds, in the
        mean of its absolute value.

        Args:
            added: what terms add.
            met: what features of y are worth, (batch, features, k).
            chances: the probability of each feature of y, (batch, features).
            sign: what worths are multiplied by.
        """

    def means(
        self, plan: Plan, mass: Floats, weights: Floats, added: Amounts, rows: Ints
    ) -> Floats:
        """The mass and expectations after a position, (batch, pairs, 1 + counts, counter).

        Args:
            plan: the plan of the references.
            mass: the same before the position; enough zeros at the end of the last axis.
            weights: the weights of the acceptor's arcs, (batch, arcs).
            added: what terms add.
            rows: the score rows that the steps of the hypotheses show, (terms, batch).
        """

    def means_back(
        self,
        plan: Plan,
        mass: Floats,
        weights: Floats,
        added: Amounts,
        rows: Ints,
        worth: Floats,
    ) -> tuple[Floats, Floats]:
        """The adjoint of ``means``: what the numbers before add to an expected value.

        And its derivatives with respect to the weights of the acceptor's arcs, (batch, arcs).

        Args:
            plan: the plan of the references.
            mass: the mass and expectations before the position.
            weights: the weights of the acceptor's arcs, (batch, arcs).
            added: what terms add.
            rows: the score rows that the steps of the hypotheses show, (terms, batch).
            worth: what the numbers after the position add to the expected value, with as many
                values of the counter as ``mass`` has.
        """

    def best(self, plan: BestPlan, layer: BestLayer, scores: Floats) -> BestLayer:
        """The best worth of reaching each pair after a position.

        Args:
            plan: the plan of the position.
            layer: the layer before.
            scores: what score rows are worth, (rows + 1, k); the last is 0.
        """

    def arc_back(
        self, plan: BestPlan, layer: BestLayer, scores: Floats, pair: int, count: int, k: int
    ) -> int:
        """The number of the arc by which a best path reaches a pair.

        Args:
            plan: the plan of the position.
            layer: the layer before.
            scores: what score rows are worth, (rows + 1, k).
            pair: the pair after.
            count: the count there.
            k: the count at the end.
        """


def steps_after(positions: int) -> Steps:
    """What computes a position of a trellis of which so many have been computed."""
    if positions < COMPILED_AFTER or not is_installed("numba"):
        return numpy_steps
    from fsmeu.trellis import compiled_steps

    return compiled_steps
