"""Constraints as minimal deterministic acceptors, by OpenFst: machines, and regular expressions.

In an expression, labels stand side by side with spaces between them (or none, when every label is
one character): ``0* 1 0*``, ``(O | B-NP I-NP*)*``. ``.`` is any label, ``[a b]`` one of these,
``[^ a b]`` none of these, ``x{2}``, ``x{1,3}``, ``x{2,}`` repeat, ``x?``, ``x*``, ``x+`` as usual,
``a | b`` either, ``a & b`` both, ``!a`` whatever a does not match. A label that looks like an
operator is put in quotes.

Determinising can take exponentially many states. OpenFst stops at a number of states that is given
to it; that number is chosen so that the work, at most all arcs for each state, stays bounded too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce

import numpy as np
import pywrapfst
from numpy.typing import ArrayLike

from fsmeu.arrays import Ints
from fsmeu.errors import EmptyError, InputError, SizeLimitError, message, nearest
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size, max_states, pynini
from fsmeu.fst.image import ArcTable, fst_from_table, table_from_fst
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
    build: Callable[[int, bool], pynini.Fst], symbols: int, n: int | None, given: int = 0
) -> Acceptor:
    """The minimal deterministic acceptor, right for sequences of length n (of any, if None).

    An acceptor for all lengths is tried first, as it is smaller. ``build`` makes one of the symbols
    1, 2, ..., given how many states it may have and whether to leave out what is longer than n;
    as many as ``given`` states there may be in any case.

    Raises:
        EmptyError: no sequence is accepted.
        SizeLimitError: there are too many states.
    """
    states = max(1, max_states() // _SHARE, given)
    few = states if n is None else min(states, max(_FEW_STATES, given))
    try:
        try:
            result = determinized(build(few, False), few)
        except TooLargeError:
            if n is None:
                raise
            exactly = any_sequence(symbols, n, exactly=True)
            result = determinized(intersection(build(states, True), exactly), states)
    except TooLargeError:
        must = f"its acceptor may have at most {states:,} states, this one needs more"
        remedy = f"Use a simpler one, or raise FSMEU_MAX_STATES, now {max_states():,}"
        raise SizeLimitError(message("constraint", must, None, remedy)) from None
    table = table_from_fst(result, "constraint")
    after = np.full((table.states, symbols), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    ends = np.flatnonzero(np.isfinite(table.final))
    here = np.array([table.start] if table.start >= 0 else [], np.int64)
    for _ in range(n or 0):
        here = np.unique(after[here])
        here = here[here >= 0]
    if len(here) if n is None else np.isin(here, ends).any():
        return after, table.start, ends
    length = "" if n is None else f" of length {n}"
    raise EmptyError(message("constraint", f"it must allow at least one sequence{length}"))


def _over_labels(made: Acceptor, symbols: Ints) -> Acceptor:
    """The acceptor that reads labels as these symbols, -1 for those that it never reads."""
    after, start, ends = made
    guard_size("constraint", len(after) * len(symbols) // CELLS_PER_STATE)
    none = np.full((len(after), 1), -1, np.int64)
    return np.concatenate([after, none], axis=1)[:, symbols], start, ends


def acceptor_table(fst: pynini.Fst, alphabet: Alphabet, n: int | None = None) -> Acceptor:
    """The minimal deterministic acceptor of the same sequences (of length n), weights forgotten.

    The given one may have cycles, epsilons and several ways to read a sequence.

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
    arcs = np.stack([table.source, np.zeros_like(table.source), table.target], axis=1)
    arcs[read, 1] = symbol + 1
    ends = np.flatnonzero(np.isfinite(table.final))

    def build(states: int, cut: bool) -> pynini.Fst:
        return acceptor_of_arcs(table.states, arcs, ends, table.start)

    symbols = np.full(len(alphabet), -1, np.int64)
    symbols[known] = np.arange(len(known))
    return _over_labels(deterministic(build, len(known), n, table.states + table.arcs), symbols)


# -- regular expressions over labels ---------------------------------------------------------------


_SIGNS = "()[]{}|&!*+?.^"
_TOKEN = re.compile(
    r'\s+|"[^"]*"|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[()\[\]|&!*+?.^]|[^\s()\[\]{}|&!*+?.^"]+'
)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100
_MOST_CHARACTERS = 100_000


def regex_acceptor(text: str, alphabet: Alphabet, n: int | None = None) -> Acceptor:
    """The minimal deterministic acceptor of a regular expression over labels (for length n).

    Raises:
        InputError: the expression is malformed, or names an unknown label.
        EmptyError: no sequence matches.
        SizeLimitError: the acceptor has too many states.
    """
    if not isinstance(text, str):
        must = "a constraint must be a regular expression over labels or an acceptor"
        raise InputError(message("constraint", must, type(text).__name__))
    if len(text) > _MOST_CHARACTERS:
        must = f"a regular expression may have at most {_MOST_CHARACTERS:,} characters"
        remedy = "Give an acceptor (a pynini machine)"
        raise SizeLimitError(message("constraint", must, f"{len(text):,}", remedy))
    return _acceptor(text, alphabet, n)


@lru_cache(maxsize=64)
def _acceptor(text: str, alphabet: Alphabet, n: int | None) -> Acceptor:
    parser = _Parser(text, alphabet)
    term = parser.either(0)
    if parser.peek():
        raise parser.error(parser.place(), f"{parser.peek()!r} was not expected")
    symbols = np.full(len(alphabet), len(parser.named))  # one for all labels without a name
    symbols[list(parser.named)] = np.arange(len(parser.named))
    count = int(symbols.max()) + 1

    def build(states: int, cut: bool) -> pynini.Fst:
        return _Builder(symbols, count, n, states, cut).acceptor(term)

    following, first, accepting = _over_labels(deterministic(build, count, n), symbols)
    for array in (following, accepting):
        array.setflags(write=False)
    return following, first, accepting


@dataclass(frozen=True)
class _Term:
    """An expression: "one" of some labels, "then", "either", "both", "not", "repeat" of others."""

    kind: str
    parts: tuple[_Term, ...] = ()
    labels: frozenset[int] = frozenset()
    low: int = 0
    high: float = 0.0

    @cached_property
    def shortest(self) -> int:
        """A length that no shorter sequence matches."""
        lengths = [part.shortest for part in self.parts]
        if self.kind == "repeat":
            return self.low * lengths[0]
        combine = {"then": sum, "either": min, "both": max}.get(self.kind)
        return combine(lengths) if combine else int(self.kind == "one")  # type: ignore[operator]

    @cached_property
    def nullable(self) -> bool:
        """True when the empty sequence matches."""
        empty = [part.nullable for part in self.parts]
        if self.kind == "not":
            return not empty[0]
        if self.kind == "either" or (self.kind == "repeat" and not self.low):
            return any(empty) or self.kind == "repeat"
        return self.kind != "one" and all(empty)


class _Builder:
    """Makes acceptors of expressions, not deterministic, by OpenFst's operations.

    ``symbols`` has the symbol from 0 of each label, ``most`` is how many states a deterministic
    acceptor may have; with ``cut``, what is longer than n is left out before determinization.
    """

    def __init__(self, symbols: Ints, count: int, n: int | None, most: int, cut: bool) -> None:
        self._label_symbols, self._symbols, self._n = symbols, count, n
        self._most, self._cut = most, cut
        self._known: dict[_Term, pynini.Fst] = {}

    def acceptor(self, term: _Term) -> pynini.Fst:
        """The acceptor of an expression; a TooLargeError if it is very large."""
        if self._n is not None and term.shortest > self._n:
            return acceptor_of_arcs(1, [], [])
        if term not in self._known:
            self._known[term] = self._made(term)
        return self._known[term]

    def _made(self, term: _Term) -> pynini.Fst:
        if term.kind == "one":
            read = np.unique(self._label_symbols[list(term.labels)])
            return acceptor_of_arcs(2, [(0, k + 1, 1) for k in read], [1])
        if term.kind == "both":  # what is too large is seen before the next is made
            return reduce(intersection, (without_epsilons(self.acceptor(p)) for p in term.parts))
        parts = [self.acceptor(part) for part in term.parts]
        self._guard(sum(part.num_states() + 1 for part in parts))
        match term.kind:
            case "then":
                return _in_a_row(parts)
            case "either":
                return pynini.union(*parts)
            case "repeat":
                return self._repeated(parts[0], term)
        first = parts[0]
        if self._cut:
            first = intersection(first, any_sequence(self._symbols, self._n))
        return pynini.difference(any_sequence(self._symbols), determinized(first, self._most))

    def _repeated(self, part: pynini.Fst, term: _Term) -> pynini.Fst:
        low, high = 0 if term.parts[0].nullable else term.low, term.high
        if self._n is not None and high >= self._n:
            high = math.inf  # what is repeated more often than there are labels is empty at times
        self._guard(part.num_states() * (low if high == math.inf else int(high)))
        if high == math.inf:
            return pynini.closure(part, low)
        return pynini.closure(part, low, int(high)) if high else any_sequence(self._symbols, 0)

    def _guard(self, states: int) -> None:
        if states > STATES_BEFORE * self._most:
            raise TooLargeError


def _in_a_row(parts: Sequence[pynini.Fst]) -> pynini.Fst:
    """The acceptor of one part after the other, joined by halves: a row takes linear time each."""
    if len(parts) < 2:
        return parts[0] if parts else acceptor_of_arcs(1, [], [0])
    half = len(parts) // 2
    return pynini.concat(_in_a_row(parts[:half]), _in_a_row(parts[half:]))


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str, alphabet: Alphabet) -> None:
        self.text, self.alphabet, self.at = text, alphabet, 0
        self.tokens: list[tuple[str, int]] = []
        self.named: dict[int, None] = {}
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self.error(place, f"{text[place]!r} is not understood")
            if match.group().strip():
                self.tokens += self.labels_in(match.group(), place)
            place = match.end()

    def labels_in(self, token: str, place: int) -> list[tuple[str, int]]:
        """A token; a run of one-character labels is as many tokens."""
        run = token not in self.alphabet.index and all(c in self.alphabet.index for c in token)
        if token[0] in _SIGNS or token[0] == '"' or not run:
            return [(token, place)]
        return [(c, place + k) for k, c in enumerate(token)]

    def error(self, place: int, what: str) -> InputError:
        """The error of a place in the expression."""
        shown = f"in {self.text!r}, at character {place + 1}: {what}"
        return InputError(message("constraint", shown))

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def place(self) -> int:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def either(self, depth: int) -> _Term:
        if depth > _MOST_DEPTH:
            raise self.error(self.place(), f"brackets may be nested {_MOST_DEPTH} deep")
        return self.joined("|", "either", lambda: self.joined("&", "both", self.sequence, depth))

    def joined(self, sign: str, kind: str, read: Callable[..., _Term], *depth: int) -> _Term:
        terms = [read(*depth)]
        while self.peek() == sign:
            self.take()
            terms.append(read(*depth))
        return _Term(kind, tuple(terms)) if len(terms) > 1 else terms[0]

    def sequence(self, depth: int) -> _Term:
        parts = []
        while self.peek() and self.peek() not in ("|", "&", ")"):
            parts.append(self.repeated(depth))
        return _Term("then", tuple(parts))

    def repeated(self, depth: int) -> _Term:
        flips = 0
        while self.peek() == "!":
            self.take()
            flips += 1
        term = self.single(depth)
        while self.peek()[:1] in ("*", "+", "?", "{") and self.peek():
            term = self.repeat(term, self.place(), self.take())
        return _Term("not", (term,)) if flips % 2 else term

    def repeat(self, term: _Term, place: int, sign: str) -> _Term:
        if sign in ("*", "+", "?"):
            low, high = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1)}[sign]
            return _Term("repeat", (term,), low=int(low), high=high)
        least, comma, most = sign[1:-1].replace(" ", "").partition(",")
        if not least and not most:
            raise self.error(place, "a repetition is written {2}, {1,3} or {2,}")
        digits = max(len(least), len(most))
        low = int(least or 0) if digits < 10 else _MOST_REPEATS + 1
        high = int(most) if most and digits < 10 else low
        if max(low, high) > _MOST_REPEATS or (most and high < low):
            raise self.error(place, f"repetitions go from low to high, at most {_MOST_REPEATS}")
        most_times = math.inf if comma and not most else high
        return _Term("repeat", (term,), low=low, high=most_times)

    def single(self, depth: int) -> _Term:
        place, token = self.place(), self.take()
        if token == "(":
            term = self.either(depth + 1)
            if self.take() != ")":
                raise self.error(place, "this bracket is not closed")
            return term
        if token == "[":
            return _Term("one", labels=self.chosen(place))
        if token == ".":
            return _Term("one", labels=frozenset(range(len(self.alphabet))))
        return _Term("one", labels=frozenset([self.index(token, place)]))

    def chosen(self, place: int) -> frozenset[int]:
        without = self.peek() == "^"
        if without:
            self.take()
        named = set()
        while self.peek() not in ("]", ""):
            at, token = self.place(), self.take()
            named.add(self.index(token, at))
        if self.take() != "]":
            raise self.error(place, "this bracket is not closed")
        held = frozenset(k for k in range(len(self.alphabet)) if (k in named) != without)
        if not held:
            raise self.error(place, "no label is left")
        return held

    def index(self, token: str, place: int) -> int:
        name = token[1:-1] if token.startswith('"') else token
        if name in self.alphabet.index:
            self.named[self.alphabet.index[name]] = None
            return self.alphabet.index[name]
        hint = nearest(name, map(str, self.alphabet.labels))
        raise self.error(place, f"{name!r} is not a label. {hint}".rstrip())
