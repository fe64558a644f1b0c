"""The script of Natarajan 2016: regrets, printed figures, and the quick run."""

import json

import numpy as np
import pytest
from data_folder import data_folder


def test_regrets(script):
    """No decision beats that with the true probabilities; Corollary 14 at two sizes."""
    found = {}
    for seed in range(2):
        for name, _, size, regret in script.regrets(seed, (30, 1000)):
            assert regret > -1e-12
            found.setdefault((name, size), []).append(regret)
    means = {key: np.mean(values) for key, values in found.items()}
    assert means["logistic", 1000] < means["logistic", 30] / 5
    assert means["logistic", 1000] < means["one feature", 1000] / 5


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
