"""Counts of references of independent sentences, by lanes: what range they lie in.

A *lane* is a number t = exp(-x): in a sweep over a trellis, each item that y's counter counts is a
factor t (``rows.py``), so that the mass at the end is G(x) = E[exp(-x S)], S being the count.
Counts of independent sentences add up, and their G are multiplied.

**Range.** For any x > 0,  P(S <= l) <= exp(x l) G(x),  and for x < 0  P(S >= h) <= exp(x h) G(x)
(Chernoff): a few lanes tell a range that all but a stated probability lies in, without a mean, a
variance or independence.

**Ratios.** If T >= 0, and S lies in [l, h], then a rule (``rules.py``) for D = v + S on
[v + l, v + h] leaves out of E[T / D^a] at most E[T] max R.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.layers import ArcWeights
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.rules import Rule

TAIL = 1e-18  # the probability that a count lies outside of its range, at most
# Multiples of the likely best node that are tried.
_STEPS = np.array([0.3, 0.85, 2.2])
_MOST_EXPONENT = 600.0  # x S up to which exp(x S) is a double for certain
_NONE = 800.0  # a node whose powers are 0: only counts of 0 have mass
_SMALL = 1e-3  # the smallest of these nodes: log G is straight between it and its negative


class NodeLogs(NamedTuple):
    """What sentences count, at some nodes."""

    logs: Floats  # log G, (batch, lanes)
    escaped: float  # the probability that an age of y reaches its cap, at most


class NodeMeans(NamedTuple):
    """What hypotheses share with references, at some nodes."""

    logs: Floats  # log G, (batch, lanes)
    joint: Floats  # E[T exp(-x S)] / G, (batch, lanes)


class Counted(Protocol):
    """Sentences of one structure whose items are counted."""

    @property
    def n(self) -> int:
        """Their length."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def most_counted(self) -> tuple[int, int]:
        """The greatest counts of a hypothesis and of a reference."""

    @property
    def steepest(self) -> float:
        """The greatest |x| of nodes at which doubles hold masses."""

    @property
    def allows_none(self) -> bool:
        """Whether hypotheses that count nothing are allowed."""

    @property
    def is_nonnegative(self) -> bool:
        """Whether the joint count is at least 0 for all pairs of sequences."""

    def needs_item(self, tape: str) -> bool:
        """Whether the joint count is 0 where "z", or "y", counts nothing."""

    def node_logs(self, nodes: Floats) -> NodeLogs:
        """log E[exp(-x S)] of each sentence at nodes x."""

    def node_means(self, nodes: Floats, zs: Sequence[Ints]) -> NodeMeans:
        """The same beside E[T exp(-x S)] / G, for a hypothesis of each sentence."""

    def hypothesis_counts(self, zs: Sequence[Ints]) -> Ints:
        """What hypotheses count, (batch,)."""


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

    @property
    def most_counted(self) -> tuple[int, int]:
        """The greatest counts of a hypothesis and of a reference."""
        tables = self.trellis.paths, self.trellis.y_tables
        return int(tables[0].columns[self.n]) - 1, int(tables[1].columns[self.n]) - 1

    @property
    def steepest(self) -> float:
        """The greatest |x| of nodes at which doubles hold masses."""
        return _MOST_EXPONENT / max(1, self.most_counted[1])

    @property
    def allows_none(self) -> bool:
        """Whether hypotheses that count nothing are allowed."""
        return self.trellis.allows_none(self.n)

    @property
    def is_nonnegative(self) -> bool:
        """Whether the joint count is at least 0 for all pairs of sequences."""
        return self.trellis.is_nonnegative

    def needs_item(self, tape: str) -> bool:
        """Whether the joint count is 0 where "z", or "y", counts nothing."""
        return self.trellis.needs_item(tape, self.n)

    @np.errstate(divide="ignore", invalid="ignore")  # a lane without mass
    def node_logs(self, nodes: Floats) -> NodeLogs:
        """log E[exp(-x S)] of each sentence at nodes x."""
        found = self.trellis.with_lanes(nodes).lane_sums(self.weights)
        return NodeLogs(np.log(found.masses), float(found.escaped.sum()))

    @np.errstate(divide="ignore", invalid="ignore")
    def node_means(self, nodes: Floats, zs: Sequence[Ints]) -> NodeMeans:
        """The same beside E[T exp(-x S)] / G, for a hypothesis of each sentence."""
        found = self.trellis.with_lanes(nodes).sums(self.weights, zs)
        masses, joint = found.totals[:, :2, : len(nodes)].swapaxes(0, 1)
        return NodeMeans(np.log(masses), np.where(masses > 0, joint / masses, 0.0))

    def hypothesis_counts(self, zs: Sequence[Ints]) -> Ints:
        """What hypotheses count, (batch,)."""
        return self.trellis.hypothesis_counts(zs)


class CountRange(NamedTuple):
    """Where the sum of the references' counts of all sentences lies."""

    mean: float  # its expectation, about
    low: float  # at most the probability TAIL is below it
    high: float  # or above it
    none: float  # the probability that nothing is counted
    escaped: float  # the probability that an age of y reaches its cap, at most

    def around(self, low: float, high: float) -> CountRange:
        """The same with all but ``none`` and ``escaped`` between two numbers."""
        mean, first, last = (min(max(x, low), high) for x in (self.mean, self.low, self.high))
        return self._replace(mean=mean, low=first, high=last)


class SumRange(NamedTuple):
    """Where a sum of counts lies, but for a probability of ``TAIL``."""

    mean: float  # its expectation, about
    low: float
    high: float


def sum_range(node_logs: Callable[[Floats], Floats], most: float, steepest: float) -> SumRange:
    """Where a sum that is at least 0 lies.

    Args:
        node_logs: its log E[exp(-x sum)] at nodes x, (lanes,).
        most: the greatest sum.
        steepest: the greatest |x| that may be asked for.
    """
    # The best nodes are about sqrt(2 log(2 / TAIL) / var(S)); a variance is n / 50 to n / 2.
    likely = math.sqrt(2 * math.log(2 / TAIL) / max(0.1 * most, 1.0))
    steps = np.minimum(_STEPS * likely, steepest)
    small = _SMALL / math.sqrt(max(most, 1.0))
    nodes = np.concatenate([steps, -steps, [small, -small]])
    logs = node_logs(nodes)
    mean = min(max(float(logs[-1] - logs[-2]) / (2 * small), 0.0), most)
    usable = np.isfinite(logs[:-2])
    nodes = nodes[:-2][usable]
    ends = (math.log(TAIL / 2) - logs[:-2][usable]) / nodes
    low = float(max(0.0, ends[nodes > 0].max(initial=0.0)))
    high = float(min(most, ends[nodes < 0].min(initial=most)))
    return SumRange(min(max(mean, low), max(low, high)), low, max(low, high))


def count_range(groups: Sequence[Counted]) -> CountRange:
    """The range of the sum of the references' counts."""
    most = float(sum(group.size * group.most_counted[1] for group in groups))
    last = {"none": 0.0, "escaped": 0.0}

    def node_logs(nodes: Floats) -> Floats:
        logs = np.zeros(len(nodes) + 1)
        for group in groups:
            found = group.node_logs(np.append(nodes, _NONE))
            logs += found.logs.sum(axis=0)
            last["escaped"] += found.escaped
        last["none"] = math.exp(logs[-1])
        return logs[:-1]

    steepest = min((group.steepest for group in groups), default=1.0)
    return CountRange(*sum_range(node_logs, most, steepest), **last)


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
