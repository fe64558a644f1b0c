"""Arc tables: a machine as flat numpy arrays, the form in which fsmeu builds and reads automata."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FstError, message

MAX_NUMBER = 2**31 - 1
"""Greatest number of a label on a tape."""


@dataclass(frozen=True, eq=False)
class ArcTable:
    """A weighted machine in the log semiring: every weight is -log of a real number.

    Attributes:
        start: the start state, or -1 when there are no states.
        source: states that the arcs leave, in ascending order.
        ilabel: input labels as OpenFst numbers them (0 is epsilon).
        olabel: output labels.
        weight: -log of each arc's factor.
        target: states that the arcs enter.
        final: -log of each state's final weight; +inf where a state is not final.
    """

    start: int
    source: Ints
    ilabel: Ints
    olabel: Ints
    weight: Floats
    target: Ints
    final: Floats

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.final)

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return len(self.source)

    @cached_property
    def offsets(self) -> Ints:
        """Where each state's arcs begin; one entry more than there are states."""
        counts = np.bincount(self.source, minlength=self.states)
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def factor(self) -> Floats:
        """The factor of each arc, a real number."""
        return np.exp(-self.weight)

    @cached_property
    def _depths(self) -> tuple[Ints, list[Ints]]:
        """What ``by_depth`` finds, once."""
        return _by_depth(self)


def check_table(table: ArcTable, where: str) -> None:
    """Refuses, by an FstError, states, labels and weights that OpenFst would take on trust."""
    last = table.states - 1
    if not -1 <= table.start <= last:
        raise FstError(message(where, f"the start must be a state, 0 to {last}", table.start))
    if table.arcs and not (table.target.min() >= 0 and table.target.max() <= last):
        raise FstError(message(where, f"each arc must lead to a state, 0 to {last}"))
    if table.arcs and not all(
        tape.min() >= 0 and tape.max() <= MAX_NUMBER for tape in (table.ilabel, table.olabel)
    ):
        raise FstError(message(where, f"the labels of arcs must be numbers 0 to {MAX_NUMBER}"))
    if np.isnan(table.weight).any() or np.isnan(table.final).any():
        raise FstError(message(where, "each weight must be a number", "nan"))


def without_zero_arcs(table: ArcTable) -> ArcTable:
    """The machine without arcs of weight zero, which some of OpenFst's algorithms fail on."""
    kept = table.weight < np.inf
    return ArcTable(
        start=table.start,
        source=table.source[kept],
        ilabel=table.ilabel[kept],
        olabel=table.olabel[kept],
        weight=table.weight[kept],
        target=table.target[kept],
        final=table.final,
    )


def by_depth(table: ArcTable) -> tuple[Ints, list[Ints]]:
    """Depth of each state (-1 when unreachable) and the arcs that leave each depth.

    Args:
        table: a machine in which all paths to a state have the same length (a composition with a
            layered acceptor is one).

    Raises:
        FstError: two paths of different length meet in a state, or there is a cycle.
    """
    return table._depths


def _by_depth(table: ArcTable) -> tuple[Ints, list[Ints]]:
    depth = np.full(table.states, -1, np.int64)
    arcs_at: list[Ints] = []
    if table.start < 0:
        return depth, arcs_at
    frontier = np.array([table.start], np.int64)
    depth[frontier] = 0
    while True:
        arcs = _leaving(table, frontier)
        if not len(arcs):
            return depth, arcs_at
        arcs_at.append(arcs)
        reached = table.target[arcs]
        if (depth[reached] >= 0).any():
            must = "all paths to a state must have the same length (no cycles, one length only)"
            raise FstError(message("machine", must))
        order = np.arange(len(reached))
        depth[reached] = order
        frontier = reached[depth[reached] == order]
        depth[frontier] = len(arcs_at)


def _leaving(table: ArcTable, states: Ints) -> Ints:
    """Indices of the arcs that leave these states, in the order of the states."""
    begin = table.offsets[states]
    counts = table.offsets[states + 1] - begin
    ends = np.cumsum(counts)
    arcs: Ints = np.repeat(begin - ends + counts, counts) + np.arange(ends[-1])
    return arcs
