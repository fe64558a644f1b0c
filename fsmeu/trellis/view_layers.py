"""The layers of a composition: which loss states each position can be in, and how they connect.

Where the numbers of a loss's states span a space that arrays can hold, the steps of all of them are
computed once per context, and states are ordered by the layer that first reaches them, so that the
layers are prefixes. Otherwise each layer holds what is reached, and steps are computed as they
come.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import KEPT_STEPS, SMALL_SPACE
from fsmeu.losses.machine.view import View
from fsmeu.trellis.transfer import Transfer, make_transfer, restrict

__all__ = ["DenseWalker", "SparseWalker", "Walker"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class SparseWalker:
    """Layers that hold what is reached, found step by step."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.codes = np.array([view.start], np.int64)
        self.place = 0

    def step(self, i: int, codes: Ints, wanted: Bools | None = None) -> tuple[Ints, Transfer]:
        """The states of the layer after position i, and the transfer to them.

        Args:
            i: the position.
            codes: the states of the layer before.
            wanted: which steps (states, symbols) count, where others may be undefined.
        """
        if wanted is None:
            targets, gains = self.view.advance(i, codes)
        else:
            targets, gains = self._advance(i, codes, wanted)
        after, inverse = np.unique(targets, return_inverse=True)
        inverse = inverse.reshape(targets.shape)
        if len(after) and after[0] < 0:
            after, inverse = after[1:], inverse - 1
        return after, make_transfer(inverse, gains, len(after))

    def _advance(self, i: int, codes: Ints, wanted: Bools) -> tuple[Ints, Floats | None]:
        targets = np.full(wanted.shape, -1, np.int64)
        gains = np.zeros((self.view.linear, *wanted.shape)) if self.view.linear else None
        for symbol in np.flatnonzero(wanted.any(axis=0)):
            rows = np.flatnonzero(wanted[:, symbol])
            reached, gained = self.view.advance(i, codes[rows], np.array([symbol]))
            targets[rows, symbol] = reached[:, 0]
            if gains is not None and gained is not None:
                gains[:, rows, symbol] = gained[:, :, 0]
        return targets, gains


class DenseWalker:
    """Layers that are prefixes of one ordering of the whole space."""

    def __init__(self, view: View, space: int) -> None:
        self.view = view
        self.contexts = view.contexts()
        everything = np.arange(space, dtype=np.int64)
        self._raw: dict[Hashable, tuple[Ints, Floats | None]] = {}
        self._whole: dict[Hashable, Transfer] = {}
        self._all = everything
        self.widths: list[int] | None = None
        self.place = view.start
        if space > SMALL_SPACE:
            self._order_by_first_layer()
        else:
            self._raw = view.memo.setdefault("steps", self._raw)
            self._whole = view.memo.setdefault("transfers", self._whole)
        self.codes = self._all if self.widths is None else self._all[:1]

    @property
    def contexts_repeat(self) -> bool:
        """True when few steps differ, so that all transfers can be held at once."""
        return len(set(self.contexts)) * len(self._all) <= KEPT_STEPS

    def _steps(self, i: int) -> tuple[Ints, Floats | None]:
        key = self.contexts[i - 1]
        if key not in self._raw:
            if len(self._raw) * len(self._all) > KEPT_STEPS:
                self._raw.clear()
            self._raw[key] = self.view.advance(i, self._all)
        return self._raw[key]

    def _order_by_first_layer(self) -> None:
        rank = np.full(len(self._all), -1, np.int64)
        order = np.empty(len(self._all), np.int64)
        rank[self.place], order[0] = 0, self.place
        widths, done = [1], dict.fromkeys(self.contexts, 0)
        count = 1
        for i, key in enumerate(self.contexts, start=1):
            known, done[key] = done[key], count
            if known < count:
                reached = self._steps(i)[0][order[known:count]].ravel()
                fresh = np.unique(reached[(reached >= 0) & (rank[reached] < 0)])
                rank[fresh] = count + np.arange(len(fresh))
                order[count : count + len(fresh)] = fresh
                count += len(fresh)
            widths.append(count)
        self._all, self.widths, self.place = order[:count], widths, 0
        outside = np.append(rank, -1)
        for key, (targets, gains) in self._raw.items():
            kept = None if gains is None else gains[:, self._all]
            self._raw[key] = (outside[targets[self._all]], kept)
        self._rank = outside

    def transfer(self, i: int) -> Transfer:
        """The step at position i over the whole space."""
        key = self.contexts[i - 1]
        if key not in self._whole:
            if len(self._whole) * len(self._all) > KEPT_STEPS:
                self._whole.clear()
            fresh = key not in self._raw
            targets, gains = self._steps(i)
            if fresh and self.widths is not None:
                targets = self._rank[targets]
                self._raw[key] = (targets, gains)
            self._whole[key] = make_transfer(targets, gains, len(self._all))
        return self._whole[key]

    def transfers(self) -> list[Transfer]:
        """The transfers of all positions over the whole space."""
        return [self.transfer(i) for i in range(1, self.view.n + 1)]

    def step(self, i: int, codes: Ints) -> tuple[Ints, Transfer]:
        """The states of the layer after position i, and the transfer to them."""
        whole = self.transfer(i)
        if self.widths is None:
            return codes, whole
        before, after = self.widths[i - 1], self.widths[i]
        return self._all[:after], restrict(whole, before, after)


Walker = SparseWalker | DenseWalker
