"""Lines of a picture: Bézier curves, points on them, arrow heads, places for labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

__all__ = ["arrow_head", "bulge", "loop", "place_labels", "point_at", "shorten_end", "through"]

Point = tuple[float, float]
Curve = tuple[Point, ...]  # 3k + 1 points: ends and control points of k cubic pieces
Box = tuple[float, float, float, float]  # left, top, right, bottom

LOOP_HEIGHT = 17.0
_PULL = 0.45
_STOPS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)
_CLEARANCE = 1.5


def through(points: Sequence[Point]) -> Curve:
    """A smooth curve through points, level at each of them."""
    curve = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        pull = _PULL * (x1 - x0)
        curve += [(x0 + pull, y0), (x1 - pull, y1), (x1, y1)]
    return tuple(curve)


def bulge(start: Point, end: Point, reach: float) -> Curve:
    """A curve between two points of one column that swings out sideways by about ``reach``."""
    swing = reach * 4 / 3
    return (start, (start[0] + swing, start[1]), (end[0] + swing, end[1]), end)


def loop(x: float, top: float) -> Curve:
    """A loop that stands on the top of a state."""
    rise = top - LOOP_HEIGHT * 4 / 3
    return ((x - 7, top), (x - 15, rise), (x + 15, rise), (x + 7, top))


def point_at(curve: Curve, where: float) -> Point:
    """The point at a share of the curve, its pieces counted as equally long."""
    pieces = (len(curve) - 1) // 3
    piece = min(int(where * pieces), pieces - 1)
    t = where * pieces - piece
    a, b, c, d = curve[3 * piece : 3 * piece + 4]
    s = 1 - t
    factors = (s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t)
    x, y = (sum(f * p[k] for f, p in zip(factors, (a, b, c, d), strict=True)) for k in (0, 1))
    return x, y


def arrow_head(curve: Curve, size: float) -> tuple[Point, Point, Point]:
    """The triangle at the end of a curve."""
    tip, dx, dy = _ending(curve, size)
    back = (tip[0] - size * dx, tip[1] - size * dy)
    half = 0.4 * size
    return (
        tip,
        (back[0] - half * dy, back[1] + half * dx),
        (back[0] + half * dy, back[1] - half * dx),
    )


def shorten_end(curve: Curve, amount: float) -> Curve:
    """The curve with its end drawn back, so that it does not show beside the arrow's tip."""
    tip, dx, dy = _ending(curve, amount)
    return (*curve[:-1], (tip[0] - amount * dx, tip[1] - amount * dy))


def _ending(curve: Curve, reach: float) -> tuple[Point, float, float]:
    """The last point, and the direction from the point of the curve that is ``reach`` before it."""
    tip = curve[-1]
    for step in range(1, 101):
        x, y = point_at(curve, 1 - step / 100)
        dx, dy = tip[0] - x, tip[1] - y
        length = math.hypot(dx, dy)
        if length >= reach or step == 100:
            break
    return (tip, dx / length, dy / length) if length else (tip, 1.0, 0.0)


def place_labels(
    curves: Sequence[Curve | None], sizes: Sequence[Point], taken: Sequence[Box]
) -> list[Point]:
    """Centres for labels on curves, chosen so that few boxes overlap.

    Args:
        curves: the line that each label belongs to, None for labels that are placed elsewhere.
        sizes: width and height of each label.
        taken: boxes that labels should stay clear of.
    """
    boxes = np.array(taken, float).reshape(-1, 4)
    places: list[Point] = []
    for curve, (width, height) in zip(curves, sizes, strict=True):
        if curve is None:
            places.append((0.0, 0.0))
            continue
        best: tuple[float, Point, Box] | None = None
        for stop in _STOPS:
            x, y = point_at(curve, stop)
            half_width, half_height = width / 2 + _CLEARANCE, height / 2 + _CLEARANCE
            box = (x - half_width, y - half_height, x + half_width, y + half_height)
            overlap = _overlap(boxes, box)
            if best is None or overlap < best[0] - 1e-9:
                best = (overlap, (x, y), box)
            if overlap == 0:
                break
        assert best is not None
        places.append(best[1])
        boxes = np.vstack([boxes, best[2]])
    return places


def _overlap(boxes: np.ndarray, box: Box) -> float:
    """The area that a box shares with others."""
    if not len(boxes):
        return 0.0
    wide = np.minimum(boxes[:, 2], box[2]) - np.maximum(boxes[:, 0], box[0])
    high = np.minimum(boxes[:, 3], box[3]) - np.maximum(boxes[:, 1], box[1])
    return float((np.maximum(wide, 0) * np.maximum(high, 0)).sum())
