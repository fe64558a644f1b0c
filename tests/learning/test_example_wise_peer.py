"""Rows are decided as example-wise-f1-maximizer (M. Rapp) decides them.

Its requirements (numpy < 1.25, scikit-learn < 1.3) exclude ours, so that it is not among the
requirements for tests. ``pip install --no-deps example-wise-f1-maximizer`` brings the function that
decides; its estimator calls a method that scikit-learn 1.7 has dropped. That estimator learns the
joint distribution of a label and of the number of labels, ours a probability for each label: the
decisions are compared for the same probabilities.
"""

import itertools
import math

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fsmeu.learning.plug_in import ExampleWiseClassifier

HOW = "to compare with it: pip install --no-deps example-wise-f1-maximizer"
peer = pytest.importorskip("example_wise_f1_maximizer.meta_estimator", reason=HOW)


class Known(GaussianNB):
    """A probability that stands in the row: which column says the class that is learned."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.column = int(X[y == 1][0, -1])
        return self

    def predict_proba(self, X):
        p = X[:, self.column]
        return np.stack([1 - p, p], axis=1)


def decided(p):
    """Our decisions for rows of probabilities, (rows, labels)."""
    labels = p.shape[1]
    shown = np.zeros((labels, labels + 1))
    shown[:, -1] = np.arange(labels)  # row k has label k alone, and names the column
    made = ExampleWiseClassifier("fscore", Known()).fit(shown, np.eye(labels, dtype=int))
    rows = np.column_stack([p, np.zeros(len(p))])
    assert np.array_equal(made.predict_proba(rows), p)
    return made.predict(rows)


def by_listing(row):
    """P(label i is there and s labels are), (labels, labels), and P(no label), by listing."""
    table, nothing = np.zeros((len(row), len(row))), 0.0
    for y in itertools.product((0, 1), repeat=len(row)):
        chance = math.prod(p if one else 1 - p for p, one in zip(row, y, strict=True))
        if not any(y):
            nothing = chance
        for i in np.flatnonzero(y):
            table[i, sum(y) - 1] += chance
    return table, nothing


def by_convolution(row):
    """The same for more labels."""
    table = np.zeros((len(row), len(row)))
    for i, p in enumerate(row):
        others = np.ones(1)
        for q in np.delete(row, i):
            others = np.convolve(others, [1 - q, q])
        table[i] = p * others
    return table, float(np.prod(1 - row))


def f_value(z, table, nothing):
    """The expected F1 of a label set."""
    if not z:
        return nothing
    sizes = np.arange(1, len(table) + 1)
    return float(sum((2 * table[i] / (len(z) + sizes)).sum() for i in z))


@pytest.mark.parametrize(
    ("labels", "rows", "joint"),
    [(3, 60, by_listing), (7, 20, by_listing), (40, 10, by_convolution)],
)
@pytest.mark.parametrize("power", [1, 3])
def test_decisions_are_equal(labels, rows, joint, power):
    """Probabilities near 0 (power 3) make the empty set the best of some rows."""
    p = np.random.default_rng(labels).random((rows, labels)) ** power
    for row, z in zip(p, decided(p), strict=True):
        table, nothing = joint(row)
        theirs = {int(i) for i in peer.gfm(table, nothing)}
        ours = set(np.flatnonzero(z).tolist())
        assert f_value(ours, table, nothing) == pytest.approx(f_value(theirs, table, nothing))
        assert ours == theirs


def test_conventions_are_equal():
    """0/0 is 1 in both: these probabilities are decided for no label at all."""
    row = np.array([0.2, 0.2, 0.1])
    assert len(peer.gfm(*by_listing(row))) == 0
    assert not decided(row[None]).any()
