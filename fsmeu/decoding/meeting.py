"""What a step of the hypothesis is worth, when the reference follows a model.

With the loss split by tape, E[value] of a hypothesis is a sum over its steps plus a term for its end, once
it is known where its counter ends (k):

    sum over i of  W_i(features of z's step at i, k)  +  H(k)

W needs P(features of y's step at i, y's counter ends at e), which comes from forward and backward
distances over the y-part composed with the model. The counter's distribution is carried as its
generating function at roots of unity, where convolutions are products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.tape import Tape, walk_tape
from fsmeu.expectation.input import Input, model_input
from fsmeu.fst.compose import guard_size
from fsmeu.losses.split import Split, amounts_table
from fsmeu.losses.values import Scope, evaluate
from fsmeu.models import Model

__all__ = ["Worth", "step_worths"]

Floats = NDArray[np.float64]
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
            steps[i] += amounts @ met[i]
    return Worth(z, steps, offset @ ending)


def _value_tables(form: Split, n: int, z_most: int, y_most: int) -> tuple[list[Floats], Floats]:
    """Slopes g_r(k, e) of each accumulator and offset h(k, e), for all ends of the counters."""
    shape = (z_most + 1, y_most + 1)
    ends: dict[str, Any] = {"n": float(n)}
    if form.z.counter is not None:
        ends[form.z.counter] = np.arange(shape[0], dtype=np.float64)[:, None]
    if form.y.counter is not None:
        ends[form.y.counter] = np.arange(shape[1], dtype=np.float64)[None, :]
    zeros = {meeting.register: 0.0 for meeting in form.meetings}

    def at(current: dict[str, Any]) -> Floats:
        scope = Scope(form.bound, current, current, {})
        return np.broadcast_to(evaluate(form.bound.spec.value, scope), shape).astype(np.float64)

    offset = at({**ends, **zeros})
    return [at({**ends, **zeros, m.register: 1.0}) - offset for m in form.meetings], offset


def _reference_distribution(y: Tape, source: Input) -> tuple[Floats, Floats]:
    """P(features of the step at i, counter ends at e) for every i, and P(counter ends at e)."""
    size = y.most + 1
    roots = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    backward = _backward(y, source, roots)
    shown = np.empty((len(y.steps), len(y.rows), size))
    forward = np.zeros((len(source.start), 1, len(roots)), np.complex128)
    forward[:, 0] = source.start[:, None]
    for i, step in enumerate(y.steps):
        spread = _spread(forward, source.factors(i), roots, step.counted)
        reached = backward[i + 1][:, np.maximum(step.targets, 0)]
        flows = (spread * reached).sum(axis=0).reshape(-1, len(roots))
        transforms = np.zeros((len(y.rows), len(roots)), np.complex128)
        np.add.at(transforms, step.features.ravel(), flows)
        shown[i] = np.fft.irfft(transforms, size, axis=1)
        forward = _gathered(spread, step.transfer.order, step.transfer.starts,
                            step.transfer.reached, step.transfer.width)
    ending = np.einsum("m,msj->j", source.final, forward)
    return shown, np.fft.irfft(ending, size)


def _spread(forward: Complex, factors: Floats, roots: Complex, counted: Any) -> Complex:
    """Mass on each (next model state, label, state), with what the step counts as a phase."""
    after, symbols, width = factors.shape
    states = forward.shape[1]
    flat = factors.reshape(-1, width) @ forward.reshape(width, -1)
    spread = flat.reshape(after, symbols, states, len(roots))
    return spread * _phase(roots, counted)


def _phase(roots: Complex, counted: Any) -> Complex:
    """roots ** counted for every (label, state)."""
    powers = np.stack([roots**k for k in range(int(counted.max(initial=0)) + 1)])
    return powers[counted]


def _gathered(spread: Complex, order: Any, starts: Any, reached: Any, width: int) -> Complex:
    """Sums over the (label, state) pairs that lead to each next state."""
    after, roots = spread.shape[0], spread.shape[3]
    flat = spread.reshape(after, -1, roots)
    moved = np.zeros((after, width, roots), np.complex128)
    moved[:, reached] = np.add.reduceat(flat[:, order], starts, axis=1)
    return moved


def _backward(y: Tape, source: Input, roots: Complex) -> list[Complex]:
    """For each layer, the generating function of what is still to be counted from each state."""
    guard_size("decode", sum(y.states) * len(source.final) * len(roots) // 4)
    worth = np.zeros((len(source.final), y.states[-1], len(roots)), np.complex128)
    worth += source.final[:, None, None]
    layers = [worth]
    for i in range(len(y.steps) - 1, -1, -1):
        step, factors = y.steps[i], source.factors(i)
        after, symbols, width = factors.shape
        reached = layers[-1][:, np.maximum(step.targets, 0)] * _phase(roots, step.counted)
        flat = factors.reshape(-1, width).T @ reached.reshape(after * symbols, -1)
        layers.append(flat.reshape(width, step.targets.shape[1], len(roots)))
    return layers[::-1]
