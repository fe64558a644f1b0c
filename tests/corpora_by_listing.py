"""Corpora of a few short sentences by listing, in fractions, apart from the package."""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
from seqeval.metrics.sequence_labeling import get_entities

import fsmeu
from tests import brute_force


def counted(parts):
    """A function to (parts of z in y, parts of z, parts of y, positions that agree)."""

    def counts(z, y):
        ours, theirs = parts(tuple(z)), parts(tuple(y))
        agree = sum(a == b for a, b in zip(z, y, strict=True))
        return len(ours & theirs), len(ours), len(theirs), agree

    return counts


of_labels = counted(lru_cache(None)(lambda z: {i for i, label in enumerate(z) if label == 1}))
of_chunks = counted(lru_cache(None)(lambda tags: set(get_entities(list(tags)))))


def fbeta(totals, n, beta=1, empty=1):
    tp, hyp, ref, _ = totals
    weight = Fraction(beta) ** 2
    below = hyp + weight * ref
    return (1 + weight) * tp / below if below else Fraction(empty)


def jaccard(totals, n):
    tp, hyp, ref, _ = totals
    return Fraction(tp, hyp + ref - tp) if hyp + ref - tp else Fraction(1)


def hamming(totals, n):
    return Fraction(n - totals[3], n) if n else Fraction(0)


TAGS = ["O", "B-X", "I-X"]
CASES = {
    "fscore": ({}, of_labels, fbeta),
    "fbeta": ({"beta": 2, "empty": 0}, of_labels, lambda totals, n: fbeta(totals, n, 2, 0)),
    "jaccard": ({}, of_labels, jaccard),
    "hamming": ({"labels": [0, 1]}, of_labels, hamming),
    "chunk_fscore": ({"labels": TAGS}, of_chunks, fbeta),
    "boundary_fscore": ({}, of_labels, fbeta),
}


def loaded(name):
    """A loss of the package, its labels, and what it means: what is counted, and the value."""
    given, count, value = CASES[name]
    loss = fsmeu.load("fscore" if name == "fbeta" else name, **given)
    return loss, TAGS if name == "chunk_fscore" else [0, 1], count, value


def models(kind, rng, lengths, labels):
    """Random models of one kind: a list of pairs (model, {sequence: probability})."""
    return [KINDS[kind](rng, n, labels) for n in lengths]


def independent(rng, n, labels):
    rows = _rows(rng, (n, len(labels)))
    listed = brute_force.independent(_exact(rows), labels)
    return fsmeu.models.Independent(rows.reshape(n, len(labels)), labels), listed


def markov(rng, n, labels):
    first, table = _rows(rng, (1, len(labels)))[0], _rows(rng, (len(labels), len(labels)))
    listed = brute_force.markov(_exact(first), _exact(table), labels, n)
    return fsmeu.models.Markov(first, table, n=n, labels=labels), listed


def field(rng, n, labels):
    """Potentials are logarithms of small whole numbers, so that fractions stay small."""
    unary, table = rng.integers(1, 20, (n, len(labels))), rng.integers(1, 20, (len(labels),) * 2)
    model = fsmeu.models.from_potentials(np.log(unary), np.log(table), labels)
    if not n:
        return model, {(): Fraction(1)}
    steps = _exact(unary[1:, None] * table)
    weights = brute_force.markov(_exact(unary[0]), steps, labels, n)
    return model, {y: w / sum(weights.values()) for y, w in weights.items()}


KINDS = {"independent": independent, "markov": markov, "field": field}


def _rows(rng, shape):
    """Rows of probabilities in 64ths, which doubles hold; some of them are 0."""
    rows = rng.integers(0, 12, shape).astype(float) ** 2
    rows[..., 0] += 1
    rows = np.floor(64 * rows / rows.sum(axis=-1, keepdims=True))
    rows[..., 0] += 64 - rows.sum(axis=-1)
    return rows / 64


def _exact(array):
    """The same numbers as fractions."""
    return np.vectorize(lambda x: Fraction(float(x)), otypes=[object])(array)


def added(z, of_y, count):
    """The distribution of what a sentence adds to the counts, a dictionary."""
    found = Counter()
    for y, p in of_y.items():
        if p:
            found[count(z, y)] += p
    return found


def plus(left, right):
    """The distribution of the sums of two independent tuples of counts."""
    sums = Counter()
    for a, p in left.items():
        for b, q in right.items():
            sums[tuple(x + y for x, y in zip(a, b, strict=True))] += p * q
    return sums


NOTHING = {(0, 0, 0, 0): Fraction(1)}


def expected(zs, listed, count, value):
    """The expected value of hypotheses, a fraction."""
    n, whole = sum(map(len, zs)), NOTHING
    for z, of_y in zip(zs, listed, strict=True):
        whole = plus(whole, added(z, of_y, count))
    return sum(p * value(totals, n) for totals, p in whole.items())


def best(listed, labels, count, value, greatest=True):
    """The best expected value over all hypotheses, a fraction; equal distributions count once."""
    choices, n = [], 0
    for of_y in listed:
        length = len(next(iter(of_y)))
        n += length
        rows = {}
        for z in product(labels, repeat=length):
            row = added(z, of_y, count)
            rows.setdefault(frozenset(row.items()), row)
        choices.append(list(rows.values()))
    known = lru_cache(None)(lambda totals: value(totals, n))

    def ahead(whole, left):
        if not left:
            return [sum(p * known(totals) for totals, p in whole.items())]
        return [v for row in left[0] for v in ahead(plus(whole, row), left[1:])]

    values = ahead(NOTHING, choices)
    return max(values) if greatest else min(values)
