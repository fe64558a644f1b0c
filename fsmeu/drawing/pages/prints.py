"""What ``print`` shows of models and distributions: a screen of text each."""

from __future__ import annotations

from typing import Any

from fsmeu.drawing.pages.cards import MOST_COLUMNS, model_table
from fsmeu.drawing.pages.distribution import distribution_rows
from fsmeu.errors import FsmeuError
from fsmeu.expectation.levels import Levels
from fsmeu.expectation.result import Expectation
from fsmeu.models import Model

__all__ = ["printed"]

_WIDEST = 100  # characters of a line


def printed(thing: Any) -> str:
    """A model with its probabilities, an expectation or levels with the distribution drawn."""
    if isinstance(thing, Model):
        return "\n".join(_model(thing))
    if isinstance(thing, Levels):
        return "\n".join([f"mean {thing.mean!r}", *_rows(thing)])
    return "\n".join(_expectation(thing))


def _model(model: Model) -> list[str]:
    columns = MOST_COLUMNS
    while True:
        heads, rows, left = model_table(model, columns)
        widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
        if columns == 1 or sum(widths) + 2 * len(widths) <= _WIDEST:
            break
        columns -= 1
    lines = [
        "  ".join(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True))
        for row in [heads, *rows]
    ]
    first = f"{model.title}, n = {model.n:,}, {len(model.labels):,} labels: P(y_i = label)"
    return [first, *lines, *([left] if left else [])]


def _expectation(expectation: Expectation) -> list[str]:
    first = f"expectation {expectation.value!r}"
    if expectation.kept < 1.0:
        first += f" (between {expectation.lower:.6g} and {expectation.upper:.6g})"
    try:
        return [first, *_rows(expectation.levels)]
    except FsmeuError as error:
        return [first, f"Its distribution is not shown: {error}"]


def _rows(levels: Levels) -> list[str]:
    if not len(levels.values):
        return ["nothing of positive probability was kept"]
    return distribution_rows(levels)
