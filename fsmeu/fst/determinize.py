"""Minimal deterministic acceptors of sequences of a length, built as far as such sequences reach.

Determinising can take exponentially many states. States are therefore found as they are needed, up
to a limit: first the plain ones, which serve every position; if there are many, those of each
position apart, in which only what can still end at length n is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import EmptyError, SizeLimitError, sentence
from fsmeu.fst.compose import max_states
from fsmeu.fst.minimize import indistinguishable
from fsmeu.limits import CONSTRAINT_SHARE, CONSTRAINT_WORK_PER_STATE, FEW_CONSTRAINT_STATES

__all__ = ["Effort", "Lazy", "deterministic"]

Ints = NDArray[np.int64]
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


Found = tuple[Ints, NDArray[np.bool_]]
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
