"""Machines with fewer states: those that no continuation can tell apart are merged.

A state that is reached after d positions has a *class at depth d*: all that do the same to every
continuation of length n - d. On the machine unrolled into layers these classes depend on nothing
but the loss: two files of the same loss have the same classes, however they are written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.distinct import by_first, refine, refine_layers
from fsmeu.losses.machine.machine import Machine


def minimize(machine: Machine, *, layered: bool = False) -> Machine:
    """A machine with fewer states that gives every pair of length n the same value.

    ``layered`` makes the least machine in layers: it is the same for all files of one loss, but a
    state that many depths share is there once for each, and a SizeLimitError is raised if they are
    more than ``FSMEU_MAX_STATES``. Otherwise there are never more states than before.
    """
    smaller = _quotient(machine, refine(_steps(machine), same_values(machine.values)))
    before = smaller.states + 1
    most = max_states()
    size = _unrolled_size(smaller, most)
    if layered:
        guard_size(f"{machine.name}, in layers", size, least=True)
        unrolled = smaller.unrolled
        return _quotient(unrolled, by_first(classes_by_depth(unrolled)[1]))
    while smaller.states < before and size <= most:
        before = smaller.states
        smaller = _absorbed(smaller)
        size = _unrolled_size(smaller, most)
    return smaller


def classes_by_depth(machine: Machine) -> tuple[list[Ints], Ints]:
    """The states reached at each depth from 0 to n, ascending, and their classes.

    Classes are those of all depths in a row, numbered through; -1 if no pair ends.
    """
    layers = list(_layers(machine))
    steps = _steps(machine)
    places = []
    for here, after in itertools.pairwise(layers):
        place = np.full(machine.states + 1, -1, np.int64)
        place[after] = np.arange(len(after))
        places.append(place[steps[here]])
    ends = same_values(machine.values)[layers[-1]]
    refined = refine_layers([(steps, steps[:, :0]) for steps in places], ends)
    begins = np.cumsum([0, *(classes.max(initial=-1) + 1 for classes in refined[:-1])])
    numbered = [np.where(c < 0, -1, c + k) for c, k in zip(refined, begins, strict=True)]
    return layers, np.concatenate(numbered)


def same_values(values: Floats) -> Ints:
    """Numbers for values, ascending with them and the same for equal ones; -1 for nan."""
    ends = ~np.isnan(values)
    numbers = np.full(len(values), -1, np.int64)
    numbers[ends] = np.unique(values[ends], return_inverse=True)[1]
    return numbers


def _steps(machine: Machine) -> Ints:
    return machine.next.reshape(machine.states, -1)


def _layers(machine: Machine) -> Iterator[Ints]:
    """The states that are reached at each depth, ascending."""
    steps = _steps(machine)
    layer = np.zeros(1, np.int64)
    yield layer
    for _ in range(machine.n):
        reached = np.zeros(machine.states + 1, bool)
        reached[steps[layer]] = True
        layer = np.flatnonzero(reached[:-1])
        yield layer


def _unrolled_size(machine: Machine, enough: int) -> int:
    """The number of states in all layers until there are enough, more where they have many arcs."""
    per_state = max(4, len(machine.alphabet) ** 2)
    total = 0
    for layer in _layers(machine):
        total += len(layer)
        if total * per_state // 4 > enough:
            break
    return total * per_state // 4


def _absorbed(machine: Machine) -> Machine:
    """The machine without states for which others, reached where they are, have the same classes.

    States of which neither is reached at all depths of the other stay apart.
    """
    layers, classes = classes_by_depth(machine)
    profiles: dict[int, set[int]] = {}
    for state, cls in zip(np.concatenate(layers).tolist(), classes.tolist(), strict=True):
        if cls >= 0:
            profiles.setdefault(state, set()).add(cls)
    stand_in = np.full(machine.states, -1, np.int64)
    holders: dict[int, list[int]] = {}
    for state in sorted(profiles, key=lambda s: (-len(profiles[s]), s)):
        profile = profiles[state]
        rarest = min(profile, key=lambda c: len(holders.get(c, ())))
        others = (s for s in holders.get(rarest, ()) if profile <= profiles[s])
        stand_in[state] = next(others, state)
        if stand_in[state] == state:
            for cls in profile:
                holders.setdefault(cls, []).append(state)
    reps = np.unique(stand_in[stand_in >= 0])
    return _quotient(machine, np.where(stand_in < 0, -1, np.searchsorted(reps, stand_in)), reps)


def _quotient(machine: Machine, classes: Ints, reps: Ints | None = None) -> Machine:
    """The machine of classes that pairs of length n reach; ``reps`` represent them, -1 is none."""
    if reps is None:
        numbers, first = np.unique(classes, return_index=True)
        reps = first[numbers >= 0]
    if not len(reps):
        return machine
    steps = np.append(classes, -1)[_steps(machine)[reps]]
    reached = np.zeros(len(reps) + 1, bool)
    fresh = np.zeros(1, np.int64)
    for _ in range(machine.n + 1):
        reached[fresh] = True
        after = np.zeros_like(reached)
        after[steps[fresh]] = True
        fresh = np.flatnonzero(after[:-1] & ~reached[:-1])
        if not len(fresh):
            break
    number = np.where(reached, np.cumsum(reached) - 1, -1)
    live = np.flatnonzero(reached[:-1])
    number[-1] = -1
    states = reps[live]
    return replace(
        machine,
        next=number[steps[live]].reshape(-1, *machine.next.shape[1:]),
        values=machine.values[states],
        registers={name: column[states] for name, column in machine.registers.items()},
    )
