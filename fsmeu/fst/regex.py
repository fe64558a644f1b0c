"""Regular expressions over labels, as deterministic acceptors.

Labels stand side by side with spaces between them (or none, when every label is one character):
``0* 1 0*``, ``(O | B-NP I-NP*)*``. ``.`` is any label, ``[a b]`` one of these, ``[^ a b]`` none of
these, ``x{2}``, ``x{1,3}``, ``x{2,}`` repeat, ``x?``, ``x*``, ``x+`` as usual, ``a | b`` either,
``a & b`` both, ``!a`` whatever a does not match. A label that looks like an operator is put in
quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, SizeLimitError, message, nearest
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size, pynini
from fsmeu.fst.determinize import (
    STATES_BEFORE,
    Acceptor,
    Effort,
    TooLargeError,
    acceptor_of_arcs,
    any_sequence,
    deterministic,
    determinized,
    intersection,
    without_epsilons,
)
from fsmeu.limits import CELLS_PER_STATE

_SIGNS = "()[]{}|&!*+?.^"
_TOKEN = re.compile(
    r'\s+|"[^"]*"|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[()\[\]|&!*+?.^]|[^\s()\[\]{}|&!*+?.^"]+'
)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100
_MOST_CHARACTERS = 100_000


def regex_acceptor(text: str, alphabet: Alphabet, n: int | None = None) -> Acceptor:
    """The minimal deterministic acceptor of a regular expression over labels.

    Args:
        text: the expression.
        alphabet: the labels.
        n: the length of the sequences that matter, None for all.

    Returns:
        Next state (states, labels) with -1 for none, the start state, the accepting states.

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
    parser.finish()
    classes = _classes(parser.sets, len(alphabet))
    symbols, effort = int(classes.max()) + 1, Effort()
    numbers = {held: tuple(set(classes[list(held)].tolist())) for held in parser.sets}

    def build(cut: bool) -> pynini.Fst:
        most = effort.states if n is None or cut else effort.few
        return _Builder(numbers, symbols, n, most, cut).acceptor(term)

    following, first, accepting = deterministic(build, symbols, n, effort)
    guard_size("constraint", len(following) * len(alphabet) // CELLS_PER_STATE)
    following = following[:, classes]
    for array in (following, accepting):
        array.setflags(write=False)
    return following, first, accepting


def _classes(sets: Iterable[frozenset[int]], labels: int) -> Ints:
    """A number for each label: the same for labels that the expression never tells apart."""
    numbers = np.zeros(labels, np.int64)
    for held in sets:
        inside = np.zeros(labels, bool)
        inside[list(held)] = True
        numbers = np.unique(2 * numbers + inside, return_inverse=True)[1]
    return numbers


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
        match self.kind:
            case "one":
                return 1
            case "then":
                return sum(lengths)
            case "either" | "both":
                return min(lengths) if self.kind == "either" else max(lengths)
            case "repeat":
                return self.low * lengths[0]
        return 0

    @cached_property
    def nullable(self) -> bool:
        """True when the empty sequence matches."""
        empty = [part.nullable for part in self.parts]
        match self.kind:
            case "either":
                return any(empty)
            case "not":
                return not empty[0]
            case "repeat":
                return self.low == 0 or empty[0]
        return self.kind != "one" and all(empty)


class _Builder:
    """Makes acceptors of expressions, not deterministic, by OpenFst's operations.

    ``numbers`` are the symbols from 0 that sets of labels stand for, ``n`` is the length of the
    longest sequences that matter, ``most`` the states that a deterministic acceptor may have; with
    ``cut``, longer sequences are left out of what is determinized on the way.
    """

    def __init__(
        self,
        numbers: Mapping[frozenset[int], tuple[int, ...]],
        symbols: int,
        n: int | None,
        most: int,
        cut: bool,
    ) -> None:
        self._symbols, self._n, self._most, self._cut = symbols, n, most, cut
        self._known: dict[_Term, pynini.Fst] = {}
        for labels, held in numbers.items():
            arcs = [(0, k + 1, 1) for k in held]
            self._known[_Term("one", labels=labels)] = acceptor_of_arcs(2, arcs, [1])

    def acceptor(self, term: _Term) -> pynini.Fst:
        """The acceptor of an expression; a TooLargeError if it is very large."""
        if self._n is not None and term.shortest > self._n:
            return acceptor_of_arcs(1, [], [])
        if term not in self._known:
            self._known[term] = self._made(term)
        return self._known[term]

    def _made(self, term: _Term) -> pynini.Fst:
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
        self.sets: set[frozenset[int]] = set()
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self.error(place, f"{text[place]!r} is not understood")
            if match.group().strip():
                self.tokens += self.labels_in(match.group(), place)
            place = match.end()

    def one_of(self, labels: frozenset[int]) -> _Term:
        """The term of one of these labels."""
        self.sets.add(labels)
        return _Term("one", labels=labels)

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

    def finish(self) -> None:
        if self.peek():
            raise self.error(self.place(), f"{self.peek()!r} was not expected")

    def either(self, depth: int) -> _Term:
        if depth > _MOST_DEPTH:
            raise self.error(self.place(), f"brackets may be nested {_MOST_DEPTH} deep")
        terms = [self.both(depth)]
        while self.peek() == "|":
            self.take()
            terms.append(self.both(depth))
        return _Term("either", tuple(terms)) if len(terms) > 1 else terms[0]

    def both(self, depth: int) -> _Term:
        terms = [self.sequence(depth)]
        while self.peek() == "&":
            self.take()
            terms.append(self.sequence(depth))
        return _Term("both", tuple(terms)) if len(terms) > 1 else terms[0]

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
            return self.chosen(place)
        if token == ".":
            return self.one_of(frozenset(range(len(self.alphabet))))
        return self.one_of(frozenset([self.index(token, place)]))

    def chosen(self, place: int) -> _Term:
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
        return self.one_of(held)

    def index(self, token: str, place: int) -> int:
        name = token[1:-1] if token.startswith('"') else token
        if name in self.alphabet.index:
            return self.alphabet.index[name]
        hint = nearest(name, map(str, self.alphabet.labels))
        raise self.error(place, f"{name!r} is not a label. {hint}".rstrip())
