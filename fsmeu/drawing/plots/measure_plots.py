"""Measures as plots: over examples, over thresholds, and with intervals in rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.drawing.plots.plot_file import (
    COLOURS,
    axes_for,
    checked_plot,
    legend,
    new_figure,
    plainly,
    save_figure,
)
from fsmeu.errors import EmptyError, InputError, sentence, visible
from fsmeu.learning.given_loss import best_threshold, table_value, threshold_values
from fsmeu.losses.loss import SpecLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Interval = tuple[float, float | None, float | None]
"""A value and the ends of its interval, None where there is none."""

_STYLES, _MARKS = ("-", "--", ":"), ("o", "D", "s", "^")
_MOST = len(COLOURS) * len(_STYLES)
_BEGINNING = 0.05
"""The part of the examples whose values, of a few predictions each, do not set the scale."""
_QUIET = "#444444"


def plot_curves(
    curves: Mapping[str, Any],
    seen: Any,
    *,
    value: str = "online F",
    ax: Axes | None = None,
) -> Axes:
    """The axes: one line for the mean of each learner, and a band of its standard deviation.

    Args:
        curves: by the name of a learner its values, (shuffles, points).
        seen: the number of examples at each point, ascending, (points,).
        value: what the values are.
        ax: where to draw; axes of a new figure if left out.

    Raises:
        InputError: there are no curves, too many, or of other shapes.
    """
    axes = axes_for(ax)
    at, found = _checked(curves, seen)
    settled = at >= _BEGINNING * at[-1]
    low, high = np.inf, -np.inf
    for k, (name, values) in enumerate(found.items()):
        mean = values.mean(axis=0)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(at))
        colour, style = COLOURS[k % len(COLOURS)], _STYLES[k // len(COLOURS)]
        ends = (mean - spread, mean + spread)
        if len(values) > 1:
            axes.fill_between(at, *ends, color=colour, alpha=0.18, linewidth=0)
        drawn = {"color": colour, "linestyle": style, "label": visible(name)}
        axes.plot(at, mean, linewidth=1.6, **drawn)
        low = min(low, float(ends[0][settled].min()))
        high = max(high, float(ends[1][settled].max()))
    room = 0.06 * (high - low) or 0.05
    axes.set(ylim=(low - room, high + room), xlim=(0, at[-1]), xlabel="examples seen", ylabel=value)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    legend(axes, loc="best")
    return axes


def _checked(curves: Mapping[str, Any], seen: Any) -> tuple[Floats, dict[str, Floats]]:
    at = np.asarray(seen, np.float64)
    if not 1 <= len(curves) <= _MOST:
        must = f"1 to {_MOST} curves can be plotted together"
        raise InputError(sentence("plot", must, len(curves)))
    found = {str(name): np.atleast_2d(np.asarray(one, float)) for name, one in curves.items()}
    for name, one in found.items():
        if at.ndim != 1 or not len(at) or one.ndim != 2 or one.shape[1:] != at.shape:
            must = f"{name} must have values for each of the {at.size} points, (shuffles, points)"
            raise InputError(sentence("plot", must, f"shape {one.shape}"))
    return at, found


def plot_threshold(
    loss: SpecLoss,
    scores: Any,
    positive: Any,
    chosen: Any,
    *,
    score: str = "probability",
    ax: Axes | None = None,
) -> Axes:
    """The axes: the value of each threshold, the decision, and the threshold that is best.

    The decision lies on the curve where it is one by a threshold.

    Args:
        loss: a loss of the confusion table.
        scores: one for each example, (examples,).
        positive: True where the label is positive, (examples,).
        chosen: True where the decision is, (examples,).
        score: what the scores are.
        ax: where to draw; axes of a new figure if left out.

    Raises:
        InputError: the arrays are of different lengths, or there are no examples.
    """
    s = np.asarray(scores, np.float64)
    y, z = np.asarray(positive, bool), np.asarray(chosen, bool)
    if not (s.ndim == 1 and len(s) and s.shape == y.shape == z.shape):
        must = "there must be a score, a label and a decision for each example"
        raise InputError(sentence("plot", must, f"shapes {s.shape}, {y.shape} and {z.shape}"))
    axes = axes_for(ax, (6.4, 4.4))
    low, high = _ends(s)
    _, values = threshold_values(loss, s, y)
    edges = np.concatenate(([low], np.unique(s), [high]))
    name = visible(loss.name)
    label = f"{name} by threshold"
    axes.stairs(values[::-1], edges, baseline=None, color=COLOURS[0], label=label)
    best, most = best_threshold(loss, s, y)
    place = float(np.clip(best, low, high))
    label = f"best for these labels: {most:.4g} at {place:.4g}"
    axes.axvline(place, color=_QUIET, linestyle="--", linewidth=1, label=label)
    least = float(s[z].min()) if z.any() else high
    below = float(s[~z].max()) if not z.all() else low
    at = (least + below) / 2 if below < least else least  # between, or where a tie is cut
    value = table_value(loss, z, y)
    label = f"decision: {value:.4g} at {at:.4g}, {z.sum():,} of {len(z):,} positive"
    axes.plot([at], [value], "o", color=COLOURS[1], markersize=8, label=label)
    axes.set_xlabel(f"threshold on the {score}")
    axes.set_ylabel(f"{loss.kind} {name}", parse_math=False)
    axes.grid(alpha=0.3)
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1))
    return axes


def _ends(scores: Floats) -> tuple[float, float]:
    """Where the axis begins and ends: 0 and 1 for probabilities, a little beyond other scores."""
    least, most = float(scores.min()), float(scores.max())
    if least >= 0.0 and most <= 1.0:
        return 0.0, 1.0
    room = 0.05 * (most - least) or 1.0
    return least - room, most + room


def plot_intervals(series: Mapping[str, Mapping[str, Interval]], ax: Axes, title: str = "") -> Axes:
    """The axes: a row for each name, with a mark and a line for each series.

    Args:
        series: by its name, values and intervals by the names of rows.
        ax: where to draw.
        title: what stands above it.
    """
    names = list(dict.fromkeys(name for rows in series.values() for name in rows))
    for k, (label, rows) in enumerate(series.items()):
        colour, mark = COLOURS[k % len(COLOURS)], _MARKS[k % len(_MARKS)]
        shift = 0.15 * (k - (len(series) - 1) / 2)
        for j, (name, (value, low, high)) in enumerate(rows.items()):
            at = names.index(name) + shift
            if low is not None and high is not None:
                ax.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="butt")
            text = visible(label) if j == 0 else None
            ax.plot([value], [at], mark, color=colour, markersize=5, label=text)
    ax.set_yticks(range(len(names)), [visible(name) for name in names])
    plainly(ax.get_yticklabels())
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_title(visible(title), fontsize="medium", parse_math=False)
    ax.grid(alpha=0.3, axis="x")
    if len(series) > 1:
        legend(ax, loc="best")
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
    if not panels:
        raise EmptyError(sentence("plot of intervals", "there must be a panel"))
    most = max(len(rows) for series in panels.values() for rows in series.values())
    figure = new_figure((6.4, len(panels) * (1.1 + 0.4 * most)))
    axes = figure.subplots(len(panels), 1, squeeze=False).ravel()
    for ax, (title, series) in zip(axes, panels.items(), strict=True):
        plot_intervals(series, ax, title)
    return save_figure(path, figure)
