"""Expectations of long sequences of two labels, where the value looks at counts alone.

Sums of ratios of counts come from central moments (``trellis/moments.py``), for independent labels
and chains of any order. Other values of independent labels: with z given, tp is a count of
independent events, those of the positions where z is a one, and ref - tp is one of all others. Both
are held in windows that lack a mass far below rounding, so that the sum over all tables has a few
million terms for a million labels. What is missing enters the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, Levels, check_finite, level_sets
from fsmeu.limits import LONG_SEQUENCE, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.models import Model
from fsmeu.models.chains import binary_chain, binary_marginals
from fsmeu.trellis.moments import PROMISED, chain_of, chain_value, independent_value
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.windows import Window, count_window

__all__ = ["long_expectation"]

MOST_LEVEL_CELLS = 20_000_000  # tables of counts whose values are listed: 1 GB while sorted


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


def long_expectation(asked: Query, levels: Callable[[], Levels]) -> Expectation | None:
    """The expectation of a long sequence; None where this way does not serve.

    Requires a hypothesis that is given, a value of the confusion table of two labels, and
    independent labels or a chain.

    Args:
        asked: the query.
        levels: the distribution of the value under a chain, when it is asked for.
    """
    loss, z = asked.loss, asked.z
    if asked.n < LONG_SEQUENCE or z is None or not isinstance(loss, SpecLoss):
        return None
    form, p = loss.confusion, binary_marginals(asked.model)
    if form is None:
        return None
    found = independent_value(form, z, p) if p is not None else _chain_value(form, z, asked.model)
    if found is not None and found[1] <= PROMISED * abs(found[0]):
        value, error = found
        check_finite("expect", value)
        check_range(loss.bound, asked.n, np.array([value]))
        if p is not None:
            levels = lambda: _levels(_tables(form, z, p))  # noqa: E731
        return Expectation(value, value - error, value + error, 1.0, levels)
    if p is None or not all(map(math.isfinite, declared_range(loss.bound, asked.n))):
        return None
    return _windowed(loss, _tables(form, z, p))


def _chain_value(form: Confusion, z: Ints, model: Model) -> tuple[float, float] | None:
    """The value under a chain and a bound on its error; None where the model is no such chain."""
    tables = binary_chain(model)
    found = None if tables is None else chain_value(form, z, chain_of(*tables))
    if found is None or found[1] > PROMISED * found[2]:
        return None
    return found[:2]


def _windowed(loss: SpecLoss, tables: _Tables) -> Expectation:
    """The expectation by windows of counts; the declared range is finite."""
    n = tables.n
    low, high = declared_range(loss.bound, n)
    value = size = kept = 0.0
    for values, chances in tables.blocks():
        value += float((values * chances).sum())
        size += float((np.abs(values) * chances).sum())
        kept += float(chances.sum())
    check_finite("expect", value)
    check_range(loss.bound, n, np.array([value / kept]))
    first, last = tables.first, tables.last
    operations = first.operations + last.operations + len(first.chances) + len(last.chances) + 8
    lost, rounding = first.lost + last.lost, relative_error(operations) * size
    lower, upper = value + lost * min(0.0, low) - rounding, value + lost * max(0.0, high) + rounding
    return Expectation(value, lower, upper, kept, lambda: _levels(tables))


def _tables(form: Confusion, z: Ints, p: Floats) -> _Tables:
    """The tables that have mass."""
    ones = z == 1
    return _Tables(form, len(z), int(ones.sum()), count_window(p[ones]), count_window(p[~ones]))


def _levels(tables: _Tables) -> Levels:
    """The distribution of the value.

    Raises:
        SizeLimitError: there are too many tables to list.
    """
    if tables.cells > MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError(message("expect", must, f"{tables.cells:,}", remedy))
    blocks = [(values.ravel(), chances.ravel()) for values, chances in tables.blocks()]
    values, chances = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return level_sets(values, chances)
