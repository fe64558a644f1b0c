"""Baselines: Viterbi beside enumeration, averaged weights beside their definition, crfsuite."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fsmeu import errors
from searn import crf
from searn.perceptron import ChainModel, best_labels, perceptron


def data(seed, sentences=6, columns=5, labels=3, longest=4):
    """Sentences of small whole-numbered features and labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, sentences)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    dense = random.integers(0, 2, (starts[-1], columns)).astype(float)
    return csr_array(dense), starts, [random.integers(0, labels, k) for k in lengths]


def total(dense, moves, weights, labels):
    """The score of a label sequence, term by term."""
    before = len(moves) - 1
    value = 0.0
    for row, label in zip(dense, labels, strict=True):
        value += row @ weights[:, label] + moves[before, label]
        before = label
    return value


@given(st.integers(0, 1000))
@settings(max_examples=30)
def test_viterbi_is_enumeration(seed):
    rows, starts, _ = data(seed)
    random = np.random.default_rng(seed)
    weights, moves = random.normal(size=(5, 3)), random.normal(size=(4, 3))
    found = best_labels(ChainModel(np.arange(5), weights, moves), rows, starts)
    for k, mine in enumerate(found):
        dense = rows.toarray()[starts[k] : starts[k + 1]]
        options = product(range(3), repeat=len(dense))
        best = max(options, key=lambda one: total(dense, moves, weights, one))
        assert tuple(mine) == best


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_weights_are_the_average_of_plain_perceptrons(seed):
    """By the definition: the weights after every sentence are kept, and their mean is taken."""
    rows, starts, labels = data(seed)
    dense = rows.toarray()
    weights, moves = np.zeros((5, 3)), np.zeros((4, 3))
    kept = [(weights.copy(), moves.copy())]
    random = np.random.default_rng(seed)
    for _ in range(3):
        for k in random.permutation(len(labels)):
            part = dense[starts[k] : starts[k + 1]]
            model = ChainModel(np.arange(5), weights, moves)
            found = best_labels(model, csr_array(part), np.array([0, len(part)]))[0]
            for sequence, sign in ((labels[k], 1), (found, -1)):
                before = 3
                for row, label in zip(part, sequence, strict=True):
                    weights[:, label] += sign * row
                    moves[before, label] += sign
                    before = label
            kept.append((weights.copy(), moves.copy()))
    made = perceptron(rows, starts, labels, 3, epochs=3, seed=seed)
    assert made.weights == pytest.approx(np.mean([w for w, _ in kept], axis=0)[made.columns])
    assert made.transitions == pytest.approx(np.mean([m for _, m in kept], axis=0))


def test_it_learns_what_only_transitions_tell():
    """The first label is shown; the second, of which nothing is seen, is the one after it."""
    first = np.arange(60) % 3
    rows = np.zeros((60, 2, 4))
    rows[np.arange(60), 0, first] = rows[:, 1, 3] = 1
    labels = [np.array([one, (one + 1) % 3]) for one in first]
    data = csr_array(rows.reshape(120, 4)), np.arange(0, 121, 2)
    found = best_labels(perceptron(*data, labels, 3), *data)
    assert [one.tolist() for one in found] == [one.tolist() for one in labels]


def test_crfsuite_runs_on_the_same_rows():
    pytest.importorskip("sklearn_crfsuite")
    rows = csr_array(np.tile(np.eye(2), (20, 1)))
    starts = np.arange(0, 41, 2)
    found = crf.crf_predictions((rows, starts, [["a", "b"]] * 20), (rows, starts))
    assert found == [["a", "b"]] * 20


def test_without_crfsuite(monkeypatch):
    monkeypatch.setattr(errors, "is_installed", lambda name: False)
    with pytest.raises(errors.MissingExtra, match="pip install"):
        crf.crf_predictions((None, None, []), (None, None))
