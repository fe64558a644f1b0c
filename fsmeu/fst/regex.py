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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fsmeu import limits
from fsmeu.arrays import Ints
from fsmeu.errors import EmptyError, InputError, SizeLimitError, nearest
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.image import ArcTable, fst_from_table, table_from_fst
from fsmeu.fst.layers import label_numbers, trimmed_acceptor
from fsmeu.fst.openfst import pynini, pywrapfst


@dataclass(frozen=True, eq=False)
class Constraint:
    """A deterministic acceptor; label sequences it accepts are allowed."""

    next: Ints  # the state after reading a label, (states, labels), -1 where there is none
    start: int
    accepting: Ints  # the states in which a sequence may end

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.next)

    def accepts(self, indices: Ints) -> bool:
        """True when the sequence of label indices is allowed."""
        return self.refused_at(indices) is None

    def refused_at(self, indices: Ints) -> int | None:
        """The place of the first label, from 0, that no allowed sequence has there.

        It is the length where all labels are allowed, but not to end after them; None where the
        sequence is allowed.
        """
        state = self.start
        for place, label in enumerate(indices):
            state = int(self.next[state, label])
            if state < 0:
                return place
        return None if state in self.accepting else len(indices)


class TooLargeError(Exception):
    """An acceptor has more states than there may be."""


def acceptor_of_arcs(states: int, arcs: ArrayLike, ends: ArrayLike, start: int = 0) -> pynini.Fst:
    """The OpenFst acceptor (tropical) of arcs (arcs, 3): state, symbol (0 is epsilon), state."""
    source, label, target = np.asarray(arcs, np.int64).reshape(-1, 3).T
    order = np.argsort(source, kind="stable")
    source = source[order]
    label = label[order]
    target = target[order]
    final = np.full(states, np.inf)
    final[np.asarray(ends, np.int64)] = 0.0
    table = ArcTable(start, source, label, label, np.zeros(len(source)), target, final)
    return pynini.arcmap(fst_from_table(table), map_type="to_std")


def without_epsilons(fst: pynini.Fst) -> pynini.Fst:
    """The same acceptor without epsilons; a TooLargeError if they join very many states."""
    table = table_from_fst(fst, "constraint")
    epsilon = np.flatnonzero(table.ilabel == 0)
    if len(epsilon) >= limits.FEW_EPSILONS:
        from scipy.sparse import csr_array, eye_array

        arcs = np.ones(len(epsilon), bool), (table.source[epsilon], table.target[epsilon])
        joined = csr_array(arcs, (table.states, table.states))
        joined += eye_array(table.states, dtype=bool, format="csr")
        before = -1
        while joined.nnz != before:
            most = min(int(joined.sum(axis=0) @ joined.sum(axis=1)), table.states**2)
            if joined.nnz > limits.MOST_JOINED or most > 5 * limits.MOST_JOINED:
                raise TooLargeError
            before = joined.nnz
            joined = joined @ joined
    return pynini.rmepsilon(fst)


def any_sequence(symbols: int, length: int | None = None, exactly: bool = False) -> pynini.Fst:
    """The acceptor of all sequences, of those up to a length, or of exactly that length."""
    last = 0 if length is None else length
    labels = range(1, symbols + 1)
    arcs = [(k, s, min(k + 1, last)) for k in range(last + (length is None)) for s in labels]
    return acceptor_of_arcs(last + 1, arcs, [last] if exactly else list(range(last + 1)))


def intersected(left: pynini.Fst, right: pynini.Fst) -> pynini.Fst:
    """The acceptor of what both accept, without epsilons; a TooLargeError if very large."""
    if left.num_states() * right.num_states() > limits.MOST_CONSTRAINT_PAIRS:
        raise TooLargeError
    return pynini.intersect(without_epsilons(left), right)


def minimal_dfa(fst: pynini.Fst, states: int) -> pynini.Fst:
    """The minimal deterministic acceptor; a TooLargeError if it has too many states."""
    if fst.num_states() > limits.STATES_BEFORE_DETERMINIZING * states:
        raise TooLargeError
    plain: pynini.Fst = without_epsilons(fst)
    if not plain.properties(pywrapfst.I_DETERMINISTIC, True):
        arcs = sum(plain.num_arcs(state) for state in plain.states())
        most = min(states, limits.MOST_DETERMINIZING_WORK // max(1, arcs) + 1)
        plain = pynini.determinize(plain, nstate=most + 1)
        if plain.num_states() > most:
            raise TooLargeError
    plain.minimize()
    if plain.num_states() > states:
        raise TooLargeError
    return plain


def deterministic(
    build: Callable[[int, bool], pynini.Fst], symbols: Ints, n: int | None, least: int = 0
) -> Constraint:
    """The minimal deterministic acceptor over labels, right for length n (for any, if None).

    An acceptor for all lengths is tried first, as it is smaller. ``build`` makes one of symbols
    1, 2, ..., given how many states it may have and whether to leave out what is longer than n;
    ``symbols`` has each label's symbol from 0, or -1; ``least`` states there may be in any case.
    """
    count = int(symbols.max()) + 1
    states = max(1, max_states() // limits.CONSTRAINT_SHARE, least)
    few = states if n is None else min(states, max(limits.FEW_CONSTRAINT_STATES, least))
    for most, cut in ((few, False), (states, True)) if n is not None else ((few, False),):
        with suppress(TooLargeError):
            fst = build(most, cut)
            fst = intersected(fst, any_sequence(count, n, exactly=True)) if cut else fst
            table = table_from_fst(minimal_dfa(fst, most), "constraint")
            break
    else:
        must = f"its acceptor may have at most {states:,} states"
        remedy = f"Use a simpler one, or raise FSMEU_MAX_STATES, now {max_states():,}"
        raise SizeLimitError("constraint", must, given="more", remedy=remedy)
    after = np.full((table.states, count + 1), -1, np.int64)
    after[table.source, table.ilabel - 1] = table.target
    ends = np.flatnonzero(np.isfinite(table.final))
    if table.start < 0:
        length = "" if n is None else f" of length {n}"
        raise EmptyError("constraint", f"it must allow at least one sequence{length}")
    guard_size("constraint", len(after) * len(symbols) // limits.CELLS_PER_STATE)
    return Constraint(after[:, symbols], table.start, ends)


def acceptor_table(fst: pynini.Fst, alphabet: Alphabet, n: int | None = None) -> Constraint:
    """The minimal deterministic acceptor of the same sequences (of length n), weights forgotten.

    ``fst`` may have cycles, epsilons and several paths that read a sequence.
    """
    table = trimmed_acceptor(fst, "constraint")
    guard_size("constraint", table.states + table.arcs)
    read = table.ilabel != 0
    labels = label_numbers(fst, alphabet, replace(table, ilabel=table.ilabel[read]), "constraint")
    used, symbol = np.unique(labels, return_inverse=True)
    arcs = np.stack([table.source, np.zeros_like(table.source), table.target], axis=1)
    arcs[read, 1] = symbol + 1
    ends = np.flatnonzero(np.isfinite(table.final))
    acceptor = acceptor_of_arcs(table.states, arcs, ends, table.start)
    symbols = np.full(len(alphabet), -1, np.int64)
    symbols[used] = np.arange(len(used))
    return deterministic(lambda states, cut: acceptor, symbols, n, table.states + table.arcs)


# -- regular expressions over labels ---------------------------------------------------------------

_REPEATS = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1.0)}
_TOKEN = re.compile(
    r'\s+|"[^"]*"|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[()\[\]|&!*+?.^]'
    r'|(?P<word>[^\s()\[\]{}|&!*+?.^"]+)|(?P<other>.)'
)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100
_MOST_CHARACTERS = 100_000


@lru_cache(maxsize=64)
def regex_acceptor(text: str, alphabet: Alphabet, n: int | None = None) -> Constraint:
    """The minimal deterministic acceptor of a regular expression over labels (for length n)."""
    if len(text) > _MOST_CHARACTERS:
        must = f"a regular expression may have at most {_MOST_CHARACTERS:,} characters"
        raise SizeLimitError("constraint", must, given=f"{len(text):,}", remedy="Give an acceptor")
    parser = _Parser(text, alphabet)
    term = parser.term(0)
    extra, place = parser.take()
    if extra:
        raise parser.error(place, f"{extra!r} was not expected")
    symbols = np.full(len(alphabet), len(parser.named))  # one for all labels without a name
    symbols[list(parser.named)] = np.arange(len(parser.named))
    constraint = deterministic(partial(_built, term, symbols, n), symbols, n)
    constraint.next.setflags(write=False)  # the cache returns it to many
    constraint.accepting.setflags(write=False)
    return constraint


class _Term(NamedTuple):
    """An expression: "one" of some labels, "then", "either", "both", "not", "repeat" of others."""

    kind: str
    shortest: int  # a length that no shorter sequence matches; 0 only if the empty sequence does
    parts: tuple[_Term, ...] = ()
    labels: frozenset[int] = frozenset()
    low: int = 0
    high: float = 0.0


def _built(term: _Term, symbols: Ints, n: int | None, most: int, cut: bool) -> pynini.Fst:
    """The acceptor of an expression, by OpenFst's operations; a TooLargeError if it is very large.

    It is not deterministic, which one of ``most`` states may be. With ``cut``, what is longer than
    n is left out before determinization.
    """
    count = int(symbols.max()) + 1

    @cache
    def acceptor(term: _Term) -> pynini.Fst:
        if n is not None and term.shortest > n:
            return acceptor_of_arcs(1, [], [])
        if term.kind == "one":
            read = np.unique(symbols[list(term.labels)])
            return acceptor_of_arcs(2, [(0, k + 1, 1) for k in read], [1])
        if term.kind == "both":  # what is too large is seen before the next is made
            return reduce(intersected, (without_epsilons(acceptor(p)) for p in term.parts))
        parts = [acceptor(part) for part in term.parts]
        if sum(part.num_states() + 1 for part in parts) > limits.STATES_BEFORE_DETERMINIZING * most:
            raise TooLargeError
        if term.kind == "then":
            return _in_a_row(parts)
        if term.kind == "either":
            return pynini.union(*parts)
        [part] = parts
        if term.kind == "not":
            part = intersected(part, any_sequence(count, n)) if cut else part
            return pynini.difference(any_sequence(count), minimal_dfa(part, most))
        low = term.low if term.parts[0].shortest else 0
        high = term.high
        if n is not None and high >= n:
            high = math.inf  # what is repeated more often than there are labels is empty at times
        if (
            part.num_states() * (low if high == math.inf else high)
            > limits.STATES_BEFORE_DETERMINIZING * most
        ):
            raise TooLargeError
        if high == math.inf:
            return pynini.closure(part, low)
        return pynini.closure(part, low, int(high)) if high else any_sequence(count, 0)

    return acceptor(term)


def _in_a_row(parts: Sequence[pynini.Fst]) -> pynini.Fst:
    """The acceptor of one part after the other, joined by halves: a row takes linear time each."""
    if len(parts) < 2:
        return parts[0] if parts else acceptor_of_arcs(1, [], [0])
    half = len(parts) // 2
    return pynini.concat(_in_a_row(parts[:half]), _in_a_row(parts[half:]))


class _Parser:
    """Reads an expression from left to right; ``named`` are the labels in it, in their order."""

    def __init__(self, text: str, alphabet: Alphabet) -> None:
        self.text = text
        self.index = alphabet.index
        self.at = 0
        self.stacked = 0
        self.every = frozenset(range(len(alphabet)))
        self.named = dict[int, None]()
        self.tokens = list[tuple[str, int]]()
        for match in _TOKEN.finditer(text):
            token = match.group()
            place = match.start()
            kind = match.lastgroup
            if kind == "other":
                raise self.error(place, f"{token!r} is not understood")
            if kind == "word" and token not in self.index and all(c in self.index for c in token):
                self.tokens += [(c, place + k) for k, c in enumerate(token)]
            elif token.strip():
                self.tokens.append((token, place))
        self.tokens.append(("", len(text)))

    def error(self, place: int, must: str, remedy: str = "") -> InputError:
        where = f"constraint: in {self.text!r}, at character {place + 1}"
        return InputError(where, must, remedy=remedy)

    def peek(self) -> str:
        return self.tokens[self.at][0]

    def take(self) -> tuple[str, int]:
        """The next token, "" at the end, and its place."""
        token = self.tokens[self.at]
        self.at += bool(token[0])
        return token

    def takes(self, sign: str) -> bool:
        """Whether this sign comes next; it is taken then."""
        here = self.peek() == sign
        self.at += here
        return here

    def term(self, depth: int, level: int = 0) -> _Term:
        """A term whose parts are joined by | at level 0, by & at level 1, by nothing at level 2."""
        parts = list[_Term]()
        if level == 2:
            while self.peek() not in ("|", "&", ")", ""):
                parts.append(self.repeated(depth))
            return _Term("then", sum(part.shortest for part in parts), tuple(parts))
        sign, kind, shortest = (("|", "either", min), ("&", "both", max))[level]
        while not parts or self.takes(sign):
            parts.append(self.term(depth, level + 1))
        lengths = [part.shortest for part in parts]
        return _Term(kind, shortest(lengths), tuple(parts)) if len(parts) > 1 else parts[0]

    def repeated(self, depth: int) -> _Term:
        """One part with the signs before and after it."""
        flips = 0
        while self.takes("!"):
            flips += 1
        term = self.single(depth)
        while self.peek()[:1] in ("*", "+", "?", "{"):
            self.stacked += term.kind == "repeat"
            self.check_depth(self.stacked)
            low, high = self.bounds(*self.take())
            term = _Term("repeat", low * term.shortest, (term,), low=low, high=high)
        return _Term("not", int(not term.shortest), (term,)) if flips % 2 else term

    def bounds(self, sign: str, place: int) -> tuple[int, float]:
        """The least and the greatest number of repetitions."""
        if sign in _REPEATS:
            return _REPEATS[sign]
        least, comma, most = sign[1:-1].replace(" ", "").partition(",")
        if not least and not most:
            raise self.error(place, "a repetition is written {2}, {1,3} or {2,}")
        low, high = (int(digits.lstrip("0")[:9] or 0) for digits in (least, most or least))
        if high < low or high > _MOST_REPEATS:
            raise self.error(place, f"repetitions go from low to high, at most {_MOST_REPEATS}")
        return low, math.inf if comma and not most else high

    def single(self, depth: int) -> _Term:
        """A label, one of several, or an expression in brackets."""
        self.check_depth(depth)
        token, place = self.take()
        if token == "(":
            term = self.term(depth + 1)
            if not self.takes(")"):
                raise self.error(place, "this bracket is not closed")
            return term
        if token == ".":
            return _Term("one", 1, labels=self.every)
        if token != "[":
            return _Term("one", 1, labels=frozenset({self.label(token, place)}))
        without = self.takes("^")
        named = set[int]()
        while self.peek() not in ("]", ""):
            named.add(self.label(*self.take()))
        if not self.takes("]"):
            raise self.error(place, "this bracket is not closed")
        if not (labels := self.every - named if without else frozenset(named)):
            raise self.error(place, "no label is left")
        return _Term("one", 1, labels=labels)

    def check_depth(self, depth: int) -> None:
        if depth > _MOST_DEPTH:
            must = f"brackets may be nested {_MOST_DEPTH} deep, as may signs of repetition"
            raise self.error(self.tokens[self.at][1], must)

    def label(self, token: str, place: int) -> int:
        """The index of a label."""
        name = token[1:-1] if token.startswith('"') else token
        if name in self.index:
            self.named[self.index[name]] = None
            return self.index[name]
        hint = nearest(name, map(str, self.index))
        raise self.error(place, f"{name!r} is not a label", hint)
