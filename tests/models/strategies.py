"""Random label models, each with its distribution listed by the oracle."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models import (
    Acceptor,
    Bernoulli,
    Independent,
    Markov,
    Mixture,
    Model,
    NBest,
    from_potentials,
    hmm,
)
from tests.models import oracle

NAMES = ("O", "B-x", "I-x", "B-y")


@dataclass(frozen=True)
class Case:
    """A model and the probability of every sequence."""

    model: Model
    distribution: dict[tuple, float]


def rows(random, *shape):
    """Distributions along the last axis; a third of them with zeros, some of them certain."""
    array = random.random(shape)
    kind = random.integers(0, 6, shape[:-1])
    array[random.random(shape) < 0.5 * (kind == 0)[..., None]] = 0.0
    sure = (kind == 1) | (array.sum(axis=-1) == 0)
    one = np.eye(shape[-1])[random.integers(0, shape[-1], shape[:-1])]
    array = np.where(sure[..., None], one, array)
    return array / array.sum(axis=-1, keepdims=True)


def scores(random, *shape):
    array = random.normal(size=shape) * 3
    array[random.random(shape) < 0.15] = -np.inf
    return array


def labels_for(random, size):
    return NAMES[:size] if random.random() < 0.5 else tuple(range(size))


def make_bernoulli(random, size, n):
    p = rows(random, n, 2)[:, 1]
    return Case(Bernoulli(p), oracle.bernoulli(p))


def make_independent(random, size, n):
    table, labels = rows(random, n, size), labels_for(random, size)
    return Case(Independent(table, labels), oracle.independent(table, labels, n))


def make_markov(random, size, n):
    order, labels = int(random.integers(1, 4)), labels_for(random, size)
    initial = rows(random, size**order).reshape((size,) * order)
    each = random.random() < 0.5
    shape = (max(0, n - order),) * each + (size,) * (order + 1)
    transition = rows(random, *shape)
    model = Markov(initial, transition, n, labels)
    return Case(model, oracle.markov(initial, transition, labels, n))


def make_potentials(random, size, n):
    labels = labels_for(random, size)
    unary, each = scores(random, n, size), random.random() < 0.5
    links = scores(random, *(max(0, n - 1),) * each, size, size)
    path = random.integers(0, size, n)  # keep one sequence allowed
    unary[np.arange(n), path] = 0.5
    for i in range(n - 1):
        table = links[i] if each else links
        table[path[i], path[i + 1]] = -0.25
    model = from_potentials(unary, links, labels)
    return Case(model, oracle.potentials(unary, links, labels, n))


def make_hmm(random, size, n):
    labels = labels_for(random, size)
    initial, transition = rows(random, size), rows(random, size, size)
    emission = rows(random, size, 3)
    seen, state = [], 0
    for i in range(n):
        state = int(random.choice(size, p=transition[state] if i else initial))
        seen.append(int(random.choice(3, p=emission[state])))
    model = hmm(initial, transition, emission, seen, labels)
    return Case(model, oracle.hmm(initial, transition, emission, seen, labels))


def make_nbest(random, size, n):
    labels, count = labels_for(random, size), int(random.integers(1, 9))
    indices = random.integers(0, size, (count, n))
    sequences = [tuple(labels[k] for k in row) for row in indices]
    weights = random.random(count) * (random.random(count) < 0.8)
    weights[0] = 0.3
    model = NBest(sequences, weights, labels)
    return Case(model, oracle.nbest(sequences, weights, labels, n))


def random_layers(random, size, n, scale=0.0):
    """Any layers: several starts, parallel arcs, dead ends; some path has positive weight."""
    widths = random.integers(1, 4, n + 1)
    layers = []
    for before, after in pairwise(widths):
        arcs = int(random.integers(1, 8))
        weight = random.random(arcs) * np.exp(scale * random.normal(size=arcs))
        weight[1:] *= random.random(arcs - 1) < 0.8
        source, target = random.integers(0, before, arcs), random.integers(0, after, arcs)
        source[0] = target[0] = 0
        label = random.integers(0, size, arcs)
        layers.append(Layer(source, label, target, weight, int(after)))
    start, final = random.random(widths[0]) + 0.1, random.random(widths[-1]) + 0.1
    return Layered(Alphabet(tuple(range(size))), start, tuple(layers), final, False)


def make_acceptor(random, size, n):
    layered = random_layers(random, size, n)
    listed = oracle.path_distribution(layered)
    whole = sum(listed.values())
    return Case(Acceptor(layered), {y: w / whole for y, w in listed.items()})


SIMPLE = {
    "bernoulli": make_bernoulli,
    "independent": make_independent,
    "markov": make_markov,
    "potentials": make_potentials,
    "hmm": make_hmm,
    "nbest": make_nbest,
    "acceptor": make_acceptor,
}


def make_mixture(random, size, n):
    kinds = ["independent", "markov", "potentials", "acceptor"]
    parts = []
    for kind in random.choice(kinds, int(random.integers(1, 4))):
        case = SIMPLE[kind](random, size, n)
        renamed = dict(zip(case.model.labels, range(size), strict=True))
        machine = case.model.layered()
        layered = Layered(
            Alphabet(tuple(range(size))),
            machine.start,
            machine.layers,
            machine.final,
            machine.unambiguous,
        )
        listed = {tuple(renamed[x] for x in y): p for y, p in case.distribution.items()}
        parts.append(Case(Acceptor(layered), listed))
    weights = rows(random, len(parts))
    model = Mixture([part.model for part in parts], weights)
    return Case(model, oracle.mixture([part.distribution for part in parts], weights))


KINDS = {**SIMPLE, "mixture": make_mixture}


@st.composite
def cases(draw, kinds=tuple(KINDS), most=5):
    """A case of one of the kinds: 2 to 4 labels, n from 0 to ``most`` (6 for two labels)."""
    kind = draw(st.sampled_from(list(kinds)))
    size = draw(st.integers(2, 4)) if kind != "bernoulli" else 2
    n = draw(st.integers(0, most + 1 if size == 2 else most - (size == 4)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return KINDS[kind](random, size, n)
