"""How a machine looks: which shapes stand for its states, arcs, values and probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fsmeu.drawing.layout.placement import START_LENGTH, Placement
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape, Text, mix
from fsmeu.drawing.scene.frame import FONT, LINE, SMALL, Bundle, Caption, Frame, text_width
from fsmeu.drawing.scene.route import Route
from fsmeu.exchange.automaton import Automaton

__all__ = [
    "GROUND",
    "INK",
    "MASS",
    "QUIET",
    "ROUTE",
    "VALUE",
    "flow_of",
    "machine_picture",
    "room_above",
    "writing_above",
]

INK, QUIET, GROUND = "#222222", "#555555", "#ffffff"
ROUTE, MASS, VALUE = "#d55e00", "#56b4e9", "#00664f"
_HEAD = 7.0
_THIN, _THICK = 0.7, 5.0
_TITLE = 26.0


def machine_picture(
    automaton: Automaton, frame: Frame, placement: Placement, route: Route | None
) -> Picture:
    """The picture of a machine whose parts are placed."""
    room = room_above(frame)
    painter = _Painter(automaton, frame, placement, route, _TITLE + room)
    title = frame.title
    width = max(placement.width, text_width(title) + 24)
    heading = Text(12, _TITLE / 2 + 3, title, FONT, QUIET, anchor="start")
    width = max(width, *(text_width(note, SMALL) + 24 for note in frame.notes), 0.0)
    shapes: list[Shape] = [heading]
    for x, y, line, anchor in writing_above(automaton, frame, placement):
        shapes.append(Text(x, y + _TITLE, line, SMALL, QUIET, anchor=anchor))
    shapes += painter.shapes()
    return Picture(title, width, placement.height + _TITLE + room, tuple(shapes))


def room_above(frame: Frame) -> float:
    """The height that notes and headings of columns need above a machine."""
    lines = len(frame.notes) + max(map(len, frame.headings), default=0)
    return SMALL * LINE * lines + 6 if lines else 0.0


def writing_above(
    automaton: Automaton, frame: Frame, placement: Placement
) -> Iterator[tuple[float, float, str, str]]:
    """Notes and headings of columns, line by line: place, text and anchor."""
    for k, note in enumerate(frame.notes):
        yield 12.0, 8 + k * SMALL * LINE, note, "start"
    top = 10 + len(frame.notes) * SMALL * LINE
    for depth, lines in enumerate(frame.headings):
        states = np.flatnonzero(automaton.depth == depth)
        x = float(np.mean([placement.centres[state][0] for state in states]))
        for k, line in enumerate(lines):
            yield x, top + k * SMALL * LINE, line, "middle"


def flow_of(automaton: Automaton, bundle: Bundle) -> float | None:
    """The probability of passing through a bundle of arcs, if there is a model."""
    if automaton.masses is None:
        return None
    factors = np.exp(-automaton.table.weight[list(bundle.arcs)])
    return min(1.0, float(automaton.masses[bundle.source] * factors.sum()))


class _Painter:
    """Turns one machine into shapes; everything is moved down to make room for what is above."""

    def __init__(
        self,
        automaton: Automaton,
        frame: Frame,
        placement: Placement,
        route: Route | None,
        down: float,
    ) -> None:
        self.automaton, self.frame, self.placement = automaton, frame, placement
        self.down = down
        self.states = route.states if route is not None else frozenset[int]()
        self.arcs = route.arcs if route is not None else frozenset[int]()

    def shapes(self) -> Iterator[Shape]:
        """Lines first, then states, then the labels of the lines."""
        order = sorted(range(len(self.frame.bundles)), key=lambda k: (self._marked(k), k))
        yield from (self._line(k) for k in order)
        for state, caption in enumerate(self.frame.captions):
            yield from self._state(state, caption)
        for k in order:
            yield from self._label(k)

    def _marked(self, number: int) -> bool:
        return any(arc in self.arcs for arc in self.frame.bundles[number].arcs)

    def _line(self, number: int) -> Line:
        bundle = self.frame.bundles[number]
        marked = self._marked(number)
        colour = ROUTE if marked else INK
        width = 2.2 if marked else 1.0
        flow = flow_of(self.automaton, bundle)
        tip = bundle.tip
        if flow is not None:
            width = _THIN + (_THICK - _THIN) * flow
            colour = ROUTE if marked else mix(INK, 0.35 + 0.65 * math.sqrt(flow))
            tip += f", probability {flow!r}"
        curve = tuple((x, y + self.down) for x, y in self.placement.curves[number])
        return Line(curve, colour, width, _HEAD + width, tip)

    def _state(self, state: int, caption: Caption) -> Iterator[Shape]:
        x, y = self.placement.centres[state]
        y += self.down
        marked = state in self.states
        stroke = ROUTE if marked else INK
        width, height = caption.width, caption.height
        if state == self.automaton.table.start:
            left = x - width / 2
            tail = left - START_LENGTH
            points = ((tail, y), (tail + 8, y), (left - 8, y), (left, y))
            yield Line(points, stroke, 1.6, _HEAD + 1.6, "the start")
        line = 2.0 if marked else 1.2
        yield Box(x, y, width, height, height / 2, self._fill(state), stroke, line, caption.tip)
        if self.automaton.ending[state]:
            inner = height / 2 - 2.8
            yield Box(x, y, width - 5.6, height - 5.6, inner, "none", stroke, 0.8)
        rows = [*caption.lines, *([caption.value] if caption.value else [])]
        top = y - (len(rows) - 1) * FONT * LINE / 2
        for k, row in enumerate(rows):
            colour = VALUE if k == len(caption.lines) else INK
            yield Text(x, top + k * FONT * LINE, row, FONT, colour, bold=k == len(caption.lines))

    def _fill(self, state: int) -> str:
        if self.automaton.masses is None:
            return mix(ROUTE, 0.12) if state in self.states else GROUND
        share = min(1.0, max(0.0, float(self.automaton.masses[state])))
        return mix(MASS, math.sqrt(share))

    def _label(self, number: int) -> Iterator[Text]:
        bundle = self.frame.bundles[number]
        x, y = self.placement.labels[number]
        colour = ROUTE if self._marked(number) else INK
        top = y + self.down - (len(bundle.lines) - 1) * SMALL * LINE / 2
        for k, line in enumerate(bundle.lines):
            plate = text_width(line, SMALL)
            yield Text(x, top + k * SMALL * LINE, line, SMALL, colour, plate=plate)
