"""How a position of a product is summed: equal parts of its arcs are found and done once.

Many pairs share what an arc of the acceptor does with them: it leads them to one pair and counts
the same. Their mass is added up first and multiplied once. Towards the start, arcs that are taken
together are added up once for all pairs that share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct
from fsmeu.trellis.product import ProductLayer
from fsmeu.trellis.sparse import Sparse, distinct_sets, sparse
from fsmeu.trellis.tape import TapeLayer
from fsmeu.trellis.terms import Amounts
from fsmeu.trellis.uses import Shown, Uses, uses_of

__all__ = ["Plan", "plan_layer"]

Ints = NDArray[np.int64]


@dataclass(eq=False)
class Plan:
    """The sums of one position. A counted target is an amount that is counted and a pair after.

    Attributes:
        amounts: the distinct amounts that steps count.
        most: the greatest amount that a step of the tape counts, whatever the acceptor reads.
        gather: (sets of pairs, pairs before): ones.
        arcs_to_targets: (sets of pairs, counted targets): weights.
        features: for each term, the numbers of its rows of feature values that occur.
        met: what all terms add where these references meet features of hypotheses, with these
            features and the position where that matters; kept by whoever asks.
    """

    amounts: tuple[int, ...]
    most: int
    gather: Sparse
    arcs_to_targets: Sparse
    features: tuple[Ints, ...]
    _shown: Shown
    met: dict[int, tuple[tuple[Ints, ...], int, Amounts]] = field(default_factory=dict)

    @property
    def targets(self) -> int:
        """The number of counted targets."""
        return self.arcs_to_targets.shape[1]

    @cached_property
    def feature_count(self) -> int:
        """The number of features of all terms."""
        return sum(map(len, self.features))

    @cached_property
    def scatter(self) -> Sparse:
        """The transpose of gather."""
        sets, pairs = self.gather.shape
        owner = np.repeat(np.arange(sets), np.diff(self.gather.pointers))
        return sparse(self.gather.columns, owner, (pairs, sets))

    @cached_property
    def _by_target(self) -> tuple[Sparse, list[int]]:
        return _by_target(self._shown)

    @property
    def by_target(self) -> Sparse:
        """Ones, (features of all terms, counted targets).

        For the terms whose feature is known from the counted target.
        """
        return self._by_target[0]

    @cached_property
    def others(self) -> Uses:
        """The uses of the features of all other terms."""
        return uses_of(self._shown, self._by_target[1])

    @cached_property
    def loops(self) -> tuple[Ints, ...]:
        """Rows of gather, those of arcs_to_targets with indices, and the amounts."""
        arcs, amounts = self.arcs_to_targets, np.array(self.amounts, np.int64)
        return *self.gather.rows, *arcs.rows, arcs.weight_index, amounts

    @cached_property
    def flow_loops(self) -> tuple[Ints, ...]:
        """Rows of by_target, and the loops of the other uses."""
        return *self.by_target.rows, *self.others.loops(self.arcs_to_targets)

    @cached_property
    def counting_loops(self) -> tuple[Ints, ...]:
        """The same with the pair after and the place of the amount of each entry for its column."""
        gather, members, arcs, goals, index, amounts = self.loops
        pairs = self.targets // len(amounts)
        return gather, members, arcs, goals % pairs, goals // pairs, index, amounts

    @cached_property
    def entry_features(self) -> tuple[Ints | None, ...]:
        """For each term, the place among its features of what entries of ``arcs_to_targets`` show.

        None where pairs of one set show different ones.
        """
        shown = self._shown
        entries = self.arcs_to_targets.order
        return tuple(
            None if one is None else one[entries]
            for one in (known_from(place, shown.joined, shown.arcs) for place in shown.places)
        )

    @cached_property
    def uses(self) -> Uses:
        """The uses of the features of all terms."""
        return uses_of(self._shown, range(len(self.features)))

    @cached_property
    def operations(self) -> int:
        """The greatest number of sums and products between a pair before and one after.

        What flows through a later position has passed this one forward, through an earlier one
        backward: the greater of both counts, and what counting an amount takes.
        """
        columns = int(np.bincount(self.arcs_to_targets.columns).max(initial=0))
        forward = self.gather.longest_row + columns
        backward = self.arcs_to_targets.longest_row + self.scatter.longest_row
        counting = 0 if self.amounts == (0,) else 8 + len(self.amounts)
        return max(forward, backward) + counting

    @cached_property
    def flow_operations(self) -> int:
        """The greatest number of sums and products that go into what flows through a feature."""
        other = (self.others.holders, self.others.bundles, self.others.collect)
        return 8 + max(self.by_target.longest_row, sum(matrix.longest_row for matrix in other))


def plan_layer(product: ProductLayer, tape: TapeLayer) -> Plan:
    """The plan of a position.

    Args:
        product: the arcs between pairs.
        tape: the steps of the tape at the position.
    """
    state = product.before.tape[product.source]
    counted = tape.counted[state, product.label]
    amounts, kind = distinct(counted)
    targets = max(1, len(amounts)) * len(product.after)
    goal = kind * len(product.after) + product.target
    joined, which = distinct(product.arc * max(1, targets) + goal)
    arc, target = joined // max(1, targets), joined % max(1, targets)
    number, sets, member = distinct_sets(which, product.source, len(joined))
    count, pairs = int(number.max(initial=-1)) + 1, len(product.before)
    found = [distinct(ids[state, product.label]) for ids in tape.features]
    features = tuple(one for one, _ in found)
    places = tuple(place for _, place in found)
    shown = Shown(features, places, product.source, pairs, which, arc, target, targets)
    return Plan(
        amounts=tuple(amounts.tolist()) or (0,),
        most=int(tape.counted.max(initial=0)),
        gather=sparse(sets, member, (count, pairs)),
        arcs_to_targets=sparse(number, target, (count, targets), arc),
        features=features,
        _shown=shown,
    )


def _by_target(shown: Shown) -> tuple[Sparse, list[int]]:
    """The matrix (features, counted targets) of terms that these tell apart, and other terms."""
    rows, columns, others, known = [], [], [], 0
    goal = shown.target[shown.joined]
    targets = distinct(goal)[0]
    for k, (features, place) in enumerate(zip(shown.features, shown.places, strict=True)):
        one = known_from(place, goal, shown.targets)
        if one is None:
            others.append(k)
        else:
            rows.append(known + one[targets])
            columns.append(targets)
        known += len(features)
    none = np.zeros(0, np.int64)
    shape = (known, shown.targets)
    return sparse(np.concatenate([none, *rows]), np.concatenate([none, *columns]), shape), others


def known_from(feature: Ints, owner: Ints, owners: int) -> Ints | None:
    """The feature of each owner, None where one owner has several."""
    one = np.zeros(owners, np.int64)
    one[owner] = feature
    return one if np.array_equal(one[owner], feature) else None
