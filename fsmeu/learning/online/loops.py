"""The loop over examples that all online learners share: predict, count, learn, one by one.

``run`` takes numpy, or loops that numba has compiled (the extra "fast") once a learner has seen
many examples, because loading them takes a while. Both do the same in the same order; only the
sums of products are rounded differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fsmeu.extras import is_installed
from fsmeu.learning.base import Rows
from fsmeu.learning.online.rules import RULES
from fsmeu.learning.online.state import POSITIVE, PREDICTED, SEEN, TOTAL, TRUE_POSITIVE
from fsmeu.limits import COMPILED_EXAMPLES

__all__ = ["Examples", "Linear", "run"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """Examples in the order in which they come.

    Attributes:
        rows: (examples, features), an array of doubles or a ``csr_array``.
        positive: 1 for positive examples, 0 for others.
        weights: weights; an example of weight 0 is passed over.
        draws: a uniform number for each, from [0, 1), where the rule asks for one.
    """

    rows: Rows
    positive: Floats
    weights: Floats
    draws: Floats


@dataclass(frozen=True)
class Linear:
    """Linear classifiers that learn by the gradient of the logistic loss.

    After t examples the mean of the t weight vectors is ``weights + delays / t``: a step g made at
    example s is missing in the s - 1 vectors before it, so ``delays`` adds up (s - 1) g. That way
    a sparse example touches only its own features.

    Attributes:
        weights: (classifiers, features + 1), the last column for the intercept; changed in place.
        delays: as above, of the same shape; no rows where the last weights are used instead.
        constant: the value of the feature behind the intercept: 1, or 0 without one.
        step: the length of the first step.
        falls: whether it is ``step / sqrt(t)`` at example t; else it stays.
    """

    weights: Floats
    delays: Floats
    constant: float
    step: float
    falls: bool


def run(
    kind: int, state: Floats, linear: Linear, examples: Examples
) -> tuple[NDArray[np.uint8], Floats]:
    """What was predicted for each example before its label was used, two arrays (examples,).

    The first is 1 or 0, the second the probability of the positive class by the first classifier.

    Args:
        kind: the number of the learner's rule.
        state: what it remembers besides weights; changed in place, as the weights are.
        linear: its classifiers.
        examples: the examples.
    """
    predicted = np.zeros(len(examples.positive), np.uint8)
    before = np.full(len(predicted), np.nan)
    seen = len(predicted) + int(state[SEEN])
    if seen * len(linear.weights) >= COMPILED_EXAMPLES and is_installed("numba"):
        from fsmeu.learning.online import compiled_loops

        held = _flat(examples.rows)
        given = (examples.positive, examples.weights, examples.draws)
        settings = (linear.constant, linear.step, linear.falls)
        compiled_loops.run(
            kind, state, linear.weights, linear.delays, settings, held, given, predicted, before
        )
    else:
        listed = state.tolist()
        _run_plain(kind, listed, linear, examples, predicted, before)
        state[:] = listed
    return predicted, before


def _flat(rows: Rows) -> tuple[Any, Any, Any]:
    """Values row by row, the column of each (none where rows are whole), where rows begin."""
    if issparse(rows):
        return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    begins = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return np.ascontiguousarray(rows).ravel(), np.empty(0, np.int64), begins


def _each(rows: Rows) -> Iterator[tuple[Floats, Any]]:
    """The values of each row, and where in a weight vector they belong."""
    if not issparse(rows):
        whole = slice(0, rows.shape[1])
        yield from ((row, whole) for row in rows)
        return
    begins = rows.indptr.tolist()
    for begin, end in pairwise(begins):
        yield rows.data[begin:end], rows.indices[begin:end]


def _run_plain(
    kind: int,
    state: list[float],
    linear: Linear,
    examples: Examples,
    predicted: NDArray[np.uint8],
    guesses: Floats,
) -> None:
    """Fills the two arrays of ``run``, and changes the state and the weights."""
    decide, learn = RULES[kind]
    columns = (examples.positive.tolist(), examples.weights.tolist(), examples.draws.tolist())
    lines, biases = [line[:-1] for line in linear.weights], linear.weights[:, -1].tolist()
    late, late_biases = [line[:-1] for line in linear.delays], linear.delays[:, -1].tolist()
    constant, every = linear.constant, range(len(lines))
    costs = [0.0] * len(lines)
    for i, ((x, at), y, weight, draw) in enumerate(
        zip(_each(examples.rows), *columns, strict=True)
    ):
        if weight == 0.0:
            continue
        margins = [float(lines[j][at].dot(x)) + constant * biases[j] for j in every]
        before, own = state[SEEN], [_logistic(margin) for margin in margins]
        chances = own
        if late and before > 0.0:
            sums = [float(late[j][at].dot(x)) + constant * late_biases[j] for j in every]
            chances = [_logistic(margins[j] + sums[j] / before) for j in every]
        chosen = decide(state, chances, draw)
        predicted[i], guesses[i] = chosen, chances[0]
        state[TRUE_POSITIVE] += weight * y * chosen
        state[PREDICTED] += weight * chosen
        state[POSITIVE] += weight * y
        state[TOTAL] += weight
        state[SEEN] = before + 1.0
        learn(state, chances, y, weight, costs)
        rate = linear.step * weight / (math.sqrt(before + 1.0) if linear.falls else 1.0)
        for j in every:
            move = rate * costs[j] * (own[j] - y)
            lines[j][at] -= move * x
            biases[j] -= move * constant
            if late:
                late[j][at] += before * move * x
                late_biases[j] += before * move * constant
    linear.weights[:, -1] = biases
    linear.delays[:, -1] = late_biases


def _logistic(margin: float) -> float:
    """The logistic function; no number where the margin has overflowed."""
    if math.isinf(margin):
        return math.nan
    if margin >= 0.0:
        return 1.0 / (1.0 + math.exp(-margin))
    grown = math.exp(margin)
    return grown / (1.0 + grown)
