"""What joint counts can be: how great, whether below 0, whether other than 0 without items.

Bounds of a search need T >= 0 for the joint count T of a pair of sequences. So it is where no
amount is negative. The F-score of chunks takes counts back: there the value tells, which is g T + h
with h = 0, and is declared to be at least 0. Where g is 0, as without any chunk, it tells nothing.

There T is seen to be 0 otherwise. Under weights of y's arcs, E[T; y counts nothing] is for every
hypothesis a polynomial in these weights, and so is E[T] of a hypothesis that counts nothing. Where
it is 0 under weights that are drawn at random, all its coefficients are, which are the counts of
single sequences (Schwartz 1980). Best paths find the greatest of all hypotheses.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.errors import LossFileError
from fsmeu.fst.layers import ArcWeights
from fsmeu.losses.machine.machine import build_machine, machine_view
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.trellis.best_kernels import most_by_count
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.price_kernels import best_at_prices, set_priced_steps

if TYPE_CHECKING:
    from fsmeu.trellis.engine import SplitTrellis

_ONLY_NONE = 800.0  # a node at which all that counts something has no mass
_NOTHING = 1e-10  # an expected joint count up to which it is 0
_FEW = 24  # the length at which the value is looked at for what its range tells


def most_joint(trellis: SplitTrellis, n: int, most: int) -> Floats:
    """Bounds on joint counts by length up to n and z's count up to ``most``, (n + 1, k).

    They may be below 0 where all that is shown takes away, and are -inf where no hypothesis is.
    """
    amounts = trellis.amounts
    score = amounts.greatest_of_rows()[amounts.table]
    joint = np.zeros((n + 1, most + 1))
    run = kernel(most_by_count, trellis.best_work(n))
    buffers = trellis.workspace.path_buffers(n, trellis.workspace.all_counts(n, most))
    run(trellis.paths, n, score, buffers, joint)
    return joint


def range_keeps_sign(trellis: SplitTrellis) -> bool:
    """Whether T >= 0 follows from the declared range of the value, which is g T + h.

    Where the range begins at h, or ends there, T has the sign of g, or the other; where g is 0, a
    tape that counts nothing must need items. The value is looked at for few labels. A range that
    the value of some pair of short sequences leaves tells nothing.
    """
    bound = trellis.tapes.form.bound
    if not trellis.tapes.stop_at_cap:  # beyond the cap, values are those of no pair
        derive = partial(_range_holds, bound)
        if not bound.at(1).derived.get("range holds for short pairs", derive):
            return False
    n = min(trellis.n, _FEW)
    z, y = trellis.counts_met(n)
    offset, slope = trellis.value_tables(n).swapaxes(0, 1)
    low, high = bound.at(n).range
    told = ((slope > 0) & (offset <= low)) | ((slope < 0) & (offset >= high))
    told[0] |= trellis.needs_item("z", trellis.n)
    told[:, 0] |= trellis.needs_item("y", trellis.n)
    return bool(told[z[:, None] & y].all())


def _range_holds(bound: BoundLoss) -> bool:
    """Whether the values of all pairs of short sequences lie in the declared range."""
    pairs = len(bound.alphabet) ** 2
    n = 1
    try:
        while pairs**n <= limits.SHORT_PAIRS:
            build_machine(bound.spec.name, bound.alphabet, machine_view(bound.at(n)))
            n += 1
    except LossFileError:
        return False
    return True


def nothing_without_items(trellis: SplitTrellis, n: int) -> tuple[bool, bool]:
    """Whether the joint count is 0 for all pairs of sequences where z counts nothing; and y."""
    scores, _ = trellis.with_lanes(np.array([0.0, _ONLY_NONE])).scores(
        _drawn_model(trellis, n), np.ones((1, 1, 2))
    )
    workspace = trellis.workspace
    z_is_nothing = y_is_nothing = True
    lines = np.zeros((2, 3))
    for sign in (1.0, -1.0):
        none = workspace.all_counts(n, 0)
        found = trellis.best(scores, np.array([[sign, 0.0]]), n, counts=none)
        z_is_nothing &= bool(found.by_count[0, 0] <= _NOTHING)
        with workspace.borrowed("prices", n, workspace.price_buffers) as buffers:
            fill = kernel(set_priced_steps, trellis.best_work(n))
            fill(trellis.paths, n, scores, np.array([0.0, sign]), buffers)
            kernel(best_at_prices, trellis.best_work(n))(trellis.paths, n, buffers, lines)
        y_is_nothing &= bool(lines[0, 1] <= _NOTHING)
    return z_is_nothing, y_is_nothing


def model_of(trellis: SplitTrellis, n: int, weights: Floats) -> ArcWeights:
    """A model of the trellis's structure with these weights of arcs, in which all states end."""
    starts = int(trellis.y_tables.width[0])
    states = 1 + int(trellis.y_tables.state.max())
    return ArcWeights(n, weights[None], np.full((1, starts), 1.0 / starts), np.ones((1, states)))


def _drawn_model(trellis: SplitTrellis, n: int) -> ArcWeights:
    """A model whose weights are drawn at random; those that leave a state add up to 1."""
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, int(trellis.weight_at[n]))
    for begin, source in zip(trellis.weight_at.tolist(), trellis.sources[:n], strict=False):
        part = drawn[begin : begin + len(source)]
        part /= np.bincount(source, part)[source]
    return model_of(trellis, n, drawn)
