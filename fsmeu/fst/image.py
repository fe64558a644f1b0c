"""Arrays to OpenFst and back through its binary image: full doubles, no Python loop over arcs.

A weight read through pynini's objects comes as a text of nine digits, and adding arcs one at a time
costs as much as the algebra does. The binary image has neither fault. Machines are written as
``vector`` images and read as ``const`` images, because the latter keep all arcs in one block.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import pywrapfst
from numpy.typing import NDArray
from pywrapfst import SymbolTable, SymbolTableView

from fsmeu.arrays import Ints
from fsmeu.errors import FstError, InputError, as_whole, message
from fsmeu.fst.alphabet import Alphabet, is_text
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.binary import MACHINE_START, read_machine
from fsmeu.fst.engine import pynini

Fst = pynini.Fst
"""An OpenFst machine, as pynini hands it out."""

_ARC_TYPE = b"log64"
_VECTOR_VERSION = 2
_EXPANDED_MUTABLE = 0x3
_STATE_WORDS, _ARC_WORDS = 4, 5


def fst_from_table(
    table: ArcTable,
    isymbols: pywrapfst.SymbolTable | None = None,
    osymbols: pywrapfst.SymbolTable | None = None,
) -> Fst:
    """The OpenFst vector machine (log64 arcs) of an arc table, bit for bit."""
    fst = Fst.read_from_string(_header(table) + _vector_body(table).tobytes())
    if isymbols is not None:
        fst.set_input_symbols(isymbols)
    if osymbols is not None:
        fst.set_output_symbols(osymbols)
    return fst


def table_from_fst(fst: Fst, where: str = "machine") -> ArcTable:
    """The arcs of an OpenFst machine; other arc types than log64 are converted first.

    Tropical and single-precision weights keep their numbers: both are read as -log.

    Raises:
        FstError: the machine is no machine: an arc leads nowhere, a weight is not a number.
    """
    return read_machine(_const_image(fst, where), where, limited=False).table


def trimmed(table: ArcTable) -> ArcTable:
    """The same machine without states that no accepted path uses.

    The others keep their order; where nothing is accepted, the start is left alone.
    """
    connected = fst_from_table(table).connect()
    if connected.start() >= 0:
        return table_from_fst(connected)
    none, no_weight = np.zeros(0, np.int64), np.zeros(0)
    return ArcTable(0, none, none, none, no_weight, none, np.full(1, np.inf))


def _const_image(fst: Fst, where: str) -> bytes:
    plain = fst.copy()
    if plain.arc_type() in ("standard", "log"):
        plain = pynini.arcmap(plain, map_type="to_log64")
    elif plain.arc_type() != "log64":
        must = "the arc type must be standard, log or log64"
        raise FstError(message(where, must, plain.arc_type()))
    if not hasattr(plain, "set_input_symbols"):  # a const machine, which cannot be changed
        plain = Fst.from_pywrapfst(plain)
    plain.set_input_symbols(None)
    plain.set_output_symbols(None)
    # Writing would compute every property that OpenFst does not know yet. The copy is only read
    # for its arcs, so all of them are declared instead.
    plain.set_properties(pywrapfst.POS_TRINARY_PROPERTIES, pywrapfst.TRINARY_PROPERTIES)
    image: bytes = pywrapfst.convert(plain, "const").write_to_string()
    return image


def _header(table: ArcTable) -> bytes:
    texts = b"".join(struct.pack("<i", len(t)) + t for t in (b"vector", _ARC_TYPE))
    numbers = struct.pack(
        "<iiQqqq",
        _VECTOR_VERSION,
        0,
        _EXPANDED_MUTABLE,
        table.start,
        table.states,
        table.arcs,
    )
    return MACHINE_START + texts + numbers


def _vector_body(table: ArcTable) -> NDArray[np.uint32]:
    """State records of four words, each followed by its arc records of five words."""
    counts = np.diff(table.offsets)
    state_at = _STATE_WORDS * np.arange(table.states) + _ARC_WORDS * table.offsets[:-1]
    arc_at = _STATE_WORDS * (table.source + 1) + _ARC_WORDS * np.arange(table.arcs)
    words = np.empty(_STATE_WORDS * table.states + _ARC_WORDS * table.arcs, np.uint32)
    _put(words, state_at, table.final.astype("<f8"))
    _put(words, state_at + 2, counts.astype("<i8"))
    _put(words, arc_at, table.ilabel.astype("<i4"))
    _put(words, arc_at + 1, table.olabel.astype("<i4"))
    _put(words, arc_at + 2, table.weight.astype("<f8"))
    _put(words, arc_at + 4, table.target.astype("<i4"))
    return words


def _put(words: NDArray[np.uint32], at: Ints, values: NDArray[np.generic]) -> None:
    """Writes each value's words at its place."""
    size = values.dtype.itemsize // 4
    parts = np.ascontiguousarray(values).view(np.uint32).reshape(len(values), size)
    for k in range(size):
        words[at + k] = parts[:, k]


EPSILON = "<eps>"
_MOST = 2**63


def symbol_table(alphabet: Alphabet) -> SymbolTable:
    """The table that names label index k as number k + 1; 0 is epsilon."""
    table = SymbolTable()
    table.add_symbol(EPSILON, 0)
    for k, label in enumerate(alphabet.labels):
        table.add_symbol(symbol_name(str(label)), k + 1)
    return table


def symbol_name(label: str) -> str:
    """What a label is called in a symbol table, where the name of epsilon is taken."""
    return f"label {EPSILON}" if label == EPSILON else label


def names_of(table: SymbolTableView | None, where: str) -> dict[int, str]:
    """The names in a symbol table by number, none without a table; an FstError if not UTF-8."""
    try:
        return {} if table is None else {int(number): str(name) for number, name in table}
    except UnicodeDecodeError:
        raise FstError(message(where, "the names in a symbol table must be UTF-8")) from None


def table_of_names(names: Mapping[int, str], where: str) -> SymbolTable | None:
    """The symbol table with these names by number, of at least 0; None without names."""
    table = SymbolTable()
    for number, name in names.items():
        whole = as_whole(number, least=0)
        if whole is None or whole >= _MOST or not is_text(name):
            must = "a symbol table must map numbers from 0 to names that UTF-8 can write"
            raise InputError(message(where, must, f"{number!r}: {name!r}"))
        table.add_symbol(name, whole)
    return table if names else None
