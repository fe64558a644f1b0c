"""The classifier of the greatest expected utility, against enumeration and finite differences."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.learning.expected_utility import (
    CountTree,
    MaxExpectedUtilityClassifier,
    _expected,
    _of_weights,
    batch_value,
)
from tests import brute_force
from tests.support.values import differences

LOSSES = [fsmeu.load("fscore", beta=2), fsmeu.load("pk", k=2)]
LOSSES += [fsmeu.load(name) for name in ("mcc", "g_mean", "hamming", "zero_one")]
by_name = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
QUICK = {"restarts": 1, "max_iter": 50, "random_state": 0}


def enumerated(loss, y, p):
    """The expectation over all hypotheses, one by one."""
    return brute_force.expectation(brute_force.bernoulli(p), values(loss, tuple(map(int, y))))


@lru_cache(maxsize=64)
def values(loss, y):
    """The value of every hypothesis."""
    return {z: loss(z, y) for z in brute_force.sequences((0, 1), len(y))}


def separated(n=80, features=3, seed=0):
    """Examples of a logistic model with few positive ones."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, features))
    scores = rows @ np.arange(1.0, features + 1) - 2.0
    return rows, (random.random(n) < expit(scores)).astype(int)


# -- counts of events -----------------------------------------------------------------------------


@given(st.integers(1, 90), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_distributions_and_derivatives_of_counts(n, seed):
    """A product of polynomials; the expectation is linear in each probability."""
    random = np.random.default_rng(seed)
    p, worth, k = random.random(n), random.normal(size=n + 1), int(random.integers(n))

    def by_hand(p):
        product = np.ones(1)
        for q in p:
            product = np.append(product * (1 - q), 0) + np.append(0, product * q)
        return product

    assert CountTree(p).distribution == pytest.approx(by_hand(p), rel=1e-11, abs=1e-300)
    one, none = (np.where(np.arange(n) == k, certain, p) for certain in (1.0, 0.0))
    expected = worth @ (by_hand(one) - by_hand(none))
    assert CountTree(p).derivatives(worth)[k] == pytest.approx(expected, rel=1e-9, abs=1e-12)


# -- the objective --------------------------------------------------------------------------------


@by_name
@pytest.mark.parametrize("y", [[1, 0, 0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1]])
def test_the_expected_value_equals_enumeration(loss, y):
    p = np.random.default_rng(5).random(len(y))
    value, slopes = batch_value(loss, np.array(y))(p)
    assert value == pytest.approx(enumerated(loss, y, p), rel=1e-12)
    by_differences = differences(lambda q: enumerated(loss, y, q), p)
    assert slopes == pytest.approx(by_differences, rel=1e-6, abs=1e-8)


@by_name
def test_the_gradient_equals_differences(loss):
    """Of the mean over batches, less the penalty on the weights; the intercept goes free."""
    rows, y = separated(12)
    batches = [np.arange(0, 7), np.arange(7, 12)]
    objective = _of_weights(rows, 0.1, _expected(loss, y, batches))
    weights = np.array([0.3, -0.2, 0.5, 0.1])
    by_differences = differences(lambda w: objective(w)[0], weights)
    assert objective(weights)[1] == pytest.approx(by_differences, rel=1e-6, abs=1e-8)
    sign = 1 if loss.kind == "utility" else -1
    p = expit(rows @ weights[:-1] + weights[-1])
    mean = np.mean([enumerated(loss, y[b], p[b]) for b in batches])
    expected = sign * mean - 0.05 * weights[:-1] @ weights[:-1]
    assert objective(weights)[0] == pytest.approx(expected, rel=1e-12)


# -- the estimator --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "sign"), [("fscore", 1), ("hamming", -1)])
def test_training_improves_the_expected_value(name, sign):
    """A utility rises, a loss falls, beyond where the likelihood is greatest."""
    rows, y = separated()
    made = MaxExpectedUtilityClassifier(name, l2=1e-3, **QUICK).fit(rows, y)
    before, after = (
        fsmeu.expect(fsmeu.load(name).swapped, y.tolist(), one.predict_proba(rows)[:, 1]).value
        for one in (LogisticRegression().fit(rows, y), made)
    )
    assert sign * (after - before) > 0.01
    assert made.expected_value_ == pytest.approx(after, rel=1e-9)
    size = made.coef_[0] @ made.coef_[0]
    assert made.objectives_.max() == pytest.approx(sign * after - 0.0005 * size, rel=1e-9)
    assert made.objectives_.shape == (2,)


def test_batches_are_trained_on():
    rows, y = separated()
    made = MaxExpectedUtilityClassifier(batch_size=20, **QUICK).fit(rows, y)
    whole = MaxExpectedUtilityClassifier(**QUICK).fit(rows, y)
    assert not np.allclose(made.coef_, whole.coef_, atol=1e-6)
    assert (made.predict(rows) == y).mean() > 0.75
