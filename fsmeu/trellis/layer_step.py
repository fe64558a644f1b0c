"""One position of a composition: masses and backward values moved over the arcs of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.layers import Layered, all_arcs
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.walk_kernels import (
    AcceptorArcs,
    BackwardLayer,
    MassLayer,
    Position,
    StateRange,
    StepTable,
    change,
    pull,
    push,
)


def acceptor_of(layered: Layered) -> AcceptorArcs:
    """The arcs of a layered acceptor as kernels read them."""
    none = np.zeros(0, np.int64)
    source = np.concatenate([none, *(layer.source for layer in layered.layers)])
    label = np.concatenate([none, *(layer.label for layer in layered.layers)])
    target = np.concatenate([none, *(layer.target for layer in layered.layers)])
    counts = [len(layer.source) for layer in layered.layers]
    arcs = np.array([0, *counts]).cumsum()
    position = np.arange(len(counts)).repeat(counts)
    symbols = len(layered.alphabet) ** 2  # labels may be those of pairs
    keys = (position * max(layered.widths) + target) * symbols + label
    order = keys.argsort(kind="stable")
    keys = keys[order]
    is_first = np.ones(len(keys) + 1, bool)
    is_first[1:-1] = keys[1:] != keys[:-1]
    first = is_first.nonzero()[0]
    heads = order[first[:-1]]
    group = np.zeros((len(first), 3), np.int64)
    group[:, 0] = first
    group[:-1, 1] = target[heads]
    group[:-1, 2] = label[heads]
    arc = np.zeros((len(order), 3), np.int64)
    arc[:, 0] = source[order]
    arc[:, 2] = np.arange(len(order))
    return AcceptorArcs(
        widths=np.array(layered.widths, np.int64),
        arcs=arcs,
        groups=first.searchsorted(arcs),
        group=group,
        arc=arc,
        order=order,
    )


@dataclass(frozen=True, eq=False)
class Steps:
    """Where each (symbol, state) of a layer leads."""

    table: StepTable
    cancelling: Floats  # greatest gain of each linear register, signs aside; 0: none is negative


def steps_of(targets: Ints, gains: Floats | None, width: int) -> Steps:
    """The steps with targets (states, symbols) and gains (linear registers, states, symbols)."""
    table = StepTable(targets.T.flatten(), np.zeros(0), targets.shape[1], width)
    if gains is None:
        return Steps(table, np.zeros(0))
    greatest = np.abs(gains).max(axis=(1, 2), initial=0.0)
    cancelling = np.where((gains < 0).any(axis=(1, 2)), greatest, 0.0)
    return Steps(table._replace(gain=gains.transpose(0, 2, 1).flatten()), cancelling)


class LayerStep:
    """Moves masses and backward values over the arcs of a layered acceptor.

    ``i`` is a position, counted from 0, ``mass`` the masses before it, ``beyond`` the backward
    values after it, in the shape of masses. An offset is added to labels of arcs, to make them
    symbols of the loss's steps.
    """

    def __init__(self, layered: Layered, linear: int) -> None:
        self.layered = layered
        self.acceptor = acceptor_of(layered)
        self.weight: Floats = all_arcs(layered).weight[self.acceptor.order]
        self.start = np.zeros((1 + linear, len(layered.start), 1))
        self.start[0, :, 0] = layered.start
        self._work = 0

    def forward(self, i: int, mass: Floats, steps: Steps, offset: int = 0) -> Floats:
        """The masses after position i."""
        after = np.zeros((len(mass), self.layered.widths[i + 1], steps.table.width))
        layer = self._layer(i, mass)
        run = kernel(push, self._work)
        run(self._position(i), layer, steps.table, offset, after.ravel())
        return after

    def backward(
        self, i: int, mass: Floats, steps: Steps, beyond: Floats, offset: int = 0
    ) -> tuple[Floats, Floats]:
        """The backward values before position i, and derivatives with respect to its weights."""
        begin, end = self.acceptor.arcs[i : i + 2]
        before = np.zeros(mass.shape)
        slopes = np.zeros(end - begin)
        layer = self._layer(i, mass)
        back = BackwardLayer(beyond.ravel(), before.ravel(), slopes)
        run = kernel(pull, self._work)
        run(self._position(i), layer, steps.table, offset, back)
        derivatives = np.zeros(end - begin)
        derivatives[self.acceptor.order[begin:end] - begin] = slopes
        return before, derivatives

    def changed(self, i: int, mass: Floats, steps: Steps, beyond: Floats, labels: int) -> Floats:
        """The expected value with each label z at position i, (labels,); symbols z * labels + y."""
        values = np.zeros(labels)
        layer = self._layer(i, mass)
        run = kernel(change, self._work)
        run(self._position(i), layer, steps.table, beyond.ravel(), values)
        return values

    def _position(self, i: int) -> Position:
        """The arcs and weights of the model at position i."""
        return Position(self.acceptor, self.weight, i)

    def _layer(self, i: int, mass: Floats) -> MassLayer:
        """The masses before position i for a kernel; its sums and products are counted as work."""
        quantities, _, states = mass.shape
        arcs = self.acceptor.arcs[i + 1] - self.acceptor.arcs[i]
        groups = self.acceptor.groups[i + 1] - self.acceptor.groups[i]
        self._work += int(arcs + 2 * groups) * quantities * states
        row = np.empty(quantities * states)
        return MassLayer(mass.ravel(), quantities, states, StateRange(0, states), row)
