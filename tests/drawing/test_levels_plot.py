"""Plots of distributions show the levels, mean and quantiles that enumeration gives."""

from itertools import product
from math import prod

import pytest

import fsmeu
from fsmeu.errors import FsmeuError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
P = [0.9, 0.5, 0.3]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def f1(z, y):
    hits, positives = sum(a * b for a, b in zip(z, y, strict=True)), sum(z) + sum(y)
    return 2 * hits / positives if positives else 1.0


def levels_by_enumeration(z):
    found = {}
    for y in product((0, 1), repeat=len(z)):
        chance = prod(p if label else 1 - p for p, label in zip(P, y, strict=True))
        key = round(f1(z, y), 12)
        found[key] = found.get(key, 0.0) + chance
    return dict(sorted(found.items()))


def bars(axes):
    return [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches]


def test_bars_are_levels():
    """One bar per level, as high as it is probable; the mean and the quantiles are marked."""
    from matplotlib import pyplot as plt

    expected = levels_by_enumeration((1, 1, 0))
    e = fsmeu.expect(fsmeu.load("fscore"), "110", P)
    axes = e.plot(quantiles=(0.1, 0.9))
    assert [x for x, _ in bars(axes)] == pytest.approx(list(expected), abs=1e-9)
    assert [h for _, h in bars(axes)] == pytest.approx(list(expected.values()), rel=1e-12)
    lines = [line.get_xdata()[0] for line in axes.lines]
    mean = sum(v * p for v, p in expected.items())
    assert lines[0] == pytest.approx(mean, rel=1e-12)
    totals, seen = [], 0.0
    for value, chance in expected.items():
        seen += chance
        totals.append((seen, value))
    wanted = [next(v for total, v in totals if total >= q) for q in (0.1, 0.9)]
    assert lines[1:] == pytest.approx(wanted, abs=1e-12)
    assert plt.fignum_exists(axes.figure.number)


def test_rows_compare_hypotheses():
    """One row for each hypothesis, with its name and its mean."""
    loss = fsmeu.load("fscore")
    names = ["110", "100", "111"]
    axes = fsmeu.plot_hypotheses(loss, names, P)
    assert [label.get_text() for label in axes.get_yticklabels()] == names[::-1]
    assert axes.get_xlabel() == "utility fscore"
    levels = [levels_by_enumeration(tuple(map(int, z))) for z in names]
    means = [sum(value * chance for value, chance in found.items()) for found in levels]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    assert marks == pytest.approx(means, rel=1e-12)
    assert len(axes.patches) == sum(map(len, levels))


def test_given_axes_are_used():
    """A plot goes where it is told, also next to another."""
    from matplotlib import pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    e = fsmeu.expect(fsmeu.load("fscore"), "110", P)
    assert e.plot(ax=left) is left
    assert fsmeu.plot_levels([e, e], ax=right) is right
    assert left.patches
    assert right.patches


def test_many_levels_are_gathered():
    """Several hundred levels become bins that hold all of the probability."""
    p = [(k + 0.5) / 40 for k in range(40)]
    e = fsmeu.expect(fsmeu.load("fscore"), [int(x > 0.4) for x in p], p)
    assert len(e.levels.values) > 200
    axes = e.plot()
    assert len(axes.patches) == 100
    assert sum(h for _, h in bars(axes)) == pytest.approx(1.0, rel=1e-9)


def test_bad_plots_are_refused():
    """No distribution, too many of them, and impossible quantiles."""
    e = fsmeu.expect(fsmeu.load("fscore"), "110", P)
    with pytest.raises(FsmeuError, match="1 to 40 distributions"):
        fsmeu.plot_levels([])
    with pytest.raises(FsmeuError, match=r"quantiles must lie in 0\.\.1"):
        e.plot(quantiles=(2,))


def test_names_are_not_mathematics():
    """Dollars in names are painted, not typeset."""
    loss = fsmeu.load("hamming", labels=["$x", "y_{"])
    model = fsmeu.models.Independent([[0.5, 0.5]], labels=["$x", "y_{"])
    axes = fsmeu.plot_hypotheses(loss, [["$x"], ["y_{"]], model)
    axes.figure.canvas.draw()
    assert axes.get_yticklabels()[0].get_text() == "y_{"
