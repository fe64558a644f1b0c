"""The way of a pair of sequences, or of a hypothesis with all references, through a machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, visible
from fsmeu.exchange.automaton import Automaton

__all__ = ["Route", "find_route"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Route:
    """The states and arcs that the paths of a pair run through, and the states it ends in."""

    states: frozenset[int]
    arcs: frozenset[int]
    ends: tuple[int, ...]


def find_route(automaton: Automaton, z: Ints, y: Ints | None) -> Route:
    """All paths that read a pair of label sequences, or a hypothesis with any reference.

    Args:
        automaton: an epsilon-free machine.
        z: numbers on the input tape.
        y: numbers on the output tape, as many; None for any.

    Raises:
        InputError: the lengths differ, or no path reads the pair.
    """
    if y is not None and len(z) != len(y):
        must = "hypothesis z and reference y must have the same length"
        raise InputError(sentence("draw", must, f"lengths {len(z)} and {len(y)}"))
    table = automaton.table
    here = {table.start} if table.start >= 0 else set()
    steps: list[Ints] = []
    for i, a in enumerate(z):
        reads = (table.ilabel == a) & np.isin(table.source, list(here))
        if y is not None:
            reads &= table.olabel == y[i]
        arcs = np.flatnonzero(reads)
        if not len(arcs):
            read = f"label {_name(automaton.inputs, a)}"
            if y is not None:
                read = f"the pair {_name(automaton.inputs, a)}:{_name(automaton.outputs, y[i])}"
            must = f"the machine must have an arc for {read} at position {i + 1}"
            raise InputError(sentence("draw", must))
        steps.append(arcs)
        here = set(table.target[arcs].tolist())
    ends = {state for state in here if automaton.ending[state]} or here
    return _prune(automaton, steps, ends)


def _prune(automaton: Automaton, steps: list[Ints], ends: set[int]) -> Route:
    """Keeps of the steps what leads to an end."""
    table = automaton.table
    here, states, arcs = ends, set(ends), set[int]()
    for step in reversed(steps):
        used = step[np.isin(table.target[step], list(here))]
        arcs.update(used.tolist())
        here = set(table.source[used].tolist())
        states |= here
    return Route(frozenset(states), frozenset(arcs), tuple(sorted(ends)))


def _name(names: object, number: int) -> str:
    return visible(names.get(int(number), number))  # type: ignore[attr-defined]
