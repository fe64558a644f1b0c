"""Growing a summary (Daumé et al. 2009, section 6.2.1): units added once their parents are.

In vine growth a unit is a word, and its parent the head in the dependency tree: the root of any
sentence may be added, and any child of an added word, until the word limit is reached. In sentence
extraction a unit is a sentence and has no parent. A state is the tuple of the units added, sorted:
in which order they came makes no difference to what can follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import check_int
from searn.collection import Collection

__all__ = [
    "Growth",
    "State",
    "actions",
    "allowed",
    "extraction",
    "step",
    "summary",
    "vine_growth",
    "words_of",
]

State = tuple[int, ...]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Growth:
    """A collection with its units.

    Attributes:
        collection: the documents.
        units: the places of the words of each unit, (U,) of tuples.
        parents: the parent of each unit, -1 for none, (U,).
        limit: the greatest number of words in a summary.
    """

    collection: Collection
    units: tuple[tuple[int, ...], ...]
    parents: Ints
    limit: int

    @cached_property
    def sizes(self) -> Ints:
        """The number of words of each unit, (U,)."""
        return np.array([len(unit) for unit in self.units], np.int64)

    @cached_property
    def owners(self) -> Ints:
        """The unit that holds each word, -1 for none, (N,)."""
        found = np.full(len(self.collection), -1, np.int64)
        for number, unit in enumerate(self.units):
            found[list(unit)] = number
        return found


def words_of(growth: Growth, added: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which words stand in each summary, (..., N), of which ``added`` (..., U) are the units."""
    return np.asarray(added[..., growth.owners] & (growth.owners >= 0))


def vine_growth(collection: Collection, limit: int) -> Growth:
    """The growth word by word along the dependency trees."""
    limit = check_int("vine growth", "limit", limit)
    units = tuple((place,) for place in range(len(collection)))
    return Growth(collection, units, np.asarray(collection.heads, np.int64), limit)


def extraction(collection: Collection, limit: int) -> Growth:
    """The growth by whole sentences."""
    limit = check_int("sentence extraction", "limit", limit)
    numbers = np.asarray(collection.sentences)
    units = tuple(
        tuple(np.flatnonzero(numbers == one).tolist()) for one in np.unique(numbers).tolist()
    )
    return Growth(collection, units, np.full(len(units), -1, np.int64), limit)


def allowed(growth: Growth, added: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each unit may be added next, (..., U), where ``added`` (..., U) are there already."""
    room = growth.limit - added @ growth.sizes
    reached = np.where(growth.parents < 0, True, added[..., growth.parents])
    return ~added & reached & (growth.sizes <= room[..., None])


def actions(growth: Growth, state: State) -> list[int]:
    """The units that may be added next; none where the summary is finished."""
    added = np.zeros(len(growth.units), bool)
    added[list(state)] = True
    found: list[int] = np.flatnonzero(allowed(growth, added)).tolist()
    return found


def step(state: State, unit: int) -> State:
    """The state with one more unit."""
    return tuple(sorted((*state, unit)))


def summary(growth: Growth, state: State) -> list[str]:
    """The words of the units added, in the order of the documents."""
    places = sorted(place for unit in state for place in growth.units[unit])
    return [growth.collection.words[place] for place in places]
