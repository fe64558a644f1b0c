"""The paths of least cost through an acyclic machine, by OpenFst, with a proof in doubles.

OpenFst finds shortest paths in the tropical semiring, whose weights are single floats. Here costs
are doubles. Distances to the end in singles are potentials: with d(s) added where an arc enters s
and taken away where it leaves, every path costs d(start) less than before, in doubles, and what is
left on the best paths is as small as the roundings of the singles were. These remainders, rounded
to singles, lose as many digits of something that is smaller by seven digits: two or three rounds
tell paths apart as doubles do (iterative refinement, Wilkinson 1963).

A path that is not listed is no better, in OpenFst's sums of singles, than the last one listed.
With N a bound on the negative parts of a path's remainders, its sum of absolute singles is at most
its sum plus 2 N, so that what rounding can hide is a small part of that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.image import ArcTable, fst_from_table, table_from_fst
from fsmeu.fst.openfst import Fst, pynini

_DELTA = 1e-300  # differences that OpenFst takes for none
_SINGLE = 2.0**-24  # the relative error of a single float
_DOUBLE = 2.0**-53  # the relative error of a double
_LEAST_SINGLE = 2.0**-149  # what underflow takes of one
_MOST_ROUNDS = 5
_ENOUGH = 2.0**-50  # of the greatest cost: what doubles tell apart


class BestPaths(NamedTuple):
    """The paths of least cost that were listed, best first by their costs in doubles."""

    arcs: Ints  # the numbers of their arcs, (paths, arcs of a path)
    costs: Floats  # their costs, (paths,)
    beyond: float  # no path that is not listed costs less


def least_cost(table: ArcTable, costs: Floats, ends: Floats) -> float:
    """A lower bound on the costs of all paths, by one search in singles; inf where there is none.

    Arguments are those of ``best_paths``.
    """
    scale = _scale(costs, ends)
    length = len(table.depths[1])
    left = costs / scale
    ending = ends / scale
    path = _best(table, _tropical(table, left, ending), length)
    if not len(path):
        return np.inf
    total = float(_totals(table, left, ending, path)[0])
    return scale * _least(total, length, _room(length, left, ending))


def best_paths(table: ArcTable, costs: Floats, ends: Floats, count: int) -> BestPaths:
    """The paths of least cost of a machine in layers; none where there is none.

    Args:
        table: the machine; all its paths to a state are of one length. Its weights are not read.
        costs: what each arc costs, a number of any sign, (arcs,).
        ends: what ending in each state costs, inf where no path may end, (states,).
        count: how many paths are listed, where there are as many.
    """
    scale = _scale(costs, ends)
    length = len(table.depths[1])
    left = costs / scale
    ending = ends / scale
    done = 0.0
    lost = 0.0
    for rounds in range(1, _MOST_ROUNDS + 1):
        fst = _tropical(table, left, ending)
        room = _room(length, left, ending)
        first = _best(table, fst, length)
        if not len(first):
            return BestPaths(first, np.zeros(0), np.inf)
        total = float(_totals(table, left, ending, first)[0])
        if total - _least(total, length, room) <= _ENOUGH or rounds == _MOST_ROUNDS:
            break
        distance = _distances_to_end(table, left, ending)
        farthest = float(np.abs(distance[np.isfinite(distance)]).max(initial=1.0))
        lost += 4 * _DOUBLE * (length + 1) * (1.0 + farthest)
        done += float(distance[table.start])
        # States from which no path ends keep their arcs out by an infinite cost.
        with np.errstate(invalid="ignore"):
            left = left + distance[table.target] - distance[table.source]
            ending = ending - distance
        left = np.where(np.isfinite(left), left, np.inf)
        ending = np.where(np.isfinite(ending), ending, np.inf)
    paths = _listed(pynini.shortestpath(fst, delta=_DELTA, nshortest=count), length)
    beyond = np.inf
    if len(paths) == count:
        last = float(_totals(table, left, ending, paths).max())
        beyond = scale * (done - lost + _least(last, length, room))
    totals = _totals(table, costs, ends, paths)
    order = np.argsort(totals, kind="stable")
    return BestPaths(paths[order], totals[order], beyond)


def _scale(costs: Floats, ends: Floats) -> float:
    """The greatest absolute cost, 1 where all are 0: singles hold less than doubles do."""
    return float(np.abs(np.append(costs, ends[np.isfinite(ends)])).max(initial=0.0)) or 1.0


def _best(table: ArcTable, fst: Fst, length: int) -> Ints:
    """The path that OpenFst finds to be shortest in singles, (1, length), or none."""
    in_order = bool((table.source < table.target).all())
    queue = "state" if in_order else "auto"
    return _listed(pynini.shortestpath(fst, delta=_DELTA, queue_type=queue), length)


def _totals(table: ArcTable, costs: Floats, ends: Floats, paths: Ints) -> Floats:
    """The cost of each path, (paths,), given its arcs, (paths, arcs of a path)."""
    last = table.target[paths[:, -1]] if paths.shape[1] else np.full(len(paths), table.start)
    totals: Floats = costs[paths].sum(axis=1) + ends[last]
    return totals


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


def _room(length: int, costs: Floats, ends: Floats) -> float:
    """A bound on the absolute sum of the negative costs of a path."""
    return length * max(0.0, -float(costs.min(initial=0.0))) + max(0.0, -float(ends.min()))


def _least(single: float, length: int, room: float) -> float:
    """A lower bound on the cost of all paths, given the least one in single precision."""
    share = _SINGLE * (2 * length + 8)
    least = single - share * (abs(single) + 4 * room) - (2 * length + 8) * _LEAST_SINGLE
    return min(least, least / (1.0 + share))


def _listed(shortest: Fst, length: int) -> Ints:
    """The arcs of each path, (paths, length), of a machine with one transition for each of them."""
    table = table_from_fst(shortest)
    if table.start < 0:
        return np.zeros((0, length), np.int64)
    if not length:
        return np.zeros((1, 0), np.int64)
    first = table.offsets[:-1]
    paths = []
    for arc in np.flatnonzero(table.source == table.start).tolist():
        read = []
        while True:
            if table.ilabel[arc]:
                read.append(int(table.ilabel[arc]) - 1)
            state = int(table.target[arc])
            if first[state] == table.offsets[state + 1]:
                break
            arc = int(first[state])
        paths.append(read)
    return np.array(paths, np.int64).reshape(len(paths), length)
