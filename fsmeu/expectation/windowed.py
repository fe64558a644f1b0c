"""The expectation of a sum over windows: all windows at once, each with the mass before it.

A window that ends at position i sees the model from there back to i - k. What came before is
summed up in the mass of the model's states, what comes after in the mass that each still has to go.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fsmeu.expectation.batch import batch_values, whole_stack
from fsmeu.limits import WINDOW_CELLS_AT_ONCE
from fsmeu.losses.windows import Windows
from fsmeu.models.paths import Dense
from fsmeu.trellis.roundings import Sums

__all__ = ["windowed_value"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def windowed_value(form: Windows, z: Ints, arrays: Dense) -> Sums | None:
    """The expected value of a hypothesis, the mass of the model, and what bounds the error.

    Args:
        form: the loss as a sum over windows.
        z: label indices of the hypothesis.
        arrays: the model's arrays.

    Returns:
        The sums, of one hypothesis; None when arrays cannot span the states of a window.
    """
    before, after = _masses(arrays)
    mass = float(before[-1] @ after[-1])
    value, size = form.base * mass, abs(form.base) * mass
    _, width, labels, _ = arrays.tables.shape
    before_windows, within = 2 * len(z) * (labels + width + 4), 0  # roundings
    count = len(z) - form.k + 1
    if count >= 1:
        hypotheses = sliding_window_view(z, form.k)
        tables = sliding_window_view(arrays.tables, form.k, axis=0).transpose(0, 4, 1, 2, 3)
        block = max(1, WINDOW_CELLS_AT_ONCE // max(1, tables[0].size))
        for begin in range(0, count, block):
            rows = slice(begin, min(begin + block, count))
            ends = slice(rows.start + form.k, rows.stop + form.k)
            some = whole_stack(Dense(tables[rows], before[rows], after[ends]))
            part = batch_values(form.loss, hypotheses[rows], some)
            if part is None:
                return None
            value, size = value + float(part.values.sum()), size + float(part.sizes.sum())
            within = max(within, part.roundings + count // block + 64)
    values, masses, sizes = np.array([[value], [mass], [size]])
    return Sums(values, masses, sizes, before_windows + within)


def _masses(arrays: Dense) -> tuple[Floats, Floats]:
    """The mass that reaches each state of each layer, and the mass that each has to go."""
    steps = arrays.tables.sum(axis=2)
    n, width, _ = steps.shape
    before, after = np.empty((n + 1, width)), np.empty((n + 1, width))
    before[0], after[n] = arrays.start, arrays.final
    for i in range(n):
        before[i + 1] = before[i] @ steps[i]
        after[n - 1 - i] = steps[n - 1 - i] @ after[n - i]
    return before, after
