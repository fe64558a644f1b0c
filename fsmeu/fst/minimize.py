"""Minimisation by OpenFst: which states of a deterministic machine no continuation tells apart.

OpenFst minimises weighted machines only up to a quantum (``delta``), after pushing weights. Outputs
are therefore written as labels: each state with an output gets one more arc, which reads the number
of that output. What is minimised is then an unweighted deterministic acceptor, and that is exact:
Revuz's algorithm if the machine is acyclic, Hopcroft's if not.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.image import fst_from_table, table_from_fst

__all__ = ["indistinguishable"]


def indistinguishable(targets: Ints, outputs: Ints) -> Ints:
    """The class of each state: states of one class have the same outputs after every continuation.

    Args:
        targets: target (states, symbols) of each step, -1 where there is none; state 0 is the
            start.
        outputs: the number of each state's output, -1 where it has none.

    Returns:
        Class numbers, the same for states of one class; -1 for states that the start does not
        reach, or that reach no output.
    """
    fst = fst_from_table(_acceptor(targets, outputs))
    fst.minimize()
    if fst.start() < 0:
        return np.full(len(targets), -1, np.int64)
    table = table_from_fst(fst, "minimised machine")
    symbols = targets.shape[1]
    steps = table.ilabel <= symbols
    after = np.full((table.states, symbols), -1, np.int64)
    after[table.source[steps], table.ilabel[steps] - 1] = table.target[steps]
    return _in_step(targets, after, table.start)


def _acceptor(targets: Ints, outputs: Ints) -> ArcTable:
    """Symbols as labels 1, 2, ..., outputs as labels after them that lead to one final state."""
    states, symbols = targets.shape
    source, symbol = np.nonzero(targets >= 0)
    ends = np.flatnonzero(outputs >= 0)
    sources = np.concatenate([source, ends])
    labels = np.concatenate([symbol + 1, outputs[ends] + symbols + 1])
    goals = np.concatenate([targets[source, symbol], np.full(len(ends), states)])
    order = np.lexsort((labels, sources))
    final = np.full(states + 1, np.inf)
    final[states] = 0.0
    label = labels[order]
    nothing = np.zeros(len(order))
    return ArcTable(0, sources[order], label, label, nothing, goals[order], final)


def _in_step(targets: Ints, after: Ints, start: int) -> Ints:
    """The state of the second machine when the first is in each of its states."""
    partner = np.full(len(targets), -1, np.int64)
    partner[0] = start
    frontier = np.zeros(1, np.int64)
    while len(frontier):
        reached, partners = targets[frontier], after[partner[frontier]]
        fresh = (reached >= 0) & (partners >= 0)
        fresh &= partner[reached] < 0
        partner[reached[fresh]] = partners[fresh]
        frontier = np.unique(reached[fresh])
    return partner
