"""Files of plots."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fsmeu.drawing.render.files import as_path
from fsmeu.drawing.render.raster import need_matplotlib
from fsmeu.errors import InputError, one_of, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PLOT_FORMATS", "checked_plot", "save_plot"]

PLOT_FORMATS = ("png", "pdf", "svg")


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
    where, kind = checked_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    plot(figure.subplots())
    figure.savefig(where, format=kind, dpi=160)
    return where
