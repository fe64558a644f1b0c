"""Merging states of a compiled loss that no continuation can tell apart.

A machine is for pairs of length exactly n, so what a state does matters only for the continuations
that such pairs have left. A state that is met after d positions has a *class at depth d*: all that
do the same to every continuation of length n - d. These classes are found on the machine unrolled
into layers, where they depend on nothing but the loss: two files that say the same loss have the
same layers of classes, however clumsy one of them is.
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
    most = max_states(limit)
    size = _unrolled_size(smaller, most)
    if layered:
        guard_size(f"{machine.name}, in layers", size, limit, least=True)
        return _in_layers(smaller)
    before = smaller.states + 1
    while smaller.states < before and size <= most:
        before = smaller.states
        smaller = _absorbed(smaller)
        size = _unrolled_size(smaller, most)
    return smaller


def unroll(machine: Machine) -> tuple[list[Ints], list[Ints]]:
    """The states that are met at each depth from 0 to n, and where their steps lead.

    Returns:
        For each depth the states; for each but the last, arrays (states, pairs of labels) of places
        among the states of the next depth, -1 for none.
    """
    layers, steps = list(_layers(machine)), _steps(machine)
    places = []
    for here, after in itertools.pairwise(layers):
        place = np.full(machine.states + 1, -1, np.int64)
        place[after] = np.arange(len(after))
        places.append(place[steps[here]])
    return layers, places


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


def _classes(machine: Machine, layers: list[Ints], places: list[Ints]) -> Ints:
    """The classes of the states of all layers in a row, numbered through; -1 if no pair ends."""
    ends = same_values(machine.values)[layers[-1]]
    refined = refine_layers([(steps, steps[:, :0]) for steps in places], ends)
    begins = np.cumsum([0, *(classes.max(initial=-1) + 1 for classes in refined[:-1])])
    return np.concatenate(
        [np.where(held < 0, -1, held + begin) for held, begin in zip(refined, begins, strict=True)]
    )


def _in_layers(machine: Machine) -> Machine:
    """The machine with one state for each class of each layer."""
    layers, places = unroll(machine)
    begins = np.cumsum([len(layer) for layer in layers])
    none = np.full((len(layers[-1]), _steps(machine).shape[1]), -1, np.int64)
    steps = [np.where(held < 0, -1, held + k) for held, k in zip(places, begins, strict=False)]
    states, last = np.concatenate(layers), np.arange(begins[-1]) >= begins[-1] - len(layers[-1])
    unrolled = replace(
        machine,
        next=np.concatenate([*steps, none]).reshape(-1, *machine.next.shape[1:]),
        values=np.where(last, machine.values[states], np.nan),
        registers={name: held[states] for name, held in machine.registers.items()},
    )
    return _merged(unrolled, by_first(_classes(machine, layers, places)))


def _absorbed(machine: Machine) -> Machine:
    """The machine without states that others can stand in for.

    A state is known by the depths at which it is met and its class at each of them. Another can
    stand in for it when it is met at all of these depths, and more if it likes, and has the same
    classes there: whoever is sent to it instead finds the same values after every continuation.
    (States of which neither covers the other stay apart; to merge those as well is to find the
    smallest automaton that is consistent with a sample, which is hard.)
    """
    layers, places = unroll(machine)
    classes, state = _classes(machine, layers, places), np.concatenate(layers)
    met = np.flatnonzero(classes >= 0)
    order = met[np.argsort(state[met], kind="stable")]
    states, begins = np.unique(state[order], return_index=True)
    held = map(frozenset, map(np.ndarray.tolist, np.split(classes[order], begins[1:])))
    profiles = dict(zip(states.tolist(), held, strict=True))
    stand_in = np.full(machine.states, -1, np.int64)
    holders: dict[int, list[int]] = {}
    for this in sorted(profiles, key=lambda s: (-len(profiles[s]), s)):
        mine = profiles[this]
        rarest = min(mine, key=lambda c: len(holders.get(c, ())))
        others = (s for s in holders.get(rarest, ()) if mine <= profiles[s])
        stand_in[this] = next(others, this)
        if stand_in[this] == this:
            for one in mine:
                holders.setdefault(one, []).append(this)
    kept = np.unique(stand_in[stand_in >= 0])
    number = np.full(machine.states, -1, np.int64)
    number[kept] = np.arange(len(kept))
    return _merged(machine, np.where(stand_in >= 0, number[stand_in], -1), kept)


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
    return _reachable(_selected(machine, kept, classes)) if len(kept) else machine


def _reachable(machine: Machine) -> Machine:
    """The machine without the states that no pair of length n meets."""
    steps = _steps(machine)
    reached = np.zeros(machine.states + 1, bool)
    fresh = np.zeros(1, np.int64)
    for _ in range(machine.n + 1):
        reached[fresh] = True
        after = np.zeros(machine.states + 1, bool)
        after[steps[fresh]] = True
        fresh = np.flatnonzero(after[:-1] & ~reached[:-1])
        if not len(fresh):
            break
    met = np.flatnonzero(reached[:-1])
    return _selected(machine, met, np.where(reached, np.cumsum(reached) - 1, -1)[:-1])


def _selected(machine: Machine, kept: Ints, number: Ints) -> Machine:
    """The machine of these states, to which all states with their numbers are redirected."""
    return replace(
        machine,
        next=np.append(number, -1)[machine.next[kept]],
        values=machine.values[kept],
        registers={name: held[kept] for name, held in machine.registers.items()},
    )
