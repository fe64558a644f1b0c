"""Pictures as shapes: states, arcs, values and probabilities, and bars for what is too large."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.drawing.frame import FONT, LINE, SMALL, Bundle, Caption, Frame, text_width
from fsmeu.drawing.layout import START_LENGTH, Placement
from fsmeu.drawing.lines import Curve, Point, arrow
from fsmeu.drawing.subject import Route
from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton
from fsmeu.expectation.result import Levels

INK = "#222222"
QUIET = "#555555"
GROUND = "#ffffff"
ROUTE = "#d55e00"
MASS = "#56b4e9"
VALUE = "#00664f"
_HEAD = 7.0
_THIN = 0.7
_THICK = 5.0
_TITLE = 26.0


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """The attributes of all shapes."""

    tip: str = ""  # the tooltip
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
    def drawn(self) -> tuple[Curve, Curve]:
        """The curve without what its arrow head covers, and the corners of the head, if any."""
        return arrow(self.curve, self.head) if self.head else (self.curve, ())


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


def plated(text: Text) -> tuple[Box, Text]:
    """A centred text with a patch of the ground behind it."""
    width = text_width(text.text, text.size)
    height = 1.2 * text.size
    return Box(text.x, text.y, width, height, 0.0, GROUND, group=text.group), text


def mix(colour: str, share: float) -> str:
    """A colour laid over white, as much of it as the share says."""
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in parts)


def machine_picture(
    automaton: Automaton, frame: Frame, placement: Placement, route: Route
) -> Picture:
    """The picture of a machine whose parts are placed, below its title, notes and headings.

    Lines come first, then states, then the labels of the lines; the route is painted last.
    """
    lines = len(frame.notes) + max(map(len, frame.headings), default=0)
    down = _TITLE + (SMALL * LINE * lines + 6 if lines else 0.0)
    wide = [placement.width, text_width(frame.title) + 24]
    wide += [text_width(note, SMALL) + 24 for note in frame.notes]
    arcs = []
    for bundle, curve, label in zip(frame.bundles, placement.curves, placement.labels, strict=True):
        lower = [(x, y + down) for x, y in (*curve, label)]
        marked = route.takes(bundle.arcs)
        arcs.append((marked, *_arc(bundle, marked, tuple(lower[:-1]), lower[-1])))
    arcs.sort(key=lambda arc: arc[0])
    shapes: list[Shape] = [
        Text(12, _TITLE / 2 + 3, frame.title, FONT, QUIET, anchor="start"),
        *_writing_above(automaton, frame, placement),
        *(line for _, line, _ in arcs),
    ]
    for state, (caption, (x, y)) in enumerate(zip(frame.captions, placement.centres, strict=True)):
        shapes += _state(automaton, state, caption, (x, y + down), state in route.states)
    shapes += [shape for _, _, labels in arcs for shape in labels]
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


def _arc(bundle: Bundle, marked: bool, curve: Curve, label: Point) -> tuple[Line, list[Shape]]:
    """The line of a bundle of arcs, and its label."""
    kind = "edge route" if marked else "edge"
    group = f'class="{kind}" data-from="{bundle.source}" data-to="{bundle.target}"'
    colour, width = (ROUTE, 2.2) if marked else (INK, 1.0)
    texts = _column(label, bundle.lines, SMALL, colour, group)
    if bundle.flow is not None:
        width = _THIN + (_THICK - _THIN) * bundle.flow
        colour = ROUTE if marked else mix(INK, 0.35 + 0.65 * math.sqrt(bundle.flow))
    line = Line(curve, colour, width, _HEAD + width, tip=bundle.tip, group=group)
    return line, [shape for text in texts for shape in plated(text)]


def _column(centre: Point, rows: Sequence[str], size: float, colour: str, group: str) -> list[Text]:
    """Lines of text below each other around a centre."""
    x, y = centre
    top = y - (len(rows) - 1) * size * LINE / 2
    return [
        Text(x, top + k * size * LINE, row, size, colour, group=group) for k, row in enumerate(rows)
    ]


def _state(
    automaton: Automaton, state: int, caption: Caption, centre: Point, marked: bool
) -> Iterator[Shape]:
    """A state with its caption, two outlines where it is final, an arrow where it is the start."""
    x, y = centre
    width = caption.width
    height = caption.height
    stroke, kind = (ROUTE, " route") if marked else (INK, "")
    if state == automaton.table.start:
        left = x - width / 2
        tail = left - START_LENGTH
        points = ((tail, y), (tail + 8, y), (left - 8, y), (left, y))
        group = f'class="edge start{kind}"'
        yield Line(points, stroke, 1.6, _HEAD + 1.6, tip="the start", group=group)
    group = f'class="node{kind}" data-state="{state}"'
    fill, line = (mix(ROUTE, 0.12), 2.0) if marked else (GROUND, 1.2)
    if caption.shade is not None:
        group += f' data-shade="{caption.shade:.3g}"'
        fill = mix(MASS, caption.shade)
    yield Box(x, y, width, height, height / 2, fill, stroke, line, tip=caption.tip, group=group)
    if automaton.ending[state]:
        inner = height / 2 - 2.8
        yield Box(x, y, width - 5.6, height - 5.6, inner, "none", stroke, 0.8, group=group)
    rows = [*caption.lines, *([caption.value] if caption.value else [])]
    texts = _column(centre, rows, FONT, INK, group)
    if caption.value:
        texts[-1] = replace(texts[-1], colour=VALUE, bold=True)
    yield from texts


_WIDTH = 520.0
_MOST_BARS = 80
_MOST_ROWS = 12
_ROW_BAR = 32
_MOST_LAYERS = 60


def text_bar(share: float, width: int = _ROW_BAR, sign: str = "█") -> str:
    """A bar of characters, ``width`` of them for a share of one, at least one for any share."""
    return sign * math.ceil(width * share - 1e-9)


@dataclass(frozen=True)
class _Chart:
    """An area of a picture with bars on its lower edge."""

    left: float
    top: float
    width: float
    height: float
    most: float  # the number for which a bar is as high as the area

    def y(self, number: float) -> float:
        """The height of the upper edge of a bar, in pixels from the top."""
        return self.top + self.height - self.height * number / self.most

    def shapes(
        self,
        bars: Iterable[tuple[float, float, str]],
        thick: float,
        below: Iterable[tuple[float, str]],
        beside: Iterable[float],
    ) -> list[Shape]:
        """Bars (x coordinate, number, tip) with texts below and numbers beside."""
        base = self.y(0)
        left = self.left
        shapes: list[Shape] = [straight(left, base, left + self.width, base)]
        for number in beside:
            y = self.y(number)
            text = f"{number:,.3g}" if isinstance(number, float) else f"{number:,}"
            shapes += [
                straight(left - 4, y, left, y),
                Text(left - 8, y, text, SMALL, QUIET, anchor="end"),
            ]
        for x, number, tip in bars:
            tall = base - self.y(number)
            shapes.append(Box(x, base - tall / 2, thick, tall, 0.0, MASS, tip=tip))
        return shapes + [Text(x, base + 12, text, SMALL, QUIET) for x, text in below]


def straight(
    x0: float, y0: float, x1: float, y1: float, colour: str = QUIET, line: float = 1.0
) -> Line:
    """A straight line."""
    return Line(((x0, y0), (x0, y0), (x1, y1), (x1, y1)), colour, line)


def binned(levels: Levels, most: int, bins: int) -> tuple[Floats, Floats, float]:
    """The middle of each bar, its probability, and how wide bars may be; of many levels, bins."""
    values = levels.values
    probabilities = levels.probabilities
    if len(values) <= most:
        span = float(values[-1] - values[0]) or 1.0
        return values, probabilities, float(np.diff(values).min(initial=span))
    heights, edges = np.histogram(values, bins=bins, weights=probabilities)
    return (edges[:-1] + edges[1:]) / 2, heights.astype(np.float64), float(edges[1] - edges[0])


def distribution_picture(levels: Levels, mean: float) -> Picture:
    """Bars over an axis of values, and a line at the mean; one glance high."""
    values, probabilities, apart = binned(levels, _MOST_BARS, _MOST_BARS)
    low = float(levels.values[0])
    high = float(levels.values[-1])
    scale = (_WIDTH - 24) / ((high - low) or 1.0)
    chart = _Chart(54.0, 26.0, _WIDTH, 110.0, float(probabilities.max()))
    first = chart.left + 12
    places = (first + scale * (values - low)).tolist()
    tips = [f"{v:.6g}: {p:.4g}" for v, p in zip(values, probabilities, strict=True)]
    bars = zip(places, probabilities.tolist(), tips, strict=True)
    below = [(first + scale * (end - low), f"{end:.4g}") for end in dict.fromkeys((low, high))]
    thick = float(np.clip(0.8 * apart * scale, 2.0, 18.0))
    at = first + scale * (mean - low)
    label = f"mean {mean:.6g}"
    half = text_width(label, SMALL) / 2
    inside = min(max(at, chart.left + half), chart.left + _WIDTH - half)
    shapes = [
        *chart.shapes(bars, thick, below, (0, chart.most)),
        straight(at, chart.top - 6, at, chart.y(0), ROUTE, 1.6),
        Text(inside, chart.top - 14, label, SMALL, ROUTE),
    ]
    return Picture("distribution", chart.left + _WIDTH + 24, chart.y(0) + 24, tuple(shapes))


def distribution_rows(levels: Levels) -> list[str]:
    """A distribution as lines of text: value or range of values, probability and a bar."""
    values, probabilities, apart = binned(levels, _MOST_ROWS, _MOST_ROWS)
    names = [f"{value:.6g}" for value in values]
    if len(levels.values) > _MOST_ROWS:
        names = [f"{v - apart / 2:.4g} to {v + apart / 2:.4g}" for v in values]
    wide = max(map(len, names))
    most = float(probabilities.max())
    return [
        f"{name:>{wide}}  {p:<9.4g} {text_bar(float(p) / most)}".rstrip()
        for name, p in zip(names, probabilities, strict=True)
    ]


@dataclass(frozen=True)
class Summary:
    """The shape of a machine that is too large to be drawn state by state."""

    name: str
    notes: tuple[str, ...]  # sentences about it; the last ones name the limit and how to raise it
    widths: tuple[int, ...]  # the number of states at each depth
    onward: tuple[int, ...]  # the number of arcs from each depth to the next


def summarize(automaton: Automaton, limit: int, most_lines: int, lines: int) -> Summary:
    """The layers of a machine of so many lines that is over one of the limits, and their growth."""
    depth = automaton.depth
    widths = np.bincount(depth[depth >= 0], minlength=1)
    step = depth[automaton.table.source]
    ahead = depth[automaton.table.target] == step + 1
    onward = np.bincount(step[(step >= 0) & ahead], minlength=len(widths))[: len(widths) - 1]
    name = visible(automaton.name)
    size = f"{automaton.states:,} states and {automaton.arcs:,} arcs in {len(widths):,} layers"
    values = len(np.unique(automaton.values[~np.isnan(automaton.values)]))
    notes = (
        f"{name}: {size}, {int(automaton.ending.sum()):,} final states, {values:,} values",
        *_growth(np.cumsum(widths).tolist()),
        f"At most {limit:,} states and {most_lines:,} lines are drawn one by one, "
        f"these are {automaton.states:,} and {lines:,}.",
        "Raise the limit, or look at the part near the start, up to some depth.",
    )
    return Summary(name, notes, tuple(widths.tolist()), tuple(onward.tolist()))


def _growth(within: Sequence[int]) -> list[str]:
    """A sentence on the growth of states with depth, from half of it to all; none if shallow."""
    last = len(within) - 1
    half = last // 2
    if half < 1:
        return []
    power = math.log(within[last] / within[half]) / math.log(last / half)
    sizes = f"{within[half]:,} states within {half:,} steps, {within[last]:,} within {last:,}"
    return [f"{sizes}: as fast as depth to the power {power:.2g}."]


def summary_picture(summary: Summary) -> Picture:
    """Bars for the number of states at each depth, and what is to be said of them."""
    share = -(-len(summary.widths) // _MOST_LAYERS)  # depths that share a bar
    depths = range(0, len(summary.widths), share)
    counts = [max(summary.widths[d : d + share]) for d in depths]
    most = max(counts)
    chart = _Chart(64.0, 34 + 18.0 * len(summary.notes), 660.0, 220.0, most)
    slot = chart.width / len(counts)
    places = [chart.left + slot * (k + 0.5) for k in range(len(counts))]
    stride = max(1, math.ceil(46 / slot))
    step = 10 ** math.floor(math.log10(max(most, 1)))
    step = step // 2 if most < 2 * step and step > 1 else step
    label = "depth: steps from the start; height of a bar: states there"
    if share > 1:
        label += f", the most of {share} depths"
    tips = [f"depth {d}: {count:,} states" for d, count in zip(depths, counts, strict=True)]
    below = [(x, str(d)) for x, d in zip(places, depths, strict=True)][::stride]
    bars = zip(places, counts, tips, strict=True)
    shapes: list[Shape] = [
        Text(12, 20 + 18.0 * k, note, FONT, QUIET if k else INK, anchor="start")
        for k, note in enumerate(summary.notes)
    ]
    shapes += chart.shapes(bars, 0.8 * slot, below, range(0, most + 1, step))
    shapes.append(Text(chart.left + chart.width / 2, chart.y(0) + 32, label, SMALL, QUIET))
    for k, (x, count) in enumerate(zip(places, counts, strict=True)):
        if k % stride == 0 or k == len(counts) - 1:
            shapes += plated(Text(x, chart.y(count) - 8, f"{count:,}", SMALL, VALUE))
    width = max(chart.left + chart.width + 40, *(text_width(n) + 24 for n in summary.notes))
    return Picture(summary.name, width, chart.y(0) + 44, tuple(shapes))
