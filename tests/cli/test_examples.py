"""The help of every command ends with an example that runs; words that shells complete."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fsmeu.cli.main import COMMANDS, app
from fsmeu.decoding.choice import METHODS
from fsmeu.losses.loss import library

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables of a shell in which `fsmeu` is the command of these sources."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "fsmeu"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsmeu "$@"\n')
    command.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example(fsmeu, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, heading, shown = fsmeu(command, "--help").out.partition("Example:")
    assert heading
    examples = COMMANDS[command].examples
    assert " ".join(shown.split()) == " ".join(" ".join(f"$ {line}".split()) for line in examples)
    assert f"fsmeu {command} " in examples[-1] + " "


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_in_an_empty_folder(tmp_path, environment, command):
    script = "\n".join(["set -e -o pipefail", *COMMANDS[command].examples])
    shell = ["bash", "-c", script]
    ran = subprocess.run(
        shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout or list(tmp_path.iterdir())


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
    assert completed("train", "-c", "DTA") == ["DTAClassifier"]
    assert completed("decode", "fscore", "--kee") == ["--keep"]
    # where no word is offered, bash offers files
    assert completed("decode", "fscore", "--model", "oth") == []
