"""Machines in OpenFst's binary format, with their symbol tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.exchange.automaton import Automaton, as_automaton, fst_with_symbols, is_fst, of_fst
from fsmeu.fst.binary import MACHINE_START, read_machine
from fsmeu.fst.image import Fst
from fsmeu.reading import TABLES, read_bytes

__all__ = ["bytes_of_file", "from_openfst", "fst_from_bytes", "to_openfst"]


def to_openfst(thing: Any) -> bytes:
    """A machine as OpenFst's binary file (log64 arcs), symbol tables included."""
    image: bytes = as_automaton(thing).fst.write_to_string()
    return image


def from_openfst(source: bytes | str | os.PathLike[str] | Any) -> Automaton:
    """The machine in an OpenFst binary file, in its bytes, or in a pynini object.

    Standard and log arcs are read as log64 arcs with the same numbers.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return of_fst(fst_from_bytes(bytes(source), "from_openfst"))
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return of_fst(fst_from_bytes(bytes_of_file(path), str(path)), path.stem)
    if not is_fst(source):
        must = "must be a file of OpenFst, its bytes, or a machine of pynini"
        raise InputError(sentence("from_openfst", must, type(source).__name__))
    return of_fst(source)


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
