"""`fsmeu draw`: pictures in terminals and files, machines, pages."""

import json
import re
import shlex
import xml.etree.ElementTree as ET

import pytest

import fsmeu as package
from fsmeu import constraints
from tests.support.missing import openfst

pynini = openfst()


def starred(text):
    return sum(line.startswith("*") for line in text.splitlines())


def test_small_machines_are_drawn_and_larger_ones_listed(fsmeu):
    ran = fsmeu("draw", "hamming", "--n", "2")
    row = next(line for line in ran.out.splitlines() if "((bad=0))" in line)
    assert row.index("((bad=0))") < row.index("((bad=1))") < row.index("((bad=2))")
    assert row.count("0:1, 1:0") == 2
    assert "= 0.5" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    ran = fsmeu("draw", "fscore", "--n", "3")
    heads = [line for line in ran.out.splitlines() if line.startswith("depth")]
    assert heads == [f"depth {d}" for d in range(4)]
    assert ran.out.count("◎ tp=") == 20
    assert starred(fsmeu("draw", "fscore", "--z", "110", "--y", "101").out) == 4 + 3


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("fscore --n 3 --minimize -f txt", ["utility fscore, n = 3, merged from 20 states: 8 st"]),
        ("hamming --z 'B A' --y 'B C' -f dot", ["A:C"]),  # open labels are those of the pair
        ("hamming --n 3 --summed", ["loss hamming, n = 3, summed", "= 0.3333"]),
        ("fscore --n 12", ["At most 100 states", "depth   12  91 "]),
        ("--probs 0.2,0.4", ["independent labels"]),
        # Figure 1 of Jansche (2007), without registers that follow z alone, cut off
        ("fscore -n 4 --given-z --depth 3 --labels n,Y --short -f dot", ['"n:n, Y:n"', '"3,3"']),
    ],
)
def test_what_is_shown(fsmeu, words, parts):
    ran = fsmeu("draw", *shlex.split(words))
    assert ran.code == 0
    assert [part for part in parts if part not in ran.out] == []


def test_models_and_compositions(fsmeu, keep):
    ran = fsmeu("draw", "fscore", "--z", "11", "--probs", "0.9,0.5")
    assert "= 1 p 0.45" in ran.out
    model = keep("model.json", {"probs": [0.9, 0.5]})
    assert fsmeu("draw", "fscore", "--z", "11", "--model", model).out == ran.out
    chain = {"initial": [1, 0], "transition": [[0.5, 0.5], [0, 1]], "labels": ["A", "B"]}
    seen = {"emission": [[1, 0], [0.5, 0.5]], "observations": [0, 0]}
    model = keep("model.json", {"model": "hmm", **chain, **seen})
    ran = fsmeu("draw", model, "-f", "txt")
    assert ran.out.startswith("hidden Markov model, given its observations, n = 2: ")
    assert fsmeu("draw", "--model", model, "-f", "txt").out == ran.out
    assert starred(fsmeu("draw", model, "--y", "A B", "-f", "txt").out) == 3 + 2


@pytest.mark.parametrize("kind", ["svg", "png", "html", "fst"])
def test_files_and_standard_output(fsmeu, tmp_path, kind):
    path, other = tmp_path / f"picture.{kind}", tmp_path / "other"
    ran = fsmeu("draw", "zero_one", "--n", "2", "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert (str(path) if kind != "fst" else "5 states") in ran.err
    words = ["--format", kind]
    assert fsmeu("draw", "zero_one", "--n", 2, *words, "-o", other).code == 0
    assert kind == "png" or path.read_bytes() == other.read_bytes()
    if kind == "svg":
        for more in ([], ["-o", "-"]):
            assert fsmeu("draw", "zero_one", "--n", 2, "-f", kind, *more).out == path.read_text()
        assert ET.fromstring(path.read_text()).tag.endswith("svg")


def test_a_chart_in_place_of_the_machine_is_told(fsmeu, tmp_path):
    for more in (["-o", tmp_path / "large.svg"], ["--format", "svg"]):
        ran = fsmeu("draw", "fscore", "--n", 12, *more)
        assert "The picture is a bar chart" in ran.err
        assert "455 states, and --limit is 100" in ran.err
    assert "bar chart" not in fsmeu("draw", "fscore", "--n", 2, "-f", "svg").err


SIGNED = "loss signed labels 0 1 count d by z - y value d / 2"
F1 = package.load("fscore")


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("fscore --n 3", lambda: F1.compile(3)),
        ("fscore --z 110", lambda: F1.compile(3, "110")),
        ("hamming --labels N,Y -n 2", lambda: package.load("hamming", labels="NY").compile(2)),
        ("fscore --n 2 --minimize", lambda: F1.compile(2, minimize=1)),
        ("fscore --n 3 --summed", lambda: package.compile_summed(F1, 3)),
        ("- --n 2", lambda: package.loads(SIGNED).compile(2)),
    ],
)
def test_machines_are_those_of_the_package(fsmeu, tmp_path, words, made):
    """Whose paths are held against values elsewhere; their size and shift are told."""
    path, machine = tmp_path / "m.fst", made()
    ran = fsmeu("draw", "--format", "fst", *words.split(), "-o", path, stdin=SIGNED)
    assert (ran.code, ran.out) == (0, "")
    assert path.read_bytes() == machine.fst.write_to_string()
    fst = pynini.Fst.read(str(path))
    arcs = sum(map(fst.num_arcs, fst.states()))
    told = f": {fst.num_states()} states, {arcs} arcs, "
    assert ran.err.endswith(f"{told}shift {machine.shift}\n")


@pytest.fixture
def tables(fsmeu):
    """The tables that the page about a loss carries."""

    def read(*words):
        page = fsmeu("draw", "-f", "html", *words).out
        return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))

    return read


def test_pages(fsmeu, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = fsmeu("draw", "fscore", "--n", "3", "-o", "f1.html")
    assert (ran.code, ran.out) == (0, "")
    page = fsmeu("draw", "fscore", "--n", "3", "-f", "html").out
    assert page == (tmp_path / "f1.html").read_text()
    machines = tables("fscore", "-n", "3")["machines"]
    assert [machine["n"] for machine in machines] == [1, 2, 3]
    assert [len(machine["values"]) for machine in machines] == [4, 10, 20]
    state = machines[-1]["start"]
    for z, y in ((1, 1), (1, 0), (0, 1)):
        state = machines[-1]["next"][(state * 2 + z) * 2 + y]
    assert machines[-1]["values"][state] == 0.5
    assert machines[-1]["held"][state] == ["1", "2", "2"]


def test_probabilities_and_labels_to_begin_with(tables):
    assert tables("fscore", "-n", 2, "--probs", "0.25,0.75")["weights"] == [[0.25], [0.75]]
    data = tables("hamming", "--labels", "A,B,C", "-n", 1)
    assert data["labels"] == ["A", "B", "C"]
    assert data["machines"][0]["first"] == {"z": [2], "y": [2]}
    assert all(sum(row) == pytest.approx(1) for row in data["weights"])


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["hamming", "--labels", "O,B-NP,I-NP"], constraints.bio),
        (["hamming", "--labels", "I-A,B-A,O,B-B,I-B"], constraints.bio),
        (["hamming", "--labels", "B-X,O"], constraints.bio),
        (["hamming", "--labels", "O,S-X,B-X,I-X,E-X"], constraints.iobes),
        (["chunk_recall", "--types", "NP,VP"], constraints.bio),
    ],
)
def test_first_pair_of_tags_is_well_formed(tables, words, allowed):
    data = tables(*words, "-n", "3")
    labels = data["labels"]
    for machine in data["machines"]:
        n = machine["n"]
        even = package.models.Independent([[1 / len(labels)] * len(labels)] * n, labels)
        for tape in ("z", "y"):
            tags = [labels[k] for k in machine["first"][tape]]
            assert even.given(allowed()).probability(tags) > 0
            assert n == 1 or set(tags) != {"O"}
