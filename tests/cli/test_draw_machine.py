"""`fsmeu draw -o x.fst`: the written machine, read back and walked."""

import math
from itertools import product

import pynini
import pytest

from fsmeu.fst.image import table_from_fst
from tests.cli.oracle import f_score

SIGNED = "loss signed labels 0 1 count d by z - y value d / 2"


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


def test_negative_values_are_shifted(fsmeu, tmp_path):
    """The shift that stderr names makes every value at least 0."""
    path = tmp_path / "s.fst"
    ran = fsmeu("draw", "--format", "fst", "-", "--n", 2, "-o", path, stdin=SIGNED)
    assert "shift 1.0" in ran.err
    _, end = ends(path)
    for z, y in product(product((0, 1), repeat=2), repeat=2):
        assert end(z, y) - 1.0 == pytest.approx((sum(z) - sum(y)) / 2, abs=1e-12)


def test_a_given_hypothesis_makes_a_smaller_machine(fsmeu, tmp_path):
    """States are the pairs (tp, ref) that prefixes of z = 110 reach; the length is that of z."""
    path = tmp_path / "z.fst"
    ran = fsmeu("draw", "--format", "fst", "fscore", "--z", "110", "-o", path)
    assert ran.code == 0
    _, end = ends(path)
    for y in product((0, 1), repeat=3):
        assert end((1, 1, 0), y) == pytest.approx(float(f_score((1, 1, 0), y)), rel=1e-12, abs=0)
    z = (1, 1, 0)
    reached = {
        (sum(a * b for a, b in zip(z, y, strict=False)), sum(y))
        for length in range(4)
        for y in product((0, 1), repeat=length)
    }
    assert f"{len(reached)} states" in ran.err


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


def test_paths_of_a_summed_machine_add_up(fsmeu, tmp_path):
    """For each pair, the weights of all its paths sum to F1; the number of states is told."""
    path = tmp_path / "f.fst"
    ran = fsmeu("draw", "--format", "fst", "fscore", "--n", 3, "--summed", "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(
        "utility fscore, n = 3, summed: 18 states, "
    )  # those that a path uses
    machine = pynini.Fst.read(str(path))
    for z, y in product(product("01", repeat=3), repeat=2):
        one, other = (
            pynini.accep(" ".join(x), token_type=machine.input_symbols(), arc_type="log64")
            for x in (z, y)
        )
        pair = pynini.compose(pynini.compose(one, machine), other)
        total = (
            float(pynini.shortestdistance(pair, reverse=True)[pair.start()])
            if pair.num_states()
            else math.inf
        )
        wanted = float(f_score(tuple(map(int, z)), tuple(map(int, y))))
        assert math.exp(-total) == pytest.approx(wanted, abs=1e-6)  # OpenFst prints nine digits


def test_a_machine_that_is_too_large_names_the_summed_one(fsmeu, tmp_path):
    ran = fsmeu("draw", "--format", "fst", "fscore", "--n", 1000, "-o", tmp_path / "f.fst")
    assert ran.code == 2
    assert "compile --summed" in ran.err
    assert "Traceback" not in ran.err


def test_states_that_nothing_tells_apart_are_merged(fsmeu, tmp_path):
    """Of the ten states of F1 for two positions four are left; pairs keep their values."""
    path = tmp_path / "f.fst"
    ran = fsmeu("draw", "--format", "fst", "fscore", "--n", 2, "--minimize", "-o", path)
    assert ran.err.startswith("utility fscore, n = 2: 4 states, ")
    _, end = ends(path)
    for z, y in product(product((0, 1), repeat=2), repeat=2):
        assert end(z, y) == pytest.approx(float(f_score(z, y)), rel=1e-12, abs=1e-300)


def test_one_kind_of_machine_at_a_time(fsmeu, tmp_path):
    ran = fsmeu(
        "draw",
        "--format",
        "fst",
        "fscore",
        "--n",
        2,
        "--minimize",
        "--summed",
        "-o",
        tmp_path / "f.fst",
    )
    assert ran.code == 2
    assert "Give one of them" in ran.err
