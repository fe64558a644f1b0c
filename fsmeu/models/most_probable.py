"""The k most probable label sequences, exactly.

OpenFst's shortest path works in the tropical semiring of 32-bit floats, too coarse to tell near
ties apart in long sequences. Here a weight is a double and a power of two, so nothing underflows
and a product of n factors is off by n roundings at most.

The search runs from the end to the start. An *entry* is one of the at most k best ways to finish
from a state; entries of one layer are parallel arrays, sorted by state and then from best to worst.
Ambiguous layers, where a sequence has several paths, go to ``fsmeu.models.best_first``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsmeu.fst.layers import Floats, Ints, Layer, Layered
from fsmeu.models.best_first import best_first
from fsmeu.models.checks import check_arcs, count

__all__ = ["most_probable"]


@dataclass(frozen=True, eq=False)
class _Entries:
    """Best ways to finish from the states of one layer.

    Attributes:
        state: the state an entry starts from.
        mantissa: its weight is mantissa * 2**exponent.
        exponent: see mantissa.
        rank: place of its labels in alphabetical order within the layer; equal labels share one.
        label: index of its first label.
        follow: the entry of the next layer that it continues with.
    """

    state: Ints
    mantissa: Floats
    exponent: Ints
    rank: Ints
    label: Ints
    follow: Ints


def most_probable(layered: Layered, k: int = 1) -> list[tuple[Ints, float]]:
    """The k distinct label sequences of greatest weight, with their weights, best first.

    Sequences of weight 0 are never listed; sequences of equal weight are in the order of their
    label indices.
    """
    k = count(k, "most_probable: k")
    if k == 0:
        return []
    if not layered.unambiguous:
        return best_first(layered, k)
    steps = [_ends(layered.final)]
    for layer in layered.layers[::-1]:
        steps.append(_extend(layer, steps[-1], k))
    first = _starts(layered.start, steps[-1], k)
    return _read(first, steps[::-1], layered.n)


def _ends(final: Floats) -> _Entries:
    state = np.flatnonzero(final > 0)
    mantissa, exponent = np.frexp(final[state])
    zero = np.zeros(len(state), np.int64)
    return _Entries(state, mantissa, exponent.astype(np.int64), zero, zero, zero)


def _extend(layer: Layer, after: _Entries, k: int) -> _Entries:
    """Entries of the layer before the arcs, from those of the layer after them."""
    arcs = np.flatnonzero(layer.weight > 0)
    counts = np.bincount(after.state, minlength=layer.width)
    copies = counts[layer.target[arcs]]
    check_arcs("most_probable", int(copies.sum()), "candidates at one position")
    arc = np.repeat(arcs, copies)
    nth = np.arange(len(arc)) - np.repeat(np.cumsum(copies) - copies, copies)
    follow = (np.cumsum(counts) - counts)[layer.target[arc]] + nth
    label = layer.label[arc]
    _, rank = np.unique(label * (len(after.state) + 1) + after.rank[follow], return_inverse=True)
    return _best(
        layer.source[arc], layer.weight[arc], after, rank.astype(np.int64), label, follow, k
    )


def _starts(start: Floats, after: _Entries, k: int) -> _Entries:
    """The best entries over all start states, as entries of one state before the start."""
    follow = np.flatnonzero(start[after.state] > 0)
    zero = np.zeros(len(follow), np.int64)
    weight = start[after.state[follow]]
    return _best(zero, weight, after, after.rank[follow], zero, follow, k)


def _best(
    state: Ints, weight: Floats, after: _Entries, rank: Ints, label: Ints, follow: Ints, k: int
) -> _Entries:
    """The k best candidates of each state, sorted."""
    mantissa, power = np.frexp(weight)
    mantissa, carry = np.frexp(mantissa * after.mantissa[follow])
    exponent = after.exponent[follow] + power + carry
    order = np.lexsort((rank, -mantissa, -exponent, state))
    ordered = state[order]
    nth = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    kept = order[nth < k]
    return _Entries(
        state[kept], mantissa[kept], exponent[kept], rank[kept], label[kept], follow[kept]
    )


def _read(first: _Entries, steps: list[_Entries], n: int) -> list[tuple[Ints, float]]:
    """The label sequences that entries stand for, with their weights, from start to end."""
    sequences = np.empty((len(first.state), n), np.int64)
    entry = first.follow
    for position, step in enumerate(steps[:n]):
        sequences[:, position] = step.label[entry]
        entry = step.follow[entry]
    weights = map(math.ldexp, first.mantissa.tolist(), first.exponent.tolist())
    return list(zip(sequences, weights, strict=True))
