"""`./run` explains itself, hands arguments over, makes its environment, fails in sentences."""

import ast
import errno
import subprocess
import sys
from pathlib import Path

import console
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


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('dependencies = ["pynini==1.2.3"]')
    return Project(tmp_path)


def test_full_disk_is_seen_behind_venvs_silence(project, monkeypatch):
    def run(*_, **__):
        raise process.describe_failure("venv", 1, "Command '... ensurepip' returned 1")

    monkeypatch.setattr(process, "run", run)
    usage = environment.shutil.disk_usage(project.root)._replace(free=1000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SetupFailure, match="the disk is full"):
        environment.bring_up_to_date(project, "")
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupFailure) as caught:
        environment.bring_up_to_date(project, "")
    assert "ensurepip is missing" in caught.value.report()
    assert "python3-venv" in caught.value.report()


# -- failures become a sentence, set-ups go one at a time ------------------------------------------


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "no permission to read or write at /some/cache"),
    ],
)
def test_refusals_are_worded(number, sentence):
    with pytest.raises(SetupFailure) as caught, console.guard("outer"), console.step("packing"):
        raise OSError(number, "broken", "/some/cache")
    first = caught.value.report().splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while packing: ")
    assert sentence in first


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


def test_killed_and_missing_programs_are_named():
    """A module that Python runs goes by its own name."""
    killed = [sys.executable, "-m", "timeit", "-n1", "-r1", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(SetupFailure, match="timeit was ended by signal 9"):
        process.run(killed)
    with pytest.raises(SetupFailure, match="'no-such-program' is missing"):
        process.run(["no-such-program"])
