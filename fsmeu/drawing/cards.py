"""Displays of objects: a card in a notebook, a screen of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup

from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.formats import svg
from fsmeu.drawing.pages import fill
from fsmeu.drawing.picture import distribution_picture, distribution_rows
from fsmeu.drawing.source import source_markup
from fsmeu.errors import FsmeuError, shorten
from fsmeu.expectation.composition import Composition
from fsmeu.expectation.result import Expectation, Levels
from fsmeu.losses.function import FunctionLoss
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.sum_over_paths import SummedMachine
from fsmeu.models import Model

_MOST_ROWS = 16
_MOST_LEVELS = 8
_MOST_COLUMNS = 12
_WIDEST = 100  # characters of a printed line
_EMPTY = "nothing of positive probability was kept"

Parts = dict[str, Any]


def card(thing: Any) -> str:
    """The HTML of the card of a loss, model, machine, expectation, composition or drawing."""
    parts = next(make(thing) for kind, make in _CARDS if isinstance(thing, kind))
    return fill("card.html", **parts)


def printed(thing: Any) -> str:
    """A screen of text: the probabilities of a model, the distribution of an expectation."""
    if isinstance(thing, Model):
        return "\n".join(_model_lines(thing))
    title = f"mean {thing.mean!r}" if isinstance(thing, Levels) else _expectation_title(thing)
    try:
        levels = thing if isinstance(thing, Levels) else thing.levels
    except FsmeuError as error:
        return f"{title}\nIts distribution is not shown: {error}"
    return "\n".join([title, *(distribution_rows(levels) if len(levels.values) else [_EMPTY])])


def _model_table(model: Model, columns: int) -> tuple[list[str], list[list[str]], str]:
    """Heads and rows of P(y_i = l), of the first positions and labels, and what is left out."""
    table = model.marginals()[:_MOST_ROWS, :columns]
    heads = ["i", *(shorten(str(label), 24) for label in model.labels[:columns])]
    rows = [[str(i + 1), *(f"{p:.4g}" for p in row)] for i, row in enumerate(table.tolist())]
    more = {"positions": model.n - len(rows), "labels": len(model.labels) - columns}
    left = [f"{count:,} more {name}" for name, count in more.items() if count > 0]
    return heads, rows, " and ".join(left)


def _model_lines(model: Model) -> list[str]:
    """The lines of text of a model: its title, and as many columns of labels as fit."""
    for columns in range(_MOST_COLUMNS, 0, -1):
        heads, rows, left = _model_table(model, columns)
        widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
        if sum(widths) + 2 * len(widths) <= _WIDEST:
            break
    lines = [
        "  ".join(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True))
        for row in [heads, *rows]
    ]
    first = f"{model.title}, n = {model.n:,}, {len(model.labels):,} labels: P(y_i = label)"
    return [first, *lines, *([left] if left else [])]


def _model_card(model: Model) -> Parts:
    """The parts of the card of a model: marginal probabilities."""
    heads, rows, left = _model_table(model, _MOST_COLUMNS)
    title = f"{model.title}: {model!r}"
    caption = "P(y_i = label)"
    return {"title": title, "caption": caption, "heads": heads, "rows": rows, "note": left}


def _loss_card(loss: SpecLoss) -> Parts:
    """The parts of the card of a loss from a file: the beginning of its text."""
    lines = loss.spec.source.strip().split("\n")
    shown = [shorten(line, 110) if len(line) > 110 else line for line in lines[: 2 * _MOST_ROWS]]
    more = [f"... {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else []
    return {"title": repr(loss), "text": source_markup("\n".join([*shown, *more]))}


def _function_card(loss: FunctionLoss) -> Parts:
    """The parts of the card of a loss in Python: its class and labels."""
    labels = shorten(" ".join(map(str, loss.labels)))
    note = f"{type(loss.function).__name__}, over the labels {labels}"
    return {"title": repr(loss), "note": note}


def _expectation_title(expectation: Expectation) -> str:
    """The value of an expectation, with bounds where not all states were kept."""
    title = f"expectation {expectation.value!r}"
    if expectation.kept < 1.0:
        title += f" (between {expectation.lower:.6g} and {expectation.upper:.6g})"
    return title


def _expectation_card(expectation: Expectation) -> Parts:
    """The parts of the card of an expectation: its value and distribution."""
    title = _expectation_title(expectation)
    try:
        return {**_levels_card(expectation.levels, expectation.value), "title": title}
    except FsmeuError as error:
        return {"title": title, "note": f"Its distribution is not shown: {error}"}


def _levels_card(levels: Levels, mean: float | None = None) -> Parts:
    """A distribution: drawn, and its most probable values in ascending order."""
    title = f"levels: {len(levels.values):,} values"
    if not len(levels.values):
        return {"title": title, "note": _EMPTY}
    most = np.sort(np.argsort(-levels.probabilities, kind="stable")[:_MOST_LEVELS])
    pairs = zip(levels.values[most], levels.probabilities[most], strict=True)
    rows = [[f"{value:.6g}", f"{p:.4g}"] for value, p in pairs]
    left = len(levels.values) - len(rows)
    return {
        "title": title,
        "picture": Markup(svg(distribution_picture(levels, levels.mean if mean is None else mean))),
        "heads": ["value", "probability"],
        "rows": rows,
        "note": f"{left:,} less probable values" if left else "",
    }


def _machine_card(machine: Machine | SummedMachine) -> Parts:
    """The parts of the card of a machine: its picture."""
    note = f"labels {shorten(' '.join(map(str, machine.alphabet.labels)))}; tapes z:y"
    return {"title": repr(machine), "picture": Markup(draw(machine).svg), "note": note}


def _composition_card(composition: Composition) -> Parts:
    """The parts of the card of a composition: its expected value and picture."""
    title = f"{composition!r}, expected value {composition.total!r}"
    drawing = draw(composition)
    note = "states are shaded by their probability" if drawing.summary is None else ""
    return {"title": title, "picture": Markup(drawing.svg), "note": note}


_CARDS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Parts]], ...] = (
    (SpecLoss, _loss_card),
    (FunctionLoss, _function_card),
    (Model, _model_card),
    (Levels, _levels_card),
    (Expectation, _expectation_card),
    ((Machine, SummedMachine), _machine_card),
    (Composition, _composition_card),
    (Drawing, lambda drawing: {"title": repr(drawing), "picture": Markup(drawing.svg)}),
)
