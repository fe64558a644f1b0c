"""What all plots share: axes of a new figure, names that are not mathematics, files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsmeu.drawing.render.raster import need_matplotlib
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.files import as_path, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOT_FORMATS = ("png", "pdf", "svg")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The colours of Okabe and Ito, which people with colour blindness tell apart."""


def axes_for(ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The axes that were given, or those of a new figure that pyplot knows, of this size in inches.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    need_matplotlib("a plot", "")
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def plainly(texts: Iterable[Any]) -> None:
    """Has texts painted as they are: dollars and underlines in names are no mathematics."""
    for text in texts:
        text.set_parse_math(False)


def legend(axes: Axes, **place: Any) -> None:
    """Adds a legend, its names painted as they are."""
    plainly(axes.legend(fontsize="small", frameon=False, **place).get_texts())


def checked_plot(path: str | os.PathLike[str], instead: str = "") -> tuple[Path, str]:
    """The path and the format of a plot that is to be written.

    Args:
        path: a name that ends in one of ``PLOT_FORMATS``.
        instead: what can be had without matplotlib, for the message.

    Raises:
        InputError: it is not the name of such a file.
        MissingExtra: matplotlib is not installed.
    """
    where = as_path(path, "plot")
    kind = where.suffix.lstrip(".").lower()
    if not kind:
        must = f"the format of a plot must be one of {', '.join(PLOT_FORMATS)}"
        raise InputError(sentence("plot", must, "no ending"))
    one_of("plot", "the format of a plot", kind, PLOT_FORMATS)
    need_matplotlib("a plot", instead)
    return where, kind


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that needs no window system."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(path: str | os.PathLike[str], figure: Figure) -> Path:
    """Where a figure was written, in the format that the name's ending says."""
    where, kind = checked_plot(path)
    held = io.BytesIO()
    figure.savefig(held, format=kind, dpi=160)
    return write_file(where, held.getbuffer())


def save_plot(
    path: str | os.PathLike[str],
    plot: Callable[[Axes], object],
    size: tuple[float, float] = (6.4, 4.0),
) -> Path:
    """Where a plot was written; no window system is needed.

    Args:
        path: a name that ends in one of ``PLOT_FORMATS``.
        plot: draws on axes.
        size: width and height in inches.
    """
    checked_plot(path)
    figure = new_figure(size)
    plot(figure.subplots())
    return save_figure(path, figure)
