"""Acceptors of sets of label sequences as tables: what a constraint on a hypothesis needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import ArcTable, without_zero_arcs
from fsmeu.fst.compose import guard_size
from fsmeu.fst.convert import label_numbers
from fsmeu.fst.determinize import Effort, deterministic
from fsmeu.fst.engine import pynini
from fsmeu.fst.image import fst_from_table, table_from_fst
from fsmeu.limits import CELLS_PER_STATE

__all__ = ["acceptor_table", "is_machine"]

Ints = NDArray[np.int64]


def is_machine(given: Any) -> bool:
    """True for an OpenFst machine."""
    return isinstance(given, pynini.Fst)


def acceptor_table(
    fst: pynini.Fst, alphabet: Alphabet, n: int | None = None
) -> tuple[Ints, int, Ints]:
    """The minimal deterministic acceptor of the same sequences, weights forgotten.

    Args:
        fst: an acceptor, maybe with cycles, epsilons and several ways to read a sequence.
        alphabet: the labels.
        n: the length of the sequences that matter, None for all.

    Returns:
        Next state (states, labels) with -1 for none, the start state, the accepting states.

    Raises:
        EmptyError: nothing is accepted.
        FstError: the machine is no machine.
        SizeLimitError: there are too many states.
    """
    given = without_zero_arcs(table_from_fst(fst, "constraint"))
    trimmed = fst_from_table(given, fst.input_symbols(), fst.output_symbols()).connect()
    if trimmed.start() < 0:
        raise EmptyError(sentence("constraint", "it must allow at least one sequence"))
    table = table_from_fst(trimmed, "constraint")
    if (table.ilabel != table.olabel).any():
        raise InputError(sentence("constraint", "it must be an acceptor, one tape only"))
    guard_size("constraint", table.states + table.arcs)
    effort = Effort(table.states + table.arcs)
    lazy = _Subsets(trimmed, alphabet, table, effort)
    after, start, accepting = deterministic(lazy, n, effort)
    guard_size("constraint", len(after) * len(alphabet) // CELLS_PER_STATE)
    following = np.full((len(after), len(alphabet)), -1, np.int64)
    if after.shape[1] == len(lazy.labels):
        following[:, lazy.labels] = after
    return following, start, accepting


class _Subsets:
    """The acceptor whose states are sets of states of a machine (Rabin and Scott 1959)."""

    def __init__(
        self, fst: pynini.Fst, alphabet: Alphabet, table: ArcTable, effort: Effort
    ) -> None:
        read = table.ilabel != 0
        source, target = table.source[read], table.target[read]
        labels = label_numbers(
            fst, alphabet, replace(table, ilabel=table.ilabel[read]), "constraint"
        )
        self.labels, symbol = np.unique(labels, return_inverse=True)
        self._effort = effort
        self._ends = frozenset(np.flatnonzero(np.isfinite(table.final)).tolist())
        self._free = _listed(table.source[~read], table.target[~read], table.states)
        self._arcs: list[list[tuple[int, int]]] = [[] for _ in range(table.states)]
        moves = zip(source.tolist(), symbol.tolist(), target.tolist(), strict=True)
        for before, number, after in moves:
            self._arcs[before].append((number, after))
        self._numbers: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = []
        self._useful: list[frozenset[int]] = []
        self._before = _listed(target, source, table.states)
        self._before_free = _listed(table.target[~read], table.source[~read], table.states)
        self.start = self._number(self._closed([table.start], self._free))

    def _number(self, held: frozenset[int]) -> int:
        if not held:
            return -1
        if held not in self._numbers:
            self._numbers[held] = len(self._sets)
            self._sets.append(held)
        return self._numbers[held]

    def _closed(self, states: Iterable[int], arcs: list[list[int]]) -> frozenset[int]:
        """The states that these reach by such arcs."""
        held = set(states)
        stack = list(held)
        while stack:
            for target in arcs[stack.pop()]:
                if target not in held:
                    held.add(target)
                    stack.append(target)
        self._effort.spend(len(held))
        return frozenset(held)

    def steps(self, state: int) -> list[int]:
        """The set after each label that the machine reads."""
        reached: list[set[int]] = [set() for _ in self.labels]
        arcs = 0
        for inner in self._sets[state]:
            arcs += len(self._arcs[inner])
            for symbol, target in self._arcs[inner]:
                reached[symbol].add(target)
        self._effort.spend(arcs)
        return [self._number(self._closed(held, self._free)) for held in reached]

    def accepts(self, state: int) -> bool:
        """True when one of the states is final."""
        return not self._ends.isdisjoint(self._sets[state])

    def of_length(self, state: int, length: int) -> int:
        """Those states of the set from which a sequence of this length is accepted."""
        while len(self._useful) <= length:
            self._useful.append(self._one_longer())
        return self._number(self._sets[state] & self._useful[length])

    def _one_longer(self) -> frozenset[int]:
        """The states from which a sequence of the next length is accepted."""
        if not self._useful:
            return self._closed(self._ends, self._before_free)
        sources: set[int] = set()
        for state in self._useful[-1]:
            sources.update(self._before[state])
        self._effort.spend(len(sources))
        return self._closed(sources, self._before_free)


def _listed(keys: Ints, values: Ints, size: int) -> list[list[int]]:
    """The values of each key from 0 to size."""
    found: list[list[int]] = [[] for _ in range(size)]
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        found[key].append(value)
    return found
