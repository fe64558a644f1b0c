"""OpenFst machines from outside: their bytes, arcs and symbol tables.

pynini itself belongs to the floor ``fst``; its classes are reached through what that floor makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fsmeu.errors import shorten
from fsmeu.fst.arcs import ArcTable, check_table
from fsmeu.fst.binary import MACHINE_START, read_machine
from fsmeu.fst.image import Fst, fst_from_table, table_from_fst
from fsmeu.fst.symbols import names_of, table_of_names
from fsmeu.reading import TABLES, read_bytes

__all__ = [
    "bytes_of_file",
    "check_names",
    "fst_from_bytes",
    "fst_with_symbols",
    "symbols_of",
    "table_of",
]


def fst_from_bytes(image: bytes, where: str) -> Fst:
    """The machine in an OpenFst binary image of log64, log or standard arcs, with log64 arcs.

    Raises:
        FstError: the bytes are not a whole machine.
        SizeLimitError: it has more states or arcs than the limit.
    """
    found = read_machine(image, where)
    return fst_with_symbols(found.table, found.inputs, found.outputs)


def bytes_of_file(path: Path) -> bytes:
    """The bytes of a machine's file; of another file only the first few.

    Raises:
        InputError: the file cannot be read.
        SizeLimitError: it is too large.
    """
    return read_bytes(path, shorten(str(path)), TABLES, begin=MACHINE_START)


def table_of(fst: Fst) -> ArcTable:
    """The arcs of a machine, in full precision and in their order."""
    return table_from_fst(fst)


def check_names(names: Mapping[int, str]) -> None:
    """Refuses names or numbers that no symbol table can hold."""
    table_of_names(names, "symbols")


def symbols_of(fst: Fst) -> tuple[dict[int, str], dict[int, str]]:
    """What the numbers on the two tapes are called; empty where a table is missing."""
    return names_of(fst.input_symbols(), "machine"), names_of(fst.output_symbols(), "machine")


def fst_with_symbols(table: ArcTable, inputs: Mapping[int, str], outputs: Mapping[int, str]) -> Fst:
    """The OpenFst machine of an arc table with symbol tables of these names, if there are any."""
    check_table(table, "machine")
    tapes = (table_of_names(names, "machine") for names in (inputs, outputs))
    return fst_from_table(table, *tapes)
