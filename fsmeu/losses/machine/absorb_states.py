"""Which states of a machine can stand in for others.

A state is known by the depths at which it is met and its class at each of them. Another can stand
in for it when it is met at all of these depths, and more if it likes, and has the same classes
there: whoever is sent to it instead finds the same values after every continuation. (States of
which neither covers the other stay apart; to merge those as well is to find the smallest automaton
that is consistent with a sample, which is hard.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fold"]

Ints = NDArray[np.int64]


def fold(depth: Ints, state: Ints, classes: Ints, states: int) -> Ints:
    """The state that stands in for each state; itself where no other can, -1 if it is never met.

    Args:
        depth: the depth of each unrolled state.
        state: the state that it is.
        classes: its class, numbered through all depths; -1 where no pair of length n comes through.
        states: the number of states.
    """
    met = np.flatnonzero(classes >= 0)
    order = met[np.lexsort((depth[met], state[met]))]
    counts = np.bincount(state[order], minlength=states)
    profiles = dict(
        zip(
            np.flatnonzero(counts).tolist(),
            np.split(classes[order], np.cumsum(counts[counts > 0])[:-1]),
            strict=True,
        )
    )
    stand_in = np.full(states, -1, np.int64)
    holders: dict[int, list[int]] = {}
    sets: dict[int, frozenset[int]] = {}
    for this in sorted(profiles, key=lambda s: (-len(profiles[s]), s)):
        mine = frozenset(profiles[this].tolist())
        rarest = min(mine, key=lambda c: len(holders.get(c, ())))
        found = next((s for s in holders.get(rarest, ()) if mine <= sets[s]), None)
        stand_in[this] = this if found is None else found
        if found is None:
            sets[this] = mine
            for held in mine:
                holders.setdefault(held, []).append(this)
    return stand_in
