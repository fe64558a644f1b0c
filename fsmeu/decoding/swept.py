"""Scores of the steps of sentences at the nodes of a rule, and best paths by these.

A part of the sentences is swept at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import FoundPaths, Scores
from fsmeu.trellis.lanes import CountRange, LaneGroup, NodeLogs, node_logs
from fsmeu.trellis.rules import Rule

NEGLIGIBLE = 1e-16  # a score that is left out, where x is 0


class SentencePart(NamedTuple):
    """Sentences that are swept together."""

    rows: slice  # their places among all
    group: LaneGroup


class Swept(NamedTuple):
    """Scores of the steps of a part at the nodes of a rule."""

    part: SentencePart
    scores: Scores  # E[amount exp(-x count)], those that are not negligible
    nodes: Floats  # (lanes,)
    masses: Floats  # G, about, (batch, lanes)
    logs: Floats  # log G, (batch, lanes)
    errors: Floats  # bounds on the errors of these, (batch, lanes)


class Paths(NamedTuple):
    """Best paths of all sentences."""

    score: float  # the sum of their scores
    labels: list[Ints]  # by sentence


class Sentences:
    """Sentences of one trellis or of several, divided into parts that are swept together.

    Attributes:
        parts: the parts.
        count: how many sentences there are.
    """

    def __init__(self, groups: Sequence[LaneGroup], run: Callable[..., Any]) -> None:
        self.parts = parts_of(groups)
        self.count = sum(group.size for group in groups)
        self._run = run  # map, or one that works side by side

    def swept(self, rule: Rule, reach: CountRange) -> list[Swept]:
        """The scores of the steps of all parts at the nodes of a rule; at x = 0 if it has none."""
        nodes = rule.nodes if len(rule.nodes) else np.zeros(1)
        scored = partial(swept_at, nodes, self.negligible(nodes, reach), self.count == 1)
        return list(self._run(scored, self.parts))

    def negligible(self, nodes: Floats, reach: CountRange) -> Floats:
        """The greatest scores that are left out, by node, (lanes,).

        Joint counts are small where the count S of y is. As S is hardly ever below its range, those
        of one sentence alone are in proportion to exp(-x low).
        """
        low = reach.low if self.count == 1 else 0.0
        least: Floats = NEGLIGIBLE * min(1.0, reach.mean) * np.exp(-nodes * low)
        return least

    def best(
        self,
        swept: Sequence[Swept],
        factors: Sequence[Floats],
        ends: Ints | None = None,
        counts: range | None = None,
    ) -> list[FoundPaths]:
        """For each part, the best sums of scores by count, and labels where counts are given.

        Args:
            swept: the scores of each part.
            factors: what the lanes of each part are multiplied by, (batch, lanes) each.
            ends: the counts that labels end with, by sentence.
            counts: those whose sums are asked for, of one sentence.
        """

        def best(part: Swept, own: Floats) -> FoundPaths:
            at = None if ends is None else ends[part.part.rows]
            group = part.part.group
            some = None
            if counts is not None:
                some = group.trellis.workspace.all_counts(group.n, counts[-1], counts[0])
            return group.trellis.best(part.scores, own, group.n, at, some)

        return list(self._run(best, swept, factors))

    def tables(self, swept: Sequence[Swept], factors: Sequence[Floats]) -> list[Floats]:
        """The best sums of scores by count of each sentence."""
        return [table for found in self.best(swept, factors) for table in found.by_count]

    def paths(self, swept: Sequence[Swept], factors: Sequence[Floats], ends: Ints) -> Paths:
        """Best paths with these counts."""
        only = range(int(ends[0]), int(ends[0]) + 1) if self.count == 1 else None
        found = self.best(swept, factors, ends, only)
        tables = [table for part in found for table in part.by_count]
        sums = [float(table[end]) for table, end in zip(tables, ends.tolist(), strict=True)]
        return Paths(math.fsum(sums), [row for part in found for row in part.labels])


def parts_of(groups: Sequence[LaneGroup]) -> list[SentencePart]:
    """The groups, divided so that all scores of a part are few."""
    parts = []
    place = 0
    for group in groups:
        cells = max(1, int(group.trellis.most_scores[group.n]))
        size = max(1, limits.SCORES_AT_ONCE // cells)
        for begin in range(0, group.size, size):
            weights = group.weights.rows(slice(begin, begin + size))
            part = LaneGroup(group.trellis, weights)
            parts.append(SentencePart(slice(place, place + part.size), part))
            place += part.size
    return parts


def swept_at(nodes: Floats, least: Floats, alone: bool, part: SentencePart) -> Swept:
    """The scores of the steps of a part at nodes, those above the ``least`` of their node.

    Of one sentence alone, E[T exp(-x S)] is a sum of scores itself, and log G is taken to be 0.
    """
    group = part.group
    trellis = group.trellis.with_lanes(nodes)
    ends = np.ones((group.size, 1, len(nodes)))
    scores, sums = trellis.scores(group.weights, ends, least=least)
    zeros = np.zeros((1, len(nodes)))
    logs = NodeLogs(zeros, zeros)
    if not alone:
        logs = node_logs(group, sums.masses)
    return Swept(part, scores, nodes, sums.masses, logs.logs, logs.errors)


def greatest_sizes(swept: Swept) -> Floats:
    """Bounds on the sums of the first lane's scores of any path, signs aside, (batch,).

    A step has one score for each term at most. A bound is infinite where a score row has amounts
    of both signs, as a score may then be less than the terms that it sums, signs aside.
    """
    scores = swept.scores
    trellis = swept.part.group.trellis
    batch = len(scores.begins) - 1
    if not trellis.amounts.rows_have_one_sign:
        return np.full(batch, np.inf)
    sentence = np.repeat(np.arange(batch), np.diff(scores.begins))
    greatest = np.zeros((batch, swept.part.group.n))
    place = sentence * greatest.shape[1] + scores.cell[:, 0]
    np.maximum.at(greatest.reshape(-1), place, np.abs(scores.value[:, 0]))
    bounds: Floats = len(trellis.tapes.terms) * greatest.sum(axis=1) * (1 + 1e-6)
    return bounds


class Tilt(NamedTuple):
    """What is known of E[T] by sums of scores of the first lane, which are E[T exp(-x S)] / G.

    All but a probability TAIL of S lies between two numbers, so that E[T] lies between ``down`` and
    ``up`` times such a sum.
    """

    node: float  # x
    factor: float  # what scores of one sentence alone are multiplied by: about 1 / G
    up: float
    down: float


def tilt_of(parts: Sequence[Swept], reach: CountRange) -> Tilt:
    """What the first lane says of E[T], T being 0 unless S is in its range."""
    node = float(parts[0].nodes[0])
    logs = np.concatenate([part.logs[:, 0] for part in parts])
    alone = len(logs) == 1
    log_mass = -node * reach.mean if alone else math.fsum(logs)
    up = math.exp(log_mass + node * reach.high) * (1 + 1e-9)
    down = math.exp(log_mass + node * reach.low) * (1 - 1e-9)
    return Tilt(node, math.exp(-log_mass) if alone else 1.0, up, down)


def plain_factors(parts: Sequence[Swept], tilt: Tilt) -> list[Floats]:
    """Factors of the first lane alone, by which sums of scores are about E[T]; by part."""
    plain = [np.zeros(part.logs.shape) for part in parts]
    for factors, part in zip(plain, parts, strict=True):
        factors[:, 0] = tilt.factor * np.exp(-part.logs[:, 0])
    return plain
