"""Decisions for ratios of counts under a chain of two labels, by generating functions at few nodes.

Let the value of a hypothesis z with k ones be E[N / D^a], N = b tp + t_0 + t_2 ref with b >= 0 and
D = c (v + C), where C counts the ones of y, or its zeros, and b, t_0, t_2, c and v depend on k.
With w = v + E[C] and u = 1 / w it is

    V(z) = (c w)^-a [ b sum over its ones of Q_i(u)  +  E[(t_0 + t_2 ref) (1 + u x)^-a] ],
    Q_i(u) = E[y_i (1 + u x)^-a],  x = C - E[C],

so that for one k the best z takes the k greatest Q_i, which are sums over the nodes of a rule
(``trellis/chains.py``). Q_i is convex in u: ``count_search.py`` bounds all k between two that were
tried. What the rule leaves out of a sum of k of them is at most E[tp] times its greatest remainder,
and E[tp] is at most the sum of the k greatest P(y_i = 1). The same sum excludes all k that are far
from the best: V <= E[N] / (least D)^a, but for the tails of C. Sequences of zeros and of ones alone
stand apart: they are bounded, and valued by themselves where that does not exclude them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.count_ratio import RatioByCount, ratio_by_count
from fsmeu.decoding.count_search import CountSearch, branch_and_bound, chords
from fsmeu.decoding.decision import PRECISION
from fsmeu.decoding.problem import (
    Answer,
    Method,
    Problem,
    certify,
    one_by_one,
    optimality_gap,
)
from fsmeu.decoding.ranked import NO_TABLE, ranked
from fsmeu.losses.algebra.ratios import ratios_of_number
from fsmeu.models.chains import binary_chain, is_binary_chain
from fsmeu.trellis import chains
from fsmeu.trellis.chain_shares import TiltedShares, tilted_shares
from fsmeu.trellis.chains import (
    BinaryChain,
    CountInterval,
    CountMoments,
    ReferenceCounts,
)
from fsmeu.trellis.roundings import LEAST, BoundedArray, BoundedValue
from fsmeu.trellis.rules import Rule, rule_for
from fsmeu.twofold import UNIT

_PAIRWISE = 64  # roundings behind a sum that numpy adds up in pairs, and a product
_ROW = 1024  # scores that are added up one by one; sums of these are added then

_WHY = (
    "the value is a ratio of counts that never gets worse with more true positives, and its "
    "expectations are sums over a few generating functions whose remainders are bounded"
)
_NO_ONES = "some label of the reference must have a chance to be a one"
_NO_ROOM = "the generating functions at all positions must fit in memory"


def _condition(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where this method may serve it."""
    if problem.confusion is None:
        return NO_TABLE
    if not is_binary_chain(problem.model):
        return "the labels must be a chain of two labels"
    if problem.constraint is not None or problem.keep is not None:
        return "there must be no constraint, and no states may be left out"
    return None


@dataclass(frozen=True, eq=False)
class _Coarse:
    """Bounds on the best values by the number of ones, from P(y_i = 1) and the tails of ref."""

    upper: Floats  # (n + 1,)
    lower: Floats  # (n + 1,)
    least: Floats  # D where ref is in its interval and the ratio is not 0, (n + 1,)
    greatest: Floats  # the same from above, (n + 1,)


@dataclass(frozen=True, eq=False)
class _Expected:
    """What P(y_i = 1) tell."""

    mean: float  # E[ref]
    hits: Floats  # the greatest E[tp] of k ones, or more, (n + 1,)
    reached: Floats  # the same, or less, (n + 1,)
    values: Floats  # ratios of expectations, (n + 1,)
    degenerate: BoundedArray  # what references without ones, and with nothing else, add, (n + 1,)


@np.errstate(divide="ignore", invalid="ignore")  # a D of 0 at the ends
def _expected(ratios: RatioByCount, chain: BinaryChain, marginals: Floats) -> _Expected:
    """Ratios of expectations by the number of ones."""
    mean = float(marginals.sum())
    off = 4 * chain.n * chain.step_error()  # of marginals, and of their sums
    sums = np.append(0.0, np.cumsum(np.sort(marginals)[::-1]))
    hits = sums * (1.0 + off)
    degenerate = chain.degenerate.worth(ratios.no_ones, ratios.all_ones)
    tops = ratios.slope * hits + ratios.constant + ratios.of_ref * mean
    below = np.maximum(ratios.below + ratios.of_one * mean, ratios.least)
    values = tops * below**-ratios.power + degenerate.values
    return _Expected(mean, hits, sums * max(0.0, 1.0 - off), values, degenerate)


@np.errstate(divide="ignore", invalid="ignore")  # a D of 0 at the ends
def _coarse(ratios: RatioByCount, expected: _Expected, refs: CountInterval) -> _Coarse:
    """Bounds on values, given where ref is."""
    # Without a constant, the ratio is 0 where y has no ones.
    low = np.where(ratios.constant == 0, max(refs.low, 1.0), refs.low)
    below_low = ratios.below + ratios.of_one * low
    below_high = ratios.below + ratios.of_one * refs.high
    least = np.maximum(np.minimum(below_low, below_high), ratios.least)
    greatest = np.maximum(np.maximum(below_low, below_high), least)
    inner = least**-ratios.power
    outer = greatest**-ratios.power
    upper = ratios.slope * expected.hits * inner + expected.degenerate.values
    lower = ratios.slope * expected.reached * outer + expected.degenerate.values
    if ratios.constant.any() or ratios.of_ref.any():
        others_low = ratios.constant + ratios.of_ref * refs.low
        others_high = ratios.constant + ratios.of_ref * refs.high
        above = np.maximum(others_low, others_high)
        under = np.minimum(others_low, others_high)
        upper += above * np.where(above > 0, inner, outer)
        lower += under * np.where(under > 0, outer, inner)
    tail = 2 * refs.outside * ratios.most + expected.degenerate.errors
    tail[ratios.most == np.inf] = np.inf
    return _Coarse(upper + tail, lower - tail, least, greatest)


@dataclass(frozen=True, eq=False)
class _Segment:
    """Numbers of ones among which the best is looked for, and by which a one of y adds to D alike.

    D = c (v + C), C counting the ones of y, or its zeros where a one makes D smaller.
    """

    numbers: Ints  # ascending
    first: int  # a number that seems best
    scale: Floats  # c, (n + 1,), above 0
    offset: Floats  # v, (n + 1,)
    label: int  # the label that C counts, -1 where D does not depend on y

    @property
    def low(self) -> int:
        """The least of the numbers."""
        return int(self.numbers[0])

    @property
    def high(self) -> int:
        """The greatest of the numbers."""
        return int(self.numbers[-1])


def _segments(ratios: RatioByCount, values: Floats, near: Bools) -> Iterator[_Segment]:
    """The near numbers of ones, by the sign of what a one of y adds to D."""
    n = len(near) - 1
    signs = np.sign(ratios.of_one)
    for sign in (1.0, -1.0, 0.0):
        ks = np.flatnonzero(near & (signs == sign))
        if not len(ks):
            continue
        first = int(ks[values[ks].argmax()])
        if sign == 0:
            scale = np.where(ratios.below > 0, ratios.below, 1.0)
            offset = np.ones(n + 1)
        else:
            scale = np.where(signs == sign, np.abs(ratios.of_one), 1.0)
            offset = (ratios.below + (0.0 if sign > 0 else n) * ratios.of_one) / scale
        label = {1.0: 1, -1.0: 0, 0.0: -1}[sign]
        yield _Segment(ks, first, scale, offset, label)


class _Valued(NamedTuple):
    """A sequence with its value."""

    z: Ints
    value: BoundedValue

    def least(self, sign: float) -> float:
        """What the value is at least, greater being better."""
        return sign * self.value.value - self.value.error

    @property
    def is_precise(self) -> bool:
        """Whether no sweep need find its value again."""
        return self.value.error <= limits.PROMISED * abs(self.value.value)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The best of a segment, and a bound on the values of all of it."""

    best: _Valued
    upper: float
    tried: int


@dataclass(frozen=True, eq=False)
class _Search:
    """What the search among the numbers of ones of a chain looks at."""

    chain: BinaryChain
    ratios: RatioByCount
    coarse: _Coarse
    expected: _Expected
    refs: CountInterval

    def rule(self, segment: _Segment, first: int, low: int, high: int, eps: float) -> Rule:
        """A rule for W = v + C of the numbers from ``low`` to ``high``, its centre that of one."""
        power = self.ratios.power
        if segment.label < 0:
            return Rule(np.zeros(1), np.ones(1), power, off=4 * UNIT)
        ks = segment.numbers[(segment.numbers >= low) & (segment.numbers <= high)]
        least = float((self.coarse.least[ks] / segment.scale[ks]).min())
        greatest = float((self.coarse.greatest[ks] / segment.scale[ks]).max())
        return rule_for(least, greatest, float(self.centre(segment)[first]), power, eps)

    def centre(self, segment: _Segment) -> Floats:
        """w = v + E[C], (n + 1,), or what is next to it in the interval of W."""
        n = self.chain.n
        mean = {1: self.expected.mean, 0: n - self.expected.mean, -1: 0.0}[segment.label]
        centre: Floats = np.maximum(segment.offset + mean, self.coarse.least / segment.scale)
        return centre

    def best(self, segment: _Segment, lower: float) -> _Candidate | None:
        """The best of a segment; None where there is no room. ``lower`` is a value reached.

        The rule of the number that seems best has few nodes, and excludes its neighbourhood. One
        of more nodes for all numbers that are left, which leaves out more, excludes most of these;
        the last one decides among the rest.
        """
        best = None
        caps = np.full(self.chain.n + 1, -np.inf)
        caps[segment.numbers] = self.coarse.upper[segment.numbers]
        tried = 0
        centre = self.centre(segment)
        enough = lower
        for eps in (limits.PRECISE_RULE, limits.ROUGH_RULE, limits.PRECISE_RULE):
            left = segment.numbers[caps[segment.numbers] >= enough]
            first = segment.first if best is None else int(left[caps[left].argmax()])
            rule = self.rule(segment, first, first, first, eps)
            is_for_all = tried > 0 or not rule.is_one_sided
            if is_for_all:  # a wide rule serves only what it is made for
                rule = self.rule(segment, first, int(left[0]), int(left[-1]), eps)
            shares = tilted_shares(self.chain, rule, max(segment.label, 0))
            if shares is None:
                continue
            search = self._by_count(segment, shares, first, caps)
            search.low = int(left[0])
            search.high = int(left[-1])
            search.narrow(max(lower, search.value(first)))
            for end in (search.low, search.high):
                search.sums(end)
            # Nothing is found out about numbers that roundings alone keep from being excluded.
            hidden = 2 * float(search.gain[first] * centre[first] ** rule.power)
            hidden *= shares.error(float(segment.offset[first]))
            k, upper = branch_and_bound(search, lower, hidden)
            tried += len(search.tried)
            found = search.best_at(k)
            if best is None or found.least(self.ratios.sign) > best.least(self.ratios.sign):
                best = found
            lower = max(lower, best.least(self.ratios.sign))
            enough = lower + max(hidden, PRECISION / 4 * abs(lower))
            if upper <= enough or (is_for_all and eps == limits.PRECISE_RULE):
                break
        return None if best is None else _Candidate(best, float(caps.max()), tried)

    def _by_count(
        self, segment: _Segment, shares: TiltedShares, first: int, caps: Floats
    ) -> CountSearch:
        """The values by the number of ones, for branch and bound, from a number that seems best."""
        ratios = self.ratios
        rule = shares.rule
        power = ratios.power
        n = self.chain.n
        centre = self.centre(segment)
        u = 1.0 / centre
        size = centre**power
        ks = slice(segment.low, segment.high + 1)
        low = self.coarse.least / segment.scale
        high = self.coarse.greatest / segment.scale
        gain = ratios.slope * (segment.scale * centre) ** -power
        offset = self.expected.degenerate.values.copy()
        errors = self.expected.degenerate.errors.copy()
        if ratios.constant[ks].any() or ratios.of_ref[ks].any():
            more = self._others(segment, shares, rule.remainders(low[ks], high[ks]))
            offset[ks] += more.values
            errors[ks] += more.errors

        def scores_at(k: int) -> Floats:
            scores: Floats = shares.scores(float(segment.offset[k])) * size[k]
            return scores

        def sums_at(k: int) -> Floats:
            # A wide rule is off by a part of every score, and so are sums.
            part = 2.0 * rule.off + (2 * _ROW + n // _ROW) * UNIT
            return _greatest_sums(scores_at(k), segment.low, segment.high) * (1.0 + part)

        @cache
        def rounding_at(k: int) -> float:
            return shares.error(float(segment.offset[k]))

        def over_at(k: int, at: Ints) -> Floats:
            rest = np.zeros(len(at))
            if rule.is_one_sided:
                rest = self.expected.hits[at] * float(rule.remainder(low[k], high[k]))
            tail = 3.0 * self.refs.outside * at * (ratios.least / segment.scale[k]) ** -power
            slack: Floats = (rest + tail + rounding_at(k)) * size[k]
            return slack

        def best_at(k: int) -> _Valued:
            scores = scores_at(k)
            z = ranked(np.argpartition(-scores, k - 1), k)
            total = float(scores[z == 1].sum())
            off = (2.0 * rule.off + (_PAIRWISE + 2 * len(rule.nodes)) * UNIT) * total
            off += float(over_at(k, np.array([k]))[0])
            value = float(gain[k] * total + offset[k])
            error = float(gain[k] * off + errors[k]) + 4 * UNIT * abs(value)
            return _Valued(z, BoundedValue(ratios.sign * value, error))

        return CountSearch(
            segment.low, segment.high, first, gain, offset, errors, caps, sums_at,
            chords(u, over_at), best_at,
        )  # fmt: skip

    def _others(self, segment: _Segment, shares: TiltedShares, left_out: Floats) -> BoundedArray:
        """E[(t_0 + t_2 ref) / D^a] for the numbers of a segment."""
        ratios = self.ratios
        ks = slice(segment.low, segment.high + 1)
        scale = segment.scale[ks] ** -ratios.power
        constant = ratios.constant[ks]
        of_ref = ratios.of_ref[ks]
        value = np.zeros(len(scale))
        error = (np.abs(constant) + np.abs(of_ref) * self.expected.mean * (1 + 1e-6)) * left_out
        error += self.refs.outside * 3.0 * ratios.most[ks] / scale
        for row, m in np.ndindex(shares.nodes.shape):
            node = shares.nodes[row, m]
            masses = shares.weights[row, m] * np.exp(
                shares.logs[row, m] - node * segment.offset[ks]
            )
            total = shares.totals[row, m]
            value += masses * (constant + of_ref * total)
            sizes = np.abs(constant) + np.abs(of_ref) * total
            off = shares.log_errors[row, m] + 4 * UNIT * node * np.abs(segment.offset[ks])
            error += masses * (sizes * off + np.abs(of_ref) * shares.share_errors[row, m])
        return BoundedArray(value * scale, error * scale)


def _greatest_sums(scores: Floats, low: int, high: int) -> Floats:
    """The sums of the k greatest scores, (n + 1,), for low <= k <= high; 0 for other k."""
    n = len(scores)
    sums = np.zeros(n + 1)
    ascending = (
        np.partition(scores, (n - high, n - low)) if low < high else np.partition(scores, n - low)
    )
    middle = np.sort(ascending[n - high : n - low])[::-1]
    sums[low] = ascending[n - low :].sum()  # numpy adds up in pairs
    rows = -(-len(middle) // _ROW)
    table = np.zeros((rows, _ROW))
    table.ravel()[: len(middle)] = middle
    np.cumsum(table, axis=1, out=table)
    table[1:] += np.cumsum(table[:-1, -1])[:, None]
    sums[low + 1 : high + 1] = sums[low] + table.ravel()[: len(middle)]
    return sums


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # what comes of it is checked
def _decided(problem: Problem) -> Answer | str:
    """The best sequence under a chain: that of a search, or without ones, or with nothing else."""
    tables = binary_chain(problem.model)
    form = problem.confusion
    assert tables is not None
    assert form is not None
    ratios = ratio_by_count(form, problem.n, problem.sign)
    if isinstance(ratios, str):
        return ratios
    chain = chains.chain_of(*tables, problem.model.roundings)
    n = chain.n
    moments = chains.count_moments(chain, np.zeros(n, np.int64), np.ones(2))
    if not moments.marginals.any():
        return _NO_ONES
    search = _prepared(chain, ratios, moments)
    counts = ReferenceCounts(moments.marginals, search.refs)
    apart = [0] if ratios.last == n else [0, 1]  # labels that stand apart where z has no others
    start = int(search.expected.values[1:n].argmax()) + 1
    lower = float(search.coarse.lower[start])
    candidates = [
        _valued(problem, np.full(n, label, np.int64), search, counts)
        for label in apart
        if search.coarse.upper[label * n] >= lower
    ]
    lower = max([lower, *(one.least(problem.sign) for one in candidates)])
    found = _among(problem, search, counts, lower)
    if found is None:
        return _NO_ROOM
    candidates += found.candidates
    bounds = np.array([*(problem.sign * one.value.value for one in candidates), found.upper])
    errors = np.array([*(one.value.error for one in candidates), 0.0])
    row = int(np.argmax(bounds[:-1]))
    answer = candidates[row]
    why = f"{_WHY}; {found.tried} numbers of ones were tried, all others are bounded"
    unproven = Answer(answer.z, why, n + 1, answer.value.value)
    gap = optimality_gap(bounds, errors, row)
    return certify(problem, unproven, gap, "bounds reach beyond its value")


class _Found(NamedTuple):
    """What a search found among sequences that do not stand apart."""

    candidates: list[_Valued]  # those that may be best
    upper: float  # a bound on the values of all
    tried: int  # how many numbers of ones were tried


def _among(
    problem: Problem, search: _Search, counts: ReferenceCounts, lower: float
) -> _Found | None:
    """What may be best among sequences that do not stand apart; None where there is no room.

    ``lower`` is a value that is reached.
    """
    last = search.ratios.last
    upper = search.coarse.upper[: last + 1]
    near = np.zeros(search.chain.n + 1, bool)
    near[1 : last + 1] = upper[1:] >= lower
    greatest = float(upper[1:][~near[1 : last + 1]].max(initial=-np.inf))
    values = search.expected.values
    candidates = []
    tried = 0
    segments = list(_segments(search.ratios, values, near))
    # The segment that seems best comes first, as what is reached there excludes others.
    for segment in sorted(segments, key=lambda one: -values[one.first]):
        of_segment = float(upper[segment.numbers].max())
        if of_segment < lower:
            greatest = max(greatest, of_segment)
            continue
        found = search.best(segment, lower)
        if found is None:
            return None
        greatest = max(greatest, found.upper)
        tried += found.tried
        if found.upper >= lower:  # what is below a value that is reached need not be valued
            again = found.best if found.best.is_precise else None
            candidates.append(again or _valued(problem, found.best.z, search, counts))
        lower = max(lower, found.best.least(problem.sign))
    return _Found(candidates, greatest, tried)


def _valued(problem: Problem, z: Ints, search: _Search, counts: ReferenceCounts) -> _Valued:
    """A sequence with its expected value."""
    assert problem.confusion is not None
    k = int(z.sum())
    part = search.ratios.at(k) or ratios_of_number(problem.confusion, len(z), float(k))
    assert part is not None  # sums of ratios were derived for all numbers of ones
    return _Valued(z, chains.value_of_ratios(part, z, search.chain, counts))


def _prepared(chain: BinaryChain, ratios: RatioByCount, moments: CountMoments) -> _Search:
    """What is searched: where ref is, and coarse bounds by the number of ones."""
    n = chain.n
    expected = _expected(ratios, chain, moments.marginals)
    worth = float(expected.values[1:n].max()) / max(float(ratios.most[1:n].max()), LEAST)
    outside = max(chains.TAIL * min(1.0, abs(worth)) / n, 1e-290)
    z = np.zeros(n, np.int64)
    labels = chains.LabelCosts(np.ones(2, np.int64), np.ones(2), np.zeros((2, 2)))
    reach = chains.count_interval(chain, z, labels, chains.Spread(moments.variance, outside))
    refs = CountInterval(reach.low, min(reach.high, float(n)), outside)
    return _Search(chain, ratios, _coarse(ratios, expected, refs), expected, refs)


def _counts_are_faster(problem: Problem) -> bool:
    """Whether counts are faster, as the sequence is short."""
    return problem.n < limits.LONG_CHAIN


CHAIN_RATIOS = Method(
    "chain_ratios",
    _condition,
    one_by_one(_decided),
    limited=False,
    after_counting=_counts_are_faster,
)
