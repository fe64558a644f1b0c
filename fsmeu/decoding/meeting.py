"""What a step of the hypothesis is worth, when the reference follows a model.

With the loss split by tape, E[value] of a hypothesis is a sum over its steps plus a term for its
end, once it is known where its counter ends (k):

    sum over i of  W_i(features of z's step at i, k)  +  H(k)

W needs P(features of y's step at i, y's counter ends at e), which comes from forward and backward
distances over the y-part composed with the model. The counter's distribution is carried as its
generating function at roots of unity, where convolutions are products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.tape import Step, Tape, walk_tape
from fsmeu.expectation.input import Input, model_input
from fsmeu.fst.compose import guard_size
from fsmeu.losses.affine import offset_and_slopes, starts_of
from fsmeu.losses.split import Split, amounts_table
from fsmeu.losses.values import Scope, evaluate
from fsmeu.models import Model

__all__ = ["Worth", "step_worths"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Worth:
    """The worth of steps of z, each for every end k of its counter.

    Attributes:
        z: the steps of the hypothesis tape.
        steps: worth (positions, feature rows of z, ends k).
        ends: worth of ending at k, whatever the path.
    """

    z: Tape
    steps: Floats
    ends: Floats


def step_worths(form: Split, model: Model) -> Worth:
    """The worth of every step that a hypothesis can take.

    Requires that the value looks at no more than one counter of each tape.
    """
    n = model.n
    z, y = walk_tape(form.z, n), walk_tape(form.y, n)
    shown, ending = _reference_distribution(y, model_input(model))
    slopes, offset = _value_tables(form, n, z.most, y.most)
    guard_size("decode", n * len(y.rows) * (z.most + 1) // 8)
    steps = np.zeros((n, len(z.rows), z.most + 1))
    for meeting, slope in zip(form.meetings if n else (), slopes if n else (), strict=True):
        met = shown @ slope.T
        amounts = amounts_table(form, meeting, z.rows, y.rows, 1, n)
        for i in range(n):
            if meeting.reads_clock:
                amounts = amounts_table(form, meeting, z.rows, y.rows, i + 1, n)
            above, below = np.unique(z.steps[i].features), np.unique(y.steps[i].features)
            steps[i, above] += amounts[np.ix_(above, below)] @ met[i, below]
    return Worth(z, steps, offset @ ending)


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
        return np.broadcast_to(evaluate(form.bound.spec.value, scope), shape).astype(np.float64)

    registers = [meeting.register for meeting in form.meetings]
    offset, slopes = offset_and_slopes(at, starts_of(form.bound, registers, n))
    return slopes, offset


@dataclass(frozen=True, eq=False)
class _Arcs:
    """The arcs of the y-part composed with the model at one position.

    Attributes:
        label: the label that each kind of arc reads.
        after: the model state that it leads to.
        factors: its weight from every model state, (kinds, model states).
        targets: the tape state that it leads to from every tape state, (kinds, states).
        phase: the generating function of what it counts, (kinds, states, roots).
    """

    label: Ints
    after: Ints
    factors: Floats
    targets: Ints
    phase: Complex


def _arcs(step: Step, factors: Floats, powers: Complex) -> _Arcs:
    after, label = np.nonzero(factors.any(axis=2))
    targets = step.targets[label]
    return _Arcs(label, after, factors[after, label], targets, powers[step.counted[label]])


def _reference_distribution(y: Tape, source: Input) -> tuple[Floats, Floats]:
    """P(features of the step at i, counter ends at e) for every i, and P(counter ends at e)."""
    size = y.most + 1
    roots = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    most = max((int(step.counted.max(initial=0)) for step in y.steps), default=0)
    powers = np.stack([roots**k for k in range(most + 1)])
    arcs = [_arcs(step, source.factors(i), powers) for i, step in enumerate(y.steps)]
    backward = _backward(arcs, y, source.final, len(roots))
    shown = np.empty((len(y.steps), len(y.rows), size))
    forward = np.zeros((len(source.start), 1, len(roots)), np.complex128)
    forward[:, 0] = source.start[:, None]
    for i, (step, arc) in enumerate(zip(y.steps, arcs, strict=True)):
        spread = _times(arc.factors, forward) * arc.phase
        flows = spread * backward[i + 1][arc.after[:, None], arc.targets]
        transforms = _summed(flows, step.features[arc.label], len(y.rows))
        shown[i] = np.fft.irfft(transforms, size, axis=1)
        place = arc.after[:, None] * y.states[i + 1] + arc.targets
        moved = _summed(spread, place, len(backward[i + 1]) * y.states[i + 1])
        forward = moved.reshape(len(backward[i + 1]), y.states[i + 1], len(roots))
    ending = np.einsum("m,msj->j", source.final, forward)
    return shown, np.fft.irfft(ending, size)


def _times(factors: Floats, values: Complex) -> Complex:
    """Factors (rows, model states) times values (model states, states, roots)."""
    flat = values.reshape(len(values), -1)
    both = factors @ flat.real + 1j * (factors @ flat.imag)
    return both.reshape(len(factors), *values.shape[1:])


def _summed(values: Complex, place: Ints, size: int) -> Complex:
    """Sums of the rows of values that share a place."""
    flat, rows = place.ravel(), values.reshape(place.size, values.shape[-1])
    order = np.argsort(flat, kind="stable")
    found, starts = np.unique(flat[order], return_index=True)
    sums = np.zeros((size, values.shape[-1]), np.complex128)
    if len(found):
        sums[found] = np.add.reduceat(rows[order], starts, axis=0)
    return sums


def _backward(arcs: list[_Arcs], y: Tape, final: Floats, roots: int) -> list[Complex]:
    """For each layer, the generating function of what is still to be counted from each state."""
    guard_size("decode", sum(y.states) * len(final) * roots // 4)
    worth = np.zeros((len(final), y.states[-1], roots), np.complex128)
    worth += final[:, None, None]
    layers = [worth]
    for arc in reversed(arcs):
        reached = layers[-1][arc.after[:, None], arc.targets] * arc.phase
        layers.append(_times(arc.factors.T, reached))
    return layers[::-1]
