"""What a step of the hypothesis is worth, when the reference follows a model.

With the loss split by tape, E[value] of a hypothesis is a sum over its steps plus a term for its
end, once it is known where its counter ends (k):

    sum over i of  W_i(features of z's step at i, k)  +  H(k)

W needs P(features of y's step at i, y's counter ends at e), which comes from forward and backward
distances over the y-part composed with the model (``transforms``, ``polynomials``). What rounding
may have done to the worth of a path is bounded, for each end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.precision import UNIT
from fsmeu.decoding.tape import Tape, walk_tape
from fsmeu.expectation.input import Input, model_input
from fsmeu.fst.compose import guard_size
from fsmeu.losses.affine import offset_and_slopes, starts_of
from fsmeu.losses.split import Split, amounts_table
from fsmeu.losses.values import Scope, number
from fsmeu.models import Model

__all__ = ["Distribution", "Joint", "Worth", "step_worths"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Joint:
    """How the steps of y and the end of its counter are distributed.

    Attributes:
        shown: P(features of the step at i, counter ends at e), (positions, feature rows, ends).
        ending: P(counter ends at e).
        relative: a bound on the error of each probability, as a part of it.
        absolute: a bound on the errors of all ends together (root of the sum of squares), as a part
            of the probability of the features.
    """

    shown: Floats
    ending: Floats
    relative: float
    absolute: float


Distribution = Callable[[Tape, Input], Joint]
"""A way to compute that, for the y-part and a model."""


@dataclass(frozen=True, eq=False)
class Worth:
    """The worth of steps of z, each for every end k of its counter.

    Attributes:
        z: the steps of the hypothesis tape.
        steps: worth (positions, feature rows of z, ends k).
        ends: worth of ending at k, whatever the path.
        errors: bounds on the error of the worth of every path that ends at k.
    """

    z: Tape
    steps: Floats
    ends: Floats
    errors: Floats


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def step_worths(form: Split, model: Model, distribution: Distribution) -> Worth:
    """The worth of every step that a hypothesis can take.

    Requires that the value looks at no more than one counter of each tape.
    """
    n = model.n
    z, y = walk_tape(form.z, n), walk_tape(form.y, n)
    guard_size("decode", (z.most + 1) * (y.most + 1) // 4)
    guard_size("decode", n * len(y.rows) * (max(z.most, y.most) + 1) // 8)
    joint = distribution(y, model_input(model))
    slopes, offset = _value_tables(form, n, z.most, y.most)
    masses = np.abs(joint.shown.sum(axis=2))
    guard_size("decode", n * len(z.rows) * (z.most + 1) // 8)
    steps = np.zeros((n, len(z.rows), z.most + 1))
    errors = _error(offset, offset, joint, n, 1.0, 1.0)
    for meeting, slope in zip(form.meetings if n else (), slopes if n else (), strict=True):
        met = joint.shown @ slope.T
        amounts = amounts_table(form, meeting, z.rows, y.rows, 1, n)
        greatest = expected = 0.0
        for i in range(n):
            if meeting.reads_clock:
                amounts = amounts_table(form, meeting, z.rows, y.rows, i + 1, n)
            above, below = np.unique(z.steps[i].features), np.unique(y.steps[i].features)
            added = amounts[np.ix_(above, below)]
            steps[i, above] += added @ met[i, below]
            greatest += float(np.abs(added).max(initial=0.0))
            expected += float((np.abs(added) @ masses[i, below]).max(initial=0.0))
        errors += _error(slope, offset, joint, n + len(y.rows), greatest, expected)
    return Worth(z, steps, joint.ending @ offset.T, errors)


def _error(
    slope: Floats, offset: Floats, joint: Joint, operations: int, greatest: float, expected: float
) -> Floats:
    """A bound on the error of what one accumulator is worth, for each end k.

    Args:
        slope: its slope for each (k, e), the difference of two values, one of them the offset.
        offset: the value without accumulators.
        joint: the distribution of e, and its errors.
        operations: the sums that follow.
        greatest: the sum over positions of the greatest amount.
        expected: the same, amounts weighted by the probability of what y shows.
    """
    size = np.abs(slope)
    rounded = size + 4 * np.abs(offset)
    chances = np.abs(joint.ending)
    relative = joint.relative + 2 * (operations + slope.shape[1]) * UNIT
    errors = greatest * (relative * (size @ chances) + UNIT * (rounded @ chances))
    if joint.absolute:
        errors += expected * joint.absolute * np.linalg.norm(size, axis=1)
    least: Floats = errors + greatest * _LEAST * UNIT * rounded.sum(axis=1) * operations
    return least


def _value_tables(form: Split, n: int, z_most: int, y_most: int) -> tuple[list[Floats], Floats]:
    """Slopes g_r(k, e) of each accumulator and offset h(k, e), for all ends of the counters."""
    shape = (z_most + 1, y_most + 1)
    ends: dict[str, Any] = {"n": float(n)}
    if form.z.counter is not None:
        ends[form.z.counter] = np.arange(shape[0], dtype=np.float64)[:, None]
    if form.y.counter is not None:
        ends[form.y.counter] = np.arange(shape[1], dtype=np.float64)[None, :]

    def at(met: Mapping[str, float]) -> Floats:
        current = {**ends, **met}
        scope = Scope(form.bound, current, current, {})
        return np.broadcast_to(number(form.bound.spec.value, scope), shape).astype(np.float64)

    registers = [meeting.register for meeting in form.meetings]
    offset, slopes = offset_and_slopes(at, starts_of(form.bound, registers, n))
    return slopes, offset
