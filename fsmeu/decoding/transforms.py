"""The joint distribution of steps of y and the end of its counter, by roots of unity.

The counter's distribution is carried as its generating function at roots of unity, where
convolutions are products: O(n^2). The errors of that are absolute: a part of the probability of all
ends together, however small the probability of one. ``polynomials`` has relative ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.meeting import Joint
from fsmeu.decoding.precision import UNIT
from fsmeu.decoding.tape import Step, Tape
from fsmeu.expectation.input import Input
from fsmeu.fst.compose import guard_size

__all__ = ["transformed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Complex = NDArray[np.complex128]

_PER_STEP = 16
_PER_TRANSFORM = 32


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


def _arcs(step: Step, factors: Floats, powers: _Powers) -> _Arcs:
    after, label = np.nonzero(factors.any(axis=2))
    phase = powers.of(step.counted[label])
    return _Arcs(label, after, factors[after, label], step.targets[label], phase)


class _Powers:
    """Powers of the roots of unity, each computed once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.known: dict[int, Complex] = {}

    def of(self, counted: Ints) -> Complex:
        """The roots to the power of each count; a whole turn is left out before it is rounded."""
        counts, place = np.unique(counted, return_inverse=True)
        for count in counts.tolist():
            if count not in self.known:
                turns = np.arange(self.size // 2 + 1) * count % self.size
                self.known[count] = np.exp(-2j * np.pi * turns / self.size)
        table = np.array([self.known[count] for count in counts.tolist()])
        return table[place.reshape(counted.shape)]


def transformed(y: Tape, source: Input) -> Joint:
    """P(features of the step at i, counter ends at e) for every i, and P(counter ends at e).

    Every number in between is a sum over paths of their weight times a phase; each operation errs
    by a unit of rounding of the sum of weights, a path goes through n steps, and the transform back
    does not magnify the root of the sum of squares.
    """
    size = y.most + 1
    roots, powers = size // 2 + 1, _Powers(size)
    arcs = [_arcs(step, source.factors(i), powers) for i, step in enumerate(y.steps)]
    backward = _backward(arcs, y, source.final, roots)
    shown = np.empty((len(y.steps), len(y.rows), size))
    operations = _PER_TRANSFORM * (1 + size.bit_length())
    forward = np.zeros((len(source.start), 1, roots), np.complex128)
    forward[:, 0] = source.start[:, None]
    for i, (step, arc) in enumerate(zip(y.steps, arcs, strict=True)):
        operations += len(forward) + arc.targets.shape[1] * len(step.targets) + _PER_STEP
        spread = _times(arc.factors, forward) * arc.phase
        flows = spread * backward[i + 1][arc.after[:, None], arc.targets]
        transforms = _summed(flows, step.features[arc.label], len(y.rows))
        shown[i] = np.fft.irfft(transforms, size, axis=1)
        place = arc.after[:, None] * y.states[i + 1] + arc.targets
        moved = _summed(spread, place, len(backward[i + 1]) * y.states[i + 1])
        forward = moved.reshape(len(backward[i + 1]), y.states[i + 1], roots)
    ending = np.einsum("m,msj->j", source.final, forward)
    operations += max((arc.targets.size for arc in arcs), default=0)
    found = np.fft.irfft(ending, size)
    total = max(1.0, float(np.abs(ending).max()))
    return Joint(shown, found, 0.0, 2 * operations * UNIT * total)


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
