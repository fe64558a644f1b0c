"""A layered layout that needs no other program: left to right by the steps from the start.

States stand in columns by their depth, ordered to cross little (``order``) and set at heights near
their neighbours (``rows``). Arcs that lead back over several columns get lanes of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fsmeu.drawing.layout.curves import (
    LOOP_HEIGHT,
    Box,
    Curve,
    Point,
    bulge,
    loop,
    place_labels,
    point_at,
    through,
)
from fsmeu.drawing.layout.order import order_layers
from fsmeu.drawing.layout.rows import stack_rows
from fsmeu.drawing.scene.frame import Bundle, Caption, Frame

__all__ = ["START_LENGTH", "Placement", "fit", "place"]

_MARGIN = 16.0
_ROW_GAP = 7.0
_LANE = 7.0
_LOOP_LIFT, _LOOP_REACH = 3.0, 40.0
_TIP = 14.0
_LEAST_GAP = 46.0
_AROUND_LABEL = 38.0
_STEEP, _MOST_STEEP = 0.10, 110.0
_CROWD, _MOST_CROWDED = 1.5, 70.0
_PORT = 6.0
START_LENGTH = 26.0
LEFT, RIGHT = -1, 1


@dataclass(frozen=True)
class Placement:
    """Where everything is, in pixels from the top left corner.

    Attributes:
        centres: the centre of each state.
        curves: the line of each bundle of arcs.
        labels: the centre of each bundle's label.
        width: of the whole.
        height: of the whole.
    """

    centres: tuple[Point, ...]
    curves: tuple[Curve, ...]
    labels: tuple[Point, ...]
    width: float
    height: float


def place(frame: Frame, depth: Sequence[int]) -> Placement:
    """Places the states and arcs of a machine.

    Args:
        frame: captions and bundles.
        depth: steps from the start to each state; -1 puts a state into a column of its own kind.
    """
    last = max(depth, default=0)
    column = [d if d >= 0 else last + 1 for d in depth]
    grid = _Grid(frame, column)
    return _finish(frame, grid.centres, grid.curves())


class _Grid:
    """States and lanes in ordered columns, with coordinates."""

    def __init__(self, frame: Frame, column: list[int]) -> None:
        self.frame, self.column = frame, column
        self.lanes: dict[int, list[int]] = {}
        items = list(column)
        links: list[Point] = []
        for k, bundle in enumerate(frame.bundles):
            links += self._links(k, bundle, items)
        layers: list[list[int]] = [[] for _ in range(max(items, default=-1) + 1)]
        for item, where in enumerate(items):
            layers[where].append(item)
        pairs = [(int(a), int(b)) for a, b in links]
        ends = [(bundle.source, bundle.target) for bundle in frame.bundles]
        peers = [(a, b) for a, b in ends if a != b and column[a] == column[b]]
        layers = order_layers(layers, pairs, peers)
        above, below = self._room(len(items))
        self.y = stack_rows(layers, pairs, above, below)
        self.x, self.half = self._columns(layers, items)
        self.centres = tuple((self.x[c], self.y[s]) for s, c in enumerate(column))

    def _links(self, number: int, bundle: Bundle, items: list[int]) -> list[tuple[int, int]]:
        """Neighbours that a bundle makes; back over several columns it needs lanes."""
        start, end = self.column[bundle.source], self.column[bundle.target]
        if start == end:
            return []
        step = 1 if end > start else -1
        chain = [bundle.source]
        for where in range(start + step, end, step):
            chain.append(len(items))
            items.append(where)
        self.lanes[number] = chain[1:]
        chain.append(bundle.target)
        pairs = pairwise(chain)
        return [(a, b) if step > 0 else (b, a) for a, b in pairs]

    def _room(self, items: int) -> tuple[list[float], list[float]]:
        """The room each item needs above and below its centre."""
        above = [_LANE] * items
        below = [_LANE] * items
        for state, caption in enumerate(self.frame.captions):
            above[state] = below[state] = caption.height / 2 + _ROW_GAP
        for bundle in self.frame.bundles:
            if bundle.source == bundle.target:
                caption = self.frame.captions[bundle.source]
                rise = _loop_label(caption, bundle)[1] - bundle.height / 2
                above[bundle.source] += max(LOOP_HEIGHT, -rise)
        return above, below

    def _columns(
        self, layers: list[list[int]], items: list[int]
    ) -> tuple[list[float], list[float]]:
        """The centre and half the width of each column."""
        half = [8.0] * len(layers)
        for state, caption in enumerate(self.frame.captions):
            where = self.column[state]
            half[where] = max(half[where], caption.width / 2)
        gap = [_LEAST_GAP] * len(layers)
        crowd = [0] * len(layers)
        for bundle in self.frame.bundles:
            start, end = self.column[bundle.source], self.column[bundle.target]
            if bundle.source != bundle.target:
                steep = abs(self.y[bundle.source] - self.y[bundle.target]) * _STEEP
                need = bundle.width + _AROUND_LABEL + min(steep, _MOST_STEEP)
                where = min(start, end) if start != end else start
                gap[where] = max(gap[where], need)
                crowd[where] += 1
        x = [half[0]] if layers else []
        for k in range(1, len(layers)):
            room = gap[k - 1] + min(_CROWD * crowd[k - 1], _MOST_CROWDED)
            x.append(x[-1] + half[k - 1] + room + half[k])
        return x, half

    def curves(self) -> list[Curve]:
        """The line of each bundle."""
        ports = self._ports()
        made = []
        for k, bundle in enumerate(self.frame.bundles):
            x, y = self.centres[bundle.source]
            if bundle.source == bundle.target:
                made.append(loop(x, y - self.frame.captions[bundle.source].height / 2))
                continue
            start, end = (self._edge(*ports[k, role]) for role in (0, 1))
            if self.column[bundle.source] == self.column[bundle.target]:
                side = RIGHT if end[1] > start[1] else LEFT
                reach = min(20 + 0.12 * abs(end[1] - start[1]), 70)
                made.append(bulge(start, end, side * reach))
            else:
                made.append(through([start, *self._lane_points(k, bundle), end]))
        return made

    def _lane_points(self, number: int, bundle: Bundle) -> list[Point]:
        """Where a lane enters and leaves each column it passes."""
        forward = self.column[bundle.target] > self.column[bundle.source]
        points = []
        step = 1 if forward else -1
        where = self.column[bundle.source]
        for item in self.lanes.get(number, []):
            where += step
            edges = (self.x[where] + side * self.half[where] for side in (-step, step))
            points += [(x, self.y[item]) for x in edges]
        return points

    def _sides(self, bundle: Bundle) -> tuple[int, int]:
        start, end = self.column[bundle.source], self.column[bundle.target]
        if start == end:
            down = self.y[bundle.target] > self.y[bundle.source]
            return (RIGHT, RIGHT) if down else (LEFT, LEFT)
        return (RIGHT, LEFT) if end > start else (LEFT, RIGHT)

    def _ports(self) -> dict[tuple[int, int], tuple[int, int, float]]:
        """Where bundles touch their states: state, side, distance from the middle."""
        at: dict[tuple[int, int], list[tuple[float, int, int]]] = {}
        for k, bundle in enumerate(self.frame.bundles):
            if bundle.source == bundle.target:
                continue
            lanes = self.lanes.get(k, [])
            toward = (lanes or [bundle.target])[0], (lanes or [bundle.source])[-1]
            ends = (bundle.source, bundle.target)
            for role, side in enumerate(self._sides(bundle)):
                key = (ends[role], side)
                at.setdefault(key, []).append((self.y[toward[role]], k, role))
        ports = {}
        for (state, side), touching in at.items():
            room = 0.62 * self.frame.captions[state].height
            step = min(_PORT, room / len(touching))
            for rank, (_, k, role) in enumerate(sorted(touching)):
                ports[k, role] = (state, side, (rank - (len(touching) - 1) / 2) * step)
        return ports

    def _edge(self, state: int, side: int, offset: float) -> Point:
        """The point on a state's outline, whose ends are half circles."""
        x, y = self.centres[state]
        caption = self.frame.captions[state]
        radius = caption.height / 2
        inset = radius - (max(radius**2 - offset**2, 0.0)) ** 0.5
        return x + side * (caption.width / 2 - inset), y + offset


def _loop_label(caption: Caption, bundle: Bundle) -> Point:
    """The centre of a loop's label, from the middle of its state's upper edge.

    It is to the right of the loop, or above it if it would reach far beyond its state.
    """
    if 15 + bundle.width <= caption.width / 2 + _LOOP_REACH:
        return 15 + bundle.width / 2, -_LOOP_LIFT - bundle.height / 2
    return 0.0, -LOOP_HEIGHT - _LOOP_LIFT - bundle.height / 2


def _finish(frame: Frame, centres: Sequence[Point], curves: Sequence[Curve]) -> Placement:
    """Labels, and everything moved so that the picture begins at its margin."""
    boxes = [_box(c, f.width, f.height) for c, f in zip(centres, frame.captions, strict=True)]
    fixed: dict[int, Point] = {}
    for k, bundle in enumerate(frame.bundles):
        if bundle.source == bundle.target:
            caption = frame.captions[bundle.source]
            (x, y), (dx, dy) = centres[bundle.source], _loop_label(caption, bundle)
            fixed[k] = (x + dx, y - caption.height / 2 + dy)
            boxes.append(_box(fixed[k], bundle.width, bundle.height))
    boxes += [_box(curve[-1], _TIP, _TIP) for curve in curves]  # arrows are to be seen
    sizes = [(bundle.width, bundle.height) for bundle in frame.bundles]
    free = [None if k in fixed else curve for k, curve in enumerate(curves)]
    labels = [fixed.get(k, p) for k, p in enumerate(place_labels(free, sizes, boxes))]
    return fit(frame, centres, curves, labels)


def _box(centre: Point, width: float, height: float) -> Box:
    x, y = centre
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def fit(
    frame: Frame, centres: Sequence[Point], curves: Sequence[Curve], labels: Sequence[Point]
) -> Placement:
    """Everything moved so that it lies inside the margins."""
    boxes = [_box(c, f.width, f.height) for c, f in zip(centres, frame.captions, strict=True)]
    boxes += [_box(p, b.width, b.height) for p, b in zip(labels, frame.bundles, strict=True)]
    spots = [point_at(curve, k / 16) for curve in curves for k in range(17)]
    boxes += [(x, y, x, y) for x, y in spots]
    if not boxes:
        return Placement((), (), (), 2 * _MARGIN, 2 * _MARGIN)
    left = min(box[0] for box in boxes) - _MARGIN - START_LENGTH
    top = min(box[1] for box in boxes) - _MARGIN
    width = max(box[2] for box in boxes) + _MARGIN - left
    height = max(box[3] for box in boxes) + _MARGIN - top
    return Placement(
        tuple((x - left, y - top) for x, y in centres),
        tuple(tuple((x - left, y - top) for x, y in curve) for curve in curves),
        tuple((x - left, y - top) for x, y in labels),
        width,
        height,
    )
