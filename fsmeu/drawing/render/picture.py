"""Pictures as shapes, and the shapes that stand for states, arcs, values and probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fsmeu.drawing.layout.curves import Curve, Point, arrow_head, shorten_end
from fsmeu.drawing.layout.layered import START_LENGTH, Placement
from fsmeu.drawing.scene.frame import FONT, LINE, SMALL, Bundle, Caption, Frame, text_width
from fsmeu.drawing.scene.parts import Route
from fsmeu.exchange.automaton import Automaton

INK, QUIET, GROUND = "#222222", "#555555", "#ffffff"
ROUTE, MASS, VALUE = "#d55e00", "#56b4e9", "#00664f"
_HEAD = 7.0
_THIN, _THICK = 0.7, 5.0
_TITLE = 26.0


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What all shapes have."""

    tip: str = ""  # told when it is pointed at
    group: str = ""  # attributes of the SVG element around neighbours of the same group


@dataclass(frozen=True)
class Box(_Shape):
    """A rectangle with rounded corners around a centre, with an outline if ``line`` is not 0."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str = "none"
    line: float = 0.0


@dataclass(frozen=True)
class Line(_Shape):
    """A Bézier curve, with an arrow head of the given size at its end if that is not 0."""

    curve: Curve
    stroke: str
    line: float
    head: float = 0.0

    @property
    def shaft(self) -> Curve:
        """The curve without the part that the arrow head covers."""
        return shorten_end(self.curve, self.head * 0.7) if self.head else self.curve

    @property
    def corners(self) -> tuple[Point, ...]:
        """The corners of the arrow head, if there is one."""
        return arrow_head(self.curve, self.head) if self.head else ()


@dataclass(frozen=True)
class Text(_Shape):
    """A line of text, vertically centred; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "middle"
    bold: bool = False


Shape = Box | Line | Text


@dataclass(frozen=True)
class Picture:
    """Shapes on a white ground, painted in their order; colours are #rrggbb."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def decimals(value: float) -> str:
    """A coordinate as files of pictures have it: up to two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def plated(text: Text) -> tuple[Box, Text]:
    """A centred text with a patch of the ground behind it."""
    width, height = text_width(text.text, text.size), 1.2 * text.size
    return Box(text.x, text.y, width, height, 0.0, GROUND, group=text.group), text


def mix(colour: str, share: float, ground: str = "#ffffff") -> str:
    """A colour laid over a ground, as much of it as the share says."""
    parts = [(int(colour[k : k + 2], 16), int(ground[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(b + (a - b) * share):02x}" for a, b in parts)


def machine_picture(
    automaton: Automaton, frame: Frame, placement: Placement, route: Route
) -> Picture:
    """The picture of a machine whose parts are placed, below its title, notes and headings."""
    lines = len(frame.notes) + max(map(len, frame.headings), default=0)
    down = _TITLE + (SMALL * LINE * lines + 6 if lines else 0.0)
    wide = [placement.width, text_width(frame.title) + 24]
    wide += [text_width(note, SMALL) + 24 for note in frame.notes]
    shapes: list[Shape] = [
        Text(12, _TITLE / 2 + 3, frame.title, FONT, QUIET, anchor="start"),
        *_writing_above(automaton, frame, placement),
        *_Painter(automaton, frame, placement, route, down).shapes(),
    ]
    return Picture(frame.title, max(wide), placement.height + down, tuple(shapes))


def _writing_above(automaton: Automaton, frame: Frame, placement: Placement) -> Iterator[Text]:
    """Notes, and headings of columns."""
    for k, note in enumerate(frame.notes):
        yield Text(12.0, _TITLE + 8 + k * SMALL * LINE, note, SMALL, QUIET, anchor="start")
    top = _TITLE + 10 + len(frame.notes) * SMALL * LINE
    for states, lines in zip(automaton.layers, frame.headings, strict=True):
        x = float(np.mean([placement.centres[state][0] for state in states]))
        for k, line in enumerate(lines):
            yield Text(x, top + k * SMALL * LINE, line, SMALL, QUIET)


def flow_of(automaton: Automaton, bundle: Bundle) -> float | None:
    """The probability of passing through a bundle of arcs, if there is a model."""
    if automaton.masses is None:
        return None
    factors = np.exp(-automaton.table.weight[list(bundle.arcs)])
    return min(1.0, float(automaton.masses[bundle.source] * factors.sum()))


def shade_of(automaton: Automaton, state: int) -> float | None:
    """How dark a state is: the root of its probability, if there is a model."""
    if automaton.masses is None:
        return None
    return math.sqrt(min(1.0, max(0.0, float(automaton.masses[state]))))


class _Painter:
    """Turns one machine into shapes; everything is moved down to make room for what is above."""

    def __init__(
        self, automaton: Automaton, frame: Frame, placement: Placement, route: Route, down: float
    ) -> None:
        self.automaton, self.frame, self.placement = automaton, frame, placement
        self.route, self.down = route, down

    def shapes(self) -> Iterator[Shape]:
        """Lines first, then states, then the labels of the lines."""
        order = sorted(range(len(self.frame.bundles)), key=lambda k: (self._marked(k), k))
        yield from (self._line(k) for k in order)
        for state, caption in enumerate(self.frame.captions):
            yield from self._state(state, caption)
        for k in order:
            yield from self._label(k)

    def _marked(self, number: int) -> bool:
        return self.route.takes(self.frame.bundles[number].arcs)

    def _edge(self, number: int) -> str:
        bundle = self.frame.bundles[number]
        kind = "edge route" if self._marked(number) else "edge"
        return f'class="{kind}" data-from="{bundle.source}" data-to="{bundle.target}"'

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
        return Line(curve, colour, width, _HEAD + width, tip=tip, group=self._edge(number))

    def _state(self, state: int, caption: Caption) -> Iterator[Shape]:
        x, y = self.placement.centres[state]
        y += self.down
        marked = state in self.route.states
        stroke = ROUTE if marked else INK
        kind, width, height = " route" if marked else "", caption.width, caption.height
        if state == self.automaton.table.start:
            left = x - width / 2
            tail = left - START_LENGTH
            points = ((tail, y), (tail + 8, y), (left - 8, y), (left, y))
            group = f'class="edge start{kind}"'
            yield Line(points, stroke, 1.6, _HEAD + 1.6, tip="the start", group=group)
        group = f'class="node{kind}" data-state="{state}"'
        fill = mix(ROUTE, 0.12) if marked else GROUND
        shade = shade_of(self.automaton, state)
        if shade is not None:
            group += f' data-shade="{shade:.3g}"'
            fill = mix(MASS, shade)
        line = 2.0 if marked else 1.2
        yield Box(x, y, width, height, height / 2, fill, stroke, line, tip=caption.tip, group=group)
        if self.automaton.ending[state]:
            inner = height / 2 - 2.8
            yield Box(x, y, width - 5.6, height - 5.6, inner, "none", stroke, 0.8, group=group)
        rows = [*caption.lines, *([caption.value] if caption.value else [])]
        top = y - (len(rows) - 1) * FONT * LINE / 2
        for k, row in enumerate(rows):
            value = k == len(caption.lines)
            at, colour = top + k * FONT * LINE, VALUE if value else INK
            yield Text(x, at, row, FONT, colour, bold=value, group=group)

    def _label(self, number: int) -> Iterator[Shape]:
        bundle = self.frame.bundles[number]
        x, y = self.placement.labels[number]
        colour = ROUTE if self._marked(number) else INK
        top = y + self.down - (len(bundle.lines) - 1) * SMALL * LINE / 2
        for k, line in enumerate(bundle.lines):
            at = top + k * SMALL * LINE
            yield from plated(Text(x, at, line, SMALL, colour, group=self._edge(number)))
