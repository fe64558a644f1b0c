"""The script of Natarajan 2016: its own sums against ``decode``, and the quick run."""

import json

import numpy as np
import pytest
from data_folder import data_folder

import fsmeu


@pytest.fixture(scope="module")
def script(load):
    return load("natarajan2016")


@pytest.mark.parametrize("name", ["balanced_accuracy", "g_tp_pr", "fscore"])
@pytest.mark.parametrize("draw", ["uniform", "small", "certain"])
def test_values_of_candidates_are_those_of_expect(script, name, draw):
    """Every candidate of twelve labels is worth what ``expect`` says."""
    random = np.random.default_rng(4)
    p = {
        "uniform": random.random(12),
        "small": random.beta(0.3, 3, 12),
        "certain": np.append([1.0, 1.0, 0.0, 0.5], random.random(5)),
    }[draw]
    p = np.sort(p)[::-1]
    loss = fsmeu.load(name)
    found = script.ranked_values(loss, p)
    n = len(p)
    for k in range(n + 1):
        labels = [1] * k + [0] * (n - k)
        assert found[k] == pytest.approx(fsmeu.expect(loss, labels, p).value, abs=1e-12)


@pytest.mark.parametrize("name", ["balanced_accuracy", "g_tp_pr"])
def test_decisions_are_those_of_decode(script, name):
    random = np.random.default_rng(5)
    for _ in range(5):
        p = random.beta(0.4, 1.2, 30)
        loss = fsmeu.load(name)
        decision = fsmeu.decode(loss, p)
        assert decision.exact
        value = fsmeu.expect(loss, script.decided(loss, p).astype(int), p).value
        assert value == pytest.approx(decision.value, abs=1e-12)


def test_printed_figures_are_complete(script):
    """Nine rows of twelve figures, of which some contradict each other."""
    rows = {key: [int(x) / 1e4 for x in text.split()] for key, text in script.PRINTED.items()}
    assert all(len(row) == 12 for row in rows.values())
    f_score, jaccard = rows["scene", 1][1], rows["scene", 1][4]
    assert (f_score, jaccard) == (0.6891, 0.0206)
    assert jaccard < f_score / 2  # impossible for means of F1 and Jaccard of the same decisions


@pytest.mark.nightly
def test_quick_run(script, capsys):
    folder = data_folder()
    if not (folder / "scene").is_dir():
        pytest.skip(f"there is no {folder / 'scene'}; set FSMEU_DATA to the folder of data sets")
    script.main(["--quick", "--only", "breast cancer"])
    rows = json.loads(capsys.readouterr().out)
    assert {row[0] for row in rows} == {"breast cancer"}
    assert {tuple(row[2:4]) for row in rows} == {
        (measure, way) for measure in script.LOSSES for way in script.WAYS
    }
    best = {row[2]: row[4] for row in rows if row[3] == "best"}
    assert all(0 < row[4] <= 1 for row in rows)
    assert all(row[4] <= best[row[2]] + 1e-12 for row in rows if row[3] in ("DTA", "0.5"))
