"""Every row is decided for itself: equal to listing all label sets."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.learning.plug_in import ExampleWiseClassifier
from fsmeu.learning.saving import load, save

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(120, 4))
Y = (X @ RANDOM.normal(size=(4, 5)) + RANDOM.normal(size=(120, 5)) > 0.8).astype(int)


def f_one(z, y):
    return 2 * len(z & y) / (len(z) + len(y)) if z or y else 1.0


def jaccard(z, y):
    return len(z & y) / len(z | y) if z or y else 1.0


def sets(count):
    return [
        frozenset(one) for size in range(count + 1)
        for one in itertools.combinations(range(count), size)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "measure"), [("fscore", f_one), ("jaccard", jaccard)])
def test_rows_are_decided_best(name, measure):
    """Against all 32 label sets of five labels, each valued by listing all others."""
    made = ExampleWiseClassifier(name).fit(X[:80], Y[:80])
    p, z = made.predict_proba(X[80:100]), made.predict(X[80:100])
    for row, chosen in zip(p, z, strict=True):
        weight = {y: math.prod(q if k in y else 1 - q for k, q in enumerate(row)) for y in sets(5)}
        value = {s: sum(w * measure(s, y) for y, w in weight.items()) for s in sets(5)}
        found = frozenset(np.flatnonzero(chosen).tolist())
        assert value[found] == pytest.approx(max(value.values()), abs=1e-12)


def test_probabilities_are_those_of_an_estimator_for_each_label():
    made = ExampleWiseClassifier(estimator=LogisticRegression(C=0.3)).fit(X, Y)
    for k in range(5):
        other = LogisticRegression(C=0.3).fit(X, Y[:, k])
        assert made.predict_proba(X)[:, k] == pytest.approx(other.predict_proba(X)[:, 1])


def test_labels_that_never_change():
    table = np.concatenate([Y, np.ones((120, 1), int), np.zeros((120, 1), int)], axis=1)
    made = ExampleWiseClassifier().fit(X, table)
    assert (made.predict_proba(X)[:, 5:] == [1.0, 0.0]).all()
    assert (made.predict(X)[:, 5:] == [1, 0]).all()


def test_sparse_rows_weights_and_files(tmp_path):
    made = ExampleWiseClassifier("jaccard").fit(X, Y)
    sparse = ExampleWiseClassifier("jaccard").fit(csr_array(X), csr_array(Y))
    assert np.array_equal(sparse.predict(csr_array(X)), made.predict(X))
    heavy = ExampleWiseClassifier().fit(X, Y, sample_weight=1 + 9 * Y[:, 0])
    assert heavy.predict_proba(X)[:, 0].mean() > made.predict_proba(X)[:, 0].mean() + 0.05
    save(made, tmp_path / "one.npz")
    assert np.array_equal(load(tmp_path / "one.npz").predict(X), made.predict(X))


def test_a_loss_that_is_no_table():
    """Any loss over two labels will do: here windows of labels in a row."""
    made = ExampleWiseClassifier(fsmeu.load("pk", k=2)).fit(X, Y)
    assert made.predict(X[:5]).shape == (5, 5)
