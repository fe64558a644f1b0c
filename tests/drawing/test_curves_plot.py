"""Plots of curves show means and standard deviations over shuffles."""

import statistics

import numpy as np
import pytest

from fsmeu.drawing.plots.measure_plots import plot_curves
from fsmeu.drawing.plots.plot_file import save_plot
from fsmeu.errors import InputError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

SEEN = [10, 20, 30]
TABLE = [[0.1, 0.4, 0.5], [0.3, 0.2, 0.6], [0.2, 0.3, 0.7]]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_lines_are_means_and_bands_deviations():
    axes = plot_curves({"one": TABLE, "two": TABLE[:1]}, SEEN, value="online F2")
    columns = list(zip(*TABLE, strict=True))
    means = [statistics.mean(column) for column in columns]
    spreads = [statistics.stdev(column) for column in columns]
    assert [line.get_label() for line in axes.lines] == ["one", "two"]
    assert axes.lines[0].get_xdata() == pytest.approx(SEEN)
    assert axes.lines[0].get_ydata() == pytest.approx(means)
    assert axes.lines[1].get_ydata() == pytest.approx(TABLE[0])
    (band,) = axes.collections  # of one shuffle there is none
    corners = band.get_paths()[0].vertices
    for x, mean, spread in zip(SEEN, means, spreads, strict=True):
        heights = corners[corners[:, 0] == x, 1]
        assert heights.min() == pytest.approx(mean - spread)
        assert heights.max() == pytest.approx(mean + spread)
    assert axes.get_ylabel() == "online F2"


def test_the_beginning_does_not_set_the_scale():
    """The first values are of a few predictions."""
    values = np.linspace(0.5, 0.6, 100)
    values[:3] = 0.0
    axes = plot_curves({"one": values}, np.arange(1, 101))
    low, high = axes.get_ylim()
    assert 0.45 < low < 0.51
    assert 0.6 < high < 0.65


def test_names_are_not_mathematics(tmp_path):
    """Dollars and underlines in names are painted, not typeset."""
    name = "FOFOClassifier:gamma_scale=$auto"
    path = save_plot(tmp_path / "one.svg", lambda axes: plot_curves({name: TABLE}, SEEN, ax=axes))
    assert path.read_text().startswith("<?xml")
    legend = plot_curves({name: TABLE}, SEEN).get_legend()
    assert not legend.get_texts()[0].get_parse_math()


@pytest.mark.parametrize(
    ("curves", "seen"),
    [({}, SEEN), ({"a": TABLE}, [1, 2]), ({"a": [TABLE]}, SEEN), ({"a": []}, [])],
)
def test_misuse(curves, seen):
    with pytest.raises(InputError, match="plot: "):
        plot_curves(curves, seen)
    many = {str(k): TABLE for k in range(22)}
    with pytest.raises(InputError, match="1 to 21 curves"):
        plot_curves(many, SEEN)
