"""Where lines touch their states: a row and a port for each line, tracks within columns, loops.

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

from fsmeu.drawing.layout.curves import LOOP_HEIGHT, Curve, Point, loop
from fsmeu.drawing.scene.frame import LOOP_ROOM, Bundle, Caption

__all__ = [
    "FIRST_TRACK", "LEFT", "LOOP_LIFT", "RIGHT", "End", "Side", "choose_tracks", "ends_of",
    "lay_side", "loop_curve", "loop_label", "loop_rise", "on_outline", "side_height", "track_step",
]  # fmt: skip

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
    enters = end.role == 1
    if end.side == RIGHT:
        return (0, away, end.bundle, end.role) if enters else (2, -away, end.bundle, end.role)
    return (2, -away, end.bundle, end.role) if enters else (0, away, end.bundle, end.role)


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
    sorted_spans = [(min(span), max(span)) for span in spans]
    by_length = sorted(
        range(len(spans)), key=lambda k: (sorted_spans[k][1] - sorted_spans[k][0], sorted_spans[k])
    )
    for k in by_length:
        low, high = sorted_spans[k]
        free = (
            t
            for t, held in enumerate(tracks)
            if all(high + _APART < a or b + _APART < low for a, b in held)
        )
        track = next(free, len(tracks))
        if track == len(tracks):
            tracks.append([])
        tracks[track].append((low, high))
        chosen[k] = track
    return chosen


def track_step(tracks: int) -> float:
    """The distance between tracks; many are closer together."""
    return min(_TRACK, _ALL_TRACKS / max(tracks, 1))


def loop_rise(caption: Caption, bundle: Bundle, beside: float) -> float:
    """How high a loop is: a label above it must clear the rows beside its state.

    Args:
        caption: the state's.
        bundle: the loop.
        beside: how far rows beside the state reach above it.
    """
    over = bundle.width + LOOP_ROOM > caption.width
    return max(LOOP_HEIGHT, beside) if over else LOOP_HEIGHT


def loop_curve(centre: Point, caption: Caption, bundle: Bundle, rise: float) -> Curve:
    """The line of a loop, whose feet stand on the outline of its state."""
    x, y = centre
    middle = _loop_place(caption, bundle)
    feet = [(x + at, y + _upper_edge(caption, at)) for at in (middle - 6, middle + 6)]
    higher = min(feet[0][1], feet[1][1]) - (y - caption.height / 2)
    return loop(feet[0], feet[1], rise + higher)


def _loop_place(caption: Caption, bundle: Bundle) -> float:
    """Where a loop stands, from the middle of its state: its label is to fit in beside it."""
    beside = bundle.width + LOOP_ROOM <= caption.width
    return -(bundle.width + 4) / 2 if beside else 0.0


def _upper_edge(caption: Caption, along: float) -> float:
    """The height of a state's upper outline at a distance from its middle."""
    radius = caption.height / 2
    corner = min(max(abs(along) - (caption.width / 2 - radius), 0.0), radius)
    return -math.sqrt(radius**2 - corner**2)


def loop_label(caption: Caption, bundle: Bundle, rise: float) -> Point:
    """The centre of a loop's label, from the middle of its state's upper edge.

    It is to the right of the loop, or above it if it would reach beyond its state.
    """
    if bundle.width + LOOP_ROOM <= caption.width:
        x = _loop_place(caption, bundle) + 13 + bundle.width / 2
        return x, -LOOP_LIFT - bundle.height / 2
    return 0.0, -rise - LOOP_LIFT - bundle.height / 2
