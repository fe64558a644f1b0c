"""Expectations of long sequences of independent labels, where the value looks at counts alone.

With z given, tp is a count of independent events, those of the positions where z is a one, and
ref - tp is one of all others. Both are held in windows that lack a mass far below rounding, so that
the sum over all tables has a few million terms for a million labels. What is missing enters the
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import SizeLimitError, sentence
from fsmeu.expectation.levels import Levels, level_sets
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, check_finite
from fsmeu.limits import LONG_SEQUENCE, MOST_LEVEL_CELLS, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.models.chains import chances_of_ones
from fsmeu.trellis.count_windows import Window, count_window
from fsmeu.trellis.roundings import relative_error

__all__ = ["long_expectation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Tables:
    """The tables of a hypothesis that have mass.

    Attributes:
        form: the value as a function of the table.
        n: the length.
        hyp: how many ones z has.
        first: how many of these are true positives.
        last: how many of the other positions are ones of y.
    """

    form: Confusion
    n: int
    hyp: int
    first: Window
    last: Window

    @property
    def cells(self) -> int:
        """The number of tables."""
        return len(self.first.chances) * len(self.last.chances)

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """Values and probabilities of the tables, (rows, width), a block of rows at a time."""
        rows, rest = max(1, WINDOW_CELLS // len(self.last.chances)), self.last.counts[None, :]
        for begin in range(0, len(self.first.chances), rows):
            tp = self.first.counts[begin : begin + rows, None]
            values = value_of_counts(self.form, self.n, tp, float(self.hyp), tp + rest)
            yield values, self.first.chances[begin : begin + rows, None] * self.last.chances


def long_expectation(asked: Query) -> Expectation | None:
    """The expectation of a long sequence; None where this way does not serve.

    Requires a hypothesis that is given, a value of the confusion table of two labels whose declared
    range is finite, and independent labels.
    """
    tables = _tables(asked)
    if tables is None:
        return None
    assert isinstance(asked.loss, SpecLoss)
    low, high = declared_range(asked.loss.bound, asked.n)
    value = size = kept = 0.0
    for values, chances in tables.blocks():
        value += float((values * chances).sum())
        size += float((np.abs(values) * chances).sum())
        kept += float(chances.sum())
    check_finite("expect", value)
    check_range(asked.loss.bound, asked.n, np.array([value / kept]))
    first, last = tables.first, tables.last
    operations = first.operations + last.operations + len(first.chances) + len(last.chances) + 8
    lost, rounding = first.lost + last.lost, relative_error(operations) * size
    lower, upper = value + lost * min(0.0, low) - rounding, value + lost * max(0.0, high) + rounding
    return Expectation(value, lower, upper, kept, lambda: _levels(tables))


def _tables(asked: Query) -> _Tables | None:
    """The tables that have mass; None where the query is of another kind."""
    loss, z = asked.loss, asked.z
    if asked.n < LONG_SEQUENCE or z is None or not isinstance(loss, SpecLoss):
        return None
    p, form = chances_of_ones(asked.model), loss.confusion
    if p is None or form is None:
        return None
    if not all(map(math.isfinite, declared_range(loss.bound, asked.n))):
        return None
    ones = z == 1
    first, last = count_window(p[ones]), count_window(p[~ones])
    return _Tables(form, asked.n, int(ones.sum()), first, last)


def _levels(tables: _Tables) -> Levels:
    """The distribution of the value.

    Raises:
        SizeLimitError: there are too many tables to list.
    """
    if tables.cells > MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError(sentence("expect", must, f"{tables.cells:,}", remedy))
    blocks = [(values.ravel(), chances.ravel()) for values, chances in tables.blocks()]
    values, chances = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return level_sets(values, chances)
