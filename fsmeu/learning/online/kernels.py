"""One pass over examples, compiled by numba: predict, count, learn, one by one.

A learner decides, 1 or 0, before the label is known, from its state and the probability of the
positive class, and changes its state after the example was counted.
"""

from __future__ import annotations

import math

import numpy as np

from fsmeu.jit import jit_entry, jit_helper
from fsmeu.learning import online as at


@jit_helper
def _ends(state):
    """Whether the stage is over and another follows."""
    more = state[at.STAGE] < state[at.STAGES] or state[at.OPEN] > 0.0
    return more and state[at.DONE] >= state[at.LENGTH]


@jit_helper
def _learn_fofo(state, probability, weight):
    """Lines 12 to 15 of Algorithm 2; a stage begins as in Algorithm 1 where the last is over."""
    top = 1.0 / (1.0 + state[at.KNOWN])
    if _ends(state):
        if state[at.STAGE] >= state[at.STAGES]:
            horizon = max(state[at.HORIZON], 2.0)
            stages = math.floor(0.5 * math.log2(2.0 * horizon / math.log2(horizon))) - 1.0
            state[at.STAGES], state[at.STAGE] = max(stages, 1.0), 0.0
            state[at.RADIUS] = 2.0 * top
            state[at.HORIZON], state[at.OPEN] = 2.0 * horizon, state[at.DOUBLES]
            state[at.LENGTH] = math.floor(horizon / state[at.STAGES])
        state[at.STAGE] += 1.0
        state[at.RADIUS] /= 2.0
        state[at.GAMMA] = state[at.RADIUS] / math.sqrt(10.0 * state[at.LENGTH])
        if state[at.STAGE] == state[at.STAGES]:  # it has what is left over of the plan
            state[at.LENGTH] = state[at.HORIZON] / 2.0 - (state[at.STAGES] - 1.0) * state[at.LENGTH]
        state[at.START] = state[at.THETA]
        state[at.DONE] = 0.0
    theta = state[at.THETA]
    rate = state[at.POSITIVE] / state[at.TOTAL]
    slope = state[at.KNOWN] * rate * theta - max(probability - theta, 0.0)
    scale = state[at.SCALE]
    if scale == 0.0:
        scale = math.sqrt(10.0 * (state[at.TOTAL] + 2.0) / (state[at.POSITIVE] + 1.0))
    theta -= weight * scale * state[at.GAMMA] * slope
    start, radius = state[at.START], state[at.RADIUS]
    theta = state[at.THETA] = min(max(theta, start - radius, 0.0), start + radius, top)
    state[at.DONE] += 1.0
    state[at.MEAN] += (theta - state[at.MEAN]) / (state[at.DONE] + 1.0)
    if _ends(state):
        state[at.THETA] = state[at.MEAN]  # line 1: the next example is the first of a stage


@jit_helper
def dot(weights, values, columns, begin, end, constant):
    """The product of a row with weights."""
    total = weights[-1] * constant
    for k in range(begin, end):
        total += weights[columns[k] if len(columns) else k - begin] * values[k]
    return total


@jit_helper
def move(weights, values, columns, begin, end, constant, by):
    """Adds a multiple of a row to weights."""
    weights[-1] += by * constant
    for k in range(begin, end):
        weights[columns[k] if len(columns) else k - begin] += by * values[k]


@jit_helper
def logistic(margin):
    """The logistic function; no number where the margin has overflowed."""
    return math.nan if math.isinf(margin) else 1.0 / (1.0 + math.exp(-margin))


_skipped = jit_helper(at.skipped)
_threshold = jit_helper(at.threshold)


@jit_helper
def _drop_first(weights, delays, seen):
    """Leaves out more of the first vectors where the number of examples is a power of 2.

    ``delays[0]`` adds up (s - 1 - k) g after k vectors that are left out. ``delays[1]`` has, from
    the last such place p, what it was then plus p - k times the weights: what more of the first
    vectors have added to it by the next place.
    """
    before, now = _skipped(seen - 1.0), _skipped(seen)
    if now > before:
        delays[0] += (now - before) * weights - delays[1]
    if now > before or seen == 1.0:
        delays[1] = delays[0] + (seen - now) * weights


@jit_entry
def run(kind, state, weights, delays, settings, rows, positive, importance):
    """Predictions before labels were used, uint8, and their probabilities, (n,) each.

    After t examples the mean of the t weight vectors is ``weights + delays / t``: a step g made at
    example s is missing in the s - 1 vectors before it, so ``delays`` adds up (s - 1) g. That way
    a sparse example touches only its own features. ``delays`` has two rows for a suffix mean
    (``_drop_first``), none where the last weights are used. ``settings`` are the value of the
    feature behind the intercept (1, or 0 without one), the length of the first step, and whether it
    is divided by the root of t; ``rows`` are values row by row, the column of each (none where rows
    are whole), and where rows begin. An example whose ``importance`` is 0 is skipped.
    """
    constant, step, falls = settings
    values, columns, begins = rows
    predicted, probabilities = np.zeros(len(positive), np.uint8), np.full(len(positive), np.nan)
    averages, suffix, w = len(delays) > 0, len(delays) > 1, weights[0]
    for i in range(len(positive)):
        y, weight = positive[i], importance[i]
        if weight == 0.0:
            continue
        begin, end, before = begins[i], begins[i + 1], state[at.SEEN]
        averaged = before - (_skipped(before) if suffix else 0.0)
        margin = dot(w, values, columns, begin, end, constant)
        last_probability = probability = logistic(margin)
        if averages and before > 0.0:
            delayed = dot(delays[0], values, columns, begin, end, constant)
            probability = logistic(margin + delayed / averaged)
        chosen = 1 if probability >= _threshold(kind, state) else 0
        predicted[i], probabilities[i] = chosen, probability
        state[at.TRUE_POSITIVE] += weight * y * chosen
        state[at.PREDICTED] += weight * chosen
        state[at.POSITIVE] += weight * y
        state[at.TOTAL] += weight
        state[at.SEEN] = before + 1.0
        if kind == at.FOFO:
            _learn_fofo(state, probability, weight)
        by = step * weight / (math.sqrt(before + 1.0) if falls else 1.0) * (last_probability - y)
        move(w, values, columns, begin, end, constant, -by)
        if averages:
            move(delays[0], values, columns, begin, end, constant, averaged * by)
        if suffix:
            _drop_first(w, delays, before + 1.0)
    return predicted, probabilities
