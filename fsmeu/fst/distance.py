"""Shortest distances over the real semiring, computed by OpenFst in full doubles.

``pynini.shortestdistance`` returns weights as texts of nine digits. Removing epsilons computes the
same distances, and its result is a machine, which the binary image gives bit for bit: where every
arc reads epsilon, the start's closure is the whole machine, and what is left at the start are the
summed weights of all paths. ``forward`` is what Jansche (2007, section 3.4) calls the algebraic
distance from the start; its values at the final states are the probabilities P(B_k).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.fst.image import ArcTable, fst_from_table, minus_log, table_from_fst, without_zero_arcs
from fsmeu.fst.openfst import pynini

_QUANTUM = 2.0**-60  # to which determinization rounds weights; a double has no finer digits
_DELTA = 1e-300  # differences that OpenFst takes for none; its default of 1e-6 loses mass


def total_weight(table: ArcTable, ending: Floats | float = 1.0) -> float:
    """The summed weight of all accepting paths of an acyclic machine.

    ``ending``, (states,), is a factor of any sign beside final weights; signs are summed apart.
    """
    total = 0.0
    for sign, part in signed_parts(np.asarray(ending)):
        # Every arc reads epsilon: the weight is the final one of the start.
        silent = replace(table, ilabel=0 * table.ilabel, final=table.final + minus_log(part))
        reduced = _without_epsilons(silent)
        total += sign * float(np.exp(-reduced.final[reduced.start])) if reduced.start >= 0 else 0.0
    return total


def forward(table: ArcTable) -> Floats:
    """The summed weight of all paths from the start of an acyclic machine to each state."""
    return _distances(table, np.arange(table.states) == table.start)


def backward(table: ArcTable, ending: Floats) -> Floats:
    """The summed weight of all paths from each state to the end, each times ``ending`` there.

    ``ending`` is of any sign, (states,); final weights are not looked at.
    """
    result = np.zeros_like(ending)
    turned = replace(table, source=table.target, target=table.source)
    for sign, part in signed_parts(ending):
        result += sign * _distances(turned, part)
    return result


def backward_by_end(table: ArcTable, end: Ints, ends: int) -> Floats:
    """The summed weight of all paths from each state to final ones of each kind, (ends, states).

    ``end`` is the kind of each final state, (states,), -1 elsewhere; final weights are factors. One
    removal of epsilons serves all kinds: the start of each is read by a label of its own.
    """
    finals = np.flatnonzero(end >= 0)
    turned = replace(table, source=table.target, target=table.source)
    return _distances_from(turned, end[finals], finals, np.exp(-table.final[finals]), ends)


def determinized(table: ArcTable) -> ArcTable:
    """An acyclic acceptor with one path for each sequence, whose weight sums those of its paths."""
    acceptor = fst_from_table(_without_epsilons(table))
    return table_from_fst(pynini.determinize(acceptor, delta=_QUANTUM))


def weights_of_inputs(table: ArcTable, sequences: Ints) -> Floats:
    """The summed weight of the accepting paths that read each sequence, (sequences,)."""
    weight = np.zeros(len(sequences))
    single = determinized(table)
    if single.start < 0 or not len(sequences):
        return weight
    labels = 1 + int(max(single.ilabel.max(initial=0), sequences.max(initial=0)))
    arc = np.full((single.states, labels), -1)
    arc[single.source, single.ilabel] = np.arange(single.arcs)
    state = np.full(len(sequences), single.start)
    costs = np.append(single.weight, np.inf)
    targets = np.append(single.target, single.start)
    for column in sequences.T:  # arc -1, which costs inf, stands for none
        taken = arc[state, column]
        weight += costs[taken]
        state = targets[taken]
    total: Floats = np.exp(-(weight + single.final[state]))
    return total


def signed_parts(numbers: Floats) -> Iterator[tuple[float, Floats]]:
    """Signs with the sizes of the numbers of that sign, 0 elsewhere; none where all are 0."""
    for sign in (1.0, -1.0):
        part = np.maximum(sign * numbers, 0.0)
        if part.any():
            yield sign, part


def _distances(table: ArcTable, first: Floats | Bools) -> Floats:
    """The summed weight of all paths to each state from a start with these weights, (states,)."""
    heads = np.flatnonzero(first)
    weights = np.asarray(first[heads], np.float64)
    distances: Floats = _distances_from(table, np.zeros_like(heads), heads, weights, 1)[0]
    return distances


def _distances_from(
    table: ArcTable, start: Ints, heads: Ints, weights: Floats, starts: int
) -> Floats:
    """The summed weight of all paths to each state from each of several starts, (starts, states).

    Arrays say of which start each head is one, and with which weight.
    """
    # Each state gets one arc that reads its own number, to a final state, and each start is read
    # by its number; all others read epsilon.
    states = np.arange(table.states)
    kinds = np.arange(starts)
    begin = table.states + starts
    end = table.states + starts + 1
    source = np.concatenate([table.source, states, table.states + start, np.full(starts, begin)])
    order = np.argsort(source, kind="stable")
    silent = np.zeros(len(heads), np.int64)
    labels = np.concatenate([np.zeros_like(table.source), states + 1, silent, kinds + 1])[order]
    free = np.zeros(len(states))
    weight = np.concatenate([table.weight, free, minus_log(weights), np.zeros(starts)])[order]
    target = np.concatenate([table.target, np.full(len(states), end), heads, table.states + kinds])[
        order
    ]
    final = np.append(np.full(begin + 1, np.inf), 0.0)
    table = ArcTable(begin, source[order], labels, labels, weight, target, final)
    reduced = _without_epsilons(table)
    distances = np.zeros((starts, len(states)))
    leaving = reduced.source == reduced.start
    for kind, state in zip(reduced.ilabel[leaving] - 1, reduced.target[leaving], strict=True):
        arcs = slice(reduced.offsets[state], reduced.offsets[state + 1])
        mass = np.exp(-reduced.weight[arcs])
        distances[kind] = np.bincount(reduced.ilabel[arcs] - 1, mass, minlength=len(states))
    return distances


def _without_epsilons(table: ArcTable) -> ArcTable:
    """An equivalent machine without epsilons, by OpenFst; both tapes read the input labels."""
    fst = fst_from_table(without_zero_arcs(replace(table, olabel=table.ilabel)))
    in_order = bool((table.source < table.target).all())  # else OpenFst looks for an order itself
    return table_from_fst(fst.rmepsilon(delta=_DELTA, queue_type="state" if in_order else "auto"))
