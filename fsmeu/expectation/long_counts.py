"""Expectations of long sequences of two labels, where the value looks at counts alone.

Sums of ratios of counts come from central moments (``trellis/moments.py``), for independent labels
and chains of any order. Other values of independent labels: with z given, tp is a count of
independent events, those of the positions where z is a one, and ref - tp is one of all others. Both
are held in windows that lack a mass far below rounding, so that the sum over all tables has a few
million terms for a million labels. What is missing enters the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, Levels, check_finite, level_sets
from fsmeu.limits import LONG_SEQUENCE, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.models.chains import binary_chain, binary_marginals, is_binary_chain
from fsmeu.trellis.moments import PROMISED, chain_of, chain_value, independent_value
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.windows import Window, count_window

MOST_LEVEL_CELLS = 20_000_000  # tables of counts whose values are listed: 1 GB while sorted


def is_long(asked: Query) -> bool:
    """Whether it is a long sequence of two labels, z given, whose value looks at counts alone."""
    if asked.n < LONG_SEQUENCE or asked.z is None or not isinstance(asked.loss, SpecLoss):
        return False
    known = binary_marginals(asked.model) is not None or is_binary_chain(asked.model)
    return known and asked.loss.confusion is not None


def long_expectation(asked: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation of a query that is long; None where this way does not serve.

    ``levels`` gives the distribution of the value under a chain, when it is asked for.
    """
    loss, z, p = asked.loss, asked.z, binary_marginals(asked.model)
    assert isinstance(loss, SpecLoss)
    assert z is not None
    form, chain = loss.confusion, binary_chain(asked.model)
    assert form is not None
    known: Sequence[float] | None = None
    if p is not None:
        known = independent_value(form, z, p)
    elif chain is not None:
        known = chain_value(form, z, chain_of(*chain))
    sides = declared_range(loss.bound, asked.n)
    if known is not None and known[1] <= PROMISED * abs(known[0]):
        (value, error), kept = known[:2], 1.0
        lower, upper = value - error, value + error
    elif p is not None and all(map(math.isfinite, sides)):
        value, lower, upper, kept = _windowed(form, z, p, sides)
    else:
        return None
    check_finite(asked.where, value)
    check_range(loss.bound, asked.n, np.array([value / kept]))
    if p is None:
        return Expectation(value, lower, upper, kept, lambda: levels(asked))
    return Expectation(value, lower, upper, kept, lambda: _levels(form, z, p))


def _windowed(
    form: Confusion, z: Ints, p: Floats, sides: tuple[float, float]
) -> tuple[float, float, float, float]:
    """The value by windows of counts, its bounds, and the mass of the windows; sides are finite."""
    windows = count_window(p[z == 1]), count_window(p[z != 1])
    value = size = kept = 0.0
    for values, chances in _tables(form, z, *windows):
        value += float((values * chances).sum())
        size += float((np.abs(values) * chances).sum())
        kept += float(chances.sum())
    operations = sum(one.operations + len(one.chances) for one in windows) + 8
    lost, rounding = sum(one.lost for one in windows), relative_error(operations) * size
    low, high = lost * min(0.0, sides[0]) - rounding, lost * max(0.0, sides[1]) + rounding
    return value, value + low, value + high, kept


def _tables(
    form: Confusion, z: Ints, first: Window, last: Window
) -> Iterator[tuple[Floats, Floats]]:
    """Values and probabilities of the tables that have mass, (rows, width), in blocks of rows.

    ``first`` is the count of true positives, ``last`` that of ones of y where z has none.
    """
    rows, rest = max(1, WINDOW_CELLS // len(last.chances)), last.counts[None, :]
    for begin in range(0, len(first.chances), rows):
        tp = first.counts[begin : begin + rows, None]
        values = value_of_counts(form, len(z), tp, float(z.sum()), tp + rest)
        yield values, first.chances[begin : begin + rows, None] * last.chances


def _levels(form: Confusion, z: Ints, p: Floats) -> Levels:
    """The distribution of the value, where there are not too many tables to list."""
    first, last = count_window(p[z == 1]), count_window(p[z != 1])
    cells = len(first.chances) * len(last.chances)
    if cells > MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError(message("expect", must, f"{cells:,}", remedy))
    blocks = [
        (values.ravel(), chances.ravel()) for values, chances in _tables(form, z, first, last)
    ]
    values, chances = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return level_sets(values, chances)
