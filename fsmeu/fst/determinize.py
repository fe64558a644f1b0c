"""Minimal deterministic acceptors, by OpenFst behind one guard.

Determinising can take exponentially many states. OpenFst stops at a number of states that is given
to it; that number is chosen so that the work, at most all arcs for each state, stays bounded too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pywrapfst
from numpy.typing import ArrayLike

from fsmeu.arrays import Ints
from fsmeu.errors import EmptyError, SizeLimitError, message
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.compose import guard_size, max_states, pynini
from fsmeu.fst.image import fst_from_table, table_from_fst
from fsmeu.fst.layers import label_numbers, trimmed_acceptor
from fsmeu.limits import CELLS_PER_STATE

Acceptor = tuple[Ints, int, Ints]
"""Next state (states, symbols) with -1 for none, the start state, the accepting states."""

_SHARE = 250
"""The part of the states of a machine that a constraint may have: it is composed with others."""
_FEW_STATES = 1000
"""States of a constraint for all lengths; one with more is made for the length asked for alone."""
_MOST_WORK = 50_000_000
"""Arcs times states of a determinization: a few seconds."""
STATES_BEFORE = 10
"""How many times the states of a deterministic acceptor one may have that is not."""
_MOST_PAIRS = 10_000_000
"""Pairs of states of two acceptors, all of which may be states of their intersection: 1 GB."""
_FEW_EPSILONS = 1000
"""Epsilon arcs that are removed without a look: their square is as many as there may be."""
_MOST_JOINED = 2_000_000
"""Pairs of states that epsilons join: the one has the arcs of the other when they are gone."""


class TooLargeError(Exception):
    """An acceptor has more states than there may be."""


class Effort:
    """How many states the acceptor of a constraint may have, ``given`` that many before."""

    def __init__(self, given: int = 0) -> None:
        self.states = max(1, max_states() // _SHARE, given)
        self.few = min(self.states, max(_FEW_STATES, given))

    def error(self) -> SizeLimitError:
        """The error that names the limit."""
        must = f"its acceptor may have at most {self.states:,} states, this one needs more"
        remedy = f"Use a simpler one, or raise FSMEU_MAX_STATES, now {max_states():,}"
        return SizeLimitError(message("constraint", must, None, remedy))


def acceptor_of_arcs(states: int, arcs: ArrayLike, ends: ArrayLike, start: int = 0) -> pynini.Fst:
    """The OpenFst acceptor (tropical) of arcs (arcs, 3): state, symbol (0 is epsilon), state."""
    source, label, target = np.asarray(arcs, np.int64).reshape(-1, 3).T
    order = np.argsort(source, kind="stable")
    source, label, target = source[order], label[order], target[order]
    final = np.full(states, np.inf)
    final[np.asarray(ends, np.int64)] = 0.0
    table = ArcTable(start, source, label, label, np.zeros(len(source)), target, final)
    return pynini.arcmap(fst_from_table(table), map_type="to_std")


def without_epsilons(fst: pynini.Fst) -> pynini.Fst:
    """The same acceptor without epsilons; a TooLargeError if they join very many states."""
    table = table_from_fst(fst, "constraint")
    epsilon = np.flatnonzero(table.ilabel == 0)
    if len(epsilon) >= _FEW_EPSILONS:
        from scipy.sparse import csr_array, eye_array

        arcs = np.ones(len(epsilon), bool), (table.source[epsilon], table.target[epsilon])
        joined = csr_array(arcs, (table.states, table.states))
        joined += eye_array(table.states, dtype=bool, format="csr")
        known = -1
        while joined.nnz != known:
            most = min(int(joined.sum(axis=0) @ joined.sum(axis=1)), table.states**2)
            if joined.nnz > _MOST_JOINED or most > 5 * _MOST_JOINED:
                raise TooLargeError
            known, joined = joined.nnz, joined @ joined
    return pynini.rmepsilon(fst)


def any_sequence(symbols: int, length: int | None = None, exactly: bool = False) -> pynini.Fst:
    """The acceptor of all sequences, of those up to a length, or of exactly that length."""
    last = 0 if length is None else length
    each = range(1, symbols + 1)
    arcs = [(k, s, min(k + 1, last)) for k in range(last + (length is None)) for s in each]
    return acceptor_of_arcs(last + 1, arcs, [last] if exactly else list(range(last + 1)))


def intersection(left: pynini.Fst, right: pynini.Fst) -> pynini.Fst:
    """The acceptor of what both accept, without epsilons; a TooLargeError if very large."""
    if left.num_states() * right.num_states() > _MOST_PAIRS:
        raise TooLargeError
    return pynini.intersect(without_epsilons(left), right)


def determinized(fst: pynini.Fst, states: int) -> pynini.Fst:
    """The minimal deterministic acceptor; a TooLargeError if it has too many states."""
    if fst.num_states() > STATES_BEFORE * states:
        raise TooLargeError
    plain: pynini.Fst = without_epsilons(fst)
    if not plain.properties(pywrapfst.I_DETERMINISTIC, True):
        arcs = sum(plain.num_arcs(state) for state in plain.states())
        most = min(states, _MOST_WORK // max(1, arcs) + 1)
        plain = pynini.determinize(plain, nstate=most + 1)
        if plain.num_states() > most:
            raise TooLargeError
    plain.minimize()
    if plain.num_states() > states:
        raise TooLargeError
    return plain


def deterministic(
    build: Callable[[bool], pynini.Fst], symbols: int, n: int | None, effort: Effort
) -> Acceptor:
    """The minimal deterministic acceptor, right for sequences of length n (of any, if None).

    Args:
        build: makes the acceptor of sequences of the symbols 1, 2, ...; given True, it may leave
            out whatever is longer than n on the way, because there is too much of it.
        symbols: how many symbols there are.
        n: the length. An acceptor for all lengths is tried first, as it is smaller.
        effort: how many states there may be.

    Raises:
        EmptyError: no sequence is accepted.
        SizeLimitError: there are too many states.
    """
    try:
        try:
            result = determinized(build(False), effort.states if n is None else effort.few)
        except TooLargeError:
            if n is None:
                raise
            exactly = any_sequence(symbols, n, exactly=True)
            result = determinized(intersection(build(True), exactly), effort.states)
    except TooLargeError:
        raise effort.error() from None
    table = table_from_fst(result, "constraint")
    after = np.full((table.states, symbols), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    ends = np.flatnonzero(np.isfinite(table.final))
    if table.start >= 0 and (n is None or _reaches(after, table.start, ends, n)):
        return after, table.start, ends
    length = "" if n is None else f" of length {n}"
    raise EmptyError(message("constraint", f"it must allow at least one sequence{length}"))


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


def acceptor_table(fst: pynini.Fst, alphabet: Alphabet, n: int | None = None) -> Acceptor:
    """The minimal deterministic acceptor of the same sequences, weights forgotten.

    The given one may have cycles, epsilons and several ways to read a sequence; with n, only
    sequences of that length matter.

    Raises:
        EmptyError: nothing is accepted.
        FstError: the machine is no machine.
        SizeLimitError: there are too many states.
    """
    table = trimmed_acceptor(fst, "constraint")
    guard_size("constraint", table.states + table.arcs)
    read = table.ilabel != 0
    labels = label_numbers(fst, alphabet, replace(table, ilabel=table.ilabel[read]), "constraint")
    known, symbol = np.unique(labels, return_inverse=True)
    symbols = np.zeros_like(table.ilabel)
    symbols[read] = symbol + 1
    arcs = np.stack([table.source, symbols, table.target], axis=1)
    ends = np.flatnonzero(np.isfinite(table.final))
    effort = Effort(table.states + table.arcs)

    def build(cut: bool) -> pynini.Fst:
        return acceptor_of_arcs(table.states, arcs, ends, table.start)

    after, start, accepting = deterministic(build, len(known), n, effort)
    guard_size("constraint", len(after) * len(alphabet) // CELLS_PER_STATE)
    following = np.full((len(after), len(alphabet)), -1, np.int64)
    following[:, known] = after
    return following, start, accepting
