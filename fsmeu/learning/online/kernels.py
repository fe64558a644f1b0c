"""One pass over examples, compiled by numba: predict, count, learn, one by one.

A learner decides, 1 or 0, before the label is known, from its state, the probabilities
(``chances``) of the positive class by each of its classifiers, and a uniform number. It learns
after the example was counted: changes the state, and says by ``costs`` what the gradient of each
classifier's logistic loss is multiplied by.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from fsmeu.learning.online import state as at

# Arithmetic as in numpy: no exception for a division by 0, no sum in another order.
compiled: Any = njit(cache=True, error_model="numpy")


@compiled
def _decide(kind, state, chances, draw):
    """1 where the probability reaches the threshold of the learner, else 0.

    OFO: TP / (b POS + PRED), half the running F where b = 1. FOFO: the average threshold of the
    stage (Algorithm 2, line 6), or the last. OMCSL: 1/2, of a classifier that is drawn.
    """
    if kind == at.FOFO:
        return 1 if chances[0] >= (state[at.THETA] if state[at.LAST] else state[at.MEAN]) else 0
    if kind == at.OFO:
        below = state[at.KNOWN] * state[at.POSITIVE] + state[at.PREDICTED]
        return 1 if chances[0] * below >= state[at.TRUE_POSITIVE] else 0
    chosen = _draw_omcsl(state, len(chances), draw) if kind == at.OMCSL else 0
    return 1 if chances[chosen] >= 0.5 else 0


@compiled
def _draw_omcsl(state, count, draw):
    """A classifier drawn with probability proportional to exp(gamma F)."""
    best, total = 0.0, 0.0
    for again in range(3):  # the greatest measure, the sum of weights, the one that is drawn
        passed = 0.0
        for j in range(count):
            hits, predicted = state[at.OMCSL_COUNTS + 2 * j], state[at.OMCSL_COUNTS + 2 * j + 1]
            below = state[at.KNOWN] * state[at.POSITIVE] + state[at.MATCHED] * hits
            below += predicted - hits
            value = state[at.GAIN] * hits / below if below > 0.0 else 0.0
            if again == 0:
                best = max(best, value)
                continue
            passed += math.exp(state[at.SHARPNESS] * (value - best))
            if again == 2 and passed > draw * total:
                return j
        total = passed
    return count - 1


@compiled
def _learn(kind, state, chances, y, weight, costs):
    """Changes the state, and sets what the gradient of each classifier is multiplied by."""
    costs[0] = 1.0
    if kind == at.FOFO:
        _learn_fofo(state, chances[0], weight)
    elif kind == at.STAMP:
        costs[0] = _learn_stamp(state, chances[0], y, weight)
    elif kind == at.OMCSL:
        _learn_omcsl(state, chances, y, weight, costs)


@compiled
def _ends(state):
    """Whether the stage is over and another follows."""
    if state[at.DONE] < state[at.LENGTH]:
        return False
    return state[at.STAGE] < state[at.STAGES] or state[at.OPEN] > 0.0


@compiled
def _learn_fofo(state, chance, weight):
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
    slope = state[at.KNOWN] * rate * theta - max(chance - theta, 0.0)
    scale = state[at.SCALE]
    if scale == 0.0:
        scale = math.sqrt(10.0 * (state[at.TOTAL] + 2.0) / (state[at.POSITIVE] + 1.0))
    theta -= weight * scale * state[at.GAMMA] * slope
    start, radius = state[at.START], state[at.RADIUS]
    theta = min(max(theta, start - radius, 0.0), start + radius, top)
    state[at.THETA] = theta
    state[at.DONE] += 1.0
    state[at.MEAN] += (theta - state[at.MEAN]) / (state[at.DONE] + 1.0)
    if _ends(state):
        state[at.THETA] = state[at.MEAN]  # line 1: the next example is the first of a stage


@compiled
def _learn_stamp(state, chance, y, weight):
    """The cost at the present level, or 0 where the level of the next epoch is estimated."""
    level, cost = state[at.LEVEL], 0.0
    if state[at.ESTIMATES] == 0.0:
        cost = state[at.GAIN] - level * state[at.MATCHED] if y > 0.5 else level
    elif y > 0.5:
        state[at.REWARD_POSITIVE] += weight * (1.0 + math.log2(max(chance, 1e-300)))
        state[at.HELD_POSITIVE] += weight
    else:
        state[at.REWARD_NEGATIVE] += weight * (1.0 + math.log2(max(1.0 - chance, 1e-300)))
        state[at.HELD_NEGATIVE] += weight
    state[at.STEPS] += 1.0
    if state[at.STEPS] < state[at.EPOCH]:
        return cost
    state[at.STEPS] = 0.0
    state[at.ESTIMATES] = 1.0 - state[at.ESTIMATES]
    if state[at.ESTIMATES] == 1.0:
        return cost
    state[at.EPOCH] = math.floor(state[at.EPOCH] * state[at.GROWTH])
    if state[at.HELD_POSITIVE] > 0.0 and state[at.HELD_NEGATIVE] > 0.0:
        hit = max(state[at.REWARD_POSITIVE] / state[at.HELD_POSITIVE], 0.0)
        spared = state[at.REWARD_NEGATIVE] / state[at.HELD_NEGATIVE]
        odds = (state[at.TOTAL] - state[at.POSITIVE]) / state[at.POSITIVE]
        below = state[at.KNOWN] + state[at.MATCHED] * hit + odds * (1.0 - spared)
        state[at.LEVEL] = min(state[at.GAIN] * hit / below, 1.0)
        state[at.REWARD_POSITIVE : at.HELD_NEGATIVE + 1] = 0.0
    return cost


@compiled
def _learn_omcsl(state, chances, y, weight, costs):
    """Costs of the levels j / (K + 1), scaled to the sum 1; counts of each classifier."""
    count = len(chances)
    for j in range(count):
        level = (j + 1.0) / (count + 1.0)
        reward = state[at.GAIN] - level * state[at.MATCHED]
        costs[j] = (reward if y > 0.5 else level) / (reward + level)
        if chances[j] >= 0.5:
            state[at.OMCSL_COUNTS + 2 * j] += weight * y
            state[at.OMCSL_COUNTS + 2 * j + 1] += weight


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
        place = k - begin
        a += weights[j, place] * values[k]
        b += weights[j, place + 1] * values[k + 1]
        c += weights[j, place + 2] * values[k + 2]
        d += weights[j, place + 3] * values[k + 3]
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


_skipped = compiled(at.skipped)


@compiled
def _drop_first(weights, delays, seen):
    """Leaves out more of the first vectors where the number of examples is a power of 2.

    ``delays`` adds up (s - 1 - k) g after k vectors that the mean leaves out. Its second half has,
    from the last such place p, what it was then plus p - k times the weights, which is what more of
    the first vectors have added to it by the next place.
    """
    count, before, now = len(weights), _skipped(seen - 1.0), _skipped(seen)
    if now > before:
        delays[:count] += (now - before) * weights - delays[count:]
    if now > before or seen == 1.0:
        delays[count:] = delays[:count] + (seen - now) * weights


@compiled
def run(kind, state, weights, delays, settings, held, given):
    """What was predicted before labels were used, and with which probability, (n,) each.

    After t examples the mean of the t weight vectors is ``weights + delays / t``: a step g made at
    example s is missing in the s - 1 vectors before it, so ``delays`` adds up (s - 1) g. That way
    a sparse example touches only its own features. A suffix mean leaves out the first k vectors
    (``_drop_first``).

    Args:
        kind: the number of the learner.
        state: what it remembers besides weights; all three are changed.
        weights: (classifiers, features + 1), the last column for the intercept.
        delays: of the same shape; twice as many rows for a suffix mean, none where the last
            weights are used.
        settings: the value of the feature behind the intercept (1, or 0 without one), the length of
            the first step, and whether it is divided by the root of t.
        held: values row by row, the column of each (none where rows are whole), where rows begin.
        given: 1 for positive examples and 0, weights (an example of weight 0 is skipped), and
            uniform numbers, (n,) each.
    """
    constant, step, falls = settings
    values, columns, begins = held
    positive, importance, draws = given
    predicted, guesses = np.zeros(len(positive), np.uint8), np.full(len(positive), np.nan)
    count, averages, suffix = len(weights), len(delays) > 0, len(delays) > len(weights)
    own, chances, costs = np.empty(count), np.empty(count), np.zeros(count)
    for i in range(len(positive)):
        y, weight = positive[i], importance[i]
        if weight == 0.0:
            continue
        begin, end, before = begins[i], begins[i + 1], state[at.SEEN]
        held_in_mean = before - (_skipped(before) if suffix else 0.0)
        for j in range(count):
            margin = _dot(weights, j, values, columns, begin, end, constant)
            own[j] = chances[j] = _logistic(margin)
            if averages and before > 0.0:
                late = _dot(delays, j, values, columns, begin, end, constant)
                chances[j] = _logistic(margin + late / held_in_mean)
        chosen = _decide(kind, state, chances, draws[i])
        predicted[i], guesses[i] = chosen, chances[0]
        state[at.TRUE_POSITIVE] += weight * y * chosen
        state[at.PREDICTED] += weight * chosen
        state[at.POSITIVE] += weight * y
        state[at.TOTAL] += weight
        state[at.SEEN] = before + 1.0
        _learn(kind, state, chances, y, weight, costs)
        rate = step * weight / (math.sqrt(before + 1.0) if falls else 1.0)
        for j in range(count):
            move = rate * costs[j] * (own[j] - y)
            _move(weights, j, values, columns, begin, end, constant, -move)
            if averages:
                _move(delays, j, values, columns, begin, end, constant, held_in_mean * move)
        if suffix:
            _drop_first(weights, delays, before + 1.0)
    return predicted, guesses
