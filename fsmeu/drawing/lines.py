"""Lines of a picture: curves and arrow heads, and where they touch their states.

The label of a line stands in the line's row beside the state that the line leaves, before any other
line can come near: to whom a label belongs is seen without following a line. Rows are as high as
their labels, so that labels of one state stand below each other, and a state has the room of its
rows in its column, so that nothing of another state comes between. Lines within a column go up or
down on tracks beside it that do not lie on each other. Loops stand on top of their states, with
their labels beside them, or above if they are wide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fsmeu.drawing.frame import LOOP_ROOM, Bundle, Caption

Point = tuple[float, float]
Curve = tuple[Point, ...]  # 3k + 1 points: ends and control points of k cubic pieces

_PULL = 0.45
_CORNER = 10.0  # radius of a corner
_ROUND = 0.5523  # control points of a quarter of a circle


def through(points: Sequence[Point]) -> Curve:
    """A smooth curve through points, level at each of them."""
    curve = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        pull = _PULL * (x1 - x0)
        curve += [(x0 + pull, y0), (x1 - pull, y1), (x1, y1)]
    return tuple(curve)


def bracket(start: Sequence[Point], end: Sequence[Point], x: float) -> Curve:
    """A line along ``start``, which ends level, up or down at ``x``, and back along ``end``."""
    x0, y0 = start[-1]
    x1, y1 = end[0]
    radius = min(_CORNER, abs(y1 - y0) / 2, abs(x - x0), abs(x - x1))
    out = radius if x > x0 else -radius
    down = radius if y1 > y0 else -radius
    pull = 1 - _ROUND
    turn = (x, y0 + down)
    back = (x, y1 - down)
    return (
        *through([*start, (x - out, y0)]),
        *((x - pull * out, y0), (x, y0 + pull * down), turn),
        *(turn, back, back),
        *((x, y1 - pull * down), (x - pull * out, y1)),
        *through([(x - out, y1), *end]),
    )


def point_at(curve: Curve, where: float) -> Point:
    """The point at a share of the curve, its pieces counted as equally long."""
    pieces = (len(curve) - 1) // 3
    piece = min(int(where * pieces), pieces - 1)
    t = where * pieces - piece
    s = 1 - t
    factors = (s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t)
    points = curve[3 * piece : 3 * piece + 4]
    x, y = (sum(f * p[k] for f, p in zip(factors, points, strict=True)) for k in (0, 1))
    return x, y


def arrow(curve: Curve, size: float) -> tuple[Curve, Curve]:
    """The curve drawn back behind its arrow head, and the three corners of the head."""
    x, y = curve[-1]
    drawn_back = 0.7 * size
    half = 0.4 * size
    a, b = _direction(curve, drawn_back)
    dx, dy = _direction(curve, size)
    left = x - size * dx
    top = y - size * dy
    corners = ((x, y), (left - half * dy, top + half * dx), (left + half * dy, top - half * dx))
    return (*curve[:-1], (x - drawn_back * a, y - drawn_back * b)), corners


def _direction(curve: Curve, reach: float) -> Point:
    """The unit vector to the end of a curve from its point that is ``reach`` before it."""
    for step in range(1, 101):
        x, y = point_at(curve, 1 - step / 100)
        dx = curve[-1][0] - x
        dy = curve[-1][1] - y
        length = math.hypot(dx, dy)
        if length >= reach:
            break
    return (dx / length, dy / length) if length else (1.0, 0.0)


LEFT = -1
RIGHT = 1
_PORT = 6.0  # between lines on an outline
_PLAIN_ROW = 8.0  # a line without a label that passes labels
_ROW_GAP = 3.0
_LEAST_FAN = 14.0
_MOST_FAN = 30.0
_FAN = 0.3
_AFTER_LABEL = 5.0
_LEAD = 10.0  # straight on to an arrow's tip
_TRACKS_APART = 6.0
LOOP_HEIGHT = 17.0
LOOP_LIFT = 3.0


@dataclass(eq=False)
class End:
    """One end of a line, and its place once that is known."""

    bundle: int  # the number of the line
    role: int  # 0 where it leaves, 1 where it enters
    state: int  # the state that it touches
    side: int  # LEFT or RIGHT of that state
    peer: bool  # whether both ends are in one column
    other: int  # the item of the grid to which the line leads next from this end
    port: float = 0.0  # where it touches the outline, downwards from the state's middle
    row: float = 0.0  # the same for its row
    fan: float = 0.0  # how far outside the state the rows begin


def line_ends(
    number: int, way: Sequence[int], column: Sequence[int], rank: Mapping[int, int]
) -> tuple[End, End]:
    """Both ends of a line through these items; within a column, down is right and up is left."""
    a = way[0]
    b = way[-1]
    peer = column[a] == column[b]
    side = RIGHT if (rank[b] > rank[a] if peer else column[b] > column[a]) else LEFT
    leaving = End(number, 0, a, side, peer, way[1])
    return leaving, End(number, 1, b, side if peer else -side, peer, way[-2])


def _row_height(end: End, bundles: Sequence[Bundle]) -> float:
    """The height of a row beside a state: that of a label where its line begins."""
    return bundles[end.bundle].height + _ROW_GAP if end.role == 0 else _PLAIN_ROW


def side_height(ends: Sequence[End], bundles: Sequence[Bundle]) -> float:
    """The height of all rows at one side of a state; 0 if there is no label."""
    if not any(end.role == 0 for end in ends):
        return 0.0
    return sum(_row_height(end, bundles) for end in ends)


def lay_side(
    ends: Sequence[End], bundles: Sequence[Bundle], caption: Caption, height: Sequence[float]
) -> float:
    """Sets ports and rows at one side of a state; how far outside it they pass all labels."""
    ordered = sorted(ends, key=lambda end: _place(end, height))
    step = min(_PORT, 0.62 * caption.height / len(ordered))
    middle = (len(ordered) - 1) / 2
    total = side_height(ordered, bundles)
    top = -total / 2
    for k, end in enumerate(ordered):
        end.port = end.row = (k - middle) * step
        if total:
            high = _row_height(end, bundles)
            end.row = top + high / 2
            top += high
    if not total:
        return _LEAD
    spread = max(abs(end.row - end.port) for end in ordered)
    fan = min(_LEAST_FAN + _FAN * spread, _MOST_FAN)
    for end in ordered:
        end.fan = fan
    return fan + max(bundles[end.bundle].width for end in ordered if end.role == 0) + _AFTER_LABEL


def _place(end: End, height: Sequence[float]) -> tuple[int, float, int, int]:
    """The sort key of an end from top to bottom: lines within a column enclose each other.

    On the right, lines come down: those that enter from above are first, the nearest at the top;
    those that leave downwards are last, the nearest at the bottom. On the left it is the other way
    round. Lines from and to other columns are between them, by the height of what they lead to.
    """
    if not end.peer:
        return (1, height[end.other], end.bundle, end.role)
    away = abs(height[end.other] - height[end.state])
    first = (end.role == 1) == (end.side == RIGHT)
    return (0, away, end.bundle, end.role) if first else (2, -away, end.bundle, end.role)


def choose_tracks(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The track of each line between two heights, 0 being the nearest to the column.

    Short lines come first, each into the nearest track where it keeps its distance from all others;
    so lines that enclose others are outside of them.
    """
    chosen = [0] * len(spans)
    tracks: list[list[tuple[float, float]]] = []
    ends = [(min(span), max(span)) for span in spans]
    for k in sorted(range(len(ends)), key=lambda k: (ends[k][1] - ends[k][0], ends[k])):
        low = ends[k][0] - _TRACKS_APART
        high = ends[k][1] + _TRACKS_APART
        free = (all(high < a or b < low for a, b in track) for track in tracks)
        chosen[k] = next((t for t, is_free in enumerate(free) if is_free), len(tracks))
        if chosen[k] == len(tracks):
            tracks.append([])
        tracks[chosen[k]].append(ends[k])
    return chosen


class Loop:
    """A loop on top of its state; its label is beside it, or above if it would reach beyond."""

    def __init__(self, caption: Caption, bundle: Bundle, rows: float) -> None:
        above = bundle.width + LOOP_ROOM > caption.width
        self._wide = caption.width / 2
        self._radius = caption.height / 2
        self._x = 0.0 if above else -(bundle.width + 4) / 2
        # A label above the loop must clear the rows beside its state, which reach so far above it.
        self._rise = max(LOOP_HEIGHT, rows) if above else LOOP_HEIGHT
        over = self._radius + (self._rise if above else 0.0) + LOOP_LIFT
        x = 0.0 if above else self._x + 13 + bundle.width / 2
        # From the middle of the state: the centre of the label, and how far both reach above.
        self.label: Point = (x, -over - bundle.height / 2)
        self.top = max(self._radius + self._rise, over + bundle.height)

    def curve(self, centre: Point) -> Curve:
        """The line, whose feet stand on the outline of the state."""
        x, y = centre
        left, right = ((x + at, y + self._edge(at)) for at in (self._x - 6, self._x + 6))
        high = min(left[1], right[1])
        rise = high - (self._rise + high - (y - self._radius)) * 4 / 3
        return (left, (left[0] - 7, rise), (right[0] + 7, rise), right)

    def _edge(self, along: float) -> float:
        """The height of the state's upper outline at a distance from its middle."""
        corner = min(max(abs(along) - (self._wide - self._radius), 0.0), self._radius)
        return -math.sqrt(self._radius**2 - corner**2)
