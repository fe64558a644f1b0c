"""What notebooks show of the objects that people hold: a card of one screen each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.pages.distribution import distribution_picture
from fsmeu.drawing.render.svg import svg
from fsmeu.errors import FsmeuError, shorten, visible
from fsmeu.expectation.composition import Composition
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.result import Expectation
from fsmeu.losses.function import FunctionLoss
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.sum_over_paths import SummedMachine
from fsmeu.models import Model

__all__ = ["MOST_COLUMNS", "card", "model_table"]

_MOST_ROWS = 16
_MOST_LEVELS = 8
MOST_COLUMNS = 12
_BAR = "display:inline-block;height:.7em;background:#4878a8;width:{:.1f}em"
_STAGE = "max-width:100%;max-height:520px;overflow:auto"


def _loss_card(loss: SpecLoss) -> str:
    """A loss: what it is, its parameters, and the text of its file."""
    lines = loss.spec.source.strip().split("\n")
    shown = lines[: 2 * _MOST_ROWS]
    more = [f"... {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else []
    text = "\n".join(shorten(line, 110) if len(line) > 110 else line for line in [*shown, *more])
    held = escape(visible(text, keep="\n\t"))
    return _card(repr(loss), f"<pre>{held}</pre>")


def _function_card(loss: FunctionLoss) -> str:
    """A loss written in Python: its name, its labels and where it comes from."""
    labels = shorten(" ".join(map(str, loss.labels)))
    return _card(repr(loss), "", f"{type(loss.function).__name__}, over the labels {labels}")


def model_table(
    model: Model, columns: int = MOST_COLUMNS
) -> tuple[list[str], list[list[str]], str]:
    """Heads and rows of P(y_i = l), of the first positions and labels, and what is left out."""
    table = model.marginals()[:_MOST_ROWS, :columns]
    heads = ["i", *(shorten(str(label), 24) for label in model.labels[:columns])]
    rows = [[str(i + 1), *(f"{p:.4g}" for p in row)] for i, row in enumerate(table.tolist())]
    left = []
    if model.n > len(rows):
        left.append(f"{model.n - len(rows):,} more positions")
    if len(model.labels) > columns:
        left.append(f"{len(model.labels) - columns:,} more labels")
    return heads, rows, " and ".join(left)


def _model_card(model: Model) -> str:
    heads, rows, left = model_table(model)
    title = f"{model.title}: {model!r}"
    return _card(title, "<p>P(y_i = label)</p>" + _table(heads, rows), left)


def _levels_card(levels: Levels) -> str:
    """A distribution: drawn, and its most probable values in ascending order."""
    return _card(f"levels: {len(levels.values):,} values", *_levels_parts(levels, levels.mean))


def _expectation_card(expectation: Expectation) -> str:
    """An expectation: its value and, where it can be had, its distribution."""
    title = f"expectation {expectation.value!r}"
    if expectation.kept < 1.0:
        title += f" (between {expectation.lower:.6g} and {expectation.upper:.6g})"
    try:
        return _card(title, *_levels_parts(expectation.levels, expectation.value))
    except FsmeuError as error:
        return _card(title, "", f"Its distribution is not shown: {error}")


def _levels_parts(levels: Levels, mean: float) -> tuple[str, str]:
    if not len(levels.values):
        return "", "nothing of positive probability was kept"
    most = np.sort(np.argsort(-levels.probabilities, kind="stable")[:_MOST_LEVELS])
    longest = float(levels.probabilities.max(initial=0.0))
    rows = []
    for value, p in zip(levels.values[most], levels.probabilities[most], strict=True):
        bar = f'<span style="{_BAR.format(12 * p / longest)}"></span>'
        rows.append([f"{value:.6g}", f"{p:.4g}", bar])
    left = len(levels.values) - len(rows)
    drawn = _stage(svg(distribution_picture(levels, mean)))
    table = _table(["value", "probability", ""], rows, 2)
    return drawn + table, f"{left:,} less probable values" if left else ""


def _machine_card(machine: Machine | SummedMachine) -> str:
    labels = shorten(" ".join(map(str, machine.alphabet.labels)))
    return _card(repr(machine), _picture(machine), f"labels {labels}; tapes z:y")


def _composition_card(composition: Composition) -> str:
    told = f"{composition!r}, expected value {composition.total!r}"
    drawing = draw(composition)
    note = "states are shaded by their probability" if drawing.summary is None else ""
    return _card(told, _stage(drawing.svg), note)


def _drawing_card(drawing: Drawing) -> str:
    return _card(repr(drawing), _stage(drawing.svg))


def _picture(thing: Any) -> str:
    return _stage(draw(thing).svg)


def _stage(picture: str) -> str:
    """A picture that scrolls where it is larger than a screen."""
    return f'<div style="{_STAGE}">{picture}</div>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int | None = None) -> str:
    """A table; cells from number ``texts`` on are markup already."""
    first = "".join(f"<th>{escape(visible(head))}</th>" for head in heads)
    body = ""
    for row in rows:
        plain = len(row) if texts is None else texts
        cells = [*map(escape, row[:plain]), *row[plain:]]
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f"<table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"


def _card(title: str, body: str, note: str = "") -> str:
    last = f"<p>{escape(visible(note))}</p>" if note else ""
    return f"<div><strong>{escape(visible(title))}</strong>{body}{last}</div>"


_CARDS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (SpecLoss, _loss_card),
    (FunctionLoss, _function_card),
    (Model, _model_card),
    (Levels, _levels_card),
    (Expectation, _expectation_card),
    (Machine, _machine_card),
    (SummedMachine, _machine_card),
    (Composition, _composition_card),
    (Drawing, _drawing_card),
)


def card(thing: Any) -> str:
    """The card of whatever has one."""
    return next(make(thing) for kind, make in _CARDS if isinstance(thing, kind))
