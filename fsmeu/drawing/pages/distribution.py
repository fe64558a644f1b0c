"""A distribution drawn small, for cards and terminals: bars over the values, and the mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.drawing.render.look import INK, MASS, QUIET, ROUTE
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape, Text
from fsmeu.drawing.scene.frame import SMALL, text_width
from fsmeu.expectation.levels import Levels

__all__ = ["binned", "distribution_picture", "distribution_rows"]

Floats = NDArray[np.float64]

_WIDTH, _HEIGHT = 520.0, 110.0
_LEFT, _TOP, _BOTTOM = 54.0, 26.0, 24.0
_MOST_BARS, _MOST_ROWS = 80, 12
_ROW_BAR = 32


def binned(levels: Levels, most: int) -> tuple[Floats, Floats, float]:
    """Values, probabilities and the distance of bars: each level, or equal bins of many levels.

    Args:
        levels: a distribution of at least one level.
        most: the greatest number of bars.

    Returns:
        The middle of each bar, its probability, and how wide bars may be at most.
    """
    values, chances = levels.values, levels.probabilities
    span = float(values[-1] - values[0])
    if len(values) <= most:
        closest = float(np.diff(values).min(initial=span or 1.0))
        return values, chances, closest
    heights, edges = np.histogram(values, bins=most, weights=chances)
    return (edges[:-1] + edges[1:]) / 2, heights.astype(np.float64), float(edges[1] - edges[0])


def distribution_picture(levels: Levels, mean: float) -> Picture:
    """Bars over an axis of values, and a line at the mean; one glance high."""
    values, chances, apart = binned(levels, _MOST_BARS)
    low, high = float(levels.values[0]), float(levels.values[-1])
    span = (high - low) or 1.0
    base, most = _TOP + _HEIGHT, float(chances.max())
    place = _LEFT + 12 + (_WIDTH - 24) * (values - low) / span
    thick = float(np.clip(0.8 * apart / span * (_WIDTH - 24), 2.0, 18.0))
    shapes: list[Shape] = [_straight(_LEFT, base, _LEFT + _WIDTH, base, QUIET, 1.0)]
    for x, value, chance in zip(place, values, chances, strict=True):
        tall = _HEIGHT * float(chance) / most
        tip = f"{value:.6g}: {chance:.4g}"
        shapes.append(Box(float(x), base - tall / 2, thick, tall, 0.0, MASS, MASS, 0.0, tip))
    at = _LEFT + 12 + (_WIDTH - 24) * (mean - low) / span
    shapes.append(_straight(at, _TOP - 6, at, base, ROUTE, 1.6))
    told = f"mean {mean:.6g}"
    half = text_width(told, SMALL) / 2
    inside = min(max(at, _LEFT + half), _LEFT + _WIDTH - half)
    shapes.append(Text(inside, _TOP - 14, told, SMALL, ROUTE))
    for x, value, anchor in ((_LEFT + 12, low, "middle"), (_LEFT + _WIDTH - 12, high, "middle")):
        shapes.append(Text(x, base + 12, f"{value:.4g}", SMALL, INK, anchor=anchor))
        if high == low:
            break
    shapes.append(Text(_LEFT - 6, _TOP + 5, f"{most:.3g}", SMALL, QUIET, anchor="end"))
    shapes.append(Text(_LEFT - 6, base - 5, "0", SMALL, QUIET, anchor="end"))
    width, height = _LEFT + _WIDTH + 24, base + _BOTTOM
    return Picture("distribution", width, height, tuple(shapes))


def distribution_rows(levels: Levels) -> list[str]:
    """The same in lines of text: value or range of values, probability and a bar."""
    values, chances, apart = binned(levels, _MOST_ROWS)
    most = float(chances.max())
    names = [f"{value:.6g}" for value in values]
    if len(levels.values) > _MOST_ROWS:
        names = [f"{v - apart / 2:.4g} to {v + apart / 2:.4g}" for v in values]
    wide = max(map(len, names))
    return [
        f"{name:>{wide}}  {chance:<9.4g} {'█' * round(_ROW_BAR * float(chance) / most)}".rstrip()
        for name, chance in zip(names, chances, strict=True)
    ]


def _straight(x0: float, y0: float, x1: float, y1: float, colour: str, line: float) -> Line:
    return Line(((x0, y0), (x0, y0), (x1, y1), (x1, y1)), colour, line)
