"""`fsmeu expect --levels`: the distribution of a utility, against enumeration."""

import pytest

from tests import brute_force
from tests.cli.oracle import distribution

P = [0.9, 0.5, 0.3, 0.0, 1.0]
COMMAND = ["expect", "--levels", "fscore", "11010", "--probs", "0.9,0.5,0.3,0,1"]


@pytest.fixture
def wanted():
    """The values of F1 of 11010 and their probabilities."""
    return distribution((1, 1, 0, 1, 0), brute_force.bernoulli(P))


@pytest.mark.parametrize("engine", ["lattice", "openfst"])
def test_levels_are_those_of_enumeration(fsmeu, wanted, engine):
    """Every value once, in ascending order."""
    data = fsmeu(*COMMAND, "--engine", engine, "--json").json
    assert data["values"] == pytest.approx([float(v) for v in wanted], rel=1e-12, abs=1e-300)
    assert data["probabilities"] == pytest.approx(list(wanted.values()), rel=1e-12)


def test_the_table_has_bars(fsmeu, wanted):
    """The same numbers, rounded; the most probable value has the longest bar."""
    ran = fsmeu(*COMMAND)
    rows = [row for row in ran.rows() if row and row[0][0].isdigit()]
    assert [float(row[0]) for row in rows] == pytest.approx([float(v) for v in wanted], rel=1e-9)
    assert [float(row[1]) for row in rows] == pytest.approx(list(wanted.values()), rel=1e-7)
    lengths = [len(row[2]) if len(row) > 2 else 0 for row in rows]
    by_probability = sorted(range(len(rows)), key=lambda k: float(rows[k][1]))
    assert [lengths[k] for k in by_probability] == sorted(lengths)
    assert max(lengths) == 36
    assert max(map(len, ran.out.splitlines())) <= 80


def test_only_the_most_probable_are_shown(fsmeu):
    """Hamming loss of fifty fair coins: 51 values, 40 of them shown, the rest on demand."""
    command = ["expect", "--levels", "hamming", "0" * 50, "--probs", ",".join(["0.5"] * 50)]
    ran, everything = fsmeu(*command), fsmeu(*command, "--all")
    shown = [float(row[0]) for row in ran.rows() if row and row[0][0].isdigit()]
    assert len(shown) == 41  # the last line begins with how many are left out
    assert shown[-1] == 11
    assert shown[:-1] == sorted(shown[:-1])
    assert min(shown[:-1]) == pytest.approx(5 / 50)
    assert len([row for row in everything.rows() if row and row[0][0].isdigit()]) == 51
    assert "left out" not in everything.out


def test_plots_go_into_new_folders(fsmeu, tmp_path):
    pytest.importorskip("matplotlib")
    assert fsmeu(*COMMAND, "--plot", tmp_path / "new" / "x.svg").code == 0
    assert "mean" in (tmp_path / "new" / "x.svg").read_text()
    fsmeu(*COMMAND, "--plot", tmp_path).is_refused("plot", "no ending")


def test_nothing_kept_says_so(fsmeu):
    """One path of twelve hundred fair coins has a probability that no double can hold."""
    n = 1200
    ran = fsmeu(
        "expect", "--levels", "hamming", "0" * n, "--probs", ",".join(["0.5"] * n), "--beam", 1
    )
    assert ran.code == 0
    assert ran.out == "Nothing of positive probability was kept.\n"
