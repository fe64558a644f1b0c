"""The uses of features: which pairs show a feature with which arcs.

What flows through a feature is a sum, over the pairs that show it, of their mass times what the
arcs with which they show it lead to. Pairs that do so with the same arcs are added up first; sets
of pairs and of arcs that occur more than once are added up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct, distinct_rows, first_places
from fsmeu.trellis.sparse import Sparse, distinct_sets, sparse

__all__ = ["Shown", "Uses", "UsesByFeature", "uses_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """What the arcs of a position show.

    Attributes:
        features: for each term, the numbers of its rows of feature values that occur.
        places: for each term, the place among them of what each arc between pairs shows.
        source: the pair before of each arc between pairs.
        pairs: the number of pairs before.
        joined: which arcs between pairs are alike: those of one arc of the acceptor that lead to
            one counted target have one number.
        arc: the acceptor's arc of each number.
        target: the counted target of each number.
        targets: how many counted targets there are.
    """

    features: tuple[Ints, ...]
    places: tuple[Ints, ...]
    source: Ints
    pairs: int
    joined: Ints
    arc: Ints
    target: Ints
    targets: int

    @property
    def arcs(self) -> int:
        """The number of arcs that are not alike."""
        return len(self.arc)


@dataclass(frozen=True, eq=False)
class Uses:
    """The uses of the features of some terms.

    Attributes:
        holders: (sets of pairs, pairs before): ones.
        bundles: (bundles of arcs, counted targets): weights.
        holder: the set of pairs of each use.
        bundle: the bundle of arcs of each use.
        collect: (features of all terms, uses): ones.
    """

    holders: Sparse
    bundles: Sparse
    holder: Ints
    bundle: Ints
    collect: Sparse

    def loops(self, arcs: Sparse) -> tuple[Ints, ...]:
        """What loops read that have the sums over the rows of a matrix of arcs already.

        Rows of holders; rows of those bundles that are no row of the matrix, with indices; and by
        feature the holder and the sum of each use. Sums are numbered: first those over the rows of
        the matrix, then those over these bundles.

        Args:
            arcs: (sets of pairs, counted targets): weights.
        """
        number, new = _numbered_after(arcs, self.bundles)
        sizes = np.diff(self.bundles.pointers)
        pointers, entries = np.append(0, np.cumsum(sizes[new])), np.repeat(new, sizes)
        bundles = (pointers, self.bundles.columns[entries], self.bundles.weight_index[entries])
        used = self.collect.columns
        by_feature = (self.collect.pointers, self.holder[used], number[self.bundle[used]])
        return *self.holders.rows, *bundles, *by_feature

    @cached_property
    def arc_loops(self) -> tuple[Ints, ...]:
        """The uses of each feature, arc by arc, and rows of holders."""
        by = self.by_feature
        return by.pointers, by.holder, by.goal, by.arc, *self.holders.rows

    @cached_property
    def by_feature(self) -> UsesByFeature:
        """The uses of each feature, arc by arc."""
        use, bundles = self.collect.columns, self.bundles
        begin, end = bundles.pointers[self.bundle[use]], bundles.pointers[self.bundle[use] + 1]
        sizes = end - begin
        ends = np.append(0, np.cumsum(sizes))
        at = np.repeat(begin - ends[:-1], sizes) + np.arange(ends[-1])
        return UsesByFeature(
            ends[self.collect.pointers],
            np.repeat(self.holder[use], sizes),
            bundles.columns[at],
            bundles.weight_index[at],
        )


def _numbered_after(arcs: Sparse, bundles: Sparse) -> tuple[Ints, NDArray[np.bool_]]:
    """A number for each bundle, and whether it is neither a row of arcs nor an earlier bundle.

    A bundle that is a row has the number of that row; the others are numbered after the rows.
    """
    rows, sets = arcs.shape[0], arcs.shape[0] + bundles.shape[0]
    sizes = np.concatenate([np.diff(arcs.pointers), np.diff(bundles.pointers)])
    goal = np.concatenate([arcs.columns, bundles.columns])
    weight = np.concatenate([arcs.weight_index, bundles.weight_index])
    member = distinct_rows([goal, weight])[1]
    same = distinct_sets(np.repeat(np.arange(sets), sizes), member, sets)[0]
    first = first_places(same, _count(same))[same]
    new = (first == np.arange(sets)) & (first >= rows)
    number = np.where(first < rows, first, rows - 1 + np.cumsum(new)[first])
    return number[rows:], new[rows:]


@dataclass(frozen=True, eq=False)
class UsesByFeature:
    """The arcs that show each feature, as parallel arrays; those of a feature stand together.

    Attributes:
        pointers: where the arcs of each feature begin, (features + 1,).
        holder: the set of pairs that the arc leaves.
        goal: the counted target.
        arc: the acceptor's arc.
    """

    pointers: Ints
    holder: Ints
    goal: Ints
    arc: Ints


def uses_of(shown: Shown, terms: Sequence[int]) -> Uses:
    """The uses of the features of these terms."""
    begins = np.append(0, np.cumsum([len(one) for one in shown.features])).astype(np.int64)
    parts = [_uses_of_term(shown, shown.places[k], int(begins[k])) for k in terms]
    none = np.zeros(0, np.int64)
    use, pair, bundle, sets, arc, feature = (
        np.concatenate([none, *column]) for column in _numbered_through(parts)
    )
    holder, holders, holding = distinct_sets(use, pair, len(bundle))
    bundles, held = _count(sets), _count(holder)
    return Uses(
        holders=sparse(holders, holding, (held, shown.pairs)),
        bundles=sparse(sets, shown.target[arc], (bundles, shown.targets), shown.arc[arc]),
        holder=holder,
        bundle=bundle,
        collect=sparse(feature, np.arange(len(feature)), (int(begins[-1]), len(feature))),
    )


@dataclass(frozen=True, eq=False)
class _OfTerm:
    """The uses of one term.

    Attributes:
        use, pair: which pairs have which use.
        set, arc: which arcs are in which bundle.
        feature, bundle: the feature and the bundle of each use.
    """

    use: Ints
    pair: Ints
    set: Ints
    arc: Ints
    feature: Ints
    bundle: Ints


def _uses_of_term(shown: Shown, place: Ints, begin: int) -> _OfTerm:
    """The uses of a term whose first feature has this number."""
    several = max(1, _count(place))
    owners, owner = distinct(shown.source * several + place)
    bundle, sets, arc = distinct_sets(owner, shown.joined, len(owners))
    bundles = max(1, _count(bundle))
    uses, use = distinct(owners % several * bundles + bundle)
    return _OfTerm(use, owners // several, sets, arc, begin + uses // bundles, uses % bundles)


def _numbered_through(parts: Sequence[_OfTerm]) -> list[list[Ints]]:
    """The columns use, pair, bundle of a use, set, arc and feature, numbered through all terms."""
    columns: list[list[Ints]] = [[] for _ in range(6)]
    uses = bundles = 0
    for part in parts:
        moved = (
            part.use + uses,
            part.pair,
            part.bundle + bundles,
            part.set + bundles,
            part.arc,
            part.feature,
        )
        for column, values in zip(columns, moved, strict=True):
            column.append(values)
        uses += len(part.bundle)
        bundles += _count(part.bundle)
    return columns


def _count(numbers: Ints) -> int:
    """How many things are numbered 0, 1, ..., of which each occurs."""
    return int(numbers.max(initial=-1)) + 1
