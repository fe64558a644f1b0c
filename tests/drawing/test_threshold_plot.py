"""Plots of thresholds show scikit-learn's measure of each, and the decision."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, hamming_loss

import fsmeu
from fsmeu.drawing.plots.measure_plots import plot_threshold
from fsmeu.errors import InputError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

RANDOM = np.random.default_rng(0)
SCORES = np.round(RANDOM.random(40), 1)  # with ties
LABELS = RANDOM.random(40) < SCORES


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def on_curve(axes, x):
    """The value that is drawn for a threshold."""
    values, edges, _ = axes.patches[0].get_data()
    return values[np.searchsorted(edges[1:-1], x)]


@pytest.mark.parametrize(("name", "measure"), [("fscore", f1_score), ("hamming", hamming_loss)])
def test_the_curve(name, measure):
    """Between the scores, at them, below and above all."""
    axes = plot_threshold(fsmeu.load(name, labels=[0, 1]), SCORES, LABELS, SCORES >= 0.5)
    for t in (*SCORES, *(SCORES + 0.04), 0.001, 0.999):
        assert on_curve(axes, t) == pytest.approx(measure(LABELS, t <= SCORES), abs=1e-12)
    tried = [measure(LABELS, t <= SCORES) for t in SCORES]
    best = max(tried) if name == "fscore" else min(tried)
    (line, point) = axes.lines
    assert measure(LABELS, line.get_xdata()[0] <= SCORES) == pytest.approx(best)
    assert f"{best:.4g}" in line.get_label()
    assert point.get_ydata()[0] == pytest.approx(measure(LABELS, SCORES >= 0.5))
    assert 0.4 < point.get_xdata()[0] <= 0.5
    assert axes.get_ylabel().endswith(name)


def test_decisions_that_are_no_threshold():
    """A tie that is cut, all, none, and scores that are not probabilities."""
    loss = fsmeu.load("fscore")
    s, y = np.array([-2.0, 3.0, 3.0, 5.0]), np.array([False, True, False, True])
    for chosen, place in (
        ([0, 1, 0, 1], 3.0),
        ([1, 1, 1, 1], (-2.0 + -2.35) / 2),
        ([0, 0, 0, 0], (5.0 + 5.35) / 2),
        ([0, 1, 1, 1], 0.5),
    ):
        axes = plot_threshold(loss, s, y, chosen, score="score")
        assert axes.lines[1].get_xdata()[0] == pytest.approx(place)
        assert axes.lines[1].get_ydata()[0] == pytest.approx(f1_score(y, chosen))
        assert axes.get_xlabel() == "threshold on the score"


@pytest.mark.parametrize("arrays", [([], [], []), ([1.0], [1, 0], [1]), ([[1.0]], [[1]], [[1]])])
def test_misuse(arrays):
    with pytest.raises(InputError, match="for each example"):
        plot_threshold(fsmeu.load("fscore"), *arrays)
