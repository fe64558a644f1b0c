"""The ratio of a fractional-linear value, where ranking in quadratic time is proven for it.

What the recurrence needs: no count of ref alone in the numerator, and a denominator of small whole
numbers that is never negative. What the ranking principle needs (Natarajan 2016, Theorem 6): more
true positives never make the value worse.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import Problem
from fsmeu.decoding.ranking import ranked_problem
from fsmeu.losses.algebra.confusion import Fractional, fractional, value_of_counts
from fsmeu.models import Independent

__all__ = ["average", "extremes", "fast_ratio", "in_best_order", "whole_weights"]

LARGEST_DENOMINATOR = 200  # sum of a ratio's whole weights: its recurrence takes as many times z

Floats = NDArray[np.float64]


def fast_ratio(problem: Problem) -> Fractional | str:
    """The ratio, or what must hold of it and does not; derived once for a loss and a length.

    Raises:
        RangeError: a value lies outside the declared range.
    """
    return problem.kept("ratio", lambda: _checked_ratio(problem))


def _ratio(problem: Problem) -> Fractional | None:
    """The value as a ratio of sums of counts, if it is one."""
    form, _ = ranked_problem(problem)
    return problem.kept("fractional", lambda: fractional(form, problem.n))


def in_best_order(problem: Problem) -> Problem:
    """The problem with its labels in the order in which there is such a ratio; else as it is.

    A ratio that counts true positives of the first label counts ref on its own in terms of the
    second. A sequence has each label where the problem itself has the other one.

    Raises:
        RangeError: a value lies outside the declared range.
    """
    ratio = None if problem.constraint is not None else _ratio(problem)
    if ratio is None or not ratio.numerator[3]:
        return problem
    turned = _turned(problem)
    return problem if isinstance(fast_ratio(turned), str) else turned


def _turned(problem: Problem) -> Problem:
    """The same problem with the labels in the other order."""
    _, p = ranked_problem(problem)
    labels = problem.model.labels[::-1]
    first = problem.model.probabilities[:, 0] if isinstance(problem.model, Independent) else 1.0 - p
    model = Independent(np.stack([p, first], axis=1), labels)
    return replace(problem, loss=problem.loss.with_labels(model.alphabet), model=model)


def _checked_ratio(problem: Problem) -> Fractional | str:
    """The ratio, for which the recurrence and the ranking principle hold; or what does not hold."""
    form, _ = ranked_problem(problem)
    ratio = _ratio(problem)
    if ratio is None:
        return "the value must be a ratio of sums of counts"
    fault = _fault(ratio, problem.n, problem.sign)
    if fault is None and form.bound.spec.range is not None:
        value_of_counts(form, problem.n, *extremes(ratio, problem.n))
    return ratio if fault is None else fault


def whole_weights(ratio: Fractional, n: int) -> tuple[int, tuple[int, int, int, int]]:
    """A whole number that makes d0 n and the other d whole, and these times it."""
    d0, *others = ratio.denominator
    parts = (d0 * n, *others)
    scale = lcm(*(d.denominator for d in parts))
    start, d1, d2, d3 = (int(d * scale) for d in parts)
    return scale, (start, d1, d2, d3)


def average(inverse: Floats, shift: int, probability: Floats | float) -> None:
    """One step of the recurrence: a position fewer is chosen, whose label adds ``shift``.

    What is shifted in from outside is never looked at: the array is as long as all labels could
    shift.

    Args:
        inverse: expected inverse denominators along the last axis, (..., places); changed.
        shift: what the label adds to the denominator.
        probability: that it does, of shape (..., 1) or a number.
    """
    if shift > 0:
        kept, moved = inverse[..., :-shift], inverse[..., shift:]
    else:
        kept, moved = inverse[..., -shift:], inverse[..., :shift]
    kept[...] = (1.0 - probability) * kept + probability * moved


def _cells(ratio: Fractional) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The denominator's weight of true and false negatives, false and true positives."""
    d0, d1, d2, d3 = ratio.denominator
    return d0, d0 + d3, d0 + d2, d0 + d1 + d2 + d3


def _fault(ratio: Fractional, n: int, sign: float) -> str | None:
    """What the recurrence or the ranking principle needs and the ratio does not have."""
    _, (_, w1, w2, w3) = whole_weights(ratio, n)
    c0, c1, c2, c3 = ratio.numerator
    d0, d1, d2, d3 = ratio.denominator
    if c3:
        return "the numerator must not count ref on its own (c3 = 0)"
    size = abs(w1) + abs(w2) + abs(w3)
    if size > LARGEST_DENOMINATOR:
        return f"the denominator in whole numbers may add up to {LARGEST_DENOMINATOR}, here {size}"
    for hyp, ref in ((0, 0), (0, 1), (1, 0), (1, 1)):
        slope = c1 * (d0 + d2 * hyp + d3 * ref) - d1 * (c0 + c2 * hyp)
        if (slope < 0) if sign > 0 else (slope > 0):
            return "more true positives must never make it worse"
    tn, fn, fp, tp = _cells(ratio)
    if min(tn, fn, fp, tp) < 0:
        return "the denominator must never be negative"
    if not (tn + tp and fn + fp):  # else a swap can lead into or out of 0/0
        return "the denominator must count a kind of right labels and a kind of mistakes"
    return None


def extremes(ratio: Fractional, n: int) -> tuple[Floats, Floats, Floats]:
    """Tables (tp, hyp, ref) among which are those of the least and the greatest ratio.

    A ratio of linear functions is extreme at a vertex. Where the denominator is not zero, these
    have all pairs in one cell that it counts, or one there and the others in one that it does not.
    """
    weights = _cells(ratio)
    counted = [c for c in range(4) if weights[c]]
    others = [c for c in range(4) if not weights[c]]
    tables = np.zeros((len(counted) * (1 + len(others)), 4))
    pairs = [(c, c) for c in counted] + [(c, other) for c in counted for other in others]
    for row, (one, rest) in enumerate(pairs):
        tables[row, rest] += n - 1
        tables[row, one] += 1
    _, fn, fp, tp = tables.T
    return tp, fp + tp, fn + tp
