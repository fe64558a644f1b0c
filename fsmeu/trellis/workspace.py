"""Arrays that kernels work in, of the sizes that a trellis needs, kept from query to query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Ints
from fsmeu.fst.compose import guard_size
from fsmeu.trellis.batches import (
    AdjointBuffers,
    BackwardRows,
    BestLayers,
    DecisionBuffers,
    ForwardLayers,
    MeanBuffers,
    PathBuffers,
    ScoreBuffers,
    totals_of,
)
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.price_kernels import PriceBuffers
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables, most_counted, padded

B = TypeVar("B")


@dataclass(eq=False)
class Workspace:
    """The arrays of a trellis; those that are free are lent again."""

    y_tables: YTables
    paths: Paths
    amounts: Amounts
    counts: int  # the number of joint counts
    free: dict[Hashable, list[Any]]

    @property
    def lanes(self) -> int:
        """The length of rows of lanes, 0 where rows are by count."""
        return int(self.y_tables.rows.powers.shape[1])

    @cached_property
    def margin(self) -> int:
        """Numbers past the end of arrays of rows.

        A row that is moved by what is counted may reach past its own by what it is padded with; by
        all that is counted, where no pair of the layer takes the step.
        """
        return 4 + most_counted(self.y_tables)

    def layer_cells(self, n: int) -> tuple[int, int]:
        """The size of an array of one layer's pairs, and of one of classes."""
        columns = int(padded(self.y_tables.columns[n]))
        classes = len(self.y_tables.member)
        return int(self.y_tables.width[n]) * columns + self.margin, classes * columns + self.margin

    @cached_property
    def mass_cells(self) -> Ints:
        """How many numbers rows of masses have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.y_tables.opened) * padded(self.y_tables.columns))

    @cached_property
    def best_cells(self) -> Ints:
        """How many numbers rows of best scores have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.paths.rows) * self.paths.columns)

    def forward_layers(self, n: int, layers: int | None = None) -> ForwardLayers:
        """Arrays for the masses of lengths up to n; of the last layers only, where so many do."""
        shape = (n + 1 if layers is None else layers, int(self.y_tables.width[n]))
        # A pair with one way to it has the row of an earlier layer.
        recycles = layers is not None and bool(self.y_tables.pair_arcs.is_joined.all())
        cells = int(self.mass_cells[n])
        if recycles:
            by_layer = np.diff(self.y_tables.opened) * padded(self.y_tables.columns)
            cells = 2 * int(by_layer[: n + 1].max() + self.margin)
        guard_size("masses", cells, 1 << 32)  # where rows begin has 32 bits
        return ForwardLayers(
            mass=np.zeros(cells + self.margin),
            place=np.zeros((*shape, 3), np.uint32),
            scale=np.zeros(shape),
            total=np.zeros(shape),
            top=np.zeros(1, np.int64),
            recycles=np.array([recycles]),
            class_row=np.zeros((2, self.layer_cells(n)[1])),
            class_total=np.zeros((2, len(self.y_tables.member))),
            part=np.zeros(max(1, self.lanes)),
            escaped=np.zeros(1),
        )

    def all_counts(self, n: int, most: int | None = None, least: int = 0) -> Ints:
        """The least and greatest counts after each of n positions, (2, n + 1).

        All counts, or those on the way to between ``least`` and ``most``.
        """
        columns = self.paths.columns[: n + 1].astype(np.int64)
        high = columns - 1 if most is None else np.minimum(columns - 1, most)
        of_step = int(self.paths.arrivals.counted.max(initial=0))
        return np.array([np.clip(least - of_step * np.arange(n, -1, -1), 0, high), high])

    def cells_of_best(self, n: int, counts: Ints) -> int:
        """How many best scores of n positions there are, for the counts that are looked at."""
        sizes = counts[1] - counts[0] + 1
        widest = np.maximum(sizes, np.append(sizes[:1], sizes[:-1]))  # rows of exits are the last's
        return int((np.diff(self.paths.rows)[: n + 1] * widest).sum())

    def best_layers(self, n: int, counts: Ints) -> BestLayers:
        """Arrays for the best scores of n positions, for the counts that are looked at."""
        cells = self.cells_of_best(n, counts)
        guard_size("decode", cells // limits.KEPT_CELLS_PER_STATE)
        shape = (n + 1, int(self.paths.width[n]))
        return BestLayers(
            value=np.empty(cells),
            place=np.empty((*shape, 3), np.int64),
            offset=np.empty(shape),
            least=counts[0],
            most=counts[1],
            top=np.zeros(1, np.int64),
        )

    def path_buffers(self, n: int, counts: Ints) -> PathBuffers:
        """Arrays for best paths of n positions, for the counts that are looked at."""
        return PathBuffers(np.empty((n, len(self.amounts.joint))), self.best_layers(n, counts))

    def price_buffers(self, n: int) -> PriceBuffers:
        """Arrays for best paths at prices."""
        tables = self.paths
        width = int(tables.width[n])
        exits = int(np.diff(tables.exits).max(initial=0))
        return PriceBuffers(
            score=np.empty((n, len(self.amounts.joint))),
            value=np.empty((2, width, 2)),
            counted=np.zeros((2, width, 2), np.int64),
            exit_value=np.empty((exits, 2)),
            exit_counted=np.zeros((exits, 2), np.int64),
        )

    @contextmanager
    def borrowed(self, kind: str, n: int, make: Callable[[int], B]) -> Iterator[B]:
        """Arrays to work in for lengths up to n; kept for the next query, one for each thread.

        After an exception they are not kept: kernels rely on zeros that they leave at the end.
        """
        free: list[tuple[int, B]] = self.free.setdefault((kind, self.lanes), [])
        try:
            size, buffers = free.pop()
        except IndexError:
            size = -1
        if size < n:
            size = n
            buffers = make(n)
        yield buffers
        free.append((size, buffers))

    def mass_buffers(self, n: int) -> ForwardLayers:
        """Arrays for masses of lengths up to n, of two layers."""
        return self.forward_layers(n, 2)

    def mean_buffers(self, n: int) -> MeanBuffers:
        """Arrays for expectations of joint counts."""
        classes = self.layer_cells(n)[1]
        return MeanBuffers(
            f=self.forward_layers(n, 2),
            mean=np.zeros((2, self.counts, classes)),
            gain=np.zeros((self.counts, self.amounts.features + 1)),
        )

    def backward_rows(self, n: int) -> BackwardRows:
        """Arrays for backward values; by node, with rows of classes moved by what arcs count."""
        columns = int(padded(self.y_tables.columns[n]))
        copies = max(1, self.y_tables.rows.copies)
        classes = copies * len(self.y_tables.member) * columns + self.margin
        cells = int(np.diff(self.y_tables.arc_sets_at).max(initial=0)) * columns + self.margin
        guard_size("decode", (2 * classes + cells) // limits.KEPT_CELLS_PER_STATE)
        return BackwardRows(np.zeros((2, classes)), np.zeros(cells))

    def score_buffers(self, n: int) -> ScoreBuffers:
        """Arrays for scores of steps."""
        lanes = max(1, self.lanes)  # of any number that is padded to it
        return ScoreBuffers(
            f=self.forward_layers(n),
            back=self.backward_rows(n),
            score=np.zeros(len(self.amounts.joint) * lanes),
            group=np.arange(self.counts),
        )

    def decision_buffers(self, n: int) -> DecisionBuffers:
        """Arrays for decisions."""
        f = self.forward_layers(n)
        most = int(self.paths.columns[n])
        return DecisionBuffers(
            f=f,
            uncounted=totals_of(f),
            back=self.backward_rows(n),
            score=np.zeros((n, len(self.amounts.joint))),
            best=self.best_layers(n, self.all_counts(n)),
            count_probability=np.zeros(int(padded(self.y_tables.columns[n]))),
            offset=np.zeros(most),
            reached=np.zeros(most),
            is_open=np.zeros(most, bool),
        )

    def adjoint_buffers(self, n: int) -> AdjointBuffers:
        """Arrays for derivatives."""
        layer, classes = self.layer_cells(n)
        rows = len(self.y_tables.member) * padded(self.y_tables.columns[: n + 1])
        mean_at = np.append(0, np.cumsum(rows))
        cells = layer + classes + self.counts * mean_at[-1]
        guard_size("gradient", cells // limits.KEPT_CELLS_PER_STATE)
        return AdjointBuffers(
            f=self.forward_layers(n),
            mean=np.zeros((self.counts, mean_at[-1] + self.margin)),
            mean_at=mean_at,
            gain=np.zeros((self.counts, self.amounts.features + 1)),
            states=np.zeros(n, np.int64),
            back=np.zeros((2, self.counts, max(1, self.y_tables.rows.copies) * classes)),
            mass_back=np.zeros((2, layer)),
            class_back=np.zeros(classes),
            sets=self.backward_rows(n).sets,
            count_probability=np.zeros(int(self.y_tables.columns[n])),
        )
