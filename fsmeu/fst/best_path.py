"""The path of least cost through an acyclic machine, by OpenFst, to the digits of doubles.

OpenFst finds shortest paths in the tropical semiring, whose weights are single floats. Here costs
are doubles. Distances to the end in singles are potentials: with d(s) added where an arc enters s
and taken away where it leaves, every path costs d(start) less than before, in doubles, and what is
left on the best paths is as small as the roundings of the singles were. These remainders, rounded
to singles, lose as many digits of something that is smaller by seven digits: two or three rounds
tell paths apart as doubles do (iterative refinement, Wilkinson 1963).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.image import ArcTable, fst_from_table, table_from_fst
from fsmeu.fst.openfst import Fst, pynini

_DELTA = 1e-300  # differences that OpenFst takes for none
ROUNDS = 3  # of refinement, after which paths are told apart as doubles do
COARSE = 1e-5  # what one round may miss, as a part of the sum of all costs without signs


def shortest_path(
    table: ArcTable, costs: Floats, ends: Floats, rounds: int = ROUNDS
) -> Ints | None:
    """The numbers of the arcs of a path of least cost, (length,); None where there is no path.

    Args:
        table: the machine; all its paths to a state are of one length. Its weights are not read.
        costs: what each arc costs, a number of any sign, (arcs,).
        ends: what ending in each state costs, inf where no path may end, (states,).
        rounds: how many there are; one tells paths apart as singles do (``COARSE``).
    """
    scale = _scale(costs, ends)
    left = costs / scale
    ending = ends / scale
    for left_over in range(rounds - 1, -1, -1):
        path = _best(_tropical(table, left, ending), table)
        if path is None or not left_over:
            break
        distance = _distances_to_end(table, left, ending)
        # States from which no path ends keep their arcs out by an infinite cost.
        with np.errstate(invalid="ignore"):
            left = left + distance[table.target] - distance[table.source]
            ending = ending - distance
        left = np.where(np.isfinite(left), left, np.inf)
        ending = np.where(np.isfinite(ending), ending, np.inf)
    return path


def _scale(costs: Floats, ends: Floats) -> float:
    """The greatest absolute cost, 1 where all are 0: singles hold less than doubles do."""
    return float(np.abs(np.append(costs, ends[np.isfinite(ends)])).max(initial=0.0)) or 1.0


def _best(fst: Fst, table: ArcTable) -> Ints | None:
    """The arcs of the path that OpenFst finds to be shortest in singles, if there is one."""
    in_order = bool((table.source < table.target).all())
    queue = "state" if in_order else "auto"
    found = table_from_fst(pynini.shortestpath(fst, delta=_DELTA, queue_type=queue))
    if found.start < 0:
        return None
    arcs = []
    state = found.start
    while found.offsets[state] < found.offsets[state + 1]:
        arc = int(found.offsets[state])
        arcs.append(int(found.ilabel[arc]) - 1)
        state = int(found.target[arc])
    return np.array(arcs, np.int64)


def _tropical(table: ArcTable, costs: Floats, ends: Floats) -> Fst:
    """The tropical machine with these costs, whose arcs read their own numbers from 1."""
    numbers = np.arange(1, table.arcs + 1)
    kept = np.isfinite(costs)
    return fst_from_table(
        replace(
            table,
            source=table.source[kept],
            ilabel=numbers[kept],
            olabel=numbers[kept],
            weight=costs[kept],
            target=table.target[kept],
            final=ends,
        ),
        arc_type="standard",
    )


def _distances_to_end(table: ArcTable, costs: Floats, ends: Floats) -> Floats:
    """The least cost from each state to the end, (states,), as OpenFst has it in single precision.

    It is a distance from the start of the machine turned round, whose states are numbered from the
    last: where arcs lead to greater numbers, these do so, too.
    """
    kept = np.isfinite(costs)
    finals = np.flatnonzero(np.isfinite(ends))
    states = table.states  # state s becomes states - s, behind a start that leads to the ends
    source = np.append(states - table.target[kept], np.zeros(len(finals), np.int64))
    target = np.append(states - table.source[kept], states - finals)
    weight = np.append(costs[kept], ends[finals])
    order = np.argsort(source, kind="stable")
    silent = np.zeros(len(order), np.int64)
    final = np.full(states + 1, 0.0)
    turned = ArcTable(0, source[order], silent, silent, weight[order], target[order], final)
    fst = fst_from_table(turned, arc_type="standard")
    in_order = bool((source < target).all())
    queue = "state" if in_order else "auto"
    known = pynini.shortestdistance(fst, delta=_DELTA, queue_type=queue)
    distances = np.full(states + 1, np.inf)  # the last states are left out if none leads there
    distances[: len(known)] = [float(weight) for weight in known]
    return distances[:0:-1]
