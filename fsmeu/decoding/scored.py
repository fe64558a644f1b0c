"""Scores of the steps of sentences at the nodes of a rule, and best sums of them by total.

What a step of a hypothesis adds to T has, in its own sentence, the expectation E[f exp(-x s)],
found for all steps at once by sweeps over lanes (``trellis/rows.py``); all other sentences are a
factor, the product of their G(x). So for one weight for each lane the best hypotheses are best
paths: of several sentences by tables of their own counts, whose best sums are joined
(``hulls.py``), and where the tape of z has one state, the positions that gain most by an item.
One sentence of another kind: ``priced.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.hulls import BestSums, best_sums
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.chains import ChainGroup
from fsmeu.trellis.lanes import CountRange, LaneGroup

NEGLIGIBLE = 1e-16  # a score that is left out, where x is 0


class Sums(NamedTuple):
    """The greatest sums of scores by total, or bounds on them."""

    bounds: Floats  # (totals,), -inf where there are no hypotheses
    is_reached: Bools  # whether hypotheses with this total reach the bound, (totals,)


class Worth(NamedTuple):
    """What sums of scores are worth: gain times the sum, and offset, by total."""

    gain: Floats
    offset: Floats
    begin: int  # the first total that this holds for

    def price(self, k: int, score: float) -> float:
        """What an item costs at a total with a score: its value is greatest there by prices."""
        j = min(k + 1, len(self.gain) - 1)
        i = max(j - 2, self.begin)
        rise = score * (self.gain[j] - self.gain[i]) + self.offset[j] - self.offset[i]
        return -float(rise / ((j - i) * self.gain[k])) if j > i else 0.0


class Best(NamedTuple):
    """The best hypotheses with a total."""

    is_known: bool  # whether none with this total are better
    score: float = -np.inf  # the sum of their scores
    labels: list[Ints] | None = None  # by sentence
    sums: Floats | None = None  # bounds on the best sums by total, (totals,), if these are closer


class Scored(Protocol):
    """Sentences with the scores of their steps at the nodes of a rule.

    A weighting is what the mean E[T exp(-x S)] / G of each lane is multiplied by, (lanes,).
    """

    logs: Floats  # log G of all sentences together, (lanes,)

    def sums(self, weights: Floats, near: Sequence[int], worth: Worth | None = None) -> Sums:
        """The best sums at a weighting by total.

        Bounds are close at some totals, and at the best one if it is told what sums are worth.
        """

    def best(self, weights: Floats, total: int, needed: Floats) -> Best:
        """The best hypotheses with a total, if their sum is at least what is needed, (totals,).

        What other totals need is infinite, or finite where closer bounds are of use. Where many
        sentences have no hypotheses with the total, those with a smaller one.
        """


# -- several sentences -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredPart:
    """Sentences that are swept together."""

    rows: slice  # their places among all
    group: LaneGroup
    scores: Scores  # E[amount exp(-x count)], those that are not negligible
    logs: Floats  # log G, (batch, lanes)


def parts_of(groups: Sequence[LaneGroup]) -> list[tuple[slice, LaneGroup]]:
    """The groups, divided so that all scores of a part are few, with the places of sentences."""
    parts = []
    place = 0
    for group in groups:
        cells = max(1, int(group.trellis.most_scores[group.n]))
        size = max(1, limits.SCORES_AT_ONCE // cells)
        for begin in range(0, group.size, size):
            weights = group.weights.rows(slice(begin, begin + size))
            part = LaneGroup(group.trellis, weights)
            parts.append((slice(place, place + part.size), part))
            place += part.size
    return parts


def negligible(nodes: Floats, reach: CountRange, low: float = 0.0) -> Floats:
    """The greatest scores that are left out, by node, (lanes,), where S is at least ``low``."""
    least: Floats = NEGLIGIBLE * min(1.0, reach.mean) * np.exp(-nodes * low)
    return least


def scores_of_one(group: LaneGroup, nodes: Floats, reach: CountRange) -> Scores:
    """The scores of the steps of one sentence at nodes, those that are not negligible.

    E[T exp(-x S)] is a sum of these itself: its log G counts as 0.
    """
    ends = np.ones((1, 1, len(nodes)))
    least = negligible(nodes, reach, reach.low)
    return group.trellis.with_lanes(nodes).scores(group.weights, ends, least=least)[0]


class ScoredSentences:
    """Several sentences, by tables of the best sums for each count of their own."""

    def __init__(
        self,
        groups: Sequence[LaneGroup],
        nodes: Floats,
        reach: CountRange,
        run: Callable[..., Any],  # map, or one that works side by side
    ) -> None:
        self._run = run
        least = negligible(nodes, reach)

        def scored(rows: slice, group: LaneGroup) -> ScoredPart:
            trellis = group.trellis.with_lanes(nodes)
            ends = np.ones((group.size, 1, len(nodes)))
            scores, sums = trellis.scores(group.weights, ends, least=least)
            with np.errstate(divide="ignore"):
                return ScoredPart(rows, group, scores, np.log(sums.masses))

        self.parts: list[ScoredPart] = list(run(scored, *zip(*parts_of(groups), strict=True)))
        logs = np.concatenate([part.logs for part in self.parts])  # (sentences, lanes)
        self.logs = np.array([math.fsum(column) for column in logs.T])
        self._sums: dict[bytes, BestSums] = {}  # by weighting

    def sums(self, weights: Floats, near: Sequence[int], worth: Worth | None = None) -> Sums:
        """The best sums at a weighting by total, or bounds."""
        found = best_sums([table for part in self._best(weights) for table in part.by_count])
        self._sums[weights.tobytes()] = found
        return Sums(found.sums, found.is_reached)

    def best(self, weights: Floats, total: int, needed: Floats) -> Best:
        """The best hypotheses with a total, or the next smaller one, at a weighting known."""
        known = self._sums[weights.tobytes()]
        ends = known.ends(total)
        found = self._best(weights, ends)
        tables = [table for part in found for table in part.by_count]
        sums = [float(table[end]) for table, end in zip(tables, ends.tolist(), strict=True)]
        labels = [row for part in found for row in part.labels]
        return Best(bool(known.is_reached[total]), math.fsum(sums), labels)

    def _best(self, weights: Floats, ends: Ints | None = None) -> list[Any]:
        """For each part the best sums by count, and labels where counts are given."""

        def best(part: ScoredPart) -> Any:
            factors = weights * np.exp(-part.logs)
            at = None if ends is None else ends[part.rows]
            return part.group.trellis.best(part.scores, factors, part.group.n, at)

        return list(self._run(best, self.parts))


# -- steps that do not look at each other ----------------------------------------------------------


class RankedSteps:
    """One sentence whose hypotheses have one state: the best are the greatest differences.

    Each position counts an item or none.
    """

    logs: Floats

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """The best scores of positions that count nothing, and an item, (n,); -inf for none."""
        raise NotImplementedError

    def chosen(self, weights: Floats, counts: Bools) -> Ints:
        """The best labels, given which positions count an item."""
        raise NotImplementedError

    def sums(self, weights: Floats, near: Sequence[int], worth: Worth | None = None) -> Sums:
        """The best sums at a weighting by total."""
        plain, counted = self.scores(weights)
        always = np.isneginf(plain)
        free = ~always & ~np.isneginf(counted)
        more = (counted - plain)[free]
        more.sort()
        sums = np.full(1 + len(plain), -np.inf)
        first = int(always.sum())
        start = float(counted[always].sum() + plain[~always].sum())
        sums[first : first + len(more) + 1] = start + np.append(0.0, np.cumsum(more[::-1]))
        return Sums(sums, np.isfinite(sums))

    def best(self, weights: Floats, total: int, needed: Floats) -> Best:
        """The best hypothesis with a total."""
        plain, counted = self.scores(weights)
        with np.errstate(invalid="ignore"):
            more = np.where(np.isneginf(plain), np.inf, counted - plain)
        counts = np.zeros(len(more), bool)
        if total:
            counts[np.argpartition(-more, total - 1)[:total]] = True
        score = float(counted[counts].sum() + plain[~counts].sum())
        return Best(True, score, [self.chosen(weights, counts)])


class ScoredChain(RankedSteps):
    """One long sequence under a chain of two labels, without a trellis."""

    def __init__(self, group: ChainGroup, nodes: Floats) -> None:
        self.amounts = group.amounts
        found = group.shares(nodes)
        self.logs = found.logs
        self.ones = found.ones

    def _by_label(self, weights: Floats) -> Floats:
        """The scores of both labels, (2, n)."""
        shares = np.einsum("ij,j->i", self.ones, weights)  # no threads: they wait for each other
        joint = self.amounts.joint
        rises = np.multiply.outer(joint[:, 1] - joint[:, 0], shares)
        scores: Floats = rises + joint[:, :1] * weights.sum()
        return scores

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """The best scores of positions that count nothing, and an item."""
        scores = self._by_label(weights)
        is_item = self.amounts.of_z > 0
        if is_item.all() or not is_item.any():
            none = np.full(scores.shape[1], -np.inf)
            return (none, scores.max(axis=0)) if is_item.all() else (scores.max(axis=0), none)
        return scores[int(is_item[0])], scores[int(is_item[1])]

    def chosen(self, weights: Floats, counts: Bools) -> Ints:
        """The best labels, given which positions count an item."""
        is_item = self.amounts.of_z > 0
        if is_item[0] == is_item[1]:
            labels: Ints = self._by_label(weights).argmax(axis=0)
            return labels
        first: Ints = np.where(counts, int(is_item[1]), int(is_item[0]))
        return first


class ScoredLabels(RankedSteps):
    """One sentence of any labels, whose hypotheses have one state."""

    def __init__(self, group: LaneGroup, nodes: Floats, reach: CountRange) -> None:
        self.trellis = group.trellis
        self.n = group.n
        self.logs = np.zeros(len(nodes))
        self.steps = scores_of_one(group, nodes, reach)
        tables = group.trellis.paths
        self.step = tables.step[tables.kind[: group.n], 0]  # (n, labels, 3)

    @staticmethod
    def serves(group: LaneGroup) -> bool:
        """Whether the sentence is of this kind."""
        tables = group.trellis.paths
        is_one = int(tables.width[group.n]) == 1 and len(np.unique(tables.step[..., 2])) <= 3
        return is_one and int(tables.step[..., 2].max(initial=0)) <= 1

    def _by_label(self, weights: Floats) -> Floats:
        """The scores of all labels, (labels, n), -inf where one is not allowed."""
        tables = self.trellis.paths
        dense = np.zeros((self.n, int(self.trellis.z.first_feature[-1]) + 1))
        position, row = self.steps.cell.T
        dense[position, row] = np.einsum("ij,j->i", self.steps.value, weights)
        at = np.arange(self.n)[:, None, None]
        own = dense[at, tables.shown[self.step[..., 1]]].sum(axis=2)
        own[self.step[..., 0] < 0] = -np.inf
        scores: Floats = own.T
        return scores

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """The best scores of positions that count nothing, and an item."""
        scores = self._by_label(weights)
        is_item = self.step[..., 2].T > 0
        plain = np.where(is_item, -np.inf, scores).max(axis=0)
        return plain, np.where(is_item, scores, -np.inf).max(axis=0)

    def chosen(self, weights: Floats, counts: Bools) -> Ints:
        """The best labels, given which positions count an item."""
        is_item = self.step[..., 2].T > 0
        labels: Ints = np.where(is_item == counts, self._by_label(weights), -np.inf).argmax(axis=0)
        return labels
