"""Linear models: scores are products with a dense matrix, steps follow slopes, means are means."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fsmeu.searn.learners.kernels import logistic_pass, perceptron_pass
from fsmeu.searn.learners.linear import Entries, LinearModel, numbered_columns


@pytest.mark.parametrize("actions", [1, 7])  # the table of 40 columns is larger than the weights
def test_scores(actions):
    rng = np.random.default_rng(actions)
    columns = np.array([31, 4, 17, 0, 39, 8], np.int32)
    weights = np.concatenate([rng.normal(size=(6, actions)), np.zeros((1, actions))])
    model = LinearModel(columns, weights)
    dense = np.zeros((40, actions))
    dense[columns] = weights[:6]
    for _ in range(2):  # the second time what is kept is used
        rows = csr_array(rng.integers(0, 3, (9, 40)).astype(float))
        np.testing.assert_allclose(model.scores(rows), rows.toarray() @ dense, atol=1e-12)
    model.set_params(columns=columns[::-1].copy())
    dense[columns[::-1]] = weights[:6]
    np.testing.assert_allclose(model.scores(rows), rows.toarray() @ dense, atol=1e-12)
    assert model.scores(csr_array((3, 40))).tolist() == np.zeros((3, actions)).tolist()


def test_a_model_without_columns_scores_zero():
    model = LinearModel(np.empty(0, np.int32), np.zeros((1, 2)))
    assert model.scores(csr_array(np.eye(3))).tolist() == [[0, 0]] * 3


def test_columns_are_numbered_by_frequency():
    rows = csr_array(np.array([[1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]]))
    columns, numbers = numbered_columns(rows, 2)
    assert columns.tolist() == [2, 3]
    assert numbers.tolist() == [2, 0, 0, 1, 0, 1]


def drawn(seed, examples=12, most_rows=3, actions=4, columns=9):
    """Examples of one or several rows, some actions not allowed, at least one target each."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, most_rows + 1, examples)
    begins = np.concatenate(([0], np.cumsum(counts)))
    sizes = rng.integers(0, 6, begins[-1])
    ends = np.concatenate(([0], np.cumsum(sizes)))
    costs = rng.integers(0, 4, (begins[-1], actions)).astype(float)
    costs[rng.random(costs.shape) < 0.2] = np.inf
    targets = np.zeros(costs.shape, bool)
    for a, b in pairwise(begins):
        costs[a, rng.integers(actions)] = 0.0
        targets[a:b] = costs[a:b] == 0
    numbers = rng.integers(0, columns + 1, ends[-1]).astype(np.int32)  # the last has no weight
    values, importance = rng.normal(size=ends[-1]), rng.random(examples)
    return Entries(ends, numbers, values, begins, costs, targets, importance), rng, columns


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_logistic_step_follows_the_slope(seed):
    """A first step of AdaGrad has the sign of the loss's slope, which is found by differences."""
    held, rng, columns = drawn(seed, examples=1)
    start = rng.normal(size=(columns + 1, 4))
    start[-1] = 0

    def loss(weights):
        scores = np.full(held.costs.shape, -np.inf)
        for r in range(len(scores)):
            part = slice(held.ends[r], held.ends[r + 1])
            line = held.values[part] @ weights[held.columns[part]]
            finite = np.isfinite(held.costs[r])
            scores[r, finite] = line[finite]
        return np.logaddexp.reduce(scores.ravel()) - np.logaddexp.reduce(scores[held.targets])

    weights, squares = start.copy(), np.full_like(start, 1e-30)
    how = (1e-6, 0.0, 0.0, np.uint64(0))  # rate, dropout, least slope, seed
    found = logistic_pass(*held, np.array([0]), weights, squares, *how)
    assert found == pytest.approx(held.importance[0] * loss(start), rel=1e-9, abs=1e-12)
    for c, a in np.ndindex(columns, 4):
        if np.count_nonzero(held.columns == c) != 1:
            continue  # a column in two entries is stepped twice
        moved = start.copy()
        moved[c, a] += 1e-6
        slope = held.importance[0] * (loss(moved) - loss(start)) / 1e-6
        if abs(slope) > 1e-4:
            assert weights[c, a] - start[c, a] == pytest.approx(-1e-6 * np.sign(slope), rel=1e-3)


def test_mean_of_perceptron_weights():
    """``weights - delays / t`` is the mean of the weight vectors after each example."""
    held, rng, columns = drawn(3, most_rows=2)
    order = rng.permutation(len(held.begins) - 1)
    weights, delays = np.zeros((columns + 1, 4)), np.zeros((columns + 1, 4))
    perceptron_pass(*held, order, weights, delays, 0, False)
    single, total = np.zeros_like(weights), np.zeros_like(weights)
    for i in order:
        perceptron_pass(*held, np.array([i]), single, np.zeros_like(single), 0, False)
        total += single
    np.testing.assert_allclose(weights - delays / len(order), total / len(order), atol=1e-12)
