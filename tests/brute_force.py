"""What losses and expectations are, by definition and by listing; slow, apart from the package."""

import math
from itertools import product

import numpy as np


def fscore(z, y, beta=1, empty=1):
    tp = sum(1 for a, b in zip(z, y, strict=True) if a == 1 and b == 1)
    hyp, ref = sum(1 for a in z if a == 1), sum(1 for b in y if b == 1)
    below = hyp + beta**2 * ref
    return (1 + beta**2) * tp / below if below else empty


def jaccard(z, y, empty=1):
    ours = {i for i, a in enumerate(z) if a == 1}
    theirs = {i for i, b in enumerate(y) if b == 1}
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else empty


# -- distributions of y: dictionaries from tuples of labels to probabilities ---------------------
# Nothing is normalised unless it must be; complex numbers serve derivatives by a complex step.


def sequences(labels, n):
    return list(product(labels, repeat=n))


def _sequences(labels, n):
    """Pairs of a label tuple and its index tuple."""
    for indices in product(range(len(labels)), repeat=n):
        yield tuple(labels[k] for k in indices), indices


def independent(rows, labels):
    """Each position has its own probabilities, one for each label."""
    return {
        y: math.prod(rows[i][k] for i, k in enumerate(at))
        for y, at in _sequences(labels, len(rows))
    }


def bernoulli(p):
    return independent([(1 - x, x) for x in p], (0, 1))


def markov(initial, transition, labels, n):
    """Any order; ``transition`` for all positions or position by position."""
    order = np.ndim(initial)
    each = np.ndim(transition) == order + 2
    result = {}
    for y, at in _sequences(labels, n):
        if n <= order:
            rest = product(range(len(labels)), repeat=order - n)
            value = sum(initial[at + more] for more in rest)
        else:
            value = initial[at[:order]]
            for i in range(order, n):
                table = transition[i - order] if each else transition
                value = value * table[at[i - order : i + 1]]
        result[y] = value
    return result


def normalised(weights):
    whole = sum(weights.values())
    return {y: w / whole for y, w in weights.items()}


def potentials(unary, pairwise, labels, n):
    """Softmax over the scores of all sequences."""
    each = np.ndim(pairwise) == 3
    scores = {}
    for y, at in _sequences(labels, n):
        score = sum(unary[i][k] for i, k in enumerate(at))
        for i in range(1, n):
            table = pairwise[i - 1] if each else pairwise
            score = score + table[at[i - 1]][at[i]]
        scores[y] = score
    top = max(score.real for score in scores.values())
    return normalised({y: np.exp(score - top) for y, score in scores.items()})


def hmm(initial, transition, emission, observations, labels):
    """Bayes' rule over all hidden sequences."""
    first, *later = np.array(emission)[:, observations].T if observations else [1.0]
    steps = [np.array(transition) * seen for seen in later]
    return normalised(markov(np.array(initial) * first, steps, labels, len(observations)))


def nbest(sequences, weights, labels, n):
    listed = {y: 0.0 for y, _ in _sequences(labels, n)}
    for y, w in zip(sequences, weights, strict=True):
        listed[tuple(y)] += float(w)
    return normalised(listed)


def mixture(distributions, weights):
    return {
        y: sum(w * d[y] for w, d in zip(weights, distributions, strict=True))
        for y in distributions[0]
    }


def marginals(distribution, labels, n):
    rows = np.zeros((n, len(labels)))
    for y, p in distribution.items():
        for i, label in enumerate(y):
            rows[i, labels.index(label)] += p
    return rows


def path_distribution(layered):
    """The weight of every sequence, as a sum over all paths of an acceptor."""
    labels = layered.alphabet.labels
    paths = [((), state, float(weight)) for state, weight in enumerate(layered.start)]
    for layer in layered.layers:
        columns = (layer.source, layer.label, layer.target, layer.weight)
        arcs = list(zip(*(column.tolist() for column in columns), strict=True))
        paths = [
            ((*y, labels[label]), target, weight * factor)
            for y, state, weight in paths
            for source, label, target, factor in arcs
            if source == state
        ]
    result = {y: 0.0 for y, _ in _sequences(labels, layered.n)}
    for y, state, weight in paths:
        result[y] += weight * float(layered.final[state])
    return result


def acceptor(layered):
    """The same, normalised."""
    return normalised(path_distribution(layered))


def joint(values, of_y):
    """Pairs (value, probability) from a dictionary of values and a distribution, both of y."""
    return [(values[y], p) for y, p in of_y.items()]


def expectation(distribution, g):
    """The same from a distribution and a dictionary of values; the numbers may be complex."""
    return sum(p * g[y] for y, p in distribution.items())


def expected(z, of_y, measure=fscore):
    """The expected measure of a hypothesis under a distribution of y."""
    return sum(p * measure(z, y) for y, p in of_y.items())


def mean(pairs):
    return math.fsum(float(v) * p for v, p in pairs)


def variance(pairs):
    centre = mean(pairs)
    return math.fsum((float(v) - centre) ** 2 * p for v, p in pairs)


def levels(pairs, same=1e-11):
    """Distinct values of positive probability, ascending, each with its probability."""
    found = []
    for value, p in sorted((float(v), p) for v, p in pairs if p > 0):
        if found and value - found[-1][0] <= same * max(1.0, abs(value)):
            found[-1][1].append(p)
        else:
            found.append((value, [p]))
    return [(value, math.fsum(parts)) for value, parts in found]


def quantile(pairs, q):
    """The least value v with P(value <= v) >= q; q must not be one of the sums themselves."""
    below = 0.0
    for value, p in levels(pairs):
        below += p
        if below >= q:
            return value
    raise AssertionError(q)
