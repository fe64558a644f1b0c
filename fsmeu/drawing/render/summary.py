"""Machines too large to be drawn state by state: their layers, widths and growth instead."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsmeu.drawing.render.look import GROUND, INK, MASS, QUIET, VALUE
from fsmeu.drawing.render.shapes import Box, Line, Picture, Shape, Text
from fsmeu.drawing.scene.frame import FONT, SMALL, text_width
from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton

__all__ = ["Summary", "summarize", "summary_picture"]

_WIDTH, _HEIGHT = 660.0, 220.0
_LEFT, _TOP, _BOTTOM = 64.0, 20.0, 44.0
_MOST_LAYERS = 60


@dataclass(frozen=True)
class Summary:
    """The shape of a machine.

    Attributes:
        name: what it is.
        notes: sentences about it; the last ones name the limit and how to raise it.
        widths: the number of states at each depth.
        onward: the number of arcs from each depth to the next.
    """

    name: str
    notes: tuple[str, ...]
    widths: tuple[int, ...]
    onward: tuple[int, ...]


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
    notes = [f"{name}: {size}, {int(automaton.ending.sum()):,} final states, {values:,} values"]
    notes += _growth(widths)
    most = f"At most {limit:,} states and {most_arcs:,} lines are drawn one by one"
    notes.append(f"{most}, these are {automaton.states:,} and {lines:,}.")
    notes.append(
        "Raise the limit (limit=, --limit), or look at the part near the start (depth=, --depth)."
    )
    return Summary(name, tuple(notes), tuple(widths.tolist()), tuple(onward.tolist()))


def _growth(widths: np.ndarray) -> list[str]:
    """How the number of states grows with the depth, between half of it and all of it."""
    last = len(widths) - 1
    half = last // 2
    within = np.cumsum(widths)
    if half < 1:
        return []
    ratio = within[last] / within[half]
    power = math.log(ratio) / math.log(last / half)
    told = f"{within[half]:,} states within {half:,} steps, {within[last]:,} within {last:,}"
    return [f"{told}: as fast as depth to the power {power:.2g}."]


def summary_picture(summary: Summary) -> Picture:
    """Bars for the number of states at each depth, and what is to be said of them."""
    chart = _Chart(summary)
    shapes = [*chart.heading(), *chart.frame(), *chart.bars()]
    width = max(_WIDTH + _LEFT + 40, *(text_width(note) + 24 for note in summary.notes))
    return Picture(summary.name, width, chart.top + _HEIGHT + _BOTTOM, tuple(shapes))


class _Chart:
    """The bars of a summary; many layers share bars."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.share = -(-len(summary.widths) // _MOST_LAYERS)
        groups = range(0, len(summary.widths), self.share)
        self.bars_of = [max(summary.widths[k : k + self.share]) for k in groups]
        self.most = max(self.bars_of)
        self.top = _TOP + 18.0 * len(summary.notes) + 14

    def heading(self) -> list[Shape]:
        """The notes."""
        return [
            Text(12, _TOP + 18.0 * k, note, FONT, INK if k == 0 else QUIET, anchor="start")
            for k, note in enumerate(self.summary.notes)
        ]

    def frame(self) -> list[Shape]:
        """The axes, with round numbers of states."""
        base = self.top + _HEIGHT
        shapes: list[Shape] = [_straight(_LEFT, base, _LEFT + _WIDTH, base)]
        step = 10 ** math.floor(math.log10(max(self.most, 1)))
        step = step // 2 if self.most < 2 * step and step > 1 else step
        for count in range(0, self.most + 1, step):
            y = base - _HEIGHT * count / self.most
            shapes.append(_straight(_LEFT - 4, y, _LEFT, y))
            shapes.append(Text(_LEFT - 8, y, f"{count:,}", SMALL, QUIET, anchor="end"))
        middle = _LEFT + _WIDTH / 2
        title = "depth: steps from the start; height of a bar: states there"
        if self.share > 1:
            title += f", the most of {self.share} depths"
        shapes.append(Text(middle, base + 32, title, SMALL, QUIET))
        return shapes

    def bars(self) -> list[Shape]:
        """One bar for each depth, the numbers where there is room."""
        shapes: list[Shape] = []
        slot = _WIDTH / len(self.bars_of)
        base = self.top + _HEIGHT
        every = max(1, math.ceil(46 / slot))
        for k, count in enumerate(self.bars_of):
            height = _HEIGHT * count / self.most
            x = _LEFT + slot * (k + 0.5)
            tip = f"depth {k * self.share}: {count:,} states"
            y = base - height / 2
            shapes.append(Box(x, y, 0.8 * slot, height, 0.0, MASS, GROUND, 0.0, tip))
            if k % every == 0:
                shapes.append(Text(x, base + 12, str(k * self.share), SMALL, QUIET))
            if k % every == 0 or k == len(self.bars_of) - 1:
                room = text_width(f"{count:,}", SMALL)
                shapes.append(Text(x, base - height - 8, f"{count:,}", SMALL, VALUE, plate=room))
        return shapes


def _straight(x0: float, y0: float, x1: float, y1: float) -> Line:
    return Line(((x0, y0), (x0, y0), (x1, y1), (x1, y1)), QUIET, 1.0)
