"""Queries of a split loss under models of one structure: batches for kernels, and their answers.

The answer for a sentence depends on that sentence alone: which trellis serves it depends on its
length (``trellis_cache.py``), and kernels go through a batch one sentence after the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.trellis.adjoint_kernels import adjoint_batch
from fsmeu.trellis.batches import (
    Batch,
    BestHypotheses,
    FoundMeans,
    FoundPaths,
    FoundScores,
    LaneSums,
    Scores,
    Values,
    first_alike,
)
from fsmeu.trellis.best_kernels import best_batch
from fsmeu.trellis.composed import Composed
from fsmeu.trellis.decide_kernels import DecisionTables, decide_batch
from fsmeu.trellis.estimate import Estimate
from fsmeu.trellis.joint_counts import (
    model_of,
    most_joint,
    nothing_without_items,
    range_keeps_sign,
)
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.mean_kernels import mean_batch
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.score_kernels import score_batch
from fsmeu.trellis.sum_kernels import JointTables, mass_batch
from fsmeu.trellis.tapes import Amounts, Tapes, value_coefficients
from fsmeu.trellis.workspace import Workspace
from fsmeu.trellis.y_tables import YTables, at_nodes, most_flows, uncounted

MOST_ENDS = 1 << 31  # more ends than any counter has

_BOUND_SUMS = 400  # those of a bound, by end and count of y, for each end tried
_PRUNE_BELOW = 1e-16  # pairs of y of a smaller probability are left out when deciding


@dataclass(eq=False)
class SplitTrellis:
    """Both tapes of a split loss composed with a kind of model and with what is allowed."""

    tapes: Tapes
    n: int  # the greatest length
    y: Composed
    z: Composed
    y_tables: YTables  # the tape of y with the model
    paths: Paths  # the tape of z with what is allowed
    amounts: Amounts  # what terms add
    common: Floats  # what every position adds to each joint count beside that, (counts,)
    weight_at: Ints  # where the weights of each position begin among those of a model, (n + 1,)
    sources: list[Ints]  # the acceptor's state that each arc of a position leaves
    serves: dict[int, bool] = field(default_factory=dict)  # shorter lengths, where that was asked
    _memo: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def counts(self) -> int:
        """The number of joint counts."""
        return len(self.tapes.form.joint_counts)

    def with_lanes(self, nodes: Floats) -> SplitTrellis:
        """The trellis with rows of E[exp(-x count)] for nodes x, (lanes,), in place of counts."""
        return replace(self, y_tables=at_nodes(self.y_tables, nodes))

    def guard(self, where: str, n: int) -> None:
        """Refuses sweeps of length n that would hold too many numbers.

        Raises:
            SizeLimitError: there would be too many.
        """
        tables = int(self.y_tables.columns[n]) * int(self.paths.columns[n])
        pairs = (
            5 * int(self.y_tables.width[n]) + 4 * int(self.paths.width[n]) + len(self.amounts.joint)
        )
        cells = int(self.workspace.mass_cells[n]) + int(self.workspace.best_cells[n]) + n * pairs
        guard_size(
            where, max(tables // limits.CELLS_PER_STATE, cells // limits.KEPT_CELLS_PER_STATE)
        )

    def check_values(self, where: str, n: int) -> None:
        """Refuses values of a length that no double holds, by an InputError."""
        if not np.isfinite(self.value_tables(n)).all():
            must = "expected gains overflow doubles"
            raise InputError(where, must)

    def ends_in(self, n: int, sign: float, sums: float) -> int:
        """How many ends of z's counter are tried by so many sums, about; at least one."""
        self.guard("decode", n)  # tables by count may be too large to be made
        work = 1 + self.work(n, 2 * max(1, self.counts))
        if self._values(n, sign).prunes:
            work += _BOUND_SUMS * int(self.paths.columns[n]) * int(self.y_tables.columns[n])
        return int(min(max(1.0, sums / work), MOST_ENDS))

    def decide(self, models: ArcWeights, sign: float, most: int = MOST_ENDS) -> BestHypotheses:
        """The best hypothesis under each model.

        Args:
            models: weights of models of this structure, as all methods take them.
            sign: what values are multiplied by; -1 makes what is least the greatest.
            most: how many ends of z's counter are tried for each model, at most.
        """
        n = models.n
        batch = self._batch(models)
        self.guard("decode", n)
        values = self._values(n, sign)
        if models.is_stochastic:  # what follows a pair has the mass 1
            values = values._replace(prune_below=_PRUNE_BELOW)
        size = int(self.paths.columns[n])
        count = len(models.arcs)
        ends = np.zeros((count, 2, size))
        best = np.zeros(count, np.int64)
        tries = 2 if values.prunes else size
        work = tries * self.work(n, 2 * max(1, self.counts)) + self.best_work(n)
        tables = DecisionTables(self.y_tables, self._uncounted, self.paths, self.amounts, values)
        run = kernel(decide_batch, count * work)
        with self.workspace.borrowed("decision", n, self.workspace.decision_buffers) as buffers:
            run(tables, batch, most, ends, best, buffers)
        tried = ends[:, 1].sum(axis=1).astype(int)
        return BestHypotheses(batch.labels, best, ends[:, 0], tried)

    @cached_property
    def _uncounted(self) -> YTables:
        """The tape of y with the model, nothing being counted."""
        return uncounted(self.y_tables)

    def sums(self, models: ArcWeights, zs: Sequence[Ints], absolute: bool = False) -> FoundMeans:
        """Masses and expectations of joint counts, as rows, and ends of z's counter.

        Without what is ``common`` to all positions. ``absolute`` takes signs away from what joint
        counts add.
        """
        n = models.n
        batch = self._batch(models, zs)
        count = len(models.arcs)
        found = FoundMeans(
            np.zeros((count, 1 + self.counts, int(self.y_tables.columns[n]))),
            np.zeros(count, np.int64),
            np.zeros(count),
        )
        amounts = self.amounts.without_signs() if absolute else self.amounts
        tables = JointTables(self.y_tables, self.paths, amounts)
        run = kernel(mean_batch, count * self.work(n, 1 + self.counts))
        with self.workspace.borrowed("mean", n, self.workspace.mean_buffers) as buffers:
            run(tables, batch, buffers, found)
        return found

    def lane_sums(self, models: ArcWeights) -> LaneSums:
        """The masses of the models at the end, by count or by lane."""
        n = models.n
        batch = self._batch(models)
        size = max(self.workspace.lanes, int(self.y_tables.columns[n]))
        ends = np.zeros((len(models.arcs), size))
        escaped = np.zeros(len(models.arcs))
        run = kernel(mass_batch, len(models.arcs) * self.work(n, 1))
        with self.workspace.borrowed("masses", n, self.workspace.mass_buffers) as f:
            run(self.y_tables, batch, f, ends, escaped)
        return LaneSums(ends[:, : int(self.y_tables.columns[n])], escaped)

    @cached_property
    def workspace(self) -> Workspace:
        """Arrays that kernels work in."""
        free = self._memo.setdefault("free arrays", {})
        return Workspace(self.y_tables, self.paths, self.amounts, self.counts, free)

    def expectations(self, models: ArcWeights, zs: Sequence[Ints]) -> Estimate:
        """The expected value of each hypothesis under its model."""
        found = self.sums(models, zs)
        coefficients = self.value_tables(models.n)[found.ended]  # (batch, 1 + joint counts, s)
        terms = found.totals * coefficients
        sizes = np.abs(terms).sum(axis=(1, 2))
        masses = found.totals[:, 0].sum(axis=1)
        if self._takes.any():  # bounds on what is taken away from joint counts
            most = np.where(self._takes, self.greatest[:, models.n], 0.0)
            slopes = np.abs(coefficients[:, 1:])
            sizes += ((most @ slopes) * found.totals[:, 0]).sum(axis=1)
        estimate = Estimate(terms.sum(axis=(1, 2)), sizes, masses)
        if self._takes.any() and estimate.cancels().any():  # what these take away themselves
            terms = self.sums(models, zs, absolute=True).totals * np.abs(coefficients)
            estimate = estimate._replace(sizes=terms.sum(axis=(1, 2)))
        return estimate

    @cached_property
    def _takes(self) -> Bools:
        """Whether some amounts of each joint count are below 0, (joint counts,)."""
        takes: Bools = self.amounts.signs(self.counts)[0]
        return takes

    def value_tables(self, n: int) -> Floats:
        """The value of sequences of length n by where counters end, (k, 1 + joint counts, s).

        It is the offset, plus each joint count times its slope.
        """
        if ("tables", n) not in self._memo:
            z, y = self.counts_met(n)  # other counts have the value 0
            hyp = np.arange(len(z))[:, None]
            ref = np.arange(len(y))[None, :]
            slopes, offset = value_coefficients(self.tapes.form, n, hyp, ref, z[:, None] & y)
            offset = sum((n * x * s for x, s in zip(self.common, slopes, strict=True) if x), offset)
            self._memo["tables", n] = np.stack([offset, *slopes], axis=1)
        tables: Floats = self._memo["tables", n]
        return tables

    def gradients(
        self, models: ArcWeights, zs: Sequence[Ints]
    ) -> tuple[Floats, list[list[Floats]]]:
        """The expected values, (batch,), and for each model dE/d(weight of arc) by position."""
        coefficients = self.value_tables(models.n)
        return self.adjoints(models, zs, coefficients[self.hypothesis_counts(zs)])

    def adjoints(
        self, models: ArcWeights, zs: Sequence[Ints], ends: Floats
    ) -> tuple[Floats, list[list[Floats]]]:
        """Expectations of functions of counts, (batch,), and their derivatives by position.

        Args:
            models: weights of models of this structure.
            zs: a hypothesis for each.
            ends: the offset, and what each joint count is multiplied by, as rows,
                (batch, 1 + joint counts, row).
        """
        n = models.n
        batch = self._batch(models, zs)
        self.guard("gradient", n)
        buffers = self.workspace.adjoint_buffers(n)
        slopes = np.zeros(batch.weights.shape)
        expected = np.zeros(len(batch.weights))
        work = len(slopes) * self.work(n, 3 * (1 + self.counts))
        tables = JointTables(self.y_tables, self.paths, self.amounts)
        run = kernel(adjoint_batch, work)
        run(tables, batch, ends, buffers, slopes, expected)
        return expected, [np.split(row, self.weight_at[1:n]) for row in slopes]

    def hypothesis_counts(self, zs: Sequence[Ints]) -> Ints:
        """Where the counter of each hypothesis ends, (batch,); all have one length."""
        labels = np.array(zs, np.int64)
        state = np.zeros(len(labels), np.int64)
        ended = np.zeros(len(labels), np.int64)
        for i, kind in enumerate(self.paths.kind[: labels.shape[1]].tolist()):
            step = self.paths.step[kind, state, labels[:, i]]
            state = step[:, 0]
            ended += step[:, 2]
        return ended

    def reaches_cap(self, z: Ints) -> bool:
        """Whether an age of the hypothesis reaches the cap where ages stop."""
        if not self.z.at_cap.any():
            return False
        state = 0
        for kind, label in zip(self.paths.kind.tolist(), z.tolist(), strict=False):
            state = int(self.paths.step[kind, state, label, 0])
            if self.z.at_cap[state]:
                return True
        return False

    @cached_property
    def most_scores(self) -> Ints:
        """How many scores steps may show, all positions together, by the length, (n + 1,)."""
        return (len(self.amounts.joint) - 1) * np.arange(self.n + 1)

    def scores(
        self,
        models: ArcWeights,
        ends: Floats,
        absolute: bool = False,
        least: Floats | None = None,
    ) -> tuple[Scores, LaneSums]:
        """Scores of steps, and the masses at the end by y's count or by lane.

        A score is E[amount that a step adds, times f(y's count)], or with lanes
        E[amount exp(-x count)] f for each node x.

        Args:
            models: weights of models of this structure.
            ends: the function f of each sentence and joint count as a row, (batch, counts, row).
            absolute: whether amounts are taken without signs.
            least: scores that do not exceed it in any lane are left out, and what is less than
                it of others, (lanes,).
        """
        n = models.n
        batch = self._batch(models)
        count = len(models.arcs)
        room = count * int(self.most_scores[n])
        lanes = 1 if self.y_tables.rows.step else int(self.y_tables.columns[n])
        least = np.zeros(lanes) if least is None else least
        greatest = float(np.abs(self.amounts.amount).max(initial=1.0))
        found = FoundScores(
            least,
            float(least.min()) / (most_flows(self.y_tables) * greatest),
            np.zeros(count + 1, np.int64),
            np.empty((room, 2), np.uint32),
            np.empty((room, lanes)),
            np.zeros((count, int(self.y_tables.columns[n]))),
            np.zeros(count),
        )
        amounts = self.amounts.without_signs() if absolute else self.amounts
        tables = JointTables(self.y_tables, self.paths, amounts)
        moved = self.y_tables.rows.copies * len(self.y_tables.member) * lanes  # rows of classes
        run = kernel(score_batch, count * (self.work(n, 2 * self.counts) + n * moved))
        with self.workspace.borrowed("scores", n, self.workspace.score_buffers) as buffers:
            run(tables, batch, ends, buffers, found)
        size = int(found.begins[-1])
        scores = Scores(found.begins, found.cell[:size], found.value[:size])
        return scores, LaneSums(found.count_probability, found.escaped)

    def best(
        self,
        scores: Scores,
        factors: Floats,
        n: int,
        ends: Ints | None = None,
        counts: Ints | None = None,
    ) -> FoundPaths:
        """The best score of a path by its count at the end, and labels of best paths.

        Args:
            scores: scores of steps.
            factors: what their lanes are multiplied by, (batch, lanes).
            n: the length.
            ends: the counts that the labels, (batch, n), end with; without it there are none.
            counts: the least and the greatest that are looked at after each position, (2, n + 1);
                without it all are.
        """
        counts = self.workspace.all_counts(n) if counts is None else counts
        found = FoundPaths(
            factors,
            np.full((len(factors), int(counts[1, n]) + 1), -np.inf),
            np.zeros(len(factors), np.int64) if ends is None else ends,
            np.zeros((0 if ends is None else len(factors), n), np.int64),
        )
        buffers = self.workspace.path_buffers(n, counts)
        run = kernel(best_batch, len(factors) * self.best_work(n))
        run(self.paths, n, scores, buffers, found)
        return found

    def counts_met(self, n: int) -> tuple[Bools, Bools]:
        """Which counts hypotheses and references of length n end with, (k,) and (s,)."""
        key = ("counts met", n)
        if key not in self._memo:
            with np.errstate(over="ignore"):  # there may be very many sequences
                sequences = self.lane_sums(model_of(self, n, np.ones(int(self.weight_at[n]))))
            hypotheses = self._most_by_count(n)[n, : int(self.paths.columns[n])]
            self._memo[key] = np.isfinite(hypotheses), sequences.masses[0] > 0.0
        met: tuple[Bools, Bools] = self._memo[key]
        return met

    def _batch(self, models: ArcWeights, zs: Sequence[Ints] | None = None) -> Batch:
        count, ends = models.final.shape
        n = models.n
        # The pairs of the last layer are those of all layers before, of which some may be wider.
        final = np.zeros((count, max(1 + int(self.y_tables.state.max()), ends)))
        final[:, :ends] = models.final
        labels = np.zeros((count, n), np.int64)
        if zs is not None:
            labels[:] = zs
        return Batch(n, models.arcs, self.weight_at, models.start, final, labels)

    def work(self, n: int, sweeps: int) -> int:
        """Sums and products of so many sweeps over a sentence, about."""
        tables = self.y_tables
        steps = len(tables.pair_arcs.source) + len(tables.class_arc) + len(tables.arc)
        steps += len(tables.after.pair) + len(tables.before.pair)
        arcs = sweeps * (steps // max(1, len(tables.pair_arcs_at) - 1))
        return n * arcs * (1 + int(tables.columns[n]) // 2)

    def best_work(self, n: int) -> int:
        """Sums and maxima of a best path, about: a row for each pair of each layer."""
        return int(self.paths.width[: n + 1] @ self.paths.columns[: n + 1])

    @cached_property
    def greatest(self) -> Floats:
        """Bounds on joint counts, signs aside, (joint counts, n + 1)."""
        sizes = np.diff(self.z.first_feature).tolist()
        return self.amounts.greatest(self.counts, self.tapes.terms, sizes)

    def caps(self, n: int) -> Floats:
        """Bounds on the joint count of a hypothesis by length up to n and own count, (n + 1, k).

        What a step adds is at most the sum over terms of the greatest amount of what it shows.
        """
        return np.maximum(self._most_by_count(n), 0.0)

    def _most_by_count(self, n: int) -> Floats:
        """The same, which may be below 0, and is -inf where no hypothesis has a count.

        Sentences come with ascending lengths: after the first, up to twice the length asked for.
        """
        known: Floats | None = self._memo.get("most by count")
        if known is None or len(known) <= n:
            longest = n if known is None else min(self.n, 2 * n)
            known = most_joint(self, longest, int(self.paths.columns[longest]) - 1)
            self._memo["most by count"] = known
        return known

    def allows_none(self, n: int) -> bool:
        """Whether a hypothesis of a length that counts nothing is allowed."""
        key = ("allows none", n)
        if key not in self._memo:
            self._memo[key] = bool(np.isfinite(most_joint(self, n, 0)[n, 0]))
        return bool(self._memo[key])

    def needs_item(self, tape: str, n: int) -> bool:
        """Whether the joint count is 0 for all pairs of sequences where "z" or "y" counts none."""
        if self.counts != 1 or self.common.any() or n == 0:
            return n == 0
        key = ("needs item", n)
        if key not in self._memo:
            self._memo[key] = dict(zip("zy", nothing_without_items(self, n), strict=True))
        return bool(self._memo[key][tape])

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether the joint count is at least 0 for all pairs of sequences."""
        if self.counts != 1 or self.common.any():
            return False
        return not self._takes.any() or range_keeps_sign(self)

    def _values(self, n: int, sign: float) -> Values:
        """The values of a length."""
        key = ("values", n, sign)
        if key not in self._memo:
            tables = sign * self.value_tables(n).swapaxes(0, 1)
            slope = np.ascontiguousarray(tables[1:])
            bounded = len(slope) == 1 and slope.shape[1] > 1
            prunes = bool(bounded and (slope >= 0).all() and self.is_nonnegative)
            self._memo[key] = Values(
                slope=slope,
                group=first_alike(slope),
                offset=np.ascontiguousarray(tables[0]),
                cap=self.caps(n)[n] if prunes else np.zeros(1),
                prune_below=0.0,
                prunes=prunes,
            )
        values: Values = self._memo[key]
        return values
