"""OpenFst machines from outside: their bytes, arcs and symbol tables.

pynini itself belongs to the floor ``fst``; its classes are reached through what that floor makes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from fsmeu.errors import FstError, sentence, shorten
from fsmeu.fst.alphabet import BINARY
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.image import Fst, fst_from_table, table_from_fst
from fsmeu.fst.symbols import symbol_table

__all__ = ["fst_from_bytes", "fst_with_symbols", "symbols_of", "table_of"]

_MAGIC = struct.pack("<i", 2125659606)


def fst_from_bytes(image: bytes, where: str) -> Fst:
    """The machine in an OpenFst binary image of log64, log or standard arcs."""
    try:
        if image[:4] == _MAGIC:  # anything else would make OpenFst complain on stderr
            return Fst.read_from_string(image)
    except Exception as error:  # of pynini's own family, which only fst/ may name
        raise _unreadable(image, where) from error
    raise _unreadable(image, where)


def _unreadable(image: bytes, where: str) -> FstError:
    must = "the bytes must be a whole OpenFst machine of log64, log or standard arcs"
    return FstError(sentence(where, must, shorten(repr(image[:24]))))


def table_of(fst: Fst) -> ArcTable:
    """The arcs of a machine, in full precision and in their order."""
    return table_from_fst(fst)


def symbols_of(fst: Fst) -> tuple[dict[int, str], dict[int, str]]:
    """What the numbers on the two tapes are called; empty where a table is missing."""
    tables = (fst.input_symbols(), fst.output_symbols())
    both = [{} if t is None else {int(k): str(name) for k, name in t} for t in tables]
    return both[0], both[1]


def fst_with_symbols(table: ArcTable, inputs: Mapping[int, str], outputs: Mapping[int, str]) -> Fst:
    """The OpenFst machine of an arc table with symbol tables of these names, if there are any."""
    return fst_from_table(table, _symbols(inputs), _symbols(outputs))


def _symbols(names: Mapping[int, str]) -> Any:
    if not names:
        return None
    made: Any = type(symbol_table(BINARY))()
    for number, name in names.items():
        made.add_symbol(name, number)
    return made
