"""Questions that are sums over the paths of layers: distances, probabilities, samples.

``forward`` and ``backward`` are distances in the real semiring. ``normalize`` works with logarithms
and so takes layers of any scale.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, SizeLimitError, as_whole, check_int
from fsmeu.fst.layers import Layer, Layered, LogLayered, arc_weights, check_layers
from fsmeu.models.checks import check_arcs

_LEAST = 1e-290  # products below may have lost digits

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
    return normalized(layered, None)[1]


def normalize(layered: Layered, where: str = "model") -> Layered:
    """The same acceptor with total weight 1 and the weights pushed towards the start.

    Start weights then sum to 1, and so do the arcs that leave a state that can reach the end; final
    weights are 1. The arcs keep their order. An EmptyError if no path has positive weight.
    """
    return normalized(layered, where)[0]


def normalized(layered: Layered, where: str | None = "model") -> tuple[Layered, float]:
    """The same acceptor as ``normalize`` gives it, and the logarithm of the weight of all paths.

    From the end to the start: what leaves a state, as fractions of the backward score from there.
    Logarithms of weights and scores are shifted in each layer so that the greatest is 0. An
    acceptor without paths is refused if it is said ``where`` it comes from.
    """
    check_layers(layered)
    is_logs = isinstance(layered, LogLayered)
    scores = layered.final if is_logs else logarithm(layered.final)
    log_sum = 0.0
    layers = []
    states = np.arange(len(layered.start))
    none = np.zeros(len(layered.start), np.int64)
    start = Layer(none, none, states, layered.start, len(states))
    steps = zip((start, *layered.layers), (1, *layered.widths[:-1]), strict=True)
    for layer, width in reversed(list(steps)):
        weights = layer.weight if is_logs else logarithm(layer.weight)
        shifts = _greatest_finite(scores), _greatest_finite(weights)
        log_sum += sum(shifts)
        values = (weights - shifts[1]) + (scores - shifts[0])[layer.target]
        fractions, scores = _fractions(layer.source, values, width)
        layers.append(replace(layer, weight=fractions))
    final = layered.final if is_logs else logarithm(layered.final)
    ends = np.isfinite(final).astype(np.float64)
    first = layers[-1].weight
    pushed = Layered(layered.alphabet, first, tuple(layers[-2::-1]), ends)
    log_sum += float(scores[0])
    if log_sum == -np.inf and where is not None:
        raise EmptyError(where, "at least one sequence must have positive weight")
    return pushed, log_sum


def _greatest_finite(numbers: Floats) -> float:
    """The greatest of the numbers that are finite, or 0."""
    top = float(numbers.max(initial=-np.inf))
    return top if np.isfinite(top) else 0.0


def group_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """The sums of the values within each group, (groups,)."""
    sums: Floats = np.bincount(group, values, groups)  # type: ignore[assignment]
    return sums


def _fractions(group: Ints, values: Floats, groups: int) -> tuple[Floats, Floats]:
    """exp(values) as fractions of the sum of their group, and logarithms of the sums, (groups,)."""
    maxima = np.full(groups, -np.inf)
    np.maximum.at(maxima, group, values)
    maxima[maxima == -np.inf] = 0.0
    scaled = np.exp(values - maxima[group])
    sums = group_sums(group, scaled, groups)
    divisors = np.where(sums > 0, sums, 1.0)
    return scaled / divisors[group], np.where(sums > 0, np.log(divisors), -np.inf) + maxima


def log_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Logarithms of the sums of exp(values) within each group, (groups,)."""
    return _fractions(group, values, groups)[1]


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
        raise InputError("sequence", must, given=f"{len(indices)} labels")
    mass = layered.start
    exponent = 0
    for layer, label in zip(layered.layers, indices, strict=True):
        on = layer.label == label
        mass = group_sums(layer.target[on], mass[layer.source[on]] * layer.weight[on], layer.width)
        power = math.frexp(float(mass.max(initial=0.0)))[1]
        mass = np.ldexp(mass, -power)
        exponent = exponent + power
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
    before = forward(layered)
    after = backward(layered)
    norm = float(before[-1] @ layered.final)
    if not norm > 0:
        raise EmptyError("model", "at least one sequence must have positive weight")
    rows = np.zeros((layered.n, len(layered.alphabet)))
    for k, layer in enumerate(layered.layers):
        mass = before[k][layer.source] * layer.weight * after[k + 1][layer.target]
        rows[k] = group_sums(layer.label, mass, rows.shape[1])
    return rows / norm


# -- samples ---------------------------------------------------------------------------------------


def sample(layered: Layered, size: int, seed: int | np.random.Generator | None = None) -> Ints:
    """Label sequences drawn in proportion to their weights, as indices of shape (size, n)."""
    size = check_int("sample", "size", size, 0)
    check_arcs("sample", size * layered.n, "labels")
    random = _generator(seed)
    pushed = normalize(layered)
    nowhere = np.zeros(len(pushed.start), np.int64)
    everyone = np.zeros(size, np.int64)
    state = _pick(nowhere, pushed.start, 1, everyone, random)
    drawn = np.empty((size, layered.n), np.int64)
    for k, layer in enumerate(pushed.layers):
        arc = _pick(layer.source, layer.weight, pushed.widths[k], state, random)
        drawn[:, k] = layer.label[arc]
        state = layer.target[arc]
    return drawn


def _generator(seed: object) -> np.random.Generator:
    """A generator of random numbers, from a seed of a type that numpy documents."""
    sources = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
    accepted = seed is None or isinstance(seed, sources)
    value: Any = seed if accepted else as_whole(seed, least=0)
    if value is None and not accepted:
        must = "must be a whole number, at least 0, or a numpy Generator"
        raise InputError("sample seed", must, given=seed)
    return np.random.default_rng(value)


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
    low = sums[ends - sizes][wanted]
    high = sums[ends][wanted]
    point = low + random.random(len(wanted)) * (high - low)
    at = np.searchsorted(sums[1:], point, side="right")
    picked: Ints = members[np.clip(at, (ends - sizes)[wanted], ends[wanted] - 1)]
    return picked


# -- the most probable sequences -------------------------------------------------------------------
#
# OpenFst's shortest path has weights of 32 bits, too coarse to tell near ties apart in long
# sequences. Here a weight is a double and a power of two, so nothing underflows, and a product of
# n factors is off by n roundings at most. The search runs from the end to the start. An *entry* is
# one of the at most k best ways to finish from a state; entries of one layer are parallel arrays,
# sorted by state and then from best to worst. The best path through an entry is known from a
# forward sweep: where k entries of a layer have better ones, it is part of no result.
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
    k = check_int("most_probable", "k", k, 0)
    if k == 0:
        return []
    if not layered.unambiguous:
        return best_first(layered, k)
    [best] = best_paths(layered, arc_weights(layered).joined()) if k == 1 else [None]
    if best is not None:
        return [best]
    return _best_entries(layered, k)


def best_paths(layered: Layered, weights: Floats) -> list[tuple[Ints, float] | None]:
    """The label sequence of greatest weight of each of several models, with its weight.

    None where it is not told apart by this: every weight is 0, a product is too small for doubles,
    or paths of equal weight part in states, not in labels. Backward values are scaled by powers of
    two, so that products are rounded as those of entries are.

    Args:
        layered: an unambiguous acceptor with the arcs of all models.
        weights: the weights of each model, as ``joined()`` lists them, (models, weights).
    """
    end = weights.shape[1] - len(layered.final)
    rows = np.arange(len(weights))
    beyond = weights[:, end:]
    powers = np.zeros(len(weights), int)
    settled = rows >= 0
    products = list[tuple[Floats, Floats]]()  # products by arc, their maxima by state
    by_source: dict[int, tuple[Ints, Ints, Ints]] = {}
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        part = weights[:, end - len(layer.source) : end]
        end = end - len(layer.source)
        product = part * beyond[:, layer.target]
        best = np.zeros((len(weights), width))
        settled &= ((product >= _LEAST) | (part == 0) | (beyond[:, layer.target] == 0)).all(axis=1)
        if id(layer.source) not in by_source:  # positions of a chain share it
            order = np.argsort(layer.source, kind="stable")
            by_source[id(layer.source)] = order, *np.unique(layer.source[order], return_index=True)
        order, states, first = by_source[id(layer.source)]
        if len(states):
            best[:, states] = np.maximum.reduceat(product[:, order], first, axis=1)
        _, power = np.frexp(best.max(axis=1))
        beyond = np.ldexp(best, -power[:, None])
        powers = powers + power
        products.append((product, best))
    starts = weights[:, :end] * beyond
    state = starts.argmax(axis=1)
    total = starts.max(axis=1)
    settled &= (total >= _LEAST) & ((starts == total[:, None]).sum(axis=1) == 1)
    labels = np.zeros((len(weights), layered.n), np.int64)
    for i, (layer, (product, best)) in enumerate(zip(layered.layers, products[::-1], strict=True)):
        good = (layer.source == state[:, None]) & (product == best[rows, state][:, None])
        none = len(layered.alphabet)
        labels[:, i] = np.where(good, layer.label, none).min(axis=1, initial=none)
        good &= layer.label == labels[:, i, None]
        settled &= good.sum(axis=1) == 1
        state = layer.target[good.argmax(axis=1)] if len(layer.source) else state
    pairs = zip(labels, map(math.ldexp, total.tolist(), powers.tolist()), strict=True)
    return [pair if ok else None for pair, ok in zip(pairs, settled.tolist(), strict=True)]


def _best_entries(layered: Layered, k: int) -> list[tuple[Ints, float]]:
    """The k best sequences of an unambiguous acceptor, with their weights.

    Of each entry there are its first state, its weight as mantissa * 2**exponent, and the rank of
    its labels in alphabetical order; steps hold first labels, and the entries that follow.
    """
    state = np.flatnonzero(layered.final > 0)
    mantissa, exponent = np.frexp(layered.final[state])
    rank = np.zeros(len(state), np.int64)
    steps = []
    starts = len(layered.start)
    nothing = np.zeros(starts, np.int64)  # a label and a state before all others
    start = Layer(nothing, nothing, np.arange(starts), layered.start, starts)
    before = [np.zeros(1)]  # logarithms of the greatest weight of a path to each state, by layer
    for layer in (start, *layered.layers):
        before.append(np.full(layer.width, -np.inf))
        values = before[-2][layer.source] + logarithm(layer.weight)
        np.maximum.at(before[-1], layer.target, values)
    for layer, ahead in zip((*layered.layers[::-1], start), before[-2::-1], strict=True):
        arcs = np.flatnonzero(layer.weight > 0)
        counts = np.bincount(state, minlength=layer.width)
        copies = counts[layer.target[arcs]]
        check_arcs("most_probable", int(copies.sum()), "candidates at one position")
        arc = np.repeat(arcs, copies)
        nth = np.arange(len(arc)) - np.repeat(np.cumsum(copies) - copies, copies)
        follow = (np.cumsum(counts) - counts)[layer.target[arc]] + nth
        part, power = np.frexp(layer.weight[arc])
        part, carry = np.frexp(part * mantissa[follow])
        power = exponent[follow] + power + carry
        if len(arc) > k:
            logs = np.stack([ahead[layer.source[arc]], logarithm(part) + power * math.log(2.0)])
            through = logs.sum(axis=0)
            size = np.abs(logs[np.isfinite(logs)]).max(initial=1.0)
            cut = np.partition(through, -k)[-k] - 4e-15 * (layered.n + 1) * size  # of roundings
            arc, follow, part, power = (x[through >= cut] for x in (arc, follow, part, power))
        source = layer.source[arc]
        label = layer.label[arc]
        _, ranks = np.unique(label * (len(state) + 1) + rank[follow], return_inverse=True)
        order = np.lexsort((ranks, -part, -power, source))
        best = order[np.arange(len(order)) - np.searchsorted(source[order], source[order]) < k]
        state = source[best]
        rank = ranks[best]
        mantissa = part[best]
        exponent = power[best]
        steps.append((label[best], follow[best]))
    sequences = np.empty((len(state), layered.n), np.int64)
    entry = steps[-1][1]
    for position, (label, follow) in enumerate(steps[-2::-1]):
        sequences[:, position] = label[entry]
        entry = follow[entry]
    weights = map(math.ldexp, mantissa.tolist(), exponent.tolist())
    return list(zip(sequences, weights, strict=True))


def best_first(
    layered: Layered, k: int, max_prefixes: int = limits.MOST_PREFIXES
) -> list[tuple[Ints, float]]:
    """The k label sequences of greatest weight, summed over paths, best first."""
    bounds = [logarithm(layered.final)]
    labels = len(layered.alphabet)
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        group = layer.source * labels + layer.label
        sums = log_sums(group, logarithm(layer.weight) + bounds[-1][layer.target], width * labels)
        bounds.append(sums.reshape(width, labels).max(axis=1))
    queue: list[tuple[float, tuple[int, ...], Floats]] = []
    result: list[tuple[Ints, float]] = []
    extended = queued = 0
    children: list[tuple[tuple[int, ...], Floats]] = [((), logarithm(layered.start))]
    while len(result) < k:
        for prefix, log_weights in children:
            values = log_weights + bounds[layered.n - len(prefix)]
            bound = float(log_sums(np.zeros(len(values), np.int64), values, 1)[0])
            if bound > -math.inf:
                heapq.heappush(queue, (-bound, prefix, log_weights))
                queued += len(prefix) + len(log_weights)
        check_arcs("most_probable", queued, "numbers in its queue")
        if not queue:
            break
        _, prefix, log_weights = heapq.heappop(queue)
        queued -= len(prefix) + len(log_weights)
        children = []
        if len(prefix) == layered.n:
            indices = np.array(prefix, np.int64)
            result.append((indices, probability(layered, indices)))
            continue
        if extended == max_prefixes:
            must = f"sequence {len(result) + 1} of {k} is not settled after {extended:,} prefixes, "
            must += "which is the limit for models that read one sequence along several paths"
            remedy = "Ask for fewer sequences, or raise the limit with "
            remedy += "best_first(model.layered(), k, max_prefixes=...)"
            raise SizeLimitError("most_probable", must, remedy=remedy)
        extended += 1
        layer = layered.layers[len(prefix)]
        arcs = np.flatnonzero(np.isfinite(log_weights[layer.source]) & (layer.weight > 0))
        values = log_weights[layer.source[arcs]] + logarithm(layer.weight[arcs])
        present, row = np.unique(layer.label[arcs], return_inverse=True)
        group = row * layer.width + layer.target[arcs]
        sums = log_sums(group, values, len(present) * layer.width)
        pairs = zip(present.tolist(), sums.reshape(len(present), layer.width), strict=True)
        children = [((*prefix, label), weights) for label, weights in pairs]
    return sorted(result, key=lambda pair: -pair[1])
