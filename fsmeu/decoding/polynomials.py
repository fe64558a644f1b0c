"""The joint distribution of steps of y and the end of its counter, by convolutions.

The counter's distribution is carried as the probabilities themselves. Sums and products of numbers
that are not negative keep their relative precision, however small they are: O(n^3), where values
span so many orders of magnitude that ``transforms`` would lose what they magnify.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fsmeu.decoding.meeting import Joint
from fsmeu.decoding.precision import UNIT
from fsmeu.decoding.tape import Step, Tape
from fsmeu.expectation.input import Input
from fsmeu.fst.compose import guard_size

__all__ = ["convolved"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PER_STEP = 8


def convolved(y: Tape, source: Input) -> Joint:
    """P(features of the step at i, counter ends at e) for every i, and P(counter ends at e).

    A path goes through n steps, each a few sums and products of what is not negative, and through
    one convolution.
    """
    size, n = y.most + 1, len(y.steps)
    guard_size("decode", sum(y.states) * len(source.final) * size // 8)
    guard_size("decode", size * size // 4)
    forward = np.zeros((len(source.start), 1, size))
    forward[:, 0, 0] = source.start
    ahead = [forward]
    operations = size
    for i, step in enumerate(y.steps):
        operations += len(ahead[-1]) + step.targets.size + _PER_STEP
        ahead.append(_pushed(step, source.factors(i), ahead[-1], y.states[i + 1]))
    worth = np.zeros((len(source.final), y.states[-1], size))
    worth[:, :, 0] = source.final[:, None]
    shown = np.zeros((n, len(y.rows), size))
    for i in range(n - 1, -1, -1):
        step, factors = y.steps[i], source.factors(i)
        shown[i] = _met(step, factors, ahead[i], worth, len(y.rows))
        worth = _pulled(step, factors, worth)
    ending = np.einsum("m,msc->c", source.final, ahead[-1])
    operations += max((step.targets.size for step in y.steps), default=0) * len(source.final)
    return Joint(shown, ending, 2 * operations * UNIT, 0.0)


def _moved(values: Floats, counted: int) -> Floats:
    """Distributions of a count that has grown; nothing leaves the array, which holds all counts."""
    if not counted:
        return values
    moved = np.zeros_like(values)
    moved[..., counted:] = values[..., :-counted]
    return moved


def _groups(step: Step, label: int) -> list[tuple[int, Ints, Ints]]:
    """The tape states that read a label, by what they count; and where they lead."""
    state = np.flatnonzero(step.targets[label] >= 0)
    counted = step.counted[label, state]
    parts = ((amount, state[counted == amount]) for amount in np.unique(counted).tolist())
    return [(amount, before, step.targets[label, before]) for amount, before in parts]


def _pushed(step: Step, factors: Floats, mass: Floats, width: int) -> Floats:
    """The mass (model states, tape states, counts) after a position."""
    after = np.zeros((len(factors), width, mass.shape[2]))
    for label in range(len(step.targets)):
        weighted = np.tensordot(factors[:, label], mass, 1)
        for counted, before, target in _groups(step, label):
            _add(after, target, _moved(weighted[:, before], counted))
    return after


def _pulled(step: Step, factors: Floats, worth: Floats) -> Floats:
    """The distribution of what is still to be counted, from each state before a position."""
    before = np.zeros((factors.shape[2], step.targets.shape[1], worth.shape[2]))
    for label in range(len(step.targets)):
        weighted = np.tensordot(factors[:, label].T, worth, 1)
        for counted, state, target in _groups(step, label):
            before[:, state] += _moved(weighted[:, target], counted)
    return before


def _met(step: Step, factors: Floats, mass: Floats, worth: Floats, rows: int) -> Floats:
    """P(features of the step, counter ends at e), (feature rows, ends)."""
    models, states, size = worth.shape
    through = np.zeros((models, states * rows, size))
    for label in range(len(step.targets)):
        weighted = np.tensordot(factors[:, label], mass, 1)
        for counted, before, target in _groups(step, label):
            place = target * rows + step.features[label, before]
            _add(through, place, _moved(weighted[:, before], counted))
    parts = through.reshape(models, states, rows, size)
    met = np.zeros((rows, size))
    for model, state in np.argwhere(parts.any(axis=(2, 3))).tolist():
        padded = np.concatenate([np.zeros(size - 1), worth[model, state]])
        met += parts[model, state] @ sliding_window_view(padded, size)[::-1]
    return met


def _add(sums: Floats, place: Ints, values: Floats) -> None:
    """Adds columns of values to those of the sums at their places, which may repeat."""
    for column, at in enumerate(place.tolist()):
        sums[:, at] += values[:, column]
