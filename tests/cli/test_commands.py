"""All commands: help, versions, completion, the tour; `losses`, `evaluate`, `check`, `doctor`."""

import re
import shlex
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import COMMANDS, app
from fsmeu.cli.start import INDEPENDENT
from tests import brute_force
from tests.cli.commands import fsmeu

GRAMMARS = Path(__file__).parents[2] / "grammars"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_whole_at_any_width(command, monkeypatch):
    """Every word of it: 200 columns show all of them. It ends with the example."""
    monkeypatch.setenv("COLUMNS", "200")
    wide = re.sub("(?m)^╭.*", "", fsmeu(*command.split(), "--help").out)  # titles of panels
    assert "Usage: " in wide
    for columns in (50, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = fsmeu(*command.split(), "--help").out
        assert "…" not in shown
        assert columns < 80 or max(map(len, shown.splitlines())) <= columns
        letters = re.sub(r"[^A-Za-z0-9]", "", shown)
        assert {word for word in re.findall(r"[A-Za-z]{4,}", wide) if word not in letters} == set()
        assert set(re.findall(r"--[a-z]+", wide)) <= set(re.findall(r"--[a-z]+", shown))
        if command:
            examples = "".join(f"$ {line}" for line in COMMANDS[command].examples)
            end = shown.partition("Example:")[2]
            assert "".join(end.split()) == "".join(examples.split())


def run_line(line):
    """Runs a line as a shell does, but `fsmeu` in this process; returns what it did.

    What stands before a pipe, and lines without `fsmeu`, are for the shell itself.
    """
    before, _, command = line.rpartition(" | ")
    words = shlex.split(command)
    name, shell = words[0], ["bash", "-c", before if words[0] == "fsmeu" else line]
    stdin = subprocess.run(shell, capture_output=True, check=True).stdout
    if name != "fsmeu":
        return None
    *words, sign, file = words if ">" in words else [*words, "", ""]
    ran = fsmeu(*words[1:], stdin=stdin if before else None)
    if sign:
        Path(file).write_text(ran.out)
    return ran


NIGHTLY = ("train", "predict", "check")


@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=[pytest.mark.nightly] * (name in NIGHTLY)) for name in COMMANDS],
)
def test_examples_run_in_an_empty_folder(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    ran = [run_line(line) for line in COMMANDS[command].examples]
    assert {one.code for one in ran if one is not None} == {0}
    assert ran[-1].out or list(tmp_path.iterdir())


def completed(*words):
    """The words that bash offers in place of the last one."""
    variables = {
        "_FSMEU_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["fsmeu", *words]),
        "COMP_CWORD": str(len(words)),
    }
    ran = CliRunner().invoke(app, [], env=variables, prog_name="fsmeu")
    assert ran.stderr == ""
    return ran.stdout.split()


def test_words_that_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("chunks.loss", "other.txt"):
        (tmp_path / name).write_text("")
    assert completed("dec") == ["decode"]
    assert completed("decode", "zero") == ["zero_one"]
    assert completed("check", "./ch") == ["./chunks.loss"]
    assert completed("decode", "fscore", "--method", "al") == ["all"]
    assert completed("decode", "fscore", "--kee") == ["--keep"]
    # where no word is offered, bash offers files
    assert completed("decode", "fscore", "--model", "oth") == []


def test_demo_decides_and_draws(tmp_path, monkeypatch):
    """It draws where it is asked to, and writes nothing else."""
    monkeypatch.chdir(tmp_path)
    ran = fsmeu("demo")
    assert list(tmp_path.iterdir()) == []
    fsmeu("demo", "-o", "f1.svg")
    assert "tp=1" in (tmp_path / "f1.svg").read_text()
    of_y = brute_force.bernoulli(INDEPENDENT)
    best = max(of_y, key=lambda z: brute_force.expected(z, of_y))
    row = next(line for line in ran.out.splitlines() if "independent" in line)
    assert "".join(map(str, best)) in row
    assert f"{brute_force.expected(best, of_y):.4f}" in row


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 2, "memory"),
        (OSError(5, "Input/output error"), 2, "Input/output error"),
        (ModuleNotFoundError("No 'pywrapfst'", name="pywrapfst"), 2, "fsmeu doctor"),
        (KeyError("lost"), 70, "a fault in fsmeu itself (KeyError: 'lost')"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_cannot_be_foreseen(monkeypatch, error, code, said):
    """Even a fault of our own ends in a sentence; an interruption in none."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("fsmeu.load", fail)
    ran = fsmeu("demo")
    assert (ran.code, ran.out, said in ran.err) == (code, "", True)
    assert ran.err.count("\n") == (1 if said else 0)
    if code == 70:
        assert fsmeu("doctor").code == 1
        assert fsmeu("demo", "--debug").exception is error


def test_doctor_names_what_is_missing_and_what_does_not_fit(monkeypatch):
    """numpy 1.9 is older than 1.26, although it is the greater number; markers are honoured."""
    told = fsmeu("doctor", "--json").json
    shown = {row["package"]: row["installed"] for row in told["packages"]}
    assert told["computes"]
    assert shown["numpy"] == metadata.version("numpy")
    versions = {"numpy": "1.9.0", "rich": "13.10.1", "new": "4.0rc1"}
    texts = ["numpy>=1.26", "rich>=13.7", "new>=3; extra == 'plot'", "gone; extra == 'plot'"]
    texts.append("old; python_version < '3.9'")

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", lambda name: texts)
    monkeypatch.setattr(metadata, "version", version)
    ran = fsmeu("doctor", "--json")
    assert ran.json["advice"] == [
        "numpy 1.9.0 is installed, and numpy>=1.26 is needed",
        "gone missing: pip install 'fsmeu[plot]'",
    ]
    assert ran.code == 0
    texts.clear()
    assert "Nothing is missing." in fsmeu("doctor").out


# -- losses, evaluate, check -----------------------------------------------------------------------


def test_every_built_in_file_is_listed():
    shown = {row["name"]: row for row in fsmeu("losses", "--json").json}
    files = {path.stem: path.read_text() for path in GRAMMARS.glob("*.loss")}
    assert sorted(shown) == sorted(files)
    for name, text in files.items():
        assert shown[name]["kind"] == re.search(r"^(loss|utility)\b", text, re.MULTILINE).group(1)
        assert shown[name]["summary"] in text
    out = fsmeu("losses").out
    assert max(map(len, out.splitlines())) <= 80
    assert not {"\x1b", "\\"} & set(out)  # neither colours nor escapes
