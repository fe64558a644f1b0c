"""The product of a loss and a model at one position: masses forward, values backward.

Masses have the shape (quantities, model states, loss states): quantity 0 is probability, the others
are expectations of the registers in which the value is linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.layers import Layered, all_arcs
from fsmeu.trellis.compiled import kernels


class Acceptor(NamedTuple):
    """The arcs of a layered acceptor, those of a position sorted by state after and label."""

    widths: Ints  # states of each layer, (n + 1,)
    arcs: Ints  # where the arcs of each position begin, (n + 1,)
    groups: Ints  # where the groups of each position begin, (n + 1,)
    group: Ints  # first arc, state after and label of each group, and the end, (groups + 1, 3)
    arc: Ints  # state before, 0, its own number, of each arc, (arcs, 3)
    order: Ints  # where each arc stands among those of the layers, one layer after the other
    largest: Ints  # the greatest number of arcs in a group, (1,)


def acceptor_of(layered: Layered) -> Acceptor:
    """The arcs of a layered acceptor as kernels read them."""
    every, widths = all_arcs(layered), np.array(layered.widths, np.int64)
    arcs = np.array([0, *(len(layer.source) for layer in layered.layers)]).cumsum()
    begins, position = widths.cumsum() - widths, np.arange(layered.n).repeat(np.diff(arcs))
    source, target = every.source - begins[position], every.target - begins[position + 1]
    keys = every.target * len(layered.alphabet) ** 2 + every.label  # which may be that of a pair
    order = keys.argsort(kind="stable")
    keys = keys[order]
    is_first = np.ones(len(keys) + 1, bool)
    is_first[1:-1] = keys[1:] != keys[:-1]
    first = is_first.nonzero()[0]
    heads, group = order[first[:-1]], np.zeros((len(first), 3), np.int64)
    group[:, 0], group[:-1, 1], group[:-1, 2] = first, target[heads], every.label[heads]
    arc = np.zeros((len(order), 3), np.int64)
    arc[:, 0], arc[:, 2] = source[order], np.arange(len(order))
    largest = np.array([(first[1:] - first[:-1]).max(initial=0)])
    return Acceptor(widths, arcs, first.searchsorted(arcs), group, arc, order, largest)


@dataclass(frozen=True, eq=False)
class Steps:
    """Where each (symbol, state) of a layer leads."""

    step: Ints  # the state after, -1 for none, (symbols * states,)
    gain: Floats  # what linear registers gain, (linear registers * symbols * states,)
    width: int  # the number of states after
    most: int  # the greatest number of (symbol, state) that lead to one state
    cancelling: Floats  # greatest gain of each linear register, signs aside; 0: none is negative


def steps_of(targets: Ints, gains: Floats | None, width: int) -> Steps:
    """The steps with targets (states, symbols) and gains (linear registers, states, symbols)."""
    most = int(np.bincount(targets[targets >= 0]).max(initial=0))
    if gains is None:
        return Steps(targets.T.flatten(), np.zeros(0), width, most, np.zeros(0))
    greatest = np.abs(gains).max(axis=(1, 2), initial=0.0)
    cancelling = np.where((gains < 0).any(axis=(1, 2)), greatest, 0.0)
    return Steps(targets.T.flatten(), gains.transpose(0, 2, 1).flatten(), width, most, cancelling)


class Mover:
    """Moves masses and backward values over the arcs of a layered acceptor.

    ``i`` is a position, counted from 0, ``mass`` the masses before it, ``beyond`` the backward
    values after it, in the shape of masses. An offset is added to labels of arcs, to make them
    symbols of the loss's steps.
    """

    def __init__(self, layered: Layered, linear: int) -> None:
        self.layered, self.acceptor = layered, acceptor_of(layered)
        self.weight: Floats = all_arcs(layered).weight[self.acceptor.order]
        self.start = np.zeros((1 + linear, len(layered.start), 1))
        self.start[0, :, 0] = layered.start
        self._work = 0

    def forward(self, i: int, mass: Floats, steps: Steps, offset: int = 0) -> Floats:
        """The masses after position i."""
        after = np.zeros((len(mass), self.layered.widths[i + 1], steps.width))
        self._run("push", i, mass, steps, offset, after.ravel())
        return after

    def backward(
        self, i: int, mass: Floats, steps: Steps, beyond: Floats, offset: int = 0
    ) -> tuple[Floats, Floats]:
        """The backward values before position i, and derivatives with respect to its weights."""
        begin, end = self.acceptor.arcs[i : i + 2]
        before, slopes, found = np.zeros(mass.shape), np.zeros(end - begin), np.empty(end - begin)
        self._run("pull", i, mass, steps, offset, beyond.ravel(), before.ravel(), slopes)
        found[self.acceptor.order[begin:end] - begin] = slopes
        return before, found

    def changed(self, i: int, mass: Floats, steps: Steps, beyond: Floats, labels: int) -> Floats:
        """The expected value with each label of z at position i, (labels,).

        Symbols of the steps are pairs z * labels + y.
        """
        values = np.zeros(labels)
        self._run("change", i, mass, steps, labels, beyond.ravel(), values)
        return values

    def _run(
        self, name: str, i: int, mass: Floats, steps: Steps, number: int, *arrays: Floats
    ) -> None:
        """Calls a kernel for a position."""
        quantities, _, states = mass.shape
        if not states:
            return
        arcs, groups = (at[i + 1] - at[i] for at in (self.acceptor.arcs, self.acceptor.groups))
        self._work += int(arcs + 2 * groups) * quantities * states
        shape = (quantities, len(steps.step) // states, states, steps.width, 0, states)
        room, run = (
            np.empty(quantities * states),
            getattr(kernels("walk_kernels", self._work), name),
        )
        flat, step, gain = mass.ravel(), steps.step, steps.gain
        run(self.acceptor, i, self.weight, flat, shape, step, gain, number, room, *arrays)
