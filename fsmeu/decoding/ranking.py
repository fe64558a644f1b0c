"""Ranking by probability (Jansche 2007, Algorithm 1; Natarajan 2016, Algorithms 1 and 2).

When the value depends on (tp, hyp, ref, n) and does not get worse with more true positives, the
best sequence with k ones has them at the k most probable positions (Natarajan 2016, Theorem 6), so
n + 1 candidates remain. With the first k positions in that order chosen, tp and ref - tp are
independent sums, and one table of distributions serves all candidates: O(n^3) together.

For a value (c0 n + c1 tp + c2 hyp + c3 ref) / (d0 n + d1 tp + d2 hyp + d3 ref) with rational d let
r be the ones of y at the other positions. E[1 / (x + d3 r)], as a function of x, obeys a recurrence
in the number of chosen positions, and so does E[r / (x + d3 r)] where c3 is not 0; so one array, or
two, serve all candidates: O(n^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import isqrt, lcm
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import (
    Answer,
    Clock,
    Method,
    Problem,
    certify,
    one_by_one,
    optimality_gap,
)
from fsmeu.fst.compose import guard_size
from fsmeu.limits import TABLES_PER_STATE
from fsmeu.losses.algebra import confusion
from fsmeu.losses.algebra.confusion import Confusion, value_of_counts
from fsmeu.trellis.roundings import LEAST, relative_error

LARGEST_DENOMINATOR = 200  # sum of a ratio's whole weights: its recurrence takes as many times z
RANKED_CELLS = 8_000_000  # cells of the distributions of counts ranked at once: 64 MB
MOST_CELLS = 25_000_000  # cells of the distributions of counts of one sequence: 200 MB

NO_TABLE = "the value must depend on (tp, hyp, ref, n) of two labels only"

_ROUNDINGS = 20  # per position between a probability and the value of a candidate, generously

_SO = (
    "never gets worse with more true positives, so the best sequence ranks positions by probability"
)
WHY = f"labels are independent and the value depends on (tp, hyp, ref, n) and {_SO}"
WHY_FAST = f"labels are independent and the value is a ratio of sums of counts that {_SO}"


def ranked_fault(problem: Problem) -> str | None:
    """The condition of ranking positions that a problem does not meet; None where it meets all."""
    if problem.confusion is None:
        return NO_TABLE
    if problem.probabilities is None:
        return "the labels must be independent"
    if problem.constraint is not None:
        return "there must be no constraint: the ranked sequences may not satisfy it"
    return None


def ranked(order: Ints, k: int) -> Ints:
    """Label indices with ones at the first k positions of an order."""
    indices = np.zeros(len(order), np.int64)
    indices[order[:k]] = 1
    return indices


def best_ranked(
    sign: float, order: Ints, values: Floats, errors: Floats
) -> tuple[Ints, list[float], list[float], list[float]]:
    """Sequences with ones at the first k positions of orders, (sequences, n), k the best for each.

    With their values, errors, and how far others may reach beyond; those for all k are given.
    """
    signed, (batch, n) = sign * values, order.shape
    best = signed.argmax(axis=1)
    at, reach = (np.arange(batch), best), optimality_gap(signed, errors, best)
    indices = np.zeros((batch, n), np.int64)
    np.put_along_axis(indices, order, np.arange(n) < best[:, None], axis=1)
    return indices, values[at].tolist(), errors[at].tolist(), reach.tolist()


def ranked_answers(
    problems: Sequence[Problem], order: Ints, values: Floats, errors: Floats, why: str
) -> list[Answer]:
    """The best of the sequences with ones at the first k positions of orders, by their values."""
    off = np.array([problem.binary.off if problem.binary else 0.0 for problem in problems])
    columns = best_ranked(problems[0].sign, order, values, errors + off[:, None])
    return [
        certify(problem, Answer(z, False, why, problem.n + 1, value, error), reach)
        for problem, z, value, error, reach in zip(problems, *columns, strict=True)
    ]


def prefix_counts(p: Floats) -> Floats:
    """P(the first k labels hold c ones), (sequences, k, c), given P(one), (sequences, n)."""
    batch, n = p.shape
    table = np.zeros((batch, n + 1, n + 1))
    table[:, 0, 0] = 1.0
    for k in range(n):
        chance = p[:, k : k + 1]
        np.multiply(table[:, k, : k + 2], 1.0 - chance, out=table[:, k + 1, : k + 2])
        table[:, k + 1, 1 : k + 2] += table[:, k, : k + 1] * chance
    return table


# -- any value of the confusion table --------------------------------------------------------------


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where ranked sequences suffice."""
    fault, form = ranked_fault(problem), problem.confusion
    if fault is not None or form is None:
        return fault
    guard_size("decode by ranking", (problem.n + 1) ** 3 // TABLES_PER_STATE)
    case = problem.cached("tp_counterexample", lambda: confusion.tp_counterexample(form, problem.n))
    if case is None:
        return None
    at = f"with n={case.n} hyp={case.hyp} ref={case.ref} the value is {case.value:g}"
    worse = f"{case.value_with_one_more:g} at tp={case.tp + 1}"
    return f"more true positives must never make it worse; {at} at tp={case.tp} but {worse}"


def _ranking(problem: Problem) -> Answer:
    """The best of the n + 1 sequences that rank positions by probability.

    With ``keep``, candidates are valued by their kept states, and nothing is proven.

    Proven: at every table of this length one more true positive is not worse (all are looked at).
    The n + 1 values are sums of probability times value, in which only values of both signs cancel:
    their errors are at most ``_ROUNDINGS`` n units of rounding of their expected absolute values.
    """
    form, p = problem.confusion, problem.probabilities
    assert form is not None
    assert p is not None
    order = np.argsort(-p, kind="stable")
    if problem.keep is not None:
        values = problem.values([ranked(order, k) for k in range(problem.n + 1)])[0]
        best = int((problem.sign * values).argmax())
        why = f"{WHY}; but only {problem.keep} states per layer were kept"
        return Answer(ranked(order, best), False, why, problem.n + 1)
    values, sizes, underflow, tried = _candidate_values(form, p[order], problem.clock)
    if len(tried) <= problem.n:
        best = int(tried[(problem.sign * values[tried]).argmax()])
        only = f"only {len(tried)} of {problem.n + 1} numbers of ones were tried"
        why = f"{WHY}; but {only} before {problem.clock.ran_out}"
        return Answer(ranked(order, best), False, why, len(tried))
    errors = relative_error(_ROUNDINGS * (problem.n + 1)) * (sizes + underflow)
    return ranked_answers([problem], order[None], values[None], errors[None], WHY)[0]


class _Candidates(NamedTuple):
    """The sequences with ones at the first k of the sorted positions, by k, (n + 1,) each."""

    values: Floats  # expected values
    sizes: Floats  # expected absolute values
    underflow: Floats  # bounds on what underflowed in the sums
    tried: Ints  # the k that there was time for, at least one; the arrays hold 0 at all others


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _candidate_values(form: Confusion, p: Floats, clock: Clock) -> _Candidates:
    """Candidates for probabilities in descending order; those near the expected count first."""
    n = len(p)
    first = prefix_counts(p[None])[0]
    last = prefix_counts(p[None, ::-1])[0]
    sums = np.zeros((3, n + 1))
    order = np.argsort(np.abs(np.arange(n + 1) - p.sum()), kind="stable")
    done = 0
    while done <= n and not (done and clock.over(done / (n + 1))):
        k = int(order[done])
        tp = np.arange(k + 1.0)[:, None]
        fn = np.arange(n - k + 1.0)[None, :]
        table = value_of_counts(form, n, tp, float(k), tp + fn)
        size = np.abs(table)
        left = first[k, : k + 1]
        right = last[n - k, : n - k + 1]
        sums[:, k] = left @ table @ right, left @ size @ right, (n + 1) * LEAST * size.max()
        done += 1
    values, sizes, underflow = sums
    return _Candidates(values, sizes, underflow, order[:done])


RANKING = Method("ranking", _condition, one_by_one(_ranking))


# -- ratios of sums of counts ----------------------------------------------------------------------


def _fast_condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where the recurrence serves it."""
    if problem.keep is not None:
        return "keep is for methods that value one candidate at a time"
    if problem.n**2 > MOST_CELLS:
        return f"one table holds the counts of up to {isqrt(MOST_CELLS):,} labels"
    fault = ranked_fault(problem) or problem.cached("ratio", partial(_ratio, problem))
    return fault if isinstance(fault, str) else None


def _ranking_fast(problems: Sequence[Problem]) -> list[Answer]:
    """The best of the n + 1 sequences that rank positions by probability, in O(n^2).

    Proven: that more true positives are not worse follows from the sign of the ratio's slope, which
    is linear in (hyp, ref), at the corners, in fractions; tables where the denominator is zero are
    no neighbours of others. The recurrence averages positive numbers, so that only terms of both
    signs in the numerator cancel: errors are at most ``_ROUNDINGS`` n units of rounding of the sums
    without signs.
    """
    size = ranked_at_once(problems[0].n)
    if len(problems) > size:
        return _ranking_fast(problems[:size]) + _ranking_fast(problems[size:])
    p = np.stack([problem.probabilities for problem in problems])  # type: ignore[misc]
    return ranked_answers(problems, *fast_values(problems[0], p), WHY_FAST)


def ranked_at_once(n: int) -> int:
    """How many sequences of a length are ranked at once."""
    return max(1, RANKED_CELLS // (n + 1) ** 2)


class _Ratio(NamedTuple):
    """A ratio of sums of counts, at one length."""

    weights: Floats  # of 1, tp, hyp and ref - tp in the numerator
    scale: int  # what makes the weights of the denominator whole
    steps: tuple[int, int, int, int]  # d0 n, d1, d2, d3 times the scale
    apart: tuple[Ints, Ints, Ints, Floats]  # hyp, tp, ref - tp where it is 0/0, and the value there


def _ratio(problem: Problem) -> _Ratio | str:
    """The ratio, or what must hold of it and does not; a RangeError for values out of the range."""
    form, n, sign = problem.confusion, problem.n, problem.sign
    assert form is not None
    ratio = confusion.fractional(form, n)
    if ratio is None:
        return "the value must be a ratio of sums of counts"
    (c0, c1, c2, c3), (d0, d1, d2, d3) = ratio.numerator, ratio.denominator
    scale = lcm(*(d.denominator for d in (d0 * n, d1, d2, d3)))
    steps = int(d0 * n * scale), int(d1 * scale), int(d2 * scale), int(d3 * scale)
    size = sum(map(abs, steps[1:]))
    if c3 and not size:
        return "the denominator must count something where the numerator counts ref on its own"
    if size > LARGEST_DENOMINATOR:
        return f"the denominator in whole numbers may add up to {LARGEST_DENOMINATOR}, here {size}"
    for hyp, ref in product((0, 1), repeat=2):
        slope = c1 * (d0 + d2 * hyp + d3 * ref) - d1 * (c0 + c2 * hyp + c3 * ref)
        if (slope < 0) if sign > 0 else (slope > 0):
            return "more true positives must never make it worse"
    tn, fn, fp, tp = d0, d0 + d3, d0 + d2, d0 + d1 + d2 + d3  # weights of the cells of the table
    if min(tn, fn, fp, tp) < 0:
        return "the denominator must never be negative"
    if not (tn + tp and fn + fp):  # else a swap can lead into or out of 0/0
        return "the denominator must count a kind of right labels and a kind of mistakes"
    if n and form.bound.spec.range is not None:
        # A ratio of linear functions is extreme at a vertex: all pairs in one cell of the table, or
        # all but one where the denominator would be 0. Values outside of the range are refused.
        tables = [t for t in product({0, 1, n - 1, n}, repeat=4) if sum(t) == n]
        _, missed, wrong, hits = np.array(tables, np.float64).T
        value_of_counts(form, n, hits, wrong + hits, missed + hits)
    # The denominator is zero where all cells with a weight are empty. Other cells are of one kind
    # of right labels and one of mistakes at most, so that tables are of four families.
    t, zero = np.arange(n + 1), np.zeros(n + 1, np.int64)
    families = [(t, zero, zero), (t, t, n - t), (zero + n, t, zero), (zero, zero, t)]
    k, hits, missed = np.unique(np.concatenate(families, axis=1), axis=1)
    cells = np.array([n - k - missed, missed, k - hits, hits])[np.array([tn, fn, fp, tp]) != 0]
    k, hits, missed = (counts[~cells.any(axis=0)] for counts in (k, hits, missed))
    apart = k, hits, missed, value_of_counts(form, n, hits, k, hits + missed)
    return _Ratio(np.array([_float(c) for c in (c0 * n, c1 + c3, c2, c3)]), scale, steps, apart)


def fast_values(problem: Problem, p: Floats) -> tuple[Ints, Floats, Floats]:
    """Positions by descending probability, (sequences, n), given P(one) at each position.

    For ones at the first k of them, expected values and bounds on errors, (sequences, n + 1) each.
    """
    order, n = np.argsort(-p, axis=1, kind="stable"), p.shape[1]
    ratio = problem.cached("ratio", partial(_ratio, problem))
    assert not isinstance(ratio, str)
    p = np.take_along_axis(p, order, axis=1)
    weights, first = ratio.weights, prefix_counts(p)
    extra, size = _exceptions(ratio, first, p)
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is checked
        values = sizes = _averages(ratio, first, p)
        if weights.min() < 0 < weights.max():
            sizes = _averages(ratio._replace(weights=np.abs(weights)), first, p)
        most = np.abs(weights) @ [1, n, n, n]
        underflow = LEAST * (n + 1) * _float(ratio.scale) * most
        errors = relative_error(_ROUNDINGS * (n + 1)) * (np.abs(sizes) + size + underflow)
    return order, values + extra, errors


def _float(number: Fraction | int) -> float:
    """The nearest double, infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _averages(ratio: _Ratio, first: Floats, p: Floats) -> Floats:
    """E[(w0 + w1 tp + w2 k + w3 r) / denominator where it is not zero], (sequences, n + 1).

    With i = E[1 / (x + d3 r)] and m = E[r / (x + d3 r)], both by x, one more of the other positions
    makes i of (1 - p) i + p i', and m of (1 - p) m + p (m' + i'), primes being shifts by d3. What
    is shifted in from outside is never looked at: arrays are as long as all labels could shift.
    """
    weights, scale, (start, d1, d2, d3), _ = ratio
    batch, n = p.shape
    ends = [(d1 + d3) * tp + d2 * k + d3 * r for tp in (0, n) for k in (0, n) for r in (0, n)]
    index = _float(start + min(ends)) + np.arange(max(ends) - min(ends) + 1)  # of any size
    with np.errstate(divide="ignore"):
        inverse = np.where(index == 0, 0.0, _float(scale) / index)
    averages = np.zeros((2 if weights[3] else 1, batch, len(index)))  # i, m
    averages[0] = inverse
    shorter, longer = slice(0, len(index) - abs(d3)), slice(abs(d3), None)
    base, shifted = (averages[..., part] for part in (shorter, longer)[:: 1 if d3 >= 0 else -1])
    values = np.empty((batch, n + 1))
    for k in range(n, -1, -1):
        tp = np.arange(k + 1)
        at = (d1 + d3) * tp + (d2 * k - min(ends))
        weight = weights[0] + weights[1] * tp + weights[2] * k
        values[:, k] = np.einsum("bt,bt,t->b", first[:, k, : k + 1], averages[0][:, at], weight)
        if weights[3]:
            with_r = np.einsum("bt,bt->b", first[:, k, : k + 1], averages[1][:, at])
            values[:, k] += weights[3] * with_r
        if k and (d3 or weights[3]):
            chance = p[:, k - 1 : k]
            if weights[3]:
                base[1] = (1.0 - chance) * base[1] + chance * (shifted[1] + shifted[0])
            base[0] = (1.0 - chance) * base[0] + chance * shifted[0]
    return values


def _exceptions(ratio: _Ratio, first: Floats, p: Floats) -> tuple[Floats, Floats]:
    """What 0/0 adds to expected values, and its absolute terms, (sequences, n + 1) each."""
    (batch, n), (k, tp, r, answers) = p.shape, ratio.apart
    none, only = (np.cumprod(q[:, ::-1], axis=1)[:, ::-1] for q in (1.0 - p, p))
    none, only = (np.append(table, np.ones((batch, 1)), axis=1)[:, k] for table in (none, only))
    p_r = np.where(r == 0, none, np.where(r == n - k, only, first[:, n, r]))
    chances, (extra, size) = first[:, k, tp] * p_r, np.zeros((2, batch, n + 1))
    np.add.at(extra.T, k, (chances * answers).T)
    np.add.at(size.T, k, (chances * np.abs(answers)).T)
    return extra, size


RANKING_FAST = Method("ranking_fast", _fast_condition, _ranking_fast, together=True)
