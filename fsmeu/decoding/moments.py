"""Decisions for long chains of two labels: values as series in central moments of counts.

Let the value be N / D^a with D = d (1 + u x), x = ref - E[ref], d and u depending on k, and
N = b tp + c(ref), b >= 0. A hypothesis z with k ones has the value

    V(z) = d^-a [ b sum over its ones of Q_i(u)  +  E[c(ref) (1 + u x)^-a] ],
    Q_i(u) = E[y_i (1 + u x)^-a],

so that for one k the best z takes the k greatest Q_i, which are short polynomials in u with the
coefficients E[y_i x^j]. Q_i is convex in u wherever 1 + u x > 0. So between two numbers of ones k1
and k2 that were tried, with A_m(k) the sum of the k greatest Q_i(u_m) and u = (1 - t) u_1 + t u_2,

    sum over ones of Q_i(u)  <=  (1 - t) A_1(k) + t A_2(k)                           (chord bound)

because a maximum of sums is at most the sum of the maxima. Numbers whose bound is above the best
value are tried themselves, until none is left. What the series leaves out of a sum of k of the Q_i
is at least 0 and at most E[(u x)^J] max min(k, ref) (1 + u x)^-a; roundings are in the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import Answer, Method, Problem, certify, one_by_one, optimality_gap
from fsmeu.decoding.ranking import NO_TABLE, ranked
from fsmeu.limits import LONG_SEQUENCE
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.models.chains import binary_chain, is_binary_chain
from fsmeu.trellis import moments as tm
from fsmeu.trellis.compiled import load_compiled
from fsmeu.trellis.independent import UnfitError
from fsmeu.twofold import UNIT

TILTED_CELLS = 1 << 26  # kept expectations E[y_i exp(-t ref)], for each t and label: 512 MB
_CLOSE = 1e-10  # numbers whose bound exceeds the best value by less than this part are not tried
MOST_TRIES = 64  # numbers of ones that are tried where a bound leaves several; mostly five

_WHY = (
    "the value is a sum of ratios of counts that never gets worse with more true positives, and "
    "expectations are series in central moments whose remainders are bounded"
)
_NO_SERIES = "counts must be concentrated, or few enough for sums of exponentials"
_ONE_RATIO = (
    "under a chain the value must be one ratio of counts, divided by a sum of counts of each "
    "sequence by itself"
)


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where moments may serve it."""
    if problem.confusion is None:
        return NO_TABLE
    if problem.n < LONG_SEQUENCE:
        return f"there must be at least {LONG_SEQUENCE:,} labels: fewer are counted exactly"
    if problem.constraint is not None or problem.keep is not None:
        return "there must be no constraint, and no states may be left out"
    if not is_binary_chain(problem.model):
        return "the labels must be a chain"
    return None


@dataclass(eq=False)
class CountSearch:
    """Best values by a number k from low to high: gain * sum of scores + offset, greater is better.

    For a long sequence, k is its number of ones; for a corpus, the total of the hypotheses' counts.
    """

    low: int
    high: int
    first: int  # a number that seems best
    gain: Floats  # what sums of scores are multiplied by, by k
    offset: Floats  # what is added, whatever the hypothesis, by k
    errors: Floats  # bounds on the errors of ``offset``, by k
    sums_at: Callable[[int], Floats]  # the greatest sums of the scores at k, by number
    # Upper bounds on values at some numbers, between two that were tried, or at one.
    bounds_at: Callable[[CountSearch, Ints, int, int], Floats]
    best_at: Callable[[int], Any]  # a hypothesis of the greatest sum at k, and more of a corpus
    tried: dict[int, Floats] = field(default_factory=dict)  # the sums by the number that was tried

    def sums(self, k: int) -> Floats:
        """The greatest sums of the scores at k, by number."""
        if k not in self.tried:
            self.tried[k] = self.sums_at(k)
        return self.tried[k]

    def value(self, k: int) -> float:
        """The best value at k, roundings and the remainder aside."""
        return float(self.gain[k] * self.sums(k)[k] + self.offset[k])


def chords(
    u: Floats, over_at: Callable[[int, Ints], Floats]
) -> Callable[[CountSearch, Ints, int, int], Floats]:
    """The chord bound as ``bounds_at``, given the factor u of x in D / d, by k.

    ``over_at`` bounds what the sums at one k lack of the true ones, for several numbers.
    """

    def bounds_at(search: CountSearch, ks: Ints, first: int, last: int) -> Floats:
        span = float(u[last] - u[first])
        t = (u[ks] - u[first]) / span if span else np.zeros(len(ks))
        between = (t > -1e-12) & (t < 1.0 + 1e-12)
        ends = [search.sums(k)[ks] + over_at(k, ks) for k in (first, last)]
        total = (1.0 - t) * ends[0] + t * ends[1]
        bounds = search.gain[ks] * total + search.offset[ks] + search.errors[ks]
        return np.where(between, bounds, np.inf)

    return bounds_at


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # what comes of it is checked
def _under_chain(problem: Problem) -> Answer | str:
    """The best sequence under a chain: that of a search, or without ones, or with nothing else."""
    n, sign, answer, form = problem.n, problem.sign, None, problem.confusion
    assert form is not None
    tables = binary_chain(problem.model)
    assert tables is not None
    chain = tm.chain_of(*tables, problem.model.roundings)
    ends = [tm.chain_value(form, np.full(n, label), chain) for label in (0, 1)]
    constant = [(sign * end[0], end[1]) for end in ends if end is not None]
    if not chain.marginals.any() or not np.isfinite(constant).all():
        return _NO_SERIES
    for searched in (_search, _rare_search):
        try:
            search = searched(form, chain, sign)
        except UnfitError as error:
            return answer or str(error)
        if search is None:
            continue
        best, upper = branch_and_bound(search, max(value - error for value, error in constant))
        z = search.best_at(best)
        expected = tm.chain_value(form, z, chain)
        assert expected is not None  # as all other numbers of ones
        values, errors = np.array([*constant, (sign * expected[0], expected[1]), (upper, 0.0)]).T
        row = int(values[:-1].argmax())
        z = z if row == len(constant) else np.full(n, row)
        why = f"{_WHY}; {len(search.tried)} numbers of ones were tried, all others are bounded"
        answer = Answer(z, False, why, n + 1, sign * float(values[row]), float(errors[row]))
        reach, last = optimality_gap(values, errors, row), searched is _rare_search
        answer = certify(problem, answer, reach, "bounds reach beyond its value", thorough=last)
        if answer.exact:
            break
    return answer or _NO_SERIES


def branch_and_bound(
    search: CountSearch,
    lower: float = -np.inf,
    gap: float = 0.0,
    stop: Callable[[float, float], bool] | None = None,
) -> tuple[int, float]:
    """The best number of ones, and an upper bound on all values: branch and bound, best first.

    ``lower`` is a value that is known to be reached; the best one and the bound may stay ``gap``
    apart. ``stop`` is called with both before a number is tried; True ends the search. Without it,
    ``MOST_TRIES`` numbers are tried at most.
    """
    search.value(search.first)
    todo: list[tuple[float, int, int, Ints, Floats]] = []  # the greatest bound first
    closed = -np.inf

    def add(low: int, high: int, ks: Ints) -> None:
        if len(ks):
            bounds = search.bounds_at(search, ks, low, high)
            heappush(todo, (-float(bounds.max()), low, high, ks, bounds))

    for low, high in pairwise(sorted({search.low, search.high, *search.tried})):
        add(low, high, np.arange(low + 1, high))
    while True:
        best = max(search.tried, key=search.value)
        level = max(lower, search.value(best))
        enough, greatest = level + max(gap, _CLOSE * abs(level)), -todo[0][0] if todo else -np.inf
        late = len(search.tried) >= MOST_TRIES
        if stop is not None:
            late = stop(level, max(level, closed, greatest))
        if greatest <= enough or late:
            break
        _, low, high, ks, bounds = heappop(todo)
        above = bounds > enough
        closed = max(closed, float(bounds[~above].max(initial=-np.inf)))
        k, left = int(ks[bounds.argmax()]), ks[above]
        if min(k - left[0], left[-1] - k) * 8 < left[-1] - left[0]:
            k = int(left[len(left) // 2])  # a greatest bound at the edge would cut off little
        search.sums(k)
        add(low, k, left[left < k])
        add(k, high, left[left > k])
    at = [float(search.bounds_at(search, np.array([k]), k, k)[0]) for k in search.tried]
    return best, max(closed, greatest, *at)


def _by_scores(
    scores_at: Callable[[int], Floats], part: float = 0.0
) -> tuple[Callable[[int], Floats], Callable[[int], Ints]]:
    """The sums of the k greatest scores, (n + 1,), off by a part at most, and labels of k >= 1."""

    def sums_at(k: int) -> Floats:
        return np.append(0.0, np.cumsum(np.sort(scores_at(k))[::-1])) * (1.0 + part)

    def best_at(k: int) -> Ints:
        return ranked(np.argpartition(-scores_at(k), k - 1), k)

    return sums_at, best_at


def _search(form: Confusion, chain: tm.Chain, sign: float) -> CountSearch | None:
    """The values by the number of ones; None where moments do not suffice.

    Roundings: E[y_i x^j] is off by a part 2 n g of (3 |x|)^j at most, as in ``chain_value``, E[x^j]
    by as much from j = 2 on, marginals by ``chain.off``, and a running sum of n terms by n units.
    """
    n, mean = len(chain.marginals), fsum(chain.marginals)
    top, below, power, apart = _single_ratio(form, chain, sign)
    d = below[0] + below[1] * mean
    u, scale, run = below[1] / d, d**-power, load_compiled("moment_kernels")
    ks = np.arange(1, n)
    expected = (top[1] - top[2])[ks] * np.cumsum(np.sort(chain.marginals)[::-1])[:-1]
    first = int(ks[(scale[ks] * (expected + (top[0] + top[2] * mean)[ks])).argmax()])
    jets, none = np.zeros((2, 3)), np.zeros(n, np.int64)
    amounts = np.array([[1.0, 1.0], [0.0, 0.0]])
    run.chain_jets(chain.steps, chain.marginals, none, amounts, 2, tm.BINOMIAL, jets)
    order = tm.needed_order(float(np.sqrt(jets[0, 2]) * abs(u[first])), _CLOSE / 10)
    if order > tm.MOST_ORDER:
        return None
    moments, mixed = np.zeros(order + 1), np.zeros((order, n))
    spread = run.mixed_jets(chain.steps, chain.marginals, order, tm.BINOMIAL, moments, mixed)
    moments[:2] = 1.0, 0.0
    series = tm.series_of(power, 1.0, order)
    powers = series[:, None] * u ** np.arange(order)[:, None]
    offset = (top[0] + top[2] * mean) * (moments[:order] @ powers)
    offset = scale * (offset + top[2] * (moments[1:] @ powers))
    moments[order] *= 1.0 + 1e-6  # of its own roundings
    errors = np.zeros(n + 1)
    for s in (0.0, 1.0, n - 1.0, float(n)):
        above, under = (side[0] + side[2] * s for side in (top, below))
        used = np.where(under > 0, under, np.inf)
        errors = np.maximum(errors, np.abs(above) * used**-power * moments[order] * u**order)
    reach = np.minimum((3 * spread ** (1 / order) + 2) * np.abs(u), 0.5)
    lost = 4 * n * (order + 12 + chain.behind) * UNIT * reach
    off, size = chain.off + lost, scale * (np.abs(top[0]) + np.abs(top[2]) * mean)
    errors += apart[1] + size * (64 * UNIT + lost * reach + 4 * n * chain.off / mean)

    def scores_at(k: int) -> Floats:  # Q_i, at most what they are
        return (series * u[k] ** np.arange(order)) @ mixed  # type: ignore[no-any-return]

    def over_at(k: int, ks: Ints) -> Floats:
        depths = 1.0 + u[k] * (np.array([ks, np.full_like(ks, n)]) - mean)
        remainder = depths.min(axis=0) ** -power * moments[order] * u[k] ** order
        slack: Floats = ks * (remainder + off[k])
        return slack

    gain, offset = (top[1] - top[2]) * scale, offset + apart[0]
    sums_at, best_at = _by_scores(scores_at, 2 * n * UNIT)
    bounds_at = chords(u, over_at)
    return CountSearch(1, n - 1, first, gain, offset, errors, sums_at, bounds_at, best_at)


def _rare_search(form: Confusion, chain: tm.Chain, sign: float) -> CountSearch | None:
    """The values by the number of ones, by sums of exponentials; None where there are too many.

    With D = v + c ref, v depending on k, Q_i(v) = E[y_i D^-a] is convex in v for any counts, and
    the sum over nodes t of w exp(-t v) E[y_i exp(-t c ref)], which has no negative terms. An
    UnfitError where c depends on k.
    """
    n = len(chain.marginals)
    top, below, power, apart = _single_ratio(form, chain, sign)
    ks = np.arange(1, n)
    v, c = below[0], float(below[1, 1])
    if (below[1, ks] != c).any() or c <= 0 or (top[1] < top[2])[ks].any():
        raise UnfitError(_ONE_RATIO)
    nodes, weights, off = tm.exponentials(power, float(v[ks].min()) + c, float(v[ks].max()) + c * n)
    if len(nodes) * n > TILTED_CELLS:
        return None
    logs, shares = np.zeros(len(nodes)), np.zeros((len(nodes), n))
    far = load_compiled("moment_kernels").tilted_chain(
        chain.steps, np.zeros(n, np.int64), np.full(2, c), nodes, logs, shares
    )
    far *= tm.behind_tilted(chain)
    parts = off + 3 * far + (2 * far + 32 * UNIT) * (1.0 + np.abs(logs)) + (n + 8) * UNIT
    refs = shares.sum(axis=1)  # E[ref exp(-t c ref)] by the mass
    offset, errors, slack = apart[0].copy(), apart[1].copy(), np.zeros(n + 1)
    for t, w, log, part, ref in zip(nodes, weights, logs, parts, refs, strict=True):
        mass = w * np.exp(log - t * v)
        off_by = (part + 8 * UNIT * t * np.abs(v)) * mass
        offset += mass * (top[0] + top[2] * ref)
        errors += off_by * (np.abs(top[0]) + np.abs(top[2]) * ref)
        slack += off_by * ref  # of sums of scores

    def scores_at(k: int) -> Floats:
        return (weights * np.exp(logs - nodes * v[k])) @ shares  # type: ignore[no-any-return]

    def over_at(k: int, ks: Ints) -> Floats:
        return np.full(len(ks), slack[k])

    first = max(1, min(n - 1, round(fsum(chain.marginals))))
    gain, (sums_at, best_at) = top[1] - top[2], _by_scores(scores_at)
    bounds_at = chords(v, over_at)
    return CountSearch(1, n - 1, first, gain, offset, errors, sums_at, bounds_at, best_at)


def _single_ratio(
    form: Confusion, chain: tm.Chain, sign: float
) -> tuple[Floats, Floats, float, Floats]:
    """Numerators and denominators by the number of ones, (3, n + 1); the power; what stands apart.

    An UnfitError where there are several ratios, or a denominator looks at both sequences.
    """
    n, power = len(chain.marginals), 1.0
    top, below, apart = np.zeros((3, n + 1)), np.ones((3, n + 1)), np.zeros((2, n + 1))
    for ks, part in tm.parts_of(form, n, sign):
        if not 0 < ks.start < n:
            continue
        (ratio, *further), power = part.ratios, part.ratios[0].power
        if further or (ratio.below[1] != ratio.below[2]).any():
            raise UnfitError(_ONE_RATIO)
        top[:, ks], below[:, ks] = sign * ratio.top, ratio.below
        tm.add_apart(part, chain.apart, apart[0, ks], apart[1, ks])
    apart[0] *= sign
    return top, below, power, apart


MOMENTS = Method("moments", _condition, one_by_one(_under_chain))
