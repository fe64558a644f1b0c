"""Machines to OpenFst and back, and files of machines from outside: nothing is lost."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import FstError, InputError, SizeLimitError
from fsmeu.fst.image import fst_from_table
from fsmeu.models import Acceptor
from tests.fst.machines import same, table, tables
from tests.support.missing import openfst

pynini = openfst()
pywrapfst = openfst("pywrapfst")


@settings(max_examples=60, deadline=None)
@given(tables())
def test_every_bit_is_read(machine):
    """From bytes and from machines, also from those that cannot be changed."""
    for kind in ("vector", "const"):
        fst = pywrapfst.convert(fst_from_table(machine), kind)
        assert same(fsmeu.from_openfst(fst.write_to_string()).table, machine)
        assert same(fsmeu.from_openfst(fst).table, machine)


SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(tables(SINGLE, st.one_of(SINGLE, st.just(np.inf))), st.sampled_from(["to_std", "to_log"]))
def test_other_arc_types_keep_their_numbers(machine, change):
    """Single-precision numbers, so that the conversion there loses nothing."""
    fst = pynini.arcmap(fst_from_table(machine), map_type=change)
    for source in (fst, fst.write_to_string(), pywrapfst.convert(fst, "const").write_to_string()):
        assert same(fsmeu.from_openfst(source).table, machine)


SMALL = fst_from_table(table(0, [(0, 1, 1, 0.5, 1)], [0.25, 0.0])).write_to_string()


def test_a_vector_file_that_does_not_count_its_states():
    """Written to a pipe, the header says -1."""
    image, at = bytearray(SMALL), 4 + 4 + 6 + 4 + 5 + 4 + 4 + 8 + 8
    assert struct.unpack_from("<q", image, at) == (2,)
    struct.pack_into("<q", image, at, -1)
    assert fsmeu.from_openfst(image).table.states == 2


@pytest.mark.parametrize("target", [2, 10**9, -1])
def test_machines_that_openfst_does_not_check(target):
    """A target that is no state, read by pynini itself: a segmentation fault if it got further."""
    image = bytearray(SMALL)
    struct.pack_into("<i", image, len(image) - 20, target)
    wrong = pynini.Fst.read_from_string(bytes(image))
    for use in (
        lambda: Acceptor(wrong, [0, 1]),
        lambda: fsmeu.decode(fsmeu.load("hamming"), [0.5], constraint=wrong),
        lambda: fsmeu.from_openfst(wrong),
        lambda: fsmeu.from_openfst(bytes(image)),
        lambda: fsmeu.to_networkx(wrong),
    ):
        with pytest.raises(FstError, match="each arc must lead to a state, 0 to 1"):
            use()


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    """None hangs, and what is larger than a limit is not held."""
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
    monkeypatch.setenv("FSMEU_MAX_STATES", "3")
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        fsmeu.from_openfst(image)


def named(fst, **numbers):
    """The machine with a table of symbols."""
    symbols = pynini.SymbolTable()
    for name, number in {"<eps>": 0, **numbers}.items():
        symbols.add_symbol(name, number)
    return fst.set_input_symbols(symbols).set_output_symbols(symbols)


def test_symbols_outrank_numbers_and_transducers_are_no_acceptors():
    steps = fst_from_table(table(0, [(0, 9, 9, 0.0, 1), (1, 4, 4, 0.0, 2)], [np.inf, np.inf, 0]))
    named(steps, b=9, a=4)
    assert Acceptor(steps, ("a", "b")).most_probable(5) == [(["b", "a"], 1.0)]
    maybe = fst_from_table(table(0, [(0, 7, 7, 0.0, 1)], [np.inf, 0.0]))
    with pytest.raises(InputError, match=r"must be one of 0, 1\. Got maybe"):
        Acceptor(named(maybe, maybe=7), (0, 1))
    pairs = fst_from_table(table(0, [(0, 1, 2, 0.0, 1)], [np.inf, 0.0]))
    with pytest.raises(InputError, match="both tapes"):
        Acceptor(pairs, (0, 1))


@pytest.mark.parametrize("labels", [("a", "b c"), ("<eps>", "x")])
def test_labels_that_symbol_tables_cannot_hold_as_they_are(labels):
    """Blanks, and the name of nothing."""
    model = fsmeu.models.Independent([[0.25, 0.75], [1.0, 0.0]], labels)
    machine = fsmeu.from_openfst(fsmeu.to_openfst(model))
    assert Acceptor(machine.fst, labels).probability([labels[1], labels[0]]) == pytest.approx(0.75)
    assert len({*machine.inputs.values()}) == 3


@pytest.mark.parametrize("n", [0, 1, 20])
def test_best_paths_of_costs_that_singles_take_for_equal(n):
    """OpenFst's shortest paths are of single floats; probabilities differ in the tenth digit."""
    p = 0.5 + 1e-10 * np.resize([1, -1, 3], n)
    decision = fsmeu.decode("zero_one", p, engine="openfst")
    assert decision.labels == (p > 0.5).astype(int).tolist()
    assert decision.value == pytest.approx(1 - np.maximum(p, 1 - p).prod(), abs=1e-14)
    assert decision.exact
