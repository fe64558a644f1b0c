"""The k most probable sequences where a sequence may have several paths, as in a mixture.

The weight of a sequence is then a sum over its paths, and determinising such a machine first can
take exponentially many states. Instead prefixes are extended best first (A*): a prefix is worth
sum over s of w(s) h(s), with w(s) the weight of its paths to state s and h(s) at least the weight
of any one sequence read from s on. No sequence can beat the bound of its prefix, so the first k
whole sequences to leave the queue are the best.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from fsmeu.errors import SizeLimitError
from fsmeu.fst.layers import Floats, Ints, Layer, Layered
from fsmeu.limits import MAX_PREFIXES
from fsmeu.models.checks import check_arcs
from fsmeu.models.distances import log_sums, logarithm
from fsmeu.models.marginals import probability

__all__ = ["MAX_PREFIXES", "best_first"]

_Prefix = tuple[int, ...]


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
            bound = _log_sum(log_weights + bounds[len(prefix)])
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


def _log_sum(values: Floats) -> float:
    return float(log_sums(np.zeros(len(values), np.int64), values, 1)[0])


def _too_many(limit: int, found: int, k: int) -> SizeLimitError:
    return SizeLimitError(
        f"most_probable: sequence {found + 1} of {k} is not settled after {limit:,} prefixes, "
        "which is the limit for models that read one sequence along several paths. Ask for fewer "
        "sequences, or raise the limit with best_first(model.layered(), k, max_prefixes=...)."
    )
