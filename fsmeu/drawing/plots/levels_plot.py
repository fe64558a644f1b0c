"""The distribution of a utility as a plot: its levels, mean and quantiles; several side by side."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fsmeu.drawing.plots.plot_file import axes_for, legend, plainly, save_plot
from fsmeu.drawing.render.bars import binned
from fsmeu.errors import EmptyError, InputError, sentence, shorten, visible
from fsmeu.expectation.expect import expect
from fsmeu.expectation.result import Expectation
from fsmeu.fst.alphabet import listed, plain
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR, _MEAN, _RANGE = "#56b4e9", "#d55e00", "#444444"
_MOST_BARS = 200
_MOST_ROWS = 40


def plot_levels(
    expectations: Expectation | Mapping[str, Expectation] | Iterable[Expectation],
    *,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    ax: Axes | None = None,
) -> Axes:
    """Plots one distribution as bars, or several in rows above one another.

    Args:
        expectations: one, a list of them, or a dictionary with their names.
        quantiles: shares of probability between 0 and 1; marked for one distribution. For several,
            a line leads from the least of these quantiles to the greatest.
        ax: where to draw; axes of a new figure if left out.

    Returns:
        The axes.
    """
    named = _named(expectations)
    shares = "quantiles must lie in 0..1"
    quantiles = listed(quantiles, "plot", shares)
    for share in quantiles:
        if not isinstance(share, numbers.Real) or not 0 <= cast("Any", share) <= 1:
            raise InputError(sentence("plot", shares, share))
    for name, expectation in named.items():
        if not len(expectation.levels.values):
            raise EmptyError(sentence(name or "plot", "nothing of positive probability was kept"))
    axes = axes_for(ax, (6.4, 3.4 if len(named) == 1 else 1.2 + 0.8 * len(named)))
    if len(named) == 1:
        _plot_one(axes, next(iter(named.values())), quantiles)
    else:
        _plot_rows(axes, named, quantiles)
    return axes


def plot_hypotheses(
    loss: Loss,
    hypotheses: Iterable[Any],
    model: Any,
    *,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    ax: Axes | None = None,
) -> Axes:
    """Plots the distributions of several hypotheses under one model.

    Args:
        loss: a loss or utility.
        hypotheses: label sequences.
        model: a label model.
        quantiles: as for ``plot_levels``.
        ax: where to draw.
    """
    check_loss(loss, "plot_hypotheses")
    named = {}
    must = "hypotheses must be a list of label sequences"
    for z in listed(hypotheses, "plot_hypotheses", must, rows=True):
        kept = z if isinstance(z, str | Model) else listed(z, "plot_hypotheses")
        name = kept if isinstance(kept, str) else _name_of(kept)
        named[name] = expect(loss, kept, model)
    axes = plot_levels(named, quantiles=quantiles, ax=ax)
    axes.set_xlabel(f"{loss.kind} {visible(loss.name)}", parse_math=False)
    return axes


def save_levels(expectation: Expectation, path: str | os.PathLike[str], title: str = "") -> Path:
    """Writes the plot of one distribution into a file; no window system is needed.

    Args:
        expectation: what to plot.
        path: a name that ends in .png, .pdf or .svg.
        title: what stands above it.
    """

    def plot(axes: Axes) -> None:
        plot_levels(expectation, ax=axes)
        axes.set_title(visible(title), fontsize="medium", parse_math=False)

    return save_plot(path, plot, (6.4, 3.4))


def _name_of(z: Model | list[Any]) -> str:
    """What a hypothesis is called: its labels, or the model that it is."""
    return repr(z) if isinstance(z, Model) else " ".join(shorten(plain(label)) for label in z)


def _named(
    expectations: Expectation | Mapping[str, Expectation] | Iterable[Expectation],
) -> dict[str, Expectation]:
    if isinstance(expectations, Expectation):
        return {"": expectations}
    if isinstance(expectations, Mapping):
        named = dict(expectations)
    else:
        given = listed(expectations, "plot", "must be expectations, as expect gives them")
        named = {str(k + 1): e for k, e in enumerate(given)}
    for one in named.values():
        if not isinstance(one, Expectation):
            raise InputError(sentence("plot", "must be expectations, as expect gives them", one))
    if not 1 <= len(named) <= _MOST_ROWS:
        must = f"1 to {_MOST_ROWS} distributions can be plotted together"
        raise InputError(sentence("plot", must, len(named)))
    return named


def _bars(expectation: Expectation) -> tuple[np.ndarray, np.ndarray, float]:
    """Values, probabilities and a width for bars; very many levels are gathered into equal bins."""
    levels = expectation.levels
    values, chances, apart = binned(levels, _MOST_BARS, _MOST_BARS // 2)
    if len(levels.values) > _MOST_BARS:
        return values, chances, apart
    span = float(values[-1] - values[0]) or 1.0
    return values, chances, max(min(0.8 * apart, 0.04 * span), 0.006 * span)


def _plot_one(axes: Axes, expectation: Expectation, quantiles: Sequence[float]) -> None:
    values, chances, width = _bars(expectation)
    axes.bar(values, chances, width=width, color=_BAR, label="probability")
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


def _plot_rows(axes: Axes, named: Mapping[str, Expectation], quantiles: Sequence[float]) -> None:
    """One row per distribution: bars as high as the row lets them, the mean, a quantile line."""
    width = min(_bars(e)[2] for e in named.values())
    for row, expectation in enumerate(named.values()):
        values, chances, _ = _bars(expectation)
        base = len(named) - 1 - row
        axes.bar(values, 0.8 * chances / chances.max(), width=width, bottom=base, color=_BAR)
        axes.axhline(base, color="#dddddd", linewidth=0.8, zorder=0)
        if quantiles:
            ends = [expectation.quantile(q) for q in (min(quantiles), max(quantiles))]
            between = f"{min(quantiles):.4g} to {max(quantiles):.4g} quantile" if not row else None
            axes.plot(ends, [base - 0.05] * 2, color=_RANGE, linewidth=2, label=between)
        mean = expectation.value
        name = "mean" if not row else None
        axes.plot([mean], [base - 0.05], marker="D", color=_MEAN, linestyle="none", label=name)
        axes.annotate(
            f"{mean:.4g}",
            (1.01, base),
            xycoords=("axes fraction", "data"),
            va="bottom",
            color=_MEAN,
        )
    axes.set_yticks(range(len(named)), [visible(name) for name in reversed(list(named))])
    plainly(axes.get_yticklabels())
    axes.set_ylim(-0.25, len(named) - 0.1)
    axes.set_xlabel("value")
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
