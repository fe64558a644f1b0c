"""A layered layout that needs no other program: left to right by the steps from the start.

States stand in columns by their depth, ordered to cross little and set at heights near their
neighbours (``order``). The label of a line stands beside the state that the line leaves; only then
come the tracks of lines within the column (``ports``), and the space in which lines to other
columns change their height. Lines over several columns get lanes of their own. So no line but its
own ever comes near a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fsmeu.drawing.layout import ports
from fsmeu.drawing.layout.curves import Curve, Point, bracket, through
from fsmeu.drawing.layout.order import order_layers, stack_rows
from fsmeu.drawing.layout.ports import End
from fsmeu.drawing.scene.frame import Bundle, Caption, Frame, text_width

_MARGIN = 16.0
START_LENGTH = 26.0
_ROW_GAP = 7.0
_LANE = 7.0
_LEAST_GAP = 28.0
_STEEP, _MOST_STEEP = 0.14, 130.0
_CROWD, _MOST_CROWDED = 1.5, 70.0


@dataclass(frozen=True)
class Placement:
    """Where everything is, in pixels from the top left corner."""

    centres: tuple[Point, ...]  # of the states
    curves: tuple[Curve, ...]  # the line of each bundle of arcs
    labels: tuple[Point, ...]  # the centre of each bundle's label
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
    return _fit(frame, grid.centres, grid.curves(), grid.labels())


class _Grid:
    """States and lanes in ordered columns, with coordinates."""

    def __init__(self, frame: Frame, column: list[int]) -> None:
        self.frame, self.column = frame, column
        self.lanes: dict[int, list[int]] = {}
        items = list(column)
        links: list[tuple[int, int]] = []
        for k, bundle in enumerate(frame.bundles):
            links += self._links(k, bundle, items)
        layers: list[list[int]] = [[] for _ in range(max(items, default=-1) + 1)]
        for item, where in enumerate(items):
            layers[where].append(item)
        ends = [(bundle.source, bundle.target) for bundle in frame.bundles]
        peers = [(a, b) for a, b in ends if a != b and column[a] == column[b]]
        layers = order_layers(layers, links, peers)
        rank = {item: k for layer in layers for k, item in enumerate(layer)}
        touching = ports.ends_of(frame.bundles, column, rank, self.lanes)
        half = [self._half_height(state, touching) for state in range(len(frame.captions))]
        self.loops = {
            b.source: ports.Loop(caption, b, half[b.source] - caption.height / 2)
            for b in frame.bundles
            if b.source == b.target and (caption := frame.captions[b.source])
        }
        self.y = stack_rows(layers, links, *self._room(len(items), half))
        self.sides = {
            key: ports.lay_side(found, frame.bundles, frame.captions[key[0]], self.y.__getitem__)
            for key, found in touching.items()
        }
        self.end_at = {(e.bundle, e.role): e for found in touching.values() for e in found}
        self.track, self.tracks = self._tracks()
        self.clear = self._clear(len(layers))
        self.x = self._columns(len(layers))
        self.centres = tuple((self.x[c], self.y[s]) for s, c in enumerate(column))

    def _links(self, number: int, bundle: Bundle, items: list[int]) -> list[tuple[int, int]]:
        """Neighbours that a bundle makes; over several columns it needs lanes."""
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

    def _half_height(self, state: int, touching: dict[tuple[int, int], list[End]]) -> float:
        """Half the height of a state together with the rows beside it."""
        sides = (touching.get((state, side), ()) for side in (ports.LEFT, ports.RIGHT))
        rows = (ports.side_height(ends, self.frame.bundles) for ends in sides)
        return max(self.frame.captions[state].height, *rows) / 2

    def _room(self, items: int, half: Sequence[float]) -> tuple[list[float], list[float]]:
        """The room each item needs above and below its centre."""
        lanes = [_LANE] * (items - len(half))
        below = [height + _ROW_GAP for height in half] + lanes
        above = list(below)
        for state, loop in self.loops.items():
            above[state] = max(above[state], loop.top + _ROW_GAP)
        return above, below

    def _row(self, end: End) -> float:
        """The height of the row of an end."""
        return self.y[end.state] + self.sides[end.state, end.side].rows[end.bundle, end.role]

    def _tracks(self) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
        """The track of each line within a column, and how many there are at each side."""
        beside: dict[tuple[int, int], list[int]] = {}
        for (k, role), end in self.end_at.items():
            if end.peer and role == 0:
                beside.setdefault((self.column[end.state], end.side), []).append(k)
        track: dict[int, int] = {}
        count: dict[tuple[int, int], int] = {}
        for key, lines in beside.items():
            spans = [(self._row(self.end_at[k, 0]), self._row(self.end_at[k, 1])) for k in lines]
            chosen = ports.choose_tracks(spans)
            track |= dict(zip(lines, chosen, strict=True))
            count[key] = max(chosen) + 1
        return track, count

    def _clear(self, columns: int) -> dict[tuple[int, int], float]:
        """How far from the middle of a column its states and labels reach, to each side."""
        clear = {(c, side): 8.0 for c in range(columns) for side in (ports.LEFT, ports.RIGHT)}
        for state, caption in enumerate(self.frame.captions):
            for side in (ports.LEFT, ports.RIGHT):
                key = self.column[state], side
                found = self.sides.get((state, side))
                reach = found.reach if found is not None else 0.0
                clear[key] = max(clear[key], caption.width / 2 + reach)
        wide = [(self.column[s], loop.bundle.width / 2) for s, loop in self.loops.items()]
        for where, lines in enumerate(self.frame.headings[:columns]):
            wide += [(where, text_width(line) / 2) for line in lines]
        for where, half in wide:
            for side in (ports.LEFT, ports.RIGHT):
                clear[where, side] = max(clear[where, side], half + ports.LOOP_LIFT)
        return clear

    def _outer(self, where: int, side: int) -> float:
        """How far from the middle of a column its tracks reach."""
        tracks = self.tracks.get((where, side), 0)
        beyond = ports.FIRST_TRACK + tracks * ports.track_step(tracks) if tracks else 0.0
        return self.clear[where, side] + beyond

    def _columns(self, columns: int) -> list[float]:
        """The middle of each column."""
        steep, crowd = [0.0] * columns, [0] * columns
        for bundle in self.frame.bundles:
            start, end = self.column[bundle.source], self.column[bundle.target]
            if start != end:
                where = min(start, end)
                away = abs(self.y[bundle.source] - self.y[bundle.target])
                steep[where] = max(steep[where], min(away * _STEEP, _MOST_STEEP))
                crowd[where] += 1
        x = [0.0] if columns else []
        for k in range(1, columns):
            free = _LEAST_GAP + steep[k - 1] + min(_CROWD * crowd[k - 1], _MOST_CROWDED)
            x.append(x[-1] + self._outer(k - 1, ports.RIGHT) + free + self._outer(k, ports.LEFT))
        return x

    def curves(self) -> list[Curve]:
        """The line of each bundle."""
        made = []
        for k, bundle in enumerate(self.frame.bundles):
            if bundle.source == bundle.target:
                made.append(self.loops[bundle.source].curve(self.centres[bundle.source]))
            elif k in self.track:
                start, end = self.end_at[k, 0], self.end_at[k, 1]
                made.append(bracket(self._way(start), self._way(end)[::-1], self._track_x(k)))
            else:
                made.append(through(self._across(k, bundle)))
        return made

    def _way(self, end: End) -> list[Point]:
        """From the outline of a state through its row to where nothing is beside its column."""
        where, side = self.column[end.state], end.side
        x, y = self.centres[end.state]
        caption, found = self.frame.captions[end.state], self.sides[end.state, side]
        key = end.bundle, end.role
        dx, dy = ports.on_outline(caption, found.ports[key], side)
        points = [(x + dx, y + dy)]
        row = y + found.rows[key]
        if found.fan:
            points.append((x + side * (caption.width / 2 + found.fan), row))
        points.append((x + side * self.clear[where, side], row))
        return points

    def _track_x(self, number: int) -> float:
        end = self.end_at[number, 0]
        where, side = self.column[end.state], end.side
        step = ports.track_step(self.tracks[where, side])
        beyond = self.clear[where, side] + ports.FIRST_TRACK + self.track[number] * step
        return self.x[where] + side * beyond

    def _across(self, number: int, bundle: Bundle) -> list[Point]:
        """The points of a line to another column, past the tracks and through its lanes."""
        start, end = (self.end_at[number, role] for role in (0, 1))
        first, last = self._way(start), self._way(end)
        points = [*first, self._past(start, first[-1][1])]
        where, step = self.column[bundle.source], start.side
        for item in self.lanes.get(number, []):
            where += step
            points += [
                (self.x[where] + side * self._outer(where, side), self.y[item])
                for side in (-step, step)
            ]
        return _distinct([*points, self._past(end, last[-1][1]), *last[::-1]])

    def _past(self, end: End, height: float) -> Point:
        where = self.column[end.state]
        return self.x[where] + end.side * self._outer(where, end.side), height

    def labels(self) -> list[Point]:
        """The centre of each label: in its row, next to the state that is left."""
        places = []
        for k, bundle in enumerate(self.frame.bundles):
            x, y = self.centres[bundle.source]
            if bundle.source == bundle.target:
                dx, dy = self.loops[bundle.source].label
            else:
                end = self.end_at[k, 0]
                found = self.sides[end.state, end.side]
                width = self.frame.captions[end.state].width + bundle.width
                dx, dy = end.side * (width / 2 + found.fan + 1), found.rows[k, 0]
            places.append((x + dx, y + dy))
        return places


def _distinct(points: Sequence[Point]) -> list[Point]:
    """The points without those that repeat the one before."""
    return [p for k, p in enumerate(points) if not k or p != points[k - 1]]


def _fit(
    frame: Frame, centres: Sequence[Point], curves: Sequence[Curve], labels: Sequence[Point]
) -> Placement:
    """Everything moved so that it lies inside the margins."""
    items: list[Caption | Bundle] = [*frame.captions, *frame.bundles]
    sized = zip([*centres, *labels], items, strict=True)
    corners = [
        (x + side * item.width / 2, y + side * item.height / 2)
        for (x, y), item in sized
        for side in (-1, 1)
    ]
    corners += [point for curve in curves for point in curve]
    if not corners:
        return Placement((), (), (), 2 * _MARGIN, 2 * _MARGIN)
    xs, ys = zip(*corners, strict=True)
    left, top = min(xs) - _MARGIN - START_LENGTH, min(ys) - _MARGIN

    def moved(points: Sequence[Point]) -> Curve:
        return tuple((x - left, y - top) for x, y in points)

    lines = tuple(map(moved, curves))
    size = max(xs) + _MARGIN - left, max(ys) + _MARGIN - top
    return Placement(moved(centres), lines, moved(labels), *size)
