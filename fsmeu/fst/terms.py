"""Regular expressions as terms, and what is left of one after a symbol (Brzozowski 1964).

The derivative of an expression with respect to a symbol matches what may follow that symbol. The
derivatives of an expression are the states of a deterministic acceptor, found as they are needed:
repetitions, ``&`` and ``!`` are never written out. Each term is held once, as a number. Where only
sequences of length at most n matter, what is longer than that is nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fsmeu.limits import WORK_OF_PART, WORK_OF_TERM

__all__ = ["EMPTY", "NONE", "Terms"]

NONE, EMPTY = 0, 1
"""The terms that match nothing, and the empty sequence alone."""


@dataclass(frozen=True)
class _Term:
    """An expression.

    Attributes:
        kind: "none", "empty", "one" (of some symbols), "then", "either", "both", "not", "repeat".
        parts: the numbers of the terms that it is made of, in order where order matters.
        symbols: the symbols that "one" matches.
        low: the least number of repetitions.
        high: the greatest, perhaps infinite.
    """

    kind: str
    parts: tuple[int, ...] = ()
    symbols: frozenset[int] = frozenset()
    low: int = 0
    high: float = 0.0


class Terms:
    """All terms that were made.

    Args:
        n: the length of the longest sequences that matter, None for any.
        spend: told how much work is done; it may refuse more.
    """

    def __init__(self, n: int | None, spend: Callable[[int], None]) -> None:
        self._most, self._spend = math.inf if n is None else n, spend
        self._terms: list[_Term] = []
        self._lengths: list[tuple[float, float]] = []
        self._nullable: list[bool] = []
        self._numbers: dict[_Term, int] = {}
        self._derived: dict[tuple[int, int], int] = {}
        self._make(_Term("none"), False, 0.0, 0.0)
        self._make(_Term("empty"), True, 0.0, 0.0)
        self.everything = self._make(_Term("not", (NONE,)), True, 0.0, math.inf)

    def _make(self, term: _Term, nullable: bool, short: float, long: float) -> int:
        """The number of a term; short and long are bounds on the lengths of what it matches."""
        if short > self._most or short > long:
            return NONE
        if term not in self._numbers:
            self._spend(WORK_OF_TERM)
            self._numbers[term] = len(self._terms)
            self._terms.append(term)
            self._lengths.append((short, long))
            self._nullable.append(nullable)
        return self._numbers[term]

    def nullable(self, number: int) -> bool:
        """True when the empty sequence is matched."""
        return self._nullable[number]

    def one_of(self, symbols: Iterable[int]) -> int:
        """One symbol of these."""
        return self._make(_Term("one", symbols=frozenset(symbols)), False, 1.0, 1.0)

    def then(self, first: int, second: int) -> int:
        """The first followed by the second; alternatives at the beginning are told apart."""
        if self._terms[first].kind == "either":
            return self.either(self.then(part, second) for part in self._terms[first].parts)
        spine = []
        while self._terms[first].kind == "then":
            part, first = self._terms[first].parts
            spine.append(part)
        self._spend(WORK_OF_PART * len(spine))
        found = self._pair(first, second)
        for part in reversed(spine):
            found = self._pair(part, found)
        return found

    def _pair(self, first: int, second: int) -> int:
        if NONE in (first, second):
            return NONE
        if EMPTY in (first, second):
            return second if first == EMPTY else first
        (low, high), (more, most) = self._lengths[first], self._lengths[second]
        both = self._nullable[first] and self._nullable[second]
        return self._make(_Term("then", (first, second)), both, low + more, high + most)

    def either(self, parts: Iterable[int]) -> int:
        """What one of these matches."""
        held = self._flat("either", parts) - {NONE}
        if self.everything in held:
            return self.everything
        if len(held) < 2:
            return min(held, default=NONE)
        short = min(self._lengths[part][0] for part in held)
        long = max(self._lengths[part][1] for part in held)
        nullable = any(self._nullable[part] for part in held)
        return self._make(_Term("either", tuple(sorted(held))), nullable, short, long)

    def both(self, parts: Iterable[int]) -> int:
        """What all of these match."""
        held = self._flat("both", parts) - {self.everything}
        if NONE in held:
            return NONE
        if len(held) < 2:
            return min(held, default=self.everything)
        short = max(self._lengths[part][0] for part in held)
        long = min(self._lengths[part][1] for part in held)
        nullable = all(self._nullable[part] for part in held)
        return self._make(_Term("both", tuple(sorted(held))), nullable, short, long)

    def _flat(self, kind: str, parts: Iterable[int]) -> set[int]:
        held: set[int] = set()
        for part in parts:
            inner = self._terms[part]
            held.update(inner.parts if inner.kind == kind else (part,))
        self._spend(len(held))
        return held

    def neither(self, number: int) -> int:
        """What the term does not match."""
        if self._terms[number].kind == "not":
            return self._terms[number].parts[0]
        return self._make(_Term("not", (number,)), not self._nullable[number], 0.0, math.inf)

    def repeat(self, number: int, low: int, high: float) -> int:
        """The term from low to high times; high may be infinite."""
        if number in (NONE, EMPTY) or high == 0:
            return EMPTY if number == EMPTY or low == 0 else NONE
        if self._nullable[number]:
            low = 0
        if high * max(self._lengths[number][0], 1.0) >= self._most:
            high = math.inf
        if (low, high) == (0, math.inf):
            number = self._unstarred(number)
        short, long = self._lengths[number]
        if high == 1 and (low == 1 or self._nullable[number]):
            return number
        most = high * long if long else 0.0
        term = _Term("repeat", (number,), low=low, high=high)
        return self._make(term, low == 0, low * short, most)

    def _unstarred(self, number: int) -> int:
        """A term with the same closure: alternatives that are closures, by what they repeat."""
        inner = self._terms[number]
        parts = [self._terms[p] for p in (inner.parts if inner.kind == "either" else (number,))]
        free = [
            t.parts[0]
            if (t.kind, t.high) == ("repeat", math.inf) and t.low < 2
            else self._numbers[t]
            for t in parts
        ]
        return self.either(free)

    def after(self, number: int, symbol: int) -> int:
        """What may follow the symbol: the derivative of the term."""
        key = (number, symbol)
        if key not in self._derived:
            self._derived[key] = self._after(self._terms[number], symbol)
        return self._derived[key]

    def _after(self, term: _Term, symbol: int) -> int:
        if term.kind == "one":
            return EMPTY if symbol in term.symbols else NONE
        if term.kind == "then":
            return self._after_first(term, symbol)
        self._spend(WORK_OF_PART * len(term.parts))
        parts = [self.after(part, symbol) for part in term.parts]
        if term.kind == "either":
            return self.either(parts)
        if term.kind == "both":
            return self.both(parts)
        if term.kind == "not":
            return self.neither(parts[0])
        if term.kind == "repeat":
            rest = self.repeat(term.parts[0], max(term.low - 1, 0), term.high - 1)
            return self.then(parts[0], rest)
        return NONE

    def _after_first(self, term: _Term, symbol: int) -> int:
        """The derivative of a sequence: of its first part, and of the next where that is empty."""
        found = []
        while True:
            self._spend(WORK_OF_PART)
            first, rest = term.parts
            found.append(self.then(self.after(first, symbol), rest))
            if not self._nullable[first]:
                return self.either(found)
            term = self._terms[rest]
            if term.kind != "then":
                return self.either([*found, self.after(rest, symbol)])

    def of_length(self, number: int, length: int) -> int:
        """A term that matches the same sequences of exactly this length, and fewer others."""
        term = self._terms[number]
        if term.kind in ("either", "both", "not"):
            self._spend(WORK_OF_PART * len(term.parts))
            parts = [self.of_length(part, length) for part in term.parts]
            if term.kind == "not":
                return self.neither(parts[0])
            return self.either(parts) if term.kind == "either" else self.both(parts)
        short, long = self._lengths[number]
        return number if short <= length <= long else NONE
