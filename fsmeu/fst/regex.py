"""Regular expressions over labels, compiled to acceptors with OpenFst's rational operations.

Labels stand side by side with spaces between them (or none, when every label is one character):
``0* 1 0*``, ``(O | B-NP I-NP*)*``. ``.`` is any label, ``[a b]`` one of these, ``[^ a b]`` none of
these, ``x{2}``, ``x{1,3}``, ``x{2,}`` repeat, ``x?``, ``x*``, ``x+`` as usual, ``a | b`` either,
``a & b`` both, ``!a`` whatever a does not match. A label that looks like an operator is put in
quotes.
"""

from __future__ import annotations

import re

import pynini
import pywrapfst

from fsmeu.errors import InputError, nearest, sentence
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.symbols import symbol_table

__all__ = ["regex_acceptor"]

_SIGNS = "()[]{}|&!*+?.^"
_TOKEN = re.compile(
    r'\s+|"[^"]*"|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[()\[\]|&!*+?.^]|[^\s()\[\]{}|&!*+?.^"]+'
)
_MOST_REPEATS = 1000
_MOST_DEPTH = 100


def regex_acceptor(text: str, alphabet: Alphabet) -> pynini.Fst:
    """The acceptor of a regular expression over labels.

    Raises:
        InputError: the expression is malformed, or names an unknown label.
    """
    if not isinstance(text, str):
        must = "a constraint must be a regular expression over labels or an acceptor"
        raise InputError(sentence("constraint", must, type(text).__name__))
    parser = _Parser(text, alphabet)
    found = parser.either(0)
    parser.finish()
    symbols = symbol_table(alphabet)
    found.set_input_symbols(symbols)
    found.set_output_symbols(symbols)
    return found.optimize()


class _Parser:
    """Reads an expression from left to right, building machines as it goes."""

    def __init__(self, text: str, alphabet: Alphabet) -> None:
        self.text, self.alphabet, self.at = text, alphabet, 0
        self.tokens: list[tuple[str, int]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self.error(place, f"{text[place]!r} is not understood")
            if match.group().strip():
                self.tokens += self.labels_in(match.group(), place)
            place = match.end()
        self.any = pynini.union(*(self.label(k) for k in range(len(alphabet))))

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

    def label(self, index: int) -> pynini.Fst:
        """The machine that reads one label."""
        fst = pynini.Fst()
        start, end = fst.add_state(), fst.add_state()
        fst.set_start(start)
        one = pywrapfst.Weight.one("tropical")
        fst.set_final(end, one)
        fst.add_arc(start, pywrapfst.Arc(index + 1, index + 1, one, end))
        return fst

    def either(self, depth: int) -> pynini.Fst:
        if depth > _MOST_DEPTH:
            raise self.error(self.place(), f"brackets may be nested {_MOST_DEPTH} deep")
        found = self.both(depth)
        while self.peek() == "|":
            self.take()
            found = pynini.union(found, self.both(depth))
        return found

    def both(self, depth: int) -> pynini.Fst:
        found = self.sequence(depth)
        while self.peek() == "&":
            self.take()
            found = pynini.intersect(found.optimize().arcsort(), self.sequence(depth).optimize())
        return found

    def sequence(self, depth: int) -> pynini.Fst:
        found = _empty()
        while self.peek() and self.peek() not in ("|", "&", ")"):
            found = pynini.concat(found, self.repeated(depth))
        return found

    def repeated(self, depth: int) -> pynini.Fst:
        if self.peek() == "!":
            self.take()
            inner = self.repeated(depth)
            everything = pynini.closure(self.any).optimize()
            return pynini.difference(everything, inner.optimize().arcsort())
        found = self.single(depth)
        while self.peek()[:1] in ("*", "+", "?", "{") and self.peek():
            found = self.repeat(found, self.place(), self.take())
        return found

    def repeat(self, found: pynini.Fst, place: int, sign: str) -> pynini.Fst:
        if sign in ("*", "+", "?"):
            low, high = {"*": (0, 0), "+": (1, 0), "?": (0, 1)}[sign]
            return pynini.closure(found, low, high)
        least, comma, most = sign[1:-1].replace(" ", "").partition(",")
        if not least and not most:
            raise self.error(place, "a repetition is written {2}, {1,3} or {2,}")
        low = int(least or 0)
        high = int(most) if most else (0 if comma else low)
        if max(low, high) > _MOST_REPEATS or (most and high < low):
            raise self.error(place, f"repetitions go from low to high, at most {_MOST_REPEATS}")
        if high == 0 and (most or not comma):
            return _empty()
        return pynini.closure(found, low, high)

    def single(self, depth: int) -> pynini.Fst:
        place, token = self.place(), self.take()
        if token == "(":
            found = self.either(depth + 1)
            if self.take() != ")":
                raise self.error(place, "this bracket is not closed")
            return found
        if token == "[":
            return self.one_of(place)
        if token == ".":
            return self.any.copy()
        return self.label(self.index(token, place))

    def one_of(self, place: int) -> pynini.Fst:
        without = self.peek() == "^"
        if without:
            self.take()
        named = set()
        while self.peek() not in ("]", ""):
            at, token = self.place(), self.take()
            named.add(self.index(token, at))
        if self.take() != "]":
            raise self.error(place, "this bracket is not closed")
        chosen = [k for k in range(len(self.alphabet)) if (k in named) != without]
        if not chosen:
            raise self.error(place, "no label is left")
        return pynini.union(*(self.label(k) for k in chosen))

    def index(self, token: str, place: int) -> int:
        name = token[1:-1] if token.startswith('"') else token
        if name in self.alphabet.index:
            return self.alphabet.index[name]
        hint = nearest(name, map(str, self.alphabet.labels))
        raise self.error(place, f"{name!r} is not a label. {hint}".rstrip())


def _empty() -> pynini.Fst:
    """The machine that accepts the empty sequence alone."""
    fst = pynini.Fst()
    fst.set_start(fst.add_state())
    fst.set_final(fst.start(), pywrapfst.Weight.one("tropical"))
    return fst
