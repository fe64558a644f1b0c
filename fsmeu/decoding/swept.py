"""Scores of the steps of sentences at the nodes of a rule, a part of the sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.lanes import LaneGroup, node_logs

SCORES_AT_ONCE = 1 << 20  # scores of steps computed at once: 8 MB for each lane
NEGLIGIBLE = 1e-16  # a score that is left out, at the lane x = 0


class Part(NamedTuple):
    """Sentences that are swept together."""

    rows: slice  # their places among all
    group: LaneGroup


class Swept(NamedTuple):
    """Scores of the steps of a part at the nodes of a rule."""

    part: Part
    scores: Scores  # E[amount exp(-x count)], those that are not negligible; first those of x = 0
    logs: Floats  # log G, (batch, lanes)
    errors: Floats  # bounds on the errors of these, (batch, lanes)

    @property
    def plain(self) -> Floats:
        """The factor 1 for the first lane, x = 0, and 0 for others, (batch, lanes)."""
        factors = np.zeros(self.logs.shape)
        factors[:, 0] = 1.0
        return factors


def parts_of(groups: Sequence[LaneGroup]) -> list[Part]:
    """The groups, divided so that all scores of a part are few."""
    parts = []
    place = 0
    for group in groups:
        cells = max(1, group.trellis.most_scores(group.n))
        size = max(1, SCORES_AT_ONCE // cells)
        for begin in range(0, group.size, size):
            weights = group.weights.rows(slice(begin, begin + size))
            part = LaneGroup(group.trellis, weights)
            parts.append(Part(slice(place, place + part.size), part))
            place += part.size
    return parts


def swept_at(nodes: Floats, alone: bool, low: float, part: Part) -> Swept:
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
        return Swept(part, scores, np.zeros((1, len(nodes))), np.zeros((1, len(nodes))))
    logs = node_logs(group, sums.masses, sums.deficits)
    return Swept(part, scores, logs.logs, logs.errors)
