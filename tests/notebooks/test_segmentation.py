"""Documents as label models of gaps, and the table that compares decisions."""

import numpy as np
import pytest

import fsmeu

ROWS, LABELS = np.array([[0.6, 0.1], [0.0, 0.5]]), np.array([0, 1])


@pytest.fixture
def script(load):
    return load("segmentation")


def test_models(script):
    """The gap that looks like a boundary is more probably one; labels are crfsuite's."""
    pytest.importorskip("sklearn_crfsuite")
    seen, new = script.models([(ROWS, LABELS)] * 4, [(ROWS, LABELS)])
    p = script.boundary_probabilities(new[0])
    assert p[1] > p[0]
    np.testing.assert_array_equal(script.boundary_probabilities(seen[0]), p)
    assert script.names(p >= p.max()) == ["0", "1"]


def test_half_a_segment(script):
    """Six sentences in two segments: three each, half of it rounded to even."""
    assert script.half_mean_segment([(ROWS, np.array([0, 0, 1, 0, 0]))]) == 2


def test_table(script, capsys):
    loss = fsmeu.load("windowdiff", k=1, labels=["0", "1"])
    script.show(loss, {"none": [["0", "0"]], "MEU": [["0", "1"]]}, [["0", "1"]])
    assert "0.5000 (0.5000 to 0.5000)" in capsys.readouterr().out
