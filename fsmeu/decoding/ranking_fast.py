"""Ranking in quadratic time for fractional-linear values (Natarajan 2016, Algorithm 2).

For a value (c0 n + c1 tp + c2 hyp) / (d0 n + d1 tp + d2 hyp + d3 ref) with rational d the
expectation over ref - tp of one over the denominator obeys a recurrence in the number of chosen
positions, so one array serves all n + 1 candidates.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import Answer, Problem, refuse
from fsmeu.decoding.ranking import prefix_counts, ranked, ranked_problem
from fsmeu.fst.compose import guard_size
from fsmeu.losses.confusion import Confusion, Fractional, fractional, phi

__all__ = ["WHY", "check_fast", "fast_values", "ranking_fast"]

Floats = NDArray[np.float64]

_MOST_SCALE = 200
WHY = (
    "labels are independent and the value is a ratio of sums of counts that never gets worse "
    "with more true positives, so the best sequence ranks positions by probability"
)


def ranking_fast(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability, in O(n^2).

    Requires independent labels of two kinds and a fractional-linear value of the confusion table
    with c3 = 0, rational denominator, never negative, and never worse with more true positives.
    """
    form, p = ranked_problem(problem, "ranking_fast")
    if problem.keep is not None:
        refuse("ranking_fast", "keep is for methods that value one candidate at a time")
    ratio = fractional(form)
    if ratio is None:
        refuse("ranking_fast", "the value must be a ratio of sums of counts")
    check_fast(problem, ratio)
    order = np.argsort(-p, kind="stable")
    values = fast_values(form, ratio, p[None, order])[0]
    best = int((problem.sign * values).argmax())
    return Answer(ranked(order, best), True, WHY, problem.n + 1, float(values[best]))


def _whole(ratio: Fractional) -> tuple[int, tuple[int, int, int, int]]:
    """A whole number that makes all d whole, and the d times it."""
    scale = lcm(*(d.denominator for d in ratio.denominator))
    d0, d1, d2, d3 = (int(d * scale) for d in ratio.denominator)
    return scale, (d0, d1, d2, d3)


def check_fast(problem: Problem, ratio: Fractional) -> None:
    """Refuses a ratio for which the recurrence or the ranking principle does not hold."""
    scale, _ = _whole(ratio)
    c0, c1, c2, c3 = ratio.numerator
    d0, d1, d2, d3 = ratio.denominator
    if abs(c3) > 1e-15:
        refuse("ranking_fast", "the numerator must not count ref on its own (c3 = 0)")
    size = scale * sum(abs(d) for d in ratio.denominator)
    if size > _MOST_SCALE:
        must = f"the denominator in whole numbers may add up to {_MOST_SCALE}, here {int(size)}"
        refuse("ranking_fast", must)
    corners = [(hyp, ref) for hyp in (0, 1) for ref in (0, 1)]
    for hyp, ref in corners:
        slope = Fraction(c1) * (d0 + d2 * hyp + d3 * ref)
        slope -= d1 * (Fraction(c0) + Fraction(c2) * hyp)
        if problem.sign * slope < 0:
            refuse("ranking_fast", "more true positives must never make it worse")
    for tp, hyp, ref in ((0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)):
        if d0 + d1 * tp + d2 * hyp + d3 * ref < 0:
            refuse("ranking_fast", "the denominator must never be negative")
    right, wrong = d0 + d0 + d1 + d2 + d3, d0 + d2 + d0 + d3
    if not (right and wrong):
        must = "the denominator must count a kind of right labels and a kind of mistakes"
        refuse("ranking_fast", must)  # else a swap can lead into or out of 0/0
    guard_size("decode", problem.n * problem.n // 4)


def fast_values(form: Confusion, ratio: Fractional, p: Floats) -> Floats:
    """The expected value of every ranked candidate of every sequence.

    Args:
        form: the loss as a function of the confusion table.
        ratio: its fractional-linear form.
        p: probabilities in descending order, (sequences, n).

    Returns:
        An array (sequences, n + 1): the value when the first k positions are ones.
    """
    scale, (d0, d1, d2, d3) = _whole(ratio)
    batch, n = p.shape
    c0, c1, c2, _ = ratio.numerator
    counts = np.arange(n + 1)
    ends = [
        d0 * n + (d1 + d3) * tp + d2 * k + d3 * rest
        for tp in (0, n)
        for k in (0, n)
        for rest in (0, n)
    ]
    low, high = min(0, *ends), max(ends)
    index = np.arange(low, high + 1)
    with np.errstate(divide="ignore"):
        inverse = np.where(index == 0, 0.0, scale / index)
    inverse = np.repeat(inverse[None], batch, axis=0)
    first = prefix_counts(p)
    values = np.empty((batch, n + 1))
    for k in range(n, -1, -1):
        tp = counts[: k + 1]
        at = d0 * n + (d1 + d3) * tp + d2 * k - low
        weight = c0 * n + c1 * tp + c2 * k
        values[:, k] = np.einsum("bt,bt,t->b", first[:, k, : k + 1], inverse[:, at], weight)
        if k and d3:
            _average(inverse, d3, p[:, k - 1 : k])
    return values + _exceptions(form, (d0, d1, d2, d3), first, p)


def _average(inverse: Floats, shift: int, probability: Floats) -> None:
    """One position fewer is chosen: its label adds ``shift`` with this probability.

    What is shifted in from outside is never looked at: the array is as long as all labels could
    shift.
    """
    if shift > 0:
        kept, moved = inverse[:, :-shift], inverse[:, shift:]
    else:
        kept, moved = inverse[:, -shift:], inverse[:, :shift]
    kept[...] = (1.0 - probability) * kept + probability * moved


def _exceptions(
    form: Confusion, steps: tuple[int, int, int, int], first: Floats, p: Floats
) -> Floats:
    """What the file answers where the denominator is zero, by candidate.

    The denominator is a sum over the cells of the table with weights of at least 0, so it is zero
    where all cells with a weight are empty.
    """
    batch, n = p.shape
    d0, d1, d2, d3 = steps
    counts = np.arange(n + 1)
    if d0 + d1 + d2 + d3 > 0:
        k, tp = counts, np.zeros(n + 1, np.int64)
    else:
        k, tp = (table.ravel() for table in np.meshgrid(counts, counts, indexing="ij"))
    inside = (tp <= k) & ((k == tp) | (d0 + d2 == 0))
    k, tp = k[inside], tp[inside]
    extra = np.zeros((batch, n + 1))
    if d0 + d3 > 0:
        none = np.append(np.cumprod((1.0 - p)[:, ::-1], axis=1)[:, ::-1], np.ones((batch, 1)), 1)
        fits = (n - k == 0) | (d0 == 0)
        k, tp = k[fits], tp[fits]
        answers = first[:, k, tp] * none[:, k] * phi(form, n, tp, k, tp)
        np.add.at(extra.T, k, answers.T)
        return extra
    last = prefix_counts(p[:, ::-1])
    for one, hits in zip(k.tolist(), tp.tolist(), strict=True):
        rest = np.arange(n - one + 1) if d0 == 0 else np.array([n - one])
        chances = first[:, one, hits, None] * last[:, n - one, rest]
        extra[:, one] += chances @ phi(form, n, hits, one, hits + rest)
    return extra
