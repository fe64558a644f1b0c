"""The script of the SEARN experiments: quick runs, tables, curves, refusals in sentences."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fsmeu
from searn.registry import TASKS, WRONG_LABELS
from searn.sequences import FILES
from tests.experiments.conftest import FOLDER, needs


@pytest.fixture
def daume(load):
    """A function that runs a command of the script, which must end with this code."""
    app = load("daume2009").app

    def run(*words, code=0):
        ran = CliRunner().invoke(app, [str(word) for word in words])
        assert ran.exit_code == code, ran.stderr
        return ran

    return run


def test_help_is_that_of_the_script(load):
    ran = CliRunner().invoke(load("daume2009").app, ["page", "--nope"], prog_name="daume2009.py")
    assert ran.exit_code == 2
    assert "See 'daume2009.py page --help'" in ran.stderr


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["run", "ocr"], ["a task must be one of", "Did you mean 'ocr"]),
        (["curves", "nothing"], ["a task must be one of"]),
        (["curves", "summarisation"], ["label sequences"]),
        (["run", "summarisation", "-o", "{d}/t.txt"], ["must be a folder"]),
        (["table", "{d}"], ["must hold results", "run TASK"]),
        (["run", "chunking", "--method", "none"], ["structured perceptron", "none"]),
        (["run", "chunking", "--axis", "cost"], ["an axis must be one of", "'costs'"]),
        (["run", "chunking", "--collections", "{d}"], ["summarisation alone"]),
        (["run", "summarisation", "--collections", "{d}"], ["must hold collections"]),
    ],
)
def test_refusals(daume, tmp_path, args, parts):
    (tmp_path / "t.txt").write_text("")
    told = " ".join(daume(*(arg.format(d=tmp_path) for arg in args), code=2).stderr.split())
    assert all(part in told for part in parts), told


def test_tasks_are_listed(daume):
    told = json.loads(daume("run", "--list", "--json").stdout)
    assert [one["name"] for one in told] == list(TASKS)
    assert "chunking" in daume("run").stdout


def data_of(task):
    """Skips where the data of a task are not."""
    name = {"ocr": "letters", "ner": "conll2002", "chu": "conll2000", "joi": "conll2000"}
    needs(*FILES.get(name.get(task[:3], ""), ()))


QUICK = ("ocr-small", "summarisation")


@pytest.mark.parametrize(
    "task",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in TASKS],
)
@pytest.mark.nightly
def test_quick_runs(daume, tmp_path, task):
    """Every method of a task has a row; scores are shares, intervals hold them."""
    data_of(task)
    ran = daume("run", task, "--quick", "-o", tmp_path)
    rows = json.loads((tmp_path / "searn.json").read_text())
    assert len(rows) > 3
    for row in rows:
        assert row["method"] in ran.stdout
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    section = json.loads(daume("table", tmp_path, "--quick", "--json").stdout)
    assert section["rows"] == rows
    shown = daume("table", tmp_path, "--quick").stdout
    assert all(row["method"] in shown for row in rows)


def test_collections_of_ones_own(daume, tmp_path):
    """One of two collections is summarised after training on the other, in 8 and in 12 words."""
    folder = Path(__file__).parent / "searn" / "collections"
    words = ("--words", 8, "--words", 12, "--width", 3, "--quick")
    daume("run", "summarisation", "--collections", folder, *words, "-o", tmp_path)
    rows = {row["method"]: row for row in json.loads((tmp_path / "searn.json").read_text())}
    assert len(rows) == 14
    for n in (8, 12):
        best = rows[f"oracle vine growth, {n} words"]["value"]
        assert best >= rows[f"SEARN vine growth, {n} words"]["value"]
        assert best > rows[f"oracle extraction, {n} words"]["value"]
        name = f"SEARN-vine-growth--{n}-words.fold0.seed0.txt"
        (text,) = (tmp_path / "runs-quick" / "summarisation" / name).read_text().splitlines()
        assert 0 < len(text.split()) <= n


@pytest.mark.nightly
def test_axes_of_handwriting(daume, tmp_path):
    """What an axis varies stands beside the main methods, with the sizes that were asked for."""
    data_of("ocr-small")
    sizes = ("--quick", "--train", 30, "--test", 20)
    daume("run", "ocr-small", *sizes, "--axis", "beta", "-o", tmp_path)
    rows = json.loads((tmp_path / "searn.json").read_text())
    names = {row["method"] for row in rows}
    assert {"SEARN, beam 10", "SEARN, beta 1, greedy", "SEARN, beta of theory, greedy"} <= names
    assert not any("costs" in name for name in names)
    assert {(row["trained"], row["tested"]) for row in rows} == {(30, 20)}


def test_the_record_is_printed(daume):
    """Without a folder, every row, difference and command on record is printed."""
    record = json.loads((FOLDER / "results" / "daume2009.json").read_text())["found"]
    shown = daume("table").stdout
    assert json.loads(daume("table", "--json").stdout) == record
    for section in record.values():
        assert all(command in shown for command in section["commands"])
        for row in section.get("differences", []):
            assert f"{row['method']} less {row['other']}: {100 * row['value']:+.2f}" in shown
        for row in section["rows"]:
            value = f"{100 * row['value']:.2f}" if "value" in row else f"{row['MEMM']:.2f}"
            assert value in shown


def test_the_page_of_tables_is_that_of_the_record(load):
    """The page holds every row, difference, iteration and command; ``page`` would not change it."""
    script = load("daume2009")
    record = json.loads((FOLDER / "results" / "daume2009.json").read_text())["found"]
    shown = script.PAGE.read_text(encoding="utf-8")
    for section in record.values():
        assert all(f"\n{command}\n" in shown for command in section["commands"])
        for row in section.get("differences", []):
            points = f"{100 * row['value']:+.2f}".replace("-", "−")
            assert f"| {row['method']} less {row['other']} | {points} |" in shown
        for row in section["rows"]:
            if "value" in row:
                span = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
                assert f"| {row['method']} | {100 * row['value']:.2f} | {span} |" in shown
    assert script.page(record, script.SECTIONS) == shown


def test_commands_are_logged(daume, tmp_path):
    """A command is logged when it begins and when it ends; one that was stopped is told apart."""
    daume("run", "summarisation", "--quick", "--method", "first", "-o", tmp_path / "new")
    begun, ended = (tmp_path / "new" / "commands.txt").read_text().splitlines()
    assert ended.startswith(f"{begun}  # ")
    with (tmp_path / "new" / "commands.txt").open("a") as file:
        file.write("./run python experiments/daume2009.py run other\n")
    section = json.loads(daume("table", tmp_path / "new", "--quick", "--json").stdout)
    assert section["commands"] == [
        ended,
        "./run python experiments/daume2009.py run other  # stopped",
    ]


def test_wrong_labels_are_counted():
    """The paper's Hamming loss: 1 for each wrong label, whatever the length."""
    loss = fsmeu.load(WRONG_LABELS, labels=["a", "b", "c"])
    for z, y in (("abca", "abca"), ("abca", "cbab"), ("a", "b")):
        assert loss(list(z), list(y)) == sum(one != other for one, other in zip(z, y, strict=True))


def test_chain(daume):
    short, long = json.loads(daume("chain", "--quick", "--json").stdout)
    assert (short["T"], long["T"]) == (2, 10)
    assert long["equation 14"] > long["hint alone"]


@pytest.mark.nightly
def test_quick_curves(daume, tmp_path):
    data_of("ocr-small")
    daume("curves", "ocr-small", "--quick", "--iterations", "2", "-o", tmp_path)
    rows = json.loads((tmp_path / "curves.json").read_text())
    assert [row["iteration"] for row in rows] == [0, 1]
    assert (tmp_path / "curves.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
