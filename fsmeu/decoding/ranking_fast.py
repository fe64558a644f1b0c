"""Ranking in quadratic time for fractional-linear values (Natarajan 2016, Algorithm 2).

For a value (c0 n + c1 tp + c2 hyp) / (d0 n + d1 tp + d2 hyp + d3 ref) with rational d the
expectation over ref - tp of one over the denominator obeys a recurrence in the number of chosen
positions, so one array serves all n + 1 candidates.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.fast_ratio import average, fast_ratio, in_best_order, whole_weights
from fsmeu.decoding.method import Method
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.decoding.ranking import (
    ROUNDINGS,
    prefix_counts,
    ranked,
    ranked_fault,
    ranked_problem,
)
from fsmeu.losses.algebra.confusion import Confusion, Fractional, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error

__all__ = ["RANKING_FAST", "WHY", "fast_values"]

RANKED_AT_ONCE = 1_000  # positions up to which one table holds all counts; then windows are faster

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHY = (
    "labels are independent and the value is a ratio of sums of counts that never gets worse "
    "with more true positives, so the best sequence ranks positions by probability"
)


def _condition(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where the recurrence serves it."""
    fault = ranked_fault(problem)
    if fault is None and problem.keep is not None:
        fault = "keep is for methods that value one candidate at a time"
    if fault is None and problem.n > RANKED_AT_ONCE:
        fault = f"one table holds the counts of up to {RANKED_AT_ONCE:,} labels"
    if fault is not None:
        return fault
    ratio = fast_ratio(problem)
    if isinstance(ratio, str) and in_best_order(problem) is problem:
        return ratio
    return None


def _ranking_fast(problem: Problem) -> Answer:
    """The best sequence, in the order of the labels in which the value is such a ratio."""
    ordered = in_best_order(problem)
    answer = _best_ranked(ordered)
    return answer if ordered is problem else replace(answer, indices=1 - answer.indices)


def _best_ranked(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability, in O(n^2).

    Requires independent labels of two kinds and a fractional-linear value of the confusion table
    with c3 = 0, rational denominator, never negative, and never worse with more true positives.

    Proven: the ratio is derived from the expression tree at this length (``fractional``); that more
    true positives are not worse follows from the sign of its slope, which is linear in (hyp, ref),
    at the corners, in fractions; tables where the denominator is zero are no neighbours of others.
    So ranked sequences suffice (Natarajan 2016, Theorem 6). The recurrence averages positive
    numbers, so that only terms of both signs in the numerator cancel: errors are at most
    ``ROUNDINGS`` n units of rounding of the sums without signs, and the best is claimed if no
    other reaches it by more than ``PRECISION``.
    """
    _, p = ranked_problem(problem)
    order = np.argsort(-p, kind="stable")
    values, errors = (table[0] for table in fast_values(problem, p[None, order]))
    best = int((problem.sign * values).argmax())
    chosen = ranked(order, best)
    proven = is_proven(problem, problem.sign * values, errors, best, chosen)
    return Answer(chosen, proven, WHY, problem.n + 1, float(values[best]))


def fast_values(problem: Problem, p: Floats) -> tuple[Floats, Floats]:
    """The expected value of every ranked candidate of every sequence.

    Args:
        problem: one that the method fits; its loss and length are those of all sequences.
        p: probabilities in descending order, (sequences, n).

    Returns:
        Two arrays (sequences, n + 1): the value when the first k positions are ones, and a bound on
        its error.
    """
    n = p.shape[1]
    form, _ = ranked_problem(problem)
    ratio = fast_ratio(problem)
    assert isinstance(ratio, Fractional)
    c0, c1, c2, _ = ratio.numerator
    weights = (_float(c0 * n), _float(c1), _float(c2))
    steps = whole_weights(ratio, n)
    first = prefix_counts(p)
    extra, size = _exceptions(form, steps[1], first, p)
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is checked
        values = sizes = _averages(weights, steps, first, p)
        plain = abs(weights[0]), abs(weights[1]), abs(weights[2])
        if min(weights) < 0 < max(weights):
            sizes = _averages(plain, steps, first, p)
        underflow = LEAST * (n + 1) * _float(steps[0]) * (plain[0] + plain[1] * n + plain[2] * n)
        errors = relative_error(ROUNDINGS * (n + 1)) * (np.abs(sizes) + size + underflow)
    return values + extra, errors


def _float(number: Fraction | int) -> float:
    """The nearest double, infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _averages(
    weights: tuple[float, float, float],
    steps: tuple[int, tuple[int, int, int, int]],
    first: Floats,
    p: Floats,
) -> Floats:
    """E[(w0 + w1 tp + w2 k) / denominator where it is not zero], (sequences, n + 1)."""
    scale, (start, d1, d2, d3) = steps
    batch, n = p.shape
    counts = np.arange(n + 1)
    ends = [(d1 + d3) * tp + d2 * k + d3 * rest for tp in (0, n) for k in (0, n) for rest in (0, n)]
    low = start + min(ends)
    index = _float(low) + np.arange(max(ends) - min(ends) + 1)  # whole numbers of any size
    with np.errstate(divide="ignore"):
        inverse = np.where(index == 0, 0.0, _float(scale) / index)
    inverse = np.repeat(inverse[None], batch, axis=0)
    values = np.empty((batch, n + 1))
    for k in range(n, -1, -1):
        tp = counts[: k + 1]
        at = (d1 + d3) * tp + (d2 * k - min(ends))
        weight = weights[0] + weights[1] * tp + weights[2] * k
        values[:, k] = np.einsum("bt,bt,t->b", first[:, k, : k + 1], inverse[:, at], weight)
        if k and d3:
            average(inverse, d3, p[:, k - 1 : k])
    return values


def _exceptions(
    form: Confusion, steps: tuple[int, int, int, int], first: Floats, p: Floats
) -> tuple[Floats, Floats]:
    """What the file answers where the denominator is zero, by candidate; and without signs.

    The denominator is a sum over the cells of the table with weights of at least 0, so it is zero
    where all cells with a weight are empty.
    """
    batch, n = p.shape
    start, d1, d2, d3 = steps
    tn, fn, fp, tp_weight = start, start + n * d3, start + n * d2, start + n * (d1 + d2 + d3)
    counts = np.arange(n + 1)
    if tp_weight > 0:
        k, tp = counts, np.zeros(n + 1, np.int64)
    else:
        k, tp = (table.ravel() for table in np.meshgrid(counts, counts, indexing="ij"))
    inside = (tp <= k) & ((k == tp) | (fp == 0))
    k, tp = k[inside], tp[inside]
    extra, size = np.zeros((2, batch, n + 1))
    if fn > 0:
        none = np.append(np.cumprod((1.0 - p)[:, ::-1], axis=1)[:, ::-1], np.ones((batch, 1)), 1)
        fits = (n - k == 0) | (tn == 0)
        k, tp = k[fits], tp[fits]
        chances, answers = first[:, k, tp] * none[:, k], value_of_counts(form, n, tp, k, tp)
        np.add.at(extra.T, k, (chances * answers).T)
        np.add.at(size.T, k, (chances * np.abs(answers)).T)
        return extra, size
    last = prefix_counts(p[:, ::-1])
    for one, hits in zip(k.tolist(), tp.tolist(), strict=True):
        rest = np.arange(n - one + 1) if tn == 0 else np.array([n - one])
        chances = first[:, one, hits, None] * last[:, n - one, rest]
        answers = value_of_counts(form, n, hits, one, hits + rest)
        extra[:, one] += chances @ answers
        size[:, one] += chances @ np.abs(answers)
    return extra, size


RANKING_FAST = Method("ranking_fast", _condition, _ranking_fast)
