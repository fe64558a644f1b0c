"""The help of every command ends with an example that runs; words that shells complete."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import COMMANDS, app
from fsmeu.decoding.choice import METHODS
from fsmeu.losses.loss import library

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example(fsmeu, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, heading, shown = fsmeu(command, "--help").out.partition("Example:")
    assert heading
    examples = COMMANDS[command].examples
    assert " ".join(shown.split()) == " ".join(" ".join(f"$ {line}".split()) for line in examples)
    assert f"fsmeu {command} " in examples[-1] + " "


def run_line(fsmeu, line):
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


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_in_an_empty_folder(fsmeu, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    ran = [run_line(fsmeu, line) for line in COMMANDS[command].examples]
    assert [one.code for one in ran if one is not None] == [0] * (len(ran) - ran.count(None))
    assert ran[-1].out or list(tmp_path.iterdir())


@pytest.mark.nightly
def test_an_example_runs_in_a_shell(tmp_path):
    """As the lines of the help are typed: a pipe into the command of these sources."""
    command = tmp_path / "fsmeu"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsmeu "$@"\n')
    command.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "-c", "set -e -o pipefail\n" + "\n".join(COMMANDS["consensus"].examples)]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["record"] == 1


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
    chunks = [name for name in library() if name.startswith("chunk_f")]
    assert completed("dec") == ["decode"]
    assert completed("decode", "chunk_f") == chunks
    assert completed("check", "chunks") == ["chunks.loss"]
    assert completed("check", "./ch") == ["./chunks.loss"]
    assert completed("score", "fscore", "zero") == ["zero_one"]
    assert completed("decode", "fscore", "--method", "r") == [
        name for name in METHODS if name.startswith("r")
    ]
    assert completed("decode", "fscore", "--method", "al") == ["all"]
    assert completed("decode", "fscore", "--engine", "o") == ["openfst"]
    assert completed("expect", "fscore", "--engine", "") == ["auto", "openfst"]
    assert completed("train", "-c", "DTA") == ["DTAClassifier"]
    assert completed("decode", "fscore", "--kee") == ["--keep"]
    # where no word is offered, bash offers files
    assert completed("decode", "fscore", "--model", "oth") == []
