"""What online learners remember besides weights, how they decide, and what labels teach them.

All measures here are a TP / (b POS + c TP + FP), in the weight of true positives, of positives and
of false positives among the examples so far (a, b, c: F_beta 1 + beta^2, beta^2, 1; Jaccard 1, 1,
0). The state is a short vector of numbers, by place; the first places are the same for every
learner, the others are its own.

``decide(state, chances, draw)`` is 1 or 0 before the label is known; ``learn(state, chances, y,
weight, costs)`` changes the state after the example was counted, and says by ``costs`` what the
gradient of each classifier's logistic loss is multiplied by. ``chances`` are the probabilities of
the positive class by each classifier, ``draw`` is uniform on [0, 1). They call nothing but
``math``: ``kernels`` compiles them.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from typing import Any

import numpy as np

from fsmeu.arrays import Floats

__all__ = [
    "FOFO",
    "LOGISTIC",
    "OFO",
    "OMCSL",
    "OWN",
    "STAMP",
    "coefficients",
    "fresh",
    "measured",
    "values_of",
]

TRUE_POSITIVE, PREDICTED, POSITIVE, TOTAL = 0, 1, 2, 3  # weights of examples
SEEN = 4  # examples
GAIN, KNOWN, MATCHED = 5, 6, 7  # a, b, c
OWN = 8

# FOFO: Algorithms 1 and 2 of Liu et al. (2018).
THETA, MEAN, START = 8, 9, 10  # the threshold, its average in the stage, the stage's first
RADIUS, GAMMA, DONE = 11, 12, 13  # of the stage: radius, step, steps done
STAGE, STAGES, LENGTH = 14, 15, 16  # number of the stage, of all stages, steps of the stage
HORIZON, DOUBLES, OPEN = 17, 18, 19  # of the next plan; plans follow each other; one may begin now
SCALE, LAST = 20, 21  # what steps are multiplied by (0: automatic); predicts with THETA, not MEAN
FOFO_SIZE = 22

# STAMP: Narasimhan, Kar and Jain (2015).
LEVEL, ESTIMATES, STEPS, EPOCH, GROWTH = 8, 9, 10, 11, 12
REWARD_POSITIVE, REWARD_NEGATIVE, HELD_POSITIVE, HELD_NEGATIVE = 13, 14, 15, 16
STAMP_SIZE = 17

# OMCSL: Yan et al. (2017); then true positives and predicted positives of each classifier.
SHARPNESS = 8
OMCSL_COUNTS = 9


def coefficients(measure: str, beta: float) -> tuple[float, float, float]:
    """The numbers a, b, c of a measure, "f" or "jaccard"."""
    return (1.0, 1.0, 0.0) if measure == "jaccard" else (1.0 + beta * beta, beta * beta, 1.0)


def fresh(size: int, measure: str, beta: float) -> Floats:
    """The state before the first example, (size,)."""
    state = np.zeros(size)
    state[GAIN], state[KNOWN], state[MATCHED] = coefficients(measure, beta)
    return state


def values_of(numbers: Any, hits: Any, predicted: Any, positive: Any) -> Floats:
    """The measure with the numbers a, b, c for weights of examples; 0 where it is 0/0.

    Args:
        numbers: a, b, c, as ``coefficients`` gives them.
        hits: the weight of true positives, of any shape.
        predicted: that of predicted positives, of the same shape.
        positive: that of positives, of the same shape or a number.
    """
    gain, known, matched = numbers
    below = np.asarray(known * positive + matched * hits + predicted - hits)
    return np.asarray(gain * hits / np.where(below > 0, below, 1.0))


def measured(state: Floats) -> float:
    """The measure of all predictions so far; 0 where it is 0/0."""
    numbers = state[[GAIN, KNOWN, MATCHED]]
    return float(values_of(numbers, state[TRUE_POSITIVE], state[PREDICTED], state[POSITIVE]))


Numbers = MutableSequence[float]
LOGISTIC, OFO, FOFO, STAMP, OMCSL = 0, 1, 2, 3, 4


def decide_logistic(state: Numbers, chances: Numbers, draw: float) -> int:
    """1 where the probability is at least 1/2."""
    return 1 if chances[0] >= 0.5 else 0


def learn_logistic(
    state: Numbers, chances: Numbers, y: float, weight: float, costs: Numbers
) -> None:
    """Every example costs the same."""
    costs[0] = 1.0


def decide_ofo(state: Numbers, chances: Numbers, draw: float) -> int:
    """1 where the probability is at least TP / (b POS + PRED): half the running F where b = 1."""
    below = state[KNOWN] * state[POSITIVE] + state[PREDICTED]
    return 1 if chances[0] * below >= state[TRUE_POSITIVE] else 0


def decide_fofo(state: Numbers, chances: Numbers, draw: float) -> int:
    """1 where the probability reaches the average threshold (Algorithm 2, line 6), or the last."""
    return 1 if chances[0] >= (state[THETA] if state[LAST] else state[MEAN]) else 0


def learn_fofo(state: Numbers, chances: Numbers, y: float, weight: float, costs: Numbers) -> None:
    """Lines 12 to 15 of Algorithm 2; a stage begins as in Algorithm 1 where the last is over."""
    costs[0] = 1.0
    top = 1.0 / (1.0 + state[KNOWN])
    if state[DONE] >= state[LENGTH] and (state[STAGE] < state[STAGES] or state[OPEN]):
        if state[STAGE] >= state[STAGES]:
            horizon = max(state[HORIZON], 2.0)
            stages = math.floor(0.5 * math.log2(2.0 * horizon / math.log2(horizon))) - 1.0
            state[STAGES], state[STAGE] = max(stages, 1.0), 0.0
            state[RADIUS] = 2.0 * top
            state[HORIZON], state[OPEN] = 2.0 * horizon, state[DOUBLES]
            state[LENGTH] = math.floor(horizon / state[STAGES])
        state[STAGE] += 1.0
        state[RADIUS] /= 2.0
        state[GAMMA] = state[RADIUS] / math.sqrt(10.0 * state[LENGTH])
        if state[STAGE] == state[STAGES]:  # what is left over of a plan belongs to its last stage
            state[LENGTH] = state[HORIZON] / 2.0 - (state[STAGES] - 1.0) * state[LENGTH]
        state[START] = state[THETA]
        state[DONE] = 0.0
    theta = state[THETA]
    rate = state[POSITIVE] / state[TOTAL]
    slope = state[KNOWN] * rate * theta - max(chances[0] - theta, 0.0)
    scale = state[SCALE]
    if scale == 0.0:
        scale = math.sqrt(10.0 * (state[TOTAL] + 2.0) / (state[POSITIVE] + 1.0))
    theta -= weight * scale * state[GAMMA] * slope
    theta = min(max(theta, state[START] - state[RADIUS], 0.0), state[START] + state[RADIUS], top)
    state[THETA] = theta
    state[DONE] += 1.0
    state[MEAN] += (theta - state[MEAN]) / (state[DONE] + 1.0)
    if state[DONE] >= state[LENGTH] and (state[STAGE] < state[STAGES] or state[OPEN]):
        state[THETA] = state[MEAN]  # line 1: the next example is the first of a stage


def learn_stamp(state: Numbers, chances: Numbers, y: float, weight: float, costs: Numbers) -> None:
    """Costs for the present level, or 0 where the level of the next epoch is estimated."""
    level = state[LEVEL]
    costs[0] = 0.0
    if state[ESTIMATES] == 0.0:
        costs[0] = state[GAIN] - level * state[MATCHED] if y > 0.5 else level
    elif y > 0.5:
        state[REWARD_POSITIVE] += weight * (1.0 + math.log2(max(chances[0], 1e-300)))
        state[HELD_POSITIVE] += weight
    else:
        state[REWARD_NEGATIVE] += weight * (1.0 + math.log2(max(1.0 - chances[0], 1e-300)))
        state[HELD_NEGATIVE] += weight
    state[STEPS] += 1.0
    if state[STEPS] < state[EPOCH]:
        return
    state[STEPS] = 0.0
    if state[ESTIMATES] == 0.0:
        state[ESTIMATES] = 1.0
        return
    state[ESTIMATES] = 0.0
    state[EPOCH] = math.floor(state[EPOCH] * state[GROWTH])
    if state[HELD_POSITIVE] > 0.0 and state[HELD_NEGATIVE] > 0.0:
        hit = max(state[REWARD_POSITIVE] / state[HELD_POSITIVE], 0.0)
        spared = state[REWARD_NEGATIVE] / state[HELD_NEGATIVE]
        odds = (state[TOTAL] - state[POSITIVE]) / state[POSITIVE]
        below = state[KNOWN] + state[MATCHED] * hit + odds * (1.0 - spared)
        state[LEVEL] = min(state[GAIN] * hit / below, 1.0)
        state[REWARD_POSITIVE] = state[HELD_POSITIVE] = 0.0
        state[REWARD_NEGATIVE] = state[HELD_NEGATIVE] = 0.0


def decide_omcsl(state: Numbers, chances: Numbers, draw: float) -> int:
    """The decision of a classifier drawn with probability proportional to exp(gamma F)."""
    count = len(chances)
    best, total = 0.0, 0.0
    for again in range(3):  # the greatest measure, the sum of weights, the one that is drawn
        passed = 0.0
        for j in range(count):
            hits, predicted = state[OMCSL_COUNTS + 2 * j], state[OMCSL_COUNTS + 2 * j + 1]
            below = state[KNOWN] * state[POSITIVE] + state[MATCHED] * hits + predicted - hits
            value = state[GAIN] * hits / below if below > 0.0 else 0.0
            if again == 0:
                best = max(best, value)
                continue
            passed += math.exp(state[SHARPNESS] * (value - best))
            if again == 2 and passed > draw * total:
                return 1 if chances[j] >= 0.5 else 0
        total = passed
    return 1 if chances[count - 1] >= 0.5 else 0


def learn_omcsl(state: Numbers, chances: Numbers, y: float, weight: float, costs: Numbers) -> None:
    """Costs of the levels j / (K + 1), scaled to the sum 1; counts of each classifier."""
    count = len(chances)
    for j in range(count):
        level = (j + 1.0) / (count + 1.0)
        reward = state[GAIN] - level * state[MATCHED]
        costs[j] = (reward if y > 0.5 else level) / (reward + level)
        if chances[j] >= 0.5:
            state[OMCSL_COUNTS + 2 * j] += weight * y
            state[OMCSL_COUNTS + 2 * j + 1] += weight
