"""What was computed is shown: plots, one line of text, one screen in a notebook."""

from itertools import product

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score, hamming_loss

import fsmeu
from fsmeu.drawing.plots import plot_threshold
from tests.support.html import Page

plt.switch_backend("Agg")
F1 = fsmeu.load("fscore")
P = [0.9, 0.5, 0.3]
RANDOM = np.random.default_rng(0)
SCORES = np.round(RANDOM.random(40), 1)  # with ties
LABELS = RANDOM.random(40) < SCORES


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def bars(axes):
    return [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches]


def test_bars_are_levels():
    expectation = fsmeu.expect(F1, "110", P)
    values, chances = expectation.levels.values, expectation.levels.probabilities
    axes = expectation.plot(quantiles=(0.1, 0.9))
    assert [x for x, _ in bars(axes)] == pytest.approx(values, abs=1e-9)
    assert [h for _, h in bars(axes)] == pytest.approx(chances, rel=1e-12)
    lines = [line.get_xdata()[0] for line in axes.lines]
    wanted = [values[(np.cumsum(chances) >= q).argmax()] for q in (0.1, 0.9)]
    assert lines == pytest.approx([expectation.value, *wanted], rel=1e-12)


def test_rows_compare_hypotheses():
    names = ["110", "100", "111"]
    axes = fsmeu.plot_hypotheses(F1, names, P)
    assert [label.get_text() for label in axes.get_yticklabels()] == names[::-1]
    assert axes.get_xlabel() == "utility fscore"
    found = [fsmeu.expect(F1, z, P) for z in names]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    assert marks == pytest.approx([one.value for one in found], rel=1e-12)
    assert len(axes.patches) == sum(len(one.levels.values) for one in found)


def test_expected_against_obtained():
    """Points are groups of neighbours by expected F1, with their intervals."""
    random = np.random.default_rng(4)
    models = [random.random(3).tolist() for _ in range(9)]
    references = [random.integers(0, 2, 3).tolist() for _ in models]
    zs = [random.integers(0, 2, 3).tolist() for _ in models]
    axes = fsmeu.plot_calibration(F1, {"$m$": models}, references, hypotheses=zs, bins=3)
    expected = [fsmeu.expect(F1, z, p).value for z, p in zip(zs, models, strict=True)]
    obtained = [F1(z, y) for z, y in zip(zs, references, strict=True)]
    order = np.argsort(expected).reshape(3, 3)
    line, _, (intervals,) = axes.containers[0]
    np.testing.assert_allclose(line.get_xdata(), np.array(expected)[order].mean(axis=1))
    np.testing.assert_allclose(line.get_ydata(), np.array(obtained)[order].mean(axis=1))
    for rows, ends in zip(order, intervals.get_segments(), strict=True):
        means = [np.mean(some) for some in product(np.array(obtained)[rows], repeat=3)]
        assert ends[0, 1] == pytest.approx(np.quantile(means, 0.025), abs=0.12)
        assert ends[1, 1] == pytest.approx(np.quantile(means, 0.975), abs=0.12)
    said = f"expected {np.mean(expected):.4f}, obtained {np.mean(obtained):.4f}"
    assert said in axes.get_legend().get_texts()[0].get_text()


def test_names_are_not_mathematics():
    loss = fsmeu.load("hamming", labels=["$x", "y_{"])
    model = fsmeu.models.Independent([[0.5, 0.5]], labels=["$x", "y_{"])
    axes = fsmeu.plot_hypotheses(loss, [["$x"], ["y_{"]], model)
    axes.figure.canvas.draw()
    assert axes.get_yticklabels()[0].get_text() == "y_{"


def on_curve(axes, x):
    values, edges, _ = axes.patches[0].get_data()
    return values[np.searchsorted(edges[1:-1], x)]


@pytest.mark.parametrize(("name", "measure"), [("fscore", f1_score), ("hamming", hamming_loss)])
def test_the_curve(name, measure):
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


# -- what people hold says what it is -------------------------------------------------------------

TAGS = [f"B-{k}" for k in range(200)]
LONG = fsmeu.models.Bernoulli(np.linspace(0.01, 0.99, 300))
SHORT = fsmeu.models.Markov([0.35, 0.65], [[0.9, 0.1], [0.55, 0.45]], n=8)
COSTS = fsmeu.load("cost_matrix", labels=TAGS, cost=1 - np.eye(200))
HELD = {
    "loss": lambda: F1,
    "loss with a table": lambda: COSTS,
    "chain": lambda: SHORT,
    "expectation": lambda: fsmeu.expect(F1, "01100101", SHORT),
    "decision": lambda: fsmeu.decode(fsmeu.load("hamming"), LONG),
    "composition": lambda: fsmeu.compose(F1, "01100101", SHORT),
    "drawing": lambda: fsmeu.draw(F1, n=12),
    "page": lambda: fsmeu.explore(F1, 2),
}
PRINTED = ("chain", "expectation")


@pytest.mark.parametrize("name", HELD)
def test_one_line_of_text_and_one_screen_in_a_notebook(name):
    held = HELD[name]()
    text, shown = repr(held), held._repr_html_()
    assert len(text) < 300
    assert not [part for part in ("\n", "array(", "object at 0x") if part in text]
    assert len(Page(shown).all("tr")) <= 17
    if name == "page":
        assert 'height="680"' in shown
        return
    if "<svg" in shown:
        assert "max-height:520px;overflow:auto" in shown
        shown = shown[: shown.index("<svg")] + shown[shown.rindex("</svg>") :]
    assert shown.count("\n") <= 40
    assert len(shown) < 20_000
    if name in PRINTED:
        lines = str(held).splitlines()
        assert 3 <= len(lines) <= 24
        assert max(map(len, lines)) <= 100
        assert "array(" not in str(held)


def test_printed_numbers_are_those_of_the_object():
    """A row for each value with its probability and a bar."""
    e = fsmeu.expect(F1, "10", [0.5, 0.25])
    rows = [line.split() for line in str(e).splitlines()]
    assert rows[0] == ["expectation", repr(e.value)]
    assert [row[:2] for row in rows[1:]] == [["0", "0.5"], ["0.666667", "0.125"], ["1", "0.375"]]
    assert [len(row[2]) for row in rows[1:]] == [32, 8, 24]
    assert "0.65" in str(SHORT).splitlines()[2].split()
    assert repr(e.levels) == "<levels 0: 0.5, 0.666667: 0.125, 1: 0.375>"
    assert repr(F1.compile(1)).endswith(f": {F1.compile(1).shared.num_states()} states, 4 arcs>")
    assert "<td>0.666667</td><td>0.125</td>" in e._repr_html_()
    assert "<td>0.35</td>" in SHORT._repr_html_()
    bars = [rect["at"] for rect in Page(e._repr_html_()).all("rect")][1:]
    heights, places = (np.array([float(bar[k]) for bar in bars]) for k in ("height", "x"))
    assert heights / heights[0] == pytest.approx([1, 0.25, 0.75])
    assert "<svg" in fsmeu.expect(fsmeu.load("hamming"), "1", [1.0])._repr_html_()  # one bar
    assert (places - places[0]) / (places[2] - places[0]) == pytest.approx([0, 2 / 3, 1], 1e-4)
