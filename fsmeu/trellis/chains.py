"""Expectations of ratios of counts under a chain of two labels, with bounds on their errors.

With a rule D^-a = sum_m w_m exp(-x_m D) + R(D) (``rules.py``), E[N / D^a] is a sum over nodes of
E[N exp(-x_m D)], which sweeps over the chain have (``chain_kernels.py``; N: in
``chain_mean_kernels.py``), for chains of any order, with zeros, periodic or absorbing:
D = D_0 + C, C a sum of costs of labels, and N a sum of gains.

**What the rule leaves out.** P(D outside [l, h]) <= p with l and h from the nodes themselves:
P(C <= l) <= exp(x l) E[exp(-x C)] for x > 0, and P(C >= h) the same with x < 0 (Chernoff). So it is
at most E|N| max R over [l, h] + p max |N / D^a|.

**What rounding does.** Let a_i be the masses at position i, b_i what is to come, E[exp(-x C to
come) | state], Z = a_i.b_i, which is the same at all positions of a block. A step rounds a_i(s) to
a_i(s) (1 + e), |e| <= g. To first order the logarithm of G = E[exp(-x C)], which is a sum over
blocks of log(1 - mass lost), changes by

    sum over s of  e a_i(s) (b_i(s) / Z - 1 / T),   T the mass at the end of the block:

a_i(s) e more mass makes G greater by the part b_i(s) / Z. At the end of the block all masses are
divided by their sum, which takes out the part of it that arrives there, and the mass lost has the
rest, so that together 1 / T is taken off. Z / T is the mean of b at the end of the block. With b
divided by that mean, what all steps do to log G is at most

    g  sum over i of  (1 / Z) sum over s of a_i(s) |b_i(s) - 1|                      (spread)

b differs from 1 by about x times what the chain remembers, so that the sum does not grow with n
beyond what C does; no mixing is assumed, and states that are not reached have no mass. The sums of
the mass lost add a part BLOCK u of themselves. Where a block loses half of the mass or more, the
logarithm of the mass itself is taken, and g is added for each of its steps.

The mean t = E[N exp(-x C)] / G is a quotient of h.b + a.f and a.b at any position, h being
E[(N so far) exp(..); state] and f E[(N to come) exp(..) | state], both less what multiples of a and
b explain. A rounding of a_i(s) changes it by e a_i(s) (f_i(s) - q b_i(s)) / Z, with
q = (h.b + a.f) / Z, and one of h_i(s) by e h_i(s) b_i(s) / Z. With b_i(s) <= max b at the end of
the block, both together are at most

    g  sum over i of  (2 sum_s a_i(s) |f_i(s)|  +  2 max b  sum_s |h_i(s)|) / Z.

What is neglected is of second order: (n g)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.confusion import Confusion, keeps_digits
from fsmeu.losses.algebra.ratios import Ratio, RatioSum, ratios_of_number
from fsmeu.trellis.roundings import LEAST, BoundedValue, DegenerateProbabilities
from fsmeu.trellis.rules import Rule, rule_for, wide_rule
from fsmeu.twofold import UNIT

if TYPE_CHECKING:
    from fsmeu.trellis.chain_kernels import LogMasses, Sweep

TAIL = 1e-16  # of the value: what the tables beyond the rule's interval may add up to
_STEP = 7  # roundings of a step of a sweep, five, and of the division of rows by their sums
_NO_CHANCE = 760.0  # the exponential of less than its negative is 0
_LEAST_VARIANCE = 1e-6  # with less, other nodes would find the same interval
_GREATEST_TILT = 8.0  # of a one of y, for the lower tail: exp(-8 * 64) is above NO_MASS
_GREATEST_LIFT = 3.0  # the same for the upper tail: exp(3 * 64) is a double


@dataclass(frozen=True, eq=False)
class BinaryChain:
    """A chain of two labels, as ``chain_kernels.py`` has it; labels before the first are 0."""

    steps: Floats  # P(next label | last m), (n, 2^m, 2), 0 where a state is not reached
    behind: float  # a bound on the roundings behind each step
    degenerate: DegenerateProbabilities

    @property
    def n(self) -> int:
        """The number of labels."""
        return len(self.steps)

    @property
    def states(self) -> int:
        """2^m."""
        return int(self.steps.shape[1])

    def step_error(self, tilt: Any = 0.0) -> Any:
        """g: a bound on the relative error of a mass by one step, where a label costs ``tilt``."""
        return (_STEP + self.behind + 2.0 * np.abs(tilt)) * UNIT


def chain_of(first: Floats, steps: Floats, roundings: int = 0) -> BinaryChain:
    """The chain with P(first m labels), (2^m,), and P(next label | last m), (n - m, 2^m, 2).

    ``roundings`` bounds those behind the product of these over all positions, which share them.
    """
    states = len(first)
    order = states.bit_length() - 1
    table = np.concatenate([np.zeros((order, states, 2)), steps])
    for i in range(order):
        table[i, : 2**i] = first.reshape(2**i, 2, -1).sum(axis=2)
    sums = table[:, :, 0] + table[:, :, 1]
    sums[sums == 0] = 1.0  # states that are not reached have no steps
    for y in range(2):
        table[:, :, y] /= sums
    n = len(table)
    behind = (roundings + 2 * states * order) / n
    degenerate = DegenerateProbabilities(*(_all_alike(table, y, behind) for y in range(2)))
    return BinaryChain(table, behind, degenerate)


@np.errstate(divide="ignore", invalid="ignore")  # no probability: a logarithm of -inf
def _all_alike(steps: Floats, y: int, behind: float) -> BoundedValue:
    """The probability that all labels are y, given P(next label | last m), (n, 2^m, 2).

    The product of p with p + other = 1, so that the logarithm is -log1p(other / p), whose error is
    a part of itself.
    """
    states = steps.shape[1]
    order = states.bit_length() - 1
    opening = [(2**i - 1) * y for i in range(order)]  # the states on the way, from 0 on
    state = (states - 1) * y
    others = np.append(steps[range(order), opening, 1 - y], steps[order:, state, 1 - y])
    if float(others.sum()) > _NO_CHANCE:  # log p <= -other
        return BoundedValue(0.0, LEAST)
    p = np.append(steps[range(order), opening, y], steps[order:, state, y])
    total = -float(np.log1p(others / p).sum()) if p.all() else -inf
    value = exp(total)
    if total == -inf:
        return BoundedValue(0.0, 0.0)
    return BoundedValue(value, (64 + 2 * behind) * UNIT * (1.0 - total) * value + LEAST)


# -- one hypothesis --------------------------------------------------------------------------------


class CountInterval(NamedTuple):
    """Where a sum is, but for a probability."""

    low: float
    high: float
    outside: float  # a bound on the probability that it is elsewhere


class ReferenceCounts(NamedTuple):
    """What is known of the reference."""

    marginals: Floats  # P(y_i = 1), (n,), good enough for the choice of nodes
    ones: CountInterval  # where the number of its ones is


def chain_value(form: Confusion, z: Ints, chain: BinaryChain) -> BoundedValue | None:
    """The expected value of z, (n,), under a chain; None where the value is no sum of ratios."""
    ones = float(z.sum())
    if not keeps_digits(form, len(z), ones):
        return None
    part = ratios_of_number(form, len(z), ones)
    return None if part is None else value_of_ratios(part, z, chain)


def value_of_ratios(
    part: RatioSum, z: Ints, chain: BinaryChain, counts: ReferenceCounts | None = None
) -> BoundedValue:
    """The expectation of a sum of ratios that was derived for the number of ones of z, (n,).

    ``counts`` saves sweeps where they are known.
    """
    added = chain.degenerate.worth(part.no_ones, part.all_ones)
    total = BoundedValue(float(added.values[0]), float(added.errors[0]))
    for ratio in part.ratios:
        total = total.plus(_RatioOfSums(ratio, z).expectation(z, chain, counts))
    return total


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """What labels of y cost and gain, by the label of z: C and N are sums of these."""

    counted: Ints  # the label of y that costs something, (2,)
    costs: Floats  # what it costs, at least 0, (2,)
    gains: Floats  # what the two labels of y gain, (2, 2)

    def sweep(self, chain: BinaryChain, z: Ints, nodes: Floats) -> Sweep:
        """A sweep at four nodes, given z, (n,)."""
        from fsmeu.trellis.chain_kernels import BLOCK, Sweep, Tilts

        exponents = -np.multiply.outer(self.costs, nodes)
        tilts = Tilts(self.counted, np.exp(exponents), -np.expm1(exponents), self.gains)
        blocks = -(-chain.n // BLOCK)
        return Sweep(chain.steps, z, tilts, np.empty((blocks + 1, chain.states, len(nodes))))


class _Numerator(NamedTuple):
    """N = constant + (a sum of gains of labels), for one z."""

    constant: float
    gains: Floats  # of the two labels of y, by the label of z, (2, 2)
    size: float  # a bound on E|N|
    terms: float  # what the constant is a sum of, without signs


def _numerator(top: Floats, ones: Floats, zeros: Floats) -> _Numerator:
    """N with coefficients on 1, A and B, (3,), written so that little cancels.

    ``ones`` and ``zeros`` are the expected numbers of ones and zeros of y, by the label of z, (2,).
    A one of y that takes something away is a zero that adds it, where that is less.
    """
    slopes = np.where(ones + zeros > 0, top[:0:-1], 0.0)
    candidates = []
    for turned in product(*((False, True) if slope < 0 else (False,) for slope in slopes)):
        turn = np.array(turned)
        moved = np.where(turn, slopes * (ones + zeros), 0.0)
        gains = np.stack([np.where(turn, -slopes, 0.0), np.where(turn, 0.0, slopes)], axis=1)
        constant = float(top[0] + moved.sum())
        size = abs(constant) + float(np.abs(gains[:, 0]) @ zeros + np.abs(gains[:, 1]) @ ones)
        terms = float(abs(top[0]) + np.abs(moved).sum())
        candidates.append(_Numerator(constant, gains, size, terms))
    return min(candidates, key=lambda one: one.size)


class _Ruled(NamedTuple):
    """A rule, and a bound on what it leaves out of an expectation, but for the part ``off``."""

    rule: Rule
    left_out: float


class _RatioOfSums:
    """N / D^a for one z, with D = D_0 + (costs of labels).

    Costs are at least 0, and for each label of z one label of y costs nothing.
    """

    def __init__(self, ratio: Ratio, z: Ints) -> None:
        ones = float(z.sum())
        self.ratio = ratio
        self.numbers = np.array([len(z) - ones, ones])
        below = ratio.below[:, 0]
        self.amounts = np.where(self.numbers > 0, below[:0:-1], 0.0)  # by the label of z
        self.counted = (self.amounts >= 0).astype(np.int64)
        self.costs = np.abs(self.amounts)
        taken = np.minimum(self.amounts, 0.0) @ self.numbers
        self.least_below = float(below[0] + taken)
        self.below_terms = float(abs(below[0]) - taken)
        self.least = self._least_denominator()

    def _least_denominator(self) -> float:
        """A bound on D where the ratio is not 0: from below, above 0."""
        least = self.ratio.least_below
        top = self.ratio.top[:, 0]
        gaining = (top[:0:-1] != 0) & (self.numbers > 0)
        if (
            top[0] == 0 and (self.amounts >= 0).all() and gaining.any()
        ):  # then a one of y has a gain
            least = max(least, float(self.ratio.below[0, 0] + self.amounts[gaining].min()))
        return least

    def expectation(
        self, z: Ints, chain: BinaryChain, counts: ReferenceCounts | None
    ) -> BoundedValue:
        """E[N / D^a] under a chain."""
        alike = counts is not None and self.amounts[0] == self.amounts[1] > 0
        if counts is None or not alike:
            moments = count_moments(chain, z, self.amounts)
            marginals = moments.marginals
        else:
            marginals = counts.marginals
        hits = float(marginals[z == 1].sum())
        ones = np.array([float(marginals.sum()) - hits, hits])
        zeros = self.numbers - ones
        numerator = _numerator(self.ratio.top[:, 0], ones, zeros)
        if not numerator.gains.any() and numerator.constant == 0:
            return BoundedValue(0.0, 0.0)
        labels = LabelCosts(self.counted, self.costs, numerator.gains)
        cost = float(self.costs @ np.where(self.counted, ones, zeros))
        size = numerator.size * (1.0 + 1e-6)  # of marginals' roundings
        if counts is not None and alike:
            amount = float(self.amounts[0])
            low, high, outside = counts.ones
            reach = CountInterval(amount * low, amount * high, outside)
        elif not self.costs.any():
            d = self.least_below  # the same for all references
            power = self.ratio.power
            rule = Rule(np.zeros(1), np.array([d**-power]), power, off=8 * UNIT)
            return self._by_rule(_Ruled(rule, 0.0), numerator, z, chain)
        else:
            spread = Spread(moments.variance, self._outside(cost, size))
            reach = count_interval(chain, z, labels, spread)
        return self._by_rule(self._rule(reach, cost, size), numerator, z, chain)

    def _outside(self, cost: float, size: float) -> float:
        """A probability that may be left out of an expectation of about E|N| / E[D]^a."""
        most = float(self.ratio.most[0])
        centre = max(self.least_below + cost, self.least)
        worth = min(1.0, size * centre**-self.ratio.power / most) if most else 1.0
        return max(TAIL * worth / (2.0 + self.ratio.most_below / centre), 1e-290)

    def _rule(self, reach: CountInterval, cost: float, size: float) -> _Ruled:
        """A rule for D^-a; ``reach`` is where C is, ``cost`` is E[C], ``size`` is E|N|."""
        power = self.ratio.power
        most = float(self.ratio.most[0])
        low = max(self.least_below + reach.low, self.least)
        high = max(min(self.least_below + reach.high, self.ratio.most_below), low)
        centre = min(max(self.least_below + cost, low), high)
        rule = rule_for(low, high, centre, power)
        if rule.is_one_sided:
            rest = float(rule.remainder(np.float64(low), np.float64(high)))
            return _Ruled(rule, size * rest + most * reach.outside)
        wide = wide_rule(self.least, high, power)
        beyond = 3.0 + (self.ratio.most_below / high) ** power  # D^-a and its sum, beyond h
        return _Ruled(wide, most * reach.outside * beyond)

    def _by_rule(
        self, ruled: _Ruled, numerator: _Numerator, z: Ints, chain: BinaryChain
    ) -> BoundedValue:
        """The expectation by a rule."""
        from fsmeu.trellis import chain_mean_kernels as run
        from fsmeu.trellis.chain_kernels import NO_MASS

        rule = ruled.rule
        labels = LabelCosts(self.counted, self.costs, numerator.gains)
        most_top = numerator.terms + float(np.abs(numerator.gains).max(axis=1) @ self.numbers)
        value = 0.0
        error = ruled.left_out
        for nodes, weights in zip(in_fours(rule.nodes), in_fours(rule.weights), strict=True):
            sweep = labels.sweep(chain, z, nodes)
            sizes = np.zeros((2, len(sweep.starts) - 1, len(nodes)))
            logs = no_logs()
            spreads = run.Spreads(*np.zeros((2, len(nodes))))
            means = run.forward_numerators(sweep, logs, sizes)
            run.backward_spreads(sweep, sizes, spreads)
            alive = np.isfinite(logs.values)
            exponents = np.where(alive, logs.values, -inf) - nodes * self.least_below
            masses = weights * np.exp(exponents)
            means = np.where(alive, means, 0.0)
            g = chain.step_error(nodes * self.costs.max())
            off = np.where(alive, log_error(chain, logs, g) + spreads.masses * g, 0.0)
            off += (64 + 4 * np.where(alive, np.abs(logs.values), 0.0)) * UNIT
            off += 4 * UNIT * nodes * self.below_terms
            means_off = np.where(alive, spreads.numerators, 0.0) * g + 8 * UNIT * numerator.terms
            terms = numerator.constant + means
            value += float(masses @ terms)
            error += float(masses @ (np.abs(terms) * off + means_off))
            error += float(weights[~alive].sum()) * NO_MASS * most_top
        size = min(float(self.ratio.most[0]), numerator.size * self.least**-rule.power)
        if numerator.constant >= 0 and (numerator.gains >= 0).all():
            size = min(size, value)
        error += rule.off * size
        return BoundedValue(value, error * (1.0 + 1e-6))


def in_fours(numbers: Floats) -> Floats:
    """Numbers in rows of four, the last of which is filled up by zeros, (rows, 4)."""
    return np.append(numbers, np.zeros(-len(numbers) % 4)).reshape(-1, 4)


def no_logs() -> LogMasses:
    """Logarithms at four nodes, to be filled."""
    from fsmeu.trellis.chain_kernels import LogMasses

    return LogMasses(*np.zeros((3, 4)))


def log_error(chain: BinaryChain, logs: LogMasses, g: Floats) -> Floats:
    """Bounds on the errors of logarithms but for what the spreads add, (M,)."""
    from fsmeu.trellis.chain_kernels import BLOCK

    own = (BLOCK * chain.states + 16) * UNIT * logs.deficits
    second = (3.0 * chain.n * g) ** 2
    errors: Floats = own + BLOCK * g * logs.strong + second
    return errors


# -- counts ----------------------------------------------------------------------------------------


class CountMoments(NamedTuple):
    """Of labels and of what they add up to: good enough for the choice of nodes."""

    marginals: Floats  # P(y_i = 1), (n,)
    variance: float


def count_moments(chain: BinaryChain, z: Ints, amounts: Floats) -> CountMoments:
    """The marginals, and the variance of the sum of amounts[z_i] y_i."""
    from fsmeu.trellis.chain_kernels import count_variance

    marginals = np.zeros(chain.n)
    variance = float(count_variance(chain.steps, z, amounts, marginals))
    return CountMoments(marginals, variance)


class Spread(NamedTuple):
    """What the tails of a count are looked for with."""

    variance: float
    outside: float  # the probability that may lie outside


def count_interval(
    chain: BinaryChain, z: Ints, labels: LabelCosts, spread: Spread
) -> CountInterval:
    """Where C is, but for a probability: by Chernoff's bound, the best of a few nodes.

    The upper tail has several nodes: where ones are rare and come in runs, E[exp(-x C)] may explode
    with -x.
    """
    from fsmeu.trellis.chain_kernels import forward_masses

    needed = log(2.0 / spread.outside)
    best = sqrt(2.0 * needed / max(spread.variance, _LEAST_VARIANCE))  # if C were normal
    greatest = float(labels.costs.max())
    below = np.minimum(np.array([best]), _GREATEST_TILT / greatest)
    above = -min(0.8 * best, _GREATEST_LIFT / greatest) * np.array([1.0, 0.5, 0.25])
    nodes = np.concatenate([below, above])
    logs = no_logs()
    forward_masses(labels.sweep(chain, z, nodes), logs)
    needed += 1e-3  # more than the logarithms' roundings
    ends = -(needed + logs.values) / nodes
    ends = np.where(np.isfinite(ends), ends, np.where(nodes > 0, 0.0, inf))
    return CountInterval(max(0.0, float(ends[0])), float(ends[1:].min()), spread.outside)
