"""Lines of a picture: Bézier curves, points on them, arrow heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]
Curve = tuple[Point, ...]  # 3k + 1 points: ends and control points of k cubic pieces

LOOP_HEIGHT = 17.0
_PULL = 0.45
_CORNER, _ROUND = 10.0, 0.5523  # radius of a corner; control points of a quarter of a circle


def through(points: Sequence[Point]) -> Curve:
    """A smooth curve through points, level at each of them."""
    curve = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        pull = _PULL * (x1 - x0)
        curve += [(x0 + pull, y0), (x1 - pull, y1), (x1, y1)]
    return tuple(curve)


def bracket(start: Sequence[Point], end: Sequence[Point], x: float) -> Curve:
    """A line that leaves along level points, turns, goes up or down at ``x``, and comes back.

    Args:
        start: points from the beginning to where it turns; the last two are level.
        end: points from where it comes back to its end; the first two are level.
        x: where the upright stretch is.
    """
    y0, y1 = start[-1][1], end[0][1]
    down = 1.0 if y1 > y0 else -1.0
    radius = min(_CORNER, abs(y1 - y0) / 2, abs(x - start[-1][0]), abs(x - end[0][0]))
    out = radius if x > start[-1][0] else -radius
    first = through([*start, (x - out, y0)])
    last = through([(x - out, y1), *end])
    turn, back = y0 + down * radius, y1 - down * radius
    pull = 1 - _ROUND
    return (
        *first,
        (x - pull * out, y0),
        (x, y0 + down * pull * radius),
        (x, turn),
        (x, turn),
        (x, back),
        (x, back),
        (x, y1 - down * pull * radius),
        (x - pull * out, y1),
        *last,
    )


def loop(left: Point, right: Point, height: float = LOOP_HEIGHT) -> Curve:
    """A loop that stands on the top of a state, from its left foot to its right one."""
    rise = min(left[1], right[1]) - height * 4 / 3
    return (left, (left[0] - 7, rise), (right[0] + 7, rise), right)


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
