"""Machines to OpenFst and back, and files of machines from outside: nothing is lost."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import FstError, InputError, SizeLimitError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.image import (
    ArcTable,
    fst_from_table,
    read_machine,
    symbol_table,
    table_from_fst,
    trimmed,
)
from tests.fst.machines import images, same, table, tables
from tests.support.missing import openfst

pynini = openfst()
pywrapfst = openfst("pywrapfst")


# OpenFst pads arcs with bytes that it does not set: as names of cases they would differ by process.
@pytest.mark.parametrize("image", images(), ids=lambda image: f"{len(image)} bytes")
def test_files_are_read_as_openfst_reads_them(image):
    """Arc by arc as pynini sees it; its texts keep nine digits."""
    found, fst = read_machine(image, "file"), pynini.Fst.read_from_string(image)
    seen = [
        (state, arc.ilabel, arc.olabel, arc.nextstate, float(arc.weight))
        for state in fst.states()
        for arc in fst.arcs(state)
    ]
    arcs = found.table
    columns = (arcs.source, arcs.ilabel, arcs.olabel, arcs.target, arcs.weight)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert [row[:4] for row in rows] == [row[:4] for row in seen]
    assert [row[4] for row in rows] == pytest.approx([row[4] for row in seen], rel=1e-7)
    finals = [float(fst.final(state)) for state in fst.states()]
    assert arcs.final.tolist() == pytest.approx(finals, rel=1e-7)
    assert arcs.start == fst.start()
    if fst.input_symbols() is not None:
        assert found.inputs == dict(fst.input_symbols())
    assert found.inputs == found.outputs


@settings(max_examples=60, deadline=None)
@given(tables())
def test_every_bit_is_read(machine):
    """From bytes and from machines, also from those that cannot be changed."""
    for kind in ("vector", "const"):
        fst = pywrapfst.convert(fst_from_table(machine), kind)
        assert same(read_machine(fst.write_to_string(), "file").table, machine)
        assert same(table_from_fst(fst), machine)


SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(tables(SINGLE, st.one_of(SINGLE, st.just(np.inf))), st.sampled_from(["standard", "log"]))
def test_other_arc_types_keep_their_numbers(machine, arc_type):
    """Single-precision numbers, so that the conversion there loses nothing."""
    change = {"standard": "to_std", "log": "to_log"}[arc_type]
    fst = pynini.arcmap(fst_from_table(machine), map_type=change)
    assert same(table_from_fst(fst), machine)
    assert fst.arc_type() == arc_type


SMALL = fst_from_table(table(0, [(0, 1, 1, 0.5, 1)], [0.25, 0.0])).write_to_string()


def test_a_vector_file_that_does_not_count_its_states():
    """Written to a pipe, the header says -1."""
    image, at = bytearray(SMALL), 4 + 4 + 6 + 4 + 5 + 4 + 4 + 8 + 8
    assert struct.unpack_from("<q", image, at) == (2,)
    struct.pack_into("<q", image, at, -1)
    assert read_machine(bytes(image), "file").table.states == 2


@pytest.mark.parametrize("target", [2, 10**9, -1])
def test_machines_that_openfst_does_not_check(target):
    """A target that is no state, read by pynini itself: a segmentation fault if it got further."""
    image = bytearray(SMALL)
    struct.pack_into("<i", image, len(image) - 20, target)
    wrong = pynini.Fst.read_from_string(bytes(image))
    for use in (
        lambda: fsmeu.models.Acceptor(wrong, [0, 1]),
        lambda: fsmeu.decode(fsmeu.load("hamming"), [0.5], constraint=wrong),
        lambda: fsmeu.from_openfst(wrong),
        lambda: fsmeu.from_openfst(bytes(image)),
        lambda: fsmeu.to_networkx(wrong),
    ):
        with pytest.raises(FstError, match="each arc must lead to a state, 0 to 1"):
            use()


def test_files_that_cannot_be_read(tmp_path):
    image = fsmeu.to_openfst(fsmeu.load("hamming").compile(2))
    text = tmp_path / "a.fst"
    text.write_text("0 1 1 1\n1\n")
    for path in (tmp_path / "none.fst", tmp_path, "a\0b", "a" * 5000):
        with pytest.raises(InputError, match=r"the file cannot be read \("):
            fsmeu.from_openfst(path)
    for path in (text, "/dev/zero", "/dev/null"):
        with pytest.raises(FstError, match="must be a whole OpenFst machine"):
            fsmeu.from_openfst(path)
    with pytest.raises(FstError, match="the header says 6 states"):
        fsmeu.from_openfst(image + bytes(16))
    with pytest.raises(FstError, match="vector or const"):
        fsmeu.from_openfst(image.replace(b"vector", b"edited"))


def test_large_files_are_refused(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "3")
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        fsmeu.from_openfst(fsmeu.load("hamming").compile(3).fst.write_to_string())


def test_unknown_arc_type_is_named():
    strange = SimpleNamespace(copy=lambda: strange, arc_type=lambda: "gallic")
    with pytest.raises(FstError, match=r"hypothesis: the arc type must be .* Got gallic instead"):
        table_from_fst(strange, "hypothesis")


@pytest.mark.parametrize("labels", [(0, 1), ("a", "b c"), ("<eps>", "x")])
def test_symbols_name_the_labels(labels):
    symbols = symbol_table(Alphabet(labels))
    assert symbols.find(0) == "<eps>"
    names = [symbols.find(k + 1) for k in range(len(labels))]
    assert len({*names, "<eps>"}) == len(labels) + 1
    assert names[1] == str(labels[1])


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_trimmed_is_what_openfst_connects(seed):
    """States, arcs and their order; where nothing is accepted, the start alone."""
    random = np.random.default_rng(seed)
    states = int(random.integers(1, 9))
    arcs = int(random.integers(0, 3 * states))
    source = np.sort(random.integers(0, states, arcs))
    labels = random.integers(1, 4, (2, arcs))
    final = np.where(random.random(states) < 0.3, random.normal(size=states), np.inf)
    target = random.integers(0, states, arcs)
    table = ArcTable(
        int(random.integers(states)), source, *labels, random.normal(size=arcs), target, final
    )
    found = trimmed(table)
    connected = fst_from_table(table).connect()
    if connected.start() < 0:
        assert (found.start, found.states, found.arcs, found.final[0]) == (0, 1, 0, np.inf)
        return
    wanted = table_from_fst(connected)
    assert found.start == wanted.start
    for name in ("source", "ilabel", "olabel", "weight", "target", "final"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
