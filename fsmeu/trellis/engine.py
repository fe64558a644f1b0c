"""Queries of a split loss under models of one structure: batches for kernels, and their answers.

The answer for a sentence depends on that sentence alone: which structure serves it depends on its
length (``trellis_cache.py``), and kernels go through a batch one sentence after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CELLS_PER_STATE, KEPT_CELLS_PER_STATE
from fsmeu.trellis.batches import (
    Batch,
    BestLayers,
    Decided,
    ForwardLayers,
    Scores,
    Values,
    first_alike,
    have_one_sign,
    totals_of,
)
from fsmeu.trellis.compiled import kernels
from fsmeu.trellis.composed import Composed, classes_of, counts_met
from fsmeu.trellis.nonnegative import stays_nonnegative
from fsmeu.trellis.roundings import DIGITS, LEAST, BoundedValues, relative_error
from fsmeu.trellis.structure import Hypotheses, References, padded, uncounted, with_moments
from fsmeu.trellis.tapes import Amounts, Tapes, value_coefficients

_ByLength = TypeVar("_ByLength", list[tuple[Bools, Bools]], Floats)

_SUMS_PER_SECOND, _BOUND_SUMS = 3e9, 400
"""Sums and products of compiled loops; and of bounds, by end and count of y, for each end tried."""

MOST_ENDS = 1 << 31
"""More ends than any counter has."""

_NEGLIGIBLE = 1e-22
"""A mass that is not moved on, as long as bounds on errors hardly feel it."""


@dataclass(eq=False)
class SplitTrellis:
    """Both tapes of a split loss composed with a kind of model and with what is allowed."""

    tapes: Tapes
    n: int  # the greatest length
    y: Composed
    z: Composed
    r: References  # the tape of y with the model
    h: Hypotheses  # the tape of z with what is allowed
    amounts: Amounts  # what terms add
    common: Floats  # what every position adds to each joint count beside that, (counts,)
    weight_at: Ints  # where the weights of each position begin among those of a model, (n + 1,)
    rows: str = "count_kernels"  # of y's rows: numbers by count, or moments of the count
    serves: dict[int, bool] = field(default_factory=dict)  # shorter lengths, where that was asked
    _memo: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def counts(self) -> int:
        """The number of joint counts."""
        return len(self.tapes.form.joint_counts)

    def moments(self, size: int) -> SplitTrellis:
        """The structure with rows of E[count^j] / j!, j < size, in place of counts: for scores."""
        key = ("moments", size)
        if key not in self._memo:
            r = with_moments(self.r, size)
            self._memo[key] = replace(self, r=r, rows=f"jet_kernels:{size}", _memo={})
        structure: SplitTrellis = self._memo[key]
        return structure

    def guard(self, where: str, n: int) -> None:
        """Refuses sweeps of length n that would hold too many numbers.

        Raises:
            SizeLimitError: there would be too many.
        """
        tables = int(self.r.columns[n]) * int(self.h.columns[n])
        pairs = 5 * int(self.r.width[n]) + 4 * int(self.h.width[n]) + len(self.amounts.joint)
        cells = int(self._mass_cells[n]) + int(self._best_cells[n]) + n * pairs
        guard_size(where, max(tables // CELLS_PER_STATE, cells // KEPT_CELLS_PER_STATE))

    def check_values(self, where: str, n: int) -> None:
        """Refuses values of a length that no double holds, by an InputError."""
        tables, _ = self._tables(n)
        if not np.isfinite(tables).all():
            must = "expected gains overflow doubles"
            raise InputError(message(where, must))

    def ends_in(self, n: int, sign: float, seconds: float) -> int:
        """How many ends of z's counter are tried in so many seconds, about; at least one."""
        self.guard("decode", n)  # tables by count may be too large to be made
        work = 1 + self._work(n, 2 * max(1, self.counts))
        if self._values(n, sign).prunes:
            work += _BOUND_SUMS * int(self.h.columns[n]) * int(self.r.columns[n])
        return int(min(max(1.0, seconds * _SUMS_PER_SECOND / work), MOST_ENDS))

    def decide(self, models: ArcWeights, sign: float, most: int = MOST_ENDS) -> Decided:
        """The best hypothesis under each model.

        Args:
            models: weights of models of this structure, as all methods take them.
            sign: what values are multiplied by; -1 makes what is least the greatest.
            most: how many ends of z's counter are tried for each model, at most.
        """
        batch, n = self._batch(models), models.n
        self.guard("decode", n)
        values, size, count = self._values(n, sign), int(self.h.columns[n]), len(models.arcs)
        ends, best = np.zeros((count, 3, size)), np.zeros(count, np.int64)
        work = self._work(n, 2 * max(1, self.counts))
        tries = 2 if values.prunes else size
        run = kernels("best_kernels", count * (tries * work + self._best_work(n)))
        values = values._replace(rounding=values.rounding + relative_error(models.roundings))
        tables = self.r, self.h, self.amounts, values
        with self._buffers("decision", n, self._decision_buffers) as buffers:
            run.decide_batch(*tables, batch, most, buffers, ends, best)
        return Decided(batch.labels, best, ends[:, 0], ends[:, 1], ends[:, 2].sum(1).astype(int))

    def sums(
        self, models: ArcWeights, zs: Sequence[Ints], absolute: bool = False
    ) -> tuple[Floats, Ints]:
        """Masses and expectations of joint counts by the end of y's counter, and ends of z's.

        Without what is ``common`` to all positions. Arrays (batch, 1 + joint counts, counter) and
        (batch,). ``absolute`` takes signs away from what joint counts add.
        """
        batch, n, count = self._batch(models, zs), models.n, len(models.arcs)
        sums = np.zeros((count, 1 + self.counts, int(self.r.columns[n])))
        ended = np.zeros(count, np.int64)
        run = kernels("sum_kernels", count * self._work(n, 1 + self.counts))
        with self._buffers("mean", n, self._mean_buffers) as buffers:
            amounts = self._absolute if absolute else self.amounts
            run.mean_batch(self.r, self.h, amounts, batch, buffers, sums, ended)
        return sums, ended

    def expectations(self, models: ArcWeights, zs: Sequence[Ints]) -> BoundedValues:
        """The expected value of each hypothesis under its model."""
        sums, ended = self.sums(models, zs)
        tables, gained = self._tables(n := models.n)
        coefficients, batch = tables[ended], len(sums)  # (batch, 1 + joint counts, s)
        values = (sums * coefficients).reshape(batch, -1).sum(axis=1)
        terms = np.abs(sums)
        terms += gained * sums[:, :1]
        sizes = (terms * np.abs(coefficients)).reshape(batch, -1).sum(axis=1)
        roundings = int(self.roundings[n]) + models.roundings + sums[0].size
        far = np.flatnonzero(relative_error(roundings) * sizes > DIGITS * np.abs(values))
        if len(far) and gained.any():  # what these hypotheses lose themselves, not any at most
            arcs, start, final = (rows[far] for rows in (models.arcs, models.start, models.final))
            some = models._replace(arcs=arcs, start=start, final=final)
            terms = self.sums(some, [zs[row] for row in far.tolist()], absolute=True)[0]
            sizes[far] = (terms * np.abs(coefficients[far])).reshape(len(far), -1).sum(axis=1)
        return BoundedValues(values, sums[:, 0].sum(axis=1), sizes, roundings)

    @cached_property
    def _absolute(self) -> Amounts:
        """What terms add, without signs."""
        by_feature, by_row = np.abs(self.amounts.amount), np.abs(self.amounts.row_amount)
        return self.amounts._replace(amount=by_feature, row_amount=by_row)

    def _tables(self, n: int) -> tuple[Floats, Floats]:
        """Offset and slopes, (k, 1 + counts, s), and what counts may lose, (1 + counts, 1)."""
        if ("tables", n) not in self._memo:
            z, y = self.counts_met(n)  # other counts have the value 0
            hyp, ref = np.arange(len(z))[:, None], np.arange(len(y))[None, :]
            slopes, offset = value_coefficients(self.tapes.form, n, hyp, ref, z[:, None] & y)
            offset = sum((n * x * s for x, s in zip(self.common, slopes, strict=True) if x), offset)
            lost = np.where(self.amounts.signs(self.counts)[0], self.greatest[:, n], 0.0)
            worst = np.append(0.0, lost)[:, None]
            self._memo["tables", n] = np.stack([offset, *slopes], axis=1), worst
        tables: tuple[Floats, Floats] = self._memo["tables", n]
        return tables

    def gradients(
        self, models: ArcWeights, zs: Sequence[Ints]
    ) -> tuple[Floats, list[list[Floats]]]:
        """The expected values, (batch,), and for each model dE/d(weight of arc) by position."""
        batch, n = self._batch(models, zs), models.n
        self.guard("gradient", n)
        values = self._values(n, 1.0)
        layer, classes = self._layer_cells(n)
        rows = len(self.r.member) * padded(self.r.columns[: n + 1])
        mean_at = np.append(0, np.cumsum(rows))
        guard_size(
            "gradient", (layer + classes + self.counts * mean_at[-1]) // KEPT_CELLS_PER_STATE
        )
        widest = int(np.diff(self.r.arc_sets).max(initial=0)) * int(padded(self.r.columns[n]))
        buffers = (
            self._forward_layers(n),
            self._class_sums(n),
            np.zeros((self.counts, mean_at[-1] + self._margin)),
            mean_at,
            np.zeros((self.counts, classes)),
            np.zeros((self.counts, classes)),
            np.zeros(widest + self._margin),
        )
        adjoints = (
            np.zeros(layer),
            np.zeros(layer),
            np.zeros(classes),
            np.zeros((self.counts, self.amounts.features + 1)),
            np.zeros(n, np.int64),
            np.zeros(int(self.r.columns[n])),
        )
        slopes, expected = np.zeros(batch.weights.shape), np.zeros(len(batch.weights))
        run = kernels("adjoint_kernels", len(slopes) * self._work(n, 3 * (1 + self.counts)))
        run.adjoint_batch(
            self.r, self.h, self.amounts, values, batch, (buffers, adjoints), slopes, expected
        )
        return expected, [np.split(row, self.weight_at[1:n]) for row in slopes]

    def score_cells(self, n: int) -> Ints:
        """Position and score row of every score that steps of length n may show, (cells, 2).

        By position, then by row.
        """
        return self._cells[: np.searchsorted(self._cells[:, 0], n)]

    @cached_property
    def _cells(self) -> Ints:
        """The same for the greatest length."""
        first = np.full((len(self.z.kinds), len(self.amounts.joint)), np.iinfo(np.int64).max)
        for kind, arcs in zip(first, self.z.kinds, strict=True):
            for feature, begin in zip(arcs[4:-1], self.z.first_feature, strict=False):
                np.minimum.at(kind, feature + begin, arcs[0])
        shown = first[self.h.kind] < self.h.width[:-1, None]  # (n, score rows + 1)
        return np.ascontiguousarray(np.argwhere(shown))

    def scores(
        self,
        models: ArcWeights,
        ends: Floats,
        absolute: bool = False,
        least: Floats | None = None,
    ) -> tuple[Scores, Floats]:
        """Scores of steps, and where y's counter ends, (batch, row).

        A score is E[amount that a step adds, times f(y's count)]. There is one lane, or one for
        each of the coefficients of E[amount exp(t count) f].

        Args:
            models: weights of models of this structure.
            ends: the function f of each sentence and joint count as a row, (batch, counts, row).
            absolute: whether amounts are taken without signs.
            least: scores that do not exceed it in any lane are left out, (lanes,).
        """
        batch, n, count = self._batch(models), models.n, len(models.arcs)
        cells, size = self.score_cells(n), int(self.r.columns[n])
        lanes = 1 if self.rows == "count_kernels" else size
        scores, chances = np.zeros((count, len(cells), lanes)), np.zeros((count, size))
        kept = np.zeros(scores.shape[:2], bool)
        run = kernels("sum_kernels", count * self._work(n, 2 * self.counts), self.rows)
        amounts = self._absolute if absolute else self.amounts
        with self._buffers("decision", n, self._decision_buffers) as buffers:
            f, sums, back, *_ = buffers
            score = np.zeros((n, len(amounts.joint) * lanes))
            run.score_batch(
                self.r, amounts, ends, batch, cells, np.zeros(lanes) if least is None else least,
                (f, sums, back, score, np.arange(self.counts)), scores, kept, chances,
            )  # fmt: skip
        begins = np.append(0, np.cumsum(kept.sum(axis=1)))
        return Scores(begins, np.nonzero(kept)[1].copy(), scores[kept]), chances

    def best(
        self, scores: Scores, factors: Floats, n: int, ends: Ints | None = None
    ) -> tuple[Floats, Ints]:
        """The best score of a path by its count at the end, (batch, k), and labels of best paths.

        Args:
            scores: scores of steps.
            factors: what their lanes are multiplied by, (batch, lanes).
            n: the length.
            ends: the counts that the labels, (batch, n), end with; without it there are none.
        """
        by_count = np.empty((len(factors), int(self.h.columns[n])))
        labels = np.zeros((0 if ends is None else len(factors), n), np.int64)
        score = np.zeros((n, len(self.amounts.joint)))
        run = kernels("best_kernels", len(factors) * self._best_work(n))
        ended = np.zeros(len(factors), np.int64) if ends is None else ends
        buffers = (score, self._best_layers(n))
        cells = self.score_cells(n)
        run.best_batch(self.h, n, cells, scores, factors, buffers, ended, by_count, labels)
        return by_count, labels

    def counts_met(self, n: int) -> tuple[Bools, Bools]:
        """Which counts hypotheses and references of length n end with, (k,) and (s,)."""

        def by_length(longest: int) -> list[tuple[Bools, Bools]]:
            sides = ((self.z, classes_of(self.z)), (self.y, self.r.class_of))
            return list(zip(*(counts_met(*side, longest) for side in sides), strict=True))

        return self._up_to("counts met", n, by_length)[n]

    def _up_to(self, key: str, n: int, find: Callable[[int], _ByLength]) -> _ByLength:
        """Results of ``find`` by length, up to n or a greater one; they are kept.

        Sentences come with ascending lengths: after the first, up to twice the length asked for.
        """
        cached: _ByLength | None = self._memo.get(key)
        if cached is None or len(cached) <= n:
            cached = self._memo[key] = find(n if cached is None else min(self.n, 2 * n))
        return cached

    def _batch(self, models: ArcWeights, zs: Sequence[Ints] | None = None) -> Batch:
        (count, ends), n = models.final.shape, models.n
        # The pairs of the last layer are those of all layers before, of which some may be wider.
        final = np.zeros((count, max(1 + int(self.r.state.max()), ends)))
        final[:, :ends] = models.final
        labels = np.zeros((count, n), np.int64)
        if zs is not None:
            labels[:] = zs
        return Batch(n, models.arcs, self.weight_at, models.start, final, labels)

    def _work(self, n: int, sweeps: int) -> int:
        """Sums and products of so many sweeps over a sentence, about."""
        r = self.r
        steps = sum(map(len, (r.link, r.entry, r.arc, r.target_feature, r.source_feature)))
        arcs = sweeps * (steps // max(1, len(r.links) - 1))
        return n * arcs * (1 + int(r.columns[n]) // 2)

    @cached_property
    def _margin(self) -> int:
        """Numbers past the end of arrays of rows.

        A row that is moved by what is counted may reach past its own by what it is padded with; by
        all that is counted, where no pair of the layer takes the step.
        """
        counted = (self.r.arc[:, 1], self.r.group[:, 1], self.r.link[:, 3])
        return 4 + max(int(amounts.max(initial=0)) for amounts in counted)

    def _layer_cells(self, n: int) -> tuple[int, int]:
        """The size of an array of one layer's pairs, and of one of classes."""
        columns = int(padded(self.r.columns[n]))
        classes = len(self.r.member) * int(self.r.copies[0])
        return int(self.r.width[n]) * columns + self._margin, classes * columns + self._margin

    @cached_property
    def _mass_cells(self) -> Ints:
        """How many numbers rows of masses have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.r.rows) * padded(self.r.columns))

    @cached_property
    def _best_cells(self) -> Ints:
        """How many numbers rows of best scores have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.h.rows) * self.h.columns)

    def _forward_layers(self, n: int, layers: int | None = None) -> ForwardLayers:
        """Arrays for the masses of lengths up to n; of the last layers only, where so many do."""
        shape = (n + 1 if layers is None else layers, int(self.r.width[n]))
        cells, keeps = int(self._mass_cells[n]), bool((self.r.link[:, 4] == 0).any())
        if layers is not None and not keeps:
            cells = 2 * int(
                (np.diff(self.r.rows) * padded(self.r.columns))[: n + 1].max() + self._margin
            )
        guard_size("masses", cells, 1 << 32)  # where rows begin has 32 bits
        mass, place = np.zeros(cells + self._margin), np.zeros((*shape, 3), np.uint32)
        return ForwardLayers(mass, place, np.zeros(shape), np.zeros(shape), np.array([keeps]))

    def _best_layers(self, n: int) -> BestLayers:
        """Arrays for the best scores of lengths up to n."""
        shape = (n + 1, int(self.h.width[n]))
        place = np.zeros((*shape, 3), np.int64)
        return BestLayers(np.empty(int(self._best_cells[n])), place, np.empty(shape))

    def _best_work(self, n: int) -> int:
        """Sums and maxima of a best path, about."""
        return int(self._best_cells[n]) + int(self.h.width[: n + 1].sum())

    def _class_sums(self, n: int) -> tuple[Floats, Floats]:
        """Arrays for the rows and totals of classes."""
        return np.zeros(self._layer_cells(n)[1]), np.zeros(len(self.r.member) * self.r.copies[0])

    @contextmanager
    def _buffers(
        self, kind: str, n: int, make: Callable[[int], tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """Arrays to work in for lengths up to n; kept for the next query, one for each thread.

        After an exception they are not kept: kernels rely on zeros that they leave at the end.
        """
        free: list[tuple[int, tuple[Any, ...]]] = self._memo.setdefault(("buffers", kind), [])
        try:
            size, buffers = free.pop()
        except IndexError:
            size = -1
        if size < n:
            size, buffers = n, make(n)
        yield buffers
        free.append((size, buffers))

    def _mean_buffers(self, n: int) -> tuple[Any, ...]:
        classes = self._layer_cells(n)[1]
        return (
            self._forward_layers(n, 2),
            np.zeros((self.counts, classes)),
            np.zeros((self.counts, classes)),
            self._class_sums(n),
            np.zeros((self.counts, self.amounts.features + 1)),
        )

    def _decision_buffers(self, n: int) -> tuple[Any, ...]:
        columns, most = int(padded(self.r.columns[n])), int(self.h.columns[n])
        classes = self._layer_cells(n)[1]
        sets, f = int(np.diff(self.r.arc_sets).max(initial=0)), self._forward_layers(n)
        widest = sets * int(self.r.copies[0]) * columns + self._margin
        return (
            f,
            self._class_sums(n),
            (np.zeros(classes), np.zeros(classes), np.zeros(widest)),
            np.zeros((n, len(self.amounts.joint))),
            self._best_layers(n),
            np.empty((4, max(columns, most))),
            np.empty(most, bool),
            (uncounted(self.r), totals_of(f)),
        )

    @cached_property
    def _lost(self) -> Floats:
        """Bounds on the mass that is not moved on, by the length, (n + 1,)."""
        tables = self.r.links, self.r.source_features, self.r.target_features
        entries = np.diff(tables).sum(axis=0)
        lost: Floats = _NEGLIGIBLE * np.append(0.0, np.cumsum(entries[self.r.kind]))
        return lost

    @cached_property
    def greatest(self) -> Floats:
        """Bounds on joint counts, signs aside, (joint counts, n + 1)."""
        sizes = np.diff(self.z.first_feature).tolist()
        return self.amounts.greatest(self.counts, self.tapes.terms, sizes)

    @cached_property
    def roundings(self) -> Ints:
        """Bounds on the roundings behind each number by the length, (n + 1,)."""
        steps = self.r.operations[self.r.kind] + len(self.tapes.terms) + 1
        ends = self.amounts.longest + self.r.columns + self.r.width + 16
        bounds: Ints = np.append(0, np.cumsum(steps)) + ends
        return bounds

    def caps(self, n: int) -> Floats:
        """Bounds on the joint count of a hypothesis by length up to n and own count, (n + 1, k).

        What a step adds is at most the sum over terms of the greatest amount of what it shows.
        """

        def by_length(longest: int) -> Floats:
            score = self.amounts.greatest_of_rows()[self.amounts.table]
            most = np.zeros((longest + 1, int(self.h.columns[longest])))
            run = kernels("best_kernels", self._best_work(longest))
            run.most_by_count(self.h, longest, score, self._best_layers(longest), most)
            return np.maximum(most, 0.0)

        return self._up_to("caps", n, by_length)

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether the joint count is proven to be at least 0 for all pairs of sequences."""
        if self.common.any():
            return False
        if self.counts != 1 or not (self.amounts.amount < 0).any():
            return self.counts == 1
        return stays_nonnegative(self.z, self.y, self.amounts)

    def _values(self, n: int, sign: float) -> Values:
        """The values of a length."""
        key = ("values", n, sign)
        if key not in self._memo:
            tables = sign * np.roll(self._tables(n)[0].swapaxes(0, 1), -1, axis=0)
            bounded = self.counts == 1 < tables.shape[1]
            tables = tables.reshape(len(tables), -1)
            prunes = bool(bounded and (tables[0] >= 0).all() and self.is_nonnegative)
            roundings = int(self.roundings[n])
            self._memo[key] = Values(
                np.ascontiguousarray(tables[:-1]), first_alike(tables[:-1]),
                np.ascontiguousarray(tables[-1]), np.ascontiguousarray(self.greatest[:, n]),
                self.caps(n)[n] if prunes else np.zeros(1), relative_error(1) * roundings,
                LEAST * roundings, _NEGLIGIBLE, float(self._lost[n]), prunes,
                have_one_sign(tables, self.amounts.signs(self.counts)),
            )  # fmt: skip
        values: Values = self._memo[key]
        return values
