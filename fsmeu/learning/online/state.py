"""What online learners remember besides weights: a short vector of numbers, by place.

All measures here are a TP / (b POS + c TP + FP), in the weight of true positives, of positives and
of false positives among the examples so far (a, b, c: F_beta 1 + beta^2, beta^2, 1; Jaccard 1, 1,
0). The first places are the same for every learner, the others are its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fsmeu.arrays import Floats

LOGISTIC, OFO, FOFO, STAMP, OMCSL = 0, 1, 2, 3, 4  # the learners

TRUE_POSITIVE, PREDICTED, POSITIVE, TOTAL = 0, 1, 2, 3  # weights of examples
SEEN = 4  # examples
GAIN, KNOWN, MATCHED = 5, 6, 7  # a, b, c
MEASURE = slice(GAIN, MATCHED + 1)
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


def skipped(seen: float) -> float:
    """How many of the first weight vectors a suffix mean leaves out: over 1/4, at most 1/2."""
    return 2.0 ** (math.floor(math.log2(seen)) - 1.0) if seen >= 2.0 else 0.0


def values_of(numbers: Any, hits: Any, predicted: Any, positive: Any) -> Floats:
    """The measure with the numbers a, b, c, of the shape of ``hits``; 0 where it is 0/0.

    The weights of true positives, of predicted positives and of positives are of one shape, or
    numbers.
    """
    gain, known, matched = numbers
    below = np.asarray(known * positive + matched * hits + predicted - hits)
    return np.asarray(gain * hits / np.where(below > 0, below, 1.0))
