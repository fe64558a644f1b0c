"""Constraints on the hypothesis: a deterministic acceptor over labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.acceptor import acceptor_table, is_machine
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.regex import regex_acceptor

__all__ = ["Constraint", "as_constraint"]

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


def as_constraint(given: Any, alphabet: Alphabet) -> Constraint | None:
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
