"""A tape composed with an acceptor: the pairs of states that are reached, and their arcs.

*Pairs* (state of the tape, state of the acceptor) are numbered in the order in which they are first
reached, so that the pairs of a layer are a prefix of all pairs. Positions whose tape and acceptor
have the same arcs are of one *kind*: a kind lists the arcs of every pair that is ever expanded at
such a position, and a position uses those that leave its own prefix. So one structure serves all
positions of all lengths, and every sentence of a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Ints
from fsmeu.errors import SizeLimitError
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import (
    by_first,
    distinct,
    distinct_rows,
    distinct_sets,
    first_places,
    row_keys,
)
from fsmeu.fst.layers import Layer
from fsmeu.trellis.tapes import Tape


@dataclass(frozen=True, eq=False)
class Composed:
    """A tape composed with an acceptor.

    The arcs of a kind are sorted by source, (columns, arcs); columns are source, weight, target,
    counted, one feature for each term, label.
    """

    kinds: list[Ints]  # the arcs of each kind of position
    kind: Ints  # the kind of each position, (n,)
    width: Ints  # pairs of each layer, (n + 1,)
    code: Ints  # the tape's state of each pair
    state: Ints  # the acceptor's state of each pair
    columns: Ints  # how many values the counter may have in each layer, (n + 1,)
    first_feature: Ints  # the first feature of each term among those of all, and their number
    at_cap: Bools  # which pairs have an age at the cap

    def all_arcs(self) -> tuple[Ints, Ints]:
        """The kind of each arc, (arcs,), and the arcs of all kinds, (columns, arcs)."""
        kind = np.repeat(np.arange(len(self.kinds)), [arcs.shape[1] for arcs in self.kinds])
        none = np.zeros((4 + len(self.first_feature), 0), np.int64)
        return kind, np.concatenate([none, *self.kinds], axis=1)


class _Kind:
    """The arcs of one kind of position, as far as pairs were expanded."""

    def __init__(self, acceptor: Layer, columns: int) -> None:
        order = np.argsort(acceptor.source, kind="stable")
        self.arc = order
        self.source = acceptor.source[order]
        self.label = acceptor.label[order]
        self.target = acceptor.target[order]
        self.degree = int(np.bincount(acceptor.source).max(initial=0))
        self.expanded = np.zeros(0, bool)
        self.parts = [np.zeros((columns, 0), np.int64)]
        self._last = self.expanded
        self._reached = self.expanded
        self._most = 0

    def fresh(self, alive: Bools) -> Ints:
        """The pairs of a layer that were not expanded yet; they count as expanded now."""
        self.expanded = _longer(self.expanded, len(alive))
        fresh = np.flatnonzero(alive & ~self.expanded)
        self.expanded[fresh] = True
        return fresh

    def reached(self, alive: Bools, fresh: Ints, pairs: int) -> tuple[Bools, int]:
        """The pairs that the arcs of a layer's pairs lead to, (pairs,), and the most they count."""
        both = _longer(self._last, len(alive))
        both[fresh] = True
        if len(fresh) and np.array_equal(both, alive):  # those of last time and new ones
            arcs = self.parts[-1]
            reached = _longer(self._reached, pairs)
            most = self._most
        else:
            arcs = self.arcs()
            arcs = arcs[:, _longer(alive, pairs)[arcs[0]]]
            reached = np.zeros(pairs, bool)
            most = 0
        reached[arcs[2]] = True
        most = max(most, int(arcs[3].max(initial=0)))
        self._last = alive
        self._reached = reached
        self._most = most
        return reached, most

    def arcs(self) -> Ints:
        """All arcs, (columns, arcs)."""
        self.parts = [np.concatenate(self.parts, axis=1)]
        return self.parts[0]

    def distinct_arcs(self) -> Ints:
        """All arcs, each once and sorted, (columns, arcs)."""
        arcs = self.arcs()
        return arcs.take(distinct_rows(list(arcs))[0], axis=1)


def _longer(truths: Bools, size: int) -> Bools:
    """The array with as many truth values, false beyond those that it has."""
    return np.append(truths, np.zeros(max(0, size - len(truths)), bool))


class _Pairs:
    """Pairs (code of the tape's state, state of the acceptor), numbered as they are reached."""

    def __init__(self, code: int, starts: int) -> None:
        self.code = np.full(starts, code, np.int64)
        self.state = np.arange(starts)
        self._number = {(code, state): state for state in range(starts)}

    def numbers(self, code: Ints, state: Ints) -> Ints:
        """The number of each pair; new ones are added in ascending order."""
        low = int(code.min(initial=0))
        first, place = distinct_rows([code - low, state])
        distinct_pairs = list(zip(code[first].tolist(), state[first].tolist(), strict=True))
        new = [pair for pair in distinct_pairs if pair not in self._number]
        self._number.update(zip(new, range(len(self.code), len(self.code) + len(new)), strict=True))
        if new:
            codes, states = np.array(new, np.int64).T
            self.code = np.append(self.code, codes)
            self.state = np.append(self.state, states)
        return np.array([self._number[pair] for pair in distinct_pairs], np.int64)[place]


def compose(
    tape: Tape,
    layers: Sequence[Layer],
    starts: int,
    *,
    weighted: bool,
    cap: float | None = None,
    stops: bool = False,
) -> Composed:
    """A tape composed with the arcs of an acceptor at each position, all pairs that are reached.

    The acceptor starts in its first states, ``starts`` of them. Arcs count whatever their weight,
    so that one structure serves all weights; ``weighted`` says whether they are told apart by it.
    With a ``cap``, pairs with an age there are known as such; with ``stops``, nothing is reached
    from them.
    """
    pairs = _Pairs(tape.start, starts)
    width = [starts]
    counts = [1]
    kind = _kinds_of(tape, layers)
    first_of_kind = first_places(kind, int(kind.max(initial=-1)) + 1).tolist()
    kinds = [_Kind(layers[i], 5 + tape.terms) for i in first_of_kind]
    alive = np.ones(starts, bool)
    repeats = False
    most = 0
    cells = 0
    for i in range(len(layers)):
        if not (repeats and kind[i] == kind[i - 1]):
            here = kinds[kind[i]]
            before = alive
            if cap is not None and stops:
                alive = alive & ~tape.at_cap(pairs.code[: len(alive)], cap)
            fresh = here.fresh(alive)
            if len(fresh):
                cells += len(fresh) * here.degree
                _guard_arcs(cells, i)
                here.parts.append(_expanded(tape, i, pairs, fresh, here, weighted))
            alive, most = here.reached(alive, fresh, len(pairs.code))
            repeats = np.array_equal(alive, before)
        width.append(len(pairs.code))
        counts.append(counts[-1] + most)
    first = np.cumsum([0, *(len(tape.rows(k)) for k in range(tape.terms))])
    tables = [here.distinct_arcs() for here in kinds]
    at_cap = np.zeros(len(pairs.code), bool) if cap is None else tape.at_cap(pairs.code, cap)
    return Composed(
        tables, kind, np.array(width), pairs.code, pairs.state, np.array(counts), first, at_cap
    )


def _kinds_of(tape: Tape, layers: Sequence[Layer]) -> Ints:
    """The kind of each position, (n,), by its context and arcs; numbered as they come."""
    number: dict[tuple[object, ...], int] = {}
    kind = np.zeros(len(layers), np.int64)
    for i, layer in enumerate(layers):
        arcs = (array.tobytes() for array in (layer.source, layer.label, layer.target))
        kind[i] = number.setdefault((tape.contexts[i], *arcs), len(number))
    return kind


class LayersTooLargeError(SizeLimitError):
    """The first positions alone have more arcs than are built; ``positions`` says how many."""

    positions: int = 0


def _guard_arcs(arcs: int, position: int) -> None:
    """Refuses so many arcs up to a position, counted from 0."""
    try:
        guard_size("decode", arcs * limits.STATES_PER_ARC)
    except SizeLimitError as error:
        found = LayersTooLargeError(error.where, error.must, given=error.given, remedy=error.remedy)
        found.positions = position + 1
        raise found from None


def _expanded(tape: Tape, i: int, pairs: _Pairs, fresh: Ints, kind: _Kind, weighted: bool) -> Ints:
    """The arcs that leave some pairs at a position, (columns, arcs); pairs after are numbered."""
    codes, place = distinct(pairs.code[fresh])
    steps = tape.steps(i, codes)
    begins, ends = (np.searchsorted(kind.source, pairs.state[fresh], s) for s in ("left", "right"))
    counts = ends - begins
    source = np.repeat(np.arange(len(fresh)), counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    arc = np.repeat(begins, counts) + within
    label = kind.label[arc]
    state = place[source]
    reached = steps.targets[state, label]
    taken = reached >= 0
    source, arc, label, state, reached = (
        column[taken] for column in (source, arc, label, state, reached)
    )
    target = pairs.numbers(reached, kind.target[arc])
    weight = kind.arc[arc] if weighted else np.zeros_like(arc)
    shown = [table[state, label] for table in (steps.counted, *steps.features)]
    return np.stack([fresh[source], weight, target, *shown, label])


def merged_at_cap(composed: Composed) -> Composed:
    """The composition in which pairs at the cap with one state of the acceptor are one pair.

    It has the arcs of all of them, so that it has more paths, and a maximum over its paths is an
    upper bound; one that is reached by a path which does not go through such a pair is exact.
    """
    if np.count_nonzero(composed.at_cap) < 2:
        return composed
    representative = np.arange(len(composed.code))
    places = np.flatnonzero(composed.at_cap)
    first, number = distinct_rows([composed.state[places]])
    representative[places] = places[first[number]]
    return _with_representatives(composed, representative)


def quotient_of(composed: Composed, adds: Bools) -> Composed:
    """The composition in which pairs that no continuation tells apart are one pair.

    Pairs are told apart by labels, what is counted, features that add to joint counts (``adds``,
    by feature), and the acceptor's state at the end; those that are never expanded at the same kind
    of position are, too (Moore 1956).
    """
    none = int(composed.first_feature[-1])
    number = np.where(adds, np.arange(none), none)
    kind, arcs = composed.all_arcs()
    shown = number[arcs[4:-1] + composed.first_feature[:-1, None]]
    fixed = distinct_rows([kind, arcs[3], arcs[-1], *shown])[1]
    class_of = distinct(composed.state)[1]
    count = 0
    while count < (now := int(class_of.max()) + 1):
        count = now
        class_of = _refined(class_of, fixed, arcs)
    return _with_representatives(composed, first_places(class_of, count)[class_of])


def _refined(class_of: Ints, fixed: Ints, arcs: Ints) -> Ints:
    """Classes told apart by what their arcs do (``fixed``), and the classes that these lead to."""
    member = distinct_rows([fixed, class_of[arcs[2]]])[1]
    first = distinct_rows([arcs[0], member])[0]
    sets = distinct_sets(arcs[0][first], member[first], len(class_of))[0]
    return distinct_rows([class_of, sets])[1]


def _with_representatives(composed: Composed, representative: Ints) -> Composed:
    """The composition with each pair replaced by its representative, the first of a class."""
    kept = representative == np.arange(len(representative))
    rank = (np.cumsum(kept) - 1)[representative]
    kinds = []
    for arcs in composed.kinds:
        moved = arcs.copy()
        moved[0] = rank[arcs[0]]
        moved[2] = rank[arcs[2]]
        once = distinct_rows(list(moved))[0] if moved.shape[1] else np.zeros(0, np.int64)
        kinds.append(moved.take(once, axis=1))
    return replace(
        composed,
        kinds=kinds,
        width=np.append(0, np.cumsum(kept))[composed.width],
        code=composed.code[kept],
        state=composed.state[kept],
        at_cap=composed.at_cap[kept],
    )


def classes_of(composed: Composed) -> Ints:
    """The coarsest classes of pairs that have one future, numbered by their first pair.

    A pair that is never expanded is in the last layer only, where the acceptor's state is all that
    matters: it joins its source, where the same arc leads to that as well (an age goes on), so that
    it splits no class; or any pair with that state.
    """
    kind, arcs = composed.all_arcs()
    source, weight, target, counted = arcs[:4]
    fixed = distinct_rows([kind, weight, counted])[1]
    class_of = distinct(composed.state)[1]
    expanded = np.zeros(len(class_of), bool)
    expanded[source] = True
    joins = np.full(len(class_of), -1)
    ends = row_keys([np.tile(kind, 2), np.append(source, target), np.tile(weight, 2)])
    again = ~expanded[target] & np.isin(ends[: len(kind)], ends[len(kind) :])
    joins[target[again]] = source[again]
    count = 0
    while True:
        refined = _refined(class_of, fixed, arcs)
        latest = np.full(int(class_of.max()) + 1, -1)
        latest[class_of[expanded]] = np.flatnonzero(expanded)
        sibling = np.where(joins < 0, latest[class_of], joins)
        refined = np.where(expanded | (sibling < 0), refined, refined[sibling])
        class_of = distinct(refined)[1]
        now = int(class_of.max()) + 1
        if now == count:
            return by_first(class_of)
        count = now


def features_met(composed: Composed) -> Iterator[Bools]:
    """Which features, of all terms, steps at each position show, (features,).

    Positions one after the other that show the same have the same array.
    """
    alive = np.zeros(len(composed.code), bool)
    alive[: composed.width[0]] = True
    before = shown = np.zeros(0, bool)
    kind_before = -1
    for kind in composed.kind.tolist():
        if kind != kind_before or not np.array_equal(alive, before):
            arcs = composed.kinds[kind]
            taken = arcs[:, alive[arcs[0]]]
            shown = np.zeros(int(composed.first_feature[-1]), bool)
            shown[taken[4:-1] + composed.first_feature[:-1, None]] = True
            before = alive
            kind_before = kind
            alive = np.zeros_like(before)
            alive[taken[2]] = True
        yield shown


class Features(NamedTuple):
    """What arcs show: for each term a number among the features of all terms, or ``none``.

    A feature belongs to the *target* of a step where that tells it, and to its *source* otherwise.
    """

    of_target: Ints  # by pair after, (pairs, terms)
    of_source: Ints  # by arc, (arcs, terms)
    none: int


def features_of(features: Ints, target: Ints, pairs: int, first: Ints, adds: Bools) -> Features:
    """The features of arcs, (terms, arcs), that add something, by whether their targets tell them.

    ``first`` has the first feature of each term among those of all, and their number, which stands
    for ``none``.
    """
    none = int(first[-1])
    number = np.where(adds, np.arange(none), none)
    of_target = np.full((pairs, len(features)), none)
    of_source = np.full((len(target), len(features)), none)
    for t, feature in enumerate(features):
        shown = number[feature + first[t]]
        of_target[target, t] = shown
        is_told = np.ones(pairs, bool)  # whether all arcs to a pair show the same
        is_told[target[of_target[target, t] != shown]] = False
        of_target[~is_told, t] = none
        of_source[:, t] = np.where(is_told[target], none, shown)
    return Features(of_target, of_source, none)


def begins_of(keys: Ints, count: int) -> Ints:
    """Where the rows of 0, ..., count - 1 begin among sorted keys, and the end, (count + 1,)."""
    return np.searchsorted(keys, np.arange(count + 1))
