"""Merging states of a compiled loss that no continuation can tell apart.

A machine is for pairs of length exactly n, so what a state does matters only for the continuations
that such pairs have left. A state that is met after d positions has a *class at depth d*: all that
do the same to every continuation of length n - d. These classes are found on the machine unrolled
into layers, where they depend on nothing but the loss: two files that say the same loss have the
same layers of classes, however clumsy one of them is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size, max_states
from fsmeu.losses.machine.absorb_states import fold
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.machine.refine import refine, refine_layers

__all__ = ["Unrolled", "minimize", "same_values", "unroll"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A machine in layers: its states once for every depth at which they are met.

    Attributes:
        machine: the machine.
        depth: the depth of each unrolled state, ascending; state 0 is the start.
        state: the state of the machine that it is.
        targets: target (states, pairs) of each step, -1 where there is none.
    """

    machine: Machine
    depth: Ints
    state: Ints
    targets: Ints

    @property
    def widths(self) -> Ints:
        """The number of states of each layer."""
        return np.bincount(self.depth, minlength=self.machine.n + 1)

    def classes(self) -> Ints:
        """The class of each unrolled state, numbered through all layers; -1 if no pair ends."""
        values = same_values(self.machine.values)[self.state]
        outputs = np.where(self.depth == self.machine.n, values, -1)
        return refine_layers(self.depth, self.targets, outputs)


def minimize(machine: Machine, *, layered: bool = False, limit: int | None = None) -> Machine:
    """A machine with fewer states that gives every pair of length n the same value.

    Args:
        machine: a compiled loss.
        layered: True for the least machine in layers. It is the same for all files of one loss,
            but a state that many depths share is there once for each. Otherwise states that
            several depths share stay shared, and there are never more of them than before.
        limit: greatest number of states to unroll the machine to.

    Raises:
        SizeLimitError: ``layered`` is set, and there are more states than the limit in all layers.
    """
    smaller = _merged(machine, refine(_steps(machine), same_values(machine.values)))
    if not layered:
        most = max_states(limit)
        while _unrolled_size(smaller, most) <= most:
            before = smaller.states
            smaller = _folded(smaller)
            if smaller.states == before:
                break
        return smaller
    size = _unrolled_size(smaller, max_states(limit))
    guard_size(f"{machine.name}, in layers", size, limit, least=True)
    layers = unroll(smaller)
    return _merged(_as_machine(layers), layers.classes())


def unroll(machine: Machine) -> Unrolled:
    """The machine in layers."""
    layers = list(_layers(machine))
    sizes = [len(layer) for layer in layers]
    steps = _steps(machine)
    targets = []
    begin = 0
    for here, after in zip(layers, [*layers[1:], layers[0][:0]], strict=True):
        begin += len(here)
        place = np.full(machine.states + 1, -1, np.int64)
        place[after] = begin + np.arange(len(after))
        targets.append(place[steps[here]])
    depth = np.repeat(np.arange(machine.n + 1), sizes)
    return Unrolled(machine, depth, np.concatenate(layers), np.concatenate(targets))


def same_values(values: Floats) -> Ints:
    """Numbers for values, ascending with them and the same for equal ones; -1 for nan."""
    numbers = np.full(len(values), -1, np.int64)
    ends = ~np.isnan(values)
    numbers[ends] = np.unique(values[ends], return_inverse=True)[1]
    return numbers


def _steps(machine: Machine) -> Ints:
    return machine.next.reshape(machine.states, -1)


def _layers(machine: Machine) -> Iterator[Ints]:
    """The states that are met at each depth."""
    steps = _steps(machine)
    layer = np.zeros(1, np.int64)
    yield layer
    for _ in range(machine.n):
        met = np.zeros(machine.states + 1, bool)
        met[steps[layer]] = True
        layer = np.flatnonzero(met[:-1])
        yield layer


def _unrolled_size(machine: Machine, enough: int) -> int:
    """The number of states in all layers, scaled up where a state has many arcs.

    More than enough need not be counted.
    """
    each = max(4, len(machine.alphabet) ** 2)
    total = 0
    for layer in _layers(machine):
        total += len(layer)
        if total * each // 4 > enough:
            break
    return total * each // 4


def _as_machine(layers: Unrolled) -> Machine:
    machine, size = layers.machine, len(layers.machine.alphabet)
    values = np.where(layers.depth == machine.n, machine.values[layers.state], np.nan)
    registers = {name: held[layers.state] for name, held in machine.registers.items()}
    steps = layers.targets.reshape(-1, size, size)
    return replace(machine, next=steps, values=values, registers=registers)


def _folded(machine: Machine) -> Machine:
    """The machine without states that others can stand in for at every depth they are met at."""
    layers = unroll(machine)
    stand_in = fold(layers.depth, layers.state, layers.classes(), machine.states)
    kept = np.unique(stand_in)
    number = np.full(machine.states, -1, np.int64)
    number[kept] = np.arange(len(kept))
    classes = np.where(stand_in >= 0, number[stand_in], -1)
    return _merged(machine, classes, kept)


def _merged(machine: Machine, classes: Ints, kept: Ints | None = None) -> Machine:
    """The machine whose states are these classes, each as its representative is.

    Args:
        machine: the machine.
        classes: the class of each state, -1 for states to leave out; that of the start is 0.
        kept: the representative of each class; its first state when None.
    """
    if kept is None:
        numbers, first = np.unique(classes, return_index=True)
        kept = first[numbers >= 0]
    if not len(kept):
        return machine
    steps = machine.next[kept]
    steps = np.where(steps >= 0, classes[steps], -1)
    registers = {name: held[kept] for name, held in machine.registers.items()}
    merged = replace(machine, next=steps, values=machine.values[kept], registers=registers)
    return _reachable(merged)


def _reachable(machine: Machine) -> Machine:
    """The machine without the states that no pair of length n meets."""
    steps = _steps(machine)
    reached = np.zeros(machine.states + 1, bool)
    fresh = np.zeros(1, np.int64)
    reached[0] = True
    for _ in range(machine.n):
        after = np.zeros(machine.states + 1, bool)
        after[steps[fresh]] = True
        fresh = np.flatnonzero(after[:-1] & ~reached[:-1])
        if not len(fresh):
            break
        reached[fresh] = True
    met = np.flatnonzero(reached[:-1])
    if len(met) == machine.states:
        return machine
    number = np.full(machine.states + 1, -1, np.int64)
    number[met] = np.arange(len(met))
    registers = {name: held[met] for name, held in machine.registers.items()}
    return replace(
        machine, next=number[machine.next[met]], values=machine.values[met], registers=registers
    )
