"""A machine unrolled by depth, so that it has paths of one length alone.

The states of a machine for sequences of length n may be shared by several depths, which keeps it
small; what is composed with it has length n. By itself it would read other lengths as well.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fsmeu.arrays import Bools, Ints
from fsmeu.fst.compose import guard_arcs, guard_size
from fsmeu.fst.image import ArcTable


def unrolled(
    name: str, table: ArcTable, ending: Bools, n: int, inputs: Ints | None = None
) -> tuple[ArcTable, Ints, Bools]:
    """The machine of the paths of n arcs, the state behind each of its states, and where they end.

    Args:
        name: the machine, in messages.
        table: its arcs, none of which reads nothing; it starts in state 0.
        ending: the states in which paths may end, (states,).
        n: the length of the paths.
        inputs: the input labels that paths read, (n,); any by default.
    """
    arcs_at, alive = _arcs_by_depth(table, ending, n, inputs)
    sizes = [int(np.count_nonzero(states)) for states in alive]
    guard_size(f"{name}, a state for each depth", sum(sizes))
    guard_arcs(name, sum(map(len, arcs_at)))
    begins = np.cumsum([0, *sizes])
    number = [begin + np.cumsum(states) - 1 for begin, states in zip(begins, alive, strict=False)]
    sides = pairwise(number)
    ends = [(here[table.source[a]], after[table.target[a]]) for a, (here, after) in
            zip(arcs_at, sides, strict=True)]  # fmt: skip
    none = np.zeros(0, np.int64)
    arcs = np.concatenate([none, *arcs_at])
    source, target = (np.concatenate([none, *(pair[k] for pair in ends)]) for k in (0, 1))
    behind = np.concatenate([np.flatnonzero(states) for states in alive])
    is_last = np.arange(len(behind)) >= begins[n]
    is_end = is_last & ending[behind]
    final = np.where(is_end, table.final[behind], np.inf)
    labels = table.ilabel[arcs], table.olabel[arcs], table.weight[arcs]
    return ArcTable(0, source, *labels, target, final), behind, is_end


def _arcs_by_depth(
    table: ArcTable, ending: Bools, n: int, inputs: Ints | None
) -> tuple[list[Ints], list[Bools]]:
    """For each depth the arcs on paths of length n that end, and its states; the start stays."""
    reached = np.zeros(table.states, bool)
    reached[0] = True
    arcs_at = list[Ints]()
    alive = [reached]
    for depth in range(n):
        taken = alive[-1][table.source]
        if inputs is not None:
            taken = taken & (table.ilabel == inputs[depth])
        arcs_at.append(np.flatnonzero(taken))
        reached = np.zeros(table.states, bool)
        reached[table.target[arcs_at[-1]]] = True
        alive.append(reached)
    alive[n] = alive[n] & (ending | (n == 0))
    for depth in range(n - 1, -1, -1):
        arcs = arcs_at[depth]
        arcs_at[depth] = arcs = arcs[alive[depth + 1][table.target[arcs]]]
        leads = np.zeros(table.states, bool)
        leads[table.source[arcs]] = True
        leads[0] |= depth == 0
        alive[depth] = alive[depth] & leads
    return arcs_at, alive
