"""`./run` explains itself, works from anywhere, and hands arguments over untouched."""

import ast
import subprocess
import sys
from pathlib import Path

import environment
import launch
import pytest
from environment import Project

ROOT = Path(__file__).resolve().parents[2]
ODD_ARGUMENTS = ["-k", "a and b", "", "--", "*", "$HOME", "ü"]


def run(*words, cwd=None):
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


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


def test_every_command_is_listed():
    alone, unknown = run(ROOT / "run"), run(ROOT / "run", "tset")
    assert (alone.returncode, unknown.returncode) == (0, 2)
    assert "no command 'tset'" in unknown.stderr
    names = "demo test bench explore-tests fsmeu python setup docs wheel check"
    for name in names.split():
        assert f"./run {name}" in alone.stdout
        assert name in unknown.stderr


@pytest.mark.parametrize(
    ("command", "words", "at_root"),
    [
        ("test", ["-m", "pytest", "-n", "auto", "--dist", "worksteal"], True),
        ("bench", ["-m", "pytest", "tests/benchmarks"], True),
        ("explore-tests", ["-m", "tests.explore.run"], True),
        ("demo", ["-m", "fsmeu.cli.main", "demo"], True),
        ("fsmeu", ["-m", "fsmeu.cli.main"], False),
        ("python", [], False),
    ],
)
def test_arguments_and_exit_code_pass_through(copy, tmp_path, command, words, at_root):
    """From another directory, through a symbolic link, nothing is changed on the way."""
    link = tmp_path / "link"
    link.symlink_to(copy / "run")
    result = run(link, command, *ODD_ARGUMENTS, cwd=tmp_path)
    assert result.returncode == 7
    assert result.stderr == ""
    where = copy if at_root else tmp_path
    assert result.stdout.splitlines() == [str(where), *words, *ODD_ARGUMENTS]


def test_paths_are_meant_from_where_the_user_is(tmp_path):
    (tmp_path / "test_a.py").touch()
    (tmp_path / "expression").touch()
    assert launch.rooted("test_a.py::test_b", tmp_path) == f"{tmp_path}/test_a.py::test_b"
    assert launch.rooted("test_a.py", tmp_path) == f"{tmp_path}/test_a.py"
    for untouched in ("expression", "tests/elsewhere.py", "-x", "--ignore=test_a.py"):
        assert launch.rooted(untouched, tmp_path) == untouched
    given = ["--against", "old.json", "--to=new.json", "-k", "x", "--against=/o.json"]
    files = launch.files_here(given, tmp_path)
    assert files[:3] == ["--against", f"{tmp_path}/old.json", f"--to={tmp_path}/new.json"]
    assert files[3:] == given[3:]


def test_unwritable_project_is_one_sentence(copy):
    (copy / ".venv/fsmeu-stamp.json").unlink()
    (copy / ".setup.lock").mkdir()
    result = run(copy / "run", "setup")
    assert result.returncode == 1
    assert result.stdout == ""
    first = result.stderr.splitlines()[0]
    assert first.startswith("fsmeu set-up stopped while making the environment (.venv): ")
    assert ".setup.lock" in first
    assert "Traceback" not in result.stderr


def test_old_python_is_refused_in_words():
    """It can read the launcher, so that the sentence reaches those who need it."""
    ast.parse((ROOT / "run").read_text(), feature_version=(3, 7))
    script = (
        "import sys, runpy\nsys.version_info = (3, 8, 0)\n"
        f"runpy.run_path({str(ROOT / 'run')!r}, run_name='__main__')"
    )
    result = run("-c", script)
    assert result.returncode == 1
    assert result.stderr == "fsmeu needs Python 3.10 or newer, but python3 is 3.8.\n"


OFF, PLACE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({OFF: "1"}, {PLACE: "/copy/.venv/bytecode"}),
        ({OFF: "1", PLACE: "/own"}, {PLACE: "/own"}),
        ({OFF: "", "HOME": "/home"}, {"HOME": "/home"}),
        ({}, {}),
    ],
)
def test_compiled_modules_are_kept(given, kept):
    variables = dict(given)
    launch.keep_bytecode(Project(Path("/copy")), variables)
    assert variables == kept
