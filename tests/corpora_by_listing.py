"""Corpora of a few short sentences by listing, apart from the package."""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import product

from seqeval.metrics.sequence_labeling import get_entities

import fsmeu
from tests.label_models import plain_model


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


def _drawn(kind):
    """A function that draws a model of this kind with every probability."""

    def draw(rng, n, labels):
        spec = plain_model(rng, kind, labels, n)
        return spec.build(), spec.listed()

    return draw


markov, field = _drawn("markov"), _drawn("potentials")
KINDS = {"independent": _drawn("independent"), "markov": markov, "field": field}


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
    """The expected value of hypotheses."""
    n, whole = sum(map(len, zs)), NOTHING
    for z, of_y in zip(zs, listed, strict=True):
        whole = plus(whole, added(z, of_y, count))
    return sum(p * value(totals, n) for totals, p in whole.items())


def best(listed, labels, count, value, greatest=True):
    """The best expected value over all hypotheses; equal distributions count once."""
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
