"""Scores of the steps of sentences at the nodes of a rule, a part of the sentences at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.lanes import CountRange, LaneGroup, node_logs

SCORES_AT_ONCE = 1 << 20  # scores of steps computed at once: 8 MB for each lane
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
    logs: Floats  # log G, (batch, lanes)
    errors: Floats  # bounds on the errors of these, (batch, lanes)


def parts_of(groups: Sequence[LaneGroup]) -> list[SentencePart]:
    """The groups, divided so that all scores of a part are few."""
    parts = []
    place = 0
    for group in groups:
        cells = max(1, int(group.trellis.most_scores[group.n]))
        size = max(1, SCORES_AT_ONCE // cells)
        for begin in range(0, group.size, size):
            weights = group.weights.rows(slice(begin, begin + size))
            part = LaneGroup(group.trellis, weights)
            parts.append(SentencePart(slice(place, place + part.size), part))
            place += part.size
    return parts


def swept_at(nodes: Floats, alone: bool, low: float, part: SentencePart) -> Swept:
    """The scores of the steps of a part at nodes.

    Of one sentence alone, E[T exp(-x S)] is a sum of scores itself, and log G is taken to be 0.
    As S is hardly ever below ``low``, scores are negligible in proportion to exp(-x low).
    """
    group = part.group
    trellis = group.trellis.with_lanes(nodes)
    least = NEGLIGIBLE * np.exp(-nodes * low)
    ends = np.ones((group.size, 1, len(nodes)))
    scores, sums = trellis.scores(group.weights, ends, least=least)
    if alone:
        return Swept(part, scores, nodes, np.zeros((1, len(nodes))), np.zeros((1, len(nodes))))
    logs = node_logs(group, sums.masses, sums.deficits)
    return Swept(part, scores, nodes, logs.logs, logs.errors)


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
