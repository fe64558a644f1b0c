"""Constraints on the hypothesis: a deterministic acceptor over labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.acceptor import acceptor_table, is_machine
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import Layer, Layered
from fsmeu.fst.regex import regex_acceptor

__all__ = ["Constraint", "as_constraint", "free_layers", "restricted"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Constraint:
    """A deterministic acceptor; label sequences it accepts are allowed.

    Attributes:
        next: state after reading a label, (states, labels); -1 where there is none.
        start: the start state.
        accepting: the states in which a sequence may end.
    """

    next: Ints
    start: int
    accepting: Ints

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.next)

    def moves(self, label: int) -> list[tuple[int, int]]:
        """The (state, next state) pairs that read a label."""
        column = self.next[:, label]
        return [(int(s), int(column[s])) for s in np.flatnonzero(column >= 0)]

    def accepts(self, indices: Ints) -> bool:
        """True when the sequence of label indices is allowed."""
        state = self.start
        for label in indices:
            state = int(self.next[state, label])
            if state < 0:
                return False
        return state in self.accepting


def as_constraint(given: Any, alphabet: Alphabet, n: int | None = None) -> Constraint | None:
    """A constraint from a regular expression over labels, an acceptor, or a constraint.

    >>> from fsmeu.fst.alphabet import BINARY
    >>> as_constraint("0* 1? 0*", BINARY).accepts([0, 1, 0])
    True
    """
    if given is None or isinstance(given, Constraint):
        return given
    fst = given if is_machine(given) else regex_acceptor(given, alphabet)
    table, start, accepting = acceptor_table(fst, alphabet)
    return Constraint(table, start, accepting)


def restricted(layered: Layered, constraint: Constraint) -> Layered:
    """The part of a layered acceptor that the constraint allows, weights as they were."""
    size, count = constraint.states, len(layered.start)
    guard_size("decode", sum(layered.widths) * size)
    layers = []
    for layer in layered.layers:
        after = constraint.next[:, layer.label]
        state, arc = np.nonzero(after >= 0)
        source = layer.source[arc] * size + state
        target = layer.target[arc] * size + after[state, arc]
        weight, width = layer.weight[arc], layer.width * size
        layers.append(Layer(source, layer.label[arc], target, weight, width))
    start = np.zeros((count, size))
    start[:, constraint.start] = layered.start
    final = np.zeros((len(layered.final), size))
    final[:, constraint.accepting] = layered.final[:, None]
    kept = layered.unambiguous
    return Layered(layered.alphabet, start.ravel(), tuple(layers), final.ravel(), kept)


def free_layers(alphabet: Alphabet, n: int) -> Layered:
    """Every sequence of length n, all with weight 1."""
    label = np.arange(len(alphabet), dtype=np.int64)
    none = np.zeros_like(label)
    layer = Layer(none, label, none, np.ones(len(alphabet)), 1)
    return Layered(alphabet, np.ones(1), (layer,) * n, np.ones(1), unambiguous=True)
