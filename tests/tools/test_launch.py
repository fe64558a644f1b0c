"""`./run` explains itself, hands arguments over, makes its environment, fails in sentences."""

import ast
import subprocess
import sys
from pathlib import Path

import environment
import process
import pytest
from console import SetupFailure
from environment import Project

ROOT = Path(__file__).resolve().parents[2]
ODD_ARGUMENTS = ["-k", "a and b", "", "--", "*", "$HOME", "ü"]


def run(*words, cwd=None):
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


def test_every_command_is_listed():
    alone, unknown = run(ROOT / "run"), run(ROOT / "run", "tset")
    assert (alone.returncode, unknown.returncode) == (0, 2)
    assert "no command 'tset'" in unknown.stderr
    for name in ("demo", "test", "bench", "frozen", "fsmeu", "setup", "docs", "check"):
        assert f"./run {name}" in alone.stdout
        assert name in unknown.stderr


@pytest.fixture
def copy(tmp_path):
    """A copy of the launcher whose environment is 'up to date' and echoes what it is given."""
    root = tmp_path / "copy"
    root.mkdir()
    (root / "run").write_text((ROOT / "run").read_text())
    (root / "tools").symlink_to(ROOT / "tools")
    (root / "pyproject.toml").touch()
    project = Project(root)
    project.python.parent.mkdir(parents=True)
    project.python.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\nexit 7\n')
    project.python.chmod(0o755)
    environment.write_stamp(project, environment.wanted_stamp(project, "dev"))
    return root


def test_old_python_is_refused_in_words():
    """It can read the launcher, so that the sentence reaches those who need it."""
    ast.parse((ROOT / "run").read_text(), feature_version=(3, 7))
    old = f"import sys, runpy; sys.version_info = (3, 8, 0); runpy.run_path({str(ROOT / 'run')!r}, "
    result = run("-c", f"{old}run_name='__main__')")
    assert result.returncode == 1
    assert result.stderr == "fsmeu needs Python 3.10 or newer, but python3 is 3.8.\n"


def test_arguments_and_exit_code_pass_through(copy, tmp_path):
    """From another directory, through a symbolic link, nothing is changed on the way."""
    link = tmp_path / "link"
    link.symlink_to(copy / "run")
    result = run(link, "test", *ODD_ARGUMENTS, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (7, "")
    words = ["-m", "pytest", "-n", "auto", "--dist", "worksteal"]
    assert result.stdout.splitlines() == [str(copy), *words, *ODD_ARGUMENTS]


def test_unwritable_project_is_one_sentence(copy):
    (copy / ".venv/fsmeu-stamp.json").unlink()
    (copy / ".setup.lock").mkdir()
    result = run(copy / "run", "setup")
    assert (result.returncode, result.stdout) == (1, "")
    first = result.stderr.splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while making the environment (.venv): ")
    assert ".setup.lock" in first
    assert "Traceback" not in result.stderr


# -- failures become a sentence, set-ups go one at a time ------------------------------------------


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("as: can't write x.o: No space left on device", "the disk is full"),
        ("WARNING: Retrying (Retry(total=4)) after NewConnectionError", "network did not answer"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "memory ran out"),
        ("first\nE: the cause\nhint: See above\n", r"g\+\+ failed \(3\)"),
    ],
)
def test_cause_is_named(output, sentence):
    """pip ends with lines that say nothing; the error before them is what counts."""
    failure = process.describe_failure("g++", 3, output)
    assert failure.remedies
    assert "hint" not in failure.report()
    with pytest.raises(SetupFailure, match=sentence):
        raise failure
