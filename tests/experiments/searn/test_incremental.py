"""The incremental perceptron beside one written with lists and dictionaries."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from searn.incremental import IncrementalPerceptron

LABELS = "abc"


def drawn(seed, lengths):
    """Features of positions, where sentences start, and their labels, drawn."""
    random = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    rows = random.normal(size=(starts[-1], 4))
    labels = [[LABELS[k] for k in random.integers(3, size=n)] for n in lengths]
    labels[0][0] = "a"
    return rows, starts, labels


def features(rows, line, history):
    """The features of labels of the first positions of a sentence, with their amounts."""
    found = defaultdict(float)
    past = ["", ""]
    for row, label in zip(rows, line, strict=False):
        for column, value in enumerate(row):
            found["position", column, label] += value
        found["pair", past[1], label] += 1
        if history > 1:
            found["triple", past[0], past[1], label] += 1
        past = [past[1], label]
    return found


def score(weights, rows, line, history):
    return sum(weights[name] * value for name, value in features(rows, line, history).items())


def searched(weights, rows, known, beam, history, gold=None):
    """The best labels that a beam holds, up to where it loses the gold ones."""
    held = [[]]
    for t in range(len(rows)):
        held = [[*line, label] for line in held for label in known]
        held.sort(key=lambda line: -score(weights, rows, line, history))
        held = held[:beam]
        if gold and gold[: t + 1] not in held:
            break
    return held[0]


def reference(rows, starts, labels, beam, history, orders):
    """Averaged weights by name: Collins and Roark's algorithm as it is told."""
    weights, total, steps = defaultdict(float), defaultdict(float), 0
    known = sorted({label for line in labels for label in line})
    for order in orders:
        for s in order:
            mine, gold = rows[starts[s] : starts[s + 1]], labels[s]
            best = searched(weights, mine, known, beam, history, gold)
            if best != gold:
                for line, sign in ((gold[: len(best)], 1), (best, -1)):
                    for name, value in features(mine, line, history).items():
                        weights[name] += sign * value
                        total[name] += sign * value * steps
            steps += 1
    return defaultdict(float, {name: weights[name] - total[name] / steps for name in weights})


@pytest.mark.nightly
@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 2]),
)
def test_weights_and_decisions(seed, lengths, beam, history):
    """Weights of positions are those of the plain algorithm, and so are labels of all sentences."""
    rows, starts, labels = drawn(seed, lengths)
    model = IncrementalPerceptron(3, beam, history, seed).fit(csr_array(rows), starts, labels)
    source = np.random.default_rng(seed)
    orders = [source.permutation(len(labels)) for _ in range(3)]
    want = reference(rows, starts, labels, beam, history, orders)
    positions = [[want["position", k, label] for label in model.labels] for k in model.columns]
    assert model.weights.positions[:-1] == pytest.approx(np.array(positions), abs=1e-9)
    parts = [rows[begin:end] for begin, end in pairwise(starts)]
    found = [searched(want, mine, model.labels, beam, history) for mine in parts]
    assert model.predict(csr_array(rows), starts) == found
