"""Plots by matplotlib: levels of a distribution, calibration, thresholds, intervals.

Names from outside are painted as they are: dollars and underlines in them are no mathematics.
"""

from __future__ import annotations

import io
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.bootstrap import drawn_weights, percentiles
from fsmeu.decoding.decode import decode_many
from fsmeu.drawing.picture import binned
from fsmeu.drawing.schemes import with_dark_scheme
from fsmeu.endings import PLOTS, ending_of
from fsmeu.errors import (
    EmptyError,
    InputError,
    check_int,
    need_installed,
    one_of,
    shorten,
    visible,
)
from fsmeu.expectation.expect import expect, expect_many
from fsmeu.expectation.result import Expectation
from fsmeu.files import as_path, write_file
from fsmeu.fst.alphabet import listed, plain
from fsmeu.losses.protocol import LossLike, Sequences, as_loss, evaluate_many
from fsmeu.models import Model, ModelLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colours of Okabe and Ito, which people with colour blindness tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_BAR = "#56b4e9"
_MEAN = "#d55e00"
_RANGE = "#444444"
_MOST_BARS = 200
_MOST_ROWS = 40
_MARKS = ("o", "D", "s", "^")
_DRAWS = 1000  # bootstrap draws of an interval
Interval = tuple[float, float | None, float | None]  # a value and the ends, None where unknown


def axes_for(ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The axes ``ax``, or those of a new figure of pyplot of this size."""
    need_installed("matplotlib", "plot", "a plot", "")
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def legend(axes: Axes, **place: Any) -> None:
    """Adds a legend, its names painted as they are."""
    for text in axes.legend(fontsize="small", frameon=False, **place).get_texts():
        text.set_parse_math(False)


def checked_plot(path: str | os.PathLike[str], instead: str = "") -> tuple[Path, str]:
    """The path and the format, one of ``PLOTS``, of a plot that is to be written.

    Without matplotlib, the error names what can be had instead.
    """
    where = as_path(path, "plot")
    kind = ending_of(where)
    one_of("plot", "the format of a plot", kind or "no ending", PLOTS)
    need_installed("matplotlib", "plot", "a plot", instead)
    return where, kind


def save_plot(
    path: str | os.PathLike[str],
    plot: Callable[..., object],
    size: tuple[float, float] = (6.4, 4.0),
    grid: tuple[int, int] = (1, 1),
) -> Path:
    """The path of a plot that was written, whose format is one of ``PLOTS``; without a window.

    ``plot`` draws on axes, one argument for each panel of the grid; the size is in inches.
    """
    where, kind = checked_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    buffer = io.BytesIO()
    plot(*figure.subplots(*grid, squeeze=False).ravel())
    figure.savefig(buffer, format=kind, dpi=160)
    content = buffer.getvalue()
    if kind == "svg":
        content = with_dark_scheme(content.decode()).encode()
    return write_file(where, content)


def plot_levels(
    expectations: Expectation | Mapping[str, Expectation] | Iterable[Expectation],
    *,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The axes, with one distribution as bars, or several in rows above one another.

    Args:
        expectations: one, a list of them, or a dictionary with their names.
        quantiles: shares of probability between 0 and 1; marked for one distribution. For several,
            a line leads from the least of these quantiles to the greatest.
        title: what stands above it.
        ax: where to draw; axes of a new figure if left out.
    """
    by_name = _named(expectations)
    shares = "quantiles must lie in 0..1"
    quantiles = listed(quantiles, "plot", shares)
    for share in quantiles:
        if not isinstance(share, numbers.Real) or not 0 <= cast("Any", share) <= 1:
            raise InputError("plot", shares, given=share)
    for name, expectation in by_name.items():
        if not len(expectation.levels.values):
            raise EmptyError(name or "plot", "nothing of positive probability was kept")
    axes = axes_for(ax, (6.4, 3.4 if len(by_name) == 1 else 1.2 + 0.8 * len(by_name)))
    if len(by_name) == 1:
        _plot_one(axes, next(iter(by_name.values())), quantiles)
    else:
        _plot_rows(axes, by_name, quantiles)
    axes.set_title(visible(title), fontsize="medium", parse_math=False)
    return axes


def plot_hypotheses(
    loss: LossLike,
    hypotheses: Sequences,
    model: ModelLike,
    *,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    ax: Axes | None = None,
) -> Axes:
    """The axes, with the distributions of several hypotheses under one model in rows.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        hypotheses: label sequences.
        model: a label model.
        quantiles: as for ``plot_levels``.
        ax: where to draw.
    """
    loss = as_loss(loss, "plot_hypotheses")
    by_name = {}
    must = "hypotheses must be a list of label sequences"
    for z in listed(hypotheses, "plot_hypotheses", must, rows=True):
        sequence = z if isinstance(z, str | Model) else listed(z, "plot_hypotheses")
        labels = [sequence] if isinstance(sequence, str | Model) else map(plain, sequence)
        name = sequence if isinstance(sequence, str) else " ".join(map(shorten, labels))
        by_name[name] = expect(loss, sequence, model)
    axes = plot_levels(by_name, quantiles=quantiles, ax=ax)
    axes.set_xlabel(f"{loss.kind} {visible(loss.name)}", parse_math=False)
    return axes


class _Values(NamedTuple):
    """Values of decisions."""

    expected: Floats  # by the models, (sequences,)
    obtained: Floats  # against the references, (sequences,)


class _Reliability(NamedTuple):
    """Groups of sequences by expected value: mean expected and obtained values, and an interval."""

    expected: Floats  # (groups,)
    obtained: Floats  # (groups,)
    low: Floats  # (groups,), of what is obtained: 95 of 100 bootstrap draws of the group
    high: Floats  # (groups,)


def plot_calibration(
    loss: LossLike,
    models: Mapping[str, Iterable[ModelLike]] | Iterable[ModelLike],
    references: Sequences,
    *,
    hypotheses: Sequences | None = None,
    bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """The axes, with the value that models expect of decisions against the value obtained.

    Sequences are sorted by expected value and cut into groups of one size. Where probabilities are
    honest, the means of the groups lie on the diagonal. The line through a mean holds that of 95
    of 100 bootstrap draws of the group.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        models: a label model for each sequence; or, by name, several such lists.
        references: the labels that the sequences turned out to have.
        hypotheses: what is decided; the best decisions of the models if left out.
        bins: the number of groups.
        ax: where to draw; axes of a new figure if left out.
    """
    where = "plot_calibration"
    loss = as_loss(loss, where)
    groups = check_int(where, "bins", bins, least=1)
    ys = listed(references, where, "references must be a list of label sequences", rows=True)
    zs = None
    if hypotheses is not None:
        must = "hypotheses must be a list of label sequences"
        zs = listed(hypotheses, where, must, rows=True)
    by_name = dict(models) if isinstance(models, Mapping) else {"": models}
    if not 1 <= len(by_name) <= len(COLOURS):
        must = f"1 to {len(COLOURS)} lists of models can be plotted together"
        raise InputError(where, must, given=len(by_name))
    values: dict[str, _Values] = {}
    for name, part in by_name.items():
        own = listed(part, where, "models must be a list", rows=True)
        sizes = {len(own), len(ys), len(ys if zs is None else zs)}
        if len(sizes) != 1 or len(own) < groups:
            must = f"there must be a model, a reference and a decision for {groups} or more"
            raise InputError(where, must, given=" and ".join(map(str, sorted(sizes))))
        decided = [d.labels for d in decode_many(loss, own)] if zs is None else zs
        expected = expect_many(loss, decided, own).values
        values[name] = _Values(expected, evaluate_many(loss, decided, ys))
    axes = axes_for(ax, (4.8, 4.8))
    _draw_calibration(axes, values, groups)
    axes.set_xlabel(f"expected {loss.kind} {visible(loss.name)}", parse_math=False)
    return axes


def _draw_calibration(axes: Axes, values: Mapping[str, _Values], groups: int) -> None:
    """Draws the means of groups with their intervals, for each list of models, and a diagonal."""
    for k, (name, of_sequences) in enumerate(values.items()):
        found = _reliability(of_sequences, groups)
        expected = of_sequences.expected.mean()
        means = f"expected {expected:.4f}, obtained {of_sequences.obtained.mean():.4f}"
        label = f"{visible(name)}: {means}" if name else means
        beside = [found.obtained - found.low, found.high - found.obtained]
        style: dict[str, Any] = {"color": COLOURS[k], "marker": _MARKS[k % len(_MARKS)]}
        axes.errorbar(found.expected, found.obtained, yerr=beside, label=label, **style)
    axes.axline((0.0, 0.0), slope=1.0, color=_RANGE, linestyle="--", linewidth=1, zorder=0)
    axes.set_ylabel("obtained")
    axes.grid(alpha=0.3)
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1.0))


def _reliability(values: _Values, groups: int) -> _Reliability:
    """The means of as many groups, nearly of one size, of sequences sorted by expected value."""
    rows = []
    for part in np.array_split(np.argsort(values.expected, kind="stable"), groups):
        got = values.obtained[part]
        weights = np.concatenate(list(drawn_weights(len(part), _DRAWS, 0)))
        rows.append(
            (values.expected[part].mean(), got.mean(), *percentiles(weights @ got / len(part)))
        )
    return _Reliability(*np.array(rows).T)


def _named(
    expectations: Expectation | Mapping[str, Expectation] | Iterable[Expectation],
) -> dict[str, Expectation]:
    """Expectations by name, numbered where they have none; an InputError for anything else."""
    if isinstance(expectations, Expectation):
        return {"": expectations}
    must = "must be expectations, as expect gives them"
    if isinstance(expectations, Mapping):
        by_name = dict(expectations)
    else:
        by_name = {str(k + 1): e for k, e in enumerate(listed(expectations, "plot", must))}
    for expectation in by_name.values():
        if not isinstance(expectation, Expectation):
            raise InputError("plot", must, given=expectation)
    if not 1 <= len(by_name) <= _MOST_ROWS:
        must = f"1 to {_MOST_ROWS} distributions can be plotted together"
        raise InputError("plot", must, given=len(by_name))
    return by_name


def _bars(expectation: Expectation) -> tuple[np.ndarray, np.ndarray, float]:
    """Values, probabilities and a width for bars; very many levels are gathered into equal bins."""
    levels = expectation.levels
    values, probabilities, apart = binned(levels, _MOST_BARS, _MOST_BARS // 2)
    if len(levels.values) > _MOST_BARS:
        return values, probabilities, apart
    span = float(values[-1] - values[0]) or 1.0
    return values, probabilities, max(min(0.8 * apart, 0.04 * span), 0.006 * span)


def _plot_one(axes: Axes, expectation: Expectation, quantiles: Sequence[float]) -> None:
    """Draws one distribution: bars, its mean and quantiles."""
    values, probabilities, width = _bars(expectation)
    axes.bar(values, probabilities, width=width, color=_BAR, label="probability")
    mean = expectation.value
    axes.axvline(mean, color=_MEAN, linewidth=2, label=f"mean {mean:.4g}")
    for k, share in enumerate(sorted(quantiles)):
        place = expectation.quantile(share)
        style = (0, (1 + 2 * k, 2))
        name = f"{share:.4g} quantile: {place:.4g}"
        axes.axvline(place, color=_RANGE, linewidth=1.2, linestyle=style, label=name)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("value")
    axes.set_ylabel("probability")
    legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _plot_rows(axes: Axes, by_name: Mapping[str, Expectation], quantiles: Sequence[float]) -> None:
    """One row per distribution: bars as high as the row lets them, the mean, a quantile line."""
    width = min(_bars(e)[2] for e in by_name.values())
    for row, expectation in enumerate(by_name.values()):
        values, heights, _ = _bars(expectation)
        base = len(by_name) - 1 - row
        axes.bar(values, 0.8 * heights / heights.max(), width=width, bottom=base, color=_BAR)
        axes.axhline(base, color="#dddddd", linewidth=0.8, zorder=0)
        if quantiles:
            ends = [expectation.quantile(q) for q in (min(quantiles), max(quantiles))]
            between = f"{min(quantiles):.4g} to {max(quantiles):.4g} quantile" if not row else None
            axes.plot(ends, [base - 0.05] * 2, color=_RANGE, linewidth=2, label=between)
        mean = expectation.value
        name = "mean" if not row else None
        axes.plot([mean], [base - 0.05], marker="D", color=_MEAN, linestyle="none", label=name)
        beside = ("axes fraction", "data")
        axes.annotate(f"{mean:.4g}", (1.01, base), xycoords=beside, va="bottom", color=_MEAN)
    names = [visible(name) for name in reversed(list(by_name))]
    axes.set_yticks(range(len(by_name)), names, parse_math=False)
    axes.set_ylim(-0.25, len(by_name) - 0.1)
    axes.set_xlabel("value")
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)


def plot_threshold(
    loss: LossLike,
    scores: Any,
    positive: Any,
    chosen: Any,
    *,
    score: str = "probability",
    ax: Axes | None = None,
) -> Axes:
    """The axes: the value of each threshold, the best one, and the decision, which may be none.

    Args:
        loss: a loss of the confusion table, or its name or path as ``load`` takes it.
        scores: one for each example, (examples,).
        positive: True where the label is positive, (examples,).
        chosen: True where the decision is, (examples,).
        score: what the scores are.
        ax: where to draw; axes of a new figure if left out.
    """
    table_loss: Any = as_loss(loss, "plot_threshold")
    if getattr(table_loss, "confusion", None) is None:
        must = "the value of the loss must depend on the confusion table alone"
        raise InputError("plot_threshold", must, given=table_loss.name)
    s = np.asarray(scores, np.float64)
    y = np.asarray(positive, bool)
    z = np.asarray(chosen, bool)
    if not (s.ndim == 1 and len(s) and s.shape == y.shape == z.shape):
        must = "there must be a score, a label and a decision for each example"
        raise InputError("plot", must, given=f"shapes {s.shape}, {y.shape} and {z.shape}")
    axes = axes_for(ax, (6.4, 4.4))
    _draw_thresholds(axes, table_loss, s, y, z)
    axes.set_xlabel(f"threshold on the {score}")
    axes.set_ylabel(f"{table_loss.kind} {visible(table_loss.name)}", parse_math=False)
    axes.grid(alpha=0.3)
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1))
    return axes


def _draw_thresholds(axes: Axes, table_loss: Any, s: Floats, y: Bools, z: Bools) -> None:
    """Draws the value of each threshold on scores s, the best one, and the decision z; labels y."""
    from fsmeu.learning.base import best_threshold, table_value, threshold_values

    low = float(s.min())
    high = float(s.max())
    room = 0.05 * (high - low) or 1.0
    probabilities = low >= 0.0 and high <= 1.0
    low, high = (0.0, 1.0) if probabilities else (low - room, high + room)
    _, values = threshold_values(table_loss, s, y)
    edges = np.concatenate(([low], np.unique(s), [high]))
    label = f"{visible(table_loss.name)} by threshold"
    axes.stairs(values[::-1], edges, baseline=None, color=COLOURS[0], label=label)
    best, most = best_threshold(table_loss, s, y)
    place = float(np.clip(best, low, high))
    label = f"best for these labels: {most:.4g} at {place:.4g}"
    axes.axvline(place, color=_RANGE, linestyle="--", linewidth=1, label=label)
    least = float(s[z].min()) if z.any() else high
    below = float(s[~z].max()) if not z.all() else low
    at = (least + below) / 2 if below < least else least  # between, or where a tie is cut
    value = table_value(table_loss, z, y)
    label = f"decision: {value:.4g} at {at:.4g}, {z.sum():,} of {len(z):,} positive"
    axes.plot([at], [value], "o", color=COLOURS[1], markersize=8, label=label)


def plot_intervals(series: Mapping[str, Mapping[str, Interval]], ax: Axes, title: str = "") -> Axes:
    """The axes: a row for each name within a series, with a mark and a line for each series."""
    names = list(dict.fromkeys(name for rows in series.values() for name in rows))
    for k, (label, rows) in enumerate(series.items()):
        colour = COLOURS[k % len(COLOURS)]
        mark = _MARKS[k % len(_MARKS)]
        shift = 0.15 * (k - (len(series) - 1) / 2)
        for j, (name, (value, low, high)) in enumerate(rows.items()):
            at = names.index(name) + shift
            if low is not None and high is not None:
                ax.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="butt")
            text = visible(label) if j == 0 else None
            ax.plot([value], [at], mark, color=colour, markersize=5, label=text)
    ax.set_yticks(range(len(names)), [visible(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_title(visible(title), fontsize="medium", parse_math=False)
    ax.grid(alpha=0.3, axis="x")
    if len(series) > 1:
        legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
