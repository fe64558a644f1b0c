"""The script of the SEARN experiments: quick runs, the page of its tables, the chain."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from searn.registry import TASKS
from searn.sequences import FILES
from tests.experiments.conftest import needs


@pytest.fixture
def daume(load):
    """A function that runs a command of the script, which must end with this code."""
    app = load("daume2009").app

    def run(*words, code=0):
        ran = CliRunner().invoke(app, [str(word) for word in words])
        assert ran.exit_code == code, ran.stderr
        return ran

    return run


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS)
def test_quick_runs(daume, tmp_path, task):
    """Every method of a task has a row; scores are shares, intervals hold them."""
    name = {"ocr": "letters", "ner": "conll2002", "chu": "conll2000", "joi": "conll2000"}
    needs(*FILES.get(name.get(task[:3], ""), ()))
    ran = daume("run", task, "--quick", "-o", tmp_path)
    rows = json.loads((tmp_path / "searn.json").read_text())
    assert len(rows) > 3
    for row in rows:
        assert row["method"] in ran.stdout
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    section = json.loads(daume("table", tmp_path, "--quick", "--json").stdout)
    assert section["rows"] == rows


def test_the_page_of_tables_is_that_of_the_record(load):
    """The page holds the value and interval of every row; ``page`` would not change it."""
    script = load("daume2009")
    path = Path(script.__file__).parent / "results" / "daume2009.json"
    record = json.loads(path.read_text(encoding="utf-8"))["found"]
    shown = script.PAGE.read_text(encoding="utf-8")
    for section in record.values():
        for row in section["rows"]:
            if "value" in row:
                span = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
                assert f"| {row['method']} | {100 * row['value']:.2f} | {span} |" in shown
    assert script.page(record, script.SECTIONS) == shown


def test_chain(daume):
    short, long = json.loads(daume("chain", "--quick", "--json").stdout)
    assert (short["T"], long["T"]) == (2, 10)
    assert long["MEMM"] == pytest.approx(long["equation 14"], rel=0.3)
    assert long["SEARN, iteration 2"] < 0.9 * long["MEMM"]
