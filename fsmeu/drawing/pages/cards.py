"""What notebooks show of losses, models, levels and expectations: a card of one screen each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from fsmeu.drawing.scene.escape import visible
from fsmeu.errors import FsmeuError, shorten
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.result import Expectation
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model

__all__ = ["card", "expectation_card", "levels_card", "loss_card", "model_card"]

_MOST_ROWS = 16
_MOST_COLUMNS = 12
_BAR = "display:inline-block;height:.7em;background:#4878a8;width:{:.1f}em"


def loss_card(loss: SpecLoss) -> str:
    """A loss: what it is, its parameters, and the text of its file."""
    lines = loss.spec.source.strip().split("\n")
    shown = lines[: 2 * _MOST_ROWS]
    more = [f"... {len(lines) - len(shown)} more lines"] if len(lines) > len(shown) else []
    text = "\n".join(shorten(line, 110) if len(line) > 110 else line for line in [*shown, *more])
    return _card(repr(loss), f"<pre>{escape(text)}</pre>")


def model_card(model: Model) -> str:
    """A model: P(y_i = l), of the first positions and labels where there are many."""
    table = model.marginals()[:_MOST_ROWS, :_MOST_COLUMNS]
    heads = ["i", *(str(label) for label in model.labels[:_MOST_COLUMNS])]
    rows = [[str(i + 1), *(f"{p:.4g}" for p in row)] for i, row in enumerate(table.tolist())]
    left = []
    if model.n > len(rows):
        left.append(f"{model.n - len(rows):,} more positions")
    if len(model.labels) > _MOST_COLUMNS:
        left.append(f"{len(model.labels) - _MOST_COLUMNS:,} more labels")
    title = f"{model.title}: {model!r}"
    return _card(title, _table(heads, rows), " and ".join(left))


def levels_card(levels: Levels) -> str:
    """A distribution: its most probable values, in ascending order, with bars."""
    return _card("levels", *_levels_parts(levels))


def expectation_card(expectation: Expectation) -> str:
    """An expectation: its value and, where it can be had, its distribution."""
    title = f"expectation {expectation.value!r}"
    if expectation.kept < 1.0:
        title += f" (between {expectation.lower:.6g} and {expectation.upper:.6g})"
    try:
        return _card(title, *_levels_parts(expectation.levels))
    except FsmeuError as error:
        return _card(title, "", f"Its distribution is not shown: {error}")


def _levels_parts(levels: Levels) -> tuple[str, str]:
    most = np.sort(np.argsort(-levels.probabilities, kind="stable")[:_MOST_ROWS])
    longest = float(levels.probabilities.max(initial=0.0))
    rows = []
    for value, p in zip(levels.values[most], levels.probabilities[most], strict=True):
        bar = f'<span style="{_BAR.format(12 * p / longest)}"></span>'
        rows.append([f"{value:.6g}", f"{p:.4g}", bar])
    left = len(levels.values) - len(rows)
    return _table(["value", "probability", ""], rows, 2), f"{left:,} less probable" if left else ""


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


def card(thing: Any) -> str:
    """The card of whatever has one."""
    cards: tuple[tuple[type, Any], ...] = (
        (SpecLoss, loss_card),
        (Model, model_card),
        (Levels, levels_card),
        (Expectation, expectation_card),
    )
    return next(str(make(thing)) for kind, make in cards if isinstance(thing, kind))
