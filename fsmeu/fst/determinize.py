"""Minimal deterministic acceptors of sequences of a length, built as far as such sequences reach.

Determinising can take exponentially many states. States are therefore found as they are needed, up
to a limit: first the plain ones, which serve every position; if there are many, those of each
position apart, in which only what can still end at length n is told apart. The states of the
acceptor of a machine are sets of its states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from fsmeu.arrays import Bools, Ints
from fsmeu.errors import EmptyError, InputError, SizeLimitError, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import ArcTable, without_zero_arcs
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.convert import label_numbers
from fsmeu.fst.engine import pynini
from fsmeu.fst.image import fst_from_table, table_from_fst
from fsmeu.fst.minimize import indistinguishable
from fsmeu.limits import (
    CELLS_PER_STATE,
    CONSTRAINT_SHARE,
    CONSTRAINT_WORK_PER_STATE,
    FEW_CONSTRAINT_STATES,
)

__all__ = ["Effort", "Lazy", "acceptor_table", "deterministic", "is_machine"]

State = TypeVar("State", bound=Hashable)


class Lazy(Protocol):
    """An acceptor whose states are found as they are needed; they are numbers, -1 is none."""

    @property
    def start(self) -> int:
        """The start state."""

    def steps(self, state: int) -> list[int]:
        """The state after each symbol."""

    def accepts(self, state: int) -> bool:
        """True when a sequence may end here."""

    def of_length(self, state: int, length: int) -> int:
        """A state that accepts the same sequences of exactly this length, and fewer others."""


class Effort:
    """The states and the work that the acceptor of a constraint may take.

    Args:
        given: the size of the machine that it is made of, which it may have in any case.
    """

    def __init__(self, given: int = 0) -> None:
        self.states = max(1, max_states() // CONSTRAINT_SHARE, given)
        self.few = min(self.states, max(FEW_CONSTRAINT_STATES, given))
        self.work = self._left = CONSTRAINT_WORK_PER_STATE * self.states

    def spend(self, work: int) -> None:
        """Takes note of steps of work.

        Raises:
            SizeLimitError: it is too much.
        """
        self._left -= work
        if self._left < 0:
            raise self.error()

    def error(self) -> SizeLimitError:
        """The error that names the limit."""
        limits = f"{self.states:,} states, found in at most {self.work:,} steps"
        must = f"its acceptor may have at most {limits}, this one needs more"
        remedy = f"Use a simpler one, or raise FSMEU_MAX_STATES, now {max_states():,}"
        return SizeLimitError(sentence("constraint", must, None, remedy))


def deterministic(lazy: Lazy, n: int | None, effort: Effort) -> tuple[Ints, int, Ints]:
    """The minimal deterministic acceptor, right for sequences of length n (of any, if None).

    Returns:
        Next state (states, symbols) with -1 for none, the start state, the accepting states.

    Raises:
        EmptyError: no sequence is accepted.
        SizeLimitError: there are too many states.
    """
    found = _plain(lazy, n, effort)
    if found is None and n is not None:
        found = _by_position(lazy, n, effort)
    if found is None:
        raise effort.error()
    targets, accepting = found
    classes = indistinguishable(targets, np.where(accepting, 0, -1))
    if classes[0] >= 0:
        kept, first = np.unique(classes, return_index=True)
        first, kept = first[kept >= 0], kept[kept >= 0]
        rank = np.full(int(kept[-1]) + 2, -1, np.int64)
        rank[kept] = np.arange(len(kept))
        # Number -1, of states that lead nowhere, and of no state, is the last of rank.
        after = rank[np.append(classes, -1)[targets[first]]]
        start, ends = int(rank[classes[0]]), np.flatnonzero(accepting[first])
        if n is None or _reaches(after, start, ends, n):
            return after, start, ends
    length = "" if n is None else f" of length {n}"
    raise EmptyError(sentence("constraint", f"it must allow at least one sequence{length}"))


Found = tuple[Ints, Bools]
"""Targets (states, symbols), and which states accept."""


def _plain(lazy: Lazy, n: int | None, effort: Effort) -> Found | None:
    """The states themselves; None when there are many."""

    def steps(state: int) -> list[int | None]:
        return [None if after < 0 else after for after in lazy.steps(state)]

    few = effort.states if n is None else effort.few
    return _explored(lazy.start, steps, lazy.accepts, n, few, effort)


def _by_position(lazy: Lazy, n: int, effort: Effort) -> Found | None:
    """States with the number of symbols that are still to come."""

    def at(left: int, state: int) -> tuple[int, int] | None:
        kept = lazy.of_length(state, left) if state >= 0 else -1
        return None if kept < 0 else (left, kept)

    def steps(state: tuple[int, int]) -> list[tuple[int, int] | None]:
        left, inner = state
        return [at(left - 1, after) for after in lazy.steps(inner)]

    def accepts(state: tuple[int, int]) -> bool:
        return state[0] == 0 and lazy.accepts(state[1])

    first = at(n, lazy.start)
    if first is None:
        return np.full((1, 1), -1, np.int64), np.zeros(1, bool)
    return _explored(first, steps, accepts, n, effort.states, effort)


def _explored(
    start: State,
    steps: Callable[[State], Sequence[State | None]],
    accepts: Callable[[State], bool],
    n: int | None,
    most: int,
    effort: Effort,
) -> Found | None:
    """What sequences of length n reach from the start; None when there are more than the most."""
    numbers: dict[State, int] = {start: 0}
    rows: list[list[int]] = []
    layer, depth = [start], 0
    while layer and (n is None or depth < n):
        fresh = []
        for state in layer:
            row = []
            for target in steps(state):
                if target is not None and target not in numbers:
                    numbers[target] = len(numbers)
                    fresh.append(target)
                row.append(-1 if target is None else numbers[target])
            effort.spend(1 + len(row))
            rows.append(row)
            if len(numbers) > most:
                return None
        layer, depth = fresh, depth + 1
    symbols = max((len(row) for row in rows), default=0)
    targets = np.full((len(numbers), max(1, symbols)), -1, np.int64)
    for number, row in enumerate(rows):
        targets[number, : len(row)] = row
    return targets, np.array([accepts(state) for state in numbers], bool)


def _reaches(after: Ints, start: int, ends: Ints, n: int) -> bool:
    """True when a sequence of exactly n symbols is accepted."""
    here = np.array([start])
    for _ in range(n):
        here = np.unique(after[here])
        here = here[here >= 0]
    return bool(np.isin(here, ends).any())


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
