"""`fsmeu expect`: expected values and distributions against tables and enumeration."""

import json

import numpy as np
import pytest

from tests import brute_force
from tests.cli.oracle import distribution

INITIAL, TRANSITION = [0.3, 0.7], [[0.9, 0.1], [0.25, 0.75]]
MARKOV = {"model": "markov", "initial": INITIAL, "transition": TRANSITION, "n": 4}


@pytest.mark.parametrize(
    ("z", "probs", "options", "value"),
    [
        ("110", ".9,.5,.3", [], 0.731333),
        ("1100", ".45,.3,.2,.1", [], 0.423720),
        ("000", ".2,.2,.1", [], 0.576),
        ("110", ".2 .2 .1", ["-p", "empty=0"], 0.2472),
        ("110", ".9,.5,.3", ["--engine", "openfst"], 0.731333),
    ],
)
def test_known_values(fsmeu, z, probs, options, value):
    """Expected F1 as found by brute force over all references, to the digits of that table."""
    ran = fsmeu("expect", "fscore", z, "--probs", probs, *options)
    assert ran.code == 0
    assert float(ran.out) == pytest.approx(value, abs=5e-7)
    assert [line.split()[0] for line in ran.err.splitlines()] == ["precision", "recall"]


def test_all_digits_are_printed(fsmeu):
    """What is read back is what was computed."""
    p = [0.9, 0.5, 0.3]
    levels = distribution((1, 1, 0), brute_force.bernoulli(p))
    mean = sum(float(v) * q for v, q in levels.items())
    out = fsmeu("expect", "fscore", "110", "--probs", "0.9,0.5,0.3").out
    assert float(out) == pytest.approx(mean, rel=1e-15)
    assert len(out.strip()) > 15


@pytest.mark.parametrize("engine", ["lattice", "openfst"])
@pytest.mark.parametrize("from_stdin", [True, False])
def test_a_chain_from_a_file(fsmeu, tmp_path, engine, from_stdin):
    """Mean, variance and quantiles of F1 under a Markov chain, by enumeration."""
    file = tmp_path / "m.json"
    file.write_text(json.dumps(MARKOV))
    source = ["-"] if from_stdin else [file]
    stdin = json.dumps(MARKOV) if from_stdin else None
    options = ["--engine", engine, "--json"]
    data = fsmeu("expect", "fscore", "0110", "--model", *source, *options, stdin=stdin).json
    levels = distribution(
        (0, 1, 1, 0), brute_force.markov(np.array(INITIAL), np.array(TRANSITION), (0, 1), 4)
    )
    mean = sum(float(v) * q for v, q in levels.items())
    variance = sum((float(v) - mean) ** 2 * q for v, q in levels.items())
    assert data["value"] == pytest.approx(mean, rel=1e-12)
    assert data["lower"] == pytest.approx(mean, rel=1e-12)
    assert data["upper"] == pytest.approx(mean, rel=1e-12)
    assert data["kept"] == pytest.approx(1.0, rel=1e-12)
    assert data["variance"] == pytest.approx(variance, rel=1e-12)
    assert list(data["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    for q, quantile in data["quantiles"].items():
        below = sum(p for v, p in levels.items() if float(v) < quantile - 1e-9)
        up_to = sum(p for v, p in levels.items() if float(v) <= quantile + 1e-9)
        assert below < float(q) <= up_to


def test_a_loss_from_standard_input(fsmeu, tmp_path):
    """A loss that is on no shelf, under a model from a file."""
    file = tmp_path / "m.json"
    file.write_text(json.dumps({"probs": [0.25, 0.5, 1.0]}))
    text = "loss twice labels 0 1 count bad when z != y value 2 * bad"
    out = fsmeu("expect", "-", "011", "-m", file, stdin=text).out
    assert float(out) == pytest.approx(2 * (0.25 + 0.5 + 0.0), rel=1e-12)


def test_open_labels_are_those_of_the_model(fsmeu, tmp_path):
    """Hamming loss over tags: the sum of what is not the tag's probability, over n."""
    rows = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    model = {"model": "independent", "probabilities": rows, "labels": ["O", "B-NP", "I-NP"]}
    out = fsmeu("expect", "hamming", "O B-NP", "--model", "-", stdin=json.dumps(model)).out
    assert float(out) == pytest.approx((0.8 + 0.9) / 2, rel=1e-12)


def test_bounds_hold_the_truth(fsmeu):
    """With --beam the bounds on stderr are those of --json, and hold the exact value."""
    p = [0.9, 0.5, 0.3, 0.6, 0.2]
    command = ["expect", "fscore", "11010", "--probs", ",".join(map(str, p))]
    exact = float(fsmeu(*command).out)
    ran = fsmeu(*command, "--beam", 3)
    data = fsmeu(*command, "--beam", 3, "--json").json
    assert data["lower"] <= exact <= data["upper"]
    assert data["lower"] < data["upper"]
    assert 0 < data["kept"] < 1
    assert float(ran.out) == data["value"]
    assert ran.err.startswith(f"{data['lower']!r} <= truth <= {data['upper']!r}")


def test_nothing_kept_has_no_quantiles(fsmeu):
    """One path of twelve hundred fair coins has a probability that no double can hold."""
    n = 1200
    command = ["expect", "hamming", "0" * n, "--probs", ",".join(["0.5"] * n), "--beam", 1]
    data = fsmeu(*command, "--json").json
    assert data["kept"] == 0.0
    assert data["lower"] <= 0.5 <= data["upper"]
    assert set(data["quantiles"].values()) == {None}


def test_empty_sequences(fsmeu):
    """There is one reference of length 0."""
    assert float(fsmeu("expect", "fscore", "", "--probs", "").out) == 1.0


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
