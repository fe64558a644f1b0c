"""`./run nightly`: parts by name, a log of each, one table, an exit code."""

import json
import sys

import nightly
import pytest
from console import SetupFailure


@pytest.fixture
def parts(monkeypatch):
    """Stands in for the parts of a night: one passes, one fails, one cannot be set up."""

    def good(night):
        return [sys.executable, "-c", f"print('seed', {night.seed}, 'cases', {night.cases})"]

    def bad(night):
        return [sys.executable, "-c", "print('the cause'); raise SystemExit(3)"]

    def unready(night):
        raise SetupFailure("the network did not answer")

    monkeypatch.setattr(nightly, "PARTS", {"good": good, "bad": bad, "unready": unready})


def test_all_parts_run_whatever_fails(parts, tmp_path, capsys):
    """The table names each; logs hold what was written; the end of a failed one is printed."""
    assert nightly.main(tmp_path, ["--seed", "17", "--cases", "5"]) == 1
    logs = tmp_path / "out" / "nightly"
    assert "seed 17 cases 5" in (logs / "good.log").read_text()
    assert "the network did not answer" in (logs / "unready.log").read_text()
    out = capsys.readouterr().out
    assert out.startswith("seed 17; ")
    assert "    the cause\n" in out
    table = out[out.index("night of seed 17") :]
    rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in table.splitlines()]
    found = [row[:2] for row in rows if row]
    assert found == [["good", "passed"], ["bad", "failed (3)"], ["unready", "failed (set-up)"]]


def test_some_parts_and_a_new_seed(parts, tmp_path, capsys):
    seeds = set()
    for _ in range(3):
        assert nightly.main(tmp_path, ["good"]) == 0
        seeds.add(capsys.readouterr().out.split(";")[0])
    assert len(seeds) == 3
    assert not (tmp_path / "out" / "nightly" / "bad.log").exists()


def test_unknown_parts_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        nightly.main(tmp_path, ["tset"])
    assert caught.value.code == 2
    parts = "tests, explorer, frozen, fuzz, notebooks, lowest"
    assert f"the parts are: {parts}" in capsys.readouterr().err


def test_workflow_has_every_part():
    text = (nightly.Path(nightly.__file__).parents[1] / ".github/workflows/nightly.yml").read_text()
    listed = text[text.index("part: [") + 6 :].splitlines()[0]
    assert listed == json.dumps(list(nightly.PARTS)).replace('"', "")
