"""Arrays that kernels work in, of the sizes that a trellis needs, kept from query to query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.fst.compose import guard_size
from fsmeu.limits import KEPT_CELLS_PER_STATE
from fsmeu.trellis.batches import (
    AdjointBuffers,
    BackwardRows,
    BestLayers,
    DecisionBuffers,
    ForwardLayers,
    MeanBuffers,
    SavedLayers,
    ScoreBuffers,
    totals_of,
)
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables, padded
from fsmeu.trellis.z_tables import ONLY, ZTables

B = TypeVar("B")

BLOCK = 128
"""Positions of whose best scores all are kept; of longer sentences every 128th layer is."""


@dataclass(eq=False)
class Workspace:
    """The arrays of a trellis; those that are free are lent again."""

    y_tables: YTables
    z_tables: ZTables
    amounts: Amounts
    counts: int  # the number of joint counts
    free: dict[Hashable, list[Any]]

    @property
    def lanes(self) -> int:
        """The length of rows of lanes, 0 where rows are by count."""
        return int(self.y_tables.lanes.powers.shape[1])

    @cached_property
    def margin(self) -> int:
        """Numbers past the end of arrays of rows.

        A row that is moved by what is counted may reach past its own by what it is padded with; by
        all that is counted, where no pair of the layer takes the step.
        """
        tables = self.y_tables
        counted = (tables.arc[:, 1], tables.target_group[:, 1], tables.pair_arc[:, 3])
        return 4 + max(int(amounts.max(initial=0)) for amounts in counted)

    def layer_cells(self, n: int) -> tuple[int, int]:
        """The size of an array of one layer's pairs, and of one of classes."""
        columns = int(padded(self.y_tables.columns[n]))
        classes = len(self.y_tables.member) * int(self.y_tables.copies[0])
        return int(self.y_tables.width[n]) * columns + self.margin, classes * columns + self.margin

    @cached_property
    def mass_cells(self) -> Ints:
        """How many numbers rows of masses have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.y_tables.rows) * padded(self.y_tables.columns))

    @cached_property
    def best_cells(self) -> Ints:
        """How many numbers rows of best scores have up to each layer, (n + 1,)."""
        return np.cumsum(np.diff(self.z_tables.rows) * self.z_tables.columns)

    def forward_layers(self, n: int, layers: int | None = None) -> ForwardLayers:
        """Arrays for the masses of lengths up to n; of the last layers only, where so many do."""
        shape = (n + 1 if layers is None else layers, int(self.y_tables.width[n]))
        # A pair with one way to it has the row of an earlier layer.
        recycles = layers is not None and bool((self.y_tables.pair_arc[:, 4] != 0).all())
        cells = int(self.mass_cells[n])
        if recycles:
            by_layer = np.diff(self.y_tables.rows) * padded(self.y_tables.columns)
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
            class_total=np.zeros((2, len(self.y_tables.member) * self.y_tables.copies[0])),
            part=np.zeros(max(1, self.lanes)),
            deficit=np.zeros(self.lanes),
            escaped=np.zeros(1),
        )

    def best_layers(self, layers: int, most: int | None = None, n: int | None = None) -> BestLayers:
        """Arrays for the best scores of so many positions, for counts up to ``most`` if given.

        They may be any of n positions, if that is given; else the first ones.
        """
        last = layers if n is None else n
        shape = (layers + 1, int(self.z_tables.width[last]))
        columns = self.z_tables.columns[: last + 1]
        if most is not None:
            columns = np.minimum(columns, most + 1)
        cells = np.append(0, np.cumsum(np.diff(self.z_tables.rows)[: last + 1] * columns))
        span = min(layers, last)
        widest = int((cells[span + 1 :] - cells[: len(cells) - span - 1]).max())
        carried = 0 if n is None else self.live_rows * int(columns[-1])
        return BestLayers(
            value=np.empty(widest + carried),
            place=np.zeros((*shape, 3), np.int64),
            offset=np.empty(shape),
            first=np.zeros(1, np.int64),
            top=np.zeros(1, np.int64),
        )

    def saved_layers(self, n: int, block: int, most: int) -> SavedLayers:
        """Arrays for the first layers of blocks of n positions."""
        count = -(-n // block) if n else 0
        columns = np.minimum(self.z_tables.columns[:n:block], most + 1)
        width = int(self.z_tables.width[n])
        cells = int(columns.sum()) * self.live_rows
        guard_size("decode", cells // KEPT_CELLS_PER_STATE)
        return SavedLayers(
            value=np.empty(cells),
            begin=np.zeros(count + 1, np.int64),
            place=np.zeros((count, width, 3), np.int64),
            offset=np.empty((count, width)),
        )

    @property
    def live_rows(self) -> int:
        """How many rows of best scores the pairs of a layer have at most."""
        if ("live rows",) not in self.free:
            self.free["live rows",] = [_live_rows(self.z_tables)]
        rows: int = self.free["live rows",][0]
        return rows

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
            mean=np.zeros((self.counts, classes)),
            after=np.zeros((self.counts, classes)),
            gain=np.zeros((self.counts, self.amounts.features + 1)),
        )

    def backward_rows(self, n: int) -> BackwardRows:
        """Arrays for backward values."""
        classes = self.layer_cells(n)[1]
        sets = int(np.diff(self.y_tables.arc_sets).max(initial=0))
        cells = sets * int(padded(self.y_tables.columns[n])) + self.margin
        return BackwardRows(np.zeros(classes), np.zeros(classes), np.zeros(cells))

    def score_buffers(self, n: int) -> ScoreBuffers:
        """Arrays for scores of steps."""
        lanes = max(1, self.lanes)  # of any number that is padded to it
        return ScoreBuffers(
            f=self.forward_layers(n),
            back=self.backward_rows(n),
            score=np.zeros((n, len(self.amounts.joint) * lanes)),
            group=np.arange(self.counts),
        )

    def decision_buffers(self, n: int) -> DecisionBuffers:
        """Arrays for decisions."""
        f = self.forward_layers(n)
        most = int(self.z_tables.columns[n])
        return DecisionBuffers(
            f=f,
            uncounted=totals_of(f),
            back=self.backward_rows(n),
            score=np.zeros((n, len(self.amounts.joint))),
            best=self.best_layers(n),
            count_probability=np.zeros(int(padded(self.y_tables.columns[n]))),
            offset=np.zeros(most),
            reached=np.zeros(most),
            lost=np.zeros(most),
            is_open=np.zeros(most, bool),
        )

    def adjoint_buffers(self, n: int) -> AdjointBuffers:
        """Arrays for derivatives."""
        layer, classes = self.layer_cells(n)
        rows = len(self.y_tables.member) * padded(self.y_tables.columns[: n + 1])
        mean_at = np.append(0, np.cumsum(rows))
        cells = layer + classes + self.counts * mean_at[-1]
        guard_size("gradient", cells // KEPT_CELLS_PER_STATE)
        return AdjointBuffers(
            f=self.forward_layers(n),
            mean=np.zeros((self.counts, mean_at[-1] + self.margin)),
            mean_at=mean_at,
            gain=np.zeros((self.counts, self.amounts.features + 1)),
            states=np.zeros(n, np.int64),
            back=np.zeros((self.counts, classes)),
            older=np.zeros((self.counts, classes)),
            mass_back=np.zeros(layer),
            mass_older=np.zeros(layer),
            class_back=np.zeros(classes),
            sets=self.backward_rows(n).sets,
            count_probability=np.zeros(int(self.y_tables.columns[n])),
        )


def _live_rows(z_tables: ZTables) -> int:
    """How many rows of best scores the pairs of a layer have, at most.

    A pair to which there is one way has the row of where that comes from. Rows of adjacent pairs
    that are the same count once, as ``best_kernels.save_layer`` copies them.
    """
    row = np.zeros(int(z_tables.width[-1]), np.int64)
    alive = np.zeros(len(row), bool)
    alive[0] = True
    greatest = 1
    opened = 1
    before = (-1, b"")
    for i, kind in enumerate(z_tables.kind.tolist()):
        ways = z_tables.way[z_tables.ways[kind] : z_tables.ways[kind + 1]]
        ways = ways[ways[:, 0] < z_tables.width[i + 1]]
        from_pair = ways[:, 1] >= 0
        open_ways = ways[~from_pair | alive[np.maximum(ways[:, 1], 0)]]
        after = np.zeros_like(row)
        single = open_ways[(open_ways[:, 5] == ONLY) & (open_ways[:, 1] >= 0)]
        others = open_ways[(open_ways[:, 5] != ONLY) | (open_ways[:, 1] < 0)]
        after[others[:, 0]] = opened + others[:, 0]
        shared = others[(others[:, 5] == ONLY)]
        after[shared[:, 0]] = -1 - shared[:, 2] - opened  # the row of a source set
        after[single[:, 0]] = row[single[:, 1]]
        alive = np.zeros_like(alive)
        alive[open_ways[:, 0]] = True
        opened += len(row) + 1
        row = after
        rows = row[alive]
        greatest = max(greatest, 1 + int(np.count_nonzero(np.diff(rows))))
        shape = (kind, (alive.tobytes()))
        if shape == before and i > 2 * BLOCK:
            break  # nothing is reached any more that was not before
        before = shape
    return greatest
