"""All commands: help, versions, the tour; `losses`, `evaluate` and `doctor`."""

import re
import subprocess
import sys
from importlib import metadata
from itertools import accumulate

import pytest
from sklearn.metrics import precision_score, recall_score

from fsmeu.cli import start as doctor
from fsmeu.cli.inputs import whereabouts
from fsmeu.cli.main import COMMANDS
from fsmeu.cli.start import INDEPENDENT
from fsmeu.losses.loss import grammar_folder, library
from tests import brute_force


def broken(*_, **__):
    message = "No module named 'pywrapfst'"
    raise ModuleNotFoundError(message, name="pywrapfst")


def missing(name):
    raise metadata.PackageNotFoundError(name)


def test_help_imports_no_numpy():
    script = (
        "import sys; from fsmeu.cli.main import app; app(['--help'], standalone_mode=False); "
        "assert 'numpy' not in sys.modules and 'pynini' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert b"--install-completion" in ran.stdout


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_pages(fsmeu, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = fsmeu(*command.split(), "--help")
    assert ran.code == 0
    assert "Usage: " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert [word for word in ("…", "shelf", "<bool>") if word in ran.out] == []


def test_the_list_of_commands_is_whole(fsmeu, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = " ".join(fsmeu("--help").out.split())
    for name, command in COMMANDS.items():
        parts = (f"{name} ", command.panel, command.summary)
        assert [part for part in parts if part not in shown] == []
    panels = list(dict.fromkeys(command.panel for command in COMMANDS.values()))
    places = [shown.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)
    assert panels[0] == "Start here"
    assert "demo" in "".join(fsmeu().out + fsmeu().err)  # a bare `fsmeu` explains itself


def test_every_version_is_the_installed_one(fsmeu, monkeypatch):
    shown = dict(fsmeu("--version").rows())
    assert list(shown) == ["fsmeu", "pynini", "OpenFst", "numpy", "Python"]
    for package in ("fsmeu", "pynini", "numpy"):
        assert shown[package] == metadata.version(package)
    monkeypatch.setattr(metadata, "version", missing)
    shown = dict(fsmeu("--version").rows())
    assert (shown["pynini"], shown["OpenFst"]) == ("missing", "unknown")


def test_demo_decides_and_draws(fsmeu, tmp_path, monkeypatch):
    """It draws where it is asked to, and writes nothing else."""
    monkeypatch.chdir(tmp_path)
    ran = fsmeu("demo")
    assert list(tmp_path.iterdir()) == []
    assert "drawn" not in ran.out
    fsmeu("demo", "-o", "f1.svg")
    of_y = brute_force.bernoulli(INDEPENDENT)
    values = {z: sum(p * brute_force.fscore(z, y) for y, p in of_y.items()) for z in of_y}
    best = max(values, key=values.get)
    row = next(line for line in ran.out.splitlines() if "independent" in line)
    assert "".join(map(str, best)) in row
    assert f"{values[best]:.4f}" in row
    assert "tp=1" in (tmp_path / "f1.svg").read_text()


def test_every_built_in_file_is_listed(fsmeu):
    shown = {row["name"]: row for row in fsmeu("losses", "--json").json}
    files = {path.stem: path.read_text() for path in grammar_folder().glob("*.loss")}
    assert sorted(shown) == sorted(files)
    for name, text in files.items():
        assert shown[name]["kind"] == re.search(r"^(loss|utility)\b", text, re.MULTILINE).group(1)
        assert shown[name]["summary"] in text
    beta, _, empty = shown["fscore"]["parameters"]
    known = {"name": "beta", "default": 1, "low": 0, "high": None, "text": "beta = 1 in 0.."}
    assert beta.items() >= known.items()
    assert empty.items() >= {"name": "empty", "type": "real", "default": 1, "low": None}.items()
    assert shown["fscore"]["labels"] == [0, 1]


def test_the_table_fits_a_terminal(fsmeu):
    ran = fsmeu("losses")
    assert max(map(len, ran.out.splitlines())) <= 80
    _, _, *rows = [line for line in ran.out.splitlines() if line[:1] > " "]
    assert [line.split()[0] for line in rows] == library()
    assert "k: int in 1.." in ran.out
    assert not {"\x1b", "\\"} & set(ran.out)  # neither colours nor escapes


def test_a_file_is_given_back(fsmeu, keep):
    """Byte for byte, with a last line break; where it is goes to stderr."""
    built_in, mine = grammar_folder() / "pk.loss", keep("mine.loss", "loss mine value 1")
    for name, path, stdin in (("pk", built_in, None), (mine, mine, None), ("-", mine, "loss a ")):
        ran = fsmeu("losses", name, stdin=stdin and mine.read_text())
        assert ran.out == path.read_text().rstrip("\n") + "\n"
        assert ran.err == f"# {whereabouts('-') if stdin else path}\n"


def test_the_head_of_a_file_as_data(fsmeu, keep):
    """Parameters are told as written, over line ends and comments, and as numbers."""
    head = "utility mine(a: int = min(3, 4) in -1..2^3,  # (first, of three\n b = a / 2, c: table)"
    body = '"what, it (is)" reference "R" labels bio flag f when z == y value f example O O = 1'
    file = keep("mine.loss", f"{head} {body}")
    data = fsmeu("losses", file, "--json").json
    params = data.pop("parameters")
    assert [p["text"] for p in params] == ["a: int = min(3, 4) in -1..2^3", "b = a / 2", "c: table"]
    assert [params[0][name] for name in ("type", "default", "low", "high")] == ["int", 3, -1, 8]
    assert [param["default"] for param in params] == [3, None, None]
    known = {"kind": "utility", "name": "mine", "summary": "what, it (is)", "labels": None}
    known |= {"tags": True, "references": ["R"], "examples": 1, "path": str(file)}
    assert data.items() >= known.items()
    assert data["registers"] == [{"name": "f", "kind": "flag"}]


MEMORIES = """
loss changes(k: int = 2)
labels any
memory mz of z last k
memory eq of (z == y) last 2
state even odd
arc even -> odd when z == y
arc even -> even otherwise
arc odd -> even when z == y
arc odd -> odd otherwise
count cost by 1/2 when z != y
value cost
"""


def test_counts_and_outputs_of_the_f_score(fsmeu):
    z, y = "10110", "11010"
    data = fsmeu("evaluate", "--steps", "fscore", z, y, "--json").json
    zs, ys = ([int(x) for x in tape] for tape in (z, y))
    both = [a * b for a, b in zip(zs, ys, strict=True)]
    for name, added in (("tp", both), ("hyp", zs), ("ref", ys)):
        held = [step["registers"][name] for step in data["steps"]]
        assert held == list(accumulate(added, initial=0))
    assert [step["i"] for step in data["steps"]] == list(range(6))
    assert [step["z"] for step in data["steps"]] == [None, *zs]
    assert data["outputs"]["precision"] == pytest.approx(precision_score(ys, zs))
    assert data["outputs"]["recall"] == pytest.approx(recall_score(ys, zs))
    ran = fsmeu("evaluate", "fscore", z, y)
    assert float(ran.out) == data["value"]
    assert ran.err == "".join(f"{name} {value!r}\n" for name, value in data["outputs"].items())


def test_states_and_memories_are_shown_by_name(fsmeu):
    """A state by its name, a memory newest first with dots before the start; or as data."""
    ran = fsmeu("evaluate", "--steps", "-", "NN VB NN", "NN DT NN", "-p", "k=2", stdin=MEMORIES)
    assert ran.rows() == [
        ["i", "z", "y", "mz", "eq", "state", "cost"],
        ran.rows()[1],
        ["0", ".", ".", ".", ".", "even", "0"],
        ["1", "NN", "NN", "NN", ".", "1", ".", "odd", "0"],
        ["2", "VB", "DT", "VB", "NN", "0", "1", "odd", "0.5"],
        ["3", "NN", "NN", "NN", "VB", "1", "0", "even", "0.5"],
        [],
        ["value", "0.5"],
    ]
    # what a terminal library reads as style or emoji is printed as it is
    rows = fsmeu("evaluate", "--steps", "hamming", "[red] :smile:", "[red] [/]").rows()
    assert [row[1:3] for row in rows[3:5]] == [["[red]", "[red]"], [":smile:", "[/]"]]
    steps = fsmeu("evaluate", "--steps", "-", "2,1", "2,0", "--json", stdin=MEMORIES).json["steps"]
    assert steps[1]["registers"] == {"mz": [2, None], "eq": [1, None], "state": "odd", "cost": 0}
    assert steps[2]["registers"] == {"mz": [1, 2], "eq": [0, 1], "state": "odd", "cost": 0.5}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["hamming", "A B A", "ABC"], 1 / 3),
        (["hamming", "A,B,A", "ABC"], 1 / 3),
        (["hamming", "ABA", "ABC"], 1 / 3),
        (["hamming", "A, B, A", "ABC"], 1 / 3),
        (["accuracy", "", ""], 1.0),
        (["recall", "NYN", "YYN", "--labels", "N,Y"], 0.5),  # the second name stands for label 1
        (["hamming", "--", "-1 1", "1 1"], 0.5),  # after a bare -- nothing is an option
    ],
)
def test_sequences_may_be_written_in_several_ways(fsmeu, words, value):
    data = fsmeu("evaluate", "--steps", "--json", *words).json
    assert data["value"] == pytest.approx(value, rel=1e-12)
    assert len(data["steps"]) == data["n"] + 1


def test_packages_are_those_of_the_project(fsmeu, monkeypatch):
    """An extra that is not there is named with the line that installs it, and is no failure."""
    told = fsmeu("doctor", "--json").json
    assert told["computes"]
    shown = {row["package"]: row["installed"] for row in told["packages"]}
    assert {"pynini", "numpy", "matplotlib", "distributed"} <= set(shown)
    assert shown["numpy"] == metadata.version("numpy")
    assert "pytest" not in shown
    real = doctor.installed
    monkeypatch.setattr(doctor, "installed", lambda name: name != "matplotlib" and real(name))
    ran = fsmeu("doctor")
    assert ran.code == 0
    assert "matplotlib missing: pip install 'fsmeu[plot]'" in ran.out
    monkeypatch.setattr(doctor, "installed", lambda name: name != "pynini" and real(name))
    ran = fsmeu("doctor")
    assert ran.code == 0
    assert "pynini missing, which explicit machines need" in ran.out
    assert "./run wheel" in ran.out


def test_what_cannot_compute(fsmeu, monkeypatch):
    monkeypatch.setattr("fsmeu.load", broken)
    ran = fsmeu("doctor")
    assert ran.code == 1
    assert "No module named 'pywrapfst'" in ran.out
    monkeypatch.setattr("fsmeu.cli.inputs.load_loss", broken)
    fsmeu("evaluate", "hamming", "01", "10").is_refused("pywrapfst", "fsmeu doctor")
