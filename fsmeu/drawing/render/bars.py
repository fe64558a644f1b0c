"""Bars: a distribution drawn small, and the layers of a machine too large to be drawn otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.drawing.render.picture import (
    INK,
    MASS,
    QUIET,
    ROUTE,
    VALUE,
    Box,
    Line,
    Picture,
    Shape,
    Text,
    plated,
)
from fsmeu.drawing.scene.frame import FONT, SMALL, text_width
from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton
from fsmeu.expectation.levels import Levels

_WIDTH = 520.0
_MOST_BARS, _MOST_ROWS = 80, 12
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

    @property
    def base(self) -> float:
        """Where the bars stand."""
        return self.top + self.height

    def shapes(
        self,
        bars: Iterable[tuple[float, float, str]],
        thick: float,
        below: Iterable[tuple[float, str]],
        beside: Iterable[float],
    ) -> list[Shape]:
        """Axes and bars.

        Args:
            bars: where each is along the axis, its number, and what is told of it.
            thick: how wide a bar is.
            below: where texts below the axis are, and the texts.
            beside: numbers beside the axis.
        """
        base, left = self.base, self.left
        shapes: list[Shape] = [straight(left, base, left + self.width, base)]
        for number in beside:
            y = base - self.height * number / self.most
            shapes.append(straight(left - 4, y, left, y))
            text = f"{number:,.3g}" if isinstance(number, float) else f"{number:,}"
            shapes.append(Text(left - 8, y, text, SMALL, QUIET, anchor="end"))
        for x, number, tip in bars:
            tall = self.height * number / self.most
            shapes.append(Box(x, base - tall / 2, thick, tall, 0.0, MASS, tip=tip))
        shapes += [Text(x, base + 12, text, SMALL, QUIET) for x, text in below]
        return shapes


def straight(
    x0: float, y0: float, x1: float, y1: float, colour: str = QUIET, line: float = 1.0
) -> Line:
    """A straight line."""
    return Line(((x0, y0), (x0, y0), (x1, y1), (x1, y1)), colour, line)


def binned(levels: Levels, most: int, bins: int) -> tuple[Floats, Floats, float]:
    """Values, probabilities and the distance of bars: each level, or equal bins of many levels.

    Args:
        levels: a distribution of at least one level.
        most: the greatest number of levels that have a bar each.
        bins: the number of bins for more.

    Returns:
        The middle of each bar, its probability, and how wide bars may be at most.
    """
    values, chances = levels.values, levels.probabilities
    if len(values) <= most:
        span = float(values[-1] - values[0]) or 1.0
        return values, chances, float(np.diff(values).min(initial=span))
    heights, edges = np.histogram(values, bins=bins, weights=chances)
    return (edges[:-1] + edges[1:]) / 2, heights.astype(np.float64), float(edges[1] - edges[0])


def distribution_picture(levels: Levels, mean: float) -> Picture:
    """Bars over an axis of values, and a line at the mean; one glance high."""
    values, chances, apart = binned(levels, _MOST_BARS, _MOST_BARS)
    low, high = float(levels.values[0]), float(levels.values[-1])
    scale = (_WIDTH - 24) / ((high - low) or 1.0)
    chart = _Chart(54.0, 26.0, _WIDTH, 110.0, float(chances.max()))
    first = chart.left + 12
    places = (first + scale * (values - low)).tolist()
    tips = [f"{v:.6g}: {p:.4g}" for v, p in zip(values, chances, strict=True)]
    bars = zip(places, chances.tolist(), tips, strict=True)
    ends = {low: first, high: first + scale * (high - low)}
    below = [(x, f"{value:.4g}") for value, x in ends.items()]
    thick = float(np.clip(0.8 * apart * scale, 2.0, 18.0))
    at, told = first + scale * (mean - low), f"mean {mean:.6g}"
    half = text_width(told, SMALL) / 2
    inside = min(max(at, chart.left + half), chart.left + _WIDTH - half)
    shapes = [
        *chart.shapes(bars, thick, below, (0, chart.most)),
        straight(at, chart.top - 6, at, chart.base, ROUTE, 1.6),
        Text(inside, chart.top - 14, told, SMALL, ROUTE),
    ]
    return Picture("distribution", chart.left + _WIDTH + 24, chart.base + 24, tuple(shapes))


def distribution_rows(levels: Levels) -> list[str]:
    """The same in lines of text: value or range of values, probability and a bar."""
    values, chances, apart = binned(levels, _MOST_ROWS, _MOST_ROWS)
    names = [f"{value:.6g}" for value in values]
    if len(levels.values) > _MOST_ROWS:
        names = [f"{v - apart / 2:.4g} to {v + apart / 2:.4g}" for v in values]
    wide, most = max(map(len, names)), float(chances.max())
    return [
        f"{name:>{wide}}  {chance:<9.4g} {text_bar(float(chance) / most)}".rstrip()
        for name, chance in zip(names, chances, strict=True)
    ]


@dataclass(frozen=True)
class Summary:
    """The shape of a machine that is too large to be drawn state by state."""

    name: str
    notes: tuple[str, ...]  # sentences about it; the last ones name the limit and how to raise it
    widths: tuple[int, ...]  # the number of states at each depth
    onward: tuple[int, ...]  # the number of arcs from each depth to the next


def summarize(automaton: Automaton, limit: int, most_arcs: int, lines: int) -> Summary:
    """The layers of a machine and how they grow.

    Args:
        automaton: the machine.
        limit: how many states are drawn at most.
        most_arcs: how many lines are drawn at most.
        lines: how many lines it would take.
    """
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
        f"At most {limit:,} states and {most_arcs:,} lines are drawn one by one, "
        f"these are {automaton.states:,} and {lines:,}.",
        "Raise the limit (limit=, --limit), or look at the part near the start (depth=, --depth).",
    )
    return Summary(name, notes, tuple(widths.tolist()), tuple(onward.tolist()))


def _growth(within: Sequence[int]) -> list[str]:
    """How the number of states grows with the depth, between half of it and all of it."""
    last = len(within) - 1
    half = last // 2
    if half < 1:
        return []
    power = math.log(within[last] / within[half]) / math.log(last / half)
    told = f"{within[half]:,} states within {half:,} steps, {within[last]:,} within {last:,}"
    return [f"{told}: as fast as depth to the power {power:.2g}."]


def summary_picture(summary: Summary) -> Picture:
    """Bars for the number of states at each depth, and what is to be said of them."""
    share = -(-len(summary.widths) // _MOST_LAYERS)  # depths that share a bar
    depths = range(0, len(summary.widths), share)
    counts = [max(summary.widths[d : d + share]) for d in depths]
    most = max(counts)
    chart = _Chart(64.0, 34 + 18.0 * len(summary.notes), 660.0, 220.0, most)
    slot = chart.width / len(counts)
    places = [chart.left + slot * (k + 0.5) for k in range(len(counts))]
    every = max(1, math.ceil(46 / slot))
    step = 10 ** math.floor(math.log10(max(most, 1)))
    step = step // 2 if most < 2 * step and step > 1 else step
    told = "depth: steps from the start; height of a bar: states there"
    if share > 1:
        told += f", the most of {share} depths"
    tips = [f"depth {d}: {count:,} states" for d, count in zip(depths, counts, strict=True)]
    below = [(x, str(d)) for x, d in zip(places, depths, strict=True)][::every]
    shapes: list[Shape] = [
        *(
            Text(12, 20 + 18.0 * k, note, FONT, QUIET if k else INK, anchor="start")
            for k, note in enumerate(summary.notes)
        ),
        *chart.shapes(
            zip(places, counts, tips, strict=True), 0.8 * slot, below, range(0, most + 1, step)
        ),
        Text(chart.left + chart.width / 2, chart.base + 32, told, SMALL, QUIET),
    ]
    for k, (x, count) in enumerate(zip(places, counts, strict=True)):
        if k % every == 0 or k == len(counts) - 1:
            y = chart.base - chart.height * count / most - 8
            shapes += plated(Text(x, y, f"{count:,}", SMALL, VALUE))
    width = max(chart.left + chart.width + 40, *(text_width(n) + 24 for n in summary.notes))
    return Picture(summary.name, width, chart.base + 44, tuple(shapes))
