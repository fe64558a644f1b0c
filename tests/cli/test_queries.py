"""`fsmeu expect`, `decode`, `consensus` and `draw`: against enumeration and the same in Python."""

import json

import numpy as np
import pytest

import fsmeu as package
from tests import brute_force
from tests.brute_force import bernoulli, expected, fscore
from tests.cli.commands import fsmeu
from tests.support.missing import openfst

pynini = openfst()

P = (0.9, 0.5, 0.3)
DECODE = ("decode", "fscore", "--probs", "0.9,0.5,0.3")
INITIAL, TRANSITION = [0.3, 0.7], [[0.9, 0.1], [0.25, 0.75]]
MARKOV = {"model": "markov", "initial": INITIAL, "transition": TRANSITION, "n": 4}


def pairs_of(z, of_y):
    """The values of F1 of z, each with the probability of its reference."""
    return [(fscore(z, y), p) for y, p in of_y.items()]


def best(of_y, allowed=lambda z: True):
    return max(filter(allowed, of_y), key=lambda z: expected(z, of_y))


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_a_chain_and_its_quantiles(engine):
    options = ["--model", "-", "--engine", engine, "--json"]
    data = fsmeu("expect", "fscore", "0110", *options, stdin=json.dumps(MARKOV)).json
    of_y = brute_force.markov(np.array(INITIAL), np.array(TRANSITION), (0, 1), 4)
    pairs = pairs_of((0, 1, 1, 0), of_y)
    assert data["value"] == pytest.approx(brute_force.mean(pairs), rel=1e-12)
    assert data["lower"] < data["value"] < data["upper"]
    assert data["upper"] - data["lower"] < 3e-9
    assert data["variance"] == pytest.approx(brute_force.variance(pairs), rel=1e-12)
    assert list(data["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    for q, quantile in data["quantiles"].items():
        assert quantile == pytest.approx(brute_force.quantile(pairs, float(q)), abs=1e-9)


def test_bounds_hold_the_truth():
    """Also where one path of twelve hundred coins has a probability that no double can hold."""
    command = ["expect", "fscore", "11010", "--probs", "0.9,0.5,0.3,0.6,0.2", "--keep", 3]
    exact = expected((1, 1, 0, 1, 0), bernoulli([0.9, 0.5, 0.3, 0.6, 0.2]))
    ran, data = fsmeu(*command), fsmeu(*command, "--json").json
    assert data["lower"] < exact < data["upper"]
    assert 0 < data["kept"] < 1
    assert ran.err.startswith(f"{data['lower']!r} <= truth <= {data['upper']!r}")
    coins = ("hamming", "0" * 1200, "--probs", ",".join(["0.5"] * 1200), "--keep", 1)
    data = fsmeu("expect", *coins, "--json").json
    assert data["lower"] <= 0.5 <= data["upper"]
    assert (data["kept"], set(data["quantiles"].values())) == (0.0, {None})


def test_levels_are_those_of_enumeration():
    """The longest bar is that of the most probable value; of many values the last line tells."""
    command = ["expect", "--levels", "fscore", "11010", "--probs", "0.9,0.5,0.3,0,1"]
    wanted = np.array(brute_force.levels(pairs_of((1, 1, 0, 1, 0), bernoulli((*P, 0.0, 1.0)))))
    data = fsmeu(*command, "--json").json
    found = np.array([data["values"], data["probabilities"]]).T
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    ran = fsmeu(*command)
    rows = [row for row in ran.rows() if row and row[0][0].isdigit()]
    assert np.array([[float(x) for x in row[:2]] for row in rows]) == pytest.approx(
        wanted, rel=1e-7
    )
    most = max(rows, key=lambda row: float(row[1]))
    assert len(most[2]) == max(len(row[-1]) for row in rows) == 36
    fair = ["expect", "--levels", "hamming", "0" * 50, "--probs", ",".join(["0.5"] * 50)]
    shown = [float(row[0]) for row in fsmeu(*fair).rows() if row and row[0][0].isdigit()]
    assert shown == pytest.approx([*(k / 50 for k in range(5, 45)), 11])


def test_one_decision():
    of_y = bernoulli(P)
    data = fsmeu(*DECODE, "--json", "--explain").json
    told = {"exact": True, "method": "ratios", "candidates": 4, "labels": list(best(of_y))}
    assert data.items() >= told.items()
    assert "independent" in data["explanation"]
    data = fsmeu(*DECODE, "--constraint", "0 .*", "--json").json
    assert (data["labels"], data["exact"]) == (list(best(of_y, lambda z: z[0] == 0)), True)
    data = fsmeu(*DECODE, "--method", "ranking", "--keep", 1, "--json").json
    assert data["exact"] is False
    assert data["value"] == pytest.approx(expected(data["labels"], of_y), rel=1e-12)


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_the_best_few(engine):
    """All sequences in the order of their expected values, and no more than there are."""
    of_y = bernoulli(P)
    ranked = sorted(of_y, key=lambda z: -expected(z, of_y))
    values = [expected(z, of_y) for z in ranked]
    command = (*DECODE, "--engine", engine)
    told = fsmeu(*command, "--k", 20, "--json").json
    assert [tuple(one["labels"]) for one in told] == ranked
    assert [one["value"] for one in told] == pytest.approx(values, rel=1e-12)
    assert all(one["exact"] for one in told)
    lines = fsmeu(*command, "-k", 3, "--explain").out.splitlines()
    assert lines[0].split() == ["labels", "value", "exact", "method"]
    best_three = zip(ranked[:3], values[:3], strict=True)
    shown = [line.split()[:3] for line in lines[2:5]]
    assert shown == [["".join(map(str, z)), f"{value:.10g}", "yes"] for z, value in best_three]
    assert "".join(lines[5:]).count("Decided by") == 3


def test_methods_side_by_side():
    of_y = bernoulli(P)
    rows = fsmeu(*DECODE, "--method", "all", "--json").json
    decided = {row["method"]: row for row in rows if "refused" not in row}
    assert {row["method"] for row in rows} - set(decided) == {"additive", "viterbi"}
    for row in decided.values():
        assert row["value"] == pytest.approx(expected(row["labels"], of_y), rel=1e-12)
        assert row["seconds"] > 0
        assert not row["exact"] or row["labels"] == list(best(of_y))
    assert decided["counting"]["exact"]
    table = fsmeu(*DECODE, "--method", "ranking,nbest,additive")
    shown = [row[:2] + row[3:4] for row in table.rows()[2:4]]
    z = "".join(map(str, best(of_y)))
    assert shown == [["ranking", z, "yes"], ["nbest", z, shown[1][2]]]
    assert "decode by additive: " in table.out


def test_explicit_engine_and_its_picture(tmp_path):
    """The path of the decision is coloured in the machine that was searched."""
    asked = ("decode", "fscore", "--probs", "0.3,0.6,0.4", "--method", "ranking")
    text = tmp_path / "searched.txt"
    z, value = fsmeu(*asked, "--engine", "openfst", "--draw", text).out.split()
    of_y = bernoulli((0.3, 0.6, 0.4))
    assert z == "".join(map(str, best(of_y)))
    assert float(value) == pytest.approx(expected(best(of_y), of_y), rel=1e-12)
    assert "sequences ranked by probability" in text.read_text()
    rows = [row for row in text.read_text().splitlines() if row.startswith("*") and "→" in row]
    assert len(rows) == 3


# -- draw ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["svg", "html", "fst"])
def test_files_and_standard_output(tmp_path, kind):
    path, other = tmp_path / f"picture.{kind}", tmp_path / "other"
    ran = fsmeu("draw", "zero_one", "--n", "2", "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert (str(path) if kind != "fst" else "5 states") in ran.err
    assert fsmeu("draw", "zero_one", "--n", 2, "--format", kind, "-o", other).code == 0
    assert path.read_bytes() == other.read_bytes()
    if kind != "fst":
        assert fsmeu("draw", "zero_one", "--n", 2, "-f", kind, "-o", "-").out == path.read_text()


def test_machines_are_those_of_the_package(tmp_path):
    """Whose paths are held against values elsewhere; their size and shift are told."""
    f1, path = package.load("fscore"), tmp_path / "m.fst"
    for words, machine in (
        ("--z 110", f1.compile(3, "110")),
        ("-n 2 --minimize", f1.compile(2, minimize=1)),
        ("--n 3 --summed", package.compile_summed(f1, 3)),
    ):
        ran = fsmeu("draw", "--format", "fst", "fscore", *words.split(), "-o", path)
        assert path.read_bytes() == machine.fst.write_to_string()
        fst = pynini.Fst.read(str(path))
        arcs = sum(map(fst.num_arcs, fst.states()))
        told = f": {fst.num_states()} states, {arcs} arcs, shift {machine.shift}\n"
        assert (ran.code, ran.err.endswith(told)) == (0, True)
