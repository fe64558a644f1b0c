"""Questions that are sums over the paths of layers: distances, probabilities, samples.

``forward`` and ``backward`` are distances in the real semiring. ``normalize`` works with logarithms
and so takes layers of any scale.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, SizeLimitError, as_whole, message
from fsmeu.fst.layers import Layer, Layered, all_weights, check_layers, in_logs
from fsmeu.limits import MAX_DENSE_ENTRIES
from fsmeu.models.checks import check_arcs, count

_MAX_PREFIXES = 200_000
_LEAST = 1e-290  # products below may have lost digits
"""Prefixes that are extended for the most probable sequences, where a sequence has many paths."""

# -- distances -------------------------------------------------------------------------------------


def forward(layered: Layered) -> tuple[Floats, ...]:
    """For layers 0, ..., n: the weight of all paths from the start to each state."""
    check_layers(layered)
    values = [layered.start]
    for layer in layered.layers:
        mass = values[-1][layer.source] * layer.weight
        values.append(group_sums(layer.target, mass, layer.width))
    return tuple(values)


def backward(layered: Layered) -> tuple[Floats, ...]:
    """For layers 0, ..., n: the weight of all paths from each state to the end."""
    check_layers(layered)
    values = [layered.final]
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        mass = values[-1][layer.target] * layer.weight
        values.append(group_sums(layer.source, mass, width))
    return tuple(values[::-1])


def total(layered: Layered) -> float:
    """The weight of all paths."""
    return float(forward(layered)[-1] @ layered.final)


def log_total(layered: Layered) -> float:
    """The logarithm of the weight of all paths, -inf when there is none."""
    return _pushed(layered)[1]


def normalize(layered: Layered, where: str = "model") -> Layered:
    """The same acceptor with total weight 1 and the weights pushed towards the start.

    Start weights then sum to 1, and so do the arcs that leave a state that can reach the end; final
    weights are 1. The arcs keep their order. An EmptyError if no path has positive weight.
    """
    return normalized(layered, where)[0]


def normalized(layered: Layered, where: str = "model") -> tuple[Layered, float]:
    """The same acceptor as ``normalize`` gives it, and the logarithm of the weight of all paths."""
    pushed, whole = _pushed(layered)
    if whole == -np.inf:
        raise EmptyError(message(where, "at least one sequence must have positive weight"))
    return pushed, whole


def _pushed(layered: Layered) -> tuple[Layered, float]:
    """The acceptor with conditional probabilities, and the logarithm of the weight of all paths.

    From the end to the start: what leaves a state, as shares of the backward distance from there.
    These distances are shifted in each layer so that the greatest logarithm is 0.
    """
    check_layers(layered)
    logs = in_logs(layered)
    behind, whole = _shifted(logs.final)
    layers = []
    for layer, width in zip(logs.layers[::-1], logs.widths[-2::-1], strict=True):
        shares, sums = _shares(layer.source, layer.weight + behind[layer.target], width)
        layers.append(replace(layer, weight=shares))
        behind, shift = _shifted(sums)
        whole += shift
    start, sums = _shares(np.zeros(len(logs.start), np.int64), logs.start + behind, 1)
    final = np.isfinite(logs.final).astype(np.float64)
    pushed = Layered(logs.alphabet, start, tuple(layers[::-1]), final, logs.unambiguous)
    return pushed, whole + float(sums[0])


def _shifted(values: Floats) -> tuple[Floats, float]:
    """The values minus their greatest, and that; nothing to shift if none is finite."""
    top = float(values.max(initial=-np.inf))
    return (values - top, top) if np.isfinite(top) else (values, top)


def group_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """The sums of the values within each group, (groups,)."""
    sums: Floats = np.bincount(group, values, groups)  # type: ignore[assignment]
    return sums


def _shares(group: Ints, values: Floats, groups: int) -> tuple[Floats, Floats]:
    """exp(values) as shares of the sum of their group, and logarithms of the sums, (groups,)."""
    maxima = np.full(groups, -np.inf)
    np.maximum.at(maxima, group, values)
    maxima[maxima == -np.inf] = 0.0
    scaled = np.exp(values - maxima[group])
    sums = group_sums(group, scaled, groups)
    divisors = np.where(sums > 0, sums, 1.0)
    return scaled / divisors[group], np.where(sums > 0, maxima + np.log(divisors), -np.inf)


def log_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Logarithms of the sums of exp(values) within each group, (groups,)."""
    return _shares(group, values, groups)[1]


def logarithm(array: Floats) -> Floats:
    """The natural logarithm, -inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(array)


# -- probabilities ---------------------------------------------------------------------------------


def _scaled_probability(layered: Layered, indices: Ints) -> tuple[float, int]:
    """The weight of a label sequence as (mantissa, exponent): mantissa * 2**exponent.

    The powers of two keep long sequences from underflow without rounding.
    """
    if len(indices) != layered.n:
        must = f"must have {layered.n} labels, as the model has"
        raise InputError(message("sequence", must, f"{len(indices)} labels"))
    mass, exponent = layered.start, 0
    for layer, label in zip(layered.layers, indices, strict=True):
        on = layer.label == label
        mass = group_sums(layer.target[on], mass[layer.source[on]] * layer.weight[on], layer.width)
        power = math.frexp(float(mass.max(initial=0.0)))[1]
        mass, exponent = np.ldexp(mass, -power), exponent + power
    return float(mass @ layered.final), exponent


def probability(layered: Layered, indices: Ints) -> float:
    """The weight of a label sequence, summed over its paths."""
    mantissa, exponent = _scaled_probability(layered, indices)
    return math.ldexp(mantissa, exponent)


def log_probability(layered: Layered, indices: Ints) -> float:
    """The natural logarithm of the weight of a label sequence, -inf when it is 0."""
    mantissa, exponent = _scaled_probability(layered, indices)
    return math.log(mantissa) + exponent * math.log(2.0) if mantissa > 0 else -math.inf


def marginals(layered: Layered) -> Floats:
    """P(y_i = l) as an array of shape (n, L), relative to the weight of all paths."""
    before, after = forward(layered), backward(layered)
    whole = float(before[-1] @ layered.final)
    if not whole > 0:
        raise EmptyError(message("model", "at least one sequence must have positive weight"))
    rows = np.zeros((layered.n, len(layered.alphabet)))
    for k, layer in enumerate(layered.layers):
        mass = before[k][layer.source] * layer.weight * after[k + 1][layer.target]
        rows[k] = group_sums(layer.label, mass, rows.shape[1])
    return rows / whole


# -- samples ---------------------------------------------------------------------------------------


def sample(layered: Layered, size: int, seed: int | np.random.Generator | None = None) -> Ints:
    """Label sequences drawn in proportion to their weights, as indices of shape (size, n)."""
    size = count(size, "sample size")
    check_arcs("sample", size * layered.n, "labels")
    random = _generator(seed)
    pushed = normalize(layered)
    nowhere, everyone = np.zeros(len(pushed.start), np.int64), np.zeros(size, np.int64)
    state = _pick(nowhere, pushed.start, 1, everyone, random)
    drawn = np.empty((size, layered.n), np.int64)
    for k, layer in enumerate(pushed.layers):
        arc = _pick(layer.source, layer.weight, pushed.widths[k], state, random)
        drawn[:, k] = layer.label[arc]
        state = layer.target[arc]
    return drawn


def _generator(seed: object) -> np.random.Generator:
    """A generator of random numbers; numpy is asked only with what it is known to take."""
    sources = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
    if seed is None or isinstance(seed, sources):
        return np.random.default_rng(seed)
    number = as_whole(seed, least=0)
    if number is None:
        must = "must be a whole number, at least 0, or a numpy Generator"
        raise InputError(message("sample seed", must, seed))
    return np.random.default_rng(number)


def _pick(
    group: Ints, weight: Floats, groups: int, wanted: Ints, random: np.random.Generator
) -> Ints:
    """For each wanted group, a random member: an index into ``group`` and ``weight``.

    The weights of a group sum to 1, so the running sum of all weights, sorted by group, holds the
    distribution of group g between two whole numbers. Members of weight 0 are left out first.
    """
    members = np.flatnonzero(weight > 0)
    members = members[np.argsort(group[members], kind="stable")]
    sizes = np.bincount(group[members], minlength=groups)
    ends = np.cumsum(sizes)
    sums = np.concatenate(([0.0], np.cumsum(weight[members])))
    low, high = sums[ends - sizes][wanted], sums[ends][wanted]
    point = low + random.random(len(wanted)) * (high - low)
    at = np.searchsorted(sums[1:], point, side="right")
    picked: Ints = members[np.clip(at, (ends - sizes)[wanted], ends[wanted] - 1)]
    return picked


# -- dense tables ----------------------------------------------------------------------------------


def dense_tables(layered: Layered, limit: int = MAX_DENSE_ENTRIES) -> Floats | None:
    """The arc weights as an array T[i, s, l, t]; None if it needs more than ``limit`` entries.

    T has shape (n, M, L, M), M being the greatest width. T[i, s, l, t] is the summed weight of the
    arcs of position i from state s with label l to state t; states past a layer's width have none.
    """
    check_layers(layered)
    width, labels = max(layered.widths), len(layered.alphabet)
    if layered.n * width * labels * width > limit:
        return None
    tables = np.zeros((layered.n, width, labels, width))
    for table, arcs in zip(tables, layered.layers, strict=True):
        np.add.at(table, (arcs.source, arcs.label, arcs.target), arcs.weight)
    return tables


_Prefix = tuple[int, ...]


# -- the most probable sequences -------------------------------------------------------------------
#
# OpenFst's shortest path has weights of 32 bits, too coarse to tell near ties apart in long
# sequences. Here a weight is a double and a power of two, so nothing underflows, and a product of
# n factors is off by n roundings at most. The search runs from the end to the start. An *entry* is
# one of the at most k best ways to finish from a state; entries of one layer are parallel arrays,
# sorted by state and then from best to worst.
#
# Where a sequence may have several paths, as in a mixture, its weight is a sum over them. Prefixes
# are then extended best first (A*): the bound of a prefix is the sum over s of w(s) h(s), with
# w(s) the weight of its paths to state s and h(s) at least the weight of any one sequence read
# from s on. No sequence can beat the bound of its prefix, so the first k that leave the queue are
# the best.


def most_probable(layered: Layered, k: int = 1) -> list[tuple[Ints, float]]:
    """The k distinct label sequences of greatest weight, none of weight 0, with their weights.

    Best first; sequences of equal weight are in the order of their label indices.
    """
    k = count(k, "most_probable: k")
    if k == 0:
        return []
    if not layered.unambiguous:
        return best_first(layered, k)
    [best] = best_paths(layered, all_weights(layered)[None]) if k == 1 else [None]
    if best is not None:
        return [best]
    steps = [_ends(layered.final)]
    for layer in layered.layers[::-1]:
        steps.append(_extend(layer, steps[-1], k))
    first = _starts(layered.start, steps[-1], k)
    return _read(first, steps[::-1], layered.n)


def best_paths(layered: Layered, weights: Floats) -> list[tuple[Ints, float] | None]:
    """The label sequence of greatest weight of each of several models, with its weight.

    None where it is not told apart by this: every weight is 0, a product is too small for doubles,
    or paths of equal weight part in states, not in labels. Backward values are scaled by powers of
    two, so that products are rounded as those of entries are.

    Args:
        layered: an unambiguous acceptor with the arcs of all models.
        weights: the weights of each model, as ``all_weights`` lists them, (models, weights).
    """
    end, rows = weights.shape[1] - len(layered.final), np.arange(len(weights))
    beyond, powers, settled = weights[:, end:], np.zeros(len(weights), int), rows >= 0
    taken = list[tuple[Floats, Floats]]()  # products by arc, their maxima by state
    by_source: dict[int, tuple[Ints, Ints, Ints]] = {}
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        part, end = weights[:, end - len(layer.source) : end], end - len(layer.source)
        product, best = part * beyond[:, layer.target], np.zeros((len(weights), width))
        settled &= ((product >= _LEAST) | (part == 0) | (beyond[:, layer.target] == 0)).all(axis=1)
        if id(layer.source) not in by_source:  # positions of a chain share it
            order = np.argsort(layer.source, kind="stable")
            by_source[id(layer.source)] = order, *np.unique(layer.source[order], return_index=True)
        order, states, first = by_source[id(layer.source)]
        if len(states):
            best[:, states] = np.maximum.reduceat(product[:, order], first, axis=1)
        _, power = np.frexp(best.max(axis=1))
        beyond, powers = np.ldexp(best, -power[:, None]), powers + power
        taken.append((product, best))
    whole = weights[:, :end] * beyond
    state, total = whole.argmax(axis=1), whole.max(axis=1)
    settled &= (total >= _LEAST) & ((whole == total[:, None]).sum(axis=1) == 1)
    labels = np.zeros((len(weights), layered.n), np.int64)
    for i, (layer, (product, best)) in enumerate(zip(layered.layers, taken[::-1], strict=True)):
        good = (layer.source == state[:, None]) & (product == best[rows, state][:, None])
        none = len(layered.alphabet)
        labels[:, i] = np.where(good, layer.label, none).min(axis=1, initial=none)
        good &= layer.label == labels[:, i, None]
        settled &= good.sum(axis=1) == 1
        state = layer.target[good.argmax(axis=1)] if len(layer.source) else state
    found = zip(labels, map(math.ldexp, total.tolist(), powers.tolist()), strict=True)
    return [one if held else None for one, held in zip(found, settled.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class _Entries:
    """Best ways to finish from the states of one layer: entries, each with its first state.

    A weight is mantissa * 2**exponent; ``rank`` is the place of the labels in alphabetical order,
    ``label`` the first of them, ``follow`` the entry of the next layer that it goes on with.
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


def best_first(
    layered: Layered, k: int, max_prefixes: int = _MAX_PREFIXES
) -> list[tuple[Ints, float]]:
    """The k label sequences of greatest weight, summed over paths, best first."""
    bounds = _suffix_bounds(layered)
    queue: list[tuple[float, _Prefix, Floats]] = []
    result: list[tuple[Ints, float]] = []
    extended = held = 0
    children: list[tuple[_Prefix, Floats]] = [((), logarithm(layered.start))]
    while len(result) < k:
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
            result.append((indices, probability(layered, indices)))
        elif extended == max_prefixes:
            raise _too_many(max_prefixes, len(result), k)
        else:
            extended += 1
            children = _extensions(layered.layers[len(prefix)], prefix, log_weights)
    return sorted(result, key=lambda pair: -pair[1])


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


def _too_many(limit: int, settled: int, k: int) -> SizeLimitError:
    return SizeLimitError(
        f"most_probable: sequence {settled + 1} of {k} is not settled after {limit:,} prefixes, "
        "which is the limit for models that read one sequence along several paths. Ask for fewer "
        "sequences, or raise the limit with best_first(model.layered(), k, max_prefixes=...)."
    )
