"""Where lines touch their states: an order on each side, for each line a row and a port.

The label of a line stands in the line's row beside the state that the line leaves, before any other
line can come near: to whom a label belongs is seen without following a line. Rows are as high as
their labels, so that labels of one state stand below each other, and a state has the room of its
rows in its column, so that nothing of another state comes between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fsmeu.drawing.layout.curves import Point
from fsmeu.drawing.scene.frame import Bundle, Caption

__all__ = ["LEFT", "RIGHT", "End", "Side", "ends_of", "lay_side", "on_outline", "side_height"]

LEFT, RIGHT = -1, 1
_PORT = 6.0  # between lines on an outline
_PLAIN_ROW = 8.0  # a line without a label that passes labels
_ROW_GAP = 3.0
_LEAST_FAN, _MOST_FAN, _FAN = 14.0, 30.0, 0.3
_AFTER_LABEL = 5.0
_LEAD = 10.0  # straight on to an arrow's tip


@dataclass(frozen=True)
class End:
    """One end of a line.

    Attributes:
        bundle: the number of the line.
        role: 0 where it leaves, 1 where it enters.
        state: the state that it touches.
        side: LEFT or RIGHT of that state.
        peer: whether both ends are in one column.
        other: the item of the grid to which the line leads next from this end.
    """

    bundle: int
    role: int
    state: int
    side: int
    peer: bool
    other: int


@dataclass(frozen=True)
class Side:
    """The lines at one side of a state.

    Attributes:
        ports: by line and role, the distance of its port from the state's middle, downwards.
        rows: the same for its row.
        fan: how far outside the state the rows begin.
        reach: how far outside the state they have passed all labels.
    """

    ports: dict[tuple[int, int], float]
    rows: dict[tuple[int, int], float]
    fan: float
    reach: float


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
