"""The reachable states of a view, numbered in order of discovery, and where each step leads."""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Bools, Ints
from fsmeu.fst.compose import guard_arcs, guard_layers, guard_size
from fsmeu.fst.layers import Layer, Layered, arcs_by_label
from fsmeu.losses.machine.view import View

__all__ = ["explore", "in_blocks"]

_STEPS_AT_ONCE = 1 << 20
"""Steps that are taken at once: 8 MB an array."""
_LAYERS_BEFORE_GUARD = 1000
"""Layers after which new states come from counts, and go on to come until the end."""


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
    for i in range(1, view.n + 1):
        fresh = np.arange(begin, len(found.codes))
        if not len(fresh):
            return
        if i > _LAYERS_BEFORE_GUARD:
            guard_layers(found.name, view.n)
        begin = len(found.codes)
        for block in in_blocks(fresh, len(columns)):
            found.expand(i, block, columns)


def in_blocks(states: Ints, symbols: int) -> list[Ints]:
    """Many states in parts, each of which takes little memory to step from on these symbols."""
    size = max(1, _STEPS_AT_ONCE // max(1, symbols))
    return [states[k : k + size] for k in range(0, len(states), size)]


def _ending(targets: Ints, n: int) -> Bools:
    """Which states a pair of length exactly n can end in, with the hypothesis free."""
    states = len(targets)
    expanded = (targets >= 0).any(axis=1)
    loops = (targets == np.arange(states)[:, None]).any(axis=1)
    if loops[expanded].all():
        return np.ones(states, bool)
    here = np.zeros(states, bool)
    here[0] = True
    marked, since, depth = here, 0, 0
    while depth < n:
        after = np.zeros(states + 1, bool)
        after[targets[here]] = True
        here, depth = after[:-1], depth + 1
        if (here == marked).all():  # the sets of states repeat (Brent 1980)
            n = depth + (n - depth) % (depth - since)
        elif depth > 2 * since:
            marked, since = here, depth
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
        self._sorted, self._order = self.codes.copy(), np.zeros(1, np.int64)

    @property
    def targets(self) -> Ints:
        """Target numbers (states, pairs), -1 where a step is not known or not taken."""
        return self._store[: len(self.codes)]

    @property
    def known(self) -> Bools:
        """Which steps (states, pairs) have been looked at."""
        return self._known[: len(self.codes)]

    def expand(self, i: int, states: Ints, columns: Ints) -> None:
        """Finds where these states lead on these pairs at position i."""
        reached = self.view.advance(i, self.codes[states], columns)[0]
        numbers = self._number(reached)
        guard_size(self.name, len(self.codes), self.max_states, least=True)
        guard_arcs(self.name, len(self.codes) * self._store.shape[1], self.max_states, least=True)
        if len(self.codes) > len(self._store):
            shape = (len(self.codes), self._store.shape[1])
            self._store = np.concatenate([self._store, np.full(shape, -1, np.int64)])
            self._known = np.concatenate([self._known, np.zeros(shape, bool)])
        self._store[states[:, None], columns[None, :]] = numbers
        self._known[states[:, None], columns[None, :]] = True

    def _number(self, codes: Ints) -> Ints:
        """The numbers of these codes, new ones for codes not met before; -1 stays."""
        met = _distinct(codes[codes >= 0])
        place = np.searchsorted(self._sorted, met)
        near = np.minimum(place, len(self._sorted) - 1)
        numbers, new = self._order[near], self._sorted[near] != met
        if new.any():
            numbers[new] = len(self.codes) + np.arange(np.count_nonzero(new))
            self._sorted = np.insert(self._sorted, place[new], met[new])
            self._order = np.insert(self._order, place[new], numbers[new])
            self.codes = np.concatenate([self.codes, met[new]])
        return np.where(codes >= 0, np.append(numbers, -1)[np.searchsorted(met, codes)], -1)
