"""Scores of linear models are products with a dense matrix, however columns are looked up."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fsmeu.searn.learners.linear import LinearModel, numbered_columns


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
