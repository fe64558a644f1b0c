"""What label models mean, by listing all sequences: plain Python that shares no code with fsmeu.

A distribution is a dict from tuples of labels to numbers. Nothing is normalised unless it must be,
and the numbers may be complex, so that derivatives can be taken by a complex step.
"""

import cmath
import itertools
import math

import numpy as np


def _sequences(labels, n):
    """Pairs of a label tuple and its index tuple."""
    for indices in itertools.product(range(len(labels)), repeat=n):
        yield tuple(labels[k] for k in indices), indices


def independent(rows, labels, n):
    return {
        y: math.prod((rows[i][k] for i, k in enumerate(at)), start=1.0)
        for y, at in _sequences(labels, n)
    }


def bernoulli(p):
    return independent([(1 - x, x) for x in p], (0, 1), len(p))


def markov(initial, transition, labels, n):
    """Any order; ``transition`` for all positions or position by position."""
    order = np.ndim(initial)
    each = np.ndim(transition) == order + 2
    result = {}
    for y, at in _sequences(labels, n):
        if n <= order:
            rest = itertools.product(range(len(labels)), repeat=order - n)
            value = sum(initial[at + more] for more in rest)
        else:
            value = initial[at[:order]]
            for i in range(order, n):
                table = transition[i - order] if each else transition
                value = value * table[at[i - order : i + 1]]
        result[y] = value
    return result


def _exp(x):
    return 0.0 if x.real == -math.inf else cmath.exp(x) if isinstance(x, complex) else math.exp(x)


def potentials(unary, pairwise, labels, n):
    """Softmax over the scores of all sequences."""
    each = np.ndim(pairwise) == 3
    scores = {}
    for y, at in _sequences(labels, n):
        score = sum(unary[i][k] for i, k in enumerate(at))
        for i in range(1, n):
            table = pairwise[i - 1] if each else pairwise
            score = score + table[at[i - 1]][at[i]]
        scores[y] = score + 0.0
    top = max(score.real for score in scores.values())
    weights = {
        y: _exp(complex(s) - top if isinstance(s, complex) else float(s) - top)
        for y, s in scores.items()
    }
    whole = sum(weights.values())
    return {y: w / whole for y, w in weights.items()}


def hmm(initial, transition, emission, observations, labels):
    """Bayes' rule over all hidden sequences."""
    joint = {}
    for y, at in _sequences(labels, len(observations)):
        value = 1.0
        for i, k in enumerate(at):
            value *= initial[k] if i == 0 else transition[at[i - 1]][k]
            value *= emission[k][observations[i]]
        joint[y] = value
    whole = math.fsum(joint.values())
    return {y: w / whole for y, w in joint.items()}


def nbest(sequences, weights, labels, n):
    listed = {y: 0.0 for y, _ in _sequences(labels, n)}
    for y, w in zip(sequences, weights, strict=True):
        listed[tuple(y)] += float(w)
    whole = math.fsum(listed.values())
    return {y: w / whole for y, w in listed.items()}


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


def expectation(distribution, g):
    return sum(p * g[y] for y, p in distribution.items())


def paths(layered):
    """All paths of an acceptor: (start state, indices of the arcs in their layers, last state)."""
    found = [(s, (), s) for s in range(len(layered.start))]
    for layer in layered.layers:
        leaving = {}
        for arc, source in enumerate(layer.source.tolist()):
            leaving.setdefault(source, []).append((arc, int(layer.target[arc])))
        found = [
            (start, (*arcs, arc), target)
            for start, arcs, state in found
            for arc, target in leaving.get(state, ())
        ]
    return found


def path_labels(layered, arcs):
    labels = layered.alphabet.labels
    at = zip(layered.layers, arcs, strict=True)
    return tuple(labels[int(layer.label[k])] for layer, k in at)


def path_distribution(layered):
    """The weight of every sequence, as a sum over paths."""
    result = {y: 0.0 for y, _ in _sequences(layered.alphabet.labels, layered.n)}
    for start, arcs, end in paths(layered):
        weight = float(layered.start[start]) * float(layered.final[end])
        for layer, arc in zip(layered.layers, arcs, strict=True):
            weight *= float(layer.weight[arc])
        result[path_labels(layered, arcs)] += weight
    return result


def arc_gradients(layered, g):
    """dE/d(weight) of every arc, each a free variable, as a sum over the paths through it."""
    gradients = [np.zeros(len(layer.weight)) for layer in layered.layers]
    for start, arcs, end in paths(layered):
        ends = float(layered.start[start]) * float(layered.final[end])
        value = ends * g[path_labels(layered, arcs)]
        weights = [float(x.weight[k]) for x, k in zip(layered.layers, arcs, strict=True)]
        for i, arc in enumerate(arcs):
            gradients[i][arc] += value * math.prod(weights[:i] + weights[i + 1 :])
    return tuple(gradients)
