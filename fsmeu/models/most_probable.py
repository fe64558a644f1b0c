"""The k most probable label sequences, exactly.

OpenFst's shortest path works in the tropical semiring of 32-bit floats, too coarse to tell near
ties apart in long sequences. Here a weight is a double and a power of two, so nothing underflows
and a product of n factors is off by n roundings at most.

The search runs from the end to the start. An *entry* is one of the at most k best ways to finish
from a state; entries of one layer are parallel arrays, sorted by state and then from best to worst.

Where a sequence may have several paths, as in a mixture, its weight is a sum over them, and
determinising such a machine first can take exponentially many states. Instead prefixes are extended
best first (A*): the bound of a prefix is the sum over s of w(s) h(s), with w(s) the weight of its
paths to state s and h(s) at least the weight of any one sequence read from s on. No sequence can
beat the bound of its prefix, so the first k whole sequences to leave the queue are the best.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import SizeLimitError
from fsmeu.fst.layers import Layer, Layered
from fsmeu.limits import MAX_PREFIXES
from fsmeu.models.checks import check_arcs, count
from fsmeu.models.paths import log_sums, logarithm, probability

_Prefix = tuple[int, ...]


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


# -- one path for each sequence --------------------------------------------------------------------


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


# -- several paths for a sequence ------------------------------------------------------------------


def best_first(
    layered: Layered, k: int, max_prefixes: int = MAX_PREFIXES
) -> list[tuple[Ints, float]]:
    """The k label sequences of greatest weight, summed over paths, best first.

    Raises:
        SizeLimitError: more than ``max_prefixes`` prefixes had to be extended.
    """
    bounds = _suffix_bounds(layered)
    queue: list[tuple[float, _Prefix, Floats]] = []
    found: list[tuple[Ints, float]] = []
    extended = held = 0
    children: list[tuple[_Prefix, Floats]] = [((), logarithm(layered.start))]
    while len(found) < k:
        for prefix, log_weights in children:
            values = log_weights + bounds[len(prefix)]
            bound = float(log_sums(np.zeros(len(values), np.int64), values, 1)[0])
            if bound > -math.inf:
                heapq.heappush(queue, (-bound, prefix, log_weights))
                held += len(prefix) + len(log_weights)
        check_arcs("most_probable", held, "numbers in its queue")
        if not queue:
            break
        _, prefix, log_weights = heapq.heappop(queue)
        held -= len(prefix) + len(log_weights)
        children = []
        if len(prefix) == layered.n:
            indices = np.array(prefix, np.int64)
            found.append((indices, probability(layered, indices)))
        elif extended == max_prefixes:
            raise _too_many(max_prefixes, len(found), k)
        else:
            extended += 1
            children = _extensions(layered.layers[len(prefix)], prefix, log_weights)
    return sorted(found, key=lambda pair: -pair[1])


def _suffix_bounds(layered: Layered) -> list[Floats]:
    """Logarithms of h: h(s) = max over labels of the sum over arcs of weight * h(target)."""
    bounds = [logarithm(layered.final)]
    labels = len(layered.alphabet)
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        group = layer.source * labels + layer.label
        sums = log_sums(group, logarithm(layer.weight) + bounds[-1][layer.target], width * labels)
        bounds.append(sums.reshape(width, labels).max(axis=1))
    return bounds[::-1]


def _extensions(layer: Layer, prefix: _Prefix, log_weights: Floats) -> list[tuple[_Prefix, Floats]]:
    """Every longer prefix, with the logarithms of the weights of its paths to each state."""
    arcs = np.flatnonzero(np.isfinite(log_weights[layer.source]) & (layer.weight > 0))
    label, target = layer.label[arcs], layer.target[arcs]
    values = log_weights[layer.source[arcs]] + logarithm(layer.weight[arcs])
    present, row = np.unique(label, return_inverse=True)
    sums = log_sums(row * layer.width + target, values, len(present) * layer.width)
    rows = sums.reshape(len(present), layer.width)
    return [((*prefix, label), row) for label, row in zip(present.tolist(), rows, strict=True)]


def _too_many(limit: int, found: int, k: int) -> SizeLimitError:
    return SizeLimitError(
        f"most_probable: sequence {found + 1} of {k} is not settled after {limit:,} prefixes, "
        "which is the limit for models that read one sequence along several paths. Ask for fewer "
        "sequences, or raise the limit with best_first(model.layered(), k, max_prefixes=...)."
    )
