"""The value of a loss against the threshold on scores, with the decision that was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.drawing.render.raster import need_matplotlib
from fsmeu.drawing.scene.escape import visible
from fsmeu.errors import InputError, sentence
from fsmeu.learning.table_losses import best_threshold, table_value, threshold_values
from fsmeu.losses.loss import SpecLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_threshold"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_LINE, _DECISION, _BEST = "#0072b2", "#d55e00", "#444444"


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
    need_matplotlib("a plot", "")
    s = np.asarray(scores, np.float64)
    y, z = np.asarray(positive, bool), np.asarray(chosen, bool)
    if not (s.ndim == 1 and len(s) and s.shape == y.shape == z.shape):
        must = "there must be a score, a label and a decision for each example"
        raise InputError(sentence("plot", must, f"shapes {s.shape}, {y.shape} and {z.shape}"))
    axes = _new_axes() if ax is None else ax
    low, high = _ends(s)
    _, values = threshold_values(loss, s, y)
    edges = np.concatenate(([low], np.unique(s), [high]))
    name = visible(loss.name)
    axes.stairs(values[::-1], edges, baseline=None, color=_LINE, label=f"{name} by threshold")
    best, most = best_threshold(loss, s, y)
    place = float(np.clip(best, low, high))
    label = f"best for these labels: {most:.4g} at {place:.4g}"
    axes.axvline(place, color=_BEST, linestyle="--", linewidth=1, label=label)
    at, value = _decided_at(s, z, low, high), table_value(loss, z, y)
    label = f"decision: {value:.4g} at {at:.4g}, {z.sum():,} of {len(z):,} positive"
    axes.plot([at], [value], "o", color=_DECISION, markersize=8, label=label)
    axes.set_xlabel(f"threshold on the {score}")
    axes.set_ylabel(f"{loss.kind} {name}", parse_math=False)
    axes.grid(alpha=0.3)
    legend = axes.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    for text in legend.get_texts():
        text.set_parse_math(False)
    return axes


def _ends(scores: Floats) -> tuple[float, float]:
    """Where the axis begins and ends: 0 and 1 for probabilities, a little beyond other scores."""
    least, most = float(scores.min()), float(scores.max())
    if least >= 0.0 and most <= 1.0:
        return 0.0, 1.0
    room = 0.05 * (most - least) or 1.0
    return least - room, most + room


def _decided_at(scores: Floats, chosen: Bools, low: float, high: float) -> float:
    """Halfway between the least chosen score and the greatest other, or the former in a tie."""
    least = float(scores[chosen].min()) if chosen.any() else high
    most = float(scores[~chosen].max()) if not chosen.all() else low
    return (least + most) / 2 if most < least else least


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(6.4, 4.4), layout="constrained")[1]
