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
from functools import lru_cache

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, SizeLimitError, nearest, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.determinize import Effort, deterministic
from fsmeu.fst.terms import EMPTY, NONE, Terms
from fsmeu.limits import CELLS_PER_STATE

__all__ = ["regex_acceptor"]


_SIGNS = "()[]{}|&!*+?.^"
_TOKEN = re.compile(
    r'\s+|"[^"]*"|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[()\[\]|&!*+?.^]|[^\s()\[\]{}|&!*+?.^"]+'
)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100
_MOST_CHARACTERS = 100_000


def regex_acceptor(text: str, alphabet: Alphabet, n: int | None = None) -> tuple[Ints, int, Ints]:
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
        raise InputError(sentence("constraint", must, type(text).__name__))
    if len(text) > _MOST_CHARACTERS:
        must = f"a regular expression may have at most {_MOST_CHARACTERS:,} characters"
        remedy = "Give an acceptor (a pynini machine)"
        raise SizeLimitError(sentence("constraint", must, f"{len(text):,}", remedy))
    return _acceptor(text, alphabet, n)


@lru_cache(maxsize=64)
def _acceptor(text: str, alphabet: Alphabet, n: int | None) -> tuple[Ints, int, Ints]:
    effort = Effort()
    parser = _Parser(text, alphabet, Terms(n, effort.spend))
    start = parser.either(0)
    parser.finish()
    classes = parser.classes()
    symbols = classes.max() + 1
    places = [int(np.flatnonzero(classes == k)[0]) for k in range(symbols)]
    lazy = _Derivatives(parser.terms, start, places)
    following, first, accepting = deterministic(lazy, n, effort)
    guard_size("constraint", len(following) * len(alphabet) // CELLS_PER_STATE)
    following = following[:, np.minimum(classes, following.shape[1] - 1)]
    for array in (following, accepting):
        array.setflags(write=False)
    return following, first, accepting


class _Derivatives:
    """The acceptor whose states are terms."""

    def __init__(self, terms: Terms, start: int, symbols: list[int]) -> None:
        self._terms, self._symbols = terms, symbols
        self.start = start

    def steps(self, state: int) -> list[int]:
        """The derivative by each symbol."""
        return [_state(self._terms.after(state, symbol)) for symbol in self._symbols]

    def accepts(self, state: int) -> bool:
        """True when the empty sequence is matched."""
        return self._terms.nullable(state)

    def of_length(self, state: int, length: int) -> int:
        """A term that matches what has this length."""
        return _state(self._terms.of_length(state, length))


def _state(term: int) -> int:
    """The term as a state, -1 when it matches nothing."""
    return -1 if term == NONE else term


class _Parser:
    """Reads an expression from left to right, making terms over label indices as it goes."""

    def __init__(self, text: str, alphabet: Alphabet, terms: Terms) -> None:
        self.text, self.alphabet, self.terms, self.at = text, alphabet, terms, 0
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

    def classes(self) -> Ints:
        """A number for each label: the same for labels that the expression never tells apart."""
        numbers = np.zeros(len(self.alphabet), np.int64)
        for held in self.sets:
            inside = np.zeros(len(self.alphabet), bool)
            inside[list(held)] = True
            numbers = np.unique(2 * numbers + inside, return_inverse=True)[1]
        return numbers

    def one_of(self, labels: frozenset[int]) -> int:
        """The term of one of these labels."""
        self.sets.add(labels)
        return self.terms.one_of(labels)

    def labels_in(self, token: str, place: int) -> list[tuple[str, int]]:
        """A token; a run of one-character labels is as many tokens."""
        run = token not in self.alphabet.index and all(c in self.alphabet.index for c in token)
        if token[0] in _SIGNS or token[0] == '"' or not run:
            return [(token, place)]
        return [(c, place + k) for k, c in enumerate(token)]

    def error(self, place: int, what: str) -> InputError:
        """The error of a place in the expression."""
        shown = f"in {self.text!r}, at character {place + 1}: {what}"
        return InputError(sentence("constraint", shown))

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

    def either(self, depth: int) -> int:
        if depth > _MOST_DEPTH:
            raise self.error(self.place(), f"brackets may be nested {_MOST_DEPTH} deep")
        found = [self.both(depth)]
        while self.peek() == "|":
            self.take()
            found.append(self.both(depth))
        return self.terms.either(found)

    def both(self, depth: int) -> int:
        found = [self.sequence(depth)]
        while self.peek() == "&":
            self.take()
            found.append(self.sequence(depth))
        return self.terms.both(found)

    def sequence(self, depth: int) -> int:
        parts = []
        while self.peek() and self.peek() not in ("|", "&", ")"):
            parts.append(self.repeated(depth))
        found = EMPTY
        for part in reversed(parts):
            found = self.terms.then(part, found)
        return found

    def repeated(self, depth: int) -> int:
        flips = 0
        while self.peek() == "!":
            self.take()
            flips += 1
        found = self.single(depth)
        while self.peek()[:1] in ("*", "+", "?", "{") and self.peek():
            found = self.repeat(found, self.place(), self.take())
        return self.terms.neither(found) if flips % 2 else found

    def repeat(self, found: int, place: int, sign: str) -> int:
        if sign in ("*", "+", "?"):
            low, high = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1)}[sign]
            return self.terms.repeat(found, low, high)
        least, comma, most = sign[1:-1].replace(" ", "").partition(",")
        if not least and not most:
            raise self.error(place, "a repetition is written {2}, {1,3} or {2,}")
        digits = max(len(least), len(most))
        low = int(least or 0) if digits < 10 else _MOST_REPEATS + 1
        high = int(most) if most and digits < 10 else low
        if max(low, high) > _MOST_REPEATS or (most and high < low):
            raise self.error(place, f"repetitions go from low to high, at most {_MOST_REPEATS}")
        return self.terms.repeat(found, low, math.inf if comma and not most else high)

    def single(self, depth: int) -> int:
        place, token = self.place(), self.take()
        if token == "(":
            found = self.either(depth + 1)
            if self.take() != ")":
                raise self.error(place, "this bracket is not closed")
            return found
        if token == "[":
            return self.chosen(place)
        if token == ".":
            return self.one_of(frozenset(range(len(self.alphabet))))
        return self.one_of(frozenset([self.index(token, place)]))

    def chosen(self, place: int) -> int:
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
