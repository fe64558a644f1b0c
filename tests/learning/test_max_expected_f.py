"""Training for Jansche's F~ and for exact expected utility, against formulas and enumeration."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu import limits
from fsmeu.learning import MaxExpectedFClassifier, MaxExpectedUtilityClassifier
from fsmeu.learning.expected_utility import SmoothF
from tests import brute_force
from tests.support.examples import data
from tests.support.nightly import mostly_nightly
from tests.support.values import differences

TOY = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, -1, 1, 1])


def plain(theta, rows, positive, weights, alpha, gamma):
    """Equation 6."""
    chosen = weights * expit(gamma * (theta[0] + rows @ theta[1:]))
    return chosen @ positive / (alpha * weights @ positive + (1 - alpha) * chosen.sum())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("block", "gamma"), [(1, 0.5), (3, 3.0), (4096, 1.0)])
def test_value_and_gradient(block, alpha, gamma, sparse):
    """Some weights and features are 0."""
    random = np.random.default_rng(round(4 * alpha) + block)
    rows = random.normal(size=(9, 4)) * (random.random((9, 4)) < 0.7)
    positive = np.array([0.0, 1, *random.integers(0, 2, 7)])
    rest = rows, positive, np.array([1, 2, *random.choice([0, 0.5, 3], 7)]), alpha, gamma
    theta = random.normal(size=5)
    with limits.lowered(ROWS_AT_ONCE=block):
        value, gradient = SmoothF(csr_array(rows) if sparse else rows, *rest[1:])(theta)
    assert value == pytest.approx(plain(theta, *rest), rel=1e-12)
    slopes = differences(lambda moved: plain(moved, *rest), theta, step=1e-5)
    assert gradient == pytest.approx(slopes, abs=1e-8)


def test_precision_of_nothing():
    """Where every probability is 0 in doubles, 0 / 0 is 0 and level."""
    value, gradient = SmoothF(np.ones((2, 1)), np.array([0.0, 1.0]), alpha=0.0)(np.full(2, -1e3))
    assert value == 0
    assert not gradient.any()


def test_memory_does_not_grow_with_examples(lowered):
    lowered(ROWS_AT_ONCE=512)
    most = []
    for n in (2_048, 32_768):
        random = np.random.default_rng(n)
        rows = csr_array(random.normal(size=(n, 8)) * (random.random((n, 8)) < 0.2))
        smooth = SmoothF(rows, (random.random(n) < 0.1).astype(float), random.random(n))
        tracemalloc.start()
        smooth(np.zeros(9))
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.5 * most[0]  # blocks differ a little in their entries


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
    found = MaxExpectedFClassifier(alpha=float(trained), l2=0, restarts=32, random_state=seed)
    answer = found.fit(rows, labels).predict(rows).tolist()
    assert answer == guesses
    assert f_measure(Fraction(1, 2), labels.tolist(), answer) == half
    assert f_measure(Fraction(1, 4), labels.tolist(), answer) == quarter
    corner = np.array([20 if guesses[1] == 1 else -20, 15.0])  # that the text names
    for alpha, f in ((0.5, half), (0.25, quarter)):
        value, _ = SmoothF(rows, (labels > 0).astype(float), None, alpha)(corner)
        assert value == pytest.approx(float(f), abs=3e-3)
    assert found.objective_ == pytest.approx(float(max(half, quarter)), abs=1e-4)
    assert found.objective_ < max(half, quarter) + 1e-12  # the supremum, at infinity
    assert len(found.objectives_) == 32
    assert found.objective_ == max(found.objectives_)
    assert found.spread_ == pytest.approx(float(np.std(found.objectives_)))
    assert found.reached_ == (found.objectives_ >= found.objective_ - 1e-3).sum()


def test_figures_2_and_3():
    """Maximum likelihood is where it is printed; F~ halfway is below the mean of its ends."""
    rows, labels = TOY
    likely = LogisticRegression(C=math.inf, tol=1e-10).fit(rows, labels)
    top = np.append(likely.intercept_, likely.coef_)
    assert top == pytest.approx([0.35, 0.57], abs=0.005)  # as printed
    pairs = np.random.default_rng(6).uniform(-20, 20, (200, 2, 2))
    for alpha in (0.5, 0.25):
        smooth = SmoothF(rows, (labels > 0).astype(float), None, alpha)
        ends = [np.mean([smooth(theta)[0] for theta in pair]) for pair in pairs]
        middles = [smooth(pair.mean(axis=0))[0] for pair in pairs]
        assert (np.array(middles) < np.array(ends) - 0.01).sum() > 10


@pytest.mark.parametrize("seed", mostly_nightly(range(4), quick=1))
@pytest.mark.parametrize("alpha", [0.25, 0.75])
def test_no_point_of_a_grid_is_better(seed, alpha):
    random = np.random.default_rng(seed)
    rows, weights = random.normal(size=(12, 1)), random.random(12)
    labels = (rows[:, 0] + random.normal(size=12) > 0.7).astype(int)
    labels[:2] = 0, 1
    l2, bound = 0.01, 10.0
    found = MaxExpectedFClassifier(alpha, 1.0, l2, 32, seed, bound=bound)
    found.fit(rows, labels, weights)
    theta = np.append(found.intercept_, found.coef_)
    value = plain(theta, rows, labels, weights, alpha, 1.0)
    assert found.smooth_f_ == pytest.approx(value)
    assert found.objective_ == pytest.approx(value - l2 / 2 * theta[1] ** 2)
    unit = math.sqrt(np.average(rows[:, 0] ** 2, weights=weights))
    for a in np.linspace(-bound, bound, 41):
        for b in np.linspace(-bound / unit, bound / unit, 41):
            other = plain((a, b), rows, labels, weights, alpha, 1.0) - l2 / 2 * b**2
            assert other <= found.objective_ + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_starts_go_on_while_they_gain(seed):
    """Four in a row that raise the objective by no more than 0.001 are the last; at most 32."""
    rows, labels = data(60, seed=seed)
    told = []
    found = MaxExpectedFClassifier(l2=0, random_state=seed).fit(
        rows, labels, progress=lambda done, note: told.append(done)
    )
    best = np.append(-math.inf, np.maximum.accumulate(found.objectives_))
    [raised] = np.flatnonzero(found.objectives_ > best[:-1] + 1e-3)[-1:]
    assert len(found.objectives_) == len(told) == min(32, raised + 5)
    assert told[-1] == 1
    assert all(0 < share <= 1 for share in told)


def test_the_box_holds():
    rows, labels = TOY
    found = MaxExpectedFClassifier(bound=2.0, random_state=0).fit(rows, labels)
    assert abs(found.intercept_[0]) <= 2
    assert abs(found.coef_[0, 0]) * math.sqrt(14 / 4) <= 2 + 1e-12
    free = MaxExpectedFClassifier(bound=math.inf, random_state=0).fit(rows, labels)
    assert free.objective_ > 0.85
    origin = MaxExpectedFClassifier(fit_intercept=False, restarts=4).fit(*data(features=3))
    assert origin.intercept_ == 0
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MaxExpectedFClassifier(max_iter=2, random_state=0).fit(*data(seed=5, features=3))


# -- exact expected utility ------------------------------------------------------------------------


def is_highest(made, objective):
    """Whether no small change of a weight raises the objective of (w, b), where training ended."""
    end, steps = np.append(made.coef_, made.intercept_), 1e-3 * np.eye(made.coef_.size + 1)
    sides = np.array([[objective(end + side * step) for side in (1, -1)] for step in steps])
    # By a wrong gradient or in a wrong objective, both sides would differ by far more.
    even = np.abs(sides[:, 0] - sides[:, 1]) < 1e-7
    return even.all() and (sides < objective(end) + 1e-7).all()


@pytest.mark.parametrize(
    ("name", "given", "batch_size"),
    [
        ("fscore", {"beta": 2}, None),
        ("g_mean", {}, None),
        ("zero_one", {}, None),
        ("hamming", {}, 4),  # its mean over batches is that of all
        ("pk", {"k": 2}, 4),
        ("pk", {"k": 2}, None),
    ],
)
def test_training_ends_where_enumeration_is_highest(name, given, batch_size):
    """The mean over batches, less the penalty on all weights but the intercept."""
    rows, y = np.random.default_rng(5).normal(size=(8, 2)), [1, 0, 0, 1, 0, 1, 0, 0]
    loss, tables = fsmeu.load(name, **given), []
    for part in (slice(0, 4), slice(4, 8)) if batch_size and name == "pk" else (slice(0, 8),):
        zs = brute_force.sequences((0, 1), len(y[part]))
        tables.append((part, {z: loss(z, y[part]) for z in zs}))
    sign = 1 if loss.kind == "utility" else -1

    def objective(weights):
        p = expit(rows @ weights[:-1] + weights[-1])
        values = [brute_force.expectation(brute_force.bernoulli(p[at]), of) for at, of in tables]
        return sign * np.mean(values) - 0.01 * weights[:-1] @ weights[:-1]

    how = {"l2": 0.02, "restarts": 0, "batch_size": batch_size, "random_state": 0}
    made = MaxExpectedUtilityClassifier(name, loss_params=given, **how).fit(rows, y)
    end = np.append(made.coef_, made.intercept_)
    assert made.objectives_ == pytest.approx([objective(end)], rel=1e-10)
    size = made.coef_[0] @ made.coef_[0]
    assert made.expected_value_ == pytest.approx(sign * (objective(end) + 0.01 * size), rel=1e-10)
    assert is_highest(made, objective)


def test_training_of_many_examples():
    """Where counts of more than 32 events are convolved, each node of the tree by itself."""
    rows, y = data(150, seed=6, features=3)
    made = MaxExpectedUtilityClassifier("fscore", restarts=0, l2=1e-3).fit(rows, y)

    def objective(weights):
        p = expit(rows @ weights[:-1] + weights[-1])
        value = fsmeu.expect(fsmeu.load("fscore").swapped, y.tolist(), p).value
        return value - 0.0005 * weights[:-1] @ weights[:-1]

    end = np.append(made.coef_, made.intercept_)
    assert made.objectives_ == pytest.approx([objective(end)], rel=1e-9)
    assert is_highest(made, objective)
