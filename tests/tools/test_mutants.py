"""`./run mutants`: which changes are made, and which of them tests notice."""

import json

import mutants
import pytest

SOURCE = """
LIMIT = 3


def least(a, b):
    if not a < b:
        raise ValueError(f"{a} is not below {b + 1}")
    return min(a, b) + 0 if a or b else True
"""
CHANGES = {
    "a < b -> (a <= b)",
    "not a < b -> (a < b)",
    "min(a, b) -> (min(b, a))",
    "min(a, b) + 0 -> (min(a, b))",
    "0 -> (1)",
    "a or b -> (a and b)",
    "True -> (False)",
}


def project(place, tests):
    (place / "some").mkdir()
    (place / "some" / "code.py").write_text(SOURCE)
    (place / "test_code.py").write_text(f"from some.code import least\n\n\n{tests}")
    return place


def test_changes_are_made_inside_functions_and_not_in_messages(tmp_path):
    found = mutants.mutants_of(project(tmp_path, ""), "some")
    assert {one.name.partition(": ")[2] for one in found} == CHANGES
    assert all(one.file == "some/code.py" for one in found)


@pytest.mark.nightly
def test_mutants_that_fewer_tests_kill_are_listed(tmp_path, capsys):
    """Four of the seven survive the first tests; the second ask for one case alone."""
    tests = "def test():\n    assert least(1, 2) == 1\n"
    project(tmp_path, f"{tests}    assert least(0, 2) == 0\n    assert least(-1, 0) == -1\n")
    words = ["some", "--tests", "test_code.py", "--jobs", "2"]
    assert mutants.main(tmp_path, [*words, "--to", str(tmp_path / "old.json")]) == 0
    outcomes = json.loads((tmp_path / "old.json").read_text())
    alive = {name.partition(": ")[2] for name, dead in outcomes.items() if not dead}
    assert len(outcomes) == len(CHANGES)
    assert alive == {"a < b -> (a <= b)", "min(a, b) -> (min(b, a))", "True -> (False)"} | {
        "min(a, b) + 0 -> (min(a, b))"
    }
    (tmp_path / "test_code.py").write_text(f"from some.code import least\n\n\n{tests}")
    assert mutants.main(tmp_path, [*words, "--against", str(tmp_path / "old.json")]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("a or b -> (a and b)")
