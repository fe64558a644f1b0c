"""Machines in OpenFst's own formats: the binary image, and text with every digit.

OpenFst's programs print weights with nine digits; the text written here has as many as are needed
to read the same number back, and OpenFst reads it. The text numbers labels; names go into symbol
files.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fsmeu.errors import InputError, as_number, sentence, shorten
from fsmeu.exchange import openfst
from fsmeu.exchange.automaton import Automaton, as_automaton, of_fst
from fsmeu.fst.arcs import ArcTable

__all__ = [
    "from_openfst",
    "from_openfst_text",
    "symbols_from_text",
    "symbols_text",
    "to_openfst",
    "to_openfst_text",
]


def to_openfst(thing: Any) -> bytes:
    """A machine as OpenFst's binary file (log64 arcs), symbol tables included."""
    image: bytes = as_automaton(thing).fst.write_to_string()
    return image


def from_openfst(source: bytes | str | os.PathLike[str] | Any) -> Automaton:
    """The machine in an OpenFst binary file, in its bytes, or in a pynini object.

    Standard and log arcs are read as log64 arcs with the same numbers.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return of_fst(openfst.fst_from_bytes(bytes(source), "from_openfst"))
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return of_fst(openfst.fst_from_bytes(openfst.bytes_of_file(path), str(path)), path.stem)
    if not (hasattr(source, "write_to_string") and hasattr(source, "arc_type")):
        must = "must be a file of OpenFst, its bytes, or a machine of pynini"
        raise InputError(sentence("from_openfst", must, type(source).__name__))
    return of_fst(source)


def to_openfst_text(thing: Any) -> str:
    """A machine as OpenFst's text: one line per arc, one per final state, the start state first.

    Weights are -log of factors, written so that reading them gives the same bits.
    """
    table = as_automaton(thing).table
    order = np.arange(table.states)
    if table.start > 0:
        order = np.concatenate([[table.start], order[order != table.start]])
    lines: list[str] = []
    for state in order.tolist() if table.start >= 0 else []:
        begin, end = int(table.offsets[state]), int(table.offsets[state + 1])
        for arc in range(begin, end):
            fields = (table.target[arc], table.ilabel[arc], table.olabel[arc])
            words = [str(state), *(str(int(field)) for field in fields)]
            lines.append("\t".join([*words, *_weight_text(float(table.weight[arc]))]))
        final = float(table.final[state])
        if final != math.inf or begin == end:
            lines.append("\t".join([str(state), *_weight_text(final)]))
    return "".join(f"{line}\n" for line in lines)


def _weight_text(weight: float) -> list[str]:
    """The word for a weight; one (0.0) is left out as OpenFst does, minus zero is not."""
    if weight == 0 and math.copysign(1, weight) > 0:
        return []
    if math.isinf(weight):
        return ["Infinity" if weight > 0 else "-Infinity"]
    return [repr(weight)]


def from_openfst_text(
    text: str, inputs: Mapping[int, str] | None = None, outputs: Mapping[int, str] | None = None
) -> Automaton:
    """The machine in OpenFst's text.

    Args:
        text: lines ``source target input output [weight]`` and ``state [weight]``; labels are
            numbers, or names if these are given.
        inputs: names of the numbers on the input tape.
        outputs: the same of the output tape; those of the input tape if left out.
    """
    inputs = dict(inputs or {})
    outputs = inputs if outputs is None else dict(outputs)
    for names in (inputs, outputs):
        openfst.check_names(names)
    reader = _Reader(inputs, outputs)
    for k, line in enumerate(text.splitlines()):
        if line.strip():
            reader.line(line, k + 1)
    table = reader.table()
    fst = openfst.fst_with_symbols(table, inputs, outputs)
    return of_fst(fst)


class _Reader:
    """Gathers the lines of a text."""

    def __init__(self, inputs: Mapping[int, str], outputs: Mapping[int, str]) -> None:
        self.numbers = tuple({name: k for k, name in names.items()} for names in (inputs, outputs))
        self.arcs: list[tuple[int, int, int, int, float]] = []
        self.finals: dict[int, float] = {}
        self.start = -1

    def line(self, line: str, number: int) -> None:
        """Reads an arc, or a final state."""
        words = line.split()
        where = f"line {number}"
        if len(words) in (1, 2):
            state = self._whole(words[0], where)
            self.finals[state] = self._weight(words[1:], where)
        elif len(words) in (4, 5):
            state, target = (self._whole(word, where) for word in words[:2])
            labels = [self._label(words[2 + tape], tape, where) for tape in (0, 1)]
            self.arcs.append((state, target, *labels, self._weight(words[4:], where)))  # type: ignore[arg-type]
        else:
            must = "a line is 'source target input output [weight]' or 'state [weight]'"
            raise InputError(sentence(where, must, shorten(line)))
        if self.start < 0:
            self.start = state

    def _whole(self, word: str, where: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise InputError(sentence(where, "states are numbers from 0", word))
        return int(word)

    def _label(self, word: str, tape: int, where: str) -> int:
        if word in self.numbers[tape]:
            return self.numbers[tape][word]
        if self.numbers[tape] or not (word.isascii() and word.isdigit() and len(word) < 10):
            must = (
                "a label must be one of the names that are given"
                if self.numbers[tape]
                else ("labels are numbers where no names are given")
            )
            raise InputError(sentence(where, must, word))
        return int(word)

    def _weight(self, words: list[str], where: str) -> float:
        if not words:
            return 0.0
        try:
            weight = float(words[0])
        except ValueError:
            weight = math.nan
        if math.isnan(weight):
            raise InputError(sentence(where, "a weight must be a number", words[0]))
        return weight

    def table(self) -> ArcTable:
        """All arcs, sorted by their source."""
        ends = [state for arc in self.arcs for state in arc[:2]]
        states = 1 + max([*ends, *self.finals], default=-1)
        if states > 10 * (len(self.arcs) + len(self.finals)) + 1000:
            must = "states must be numbered without great gaps"
            raise InputError(sentence("OpenFst text", must, f"state {states - 1}"))
        rows = sorted(self.arcs, key=lambda arc: arc[0])
        source, target, ilabel, olabel = (
            np.array([row[k] for row in rows], np.int64) for k in range(4)
        )
        weight = np.array([row[4] for row in rows], np.float64)
        final = np.full(states, np.inf)
        for state, value in self.finals.items():
            final[state] = value
        return ArcTable(self.start, source, ilabel, olabel, weight, target, final)


def symbols_text(names: Mapping[int, str]) -> str:
    """A symbol table as OpenFst's text; names with blanks in them cannot be written so."""
    for name in names.values():
        if not name or any(character.isspace() for character in name):
            must = "a name in a symbol file must have no blanks in it"
            raise InputError(sentence("symbols", must, repr(name), "Use the binary format"))
    return "".join(f"{name}\t{number}\n" for number, name in names.items())


def symbols_from_text(text: str) -> dict[int, str]:
    """The names in a symbol file."""
    names: dict[int, str] = {}
    for k, line in enumerate(text.splitlines()):
        words = line.split()
        if not words:
            continue
        number = as_number(words[1]) if len(words) == 2 else None
        if number is None or number < 0:
            raise InputError(sentence(f"line {k + 1}", "a line is 'name number'", shorten(line)))
        names[number] = words[0]
    return names
