"""OpenFst machines from outside: their bytes, arcs and symbol tables.

pynini itself belongs to the floor ``fst``; its classes are reached through what that floor makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.fst.arcs import ArcTable, check_table
from fsmeu.fst.binary import is_machine_start, read_machine
from fsmeu.fst.image import Fst, fst_from_table, table_from_fst
from fsmeu.fst.symbols import names_of, table_of_names

__all__ = [
    "MAX_FILE_BYTES",
    "bytes_of_file",
    "check_names",
    "fst_from_bytes",
    "fst_with_symbols",
    "symbols_of",
    "table_of",
]

MAX_FILE_BYTES = 1_000_000_000
"""Greatest size of a machine's file that is read."""

_FIRST = 4


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
        InputError: the file cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST)
            rest = file.read(MAX_FILE_BYTES) if is_machine_start(first) else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        must = f"the file cannot be read ({reason})"
        raise InputError(sentence(shorten(str(path)), must)) from None
    if len(rest) == MAX_FILE_BYTES:
        must = f"the file may have at most {MAX_FILE_BYTES:,} bytes"
        raise InputError(sentence(shorten(str(path)), must, "more"))
    return first + rest


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
