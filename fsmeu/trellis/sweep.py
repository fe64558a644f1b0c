"""The sweep forward over a trellis, run by run.

Sequences of a batch share the structure, not the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.trellis.counts import Counts
from fsmeu.trellis.plan import Plan
from fsmeu.trellis.steps import Steps, Swept
from fsmeu.trellis.terms import Amounts

__all__ = ["Run", "forward", "runs_of"]

Floats = NDArray[np.float64]


class Run(NamedTuple):
    """Positions in a row that are summed in one way.

    Attributes:
        plan: the plan of all of them.
        added: what terms add at all of them.
        weights: the weights of the acceptor's arcs, (positions, batch, arcs).
    """

    plan: Plan
    added: Amounts
    weights: Floats


def runs_of(
    plans: Sequence[Plan],
    added: Sequence[Amounts],
    weights: Sequence[Sequence[Floats]],
    longest: Callable[[Plan], int],
) -> list[Run]:
    """The runs of all positions, in their order.

    Args:
        plans: the plan of each position.
        added: what terms add at each.
        weights: the weights of the acceptor's arcs at each, (arcs,), for each sequence.
        longest: how many positions of a plan a run may have.
    """
    begins: list[int] = []
    for i, (plan, amounts) in enumerate(zip(plans, added, strict=True)):
        begin = begins[-1] if begins else 0
        same = i > 0 and plan is plans[begin] and amounts is added[begin]
        if not same or i - begin >= longest(plan):
            begins.append(i)
    parts = zip(begins, [*begins[1:], len(plans)], strict=False)  # no begin, no run
    return [Run(plans[i], added[i], np.array(weights[i:j])) for i, j in parts]


def forward(
    runs: Sequence[Run], start: Floats, counts: Counts, steps: Steps
) -> tuple[list[Swept], Floats]:
    """The mass that reaches each pair, run by run, and the last layer's, (batch, pairs, columns).

    Args:
        runs: all positions.
        start: the mass of each pair of layer 0, (batch, pairs).
        counts: how the distribution of the counter is held.
        steps: what computes a run.
    """
    mass, found = start[:, :, None] * counts.one(), []
    for run in runs:
        after, moved = steps.forward(run.plan, run.weights, mass, counts)
        found.append(Swept(mass, after, moved))
        mass = after[-1]
    return found, mass
