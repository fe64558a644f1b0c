"""All commands: help, versions, the tour, and what commands print that do several things."""

import subprocess
import sys
from importlib import metadata
from itertools import product
from math import prod

import pytest
from nltk.metrics.segmentation import pk as nltk_pk
from sklearn.metrics import precision_score, recall_score
from typer.testing import CliRunner

from fsmeu.cli.demo import INDEPENDENT
from fsmeu.cli.main import COMMANDS, app


def test_help_imports_no_numpy():
    """The list of commands is shown before anything is loaded."""
    script = (
        "import sys; from fsmeu.cli.main import app; app(['--help'], standalone_mode=False); "
        "assert 'numpy' not in sys.modules and 'pynini' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert b"--install-completion" in ran.stdout


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_pages(fsmeu, command, monkeypatch):
    """They fit into 80 columns, nothing is cut off, and no word is a riddle."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = fsmeu(*command.split(), "--help")
    assert ran.code == 0
    assert "Usage: " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "…" not in ran.out
    assert "shelf" not in ran.out


def test_every_line_of_the_list_is_whole(fsmeu, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = " ".join(fsmeu("--help").out.split())
    for name, (panel, _, text) in COMMANDS.items():
        assert f"{name} " in shown
        assert panel in shown
        assert text in shown


def test_outputs_of_a_pair_are_those_of_scikit_learn(fsmeu):
    z, y = "10110", "11010"
    data = fsmeu("evaluate", "fscore", z, y, "--json").json
    pair = [[int(x) for x in tape] for tape in (y, z)]
    assert data["outputs"]["precision"] == pytest.approx(precision_score(*pair))
    assert data["outputs"]["recall"] == pytest.approx(recall_score(*pair))
    ran = fsmeu("evaluate", "fscore", z, y)
    assert float(ran.out) == data["value"]
    assert ran.err == "".join(f"{name} {value!r}\n" for name, value in data["outputs"].items())


def test_the_window_of_segmentations_is_found(fsmeu, tmp_path):
    """k=auto is half the mean segment of the references."""
    golds, decided = ["0100010000", "0001000100"], ["0010000100", "0001001000"]
    file = tmp_path / "s.conll"
    pairs = (zip(*pair, strict=True) for pair in zip(golds, decided, strict=True))
    file.write_text("\n\n".join("\n".join(f"{y} {z}" for y, z in pair) for pair in pairs) + "\n")
    k = 2  # segments of 2, 4, 5, 4, 4 and 3 units have a mean of 11/3, half of which is rounded
    ran = fsmeu("score", file, "-l", "pk:k=auto", "--draws", 0, "--json")
    assert f"k = {k}, " in ran.err
    mean = sum(nltk_pk(y, z, k=k) for y, z in zip(golds, decided, strict=True)) / 2
    (row,) = [row for row in ran.json["scores"] if row["level"] == "sentence"]
    assert row["value"] == pytest.approx(mean)
    fsmeu("score", "-", "-l", "pk:k=auto").is_refused("must be a file")


def test_endings_say_what_is_drawn(fsmeu, tmp_path):
    """A machine, a page, or a picture."""
    for ending, words in (("fst", ["--format", "fst"]), ("html", ["--explore"])):
        new, old = tmp_path / f"new.{ending}", tmp_path / "old"
        assert fsmeu("draw", "fscore", "--n", 2, "-o", new).code == 0
        assert fsmeu("draw", *words, "fscore", "--n", 2, "-o", old).code == 0
        assert new.read_bytes() == old.read_bytes()
    fsmeu("draw", "fscore", "--n", 2, "-f", "fst").is_refused("not written to a terminal")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["train", "t.conll", "-o", "m.npz", "--online"], ["--online", "tagger"]),
        (["train", "t.csv", "-o", "m.npz", "--space", "up"], ["--space", "classifier"]),
        (["train", "t.csv", "-o", "m.npz", "-c", "A", "-c", "B"], ["--classifier", "one"]),
        (["check", "fscore", "--n", "201"], ["1 to 200", "--sizes"]),
        (["expect", "fscore", "--corpus", "c", "--levels"], ["--corpus", "--levels"]),
    ],
)
def test_options_that_do_not_go_together(fsmeu, words, parts, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    fsmeu(*words).is_refused(*parts)


def test_every_version_is_the_installed_one():
    """The five lines agree with the package metadata that pip wrote."""
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    shown = dict(line.split() for line in result.output.splitlines())
    assert list(shown) == ["fsmeu", "pynini", "OpenFst", "numpy", "Python"]
    for package in ("fsmeu", "pynini", "numpy"):
        assert shown[package] == metadata.version(package)


def test_no_arguments_show_the_commands():
    """A bare `fsmeu` explains itself."""
    assert "demo" in CliRunner().invoke(app, []).output


def expected_f1(z):
    """Expected F1 of z under independent labels, by enumerating every labelling."""
    total = 0.0
    for y in product((0, 1), repeat=len(z)):
        weight = prod(p if label else 1 - p for p, label in zip(INDEPENDENT, y, strict=True))
        hits, positives = sum(a * b for a, b in zip(z, y, strict=True)), sum(z) + sum(y)
        total += weight * (2 * hits / positives if positives else 1)
    return total


def test_demo_decides_and_draws(tmp_path):
    """The independent row agrees with enumeration, and the picture is where it says."""
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "out")])
    assert result.exit_code == 0
    hypotheses = list(product((0, 1), repeat=len(INDEPENDENT)))
    best = max(hypotheses, key=expected_f1)
    row = next(line for line in result.output.splitlines() if "independent" in line)
    assert "".join(map(str, best)) in row
    assert f"{expected_f1(best):.4f}" in row
    assert "tp=1" in (tmp_path / "out" / "fscore.svg").read_text()
