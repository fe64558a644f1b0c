"""A layered layout that needs no other program: left to right by the steps from the start.

States stand in columns by their depth. Order: a sweep sorts each layer by the mean position of its
neighbours in the layer before, then the other way round (Sugiyama, Tagawa & Toda 1981); neighbours
are then swapped while that removes crossings or brings items closer that are joined within a layer.
The best order is kept. Heights: each layer in turn takes the mean heights of its neighbours as
wishes; the nearest heights (least squares) that keep order and distances are an isotonic
regression.

The label of a line stands beside the state that the line leaves; only then come the tracks of lines
within the column (``lines``), and the space in which lines to other columns change their height.
Lines over several columns get lanes of their own. So no line but its own ever comes near a label.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

import fsmeu.drawing.lines as lines
from fsmeu.drawing.frame import Bundle, Caption, Frame, text_width
from fsmeu.drawing.lines import LEFT, LOOP_LIFT, RIGHT, Curve, End, Loop, Point

_SWEEPS = 12
_HEIGHT_SWEEPS = 24
_SWAPS = 8
_MOST_SWAPPED = 60  # layers wider than this are left to the barycentres

Layers = list[list[int]]
Links = Sequence[tuple[int, int]]
Neighbours = dict[int, list[int]]


def order_layers(layers: Layers, links: Links, peers: Links = ()) -> Layers:
    """The layers in an order with few crossings.

    Links are pairs of items in adjacent layers, the one in the earlier layer first; peers are pairs
    in the same layer that should be close.
    """
    before, after = _neighbours(links)
    beside = _neighbours([*peers, *((b, a) for a, b in peers)])[0]
    best = layers
    fewest = _faults(layers, after, beside)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        backward = sweep % 2
        _sweep(current[::-1] if backward else current, after if backward else before)
        for _ in range(_SWAPS):
            if not _swap(current, before, after, beside):
                break
        faults = _faults(current, after, beside)
        if faults < fewest:
            best = [list(layer) for layer in current]
            fewest = faults
    return best


def _neighbours(links: Links) -> tuple[Neighbours, Neighbours]:
    """The items before and after each item."""
    before = defaultdict(list)
    after = defaultdict(list)
    for left, right in links:
        after[left].append(right)
        before[right].append(left)
    return before, after


def _places(layers: Layers) -> dict[int, int]:
    """The place of each item in its layer."""
    return {item: p for layer in layers for p, item in enumerate(layer)}


def _sweep(layers: Layers, fixed: Neighbours) -> None:
    """Sorts each layer but the first by the mean places of neighbours in the one before."""
    for still, layer in pairwise(layers):
        place = _places([still, layer])
        near = {item: [place[x] for x in fixed[item]] or [place[item]] for item in layer}
        centre = {item: sum(places) / len(places) for item, places in near.items()}
        layer.sort(key=centre.__getitem__)


def _swap(layers: Layers, before: Neighbours, after: Neighbours, beside: Neighbours) -> bool:
    """Swaps neighbours in each layer where that helps; says whether it did anywhere."""
    helped = False
    place = _places(layers)
    for layer in layers:
        for p in range(len(layer) - 1) if len(layer) <= _MOST_SWAPPED else ():
            upper, lower = layer[p : p + 2]
            # places by which ways within the layer become shorter, and crossings that go
            gain = sum(1 if place[x] > p + 1 else -1 for x in beside[upper] if x != lower)
            gain += sum(1 if place[x] < p else -1 for x in beside[lower] if x != upper)
            for side in (before, after):
                for a, b in product(side[upper], side[lower]):
                    gain += (place[a] > place[b]) - (place[a] < place[b])
            if gain > 0:
                layer[p : p + 2] = lower, upper
                place[lower] = p
                place[upper] = p + 1
                helped = True
    return helped


def _faults(layers: Layers, after: Neighbours, beside: Neighbours) -> int:
    """Crossings, and how far items joined within a layer are from being next to each other."""
    place = _places(layers)
    faults = sum(abs(place[x] - p) - 1 for item, p in place.items() for x in beside[item]) // 2
    for layer in layers:
        passed: list[int] = []  # right ends; their inversions are the crossings
        for item in layer:
            ends = [place[x] for x in after[item]]
            faults += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return faults


def stack_rows(
    layers: Layers, links: Links, above: Sequence[float], below: Sequence[float]
) -> list[float]:
    """The height of each item's centre, growing downwards; it has so much room above and below."""
    from scipy.optimize import isotonic_regression  # takes half a second to load

    height = [0.0] * len(above)
    sides = _neighbours(links)
    offsets = [np.cumsum([0.0, *(below[a] + above[b] for a, b in pairwise(x))]) for x in layers]

    def settle(layer: int, wishes: Sequence[float]) -> None:
        heights = isotonic_regression(np.subtract(wishes, offsets[layer])).x + offsets[layer]
        for item, at in zip(layers[layer], heights.tolist(), strict=True):
            height[item] = at

    for k, layer in enumerate(layers):
        settle(k, [0.0] * len(layer))
    for sweep in range(_HEIGHT_SWEEPS):
        order = range(len(layers))
        directions = sides if sweep >= _HEIGHT_SWEEPS // 2 else sides[sweep % 2 : sweep % 2 + 1]
        for k in order if sweep % 2 == 0 else reversed(order):
            near = [[height[x] for side in directions for x in side[item]] for item in layers[k]]
            current = (height[item] for item in layers[k])
            settle(k, [sum(x) / len(x) if x else h for x, h in zip(near, current, strict=True)])
    return height


_MARGIN = 16.0
START_LENGTH = 26.0
_ROW_GAP = 7.0
_LANE = 7.0
_LEAST_CLEAR = 8.0
_LEAST_GAP = 28.0
_STEEP = 0.14
_MOST_STEEP = 130.0
_CROWD = 1.5
_MOST_CROWDED = 70.0
_FIRST_TRACK = 9.0  # from the labels to the first track
_TRACK = 8.0  # between neighbouring tracks
_ALL_TRACKS = 260.0  # the height of all tracks at most: many are closer together


@dataclass(frozen=True)
class Placement:
    """The coordinates of states, lines and labels, in pixels from the top left corner."""

    centres: tuple[Point, ...]  # of the states
    curves: tuple[Curve, ...]  # the line of each bundle of arcs
    labels: tuple[Point, ...]  # the centre of each bundle's label
    width: float
    height: float


def place(frame: Frame, depth: Sequence[int]) -> Placement:
    """The places of states and arcs; a state of depth -1, not reached, is in the last column."""
    last = max(depth, default=0)
    grid = _Grid(frame, [d if d >= 0 else last + 1 for d in depth])
    numbered = list(enumerate(frame.bundles))
    curves = [grid.curve(*x) for x in numbered]
    labels = [grid.label(*x) for x in numbered]
    return _fit(frame, grid.centres, curves, labels)


def _ways(bundles: Sequence[Bundle], column: Sequence[int]) -> tuple[Layers, list[int], Links]:
    """The way of each line through states and lanes; the column of each of these; links of them."""
    ways: Layers = []
    items = list(column)
    links = list[tuple[int, int]]()
    for bundle in bundles:
        first = column[bundle.source]
        last = column[bundle.target]
        step = 1 if last > first else -1
        between = range(first + step, last, step)
        ways.append([bundle.source, *range(len(items), len(items) + len(between)), bundle.target])
        items += between
        if first != last:
            links += [(a, b) if step > 0 else (b, a) for a, b in pairwise(ways[-1])]
    return ways, items, links


class _Grid:
    """States and lanes in ordered columns, with coordinates."""

    def __init__(self, frame: Frame, column: list[int]) -> None:
        self.frame = frame
        self.column = column
        bundles = frame.bundles
        captions = frame.captions
        self.ways, items, links = _ways(bundles, column)
        layers: Layers = [[] for _ in range(max(items, default=-1) + 1)]
        for item, where in enumerate(items):
            layers[where].append(item)
        pairs = [(b.source, b.target) for b in bundles if b.source != b.target]
        layers = order_layers(layers, links, [(a, b) for a, b in pairs if column[a] == column[b]])
        rank = _places(layers)
        self.ends: dict[int, tuple[End, End]] = {}  # of lines that are no loops
        touching: dict[tuple[int, int], list[End]] = defaultdict(list)  # by state and side
        for k, b in enumerate(bundles):
            if b.source != b.target:
                self.ends[k] = lines.line_ends(k, self.ways[k], column, rank)
                for end in self.ends[k]:
                    touching[end.state, end.side].append(end)
        high = [caption.height for caption in captions]  # of states with the rows beside them
        for (state, _), ends in touching.items():
            high[state] = max(high[state], lines.side_height(ends, bundles))
        self.loops = {
            b.source: Loop(captions[b.source], b, (high[b.source] - captions[b.source].height) / 2)
            for b in bundles
            if b.source == b.target
        }
        below = [h / 2 + _ROW_GAP for h in high] + [_LANE] * (len(items) - len(high))
        above = list(below)
        for state, loop in self.loops.items():
            above[state] = max(above[state], loop.top + _ROW_GAP)
        self.y = stack_rows(layers, links, above, below)
        reach = {
            (state, side): lines.lay_side(ends, bundles, captions[state], self.y)
            for (state, side), ends in touching.items()
        }
        self.clear = self._clear(len(layers), reach)
        self.tracks, self.outer = self._tracks()
        self.x = self._columns(len(layers))
        self.centres = tuple((self.x[c], self.y[s]) for s, c in enumerate(column))

    def _clear(
        self, columns: int, reach: dict[tuple[int, int], float]
    ) -> dict[tuple[int, int], float]:
        """The extent of states and labels from the middle of a column, by column and side."""
        column = self.column
        frame = self.frame
        wide = [(column[b.source], b.width) for b in frame.bundles if b.source == b.target]
        for where, texts in enumerate(frame.headings[:columns]):
            wide += [(where, text_width(text)) for text in texts]
        clear = dict[tuple[int, int], float]()
        for side in (LEFT, RIGHT):
            halves = [_LEAST_CLEAR] * columns
            for state, caption in enumerate(frame.captions):
                half = caption.width / 2 + reach.get((state, side), 0.0)
                halves[column[state]] = max(halves[column[state]], half)
            for where, width in wide:
                halves[where] = max(halves[where], width / 2 + LOOP_LIFT)
            clear |= {(where, side): half for where, half in enumerate(halves)}
        return clear

    def _tracks(self) -> tuple[dict[int, float], dict[tuple[int, int], float]]:
        """The distance of each line's track from the middle of its column, and where all end."""
        beside: dict[tuple[int, int], list[int]] = defaultdict(list)
        for k, (end, _) in self.ends.items():
            if end.peer:
                beside[self.column[end.state], end.side].append(k)
        tracks = dict[int, float]()
        outer = dict(self.clear)
        for key, numbers in beside.items():
            rows = [[self.y[end.state] + end.row for end in self.ends[k]] for k in numbers]
            chosen = lines.choose_tracks([(a, b) for a, b in rows])
            step = min(_TRACK, _ALL_TRACKS / (max(chosen) + 1))
            first = self.clear[key] + _FIRST_TRACK
            tracks |= {k: first + track * step for k, track in zip(numbers, chosen, strict=True)}
            outer[key] = first + (max(chosen) + 1) * step
        return tracks, outer

    def _columns(self, columns: int) -> list[float]:
        """The middle of each column."""
        steep = [0.0] * columns
        crowd = [0] * columns
        for bundle in self.frame.bundles:
            start = self.column[bundle.source]
            end = self.column[bundle.target]
            if start != end:
                where = min(start, end)
                away = abs(self.y[bundle.source] - self.y[bundle.target])
                steep[where] = max(steep[where], min(away * _STEEP, _MOST_STEEP))
                crowd[where] += 1
        x = [0.0] if columns else []
        for k in range(1, columns):
            free = _LEAST_GAP + steep[k - 1] + min(_CROWD * crowd[k - 1], _MOST_CROWDED)
            x.append(x[-1] + self.outer[k - 1, RIGHT] + free + self.outer[k, LEFT])
        return x

    def curve(self, number: int, bundle: Bundle) -> Curve:
        """The line of a bundle."""
        if bundle.source == bundle.target:
            return self.loops[bundle.source].curve(self.centres[bundle.source])
        start, end = self.ends[number]
        first = self._way(start)
        last = self._way(end)[::-1]
        where = self.column[bundle.source]
        step = start.side
        if start.peer:
            return lines.bracket(first, last, self.x[where] + step * self.tracks[number])
        points = [*first, (self._past(start), first[-1][1])]
        for lane in self.ways[number][1:-1]:
            where += step
            x = self.x[where]
            y = self.y[lane]
            points += [(x + side * self.outer[where, side], y) for side in (-step, step)]
        points += [(self._past(end), last[0][1]), *last]
        return lines.through([p for k, p in enumerate(points) if not k or p != points[k - 1]])

    def _way(self, end: End) -> list[Point]:
        """From the outline of a state through its row to where nothing is beside its column."""
        x, y = self.centres[end.state]
        caption = self.frame.captions[end.state]
        radius = caption.height / 2
        inset = radius - max(radius**2 - end.port**2, 0.0) ** 0.5  # its ends are half circles
        away = [(caption.width / 2 - inset, end.port)]
        if end.fan:
            away.append((caption.width / 2 + end.fan, end.row))
        away.append((self.clear[self.column[end.state], end.side], end.row))
        return [(x + end.side * dx, y + dy) for dx, dy in away]

    def _past(self, end: End) -> float:
        """The x coordinate where a line has passed the tracks beside its column."""
        where = self.column[end.state]
        return self.x[where] + end.side * self.outer[where, end.side]

    def label(self, number: int, bundle: Bundle) -> Point:
        """The centre of a label: in its row, next to the state that is left, or at its loop."""
        x, y = self.centres[bundle.source]
        if bundle.source == bundle.target:
            dx, dy = self.loops[bundle.source].label
            return x + dx, y + dy
        end = self.ends[number][0]
        caption = self.frame.captions[bundle.source]
        return x + end.side * ((caption.width + bundle.width) / 2 + end.fan + 1), y + end.row


def _fit(
    frame: Frame, centres: Sequence[Point], curves: Sequence[Curve], labels: Sequence[Point]
) -> Placement:
    """Everything moved so that it lies inside the margins."""
    items: list[Caption | Bundle] = [*frame.captions, *frame.bundles]
    corners = [point for curve in curves for point in curve]
    for (x, y), item in zip([*centres, *labels], items, strict=True):
        corners += [(x + side * item.width / 2, y + side * item.height / 2) for side in (-1, 1)]
    if not corners:
        return Placement((), (), (), 2 * _MARGIN, 2 * _MARGIN)
    xs, ys = zip(*corners, strict=True)
    left = min(xs) - _MARGIN - START_LENGTH
    top = min(ys) - _MARGIN

    def moved(points: Sequence[Point]) -> Curve:
        return tuple((x - left, y - top) for x, y in points)

    size = max(xs) + _MARGIN - left, max(ys) + _MARGIN - top
    return Placement(moved(centres), tuple(map(moved, curves)), moved(labels), *size)
