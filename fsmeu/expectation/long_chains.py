"""Expectations of long sequences under chains, where y's tape has a counter and no state.

The value is linear in joint counts and otherwise looks at one count of each tape. With z given, the
distribution of y's count and the expectation of the joint counts for each value of it are products
of matrices of polynomials (``trellis/count_matrices.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import check_finite
from fsmeu.fst.layers import Layered
from fsmeu.limits import LONG_CHAIN, LONG_CHAIN_STATES
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import check_range, declared_range
from fsmeu.trellis.roundings import relative_error

if TYPE_CHECKING:
    from fsmeu.trellis.tapes import Tapes

__all__ = ["LongValue", "long_chain_value"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LongValue:
    """An expected value with its bounds, and the mass that it is made of."""

    value: float
    lower: float
    upper: float
    kept: float


def long_chain_value(asked: Query) -> LongValue | None:
    """The expected value of a long sequence; None where this way does not serve.

    Requires a hypothesis that is given, a loss that splits by tape with a counter of y and one of z
    at most, no state of y's tape, a finite declared range, and a chain with few states.
    """
    loss = asked.loss
    if asked.n < LONG_CHAIN or asked.z is None or not isinstance(loss, SpecLoss):
        return None
    form, kind = loss.split, asked.model.structure
    if form is None or not form.counted or form.y.counter is None:
        return None
    if not isinstance(kind, tuple) or len(loss.alphabet) ** kind[2] > LONG_CHAIN_STATES:
        return None
    low, high = declared_range(loss.bound, asked.n)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    try:
        return _value(loss, asked.z, asked.model.layered(), (low, high))
    except (LossFileError, SizeLimitError):
        return None


def _value(loss: SpecLoss, z: Ints, model: Layered, sides: tuple[float, float]) -> LongValue | None:
    # Loaded here: a command over short sequences does without scipy, which takes a while to load.
    from fsmeu.trellis.count_matrices import product_of_all, stretches
    from fsmeu.trellis.kept import tapes_of
    from fsmeu.trellis.tapes import values_at

    n, form = len(z), loss.split
    assert form is not None
    steps = _label_gains(tapes_of(loss, n), z)
    if steps is None:
        return None
    counted, gains, ended = steps
    matrix = product_of_all(stretches(_dense(model, len(counted)), counted, gains[:, 1:]))
    found, low = _ending(model, matrix.tables, counted, gains[:, 0])
    ref = low + matrix.low + np.arange(found.shape[1])
    slopes, offset = values_at(form, n, ended, ref, found[0] > 0)
    value = float(found[0] @ offset) + sum(
        float(one @ slope) for one, slope in zip(found[1:], slopes, strict=True)
    )
    check_finite("expect", value)
    kept = float(found[0].sum())
    check_range(loss.bound, n, np.array([value / kept]))
    most = [np.abs(slope).max() for slope in slopes]
    each = np.abs(gains).max(axis=2, initial=0.0).sum(axis=1)  # (joint counts,)
    size = float(found[0] @ np.abs(offset)) + float(np.dot(most, each))
    rounding = relative_error(matrix.operations + found.shape[1] + 8) * size
    below, above = matrix.lost * min(0.0, sides[0]), matrix.lost * max(0.0, sides[1])
    return LongValue(value, value + below - rounding, value + above + rounding, kept)


def _label_gains(tapes: Tapes, z: Ints) -> tuple[Ints, Floats, int] | None:
    """What labels of y count, what they add to joint counts where z is given, and z's own count.

    Args:
        tapes: both tapes.
        z: label indices of the hypothesis, (n,).

    Returns:
        Arrays (labels,) and (joint counts, n, labels), and a number; None where the tape of y has a
        state, or counts otherwise at another position.
    """
    from fsmeu.trellis.terms import term_amounts

    n, layers = len(z), [tapes.y.layer(i) for i in range(len(z))]
    first = layers[0]
    for layer in {id(layer): layer for layer in layers}.values():
        if len(layer.targets) > 1 or layer.targets.any():
            return None
        if not np.array_equal(layer.counted, first.counted):
            return None
    state, ended, shown = 0, 0, np.zeros((len(tapes.terms), n), np.int64)
    for i, label in enumerate(z.tolist()):
        steps = tapes.z.layer(i)
        shown[:, i] = [ids[state, label] for ids in steps.features]
        ended += int(steps.counted[state, label])
        state = int(steps.targets[state, label])
    found = np.zeros((len(tapes.form.joint_counts), n, first.targets.shape[1]))
    for k, term in enumerate(tapes.terms):
        z_rows, y_rows = tapes.z.rows(k), tapes.y.rows(k)
        tables, table = term_amounts(tapes.form, term, z_rows, y_rows, n)
        dense = np.zeros((len(tables), len(z_rows), len(y_rows)))
        for one, (row, feature, amount) in zip(dense, tables, strict=True):
            one[row, feature] = amount
        labels = np.stack([layer.features[k][0] for layer in layers])  # (n, labels)
        found[term.count] += dense[table[:, None], shown[k][:, None], labels]
    return first.counted[0], found, ended


def _dense(model: Layered, labels: int) -> Floats:
    """The weights of all positions but the first, (n - 1, states, labels, states)."""
    states = len(model.final)
    found = np.zeros((model.n - 1, states, labels, states))
    for table, layer in zip(found, model.layers[1:], strict=True):
        table[layer.source, layer.label, layer.target] = layer.weight
    return found


def _ending(model: Layered, tables: Floats, counted: Ints, gains: Floats) -> tuple[Floats, int]:
    """Masses and expectations by count, (1 + joint counts, counts), the first position included.

    Args:
        model: the chain; its first layer leads from one state to all.
        tables: those of all other positions, (1 + joint counts, states, states, counts).
        counted: what each label adds to the counter, (labels,).
        gains: what it adds to each joint count at the first position, (joint counts, labels).

    Returns:
        The masses and expectations, and what is to be added to the least count.
    """
    after = np.einsum("qstc,t->qsc", tables, model.final)
    least, most = int(counted.min()), int(counted.max())
    found = np.zeros((len(tables), tables.shape[3] + most - least))
    first = model.layers[0]
    for label, target, weight in zip(first.label, first.target, first.weight, strict=True):
        moved = weight * after[:, target]
        moved[1:] += gains[:, label, None] * moved[0]
        begin = int(counted[label]) - least
        found[:, begin : begin + moved.shape[1]] += moved
    return found, least
