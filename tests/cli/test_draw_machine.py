"""`fsmeu draw -o x.fst`: the written machine, read back and walked."""

import math
from itertools import product

import pynini
import pytest

import fsmeu as package
from fsmeu.fst.image import table_from_fst
from tests.cli.oracle import f_score


def ends(path):
    """What each pair of sequences over 0 and 1 ends with in a machine: exp(-final weight)."""
    fst = pynini.Fst.read(str(path))
    table = table_from_fst(fst)
    step = {
        (int(s), int(a), int(b)): int(t)
        for s, a, b, t in zip(table.source, table.ilabel, table.olabel, table.target, strict=True)
    }
    assert len(step) == table.arcs
    assert not table.weight.any()

    def end(z, y):
        state = table.start
        for a, b in zip(z, y, strict=True):
            state = step[state, a + 1, b + 1]
        return math.exp(-table.final[state])

    return fst, end


def test_every_pair_ends_with_its_value(fsmeu, tmp_path):
    """The F1 machine for three positions, against F1 of all 64 pairs."""
    path = tmp_path / "f.fst"
    ran = fsmeu("draw", "--format", "fst", "fscore", "--n", 3, "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "utility fscore, n = 3: 20 states, 40 arcs, shift 0.0\n"
    fst, end = ends(path)
    assert fst.arc_type() == "log64"
    for z, y in product(product((0, 1), repeat=3), repeat=2):
        assert end(z, y) == pytest.approx(float(f_score(z, y)), rel=1e-12, abs=1e-300)


def test_labels_are_named_in_the_symbol_tables(fsmeu, tmp_path):
    """Numbers on the tapes mean the labels that were given."""
    path = tmp_path / "h.fst"
    fsmeu("draw", "--format", "fst", "hamming", "--labels", "N,Y", "-n", 2, "-o", path)
    fst = pynini.Fst.read(str(path))
    for symbols in (fst.input_symbols(), fst.output_symbols()):
        assert [symbols.find(k) for k in (1, 2)] == ["N", "Y"]


def test_nothing_is_written_when_something_is_wrong(fsmeu, tmp_path):
    """An old file stays as it was."""
    path = tmp_path / "old.fst"
    path.write_text("old")
    fsmeu("draw", "--format", "fst", "fscore", "--n", 3, "--z", "01", "-o", path).is_refused(
        "length n = 3"
    )
    assert path.read_text() == "old"


def test_a_machine_that_is_too_large_names_the_summed_one(fsmeu, tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "100000")
    ran = fsmeu("draw", "--format", "fst", "fscore", "--n", 1000, "-o", tmp_path / "f.fst")
    assert ran.code == 2
    assert "draw --summed" in ran.err
    assert "Traceback" not in ran.err


SIGNED = "loss signed labels 0 1 count d by z - y value d / 2"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["fscore", "--z", "110"], lambda: package.load("fscore").compile(3, "110")),
        (["fscore", "--n", 2, "--minimize"], lambda: package.load("fscore").compile(2, minimize=1)),
        (
            ["fscore", "--n", 3, "--summed"],
            lambda: package.compile_summed(package.load("fscore"), 3),
        ),
        (["-", "--n", 2], lambda: package.loads(SIGNED).compile(2)),
    ],
)
def test_other_machines_are_those_of_the_package(fsmeu, tmp_path, words, made):
    """Whose paths are held against values elsewhere; their size and shift are told."""
    path, machine = tmp_path / "m.fst", made()
    ran = fsmeu("draw", "--format", "fst", *words, "-o", path, stdin=SIGNED)
    assert path.read_bytes() == machine.fst.write_to_string()
    assert f"{machine.states} states, " in ran.err
    assert f"shift {machine.shift}" in ran.err
