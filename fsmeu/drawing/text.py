"""Machines as text: listed layer by layer, or drawn with lines of dots (Braille cells)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.drawing.frame import Bundle, Frame
from fsmeu.drawing.layout import Placement, place
from fsmeu.drawing.lines import point_at
from fsmeu.drawing.picture import Summary, text_bar
from fsmeu.drawing.subject import Route
from fsmeu.exchange.automaton import Automaton

_BAR = 40
_UNICODE = {"start": "▶", "end": "◎", "state": "○", "arc": "→", "loop": "↺", "bar": "█"}
_ASCII = {"start": ">", "end": "@", "state": "o", "arc": "->", "loop": "<>", "bar": "#"}
_COLUMN = 8.0  # pixels of a character, across
_ROW = 15.0  # and down
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_STEPS = 120

Cell = tuple[str, str]  # a character and its style: plain, quiet, value or route


@dataclass(frozen=True)
class Row:
    """A line of text; ``style`` is plain, title, quiet, value or route."""

    text: str
    style: str = "plain"


def listing(
    automaton: Automaton, frame: Frame, route: Route, ascii_only: bool = False
) -> list[Row]:
    """A machine as lines of text: title, key, and every layer; its route is marked with stars."""
    signs = _ASCII if ascii_only else _UNICODE
    size = f"{automaton.states:,} states, {automaton.arcs:,} arcs"
    key = f"{signs['start']} start  {signs['end']} final  {signs['loop']} stays"
    rows = [
        Row(f"{frame.title}: {size}", "title"),
        *(Row(note, "quiet") for note in frame.notes),
        Row(key + ("  * the path" if route.states else ""), "quiet"),
    ]
    leaving: dict[int, list[Bundle]] = {}
    for bundle in frame.bundles:
        leaving.setdefault(bundle.source, []).append(bundle)
    heads = [" ".join([f"depth {d}", *lines]) for d, lines in enumerate(frame.headings)]
    away = np.flatnonzero(automaton.depth < 0)
    layers = zip([*heads, "not reached"], [*automaton.layers, away], strict=True)
    for heading, states in layers:
        if len(states):
            rows += [Row(""), Row(heading, "quiet")]
        for state in states.tolist():
            marked = state in route.states
            caption = frame.captions[state]
            start = signs["start"] if state == automaton.table.start else " "
            sign = signs["end" if automaton.ending[state] else "state"]
            text = f"{'*' if marked else ' '}{start}{sign} {' '.join(caption.lines)}"
            if caption.value:
                text += f"  {caption.value}"
            if caption.mass is not None:
                text += f"  p = {caption.mass:.4g}"
            rows.append(Row(text, "route" if marked else "plain"))
            rows += _arc_rows(frame, leaving.get(state, []), route, signs)
    return rows


def _arc_rows(
    frame: Frame, bundles: list[Bundle], route: Route, signs: dict[str, str]
) -> Iterator[Row]:
    """The arcs that leave a state, with the states that they lead to."""
    names = [" ".join(bundle.lines) for bundle in bundles]
    width = max(map(len, names), default=0)
    for bundle, name in zip(bundles, names, strict=True):
        target = " ".join(frame.captions[bundle.target].lines)
        where = signs["loop"] if bundle.target == bundle.source else f"{signs['arc']} {target}"
        used = route.takes(bundle.arcs)
        text = f"{'*' if used else ' '}      {name:<{width}} {where}"
        yield Row(text.rstrip(), "route" if used else "quiet")


def summary_listing(summary: Summary, ascii_only: bool = False) -> list[Row]:
    """The layers of a machine that is too large to be drawn, with bars."""
    bar = (_ASCII if ascii_only else _UNICODE)["bar"]
    first, *rest = summary.notes
    rows = [Row(first, "title"), *(Row(note, "quiet") for note in rest), Row("")]
    most = max(summary.widths)
    for depth, width in enumerate(summary.widths):
        blocks = text_bar(width / most, _BAR, bar)
        rows.append(Row(f"depth {depth:>4}  {width:>{len(f'{most:,}')},}  {blocks}"))
    return rows


def canvas(automaton: Automaton, frame: Frame, route: Route) -> list[list[Cell]]:
    """A drawing of a machine in rows of characters; unused rows are left out."""
    frame = _in_columns(frame)
    placement = place(frame, automaton.depth.tolist())
    sheet = _Sheet()
    marks = [route.takes(bundle.arcs) for bundle in frame.bundles]
    for k in sorted(range(len(marks)), key=lambda k: marks[k]):
        sheet.curve(placement.curves[k], "route" if marks[k] else "quiet")
    for k, bundle in enumerate(frame.bundles):
        x, y = placement.labels[k]
        top = y - (len(bundle.lines) - 1) * _ROW / 2
        for row, line in enumerate(bundle.lines):
            style = "route" if marks[k] else "plain"
            sheet.write(x, top + row * _ROW, line, style, apart=True)
    for state in range(automaton.states):
        style = "route" if state in route.states else "plain"
        _write_state(sheet, automaton, frame, placement, state, style)
    rows = [*_above(automaton, frame, placement), *sheet.rows()]
    texts = ("".join(letter for letter, _ in row) for row in rows)
    margin = min((len(text) - len(text.lstrip(" ")) for text in texts), default=0)
    return [row[margin:] for row in rows]


def _above(automaton: Automaton, frame: Frame, placement: Placement) -> list[list[Cell]]:
    """Rows with the notes and the headings of columns."""
    sheet = _Sheet()
    for k, note in enumerate(frame.notes):
        sheet.write(_COLUMN * (1 + _columns(note) / 2), k * _ROW, note, "quiet")
    for states, lines in zip(automaton.layers, frame.headings, strict=True):
        x = sum(placement.centres[state][0] for state in states) / len(states)
        for k, line in enumerate(lines, start=len(frame.notes)):
            sheet.write(x, k * _ROW, line, "quiet")
    return sheet.rows()


def _in_columns(frame: Frame) -> Frame:
    """The frame with sizes in characters, and with probabilities, which no shade can show here."""
    captions = []
    for caption in frame.captions:
        value = caption.value
        height = caption.height
        if caption.mass is not None:
            value = f"{value} p {caption.mass:.3g}".strip()
            height += 0.0 if caption.value else _ROW
        width = _COLUMN * (max(map(_columns, (*caption.lines, value))) + 4)
        captions.append(replace(caption, value=value, width=width, height=height))
    bundles = []
    for bundle in frame.bundles:
        width = _COLUMN * (max(map(_columns, bundle.lines)) + 1)
        bundles.append(replace(bundle, width=width, height=_ROW * len(bundle.lines) - 1))
    return replace(frame, captions=tuple(captions), bundles=tuple(bundles))


def _columns(text: str) -> int:
    """The number of columns that a text takes."""
    return len(_letters(text))


def _letters(text: str) -> list[str]:
    """The text of each column: a wide character takes two, a mark on a character none."""
    letters: list[str] = []
    for character in text:
        if unicodedata.combining(character) and letters:
            letters[-1] += character
        else:
            wide = unicodedata.east_asian_width(character) in "WF"
            letters += [character, ""] if wide else [character]
    return letters


def _write_state(
    sheet: _Sheet, automaton: Automaton, frame: Frame, placement: Placement, state: int, style: str
) -> None:
    """Writes a caption in one or two pairs of brackets, with arrows where lines come in."""
    caption = frame.captions[state]
    x, y = placement.centres[state]
    left, right = ("((", "))") if automaton.ending[state] else ("(", ")")
    wide = max(map(_columns, caption.lines))
    lines = [f"{left}{line}{' ' * (wide - _columns(line))}{right}" for line in caption.lines]
    top = y - (len(lines) + bool(caption.value) - 1) * _ROW / 2
    for row, line in enumerate(lines):
        sheet.write(x, top + row * _ROW, line, style)
    if caption.value:
        sheet.write(x, top + len(lines) * _ROW, caption.value, "value")
    half = (_columns(lines[0]) / 2 + 0.5) * _COLUMN
    for bundle, curve in zip(frame.bundles, placement.curves, strict=True):
        if bundle.target == state != bundle.source:
            side = -1 if curve[-1][0] < x else 1
            sheet.write(x + side * half, top, "▸" if side < 0 else "◂", style)
    if state == automaton.table.start:
        sheet.write(x - half - _COLUMN, top, "──▸", style)


class _Sheet:
    """A grid of characters under which dots can be set."""

    def __init__(self) -> None:
        self.dots: dict[tuple[int, int], int] = {}
        self.styles: dict[tuple[int, int], str] = {}
        self.letters: dict[tuple[int, int], str] = {}

    def curve(self, curve: tuple[tuple[float, float], ...], style: str) -> None:
        """Sets dots along a curve."""
        steps = _STEPS * (len(curve) - 1) // 3
        for step in range(steps + 1):
            x, y = point_at(curve, step / steps)
            column = int(x / _COLUMN)
            row = int(y / _ROW)
            inside = int(x / _COLUMN * 2) % 2, int(y / _ROW * 4) % 4
            spot = (row, column)
            self.dots[spot] = self.dots.get(spot, 0) | _DOTS[inside[1]][inside[0]]
            self.styles[spot] = style

    def write(self, x: float, y: float, text: str, style: str, apart: bool = False) -> None:
        """Writes a text around a centre; ``apart`` leaves a blank on both sides of it."""
        letters = _letters(text)
        row = int(y / _ROW)
        first = max(round(x / _COLUMN - len(letters) / 2), 0)
        for beside in (first - 1, first + len(letters)) if apart else ():
            self.letters.setdefault((row, beside), " ")
        for k, letter in enumerate(letters):
            self.letters[row, first + k] = letter
            self.styles[row, first + k] = style

    def rows(self) -> list[list[Cell]]:
        """The characters of each row, blanks at the ends and empty rows left out."""
        filled = [*self.letters, *self.dots]
        wide = max((column for _, column in filled), default=0) + 1
        rows = []
        for row in range(max((row for row, _ in filled), default=-1) + 1):
            cells = [self._cell((row, column)) for column in range(wide)]
            while cells and cells[-1][0] == " ":
                cells.pop()
            if cells:
                rows.append(cells)
        return rows

    def _cell(self, spot: tuple[int, int]) -> Cell:
        """The character at a spot, and its style."""
        style = self.styles.get(spot, "plain")
        if spot in self.letters:
            return self.letters[spot], style
        return (chr(_BRAILLE + self.dots[spot]), style) if spot in self.dots else (" ", "plain")
