"""The best of the ranked sequences, for long ones: counts in windows, blocks excluded by bounds.

Positions in the order of their probabilities are cut into blocks. Candidates whose number of ones
lies in a block share an upper bound: with the counts of the block's end for true positives, and the
better of its two ends for the number of ones (the value is a ratio of linear functions, monotonic
in each), no candidate is better. Blocks whose bound is below a value that was found are left out;
in the others the recurrence of Natarajan (2016), Algorithm 2, values every candidate, starting from
the distributions at the block's ends. Work and memory grow as n times the width of windows, a few
times sqrt(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.fast_ratio import average, extremes, fast_ratio, whole_weights
from fsmeu.decoding.problem import Problem
from fsmeu.decoding.ranking import ranked_problem
from fsmeu.fst.compose import guard_size
from fsmeu.limits import INVERSES_PER_STATE, WINDOW_CELLS
from fsmeu.losses.algebra.confusion import Fractional, value_of_counts
from fsmeu.trellis.count_windows import Window, count_window, running_sums, with_event
from fsmeu.trellis.roundings import LEAST, relative_error

__all__ = ["Valued", "windowed_values"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Valued:
    """Candidates that were valued, and bounds for the others.

    Attributes:
        ones: how many ones each candidate has that was valued.
        values: their expected values.
        errors: bounds on the errors of these.
        left: upper bounds on sign times value for all others, one for each block.
        lost: the mass outside of windows, at most.
    """

    ones: NDArray[np.int64]
    values: Floats
    errors: Floats
    left: Floats
    lost: float


class _Ratio:
    """The value as a ratio in doubles: numerator and denominator for counts, exceptions aside.

    Attributes:
        sign: 1 for a utility, -1 for a loss.
        top: the greatest value times the sign, exceptions included.
        greatest: the greatest absolute value.
        scale: what the weights of the denominator are multiplied by.
        steps: these weights: of n, tp, hyp and ref, whole numbers.
        weights: the weights of the numerator.
    """

    def __init__(self, problem: Problem) -> None:
        form, _ = ranked_problem(problem)
        ratio = fast_ratio(problem)
        assert isinstance(ratio, Fractional)
        self.form, self.n, self.sign = form, problem.n, problem.sign
        self.scale, self.steps = whole_weights(ratio, problem.n)
        c0, c1, c2, _ = ratio.numerator
        self.weights = (float(c0 * problem.n), float(c1), float(c2))
        values = value_of_counts(form, problem.n, *extremes(ratio, problem.n))
        values = np.append(values, self.exceptions(*_zero_tables(self.steps, problem.n)))
        self.top = float((problem.sign * values).max())
        self.greatest = float(np.abs(values).max())

    def numerator(self, tp: Floats, hyp: Floats | float) -> Floats:
        """The numerator of the value."""
        w0, w1, w2 = self.weights
        found: Floats = w0 + w1 * tp + w2 * hyp
        return found

    def denominator(self, tp: Floats, hyp: Floats | float, rest: Floats | float) -> Floats:
        """The denominator in whole numbers, ``rest`` being ref - tp."""
        start, d1, d2, d3 = self.steps
        found: Floats = float(start) + float(d1 + d3) * tp + float(d2) * hyp + float(d3) * rest
        return found

    def exceptions(self, tp: Floats, hyp: Floats, rest: Floats) -> Floats:
        """The value of tables whose denominator is 0, and 0 for all others."""
        found = np.zeros(np.broadcast_shapes(tp.shape, hyp.shape, rest.shape))
        tp, hyp, rest = np.broadcast_arrays(tp, hyp, rest)
        none = self.denominator(tp, hyp, rest) == 0
        if none.any():
            tp, hyp, rest = tp[none], hyp[none], rest[none]
            found[none] = value_of_counts(self.form, self.n, tp, hyp, tp + rest)
        return found


def _zero_tables(steps: tuple[int, int, int, int], n: int) -> tuple[Floats, Floats, Floats]:
    """Tables (tp, hyp, ref - tp) among which are all whose denominator may be 0.

    One of the two kinds of right labels and one of the two kinds of mistakes may weigh nothing; the
    others are then empty.
    """
    counts = np.arange(n + 1, dtype=np.float64)
    none, all_of = np.zeros(n + 1), np.full(n + 1, float(n))
    tables = [
        (none, none, counts),  # hyp = 0
        (counts, all_of, none),  # hyp = n
        (none, counts, none),  # ref = 0
        (counts, counts, n - counts),  # ref = n
    ]
    tp, hyp, rest = (np.concatenate(column) for column in zip(*tables, strict=True))
    return tp, hyp, rest


def windowed_values(problem: Problem, p: Floats) -> Valued:
    """The values of the candidates among which the best must be.

    Args:
        problem: one that ``ranking_fast`` fits.
        p: probabilities in descending order, (n,).

    Raises:
        SizeLimitError: windows are too wide for the weights of the denominator.
    """
    n, ratio = problem.n, _Ratio(problem)
    size = max(16, int(np.sqrt(n)))
    bounds = [*range(0, n, size), n]
    parts = [count_window(p[a:b]) for a, b in pairwise(bounds)]
    before = running_sums(parts)
    after = running_sums(reversed(parts))[::-1]
    _guard(ratio, before, after, size)
    above = np.full(len(parts), np.inf)  # no or all ones: the denominator may be 0
    for j in range(1, len(parts) - 1):
        above[j] = _upper(ratio, before[j + 1], after[j + 1], bounds[j], bounds[j + 1])
    above[1:-1] += 2.0 * ratio.greatest * sum(_one_kind(p))
    order = np.argsort(-above, kind="stable")
    found: list[tuple[int, Floats, Floats]] = []
    best = -np.inf
    for place, j in enumerate(order.tolist()):
        if above[j] < best:
            order = order[:place]
            break
        block = p[bounds[j] : bounds[j + 1]]
        values, errors = _block(ratio, before[j], after[j + 1], block, bounds[j], p)
        found.append((bounds[j], values, errors))
        best = max(best, float((problem.sign * values - errors).max()))
    ones = np.concatenate([begin + np.arange(len(values)) for begin, values, _ in found])
    values, errors = (np.concatenate([one[k] for one in found]) for k in (1, 2))
    left = np.delete(above, order)
    return Valued(ones, values, errors, left, before[-1].lost + after[0].lost)


def _guard(ratio: _Ratio, before: Sequence[Window], after: Sequence[Window], size: int) -> None:
    """Refuses what would take too long: the table behind a block's recurrence is too large."""
    _, d1, d2, d3 = ratio.steps
    widest = max(len(one.chances) for one in (*before, *after)) + size
    places = abs(d1 + d3) * widest + (abs(d2) + abs(d3)) * size
    guard_size("decode", places * widest // INVERSES_PER_STATE)


def _upper(ratio: _Ratio, first: Window, last: Window, low: int, high: int) -> float:
    """A bound on sign times value for candidates of low, ..., high ones.

    Args:
        ratio: the value.
        first: how many of the first ``high`` positions are ones.
        last: how many of the others are.
        low: the least number of ones.
        high: the greatest.
    """
    found = size = 0.0
    rows = max(1, WINDOW_CELLS // len(last.chances))
    for begin in range(0, len(first.chances), rows):
        tp = first.counts[begin : begin + rows, None]
        greatest = _greatest(ratio, tp, last.counts[None, :], (float(low), float(high)))
        chances = first.chances[begin : begin + rows]
        found += float(chances @ greatest @ last.chances)
        size += float(chances @ np.abs(greatest) @ last.chances)
    operations = first.operations + last.operations
    operations += len(first.chances) + len(last.chances) + 8
    spare = (first.lost + last.lost) * max(0.0, ratio.top)
    return found + relative_error(operations) * size + spare


def _greatest(ratio: _Ratio, tp: Floats, rest: Floats, ends: tuple[float, float]) -> Floats:
    """The greater of sign times value at two numbers of ones, (tp, rest); the top where unsure."""
    found = np.full((len(tp), rest.shape[1]), -np.inf)
    for hyp in ends:
        below = ratio.denominator(tp, hyp, rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = ratio.sign * float(ratio.scale) * ratio.numerator(tp, hyp) / below
        value = np.where(below > 0, np.minimum(value, ratio.top), ratio.top)
        np.maximum(found, value, out=found)
    return found


def _block(
    ratio: _Ratio, first: Window, last: Window, block: Floats, begin: int, p: Floats
) -> tuple[Floats, Floats]:
    """The values of the candidates of a block, (len(block) + 1,), and bounds on their errors.

    Args:
        ratio: the value.
        first: how many of the positions before the block are ones.
        last: how many of those after it are.
        block: the probabilities of its positions.
        begin: how many positions are before it.
        p: the probabilities of all positions.
    """
    start, d1, d2, d3 = ratio.steps
    size = len(block)
    prefixes = [first]
    for one in block.tolist():
        prefixes.append(with_event(prefixes[-1], one))
    tp = prefixes[-1].counts
    ends = [
        (d1 + d3) * int(t) + d2 * k + d3 * more
        for t in (tp[0], tp[-1])
        for k in (begin, begin + size)
        for more in (0, size)
    ]
    low = min(ends)
    inverse = _inverses(ratio, float(start + low), max(ends) - low + 1, last)
    values, sizes = np.empty(size + 1), np.empty(size + 1)
    for k in range(size, -1, -1):
        window = prefixes[k]
        at = (d1 + d3) * np.arange(window.low, window.low + len(window.chances))
        chances = window.chances * inverse[at + (d2 * (begin + k) - low)]
        weight = ratio.numerator(window.counts, float(begin + k))
        values[k], sizes[k] = chances @ weight, chances @ np.abs(weight)
        if k and d3:
            average(inverse, d3, block[k - 1])
    extra, more = _extra(ratio, begin + np.arange(size + 1.0), prefixes, last, p)
    operations = prefixes[-1].operations + last.operations + 4 * size
    operations += len(tp) + len(last.chances) + 8
    lost = (first.lost + last.lost) * ratio.greatest
    underflow = LEAST * len(tp) * (1.0 + ratio.greatest)
    return values + extra, relative_error(operations) * (sizes + more) + lost + underflow


def _inverses(ratio: _Ratio, start: float, places: int, last: Window) -> Floats:
    """E[scale / denominator], 0 for a denominator of 0, for denominators start, start + 1, ...

    The count of the last positions is still to be added to each, (places,).
    """
    d3 = ratio.steps[3]
    index = start + np.arange(places, dtype=np.float64)
    found = np.empty(places)
    rows = max(1, WINDOW_CELLS // len(last.chances))
    for begin in range(0, places, rows):
        below = index[begin : begin + rows, None] + float(d3) * last.counts
        with np.errstate(divide="ignore"):
            inverse = np.where(below == 0, 0.0, float(ratio.scale) / below)
        found[begin : begin + rows] = inverse @ last.chances
    return found


def _extra(
    ratio: _Ratio, hyp: Floats, prefixes: Sequence[Window], last: Window, p: Floats
) -> tuple[Floats, Floats]:
    """What the file answers where the denominator is 0, by candidate; and without signs.

    That is so for no positives at all, for positives only, or whatever the labels where no position
    is chosen, or all are.
    """
    n, none = len(p), np.zeros(len(hyp))
    all_zero, all_one = _one_kind(p)
    zero, one = ratio.exceptions(none, hyp, none), ratio.exceptions(hyp, hyp, n - hyp)
    extra, size = all_zero * zero + all_one * one, all_zero * abs(zero) + all_one * abs(one)
    if hyp[0] == 0:
        whole = prefixes[-1] + last
        answers = ratio.exceptions(np.zeros(1), np.zeros(1), whole.counts)
        extra[0], size[0] = whole.chances @ answers, whole.chances @ abs(answers)
    if hyp[-1] == n:
        whole = prefixes[-1]
        answers = ratio.exceptions(whole.counts, np.full(1, float(n)), np.zeros(1))
        extra[-1], size[-1] = whole.chances @ answers, whole.chances @ abs(answers)
    return extra, size


def _one_kind(p: Floats) -> tuple[float, float]:
    """The probabilities that no label is a one, and that all are."""
    with np.errstate(under="ignore"):
        return float(np.prod(1.0 - p)), float(np.prod(p))
