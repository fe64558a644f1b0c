"""Machines as arrays of arcs, to OpenFst and back through its binary images, in full doubles.

A weight read through pynini's objects comes as a text of nine digits, and adding arcs one at a time
costs as much as the algebra does. A ``const`` image has neither fault: all states, then all arcs.

OpenFst trusts what it reads: a wrong count makes it ask for more memory than there is, a wrong
target makes its algorithms read outside their arrays, and either ends the whole process. So files
from outside, vector ones as well, are read here, every number checked against the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FstError, InputError, as_whole
from fsmeu.fst.alphabet import Alphabet, is_text
from fsmeu.fst.compose import guard_arcs, guard_size
from fsmeu.fst.openfst import Fst, pynini, pywrapfst

MAX_NUMBER = 2**31 - 1  # of a label on a tape


@dataclass(frozen=True, eq=False)
class ArcTable:
    """A weighted machine in the log semiring: every weight is -log of a real number."""

    start: int  # the start state, or -1 when there are no states
    source: Ints  # states that the arcs leave, in ascending order
    ilabel: Ints  # input labels as OpenFst numbers them (0 is epsilon)
    olabel: Ints  # output labels
    weight: Floats  # -log of each arc's factor
    target: Ints  # states that the arcs enter
    final: Floats  # -log of each state's final weight; +inf where a state is not final

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.final)

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return len(self.source)

    @cached_property
    def offsets(self) -> Ints:
        """The first arc of each state, and the number of arcs, (states + 1,)."""
        return np.append(0, np.cumsum(np.bincount(self.source, minlength=self.states)))

    @cached_property
    def factor(self) -> Floats:
        """The factor of each arc, a real number."""
        return np.exp(-self.weight)

    @cached_property
    def depths(self) -> tuple[Ints, list[Ints]]:
        """Depth of each state (-1 when unreachable) and the arcs that leave each depth.

        An FstError if two paths of different length meet in a state, or there is a cycle.
        """
        depth = np.full(self.states, -1, np.int64)
        arcs_at: list[Ints] = []
        frontier = np.array([self.start] if self.start >= 0 else [], np.int64)
        depth[frontier] = 0
        while True:
            begin = self.offsets[frontier]
            counts = self.offsets[frontier + 1] - begin
            arcs = np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            if not len(arcs):
                return depth, arcs_at
            arcs_at.append(arcs)
            reached = self.target[arcs]
            if (depth[reached] >= 0).any():
                must = "all paths to a state must have the same length (no cycles, one length only)"
                raise FstError("machine", must)
            order = np.arange(len(reached))
            depth[reached] = order
            frontier = reached[depth[reached] == order]
            depth[frontier] = len(arcs_at)


def check_table(table: ArcTable, where: str) -> None:
    """Refuses, by an FstError, states, labels and weights that OpenFst does not check."""
    last = table.states - 1
    if not -1 <= table.start <= last:
        raise FstError(where, f"the start must be a state, 0 to {last}", given=table.start)
    labels = np.concatenate([table.ilabel, table.olabel])
    for numbers, most, must in (
        (table.target, last, f"each arc must lead to a state, 0 to {last}"),
        (labels, MAX_NUMBER, f"the labels of arcs must be numbers 0 to {MAX_NUMBER}"),
    ):
        if table.arcs and not 0 <= numbers.min() <= numbers.max() <= most:
            raise FstError(where, must)
    if np.isnan(table.weight).any() or np.isnan(table.final).any():
        raise FstError(where, "each weight must be a number", given="nan")


def without_zero_arcs(table: ArcTable) -> ArcTable:
    """The machine without arcs of weight zero, which some of OpenFst's algorithms fail on."""
    positive = table.weight < np.inf
    arcs = ("source", "ilabel", "olabel", "weight", "target")
    return replace(table, **{name: getattr(table, name)[positive] for name in arcs})


def minus_log(factors: Floats) -> Floats:
    """The weights of factors of at least 0; that of 0 is inf."""
    with np.errstate(divide="ignore"):
        return -np.log(factors)


MACHINE_START = struct.pack("<i", 2125659606)  # the first bytes of an OpenFst file
_SYMBOLS_START = struct.pack("<i", 2125658996)
_HEADER = "<iiQqqq"  # version, flags, properties, start, number of states, number of arcs
_EXPANDED = 1
_ALIGNED = 4
_HAS_SYMBOLS = (1, 2)
_WEIGHTS = {b"log64": "<f8", b"log": "<f4", b"standard": "<f4"}
_VERSIONS = {b"vector": (2,), b"const": (1, 2)}
EPSILON = "<eps>"


def fst_from_table(
    table: ArcTable,
    isymbols: pywrapfst.SymbolTable | None = None,
    osymbols: pywrapfst.SymbolTable | None = None,
    arc_type: str = "log64",
) -> Fst:
    """The OpenFst vector machine of an arc table, bit for bit with log64 arcs.

    The weights of ``standard`` and ``log`` arcs are rounded to single precision.
    """
    form = _WEIGHTS[arc_type.encode()]
    rows, cells = map(np.zeros, (table.states, table.arcs), _dtypes(form, aligned=True))
    rows["final"] = table.final
    rows["begin"] = table.offsets[:-1]
    rows["arcs"] = np.diff(table.offsets)
    for tape, count in (("ilabel", "ieps"), ("olabel", "oeps")):
        epsilons = table.source[getattr(table, tape) == 0]
        rows[count] = np.bincount(epsilons, minlength=table.states)
    for name in ("ilabel", "olabel", "weight", "target"):
        cells[name] = getattr(table, name)
    texts = b"".join(struct.pack("<i", len(text)) + text for text in (b"const", arc_type.encode()))
    header = struct.pack(_HEADER, 2, 0, _EXPANDED, table.start, table.states, table.arcs)
    image = MACHINE_START + texts + header + rows.tobytes() + cells.tobytes()
    fst = pynini.Fst.read_from_string(image)
    fst.set_input_symbols(isymbols)
    fst.set_output_symbols(osymbols)
    return fst


def table_from_fst(fst: Fst, where: str = "machine") -> ArcTable:
    """The arcs of an OpenFst machine; tropical and single-precision weights keep their numbers."""
    plain = fst.copy()
    if plain.arc_type() not in ("standard", "log", "log64"):
        must = "the arc type must be standard, log or log64"
        raise FstError(where, must, given=plain.arc_type())
    if not hasattr(plain, "set_input_symbols"):  # a const machine, which cannot be changed
        plain = pynini.Fst.from_pywrapfst(plain)
    plain.set_input_symbols(None)
    plain.set_output_symbols(None)
    # Writing would compute every property that OpenFst does not know yet. The copy is only read
    # for its arcs, so all of them are declared instead.
    plain.set_properties(pywrapfst.POS_TRINARY_PROPERTIES, pywrapfst.TRINARY_PROPERTIES)
    image = pywrapfst.convert(plain, "const").write_to_string()
    return read_machine(image, where, limited=False).table


def trimmed(table: ArcTable) -> ArcTable:
    """The machine without states that no accepted path uses; the start stays in any case.

    States and arcs that are left keep their order.
    """
    useful = np.zeros(table.states, bool)
    if table.start >= 0:
        ends = np.flatnonzero(table.final != np.inf)
        useful = _reached(table.states, table.source, table.target, np.array([table.start]))
        useful &= _reached(table.states, table.target, table.source, ends)
    if not useful.any():
        none = np.zeros(0, np.int64)
        no_weight = np.zeros(0)
        return ArcTable(0, none, none, none, no_weight, none, np.full(1, np.inf))
    number = np.cumsum(useful) - 1
    kept = useful[table.source] & useful[table.target]
    return ArcTable(
        start=int(number[table.start]),
        source=number[table.source[kept]],
        ilabel=table.ilabel[kept],
        olabel=table.olabel[kept],
        weight=table.weight[kept],
        target=number[table.target[kept]],
        final=table.final[useful],
    )


def _reached(states: int, source: Ints, target: Ints, seeds: Ints) -> NDArray[np.bool_]:
    """Which states arcs lead to from some states, these included, (states,)."""
    from scipy.sparse import csr_array  # takes a third of a second to load
    from scipy.sparse.csgraph import breadth_first_order

    size = states + 1  # one more state, before the seeds
    rows = np.append(source, np.full(len(seeds), states))
    columns = np.append(target, seeds)
    arcs = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(size, size))
    found = breadth_first_order(arcs, states, return_predecessors=False)
    reached = np.zeros(size, bool)
    reached[found] = True
    return reached[:states]


# -- reading ---------------------------------------------------------------------------------------


class MachineFile(NamedTuple):
    """Arcs, weights as doubles whatever the arc type, and names of numbers on both tapes."""

    table: ArcTable
    inputs: dict[int, str]
    outputs: dict[int, str]


@np.errstate(invalid="ignore")  # weights that are no numbers are refused
def read_machine(image: bytes, where: str, limited: bool = True) -> MachineFile:
    """The machine in the bytes of an OpenFst file, a vector or const one, called ``where``.

    An FstError if they are no whole machine; limits on states and arcs hold if it is ``limited``.
    """
    reader = _Reader(image, where)
    if reader.take(4) != MACHINE_START:
        reader.refuse("they do not begin as an OpenFst file does")
    kind = reader.text()
    arc_type = reader.text()
    version, flags, _, start, states, arcs = reader.numbers(_HEADER)
    if kind not in _VERSIONS or version not in _VERSIONS[kind]:
        reader.refuse("the type must be vector or const, of a known version")
    if arc_type not in _WEIGHTS:
        reader.refuse("the arc type must be log64, log or standard")
    names = [reader.symbols() if flags & has else {} for has in _HAS_SYMBOLS]
    form = _WEIGHTS[arc_type]
    if kind == b"vector":
        body = _vector_body(reader, form, states)
    else:
        pad = 16 if version == 1 or flags & _ALIGNED else 1
        body = _const_body(reader, form, (states, arcs), pad)
    if reader.left:
        reader.refuse(f"{reader.left:,} bytes are left over")
    if limited:
        guard_size(where, len(body.counts))
        guard_arcs(where, len(body.arcs))
    source = np.repeat(np.arange(len(body.counts)), body.counts)
    ilabel = body.arcs["ilabel"].astype(np.int64)
    olabel = body.arcs["olabel"].astype(np.int64)
    target = body.arcs["target"].astype(np.int64)
    weight = body.arcs["weight"].astype(np.float64)
    table = ArcTable(start, source, ilabel, olabel, weight, target, body.final)
    check_table(table, where)
    return MachineFile(table, *names)


class _Body(NamedTuple):
    """The states and arcs of a machine as its file has them.

    Attributes:
        final: the final weight of each state, (states,).
        counts: the number of its arcs, (states,).
        arcs: records with the fields ilabel, olabel, weight and target, (arcs,), state by state.
    """

    final: Floats
    counts: Ints
    arcs: NDArray[Any]


def _vector_body(reader: _Reader, form: str, states: int) -> _Body:
    """A vector file: each state with its arcs, so many states, or -1 for as many as there are."""
    arc = _dtypes(form, False)[1]
    finals = list[float]()
    blocks = [np.zeros(0, arc)]
    while reader.left and len(finals) != states:
        ending, count = reader.numbers("<dq" if form == "<f8" else "<fq")
        finals.append(ending)
        blocks.append(reader.rows(arc, count))
    if reader.left or states not in (-1, len(finals)):
        reader.refuse(f"the header says {states:,} states")
    counts = np.array([len(block) for block in blocks[1:]], np.int64)
    return _Body(np.array(finals, np.float64), counts, np.concatenate(blocks))


def _const_body(reader: _Reader, form: str, sizes: tuple[int, int], pad: int) -> _Body:
    """A const file: all states, then all arcs, so many; each part begins at a multiple of pad."""
    state, arc = _dtypes(form, True)
    reader.take(-reader.at % pad)
    rows = reader.rows(state, sizes[0])
    reader.take(-reader.at % pad)
    arcs = reader.rows(arc, sizes[1])
    counts = rows["arcs"].astype(np.int64)
    begins = np.cumsum(counts) - counts
    if counts.sum() != sizes[1] or (counts > 0) @ (rows["begin"] != begins):
        reader.refuse("the arcs of the states must follow each other")
    return _Body(rows["final"].astype(np.float64), counts, arcs)


class _Reader:
    """Takes bytes from the front, never more than there are ``left``."""

    def __init__(self, image: bytes, where: str) -> None:
        self.image = memoryview(image)
        self.where = where
        self.at = 0
        self.left = len(image)

    def refuse(self, why: str) -> NoReturn:
        must = "the bytes must be a whole OpenFst machine of log64, log or standard arcs"
        raise FstError(self.where, f"{must}, but {why}", given=repr(bytes(self.image[:24])))

    def take(self, size: int) -> memoryview:
        """The next bytes, so many."""
        if not 0 <= size <= self.left:
            self.refuse("they end too soon")
        self.at = self.at + size
        self.left = self.left - size
        return self.image[self.at - size : self.at]

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def text(self) -> bytes:
        return bytes(self.take(*self.numbers("<i")))

    def rows(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        return np.frombuffer(self.take(count * kind.itemsize), kind)

    def symbols(self) -> dict[int, str]:
        """The names of a symbol table by number."""
        if self.take(4) != _SYMBOLS_START:
            self.refuse("a symbol table does not begin as OpenFst writes it")
        self.text()
        _, count = self.numbers("<qq")
        if not 0 <= count <= self.left // 12:  # bytes of an empty name and its number
            self.refuse("they end within a symbol table")
        names: dict[int, str] = {}
        for _ in range(count):
            name = self.text().decode(errors="surrogateescape")
            names[self.numbers("<q")[0]] = name
        if not all(map(is_text, names.values())):
            self.refuse("a name in a symbol table is not UTF-8")
        if len(set(names.values())) < count or -1 in names:
            self.refuse("the names and numbers of a symbol table must differ, and none be -1")
        return names


def _dtypes(weight: str, aligned: bool) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The records of states in a const file, and of arcs, perhaps as a compiler lays them out."""
    counts = [(name, "<u4") for name in ("begin", "arcs", "ieps", "oeps")]
    arc = [("ilabel", "<i4"), ("olabel", "<i4"), ("weight", weight), ("target", "<i4")]
    return np.dtype([("final", weight), *counts]), np.dtype(arc, align=aligned)


# -- symbol tables ---------------------------------------------------------------------------------


def label_names(alphabet: Alphabet) -> dict[int, str]:
    """The names of numbers on a tape: 0 is epsilon, whose name is taken, k + 1 is label k."""
    names = map(str, alphabet.labels)
    return dict(enumerate([EPSILON, *(f"label {x}" if x == EPSILON else x for x in names)]))


def symbol_table(alphabet: Alphabet) -> pywrapfst.SymbolTable | None:
    """The table of the names of labels."""
    return table_of_names(label_names(alphabet), "labels")


def names_of(table: pywrapfst.SymbolTableView | None, where: str) -> dict[int, str]:
    """The names in a symbol table by number, none without a table; an FstError if not UTF-8."""
    try:
        return {} if table is None else {int(number): str(name) for number, name in table}
    except UnicodeDecodeError:
        raise FstError(where, "the names in a symbol table must be UTF-8") from None


def table_of_names(names: Mapping[int, str], where: str) -> pywrapfst.SymbolTable | None:
    """The symbol table with these names by number, of at least 0; None without names."""
    table = pywrapfst.SymbolTable()
    for number, name in names.items():
        whole = as_whole(number, least=0)
        if whole is None or whole >= 2**63 or not is_text(name):
            must = "a symbol table must map numbers from 0 to names that UTF-8 can write"
            raise InputError(where, must, given=f"{number!r}: {name!r}")
        table.add_symbol(name, whole)
    return table if names else None
