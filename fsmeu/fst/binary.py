"""OpenFst's binary files, read without OpenFst.

OpenFst trusts what it reads: a wrong count makes it ask for more memory than there is, a wrong
target makes its algorithms read outside their arrays, and either ends the whole process. Files from
outside are therefore read here, every number checked against the size of the file, and OpenFst sees
only the machine that is built from the result.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.errors import FstError, message
from fsmeu.fst.arcs import ArcTable, check_table
from fsmeu.fst.compose import guard_arcs, guard_size

MAGIC = 2125659606
MACHINE_START = struct.pack("<i", MAGIC)
"""The first bytes of an OpenFst file."""
_ALIGNED = 4
_HAS_SYMBOLS = (1, 2)
_SYMBOLS_MAGIC = 2125658996
_WEIGHTS = {b"log64": "<f8", b"log": "<f4", b"standard": "<f4"}
_VERSIONS = {b"vector": (2,), b"const": (1, 2)}
_LEAST_SYMBOL = 12


@dataclass(frozen=True, eq=False)
class MachineFile:
    """What a file holds.

    Attributes:
        table: states and arcs; weights as doubles, whatever the arc type.
        inputs: names of the numbers on the input tape, empty without a symbol table.
        outputs: the same of the output tape.
    """

    table: ArcTable
    inputs: dict[int, str]
    outputs: dict[int, str]


def read_machine(image: bytes, where: str, limited: bool = True) -> MachineFile:
    """The machine in the bytes of an OpenFst file, a vector or const one.

    Args:
        image: the bytes.
        where: what they are called in an error.
        limited: whether the general limits on states and arcs hold.

    Raises:
        FstError: the bytes are not a whole machine of log64, log or standard arcs.
        SizeLimitError: there are more states or arcs than the limit.
    """
    reader = _Reader(image, where, limited)
    if reader.numbers("<i") != (MAGIC,):
        reader.refuse("they do not begin as one does")
    kind, arc_type = reader.text(), reader.text()
    version, flags, _, start, states, arcs = reader.numbers("<iiQqqq")
    if kind not in _VERSIONS or version not in _VERSIONS[kind]:
        reader.refuse("the type must be vector or const, of a known version")
    if arc_type not in _WEIGHTS:
        reader.refuse("the arc type is another one")
    names = [reader.symbols() if flags & has else {} for has in _HAS_SYMBOLS]
    weight = np.dtype(_WEIGHTS[arc_type])
    if kind == b"vector":
        table = _vector(reader, weight, start, states)
    else:
        pad = version == 1 or bool(flags & _ALIGNED)
        table = _const(reader, weight, pad, (start, states, arcs))
    if reader.left:
        reader.refuse(f"{reader.left:,} bytes are left over")
    check_table(table, where)
    return MachineFile(table, names[0], names[1])


class _Reader:
    """Takes bytes from the front, never more than there are."""

    def __init__(self, image: bytes, where: str, limited: bool) -> None:
        self.image, self.where, self.limited, self.at = image, where, limited, 0

    @property
    def left(self) -> int:
        """How many bytes have not been taken."""
        return len(self.image) - self.at

    def refuse(self, why: str) -> NoReturn:
        must = "the bytes must be a whole OpenFst machine of log64, log or standard arcs"
        raise FstError(message(self.where, f"{must}, but {why}", repr(self.image[:24])))

    def guard(self, states: int, arcs: int) -> None:
        """Refuses more states or arcs than the limits, if they hold."""
        if self.limited:
            guard_size(self.where, states)
            guard_arcs(self.where, arcs)

    def skip(self, size: int) -> int:
        """Passes over so many bytes; where they begin."""
        if not 0 <= size <= self.left:
            self.refuse("they end too soon")
        self.at += size
        return self.at - size

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack_from(form, self.image, self.skip(struct.calcsize(form)))

    def text(self) -> bytes:
        (size,) = self.numbers("<i")
        begin = self.skip(size)
        return self.image[begin : begin + size]

    def rows(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        if not 0 <= count <= self.left // kind.itemsize:
            self.refuse("they end too soon")
        return np.frombuffer(self.image, kind, count, self.skip(count * kind.itemsize))

    def symbols(self) -> dict[int, str]:
        """The names of a symbol table by number."""
        if self.numbers("<i") != (_SYMBOLS_MAGIC,):
            self.refuse("a symbol table does not begin as one does")
        self.text()
        _, count = self.numbers("<qq")
        if not 0 <= count <= self.left // _LEAST_SYMBOL:
            self.refuse("they end within a symbol table")
        names: dict[int, str] = {}
        for _ in range(count):
            name = self.text()
            (number,) = self.numbers("<q")
            try:
                names[number] = name.decode()
            except UnicodeDecodeError:
                self.refuse("a name in a symbol table is not UTF-8")
        if len(set(names.values())) < count or -1 in names:
            self.refuse("the names and numbers of a symbol table must differ, and none be -1")
        return names


@np.errstate(invalid="ignore")  # weights that are no numbers are refused by whoever asked
def _vector(reader: _Reader, weight: np.dtype[Any], start: int, states: int) -> ArcTable:
    """State records (final weight, number of arcs), each followed by its arc records."""
    if reader.left % 4:
        reader.refuse("they end within a number")
    words = reader.rows(np.dtype("<u4"), reader.left // 4)
    size = weight.itemsize // 4
    head, step = size + 2, size + 3
    counts = _arc_counts(reader, words, size, states)
    reader.guard(len(counts), int(counts.sum()))
    ends = np.cumsum(counts)
    state_at = head * np.arange(len(counts)) + step * (ends - counts)
    source = np.repeat(np.arange(len(counts)), counts)
    arc_at = head * (source + 1) + step * np.arange(len(source))
    return ArcTable(
        start=start,
        source=source,
        ilabel=_gather(words, arc_at, "<i4").astype(np.int64),
        olabel=_gather(words, arc_at + 1, "<i4").astype(np.int64),
        weight=_gather(words, arc_at + 2, weight).astype(np.float64),
        target=_gather(words, arc_at + 2 + size, "<i4").astype(np.int64),
        final=_gather(words, state_at, weight).astype(np.float64),
    )


def _arc_counts(reader: _Reader, words: NDArray[np.uint32], size: int, states: int) -> Ints:
    """The number of arcs of each state; -1 states means as many as there are."""
    counts: list[int] = []
    at, end = 0, len(words)
    content = words.tobytes()
    while at < end and len(counts) != states:
        room = end - at - size - 2
        count = struct.unpack_from("<q", content, 4 * (at + size))[0] if room >= 0 else -1
        if not 0 <= count <= room // (size + 3):
            reader.refuse(f"they end within state {len(counts)}")
        counts.append(count)
        at += size + 2 + count * (size + 3)
    if at < end or states not in (-1, len(counts)):
        reader.refuse(f"the header says {states:,} states")
    return np.array(counts, np.int64)


def _gather(words: NDArray[np.uint32], at: Ints, kind: str | np.dtype[Any]) -> NDArray[Any]:
    """The numbers of this kind that begin at these words."""
    size = np.dtype(kind).itemsize // 4
    parts = np.stack([words[at + k] for k in range(size)], axis=1)
    return np.ascontiguousarray(parts).view(kind).reshape(len(at))


@np.errstate(invalid="ignore")
def _const(
    reader: _Reader, weight: np.dtype[Any], pad: bool, numbers: tuple[int, int, int]
) -> ArcTable:
    """All state records, then all arc records, each block at a multiple of 16 if aligned."""
    start, states, arcs = numbers
    state_kind, arc_kind = _const_dtypes(weight)
    if pad:
        reader.skip(_aligned(reader.at) - reader.at)
    rows = reader.rows(state_kind, states)
    if pad:
        reader.skip(_aligned(reader.at) - reader.at)
    cells = reader.rows(arc_kind, arcs)
    reader.guard(states, arcs)
    counts = rows["arcs"].astype(np.int64)
    begins = np.cumsum(counts) - counts
    if counts.sum() != arcs or (counts > 0) @ (rows["begin"] != begins):
        reader.refuse("the arcs of the states must follow each other")
    return ArcTable(
        start=start,
        source=np.repeat(np.arange(states), counts),
        ilabel=cells["ilabel"].astype(np.int64),
        olabel=cells["olabel"].astype(np.int64),
        weight=cells["weight"].astype(np.float64),
        target=cells["target"].astype(np.int64),
        final=rows["final"].astype(np.float64),
    )


def _const_dtypes(weight: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The records of states and arcs in a const file, as a compiler lays them out."""
    size = weight.itemsize
    counts = [(name, "<u4") for name in ("begin", "arcs", "ieps", "oeps")]
    arc = np.dtype(
        {
            "names": ["ilabel", "olabel", "weight", "target"],
            "formats": ["<i4", "<i4", weight, "<i4"],
            "offsets": [0, 4, 8, 8 + size],
            "itemsize": 8 + 2 * size,
        }
    )
    return np.dtype([("final", weight), *counts]), arc


def _aligned(offset: int) -> int:
    """The next multiple of 16."""
    return (offset + 15) // 16 * 16
