"""Growing a summary (Daumé et al. 2009, section 6.2.1): units added once their parents are.

In vine growth a unit is a word, and its parent the head in the dependency tree: the root of any
sentence may be added, and any child of an added word, until the word limit is reached. In sentence
extraction a unit is a sentence and has no parent. A state is the tuple of the units added, sorted:
in which order they came makes no difference to what can follow.

The search-based initial policy of section 6.2.3: finding the completion of a partial summary that
has the greatest ROUGE-2 is intractable, so a beam search stands for it (section 3.4.2): the value
of an action is the best ROUGE-2 that a beam of 20 finds after it. The beams of all actions of a
state move in lockstep. States of a beam are sets, kept once in whatever order they grew, and
ordered by matched bigrams, then by matched words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Ints
from fsmeu.errors import SizeLimitError, check_int
from fsmeu.jit import jit_entry
from searn.collection import Collection
from searn.rouge import Matches

__all__ = [
    "Growth",
    "State",
    "action_costs",
    "actions",
    "allowed",
    "best_completion",
    "extraction",
    "step",
    "summary",
    "vine_growth",
    "words_of",
]

State = tuple[int, ...]


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


MOST_BEAM_CELLS = 1 << 28
"""Cells of a step of the beams of all actions of a state: truth values, a quarter of a gigabyte."""


def action_costs(
    growth: Growth, matches: Matches, state: State, width: int = 20
) -> tuple[list[int], NDArray[np.float64]]:
    """The units that may be added to a state, and what each costs, (A,).

    The cost is the loss of ROUGE-2 against the best of them, where a beam search completes each.

    Args:
        growth: the search space.
        matches: the tables of its collection.
        state: the units added so far.
        width: states that are kept at each step of a beam.

    Raises:
        SizeLimitError: the beams would be too large.
    """
    units = actions(growth, state)
    if not units:
        return [], np.empty(0)
    starts = np.zeros((len(units), len(growth.units)), bool)
    starts[:, list(state)] = True
    starts[np.arange(len(units)), units] = True
    _, found = _searched(growth, matches, starts, check_int("beam", "width", width))
    return units, (found.max() - found) / max(1, matches.total)


def best_completion(growth: Growth, matches: Matches, state: State, width: int = 20) -> State:
    """The completed summary of the greatest ROUGE-2 that a beam search from a state finds."""
    start = np.zeros((1, len(growth.units)), bool)
    start[0, list(state)] = True
    added, _ = _searched(growth, matches, start, check_int("beam", "width", width))
    return tuple(np.flatnonzero(added[0]).tolist())


def _searched(growth: Growth, matches: Matches, starts: Bools, width: int) -> tuple[Bools, Ints]:
    """The best state of each beam (A, U) and its matched bigrams (A,), from its start (A, U).

    A summary counts wherever it stops growing; adding a word may break a bigram, so states on the
    way are not answers. All summaries end when nothing more may be added.
    """
    count, size = starts.shape
    cells = count * width * size
    if cells > MOST_BEAM_CELLS:
        must = f"beams may have at most {MOST_BEAM_CELLS:,} cells in a step"
        raise SizeLimitError("beam", must, given=f"{cells:,}", remedy="Use fewer documents")
    drawn = np.random.default_rng(0)
    keys: Ints = drawn.integers(1 << 62, size=(size,), dtype=np.int64)  # a set's key is their xor
    begins = np.array([unit[0] for unit in growth.units])
    best, best_value = starts.copy(), np.full((count, 2), -1, np.int64)
    added, beams = starts, np.arange(count)
    marks = np.bitwise_xor.reduce(np.where(starts, keys, 0), axis=1)
    while len(added):
        more = allowed(growth, added)
        rows, units = np.nonzero(more)
        at = begins[units]
        own, values = matches.count(words_of(growth, added), rows, at, at + growth.sizes[units])
        for k in np.flatnonzero(~np.asarray(more.any(axis=1))).tolist():
            if tuple(own[k]) > tuple(best_value[beams[k]]):
                best[beams[k]], best_value[beams[k]] = added[k], own[k]
        kept = _kept(beams[rows], marks[rows] ^ keys[units], values, width)
        rows, units = rows[kept], units[kept]
        added, beams, marks = added[rows], beams[rows], marks[rows] ^ keys[units]
        added[np.arange(len(rows)), units] = True
    return best, best_value[:, 0]


@jit_entry
def _kept(beams: Ints, marks: Ints, values: Ints, width: int) -> Ints:
    """The best states of each beam, best first, each set once: their places among all, (K,).

    Args:
        beams: the beam of each state, never falling, (C,).
        marks: the key of its set, (C,).
        values: its matched bigrams and words, (C, 2).
        width: how many are kept of each beam.
    """
    score = values[:, 0] * (1 << 32) + values[:, 1]
    found = np.empty(len(beams), np.int64)
    first = count = 0  # where those of the beam begin, and how many there are in all
    for k in range(len(beams)):
        if k > 0 and beams[k] != beams[k - 1]:
            first = count
        place = count
        while place > first and score[found[place - 1]] < score[k]:
            place -= 1
        same = place - 1  # the same set has the same score
        while same >= first and score[found[same]] == score[k] and marks[found[same]] != marks[k]:
            same -= 1
        is_known = same >= first and score[found[same]] == score[k]
        if is_known or place - first >= width:
            continue
        count += count - first < width
        for at in range(count - 1, place, -1):
            found[at] = found[at - 1]
        found[place] = k
    return found[:count]
