"""Machines in OpenFst's binary format, and constraints, which may be such machines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsmeu.endings import CONSTRAINTS, ending_of
from fsmeu.errors import InputError, shorten
from fsmeu.exchange.automaton import Automaton, exported, fst_with_symbols, is_fst, of_fst
from fsmeu.files import TABLES, read_bytes, read_text
from fsmeu.fst.alphabet import Label
from fsmeu.fst.durations import min_duration, min_gap
from fsmeu.fst.image import MACHINE_START, read_machine
from fsmeu.fst.openfst import Fst
from fsmeu.fst.tags import SCHEMES

__all__ = ["from_openfst", "read_constraint", "to_openfst"]

# Constraints on ones, by name.
_SPACED: dict[str, Callable[[int, Label], Any]] = {
    "min_gap": min_gap,
    "min_duration": min_duration,
}


def to_openfst(thing: Any) -> bytes:
    """A machine as OpenFst's binary file (log64 arcs), symbol tables included."""
    return bytes(exported(thing, "to_openfst").fst.write_to_string())


def from_openfst(source: bytes | str | os.PathLike[str] | Any) -> Automaton:
    """The machine in an OpenFst binary file, in its bytes, or in a pynini object.

    Standard and log arcs are read as log64 arcs with the same numbers.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return of_fst(_fst_from_bytes(bytes(source), "from_openfst"))
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return of_fst(_fst_from_bytes(_bytes_of_file(path), str(path)), path.stem)
    if not is_fst(source):
        must = "must be a file of OpenFst, its bytes, or a machine of pynini"
        raise InputError("from_openfst", must, given=type(source).__name__)
    return of_fst(source)


def _fst_from_bytes(image: bytes, where: str) -> Fst:
    """The machine in an OpenFst binary image of log64, log or standard arcs, with log64 arcs."""
    machine = read_machine(image, where)
    return fst_with_symbols(machine.table, machine.inputs, machine.outputs)


def _bytes_of_file(path: Path) -> bytes:
    """The bytes of a machine's file; of another file only the first few."""
    return read_bytes(path, shorten(str(path)), TABLES, begin=MACHINE_START)


def read_constraint(option: str, text: str | None) -> Any:
    """A constraint as ``model.given`` and ``decode`` take it; None where there is no text.

    Args:
        option: the option, for messages.
        text: what was typed after it: a scheme of tags, min_gap=K or min_duration=K, a regular
            expression, or a file of one.
    """
    if text is None:
        return None
    if text in SCHEMES:
        return SCHEMES[text]()
    name, _, size = text.partition("=")
    if name in _SPACED and size.isdecimal():
        return _SPACED[name](int(size), 1)
    path = _file(text)
    if path is not None:
        return _of_file(option, path)
    if ending_of(text) in CONSTRAINTS:
        must = "the file that a constraint is read from must be there"
        raise InputError(option, must, given=text)
    return text


def _file(text: str) -> Path | None:
    """The file of this name; None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # an expression that can be no name
        return None


def _of_file(option: str, path: Path) -> Any:
    """The machine, or the regular expression, in a file."""
    image = _bytes_of_file(path)
    if image.startswith(MACHINE_START):
        return _fst_from_bytes(image, f"{option} {path}")
    text = " ".join(read_text(path, str(path)).split())
    if not text:
        must = "the file must hold a regular expression over labels, or an acceptor"
        raise InputError(option, must, given=f"nothing in {path}")
    return text
