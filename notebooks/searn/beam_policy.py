"""The search-based initial policy of section 6.2.3: beam search for the best completion.

Finding the completion of a partial summary that has the greatest ROUGE-2 is intractable, so a beam
search stands for it (Daumé et al. 2009, section 3.4.2): the worth of an action is the best ROUGE-2
that a beam of 20 finds after it. The beams of all actions of a state move in lockstep. States of a
beam are sets, kept once in whatever order they grew, and ordered by matched bigrams, then by
matched words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import SizeLimitError, check_int, message
from searn.growth import Growth, State, actions, allowed, words_of
from searn.matches import Matches

__all__ = ["action_costs", "best_completion"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

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
    cells = count * width * size * (1 + len(growth.collection))
    if cells > MOST_BEAM_CELLS:
        must = f"beams may have at most {MOST_BEAM_CELLS:,} cells in a step"
        raise SizeLimitError(message("beam", must, f"{cells:,}", "Use fewer documents"))
    drawn = np.random.default_rng(0)
    keys: Ints = drawn.integers(1 << 62, size=(size,), dtype=np.int64)  # a set's key is their xor
    best, best_worth = starts.copy(), np.full((count, 2), -1, np.int64)
    added, beams = starts, np.arange(count)
    while len(added):
        more = allowed(growth, added)
        _keep_finished(
            growth, matches, added, beams, ~np.asarray(more.any(axis=1)), best, best_worth
        )
        rows, units = np.nonzero(more)
        if not len(rows):
            break
        grown = added[rows]
        grown[np.arange(len(rows)), units] = True
        added, beams = _kept(growth, matches, grown, beams[rows], keys, width)
    return best, best_worth[:, 0]


def _worth(growth: Growth, matches: Matches, added: Bools) -> Ints:
    """Matched bigrams and words of each state, (B, 2)."""
    return np.stack(matches.count(words_of(growth, added)), axis=1)


def _keep_finished(
    growth: Growth,
    matches: Matches,
    added: Bools,
    beams: Ints,
    finished: Bools,
    best: Bools,
    best_worth: Ints,
) -> None:
    """Takes over finished states that are better than the best of their beams."""
    rows = np.flatnonzero(finished)
    if not len(rows):
        return
    worth = _worth(growth, matches, added[rows])
    for k in np.lexsort((-worth[:, 1], -worth[:, 0])):
        beam = beams[rows[k]]
        if tuple(worth[k]) > tuple(best_worth[beam]):
            best[beam], best_worth[beam] = added[rows[k]], worth[k]


def _kept(
    growth: Growth, matches: Matches, grown: Bools, beams: Ints, keys: Ints, width: int
) -> tuple[Bools, Ints]:
    """The best states of each beam, each set once: (B', U) and their beams (B',)."""
    marks = np.bitwise_xor.reduce(np.where(grown, keys, 0), axis=1)
    order = np.lexsort((marks, beams))
    same = np.zeros(len(order), bool)
    same[1:] = (np.diff(marks[order]) == 0) & (np.diff(beams[order]) == 0)
    chosen = np.sort(order[~same])
    grown, beams = grown[chosen], beams[chosen]
    worth = _worth(growth, matches, grown)
    order = np.lexsort((-worth[:, 1], -worth[:, 0], beams))
    begins = np.searchsorted(beams[order], beams[order])
    kept = order[np.arange(len(order)) - begins < width]
    return grown[kept], beams[kept]
