"""Scores over the iterations of SEARN, in the style of Figure 6 of Daumé et al. (2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fsmeu.drawing.render.raster import need_matplotlib
from fsmeu.errors import EmptyError, sentence

__all__ = ["plot_iterations"]

_LINE, _BAND = "#0072b2", "#56b4e9"


def plot_iterations(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Draws a panel for each task: the score after each iteration, with its bootstrap interval.

    Args:
        rows: with the keys task, score, iteration, value, low and high.
        path: of the picture.

    Raises:
        EmptyError: there is no row.
    """
    need_matplotlib("a picture of iterations")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    if not names:
        raise EmptyError(sentence("picture of iterations", "there must be a row"))
    across = min(2, len(names))
    down = -(-len(names) // across)
    figure = Figure(figsize=(4.2 * across, 3.1 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        mine = sorted((r for r in rows if r["task"] == name), key=lambda r: int(r["iteration"]))
        steps = [int(row["iteration"]) for row in mine]
        value, low, high = ([100 * float(r[key]) for r in mine] for key in ("value", "low", "high"))
        panel.fill_between(steps, low, high, color=_BAND, alpha=0.25, linewidth=0)
        panel.plot(steps, value, "o-", color=_LINE, markersize=4)
        panel.set(title=name, xlabel="iteration", ylabel=f"{mine[0]['score']} (%)")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.grid(alpha=0.3)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    figure.savefig(path, dpi=130)
