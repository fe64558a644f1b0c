"""The score after each iteration of SEARN as a plot, as in Figure 6 of Daumé et al. (2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fsmeu.drawing.plots import COLOURS, checked_plot, save_plot


def plot_iterations(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Where the plot was written: a panel for each task, with bootstrap intervals as bands.

    Args:
        rows: at least one, with the keys task, score, iteration, value, low and high.
        path: a name that ends in .png, .pdf or .svg.
    """
    checked_plot(path)
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    across = min(2, len(names))
    down = -(-len(names) // across)

    def plot(*panels: Any) -> None:
        for panel, name in zip(panels, names, strict=False):
            mine = sorted((r for r in rows if r["task"] == name), key=lambda r: int(r["iteration"]))
            steps = [int(row["iteration"]) for row in mine]
            value, low, high = (
                [100 * float(r[key]) for r in mine] for key in ("value", "low", "high")
            )
            panel.fill_between(steps, low, high, color=COLOURS[0], alpha=0.18, linewidth=0)
            panel.plot(steps, value, color=COLOURS[0], linewidth=1.6, marker="o", markersize=4)
            panel.grid(alpha=0.3)
            panel.set(title=name, xlabel="iteration", ylabel=f"{mine[0]['score']} (%)")
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        for panel in panels[len(names) :]:
            panel.set_axis_off()

    return save_plot(path, plot, (4.2 * across, 3.1 * down), (down, across))
