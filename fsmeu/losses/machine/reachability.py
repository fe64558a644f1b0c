"""The reachable states of a view, numbered in order of discovery, and where each step leads."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_arcs, guard_layers, guard_size, states_within
from fsmeu.fst.layers import Layer, Layered, arcs_by_label
from fsmeu.limits import (
    FEW_FOR_CYCLES,
    FEW_FOR_LOOKUP,
    LARGEST_LOOKUP,
    LAYERS_BEFORE_GUARD,
    LAYERS_TO_FORESEE,
    STEPS_AT_ONCE,
    STEPS_BEFORE_SAMPLE,
)
from fsmeu.losses.machine.sampled_size import has_more_states
from fsmeu.losses.machine.view import View

__all__ = ["explore", "foresee", "in_blocks"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def explore(
    name: str, view: View, pairs: Layered | None, size: int, max_states: int | None
) -> tuple[Ints, Ints, Bools]:
    """What pairs of length n can reach.

    Args:
        name: what the machine is called in an error.
        view: a view with the hypothesis free, the same at every position.
        pairs: an acceptor of pairs, z * size + y; then only what these can reach is explored.
        size: the number of labels.
        max_states: limit on the number of states.

    Returns:
        State codes, targets (states, pairs of labels) as state numbers with -1 for none, and which
        states a pair of length exactly n can end in.
    """
    found = _Found(name, view, size * size, max_states)
    if pairs is None:
        _explore_free(view, found)
        return found.codes, found.targets, _ending(found.targets, view.n)
    inside = (pairs.start > 0)[None, :]
    for i, layer in enumerate(pairs.layers, start=1):
        _expand_reached(i, layer, inside, found)
        guard_size(f"{name}, with the model", len(found.codes) * layer.width // 8, max_states)
        inside = _reached(layer, inside, found)
    return found.codes, found.targets, np.any(inside[:, pairs.final > 0], axis=1)


def _expand_reached(i: int, layer: Layer, inside: Bools, found: _Found) -> None:
    """Finds the steps that are new at position i.

    Args:
        i: the position.
        layer: the arcs of the acceptor there.
        inside: which (state, state of the acceptor) are reached before it.
        found: the states so far.
    """
    together: dict[bytes, tuple[Ints, list[int]]] = {}
    for symbol, arcs in arcs_by_label(layer):
        reached = inside[:, layer.source[arcs]].any(axis=1)
        fresh = np.flatnonzero(reached & ~found.known[: len(inside), symbol])
        together.setdefault(fresh.tobytes(), (fresh, []))[1].append(symbol)
    for fresh, symbols in together.values():
        for block in in_blocks(fresh, len(symbols)):
            found.expand(i, block, np.array(symbols))


def _reached(layer: Layer, inside: Bools, found: _Found) -> Bools:
    """Which (state, state of the acceptor) are reached after a position."""
    after = np.zeros((len(found.codes) + 1, layer.width), bool)
    for symbol, arcs in arcs_by_label(layer):
        state, arc = np.nonzero(inside[:, layer.source[arcs]])
        after[found.targets[state, symbol], layer.target[arcs][arc]] = True
    return after[:-1]


def _explore_free(view: View, found: _Found) -> None:
    """Expands every state once, at the first depth that reaches it."""
    columns = np.arange(found.targets.shape[1])
    begin = 0
    news: list[int] = []
    asked = False
    for i in range(1, view.n + 1):
        fresh = np.arange(begin, len(found.codes))
        if not len(fresh):
            return
        begin = len(found.codes)
        for block in in_blocks(fresh, len(columns)):
            found.expand(i, block, columns)
            if not asked and len(found.codes) * len(columns) > STEPS_BEFORE_SAMPLE:
                asked = True
                found.guard_sampled()
        news.append(len(found.codes) - begin)
        if i == LAYERS_BEFORE_GUARD and news[-1]:
            guard_layers(found.name, view.n)
        if i >= found.settled:
            found.guard(min(len(found.codes) + foresee(news, view.n - i), found.most))


def in_blocks(states: Ints, symbols: int) -> list[Ints]:
    """Many states in parts, each of which takes little memory to step from on these symbols."""
    size = max(1, STEPS_AT_ONCE // max(1, symbols))
    return [states[k : k + size] for k in range(0, len(states), size)]


def foresee(news: list[int], more: int) -> int:
    """How many states will come, where their growth so far is that of a polynomial.

    What registers with bounds add ends some time; this is to be asked when they had time for it.

    Args:
        news: how many were new at each depth.
        more: the number of depths to come.

    Returns:
        The sum of the next terms; 0 when the last ones are not those of a polynomial of low degree,
        whose differences of some order are constant.
    """
    if len(news) < LAYERS_TO_FORESEE:
        return 0
    rows = [news[-LAYERS_TO_FORESEE:]]
    while len(set(rows[-1])) > 1:
        if len(rows) > LAYERS_TO_FORESEE // 2:
            return 0
        rows.append([b - a for a, b in itertools.pairwise(rows[-1])])
    return sum(row[-1] * math.comb(more + k, k + 1) for k, row in enumerate(rows))


def _ending(targets: Ints, n: int) -> Bools:
    """Which states a pair of length exactly n can end in, with the hypothesis free."""
    states = len(targets)
    expanded = (targets >= 0).any(axis=1)
    loops = (targets == np.arange(states)[:, None]).any(axis=1)
    if loops[expanded].all():
        return np.ones(states, bool)
    here = np.zeros(states, bool)
    here[0] = True
    met: dict[bytes, int] = {}
    for depth in range(n):
        if states <= FEW_FOR_CYCLES:
            since = met.setdefault(here.tobytes(), depth)
            if since < depth:
                return _ending(targets, since + (n - since) % (depth - since))
        after = np.zeros(states + 1, bool)
        after[targets[here]] = True
        here = after[:-1]
    return here


def _distinct(codes: Ints) -> Ints:
    """The distinct codes in order, by sorting: many are new, which is slow for a table of them."""
    ordered: Ints = np.sort(codes)
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


class _Found:
    """The states found so far."""

    def __init__(self, name: str, view: View, pairs: int, max_states: int | None) -> None:
        self.name, self.view, self.max_states = name, view, max_states
        self.codes = np.array([view.start], np.int64)
        self._store = np.full((1, pairs), -1, np.int64)
        self._known = np.zeros((1, pairs), bool)
        space = getattr(view, "space_of", None)
        bounded = [] if space is None else [d.size for d in space.domains.values() if d.strict]
        self.settled = sys.maxsize if space is None else max(bounded, default=0)
        self.most = sys.maxsize if space is None else space.size
        self._lookup: NDArray[np.int32] | None = None
        self._sorted, self._order = self.codes.copy(), np.zeros(1, np.int64)

    @property
    def targets(self) -> Ints:
        """Target numbers (states, pairs), -1 where a step is not known or not taken."""
        return self._store[: len(self.codes)]

    @property
    def known(self) -> Bools:
        """Which steps (states, pairs) have been looked at."""
        return self._known[: len(self.codes)]

    def guard(self, states: int, least: bool = False) -> None:
        """Refuses a machine of so many states, or of at least so many."""
        guard_size(self.name, states, self.max_states, least)
        guard_arcs(self.name, states * self._store.shape[1], self.max_states, least)

    def guard_sampled(self) -> None:
        """Refuses a machine when a sample shows that it has too many states."""
        limit = states_within(self._store.shape[1], self.max_states)
        if limit < self.most and has_more_states(self.view, limit):
            self.guard(limit + 1, least=True)

    def expand(self, i: int, states: Ints, columns: Ints) -> None:
        """Finds where these states lead on these pairs at position i."""
        reached = self.view.advance(i, self.codes[states], columns)[0]
        numbers = self._number(reached)
        self.guard(len(self.codes))
        if len(self.codes) > len(self._store):
            shape = (len(self.codes), self._store.shape[1])
            self._store = np.concatenate([self._store, np.full(shape, -1, np.int64)])
            self._known = np.concatenate([self._known, np.zeros(shape, bool)])
        self._store[states[:, None], columns[None, :]] = numbers
        self._known[states[:, None], columns[None, :]] = True

    def _number(self, codes: Ints) -> Ints:
        """The numbers of these codes, new ones for codes not met before; -1 stays."""
        flat = codes[codes >= 0]
        if (
            self._lookup is None
            and len(self.codes) > FEW_FOR_LOOKUP
            and self.most <= LARGEST_LOOKUP
        ):
            self._lookup = np.full(self.most, -1, np.int32)
            self._lookup[self.codes] = np.arange(len(self.codes))
        if self._lookup is not None:
            fresh = _distinct(flat[self._lookup[flat] < 0])
            self._lookup[fresh] = len(self.codes) + np.arange(len(fresh), dtype=np.int32)
            self.codes = np.concatenate([self.codes, fresh])
            return np.where(codes >= 0, self._lookup[codes], -1).astype(np.int64)
        met = _distinct(flat)
        place = np.searchsorted(self._sorted, met)
        new = self._sorted[np.minimum(place, len(self._sorted) - 1)] != met
        fresh, place = met[new], place[new]
        if len(fresh):
            self._sorted = np.insert(self._sorted, place, fresh)
            numbers = len(self.codes) + np.arange(len(fresh))
            self._order = np.insert(self._order, place, numbers)
            self.codes = np.concatenate([self.codes, fresh])
        place = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(codes >= 0, self._order[place], -1)
