"""`./run bench`: what is written, and what is said of two runs."""

import json
import math

import pytest

from tests.benchmarks import measure, report
from tests.benchmarks.measure import Row


def row(title, second, **more):
    return Row(title, 1.0, second, second, **more)


def test_written_and_read(tmp_path):
    """What is infinite, after a fault, is written as nothing."""
    file = tmp_path / "folder" / "b.json"
    report.write(file, [row("a", 0.5, exponent=1.9, gigabytes=0.25), row("b", math.inf)])
    first, second = report.read(file)
    assert (first["second"], first["exponent"], first["gigabytes"]) == (0.5, 1.9, 0.25)
    assert (second["second"], second["ratio"]) == (None, None)
    assert "python" in json.loads(file.read_text())["machine"]


def test_what_got_slower_is_marked():
    """By more than a fifth; titles are compared without what was measured in brackets."""
    before = {"a (50 a second)": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    now = {"a (9 a second)": 1.21, "b": 1.19, "c": math.inf, "e": 1.0}
    old, new = ([row(*one) for one in (*rows.items(), ("f", 2.0))] for rows in (before, now))
    rows = (report.as_json([*rows, row("f", k)])["rows"] for k, rows in ((2.0, old), (4.0, new)))
    lines = list(report.side_by_side(*rows))
    cells = [line.split() for line in lines if line[:2] in ("a ", "b ", "c ", "f ")]
    assert cells == [
        ["a", "1.00000", "1.21000", "1.21", "SLOWER"],
        ["b", "1.00000", "1.19000", "1.19"],
        ["c", "1.00000", "-", "FAILED"],
        ["f", "2.00000", "2.00000", "1.00"],  # rows of one title are kept apart
        ["f", "2.00000", "4.00000", "2.00", "SLOWER"],
    ]
    assert lines[-1] == "3 of 5 slower; 1 new, 1 gone."


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"rows": [1]}', '{"rows": [{}]}', "[["])
def test_files_that_are_none_of_ours(tmp_path, content):
    file = tmp_path / "old.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=r"must be a file that \./run bench wrote"):
        report.read(file)


def test_growth_is_read_from_the_sizes(monkeypatch):
    """Four times the time for twice the length is an exponent of 2."""
    monkeypatch.setattr(measure, "ROWS", [])
    assert measure.record("F1: n = 1,000 | n = 2,000", 1.0, 4.0, at_most=5)
    assert not measure.record("F1: ours | theirs", 1.0, 4.0, at_most=3)
    first, second = measure.ROWS
    assert first.exponent == pytest.approx(2.0, rel=1e-12)
    assert second.exponent is None
    assert first.gigabytes > 0
    assert "2.00" in list(measure.table())[-2]
