"""Counts of references of independent sentences, by lanes: what range they lie in, and their rules.

A *lane* is a number t = exp(-x): in a sweep over a trellis, each item that y's counter counts is a
factor t (``rows.py``), so that the mass at the end is G(x) = E[exp(-x S)], S being the count.
Counts of independent sentences add up, and their G are multiplied.

**Range.** For any x > 0,  P(S <= l) <= exp(x l) G(x),  and for x < 0  P(S >= h) <= exp(x h) G(x)
(Chernoff): a few lanes tell a range that all but a stated probability lies in, without a mean, a
variance or independence. As 2 cosh(y) >= 2 + y^2, two lanes x and -x bound the mean square of the
distance of S from any number, too.

**Ratios.** If T >= 0, and all but a probability p of S lies in [l, h], then a rule
(``rules.py``) for D = v + S on [v + l, v + h] leaves out of E[T / D^a] at most

    E[T] max R  +  p max (T / D^a).

**Roundings.** All terms are positive, so that n steps lose about as many units in the last place of
G as there are operations behind it. Where weights are stochastic, G is 1 less the deficit, a sum of
positive terms whose relative error is the same: what is lost of log G is a part of the deficit,
which is about x E[S], and not of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.fst.layers import ArcWeights
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.rules import Rule
from fsmeu.twofold import UNIT

TAIL = 1e-18  # the probability that a count lies outside of its range, at most
# Multiples of the likely best node that are tried; a small one bounds the variance.
_STEPS = np.array([0.3, 0.85, 2.2])
_MOST_EXPONENT = 600.0  # x S up to which exp(x S) is a double for certain
_SMALL = 1e-7  # a node whose deficit tells the mean
_NONE = 800.0  # a node whose powers are 0: only counts of 0 have mass
_ROW_SUM = 1e-13  # how far from 1 the weights that leave a state may add up to be stochastic


@dataclass(frozen=True, eq=False)
class LaneGroup:
    """Sentences of one length and structure."""

    trellis: SplitTrellis
    weights: ArcWeights

    @property
    def n(self) -> int:
        """Their length."""
        return self.weights.n

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.weights.arcs)

    @cached_property
    def is_stochastic(self) -> bool:
        """Whether start weights, and weights that leave a state, add up to 1, or are all 0.

        Final weights must be 1: then all that may follow a state has the mass 1.
        """
        if self.weights.is_stochastic:
            return True
        if not (self.weights.final == 1.0).all():
            return False
        sums = [self.weights.start.sum(axis=1)]
        places = self.trellis.weight_at
        begin = 0
        for _, run in groupby(range(self.n), key=lambda i: id(self.trellis.sources[i])):
            positions = len(list(run))
            end = begin + positions
            arcs = self.weights.arcs[:, places[begin] : places[end]]
            sums.append(_row_sums(arcs.reshape(self.size * positions, -1), begin, self.trellis))
            begin = end
        whole = np.concatenate(sums)
        return bool((np.abs(whole[whole != 0.0] - 1.0) <= _ROW_SUM).all())

    @property
    def greatest(self) -> float:
        """A bound on the first joint count of a sentence, signs aside."""
        return float(self.trellis.greatest[0, self.n])

    @property
    def rounding(self) -> float:
        """A bound on the relative error of a sum of positive terms over the positions."""
        operations = int(self.trellis.roundings[self.n]) + 4 * self.n
        return relative_error(operations + self.weights.roundings)


def _row_sums(arcs: Floats, position: int, trellis: SplitTrellis) -> Floats:
    """The sums of weights that leave a state, for rows of arcs (rows, arcs) of a position."""
    sources = trellis.sources[position]
    order = np.argsort(sources, kind="stable")
    firsts = np.flatnonzero(np.diff(sources[order], prepend=-1))
    return np.add.reduceat(arcs[:, order], firsts, axis=1).ravel()


class CountRange(NamedTuple):
    """Where the sum of the references' counts of all sentences lies."""

    mean: float  # its expectation, about
    bias: float  # a bound on how far the expectation is from that
    deviation: float  # a bound on the root of the mean square of the distance from it
    low: float  # at most the probability TAIL is below it
    high: float  # or above it
    none: float  # the probability that nothing is counted
    escaped: float  # the probability that an age of y reaches its cap, at most

    def around(self, low: float, high: float) -> CountRange:
        """The same with all but ``none`` and ``escaped`` between two numbers.

        What the mean is moved by is added to the bounds on distances from it.
        """
        mean = min(max(self.mean, low), high)
        moved = abs(mean - self.mean)
        return self._replace(
            mean=mean,
            bias=self.bias + moved,
            deviation=self.deviation + moved,
            low=min(max(self.low, low), high),
            high=min(max(self.high, low), high),
        )


def count_range(groups: Sequence[LaneGroup]) -> CountRange:
    """The range of the sum of the references' counts."""
    most = sum(g.size * int(g.trellis.y_tables.columns[g.n] - 1) for g in groups)
    # The best nodes are about sqrt(2 log(2 / TAIL) / var(S)); a variance is n / 50 to n / 2.
    likely = math.sqrt(2 * math.log(2 / TAIL) / max(0.1 * most, 1.0))
    longest = max(int(g.trellis.y_tables.columns[g.n]) for g in groups)
    steps = np.minimum(_STEPS * likely, _MOST_EXPONENT / longest)
    nodes = np.concatenate([steps, -steps, [_SMALL, _NONE]])
    logs = np.zeros(len(nodes))
    roundings = 0.0
    deficit = 0.0
    escaped = 0.0
    for group in groups:
        found = group.trellis.with_lanes(nodes).lane_sums(group.weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs += np.log(found.masses).sum(axis=0)
        roundings += group.size * group.rounding
        deficit += float((1.0 - found.masses[:, -2]).sum())
        escaped += float(found.escaped.sum())
    none = math.exp(logs[-1])
    nodes = nodes[:-2]
    logs = logs[:-2] + roundings
    mean = min(max(deficit / _SMALL, 0.0), float(most))
    deviation = _deviation(nodes, logs, mean, float(most))
    bias = deviation
    if all(group.is_stochastic for group in groups):
        rounding = max(group.rounding for group in groups)
        bias = min(bias, mean * (_SMALL * longest + rounding))
    usable = np.isfinite(logs)
    ends = (math.log(TAIL / 2) - logs[usable]) / nodes[usable]
    below = nodes[usable] > 0
    low = float(max(0.0, ends[below].max(initial=0.0)))
    high = float(min(float(most), ends[~below].min(initial=float(most))))
    high = max(low, high)
    return CountRange(mean, bias, deviation, low, high, none, escaped).around(low, high)


def _deviation(nodes: Floats, logs: Floats, mean: float, most: float) -> float:
    """A bound on the root of E[(S - mean)^2], by log G at nodes x, ..., -x, ...

    As 2 cosh(y) - 2 >= y^2, E[(S - m)^2] is at most (e^(x m) G(x) + e^(-x m) G(-x) - 2) / x^2.
    """
    pairs = len(nodes) // 2
    exponents = logs + nodes * mean
    exponents += 4 * UNIT * (np.abs(logs) + np.abs(nodes) * mean)
    with np.errstate(over="ignore", invalid="ignore"):
        raised = np.expm1(exponents)
        squares = (raised[:pairs] + raised[pairs:]) / nodes[:pairs] ** 2
    squares = squares[np.isfinite(squares)]
    return math.sqrt(max(0.0, float(squares.min(initial=most**2))))


class NodeLogs(NamedTuple):
    """log G of sentences at the nodes of a rule."""

    logs: Floats  # (batch, lanes)
    errors: Floats  # bounds on their errors, (batch, lanes)


def node_logs(group: LaneGroup, masses: Floats) -> NodeLogs:
    """log G of the sentences of a group at nodes, from masses, (batch, lanes)."""
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    return NodeLogs(logs, np.full_like(logs, group.rounding))


def rounded_rule(rule: Rule) -> Rule:
    """The rule whose factors exp(-x) are doubles, equal to the given one at its centre.

    In a power of a rounded factor, its error is multiplied by the exponent. Here x is the logarithm
    of the double, and the weight makes up for the difference at the centre, so that what is left is
    multiplied by the distance from it.
    """
    factors = np.exp(-rule.nodes)
    steep = rule.nodes > 0.5
    nodes = np.where(steep, rule.nodes, -np.log1p(np.where(steep, 0.0, factors - 1.0)))
    weights = rule.weights * np.exp((nodes - rule.nodes) * rule.centre)
    return Rule(nodes, weights, rule.power, rule.centre, rule.off)
