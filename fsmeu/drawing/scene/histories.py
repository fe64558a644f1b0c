"""Names for the states of an acceptor: the labels that every path to a state has just read.

The states of a Markov chain of order m are then its tuples of labels, those of a lattice the labels
that lead there; nothing is known of the model but its arcs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from fsmeu.drawing.scene.arc_labels import label_name
from fsmeu.exchange.automaton import Automaton

__all__ = ["Histories", "histories"]

_LONGEST = 4  # labels in a name


@dataclass(frozen=True)
class Histories:
    """What the states of an acceptor are called.

    Attributes:
        names: the name of each state.
        evident: True when every arc carries the last label of the state that it enters.
    """

    names: tuple[str, ...]
    evident: bool


def histories(automaton: Automaton) -> Histories | None:
    """Names for the states of an acceptor in layers, or None where labels do not tell states apart.

    A name has as many of the last labels as it takes to tell the states of each layer apart. States
    that the past does not tell apart are told apart by the label that must follow, or by number.
    """
    table, depth = automaton.table, automaton.depth
    layered = bool((depth[table.target] == depth[table.source] + 1).all())
    if not automaton.acceptor or not table.arcs or not layered or (depth < 0).any():
        return None
    past = _pasts(automaton)
    entered = np.unique(table.target)
    evident = all(past[state] for state in entered.tolist())
    if not evident:
        return None
    layers = [np.flatnonzero(depth == d).tolist() for d in range(int(depth.max()) + 1)]
    lengths = range(1, _LONGEST + 1)
    length = max(lengths, key=lambda m: (sum(_told_apart(past, s, m) for s in layers), -m))
    names = [""] * automaton.states
    for layer in layers:
        short = [past[state][-length:] for state in layer]
        for state, held in zip(layer, short, strict=True):
            alone = short.count(held) == 1
            names[state] = _name(automaton, held) + ("" if alone else _future(automaton, state))
    names[table.start] = "start"
    return Histories(tuple(names), evident)


def _pasts(automaton: Automaton) -> list[tuple[int, ...]]:
    """For each state, the last labels that all paths to it have in common, at most a few."""
    table = automaton.table
    past: list[tuple[int, ...] | None] = [None] * automaton.states
    if table.start >= 0:
        past[table.start] = ()
    for arc in np.argsort(automaton.depth[table.source], kind="stable").tolist():
        held = past[int(table.source[arc])] or ()
        read = (*held, int(table.ilabel[arc]))[-_LONGEST:]
        target = int(table.target[arc])
        known = past[target]
        past[target] = read if known is None else _common_end(known, read)
    return [held or () for held in past]


def _common_end(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip(reversed(a), reversed(b), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return a[len(a) - same :]


def _told_apart(past: list[tuple[int, ...]], layer: Iterable[int], length: int) -> bool:
    names = [past[state][-length:] for state in layer]
    return len(set(names)) == len(names)


def _name(automaton: Automaton, labels: tuple[int, ...]) -> str:
    return " ".join(label_name(automaton.inputs, label) for label in labels)


def _future(automaton: Automaton, state: int) -> str:
    """What tells a state apart from those with the same past: what must follow, or its number."""
    table = automaton.table
    after = set(table.ilabel[table.source == state].tolist())
    if len(after) == 1:
        return f", then {label_name(automaton.inputs, after.pop())}"
    return f" #{state}"
