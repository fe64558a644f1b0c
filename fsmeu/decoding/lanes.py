"""The best hypotheses where the value is a ratio of totals: documents, and corpora of sentences.

The value is b T / D^a + c of totals over independent sentences: T >= 0 is the joint count, D affine
in the reference's count S, k the hypotheses' count; b and c depend on k. With D = d (v + S) and a
rule (v + S)^-a = sum over m of w_m exp(-x_m (v + S)) + R,

    E[T (v + S)^-a]  =  sum over m of  w_m exp(-x_m v) E[T exp(-x_m S)]  +  E[T R],

and E[T exp(-x S)] is a sum over the steps of the hypotheses: what a step adds to T has, in its own
sentence, the expectation E[f exp(-x s)], found for all steps at once by sweeps over lanes
(``trellis/rows.py``), and all other sentences are a factor, the product of their G(x). So for
one k, the best hypotheses are best paths. What the rule leaves out is at most E[T] max R, and the
best E[T] by total excludes all k that are far: E[T / (v + S)^a] is at most E[T] / (v + l)^a, l
being the least S but for a stated probability, and h the greatest (``trellis/lanes.py``). The first
node x bounds E[T], as that is at most exp(x h) E[T exp(-x S)].

Best sums by count come from tables; those of several sentences are added up (``hulls.py``). A table
of one sentence has counts about one alone, as prices bound the sums of all others (``prices.py``).
Most totals are excluded by the scores at the likeliest k (``other_totals.py``). Others are bounded
by chords: with m = E[S] about and u = 1 / (v + m), E[T (1 + u (S - m))^-a] is convex in u; see
``count_search``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.count_search import CountSearch, branch_and_bound, chords
from fsmeu.decoding.hulls import best_sums
from fsmeu.decoding.other_totals import JointCounts, values_by_one
from fsmeu.decoding.prices import CountsAsked, PricedSums, priced_sums
from fsmeu.decoding.swept import (
    Paths,
    Sentences,
    Swept,
    greatest_sizes,
    plain_factors,
    tilt_of,
)
from fsmeu.expectation.totals import (
    RatioByTotal,
    TotalsProblem,
    expected_ratio,
    left_out,
    ratio_by_total,
    rule_about_mean,
    rule_of_totals,
    serves,
    value_of_none,
    wide_rule_of_totals,
)
from fsmeu.trellis.lanes import TAIL, CountRange
from fsmeu.trellis.roundings import BoundedValue
from fsmeu.trellis.rules import Rule

WHY = (
    "the value is a ratio of a joint count and a sum of counts of each sequence by itself, and "
    "expectations are generating functions at a few nodes whose remainders are bounded"
)
_CLOSE = 1e-10  # the part of a value that an upper bound may be above it
_NOT_ALLOWED = BoundedValue(-math.inf, 0.0)


class TotalsDecision(NamedTuple):
    """The best hypotheses, by sentence, and what is known of their value."""

    labels: list[Ints]  # label indices of each sentence
    value: float  # the expected value, signed: greater is better
    error: float  # a bound on its error
    upper: float  # no hypotheses have a greater value
    tried: int  # how many totals were tried


class _Expected(NamedTuple):
    """What is known of the greatest E[T] by total."""

    bounds: Floats  # bounds from above, (k,)
    likeliest: int  # the total that seems best
    reached: int | None  # a total near it at which E[T] is as great as the bound, if one is known
    off: float  # how far it may be from it, by rounding


class _Near(NamedTuple):
    """The totals that may be best, from the first to the last, and the likeliest."""

    first: int
    last: int
    likeliest: int

    def about(self, k: int, reach: int) -> _Near:
        """Those of them that are so close to one of them, which is the likeliest then."""
        return _Near(max(self.first, k - reach), min(self.last, k + reach), k)


def best_by_lanes(problem: TotalsProblem, jobs: int = 1) -> TotalsDecision | None:
    """The best hypotheses, or None where lanes do not serve them."""
    ratio = ratio_by_total(problem)
    if ratio is None:
        return None
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(jobs))  # kernels work side by side
        run = map if jobs == 1 else pool.map
        priced = None
        if problem.sentences == 1:
            trellis = problem.groups[0].trellis
            priced = stack.enter_context(priced_sums(trellis, problem.n, len(ratio.v)))
        return _Search(problem, ratio, run, priced).decision()


class _Search:
    """The search for the best hypotheses of a problem."""

    def __init__(
        self,
        problem: TotalsProblem,
        ratio: RatioByTotal,
        run: Callable[..., Any],  # map, or one that works side by side
        priced: PricedSums | None,
    ) -> None:
        self.problem = problem
        self.ratio = ratio
        self.sentences = Sentences(problem.groups, run)
        self.range: CountRange = ratio.reach
        self.centre = ratio.v + self.range.mean  # (k,)
        # Whether hypotheses that count nothing are allowed and stand apart.
        self.allows_none = ratio.begin > 0 and problem.allows_none
        self.rule = rule_about_mean(ratio)
        self.first = self.swept(self.rule)
        self.tilt = tilt_of(self.first, self.range)
        self.plain = self.first[0].scores.first_lane(self.tilt.factor)  # sums: about E[T]
        self.one = priced if len(ratio.v) > 1 else None
        # Bounds on E|T|, the terms of T without their signs, of all hypotheses, and on what of T is
        # lost to rounding, and to scores that are left out.
        self.greatest = 0.0
        self.rounding = 0.0
        self.left_out = 0.0
        least = float(self.sentences.negligible(np.zeros(1), problem.range)[0])
        for swept, factors in zip(self.first, plain_factors(self.first, self.tilt), strict=True):
            group = swept.part.group
            left_out_steps = 4 * len(group.trellis.tapes.terms) * group.n * group.size
            spread = self.range.high - self.range.low + group.n
            left_out = least * left_out_steps * math.exp(self.tilt.node * spread)
            self.left_out += left_out
            tilted = float(greatest_sizes(swept) @ factors[:, 0])
            joint = group.size * group.greatest
            joint = min(joint, self.tilt.up * tilted + TAIL * joint + left_out)
            self.greatest += joint
            rounding = group.rounding if self.sentences.count == 1 else 2 * group.rounding
            self.rounding += rounding * joint

    def swept(self, rule: Rule) -> list[Swept]:
        """The scores of the steps of all parts at the nodes of a rule."""
        return self.sentences.swept(rule, self.problem.range)

    def decision(self) -> TotalsDecision | None:
        """The best hypotheses."""
        none = value_of_none(self.problem) if self.allows_none else _NOT_ALLOWED
        if none is None:
            return None
        if sum(swept.scores.value.size for swept in self.first) > limits.MOST_SCORES:
            return None
        expected = self._expected()
        near = self._near(expected, none)
        if near is None:
            return self._without_items(none)
        return self._decided(expected.bounds, near, none)

    def _expected(self) -> _Expected:
        """The greatest E[T] by total."""
        ratio = self.ratio
        worth = ratio.gain * self.centre**-ratio.power
        if self.one is not None:
            size = self.greatest / self.tilt.down
            sums = self.one.greatest_sums(self.plain, size, worth, ratio.offset)
            reached = self.one.reached or None
            off = self.one.rounded
            return _Expected(self._most(sums), self.one.likeliest, reached, off)
        factors = plain_factors(self.first, self.tilt)
        best = best_sums(self.sentences.tables(self.first, factors))
        lacking = np.full(len(ratio.v) - len(best.sums), -np.inf)
        bounds = np.append(self._most(best.sums + best.rounding), lacking)
        with np.errstate(invalid="ignore"):
            likely = (bounds * worth + ratio.offset)[ratio.begin :]
        likeliest = ratio.begin + int(np.argmax(np.where(np.isnan(likely), -np.inf, likely)))
        reached = None
        if np.isfinite(bounds[likeliest]):
            reached = int(best.ends(likeliest).sum())
            reached = reached if reached >= ratio.begin else None
        return _Expected(bounds, likeliest, reached, best.rounding)

    def _most(self, sums: Floats) -> Floats:
        """Bounds on E[T] from above, by bounds on sums of scores of the first lane."""
        sums = sums + (self.rounding + self.left_out) / self.tilt.down
        return self.tilt.up * sums + TAIL * self.problem.greatest

    def _least(self, bound: float, off: float) -> float:
        """A bound on E[T] from below, by one from above that is reached, but for ``off``."""
        tilt = self.tilt
        lost = 2 * (self.rounding + self.left_out) / tilt.down
        tail = TAIL * self.problem.greatest
        return tilt.down * ((bound - tail) / tilt.up - off - lost) - tail

    def _coarse(self, expected: Floats) -> Floats:
        """Upper bounds on values by total: E[T] over the least denominator, (k,)."""
        ratio = self.ratio
        least = np.maximum(ratio.v + self.range.low, 1e-300)
        bounds = ratio.gain * np.maximum(expected, 0.0) * least**-ratio.power
        bounds += ratio.offset + ratio.offset_error + TAIL * ratio.largest
        return np.where(np.isneginf(expected), -np.inf, bounds)

    def _near(self, expected: _Expected, none: BoundedValue) -> _Near | None:
        """The totals that may be best; None where hypotheses that count nothing are."""
        ratio = self.ratio
        total = expected.reached
        reached = -np.inf
        if total is not None:
            least = self._least(float(expected.bounds[total]), expected.off)
            reached = float(ratio.gain[total]) * max(0.0, least)
            reached *= float(ratio.v[total] + self.range.high) ** -ratio.power
            reached += float(ratio.offset[total]) - ratio.offset_error - 1e-12 * reached
        coarse = self._coarse(expected.bounds)
        coarse[: ratio.begin] = -np.inf
        near = np.flatnonzero(coarse >= max(reached, none.value))
        if not len(near):
            return None
        first = int(near[0])
        last = int(near[-1])
        return _Near(first, last, min(max(expected.likeliest, first), last))

    def _without_items(self, none: BoundedValue) -> TotalsDecision:
        """Hypotheses that count nothing, which are allowed and best."""
        factors = plain_factors(self.first, self.tilt)
        nothing = np.zeros(self.sentences.count, np.int64)
        paths = self.sentences.paths(self.first, factors, nothing)
        upper = none.value + none.error
        return TotalsDecision(paths.labels, none.value, none.error, upper, 0)

    def _decided(self, expected: Floats, near: _Near, none: BoundedValue) -> TotalsDecision | None:
        """The best of the totals that may be, and of hypotheses that count nothing."""
        decision = None
        for is_wide in (False, True):
            rule = self.rule
            swept = self.first
            if is_wide or not serves(rule, self.ratio, near.likeliest):
                rule = rule_of_totals(self.ratio, near.likeliest)
                if is_wide or not rule.is_one_sided:
                    rule = wide_rule_of_totals(self.ratio, near.first, near.last)
                swept = self.swept(rule)
            if sum(part.scores.value.size for part in swept) > limits.MOST_SCORES:
                return decision
            lanes = _LaneScores(self, rule, swept, expected, near)
            decision = self._with_rule(lanes, expected, none)
            enough = max(2 * decision.error, _CLOSE * abs(decision.value))
            if not rule.is_one_sided or decision.upper <= decision.value + enough:
                break
        return decision

    def _with_rule(
        self, lanes: _LaneScores, expected: Floats, none: BoundedValue
    ) -> TotalsDecision:
        """The best of all totals, by the scores of a rule."""
        caps = self._coarse(expected)
        caps[: self.ratio.begin] = -np.inf
        search = lanes.search(caps)
        lanes.exclude_far(search)
        lanes.bound_ends(search)
        best, upper = branch_and_bound(search, none.value - none.error)
        upper = max(upper, none.value + none.error)
        total, value, labels = lanes.hypotheses(best)
        if self.allows_none and none.value >= value:
            decision = self._without_items(none)
            return decision._replace(upper=max(upper, decision.upper))
        valued = BoundedValue(value, lanes.error(total))
        if not serves(lanes.rule, self.ratio, total):
            valued = self._valued(labels, valued)
        return TotalsDecision(labels, valued.value, valued.error, upper, len(search.tried))

    def _valued(self, labels: Sequence[Ints], known: BoundedValue) -> BoundedValue:
        """The value of hypotheses, signed, by the rule of their total, if it is more exact."""
        left = iter(labels)
        by_group = [list(islice(left, group.size)) for group in self.problem.groups]
        found = expected_ratio(self.problem, by_group)
        if found is None or found.error >= known.error:
            return known
        return BoundedValue(self.problem.sign * found.value, found.error)


class _LaneScores:
    """Scores of steps for any total, from those at the nodes of a rule."""

    def __init__(
        self,
        search: _Search,
        rule: Rule,
        swept: Sequence[Swept],
        expected: Floats,
        near: _Near,
    ) -> None:
        self.owner = search
        self.rule = rule
        self.nodes = rule.nodes
        self.weights = rule.weights
        self.swept = swept
        self.expected = np.maximum(expected, 0.0)
        self.near = near
        # How far from a total other totals of one sentence are whose sums are found with it.
        self.reach = limits.FEWEST_BESIDE + search.problem.n // limits.PART_BESIDE
        if search.one is None:
            self.reach = len(search.ratio.v)
        logs = np.concatenate([part.logs for part in swept])  # (sentences, lanes)
        self.logs = np.array([math.fsum(column) for column in logs.T])
        # E[|T| exp(-x S)] / G of a sentence is at most E|T| times this, and scores that are left
        # out are at most that part of their size at x = 0, (lanes,).
        most = search.problem.greatest / (search.greatest or 1.0)  # |T| as a part of E|T|, if any
        generated = most * (1 + 1e-6)
        self.left_out_shares = np.exp(-logs.min(axis=0))
        if search.sentences.count == 1:
            self.left_out_shares = np.exp(-self.nodes * search.problem.range.low)
            generated *= swept[0].masses[0]
        self.most_shares = np.minimum(self.left_out_shares, generated) + TAIL * most
        self.log_errors = sum(part.errors.sum(axis=0) for part in swept)
        self.scale = search.centre**rule.power  # (k,): sums of scores are of the size of T
        self.rest = left_out(rule, search.ratio)  # (k,)
        self.sums: dict[int, Floats] = {}  # the greatest sums by the total of their scores
        self.found: dict[int, Callable[[int], Ints]] = {}
        self.paths: dict[int, Paths] = {}  # of one sentence by its count, where tables gave them

    def masses(self, k: int) -> Floats:
        """w_m exp(-x_m v) G_m times the scale, for a total, (lanes,)."""
        exponents = self.logs - self.nodes * self.owner.ratio.v[k]
        masses: Floats = self.weights * np.exp(exponents) * self.scale[k]
        return masses

    def factors(self, k: int) -> list[Floats]:
        """What the scores of each part are multiplied by for a total, (batch, lanes) each."""
        masses = self.masses(k)
        return [masses * np.exp(-part.logs) for part in self.swept]

    def sums_near(self, k: int) -> Floats:
        """The greatest sums of scores at a total, by total; of one sentence those near it."""
        if k in self.sums:
            return self.sums[k]
        owner = self.owner
        factors = self.factors(k)
        if owner.sentences.count == 1:
            near = self.near.about(k, self.reach)
            counts = range(near.first, near.last + 1)
            found = owner.sentences.best(self.swept, factors, np.array([k]), counts)[0]
            self.paths[k] = Paths(float(found.by_count[0, k]), [found.labels[0]])
            tables = [found.by_count[0]]
        else:
            tables = owner.sentences.tables(self.swept, factors)
        best = best_sums(tables)
        self.found[k] = best.ends
        lacking = max(0, len(owner.ratio.v) - len(best.sums))
        self.sums[k] = np.append(best.sums, np.full(lacking, -np.inf)) + best.rounding
        return self.sums[k]

    def sums_at(self, k: int) -> Floats:
        """The greatest sums of scores at a total, by total; of others, bounds on them."""
        best = self.sums_near(k)
        one = self.owner.one
        if one is None:
            return best
        near = self.near.about(k, self.reach)
        ask = CountsAsked(near.first, near.last, best, self.greatest(k))
        bounds = one.bounds_beside(self.swept[0].scores, self.factors(k)[0], ask)
        bounds[near.first : near.last + 1] = best[near.first : near.last + 1]
        return bounds

    def bound_ends(self, search: CountSearch) -> None:
        """Tries the least and the greatest total; or bounds their sums, best near the likeliest."""
        for k in (search.low, search.high):
            one = self.owner.one
            if one is None or k == search.first:
                search.sums(k)
                continue
            ask = CountsAsked(search.first, k, search.sums(search.first), self.greatest(k))
            scores = self.swept[0].scores
            search.ends[k] = one.bounds_between(scores, self.factors(k)[0], ask)

    def over_at(self, k: int, ks: Ints) -> Floats:
        """Bounds on what the sums at a total lack of the true ones, for several totals."""
        search = self.owner
        masses = self.masses(k)
        shared = masses * self.most_shares
        lost = float(shared.sum()) * search.rounding
        lost += float(masses @ self.left_out_shares) * search.left_out
        lost += float(shared @ self.log_errors) * search.greatest
        lost += TAIL * search.ratio.largest * self.scale[k] / search.ratio.gain[k]
        over: Floats = self.expected[ks] * self.rest[k] * self.scale[k] + lost
        return over

    def search(self, caps: Floats) -> CountSearch:
        """The values by total, given upper bounds on them, (k,)."""
        search = self.owner
        near = self.near
        gain = search.ratio.gain / self.scale
        errors = np.full(len(gain), search.problem.escaped + search.ratio.offset_error)
        bounds_at = chords(1.0 / search.centre, self.over_at)
        return CountSearch(
            low=near.first,
            high=near.last,
            first=near.likeliest,
            gain=gain,
            offset=search.ratio.offset,
            errors=errors,
            caps=caps,
            sums_at=self.sums_at,
            bounds_at=bounds_at,
            best_at=self.hypotheses,
        )

    def exclude_far(self, search: CountSearch) -> None:
        """Lowers the caps of totals by the scores at the likeliest, and excludes what is low."""
        owner = self.owner
        k = self._likeliest(search)
        over = self.over_at(k, np.arange(len(owner.ratio.v)))
        most = max(group.greatest for group in owner.problem.groups)
        joint = JointCounts(self.expected, owner.problem.greatest, most, owner.problem.n)
        bounds = values_by_one(owner.ratio, joint, k, (search.sums(k) + over) / self.scale[k])
        bounds += owner.ratio.offset_error + owner.problem.escaped
        search.caps = np.minimum(search.caps, bounds)
        search.narrow(search.value(k))

    def _likeliest(self, search: CountSearch) -> int:
        """The total that seems best by the scores at the one that seemed so before."""
        near = self.near.about(self.near.likeliest, self.reach)
        ratio = self.owner.ratio
        worth = ratio.gain * self.owner.centre**-ratio.power
        values = worth * self.sums_near(self.near.likeliest) + ratio.offset
        search.first = near.first + int(np.argmax(values[near.first : near.last + 1]))
        return search.first

    def greatest(self, k: int) -> float:
        """A bound on sums of scores at a total, signs aside."""
        return self.owner.greatest * float((self.masses(k) * self.most_shares).sum())

    def error(self, k: int) -> float:
        """A bound on the error of the value of hypotheses with a total."""
        ratio = self.owner.ratio
        gain = float(ratio.gain[k] / self.scale[k])
        lacking = gain * float(self.over_at(k, np.array([k]))[0])
        return lacking + ratio.offset_error + self.owner.problem.escaped

    def hypotheses(self, k: int) -> tuple[int, float, list[Ints]]:
        """Hypotheses with a total, at k or near it, that total, and their value.

        Where best sums are those of concave hulls, no hypotheses may have the total k with the sum
        that bounds it: then those of the total next below, at the scores of that, and so on.
        """
        for _ in range(8):
            self.sums_near(k)
            ends = self.found[k](k)
            if int(ends.sum()) == k:
                break
            k = int(ends.sum())
        paths = self.paths.get(k)
        if paths is None:
            paths = self.owner.sentences.paths(self.swept, self.factors(k), ends)
        ratio = self.owner.ratio
        value = float(ratio.gain[k] / self.scale[k]) * paths.score + float(ratio.offset[k])
        return k, value, paths.labels
