"""Machines as lines of text: layer by layer, each state with its value and its arcs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsmeu.drawing.render.summary import Summary
from fsmeu.drawing.scene.frame import Bundle, Frame
from fsmeu.drawing.scene.route import Route
from fsmeu.exchange.automaton import Automaton

__all__ = ["Row", "listing", "summary_listing"]

_BAR = 40
_UNICODE = {"start": "▶", "end": "◎", "state": "○", "arc": "→", "loop": "↺", "bar": "█"}
_ASCII = {"start": ">", "end": "@", "state": "o", "arc": "->", "loop": "<>", "bar": "#"}


@dataclass(frozen=True)
class Row:
    """A line of text; ``style`` is plain, title, quiet, value or route."""

    text: str
    style: str = "plain"


def listing(
    automaton: Automaton, frame: Frame, route: Route | None = None, ascii_only: bool = False
) -> list[Row]:
    """A machine as lines of text, its route marked with stars."""
    return _Lister(automaton, frame, route, _ASCII if ascii_only else _UNICODE).rows()


class _Lister:
    """Writes one machine."""

    def __init__(
        self, automaton: Automaton, frame: Frame, route: Route | None, signs: dict[str, str]
    ) -> None:
        self.automaton, self.frame, self.signs = automaton, frame, signs
        self.states = route.states if route is not None else frozenset[int]()
        self.used = route.arcs if route is not None else frozenset[int]()
        self.leaving: dict[int, list[Bundle]] = {}
        for bundle in frame.bundles:
            self.leaving.setdefault(bundle.source, []).append(bundle)

    def rows(self) -> list[Row]:
        """The title, a key, and every layer."""
        automaton, signs = self.automaton, self.signs
        size = f"{automaton.states:,} states, {automaton.arcs:,} arcs"
        rows = [Row(f"{self.frame.title}: {size}", "title")]
        rows += [Row(note, "quiet") for note in self.frame.notes]
        key = f"{signs['start']} start  {signs['end']} final  {signs['loop']} stays"
        rows.append(Row(key + ("  * the path" if self.states else ""), "quiet"))
        for depth in sorted(set(automaton.depth.tolist()), key=lambda d: (d < 0, d)):
            rows.append(Row(""))
            rows.append(Row(self._heading(depth), "quiet"))
            for state in np.flatnonzero(automaton.depth == depth).tolist():
                rows += self._state(state)
        return rows

    def _heading(self, depth: int) -> str:
        if depth < 0:
            return "not reached"
        lines = self.frame.headings[depth] if depth < len(self.frame.headings) else ()
        return " ".join([f"depth {depth}", *lines])

    def _state(self, state: int) -> list[Row]:
        automaton, caption = self.automaton, self.frame.captions[state]
        marked = state in self.states
        start = self.signs["start"] if state == automaton.table.start else " "
        sign = self.signs["end" if automaton.ending[state] else "state"]
        text = f"{'*' if marked else ' '}{start}{sign} {' '.join(caption.lines)}"
        if caption.value:
            text += f"  {caption.value}"
        if automaton.masses is not None:
            text += f"  p = {float(automaton.masses[state]):.4g}"
        rows = [Row(text, "route" if marked else "plain")]
        bundles = self.leaving.get(state, [])
        names = [" ".join(bundle.lines) for bundle in bundles]
        width = max(map(len, names), default=0)
        for bundle, name in zip(bundles, names, strict=True):
            used = any(arc in self.used for arc in bundle.arcs)
            if bundle.target == state:
                where = self.signs["loop"]
            else:
                target = " ".join(self.frame.captions[bundle.target].lines)
                where = f"{self.signs['arc']} {target}"
            text = f"{'*' if used else ' '}      {name:<{width}} {where}"
            rows.append(Row(text.rstrip(), "route" if used else "quiet"))
        return rows


def summary_listing(summary: Summary, ascii_only: bool = False) -> list[Row]:
    """The layers of a machine that is too large to be drawn, with bars."""
    bar = (_ASCII if ascii_only else _UNICODE)["bar"]
    rows = [Row(note, "title" if k == 0 else "quiet") for k, note in enumerate(summary.notes)]
    rows.append(Row(""))
    most = max(summary.widths)
    digits = len(f"{most:,}")
    for depth, width in enumerate(summary.widths):
        length = math.ceil(_BAR * width / most)
        rows.append(Row(f"depth {depth:>4}  {width:>{digits},}  {bar * length}"))
    return rows
