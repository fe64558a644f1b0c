"""`./run mutants`: which changes are made, and which of them tests notice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import mutants
import pytest

SOURCE = """
LIMIT = 3


def least(a, b):
    if not a < b:
        raise ValueError(f"{a} is not below {b + 1}")
    return min(a, b) + 0 if a or b else True


def unseen():
    return -1
"""
KILLED = {"not a < b -> (a < b)", "0 -> (1)", "a or b -> (a and b)"}
ALIVE = {"a < b -> (a <= b)", "min(a, b) -> (min(b, a))", "min(a, b) + 0 -> (min(a, b))"}
ALIVE |= {"True -> (False)", "-1 -> (1)", "1 -> (2)"}
TESTS = """
from some.code import least


def test_one():
    assert least(1, 2) == 1


def test_two():
    assert [least(0, 2), least(-1, 0)] == [0, -1]
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "code.py").write_text(SOURCE)
    (tmp_path / "test_code.py").write_text(TESTS)
    return tmp_path


def run(place, *words):
    """Runs the command in a project of this place; what it returned and printed, and its JSON."""
    start = "import sys, pathlib, mutants; "
    start += "sys.exit(mutants.main(pathlib.Path().resolve(), sys.argv[1:]))"
    command = [sys.executable, "-c", start, "some"]
    command += ["--tests", "test_code.py", "--jobs", "2", "--to", "to.json", *words]
    path = {**os.environ, "PYTHONPATH": str(Path(mutants.__file__).parent)}
    ran = subprocess.run(command, cwd=place, env=path, capture_output=True, text=True, check=False)
    assert (place / "to.json").exists(), ran.stderr
    killers = json.loads((place / "to.json").read_text())
    return ran, {name.partition(": ")[2]: tests for name, tests in killers.items()}


def test_changes_are_made_inside_functions_and_not_in_messages(place):
    found = mutants.mutants_of(place, "some")
    assert {one.name.partition(": ")[2] for one in found} == KILLED | ALIVE
    assert found[0].name.startswith("some/code.py:")


@pytest.mark.nightly
def test_what_only_other_tests_killed_is_listed(place):
    """The second test alone tells `or` from `and`; a file says that it was killed before."""
    names = [one.name for one in mutants.mutants_of(place, "some")]
    before = {name: ["x"] if name.partition(": ")[2] in KILLED else [] for name in names}
    (place / "old.json").write_text(json.dumps(before))
    ran, killers = run(place, "--against", "old.json", "--tests", "test_code.py::test_one")
    assert {name for name, tests in killers.items() if tests} == KILLED - {"a or b -> (a and b)"}
    assert ran.returncode == 1
    *_, counts, lost = ran.stdout.splitlines()
    assert ran.stdout.startswith("2 of 9 mutants of some are killed")
    assert counts == "3 of 9 before; 1 only then:"
    assert lost.endswith("a or b -> (a and b)")
