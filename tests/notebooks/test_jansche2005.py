"""The script of Jansche's (2005) experiments: its figures as printed, its thresholds by search."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from data_folder import data_folder
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, fbeta_score

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"


@pytest.fixture(scope="module")
def script(load):
    return load("jansche2005")


def printed(data, *more):
    """What a quick run prints, with the data of a folder."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "FSMEU_DATA": str(data), "PYTHONPATH": path, "PYTHONUTF8": "1"}
    command = [sys.executable, str(NOTEBOOKS / "jansche2005.py"), "--quick", *more]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout


def test_section_6_as_printed_in_the_paper(tmp_path):
    """Maximum likelihood near (0.35, 0.57) with 6/7; the corners with 6/7, 4/5 and 4/5, 8/9."""
    text = printed(tmp_path)
    rows = [[cell.strip() for cell in line.split("│")] for line in text.splitlines()]
    rows = [row[1:-1] for row in rows if len(row) > 5]
    found = {row[0]: row[1:] for row in rows}
    place, labels, half, _ = found["maximum likelihood"]
    first, second = (float(one) for one in place.strip("()").split(","))
    assert first == pytest.approx(0.35, abs=0.005)
    assert second == pytest.approx(0.57, abs=0.005)
    assert labels == "++++"
    assert half.startswith("6/7")
    for name, expected in {
        "F~0.5,": ("++++", "6/7", "4/5"),
        "F~0.25,": ("--++", "4/5", "8/9"),
        "F~.5's": ("++++", "6/7", "4/5"),
        "F~.25's": ("--++", "4/5", "8/9"),
    }.items():
        (row,) = (row for row in rows if row[0].startswith(name))
        assert (row[2], row[3].split()[0], row[4].split()[0]) == expected
    assert "No table" in text


@pytest.mark.nightly
def test_quick_run_has_every_row():
    data = data_folder()
    if not (data / "ijcnn1").is_dir():
        pytest.skip(f"there is no {data / 'ijcnn1'}; set FSMEU_DATA to the folder that holds it")
    lines = printed(data, "--exact").splitlines()
    cells = [[one.strip() for one in line.split("│")] for line in lines]
    found = [(row[2], row[3]) for row in cells if len(row) == 10]
    rows = ("ML", "ML tuned", "ML oracle", "F~.5", "ML†", "F~.75", "E[F.5]", "E[F.75]")
    assert found == [(penalty, row) for penalty in ("none", "chosen") for row in rows]
    sizes = [row for row in cells if len(row) == 9]
    assert [row[2] for row in sizes] == ["100", "500"]
    for row in sizes:  # each objective is greatest where it was climbed; they are nearly the same
        smooth, exact = (float(one) for one in row[7].split(", "))
        assert smooth - 1e-4 <= exact <= smooth + 0.02


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=12))
def test_best_threshold(script, pairs):
    """No other threshold is better, by scikit-learn's measure."""
    scores, positive = np.array(pairs, float)[:, 0], np.array(pairs)[:, 1] > 0
    positive[0] = True
    bar = script.best_threshold(scores, positive)
    own = f1_score(positive, scores >= bar)
    assert own == pytest.approx(max(f1_score(positive, scores >= one) for one in scores))


@given(st.permutations(range(8)), st.integers(1, 255), st.data())
def test_matching_threshold(script, ranks, mask, data):
    scores = np.array(ranks, float)
    positive = np.array([mask >> k & 1 for k in range(8)], bool)
    hits = data.draw(st.integers(0, int(positive.sum())))
    bar = script.matching_threshold(scores, positive, hits)
    assert ((scores >= bar) & positive).sum() == hits


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_score(script, pairs):
    guess, positive = np.array(pairs).T
    found = script.score(guess, positive)
    for value, beta in zip(found[2:], (1.0, 3**0.5), strict=True):
        assert value == pytest.approx(fbeta_score(positive, guess, beta=beta, zero_division=0))
