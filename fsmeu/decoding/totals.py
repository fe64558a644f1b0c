"""The best hypotheses where the value looks at totals: a sentence, a document, a corpus.

Let hypotheses that count k in all be worth gain(k) E[T g(k, S)] + offset(k), T >= 0 being the
joint count and S that of the references. To *try* k, scores at the weights g(k, .) give the best
sums A_k(j) for all totals j. For j = k that is the best value; any other j is bounded where its
weight is at most a sum of multiples of weights that were tried, a *majorant*:

    g(j, S) <= theta g(k, S)                          ->  E[T g(j, S)] <= theta A_k(j),
    g(j, S) <= theta_1 g(k_1, S) + theta_2 g(k_2, S)  ->  at most theta_1 A_1(j) + theta_2 A_2(j).

Totals whose bound is above the best value are tried themselves, until none is left (``Search``).

For ratios, g(k, S) = (v(k) + S)^-a, found by lanes (``expectation/totals.py``). One k: theta is the
greatest quotient over the range of S, which one of its ends has. Two: with m about E[S] and
u = 1 / (v + m), (v + m)^a g = (1 + u (S - m))^-a is convex in u, so that the chord between two u
bounds it. A one-sided rule is too small by R: sums are at most A / (1 - rho), rho being the
greatest R (v + S)^a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.priced import PricedSentence
from fsmeu.decoding.scored import Scored, ScoredChain, ScoredLabels, ScoredSentences, Sums, Worth
from fsmeu.expectation.totals import (
    RatioByTotal,
    TotalsProblem,
    left_out,
    ratio_by_total,
    rule_about,
    serves,
    value_of_none,
    wide_rule_of_totals,
)
from fsmeu.parallel import threads
from fsmeu.trellis.chains import ChainGroup
from fsmeu.trellis.estimate import scale_of
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.rules import Rule

WHY = (
    "the value is a ratio of a joint count and a sum of counts of each sequence by itself, and "
    "expectations are generating functions at a few nodes whose remainders are bounded"
)
_CLOSE = 2e-10  # the part of its scale by which others may be bounded above the best value
_SAME = 1e-12  # the part of a sum by which one that is found again may differ
_FEW_KEPT = 32  # times the scores that are kept, at least, are those that steps may have
_MOST_RULES = 5  # that are tried
_MOST_CLIMBED = 12  # totals that are tried before others are bounded


# -- the search ------------------------------------------------------------------------------------


class Aim(Protocol):
    """Values of totals."""

    caps: Floats  # upper bounds on values by total, -inf where there are none
    served: range  # the totals that can be tried

    def try_total(self, k: int, best: int | None) -> float:
        """Tries a total; its best value, -inf where it is not known.

        ``best`` is what seems best so far, None as long as totals are tried that seem best.
        """

    def bounds(self, ks: Ints, tried: Sequence[int]) -> Floats:
        """Upper bounds on the values of some totals, by one or two that were tried."""

    def likeliest(self, k: int) -> int:
        """The total that seems best by what is known from one that was tried."""

    def settle(self, k: int, level: float) -> float | None:
        """The best value of a total that was tried, -inf if not above a level; None if unknown."""


class Goal(NamedTuple):
    """When a search ends."""

    width: float  # of the range of values
    gap: float = 0.0  # how far the best value and the bound may stay apart
    lower: float = -math.inf  # a value that is reached by other hypotheses
    stop: Callable[[float, float], bool] | None = None  # asked before a try, given both


class Search:
    """The best total: best first, by bounds from those that were tried."""

    def __init__(self, aim: Aim, goal: Goal) -> None:
        self.aim = aim
        self.goal = goal
        self.values: dict[int, float] = {}  # the best values of the totals that were tried
        self.settled: set[int] = set()  # totals whose best value was asked for
        self.stuck: set[int] = set()  # and those where it is not known

    @property
    def best(self) -> int:
        """The total that is best so far."""
        return max(self.values, key=lambda k: (self.values[k], self.aim.caps[k]))

    @property
    def level(self) -> float:
        """The best value so far."""
        return max(self.goal.lower, max(self.values.values(), default=-math.inf))

    @property
    def upper(self) -> float:
        """No total has a better value."""
        return max(self.level, float(self.aim.caps.max(initial=-math.inf)))

    def climb(self, first: int) -> int:
        """Tries totals that seem best, from a first one; the last of them."""
        k = first
        while k not in self.values and len(self.values) < _MOST_CLIMBED:
            self._try(k, None)
            k = self.aim.likeliest(k)
        if self.values[self.best] == -math.inf:
            self.settle(k if k in self.values else self.best)
        return self.best

    def rise(self) -> None:
        """Settles the best total, and those that seem better by what this tells."""
        k = self.best
        while k not in self.settled and k not in self.stuck:
            if k not in self.values:
                self._try(k, self.best)
            self.settle(k)
            if self.values[k] < self.level:
                return
            k = self.aim.likeliest(k)

    def close(self) -> None:
        """Bounds all other totals, and tries those that may be better."""
        while True:
            late = len(self.values) >= limits.MOST_TRIES
            if self.goal.stop is not None:
                late = self.goal.stop(self.level, self.upper)
            if late or not len(self.open) or len(self.stuck) > limits.TRIED_IN_VAIN:
                return
            k = self._next(self.open)
            if k in self.values:
                self.settle(k)
            else:
                self._try(k, self.best)

    @property
    def enough(self) -> float:
        """Values up to this are as good as the best one."""
        level = self.level
        if level == -math.inf:
            return level
        return level + max(self.goal.gap, _CLOSE * float(scale_of(level, self.goal.width)))

    @property
    def open(self) -> Ints:
        """The totals that may be better and can be tried, or settled."""
        enough = self.enough
        served = self.aim.served
        ks = served.start + np.flatnonzero(self.aim.caps[served.start : served.stop] > enough)
        return ks[~np.isin(ks, list(self.stuck))] if self.stuck else ks

    @property
    def is_closed(self) -> bool:
        """Whether no total may be better."""
        return bool(self.upper <= self.enough)

    def _next(self, some: Ints) -> int:
        """Which of some totals is looked at: those outside of what is known come first."""
        known = sorted(self.settled or self.values)
        for end, is_outside in ((some[-1], some[-1] > known[-1]), (some[0], some[0] < known[0])):
            if is_outside:
                return int(end)
        k = int(some[self.aim.caps[some].argmax()])
        low, high = self._neighbours(k)
        own = some[(some > low) & (some < high)]
        if k not in self.values and min(k - own[0], own[-1] - k) * 8 < own[-1] - own[0]:
            k = int(own[len(own) // 2])  # the greatest bound at the edge would cut off little
        return k

    def _neighbours(self, k: int) -> tuple[float, float]:
        """The totals next to one that were tried, or settled where it is."""
        known = self.settled if k in self.settled else self.values
        low = max((j for j in known if j < k), default=-math.inf)
        return low, min((j for j in known if j > k), default=math.inf)

    def _try(self, k: int, best: int | None) -> None:
        self.values[k] = self.aim.try_total(k, best)
        self._lower(k)

    def _lower(self, k: int) -> None:
        """Lowers the caps of totals by what is known of one."""
        caps = self.aim.caps
        ks = self.open
        caps[ks] = np.fmin(caps[ks], self.aim.bounds(ks, [k]))
        low, high = self._neighbours(k)
        for first, last in ((low, k), (k, high)):
            some = ks[(ks > first) & (ks < last)]
            if len(some) and math.isfinite(first + last):
                caps[some] = np.fmin(caps[some], self.aim.bounds(some, [int(first), int(last)]))

    def settle(self, k: int) -> None:
        """Asks for the best value of a total that was tried."""
        known = self.values[k]
        value = self.aim.settle(k, max(self.level, known))
        if value is None:
            self.stuck.add(k)
            return
        self.values[k] = max(known, value)
        self.settled.add(k)
        self.aim.caps[k] = min(self.aim.caps[k], max(self.level, value))
        self._lower(k)


# -- ratios of totals ------------------------------------------------------------------------------


class Known(NamedTuple):
    """What is known of totals."""

    caps: Floats  # upper bounds on their values, lowered as more is known
    served: range  # those that a rule serves


class LaneAim:
    """Values of totals by lanes, at the nodes of a rule."""

    def __init__(self, ratio: RatioByTotal, rule: Rule, scored: Scored, known: Known) -> None:
        self.ratio = ratio
        self.caps, self.served = known
        self.rule = rule
        self.scored = scored
        gain = ratio.gain * ratio.centre**-ratio.power
        self.worth = Worth(gain, ratio.offset, ratio.begin)  # of sums of scores
        rho = left_out(rule, ratio) * ratio.greatest**ratio.power
        self.short = np.where(rho < 0.5, 1.0 / (1.0 - np.minimum(rho, 0.5)), np.inf)
        self.tried: dict[int, Sums] = {}
        self.labels: dict[int, list[Ints]] = {}

    def weights(self, k: int) -> Floats:
        """What lanes are multiplied by for a total: sums are about the size of T, (lanes,)."""
        exponents = self.scored.logs - self.rule.nodes * self.ratio.v[k]
        weights: Floats = self.rule.weights * np.exp(exponents)
        weights *= self.ratio.centre[k] ** self.ratio.power
        return weights

    def try_total(self, k: int, best: int | None) -> float:
        """Tries a total; its best value, -inf where it is not known."""
        worth = self.worth if best is None else None
        sums = self.scored.sums(self.weights(k), [k] if best is None else [k, best], worth)
        size = min(len(self.caps), len(sums.bounds))  # greater totals are of no hypotheses
        bounds = np.full(len(self.caps), -np.inf)
        bounds[:size] = sums.bounds[:size]
        is_reached = np.isfinite(bounds)
        is_reached[:size] &= sums.is_reached[:size]
        self.tried[k] = Sums(bounds, is_reached)
        self.caps[k] = min(self.caps[k], self._value(k, bounds[k] * self.short[k]))
        return self._value(k, bounds[k]) if is_reached[k] else -math.inf

    def _value(self, k: int, score: float) -> float:
        return float(self.worth.gain[k] * score + self.ratio.offset[k])

    def _sums(self, k: int, ks: Ints) -> Floats:
        """Bounds on the sums of hypotheses with totals ks at the weights of one that was tried."""
        with np.errstate(invalid="ignore"):
            sums: Floats = self.tried[k].bounds[ks] * self.short[k]
        return sums

    def bounds(self, ks: Ints, tried: Sequence[int]) -> Floats:
        """Upper bounds on the values of some totals, by one or two that were tried."""
        ratio = self.ratio
        first, last = tried[0], tried[-1]
        own = self._sums(first, ks)
        if first == last:
            ends = np.where(ks > first, ratio.reach.high, ratio.reach.low)
            with np.errstate(over="ignore", divide="ignore"):
                quotient = (ratio.v[first] + ends) / np.maximum(ratio.v[ks] + ends, 1e-300)
                theta = (quotient * ratio.centre[ks] / ratio.centre[first]) ** ratio.power
            sums = np.where(own > 0, own * theta, own)
        else:
            u = 1.0 / ratio.centre[[first, last]]
            t = (1.0 / ratio.centre[ks] - u[0]) / (u[1] - u[0])
            with np.errstate(invalid="ignore"):
                sums = (1.0 - t) * own + t * self._sums(last, ks)
        bounds: Floats = self.worth.gain[ks] * sums + ratio.offset[ks]
        return np.where(np.isneginf(own), -np.inf, bounds)

    def likeliest(self, k: int) -> int:
        """The total that seems best by the sums at one that was tried."""
        some = slice(self.served.start, self.served.stop)
        sums = self.tried[k]
        values = self.worth.gain[some] * sums.bounds[some] + self.ratio.offset[some]
        return self.served.start + int(np.where(sums.is_reached[some], values, -np.inf).argmax())

    def settle(self, k: int, level: float) -> float | None:
        """The best value of a total that was tried, -inf if not above a level; None if unknown."""
        is_near = (np.arange(len(self.caps)) == k) | (self.caps > level)
        needed = np.where(is_near, (level - self.worth.offset) / self.worth.gain, np.inf)
        found = self.scored.best(self.weights(k), k, needed)
        if not found.is_known:
            return None
        if found.sums is not None:
            tried = self.tried[k]
            is_reached = tried.is_reached | (found.sums < tried.bounds)
            self.tried[k] = Sums(np.minimum(tried.bounds, found.sums), is_reached)
        if found.labels is None:
            return -math.inf
        self.labels[k] = found.labels
        return self._value(k, found.score)

    def hypotheses(self, k: int, value: float) -> TotalsDecision | None:
        """The best hypotheses with a total that was tried, whose value is known."""
        if k in self.labels:
            return TotalsDecision(self.labels[k], value)
        least = (value - float(self.ratio.offset[k])) / float(self.worth.gain[k])
        needed = np.full(len(self.caps), np.inf)
        needed[k] = least - _SAME * abs(least)
        found = self.scored.best(self.weights(k), k, needed)
        if found.labels is None:
            return None
        return TotalsDecision(found.labels, self._value(k, found.score))


class TotalsDecision(NamedTuple):
    """The best hypotheses, by sentence, and what is known of their value."""

    labels: list[Ints]  # label indices of each sentence
    value: float  # the expected value, signed: greater is better
    upper: float = math.inf  # no hypotheses have a greater value
    tried: int = 0  # how many totals were tried


def best_by_lanes(problem: TotalsProblem, width: float, jobs: int = 1) -> TotalsDecision | None:
    """The best hypotheses, or None where lanes do not serve them.

    Args:
        problem: the sentences.
        width: of the range that the loss declares.
        jobs: how many threads compute.
    """
    ratio = ratio_by_total(problem)
    if ratio is None:
        return None
    # Hypotheses that count nothing stand apart, where they are allowed.
    none = None
    if ratio.begin and problem.allows_none:
        none = value_of_none(problem)
        if none is None:
            return None
    lower = -math.inf if none is None else none
    with threads(jobs) as run:
        found = _searched(problem, ratio, Goal(width, lower=lower), run)
    if found is None:
        return None
    if none is not None and (found.value <= none or not found.labels):
        upper = max(none, found.upper)
        return TotalsDecision(_without_items(problem), none, upper, found.tried)
    return found if found.labels else None


def _searched(
    problem: TotalsProblem, ratio: RatioByTotal, goal: Goal, run: Callable[..., Any]
) -> TotalsDecision | None:
    """The best hypotheses that count something, if they are better than others.

    The rule of the total that seems best has few nodes. Others that it does not exclude are looked
    at by rules of their own.
    """
    k = _first_total(problem, ratio)
    rule, served = rule_about(ratio, k)
    caps = np.where(np.arange(len(ratio.v)) < ratio.begin, -np.inf, np.inf)
    best = TotalsDecision([], goal.lower)
    tried = 0
    for _ in range(_MOST_RULES):
        if _scores(problem) * len(rule.nodes) > _FEW_KEPT * limits.MOST_SCORES:
            return None if math.isinf(caps.max()) else best
        aim = LaneAim(ratio, rule, _scored(problem, rule.nodes, run), Known(caps, served))
        search = Search(aim, goal)
        k = search.climb(k)
        if rule.is_one_sided and not serves(rule, ratio, k):
            rule, served = rule_about(ratio, k)
            continue
        if isinstance(aim.scored, PricedSentence) and aim.scored.has_table(search.best):
            search.rise()
        search.close()
        tried += len(search.values)
        found = None
        if search.level > goal.lower:
            found = aim.hypotheses(search.best, search.values[search.best])
        if found is not None and found.value > goal.lower:
            best = found
            goal = goal._replace(lower=found.value)
        best = best._replace(upper=max(goal.lower, float(caps.max())), tried=tried)
        near = np.setdiff1d(np.flatnonzero(caps > search.enough), list(search.stuck))
        if not len(near):
            break
        k = int(near[caps[near].argmax()])
        served = range(int(near[0]), int(near[-1]) + 1)
        rule = wide_rule_of_totals(ratio, served)
    return best


def _first_total(problem: TotalsProblem, ratio: RatioByTotal) -> int:
    """A total that seems best: of a chain by E[T], else about what references count."""
    first = problem.groups[0]
    if not isinstance(first, ChainGroup):
        return min(max(round(ratio.reach.mean), ratio.begin), len(ratio.v) - 1)
    plain = ScoredChain(first, np.zeros(1)).sums(np.ones(1), []).bounds
    with np.errstate(invalid="ignore"):
        values = ratio.gain * ratio.centre**-ratio.power * plain + ratio.offset
    return ratio.begin + int(np.nanargmax(values[ratio.begin :]))


def _scores(problem: TotalsProblem) -> int:
    """How many scores steps may have."""
    return sum(
        group.size * int(group.trellis.most_scores[group.n])
        if isinstance(group, LaneGroup)
        else group.n
        for group in problem.groups
    )


def _scored(problem: TotalsProblem, nodes: Floats, run: Callable[..., Any]) -> Scored:
    """The scores of the steps of all sentences at nodes."""
    first = problem.groups[0]
    if isinstance(first, ChainGroup):
        return ScoredChain(first, nodes)
    groups = [group for group in problem.groups if isinstance(group, LaneGroup)]
    if problem.sentences == 1 and ScoredLabels.serves(groups[0]):
        return ScoredLabels(groups[0], nodes, problem.range)
    if problem.sentences == 1:
        return PricedSentence(groups[0], nodes, problem.range)
    return ScoredSentences(groups, nodes, problem.range, run)


def _without_items(problem: TotalsProblem) -> list[Ints]:
    """Hypotheses that count nothing, by sentence; they are allowed."""
    labels = list[Ints]()
    for group in problem.groups:
        if isinstance(group, ChainGroup):
            labels.append(np.full(group.n, int(group.amounts.of_z.argmin())))
        elif isinstance(group, LaneGroup):
            labels += list(_none_of(group))
    return labels


def _none_of(group: LaneGroup) -> Ints:
    """Hypotheses of a group that count nothing, (sentences, n)."""
    trellis = group.trellis
    ones = np.ones((group.size, 1, 1))
    scores, _ = trellis.with_lanes(np.zeros(1)).scores(group.weights, ones)
    nothing = np.zeros(group.size, np.int64)
    counts = trellis.workspace.all_counts(group.n, 0)
    return trellis.best(scores, ones[:, 0], group.n, nothing, counts).labels
