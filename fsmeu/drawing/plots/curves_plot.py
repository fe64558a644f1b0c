"""Running measures of online learners against examples seen, with bands for their spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.drawing.render.raster import need_matplotlib
from fsmeu.drawing.scene.escape import visible
from fsmeu.errors import InputError, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves"]

Floats = NDArray[np.float64]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The colours of Okabe and Ito, which people with colour blindness tell apart."""
_STYLES = ("-", "--", ":")
_MOST = len(_COLOURS) * len(_STYLES)
_BEGINNING = 0.05
"""The part of the examples whose values, of a few predictions each, do not set the scale."""


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
    need_matplotlib("a plot", "")
    at, found = _checked(curves, seen)
    axes = _new_axes() if ax is None else ax
    low, high = np.inf, -np.inf
    for k, (name, values) in enumerate(found.items()):
        mean, spread = values.mean(axis=0), _deviation(values)
        colour, style = _COLOURS[k % len(_COLOURS)], _STYLES[k // len(_COLOURS)]
        axes.plot(at, mean, color=colour, linestyle=style, label=visible(name), linewidth=1.6)
        if len(values) > 1:
            band = (mean - spread, mean + spread)
            axes.fill_between(at, *band, color=colour, alpha=0.18, linewidth=0)
        settled = at >= _BEGINNING * at[-1]
        low = min(low, float((mean - spread)[settled].min()))
        high = max(high, float((mean + spread)[settled].max()))
    room = 0.06 * (high - low) or 0.05
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(0, at[-1])
    axes.set_xlabel("examples seen")
    axes.set_ylabel(value)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    legend = axes.legend(fontsize="small", frameon=False, loc="best")
    for text in legend.get_texts():
        text.set_parse_math(False)
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


def _deviation(values: Floats) -> Floats:
    """The standard deviation over shuffles, (points,); 0 where there is one."""
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return np.asarray(spread)


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
