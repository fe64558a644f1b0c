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
    more = state["stage"] < state["stages"] or state["may_plan"] > 0.0
    return more and state["done"] >= state["length"]


@jit_helper
def _learn_fofo(state, probability, weight):
    """Lines 12 to 15 of Algorithm 2; a stage begins as in Algorithm 1 where the last is over."""
    top = 1.0 / (1.0 + state["positive_share"])
    if _ends(state):
        if state["stage"] >= state["stages"]:
            horizon = max(state["horizon"], 2.0)
            stages = math.floor(0.5 * math.log2(2.0 * horizon / math.log2(horizon))) - 1.0
            state["stages"] = max(stages, 1.0)
            state["stage"] = 0.0
            state["radius"] = 2.0 * top
            state["horizon"] = 2.0 * horizon
            state["may_plan"] = state["repeats"]
            state["length"] = math.floor(horizon / state["stages"])
        state["stage"] += 1.0
        state["radius"] /= 2.0
        state["gamma"] = state["radius"] / math.sqrt(10.0 * state["length"])
        if state["stage"] == state["stages"]:  # it has what is left over of the plan
            state["length"] = state["horizon"] / 2.0 - (state["stages"] - 1.0) * state["length"]
        state["start"] = state["threshold"]
        state["done"] = 0.0
    theta = state["threshold"]
    rate = state["positive"] / state["total"]
    slope = state["positive_share"] * rate * theta - max(probability - theta, 0.0)
    scale = state["scale"]
    if scale == 0.0:
        scale = math.sqrt(10.0 * (state["total"] + 2.0) / (state["positive"] + 1.0))
    theta -= weight * scale * state["gamma"] * slope
    start = state["start"]
    radius = state["radius"]
    theta = min(max(theta, start - radius, 0.0), start + radius, top)
    state["threshold"] = theta
    state["done"] += 1.0
    state["mean_threshold"] += (theta - state["mean_threshold"]) / (state["done"] + 1.0)
    if _ends(state):
        state["threshold"] = state[
            "mean_threshold"
        ]  # line 1: the next example is the first of a stage


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
    before = _skipped(seen - 1.0)
    now = _skipped(seen)
    if now > before:
        delays[0] += (now - before) * weights - delays[1]
    if now > before or seen == 1.0:
        delays[1] = delays[0] + (seen - now) * weights


@jit_entry
def run(kind, states, weights, delays, settings, rows, positive, importance):
    """Predictions before labels were used, uint8, and their probabilities, (n,) each.

    The only one of ``states``, (1,), and ``weights`` and ``delays`` are changed.

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
    predicted = np.zeros(len(positive), np.uint8)
    probabilities = np.full(len(positive), np.nan)
    averages = len(delays) > 0
    suffix = len(delays) > 1
    w = weights[0]
    state = states[0]
    for i in range(len(positive)):
        y = positive[i]
        weight = importance[i]
        if weight == 0.0:
            continue
        begin = begins[i]
        end = begins[i + 1]
        before = state["seen"]
        averaged = before - (_skipped(before) if suffix else 0.0)
        margin = dot(w, values, columns, begin, end, constant)
        last_probability = probability = logistic(margin)
        if averages and before > 0.0:
            delayed = dot(delays[0], values, columns, begin, end, constant)
            probability = logistic(margin + delayed / averaged)
        chosen = 1 if probability >= _threshold(kind, state) else 0
        predicted[i] = chosen
        probabilities[i] = probability
        state["true_positive"] += weight * y * chosen
        state["predicted"] += weight * chosen
        state["positive"] += weight * y
        state["total"] += weight
        state["seen"] = before + 1.0
        if kind == at.FOFO:
            _learn_fofo(state, probability, weight)
        by = step * weight / (math.sqrt(before + 1.0) if falls else 1.0) * (last_probability - y)
        move(w, values, columns, begin, end, constant, -by)
        if averages:
            move(delays[0], values, columns, begin, end, constant, averaged * by)
        if suffix:
            _drop_first(w, delays, before + 1.0)
    return predicted, probabilities
