"""Values with their intervals, in rows: decisions side by side, one panel for each loss."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fsmeu.drawing.plots.plot_file import checked_plot, save_figure
from fsmeu.errors import EmptyError, sentence, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_intervals", "save_intervals"]

Interval = tuple[float, float | None, float | None]
"""A value and the ends of its interval, None where there is none."""

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_MARKS = ("o", "D", "s", "^")


def plot_intervals(series: Mapping[str, Mapping[str, Interval]], ax: Axes, title: str = "") -> Axes:
    """The axes: a row for each name, with a mark and a line for each series.

    Args:
        series: by its name, values and intervals by the names of rows.
        ax: where to draw.
        title: what stands above it.
    """
    names = list(dict.fromkeys(name for rows in series.values() for name in rows))
    for k, (label, rows) in enumerate(series.items()):
        colour, mark = _COLOURS[k % len(_COLOURS)], _MARKS[k % len(_MARKS)]
        shift = 0.15 * (k - (len(series) - 1) / 2)
        for j, (name, (value, low, high)) in enumerate(rows.items()):
            at = names.index(name) + shift
            if low is not None and high is not None:
                ax.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="butt")
            text = visible(label) if j == 0 else None
            ax.plot([value], [at], mark, color=colour, markersize=5, label=text)
    ax.set_yticks(range(len(names)), [visible(name) for name in names])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_title(visible(title), fontsize="medium", parse_math=False)
    ax.grid(alpha=0.3, axis="x")
    if len(series) > 1:
        ax.legend(fontsize="small", frameon=False, loc="best")
    return ax


def save_intervals(
    path: str | os.PathLike[str], panels: Mapping[str, Mapping[str, Mapping[str, Interval]]]
) -> Path:
    """Where the plot was written: a panel for each title, one above the other.

    Args:
        path: a name that ends in .png, .pdf or .svg.
        panels: by title, what ``plot_intervals`` takes.

    Raises:
        EmptyError: there is no panel.
    """
    checked_plot(path)
    from matplotlib.figure import Figure

    if not panels:
        raise EmptyError(sentence("plot of intervals", "there must be a panel"))
    most = max(len(rows) for series in panels.values() for rows in series.values())
    height = len(panels) * (1.1 + 0.4 * most)
    figure = Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False).ravel()
    for ax, (title, series) in zip(axes, panels.items(), strict=True):
        plot_intervals(series, ax, title)
    return save_figure(path, figure)
