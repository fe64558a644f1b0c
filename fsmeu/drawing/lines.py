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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fsmeu.drawing.frame import LOOP_ROOM, Bundle, Caption

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


LEFT, RIGHT = -1, 1
_PORT = 6.0  # between lines on an outline
_PLAIN_ROW = 8.0  # a line without a label that passes labels
_ROW_GAP = 3.0
_LEAST_FAN, _MOST_FAN, _FAN = 14.0, 30.0, 0.3
_AFTER_LABEL = 5.0
_LEAD = 10.0  # straight on to an arrow's tip
FIRST_TRACK = 9.0  # from the labels to the first track
_TRACK, _ALL_TRACKS, _APART = 8.0, 260.0, 6.0
LOOP_LIFT = 3.0


@dataclass(frozen=True)
class End:
    """One end of a line."""

    bundle: int  # the number of the line
    role: int  # 0 where it leaves, 1 where it enters
    state: int  # the state that it touches
    side: int  # LEFT or RIGHT of that state
    peer: bool  # whether both ends are in one column
    other: int  # the item of the grid to which the line leads next from this end


@dataclass(frozen=True)
class Side:
    """The lines at one side of a state."""

    ports: dict[tuple[int, int], float]  # by line and role, downwards from the state's middle
    rows: dict[tuple[int, int], float]  # the same for its row
    fan: float  # how far outside the state the rows begin
    reach: float  # how far outside the state they have passed all labels


def ends_of(
    bundles: Sequence[Bundle],
    column: Sequence[int],
    rank: Mapping[int, int],
    lanes: Mapping[int, Sequence[int]],
) -> dict[tuple[int, int], list[End]]:
    """The ends of all lines but loops, by state and side.

    Within a column, lines lead down on the right and up on the left.
    """
    found: dict[tuple[int, int], list[End]] = {}
    for k, bundle in enumerate(bundles):
        a, b = bundle.source, bundle.target
        if a == b:
            continue
        peer = column[a] == column[b]
        if peer:
            sides = (RIGHT, RIGHT) if rank[b] > rank[a] else (LEFT, LEFT)
        else:
            sides = (RIGHT, LEFT) if column[b] > column[a] else (LEFT, RIGHT)
        way = [a, *lanes.get(k, []), b]
        for role, (state, other) in enumerate(((a, way[1]), (b, way[-2]))):
            end = End(k, role, state, sides[role], peer, other)
            found.setdefault((state, end.side), []).append(end)
    return found


def _row_height(end: End, bundles: Sequence[Bundle]) -> float:
    return bundles[end.bundle].height + _ROW_GAP if end.role == 0 else _PLAIN_ROW


def side_height(ends: Sequence[End], bundles: Sequence[Bundle]) -> float:
    """How high the rows at one side of a state are together; 0 if there is no label."""
    if not any(end.role == 0 for end in ends):
        return 0.0
    return sum(_row_height(end, bundles) for end in ends)


def lay_side(
    ends: Sequence[End],
    bundles: Sequence[Bundle],
    caption: Caption,
    height_of: Callable[[int], float],
) -> Side:
    """The rows and ports of one side of a state.

    Args:
        ends: the ends of lines there.
        bundles: all lines.
        caption: the state's.
        height_of: the height of an item's centre, growing downwards.
    """
    ordered = sorted(ends, key=lambda end: _place(end, height_of))
    step = min(_PORT, 0.62 * caption.height / len(ordered))
    middle = (len(ordered) - 1) / 2
    ports = {(end.bundle, end.role): (k - middle) * step for k, end in enumerate(ordered)}
    total = side_height(ordered, bundles)
    if not total:
        return Side(ports, dict(ports), 0.0, _LEAD)
    rows = {}
    top = -total / 2
    for end in ordered:
        high = _row_height(end, bundles)
        rows[end.bundle, end.role] = top + high / 2
        top += high
    spread = max(abs(rows[key] - ports[key]) for key in rows)
    fan = min(_LEAST_FAN + _FAN * spread, _MOST_FAN)
    widest = max(bundles[end.bundle].width for end in ordered if end.role == 0)
    return Side(ports, rows, fan, fan + widest + _AFTER_LABEL)


def _place(end: End, height_of: Callable[[int], float]) -> tuple[int, float, int, int]:
    """Where an end comes from top to bottom, so that lines within a column enclose each other.

    On the right, lines come down: those that enter from above are first, the nearest at the top;
    those that leave downwards are last, the nearest at the bottom. On the left it is the other way
    round. Lines from and to other columns are between them, by the height of what they lead to.
    """
    if not end.peer:
        return (1, height_of(end.other), end.bundle, end.role)
    away = abs(height_of(end.other) - height_of(end.state))
    first = (end.role == 1) == (end.side == RIGHT)
    return (0, away, end.bundle, end.role) if first else (2, -away, end.bundle, end.role)


def on_outline(caption: Caption, offset: float, side: int) -> Point:
    """The point of an outline at a height, from the state's middle; its ends are half circles."""
    radius = caption.height / 2
    inset = radius - max(radius**2 - offset**2, 0.0) ** 0.5
    return side * (caption.width / 2 - inset), offset


def choose_tracks(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The track of each line, 0 being the nearest to the column.

    Short lines come first, each into the nearest track where it keeps its distance from all others;
    so lines that enclose others are outside of them.

    Args:
        spans: the heights at which each line begins and ends.
    """
    chosen = [0] * len(spans)
    tracks: list[list[tuple[float, float]]] = []
    ends = [(min(span), max(span)) for span in spans]
    for k in sorted(range(len(ends)), key=lambda k: (ends[k][1] - ends[k][0], ends[k])):
        low, high = ends[k]
        free = (all(high + _APART < a or b + _APART < low for a, b in held) for held in tracks)
        chosen[k] = next((t for t, is_free in enumerate(free) if is_free), len(tracks))
        if chosen[k] == len(tracks):
            tracks.append([])
        tracks[chosen[k]].append((low, high))
    return chosen


def track_step(tracks: int) -> float:
    """The distance between tracks; many are closer together."""
    return min(_TRACK, _ALL_TRACKS / max(tracks, 1))


@dataclass(frozen=True)
class Loop:
    """A loop on top of its state; its label is beside it, or above if it would reach beyond."""

    caption: Caption
    bundle: Bundle
    rows: float  # how far rows beside the state reach above it

    @property
    def _above(self) -> bool:
        return self.bundle.width + LOOP_ROOM > self.caption.width

    @property
    def _place(self) -> float:
        """Where it stands, from the middle of its state."""
        return 0.0 if self._above else -(self.bundle.width + 4) / 2

    @property
    def _rise(self) -> float:
        """How high it is: a label above it must clear the rows beside its state."""
        return max(LOOP_HEIGHT, self.rows) if self._above else LOOP_HEIGHT

    @property
    def label(self) -> Point:
        """The centre of the label, from the middle of the state."""
        x = 0.0 if self._above else self._place + 13 + self.bundle.width / 2
        over = self._rise if self._above else 0.0
        return x, -self.caption.height / 2 - over - LOOP_LIFT - self.bundle.height / 2

    @property
    def top(self) -> float:
        """How far loop and label reach above the middle of the state."""
        highest = self.bundle.height / 2 - self.label[1]
        return max(self.caption.height / 2 + self._rise, highest)

    def curve(self, centre: Point) -> Curve:
        """The line, whose feet stand on the outline of the state."""
        x, y = centre
        feet = [(x + at, y + self._edge(at)) for at in (self._place - 6, self._place + 6)]
        higher = min(feet[0][1], feet[1][1]) - (y - self.caption.height / 2)
        return loop(feet[0], feet[1], self._rise + higher)

    def _edge(self, along: float) -> float:
        """The height of the state's upper outline at a distance from its middle."""
        radius = self.caption.height / 2
        corner = min(max(abs(along) - (self.caption.width / 2 - radius), 0.0), radius)
        return -math.sqrt(radius**2 - corner**2)
