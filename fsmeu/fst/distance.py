"""Shortest distances over the real semiring, on the arcs of a machine whose paths have one length.

``forward`` is what Jansche (2007, section 3.4) calls the algebraic distance from the start; its
values at the final states are the probabilities P(B_k). ``openfst_total`` asks OpenFst for the same
number in log64, as a check: pynini reads it out with nine digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.arcs import ArcTable, by_depth
from fsmeu.fst.engine import pynini

__all__ = ["backward", "forward", "openfst_total", "total_weight"]

Floats = NDArray[np.float64]


def forward(table: ArcTable) -> Floats:
    """The summed weight of all paths from the start to each state."""
    distance = np.zeros(table.states)
    if table.start < 0:
        return distance
    distance[table.start] = 1.0
    for arcs in by_depth(table)[1]:
        flow = distance[table.source[arcs]] * table.factor[arcs]
        np.add.at(distance, table.target[arcs], flow)
    return distance


def backward(table: ArcTable, ending: Floats) -> Floats:
    """The summed weight of all paths from each state to the end, each times ``ending`` there.

    Args:
        table: a machine in which all paths to a state have the same length.
        ending: what ending in each state is worth; any real numbers.
    """
    distance: Floats = ending.copy()
    for arcs in reversed(by_depth(table)[1]):
        flow = distance[table.target[arcs]] * table.factor[arcs]
        np.add.at(distance, table.source[arcs], flow)
    return distance


def total_weight(table: ArcTable) -> float:
    """The summed weight of all accepting paths, final weights included."""
    return float(forward(table) @ np.exp(-table.final))


def openfst_total(fst: pynini.Fst) -> float:
    """The total weight by OpenFst's own log64 distances (about nine digits survive pynini).

    The default ``delta`` of OpenFst drops small mass, so a tiny one is passed.
    """
    if fst.start() < 0:
        return 0.0
    distance = pynini.shortestdistance(fst, delta=1e-300, reverse=True)
    reached = fst.start() < len(distance)  # the list ends with the last state that has one
    return math.exp(-float(distance[fst.start()])) if reached else 0.0
