"""Expected values of long sequences of two labels, where the value looks at counts alone.

Sums of quotients of counts come from generating functions (``trellis/given_labels.py``, and under
chains ``chains.py``). Other values, of independent labels: with z given, tp counts independent
events, where z is a one, and ref - tp all others. Both have windows that lack a mass far below
rounding: the sum over all tables has a few million terms for a million labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import SizeLimitError
from fsmeu.expectation.chains import chain_expectation
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import (
    Expectation,
    Levels,
    LossyValue,
    level_sets,
    ranged_expectation,
)
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.losses.algebra.value import value_at_length
from fsmeu.models.chains import binary_marginals, is_binary_chain
from fsmeu.trellis.given_labels import expected_values
from fsmeu.trellis.item_quotients import UnfitError
from fsmeu.trellis.windows import Window, count_window


def is_long(query: Query) -> bool:
    """Whether it is a long sequence of two labels, z given, whose value looks at counts alone."""
    is_chain = is_binary_chain(query.model)
    if query.n < (limits.LONG_CHAIN if is_chain else limits.LONG_SEQUENCE):
        return False
    if query.z is None or query.loss.confusion is None:
        return False
    return is_chain or binary_marginals(query.model) is not None


def long_expectation(query: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation of a long query by ratios or windows of counts; None if neither applies.

    ``levels`` makes the distribution of the value where labels are not independent.
    """
    loss = query.loss
    form = loss.confusion
    assert form is not None
    p = binary_marginals(query.model)
    if p is not None:
        return _of_labels(query, form, p)
    return chain_expectation(query, levels)


def _of_labels(query: Query, form: Confusion, p: Floats) -> Expectation | None:
    """The expectation of independent labels; None where the range that windows need is open."""
    z = query.z
    assert z is not None
    found = _by_quotients(form, z, p)
    if found is None:
        if not query.loss.value_range(query.n).finite:
            return None
        found = _windowed(form, z, p)
    listed = partial(_table_levels, form, z, p)
    return ranged_expectation(query.loss, query.n, query.where, found, listed)


def _by_quotients(form: Confusion, z: Ints, p: Floats) -> LossyValue | None:
    """The value as a sum of quotients of counts; None if it is none, or digits cancel."""
    value = value_at_length(form, len(z))
    if value is None:
        return None
    try:
        found = expected_values(value, z[None], p[None])
    except UnfitError:
        return None
    if found.cancels()[0]:
        return None
    return LossyValue(float(found.values[0]), float(found.sizes[0]))


def _windowed(form: Confusion, z: Ints, p: Floats) -> LossyValue:
    """The value by windows of counts."""
    windows = count_window(p[z == 1]), count_window(p[z != 1])
    value = size = mass = 0.0
    for values, masses in _tables(form, z, *windows):
        value += float((values * masses).sum())
        size += float((np.abs(values) * masses).sum())
        mass += float(masses.sum())
    return LossyValue(value, size, mass, sum(window.lost for window in windows))


def _tables(
    form: Confusion, z: Ints, first: Window, last: Window
) -> Iterator[tuple[Floats, Floats]]:
    """Values and probabilities of the tables that have mass, (rows, width), in blocks of rows."""
    rows = max(1, limits.WINDOW_CELLS // len(last.masses))
    fn = last.counts[None, :]
    for begin in range(0, len(first.masses), rows):
        tp = first.counts[begin : begin + rows, None]
        values = value_of_counts(form, len(z), tp, float(z.sum()), tp + fn)
        yield values, first.masses[begin : begin + rows, None] * last.masses


def _table_levels(form: Confusion, z: Ints, p: Floats) -> Levels:
    """The distribution of the value, where there are not too many tables to list."""
    first = count_window(p[z == 1])
    last = count_window(p[z != 1])
    cells = len(first.masses) * len(last.masses)
    if cells > limits.MOST_LEVEL_CELLS:
        must = f"the distribution may have up to {limits.MOST_LEVEL_CELLS:,} tables"
        remedy = "Ask for the value and its bounds, or for shorter sequences"
        raise SizeLimitError("expect", must, given=f"{cells:,}", remedy=remedy)
    blocks = [np.stack(np.broadcast_arrays(*block)) for block in _tables(form, z, first, last)]
    return level_sets(*np.concatenate(blocks, axis=1).reshape(2, -1))
