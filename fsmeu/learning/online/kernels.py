"""The loop over examples that all online learners share: predict, count, learn, one by one.

numba looks at the date of this file alone to tell whether the loop that it has kept on disk is
still good: where ``rules`` is edited, this file must be written anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from fsmeu.learning.online import rules
from fsmeu.learning.online.rules import POSITIVE, PREDICTED, SEEN, TOTAL, TRUE_POSITIVE

__all__ = ["run"]

# Arithmetic as in numpy: no exception for a division by 0, no sum in another order.
compiled: Any = njit(cache=True, error_model="numpy")

_decide_logistic = compiled(rules.decide_logistic)
_decide_ofo = compiled(rules.decide_ofo)
_decide_fofo = compiled(rules.decide_fofo)
_decide_omcsl = compiled(rules.decide_omcsl)
_learn_logistic = compiled(rules.learn_logistic)
_learn_fofo = compiled(rules.learn_fofo)
_learn_stamp = compiled(rules.learn_stamp)
_learn_omcsl = compiled(rules.learn_omcsl)


@compiled
def _decide(kind, state, chances, draw):
    if kind == rules.FOFO:
        return _decide_fofo(state, chances, draw)
    if kind == rules.OFO:
        return _decide_ofo(state, chances, draw)
    if kind == rules.OMCSL:
        return _decide_omcsl(state, chances, draw)
    return _decide_logistic(state, chances, draw)


@compiled
def _learn(kind, state, chances, y, weight, costs):
    if kind == rules.FOFO:
        _learn_fofo(state, chances, y, weight, costs)
    elif kind == rules.STAMP:
        _learn_stamp(state, chances, y, weight, costs)
    elif kind == rules.OMCSL:
        _learn_omcsl(state, chances, y, weight, costs)
    else:
        _learn_logistic(state, chances, y, weight, costs)


@compiled
def _dot(weights, j, values, columns, begin, end, constant):
    """The product of a row with weights j; four sums at once, which do not wait for each other."""
    last = weights.shape[1] - 1
    a, b, c, d = weights[j, last] * constant, 0.0, 0.0, 0.0
    fours = begin + (end - begin) // 4 * 4
    if len(columns):
        for k in range(begin, end):
            a += weights[j, columns[k]] * values[k]
        return a
    for k in range(begin, fours, 4):
        at = k - begin
        a += weights[j, at] * values[k]
        b += weights[j, at + 1] * values[k + 1]
        c += weights[j, at + 2] * values[k + 2]
        d += weights[j, at + 3] * values[k + 3]
    for k in range(fours, end):
        a += weights[j, k - begin] * values[k]
    return (a + b) + (c + d)


@compiled
def _move(weights, j, values, columns, begin, end, constant, by):
    """Adds a multiple of a row to weights j."""
    weights[j, weights.shape[1] - 1] += by * constant
    if len(columns):
        for k in range(begin, end):
            weights[j, columns[k]] += by * values[k]
    else:
        for k in range(begin, end):
            weights[j, k - begin] += by * values[k]


@compiled
def _logistic(margin):
    """The logistic function; no number where the margin has overflowed."""
    if math.isinf(margin):
        return math.nan
    if margin >= 0.0:
        return 1.0 / (1.0 + math.exp(-margin))
    grown = math.exp(margin)
    return grown / (1.0 + grown)


@compiled
def run(kind, state, weights, delays, settings, held, given, predicted, guesses):
    """Fills the last two, and changes the state and the weights; see ``base.run``."""
    constant, step, falls = settings
    values, columns, begins = held
    positive, importance, draws = given
    count, averages = len(weights), len(delays) > 0
    own, chances, costs = np.empty(count), np.empty(count), np.zeros(count)
    for i in range(len(positive)):
        y, weight = positive[i], importance[i]
        if weight == 0.0:
            continue
        begin, end, before = begins[i], begins[i + 1], state[SEEN]
        for j in range(count):
            margin = _dot(weights, j, values, columns, begin, end, constant)
            own[j] = chances[j] = _logistic(margin)
            if averages and before > 0.0:
                late = _dot(delays, j, values, columns, begin, end, constant)
                chances[j] = _logistic(margin + late / before)
        chosen = _decide(kind, state, chances, draws[i])
        predicted[i], guesses[i] = chosen, chances[0]
        state[TRUE_POSITIVE] += weight * y * chosen
        state[PREDICTED] += weight * chosen
        state[POSITIVE] += weight * y
        state[TOTAL] += weight
        state[SEEN] = before + 1.0
        _learn(kind, state, chances, y, weight, costs)
        rate = step * weight / (math.sqrt(before + 1.0) if falls else 1.0)
        for j in range(count):
            move = rate * costs[j] * (own[j] - y)
            _move(weights, j, values, columns, begin, end, constant, -move)
            if averages:
                _move(delays, j, values, columns, begin, end, constant, before * move)
