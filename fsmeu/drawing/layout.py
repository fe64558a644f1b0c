"""A layered layout that needs no other program: left to right by the steps from the start.

States stand in columns by their depth. Order: a sweep sorts each layer by the mean position of its
neighbours in the layer before, then the other way round (Sugiyama, Tagawa & Toda 1981); neighbours
are then swapped while that removes crossings or brings items closer that are joined within a layer.
The best order met is kept. Heights: each layer in turn takes the mean heights of its neighbours as
wishes; the nearest heights (least squares) that keep order and distances are an isotonic
regression.

The label of a line stands beside the state that the line leaves; only then come the tracks of lines
within the column (``lines``), and the space in which lines to other columns change their height.
Lines over several columns get lanes of their own. So no line but its own ever comes near a label.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from fsmeu.drawing.frame import Bundle, Caption, Frame, text_width
from fsmeu.drawing.lines import (
    FIRST_TRACK,
    LEFT,
    LOOP_LIFT,
    RIGHT,
    Curve,
    End,
    Loop,
    Point,
    bracket,
    choose_tracks,
    ends_of,
    lay_side,
    on_outline,
    side_height,
    through,
    track_step,
)

_SWEEPS, _HEIGHT_SWEEPS = 12, 24
_SWAPS = 8
_MOST_SWAPPED = 60  # layers wider than this are left to the barycentres

Layers = list[list[int]]
Links = Sequence[tuple[int, int]]
Neighbours = dict[int, list[int]]


def order_layers(layers: Layers, links: Links, peers: Links = ()) -> Layers:
    """The layers in an order with few crossings.

    Args:
        layers: items of each layer, in some order.
        links: pairs of items in adjacent layers, the one in the earlier layer first.
        peers: pairs of items in the same layer that should be close.
    """
    before, after = _neighbours(layers, links)
    beside = _neighbours(layers, [*peers, *((b, a) for a, b in peers)])[0]
    best = [list(layer) for layer in layers]
    fewest = _total(best, after) + _apart(best, beside)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        _sweep(current, before if sweep % 2 == 0 else after, forward=sweep % 2 == 0)
        for _ in range(_SWAPS):
            if not _swap(current, before, after, beside):
                break
        faults = _total(current, after) + _apart(current, beside)
        if faults < fewest:
            best, fewest = [list(layer) for layer in current], faults
    return best


def _neighbours(layers: Layers, links: Links) -> tuple[Neighbours, Neighbours]:
    before: Neighbours = {item: [] for layer in layers for item in layer}
    after: Neighbours = {item: [] for layer in layers for item in layer}
    for left, right in links:
        after[left].append(right)
        before[right].append(left)
    return before, after


def _sweep(layers: Layers, fixed: Neighbours, forward: bool) -> None:
    order = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
    for k in order:
        place = {item: p for p, item in enumerate(layers[k - 1 if forward else k + 1])}
        own = {item: p for p, item in enumerate(layers[k])}
        centre = {
            item: sum(place[x] for x in fixed[item]) / len(fixed[item])
            if fixed[item]
            else float(own[item])
            for item in layers[k]
        }
        layers[k].sort(key=lambda item, c=centre, o=own: (c[item], o[item]))  # type: ignore[misc]


def _swap(layers: Layers, before: Neighbours, after: Neighbours, beside: Neighbours) -> bool:
    """Swaps neighbours in each layer where that helps; says whether it did anywhere."""
    helped = False
    for k, layer in enumerate(layers):
        if len(layer) > _MOST_SWAPPED:
            continue
        sides = []
        if k:
            sides.append((before, {item: p for p, item in enumerate(layers[k - 1])}))
        if k + 1 < len(layers):
            sides.append((after, {item: p for p, item in enumerate(layers[k + 1])}))
        place = {item: p for p, item in enumerate(layer)}
        for p in range(len(layer) - 1):
            upper, lower = layer[p], layer[p + 1]
            gain = _closer(upper, lower, p, beside, place)
            for side, there in sides:
                above = [there[x] for x in side[upper]]
                below = [there[x] for x in side[lower]]
                gain += _inversions(above, below) - _inversions(below, above)
            if gain > 0:
                layer[p], layer[p + 1] = lower, upper
                place[lower], place[upper] = p, p + 1
                helped = True
    return helped


def _closer(upper: int, lower: int, at: int, beside: Neighbours, place: dict[int, int]) -> int:
    """How many places shorter the ways within the layer become when two neighbours are swapped."""
    down = sum(1 if place[x] > at + 1 else -1 for x in beside[upper] if x != lower)
    up = sum(1 if place[x] < at else -1 for x in beside[lower] if x != upper)
    return down + up


def _inversions(above: list[int], below: list[int]) -> int:
    return sum(a > b for a in above for b in below)


def _apart(layers: Layers, beside: Neighbours) -> int:
    """How far items that are joined within a layer are from being next to each other."""
    total = 0
    for layer in layers:
        place = {item: p for p, item in enumerate(layer)}
        total += sum(abs(place[x] - p) - 1 for item, p in place.items() for x in beside[item])
    return total // 2


def _total(layers: Layers, after: Neighbours) -> int:
    """Crossings of all layers: inversions in the sequence of right ends, counted by insertion."""
    crossings = 0
    for left, right in pairwise(layers):
        place = {item: p for p, item in enumerate(right)}
        met: list[int] = []
        for item in left:
            ends = sorted(place[x] for x in after[item])
            crossings += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return crossings


def stack_rows(
    layers: Layers, links: Links, above: Sequence[float], below: Sequence[float]
) -> list[float]:
    """The height of each item's centre, growing downwards.

    Args:
        layers: the items of each layer, from top to bottom.
        links: pairs of items in adjacent layers, the earlier first.
        above: the room that each item needs above its centre.
        below: the same below it.
    """
    height = [0.0] * len(above)
    before, after = _neighbours(layers, links)
    for layer in layers:
        _settle(layer, [0.0] * len(layer), height, above, below)
    for sweep in range(_HEIGHT_SWEEPS):
        order = layers if sweep % 2 == 0 else list(reversed(layers))
        for layer in order:
            sides = (
                [before, after] if sweep >= _HEIGHT_SWEEPS // 2 else [(before, after)[sweep % 2]]
            )
            wishes = []
            for item in layer:
                seen = [height[x] for side in sides for x in side[item]]
                wishes.append(sum(seen) / len(seen) if seen else height[item])
            _settle(layer, wishes, height, above, below)
    return height


def _settle(
    layer: Sequence[int],
    wishes: Sequence[float],
    height: list[float],
    above: Sequence[float],
    below: Sequence[float],
) -> None:
    offsets = [0.0]
    for upper, lower in pairwise(layer):
        offsets.append(offsets[-1] + below[upper] + above[lower])
    if layer:
        found = isotonic_regression(np.subtract(wishes, offsets)).x + offsets
        for item, at in zip(layer, found.tolist(), strict=True):
            height[item] = at


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
        touching = ends_of(frame.bundles, column, rank, self.lanes)
        half = [self._half_height(state, touching) for state in range(len(frame.captions))]
        self.loops = {
            b.source: Loop(caption, b, half[b.source] - caption.height / 2)
            for b in frame.bundles
            if b.source == b.target and (caption := frame.captions[b.source])
        }
        self.y = stack_rows(layers, links, *self._room(len(items), half))
        self.sides = {
            key: lay_side(found, frame.bundles, frame.captions[key[0]], self.y.__getitem__)
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
        sides = (touching.get((state, side), ()) for side in (LEFT, RIGHT))
        rows = (side_height(ends, self.frame.bundles) for ends in sides)
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
            chosen = choose_tracks(spans)
            track |= dict(zip(lines, chosen, strict=True))
            count[key] = max(chosen) + 1
        return track, count

    def _clear(self, columns: int) -> dict[tuple[int, int], float]:
        """How far from the middle of a column its states and labels reach, to each side."""
        clear = {(c, side): 8.0 for c in range(columns) for side in (LEFT, RIGHT)}
        for state, caption in enumerate(self.frame.captions):
            for side in (LEFT, RIGHT):
                key = self.column[state], side
                found = self.sides.get((state, side))
                reach = found.reach if found is not None else 0.0
                clear[key] = max(clear[key], caption.width / 2 + reach)
        wide = [(self.column[s], loop.bundle.width / 2) for s, loop in self.loops.items()]
        for where, lines in enumerate(self.frame.headings[:columns]):
            wide += [(where, text_width(line) / 2) for line in lines]
        for where, half in wide:
            for side in (LEFT, RIGHT):
                clear[where, side] = max(clear[where, side], half + LOOP_LIFT)
        return clear

    def _outer(self, where: int, side: int) -> float:
        """How far from the middle of a column its tracks reach."""
        tracks = self.tracks.get((where, side), 0)
        beyond = FIRST_TRACK + tracks * track_step(tracks) if tracks else 0.0
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
            x.append(x[-1] + self._outer(k - 1, RIGHT) + free + self._outer(k, LEFT))
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
        dx, dy = on_outline(caption, found.ports[key], side)
        points = [(x + dx, y + dy)]
        row = y + found.rows[key]
        if found.fan:
            points.append((x + side * (caption.width / 2 + found.fan), row))
        points.append((x + side * self.clear[where, side], row))
        return points

    def _track_x(self, number: int) -> float:
        end = self.end_at[number, 0]
        where, side = self.column[end.state], end.side
        step = track_step(self.tracks[where, side])
        beyond = self.clear[where, side] + FIRST_TRACK + self.track[number] * step
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
