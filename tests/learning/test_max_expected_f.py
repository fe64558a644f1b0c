"""Training for Jansche's F~ and for exact expected utility, against formulas and enumeration."""

import math
import tracemalloc
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

import fsmeu
from fsmeu import limits
from fsmeu.learning import (
    MaxExpectedFClassifier,
    MaxExpectedUtilityClassifier,
    base,
)
from fsmeu.learning.base import maximize
from fsmeu.learning.expected_utility import CountTree, SmoothF, _expected, _of_weights
from tests import brute_force
from tests.support.examples import data
from tests.support.nightly import mostly_nightly
from tests.support.values import differences

TOY = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, -1, 1, 1])


def plain(theta, rows, positive, weights, alpha, gamma):
    """Equation 6."""
    chosen = weights * expit(gamma * (theta[0] + rows @ theta[1:]))
    return chosen @ positive / (alpha * weights @ positive + (1 - alpha) * chosen.sum())


@st.composite
def problems(draw):
    """Rows, classes, weights, alpha, gamma, and parameters."""
    n, k = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    positive = random.integers(0, 2, n).astype(float)
    positive[:2] = 0, 1
    rows = random.normal(size=(n, k)) * (random.random((n, k)) < 0.7)
    weights = random.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[:2] = 1, 2
    alpha = draw(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    gamma = draw(st.sampled_from([0.5, 1.0, 3.0]))
    return rows, positive, weights, alpha, gamma, random.normal(size=k + 1)


@given(problems(), st.sampled_from([1, 3, 4096]), st.booleans())
def test_value_and_gradient(problem, block, sparse):
    rows, positive, weights, alpha, gamma, theta = problem
    rest = (rows, positive, weights, alpha, gamma)
    with limits.lowered(ROWS_AT_ONCE=block):
        smooth = SmoothF(csr_array(rows) if sparse else rows, *rest[1:])
        value, gradient = smooth(theta)
        squares = smooth.root_mean_squares()
    assert value == pytest.approx(plain(theta, *rest), rel=1e-12)
    slopes = differences(lambda moved: plain(moved, *rest), theta, step=1e-5)
    assert gradient == pytest.approx(slopes, abs=1e-8)
    means = np.sqrt(np.average(rows**2, axis=0, weights=weights))
    assert squares == pytest.approx(np.append(1, np.where(means > 0, means, 1)))


def test_precision_of_nothing():
    """Where every probability is 0 in doubles, 0 / 0 is 0 and level."""
    value, gradient = SmoothF(np.ones((2, 1)), np.array([0.0, 1.0]), alpha=0.0)(np.full(2, -1e3))
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_memory_does_not_grow_with_examples(sparse):
    most = []
    for n in (8_192, 131_072):
        random = np.random.default_rng(n)
        rows = random.normal(size=(n, 8))
        rows = csr_array(rows * (random.random((n, 8)) < 0.2)) if sparse else rows
        smooth = SmoothF(rows, (random.random(n) < 0.1).astype(float), random.random(n))
        smooth(np.zeros(9))
        tracemalloc.start()
        smooth(np.zeros(9))
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.2 * most[0]  # blocks differ a little in their entries
    assert most[1] < 131_072 * 8  # less than one number for each example


def f_measure(alpha, labels, guesses):
    """Equation 2, in fractions."""
    pairs = list(zip(labels, guesses, strict=True))
    hits, misses, alarms = pairs.count((1, 1)), pairs.count((1, -1)), pairs.count((-1, 1))
    return hits / (hits + alpha * misses + (1 - alpha) * alarms)


@pytest.mark.parametrize(
    ("trained", "guesses", "half", "quarter"),
    [
        (Fraction(1, 2), [1, 1, 1, 1], Fraction(6, 7), Fraction(4, 5)),
        (Fraction(1, 4), [-1, -1, 1, 1], Fraction(4, 5), Fraction(8, 9)),
    ],
)
@pytest.mark.parametrize("seed", mostly_nightly(range(3), quick=1))
def test_section_6(trained, guesses, half, quarter, seed):
    rows, labels = TOY
    found = MaxExpectedFClassifier(alpha=float(trained), l2=0, restarts=64, random_state=seed)
    answer = found.fit(rows, labels).predict(rows).tolist()
    assert answer == guesses
    assert f_measure(Fraction(1, 2), labels.tolist(), answer) == half
    assert f_measure(Fraction(1, 4), labels.tolist(), answer) == quarter
    assert found.objective_ == pytest.approx(float(max(half, quarter)), abs=1e-4)
    assert found.objective_ < max(half, quarter) + 1e-12  # the supremum, at infinity
    assert len(found.objectives_) == 64
    assert found.objective_ == max(found.objectives_)
    assert found.spread_ == pytest.approx(float(np.std(found.objectives_)))
    assert 1 <= found.reached_ <= 64


@pytest.mark.parametrize(
    ("theta", "guesses"), [((20, 15), [1, 1, 1, 1]), ((-20, 15), [-1, -1, 1, 1])]
)
def test_section_6_points(theta, guesses):
    """The points that the text names: in their corners F~ is nearly the F-measure of the labels."""
    rows, labels = TOY
    for alpha in (0.5, 0.25):
        value, _ = SmoothF(rows, (labels > 0).astype(float), None, alpha)(np.array(theta, float))
        assert value == pytest.approx(float(f_measure(alpha, labels.tolist(), guesses)), abs=3e-3)


def test_figures_2_and_3():
    """Halfway between two points, the likelihood is never below their mean; F~ is at some."""
    rows, labels = TOY

    def likelihood(theta):
        return -np.logaddexp(0, -labels * (theta[0] + theta[1] * rows[:, 0])).sum()

    likely = LogisticRegression(C=math.inf, tol=1e-10).fit(rows, labels)
    top = np.append(likely.intercept_, likely.coef_)
    assert top == pytest.approx([0.35, 0.57], abs=0.005)  # as printed
    random, dents = np.random.default_rng(6), dict.fromkeys((0.5, 0.25), 0)
    for pair in random.uniform(-20, 20, (200, 2, 2)):
        ends = [likelihood(theta) for theta in pair]
        assert likelihood(pair.mean(axis=0)) >= np.mean(ends) - 1e-9
        assert max(ends) < likelihood(top) < 0
        for alpha in dents:
            smooth = SmoothF(rows, (labels > 0).astype(float), None, alpha)
            ends = [smooth(theta)[0] for theta in pair]
            dents[alpha] += smooth(pair.mean(axis=0))[0] < np.mean(ends) - 0.01
    assert min(dents.values()) > 10


@pytest.mark.parametrize("seed", mostly_nightly(range(4), quick=1))
@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_no_point_of_a_grid_is_better(seed, alpha):
    random = np.random.default_rng(seed)
    rows, weights = random.normal(size=(12, 1)), random.random(12)
    labels = (rows[:, 0] + random.normal(size=12) > 0.7).astype(int)
    labels[:2] = 0, 1
    l2, bound = 0.01, 10.0
    found = MaxExpectedFClassifier(alpha, 1.0, l2, 32, seed, bound=bound)
    found.fit(rows, labels, weights)
    theta = np.append(found.intercept_, found.coef_)
    penalty = l2 / 2 * theta[1] ** 2
    value = plain(theta, rows, labels, weights, alpha, 1.0)
    assert found.smooth_f_ == pytest.approx(value)
    assert found.objective_ == pytest.approx(value - penalty)
    unit = math.sqrt(np.average(rows[:, 0] ** 2, weights=weights))
    for a in np.linspace(-bound, bound, 41):
        for b in np.linspace(-bound / unit, bound / unit, 41):
            other = plain((a, b), rows, labels, weights, alpha, 1.0) - l2 / 2 * b**2
            assert other <= found.objective_ + 1e-6


def test_units_of_features_do_not_matter():
    rows, labels = data(seed=2, features=3)
    one, other = (
        MaxExpectedFClassifier(l2=0, restarts=4, random_state=0).fit(rows * units, labels)
        for units in (1.0, [1024.0, 1.0, 2.0**-8])
    )
    assert other.objectives_ == pytest.approx(one.objectives_, abs=1e-12)


def test_without_a_finite_optimum():
    """A great penalty leaves no coefficients, and an intercept that can only rise."""
    random = np.random.RandomState(42)
    rows, labels = random.rand(15, 30), np.minimum(random.randint(0, 3, size=15), 1)
    found = MaxExpectedFClassifier(l2=0.1, tol=1e-10, restarts=4, random_state=0).fit(rows, labels)
    limit = 2 * labels.sum() / (labels.sum() + len(labels))
    assert limit - 1e-9 < found.objective_ <= limit
    assert np.abs(found.coef_).max() < 1e-5
    assert 20 < found.intercept_[0] <= 100
    assert found.predict(rows).all()


@pytest.mark.parametrize("gains", [[1.0], [1.0, 0.0, 0.5], [0.1] * 40, [1e-4] * 40])
def test_starts_go_on_while_they_gain(gains, monkeypatch):
    """Four in a row that raise the objective by no more than 0.001 are the last; at most 32."""
    values = iter([*np.cumsum(gains).tolist(), *[0.0] * 40])
    drawn, told = [], []

    def maximize(objective, start, *_, **__):
        drawn.append(start)
        return OptimizeResult(x=start, fun=next(values), nit=1)

    monkeypatch.setattr(base, "maximize", maximize)
    found = MaxExpectedFClassifier(random_state=0).fit(
        *TOY, progress=lambda done, note: told.append(done)
    )
    raised = [k for k, gain in enumerate(gains) if gain > 1e-3 or k == 0]
    count = min(32, raised[-1] + 5)
    assert len(found.objectives_) == len(drawn) == len(told) == count
    assert told[-1] == 1
    assert all(0 < share <= 1 for share in told)
    assert len({start.tobytes() for start in drawn}) == count


def test_one_thread_climbs():
    """On matrices of this size a second thread of the linear algebra only waits for the first."""
    seen = []

    def objective(weights):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return -float(weights @ weights), -2 * weights

    maximize(objective, np.ones(2), 5)
    assert set(seen) == {1}


def test_the_box_holds():
    rows, labels = TOY
    found = MaxExpectedFClassifier(bound=2.0, random_state=0).fit(rows, labels)
    assert abs(found.intercept_[0]) <= 2
    assert abs(found.coef_[0, 0]) * math.sqrt(14 / 4) <= 2 + 1e-12
    free = MaxExpectedFClassifier(bound=math.inf, random_state=0).fit(rows, labels)
    assert free.objective_ > 0.85
    origin = MaxExpectedFClassifier(fit_intercept=False, restarts=4).fit(*data(features=3))
    assert origin.intercept_ == 0


def test_too_few_iterations_are_told():
    rows, labels = data(seed=5, features=3)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MaxExpectedFClassifier(max_iter=2, random_state=0).fit(rows, labels)


# -- exact expected utility ------------------------------------------------------------------------

LOSSES = [fsmeu.load("fscore", beta=2), fsmeu.load("pk", k=2)]
LOSSES += [fsmeu.load(name) for name in ("mcc", "g_mean", "hamming", "zero_one")]
by_name = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
QUICK = {"restarts": 1, "max_iter": 50, "random_state": 0}


def enumerated(loss, y, p):
    """The expectation over all hypotheses, one by one."""
    return brute_force.expectation(brute_force.bernoulli(p), values(loss, tuple(map(int, y))))


@lru_cache(maxsize=64)
def values(loss, y):
    return {z: loss(z, y) for z in brute_force.sequences((0, 1), len(y))}


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


@by_name
@pytest.mark.parametrize("y", [[1, 0, 0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1]])
@pytest.mark.parametrize("parts", [1, 2])
def test_the_objective_equals_enumeration(loss, y, parts):
    """The mean over batches, less the penalty on all weights but the intercept; its gradient."""
    random, y, rows = np.random.default_rng(5), np.array(y), np.eye(len(y))
    weights, batches = random.normal(size=len(y) + 1), np.array_split(np.arange(len(y)), parts)
    sign = 1 if loss.kind == "utility" else -1

    def by_listing(weights):
        p = expit(weights[:-1] + weights[-1])
        mean = np.mean([enumerated(loss, y[b], p[b]) for b in batches])
        return sign * mean - 0.05 * weights[:-1] @ weights[:-1]

    value, gradient = _of_weights(rows, 0.1, _expected(loss, y, batches))(weights)
    assert value == pytest.approx(by_listing(weights), rel=1e-12)
    assert gradient == pytest.approx(differences(by_listing, weights), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("name", "sign"), [("fscore", 1), ("hamming", -1)])
def test_training_improves_the_expected_value(name, sign):
    rows, y = data(80, seed=6, features=3)
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
    rows, y = data(80, seed=6, features=3)
    made = MaxExpectedUtilityClassifier(batch_size=20, **QUICK).fit(rows, y)
    whole = MaxExpectedUtilityClassifier(**QUICK).fit(rows, y)
    assert not np.allclose(made.coef_, whole.coef_, atol=1e-6)
    assert (made.predict(rows) == y).mean() > 0.75
