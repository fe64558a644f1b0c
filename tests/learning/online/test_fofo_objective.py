"""The objective of FOFO for F_beta and Jaccard, against all classifiers of finitely many points.

The docstring of ``FOFOClassifier`` derives it: the best classifier is a threshold on eta, and the
threshold is the root of q(theta) = b pi theta - E[(eta - theta)_+] with b = beta^2, or 1 for
Jaccard. Here everything is in fractions.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.learning.online import FOFOClassifier
from tests.support.examples import data

POINTS = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), min_size=1, max_size=6)
"""Masses and probabilities of the positive class, in twentieths."""


def sums(points, chosen):
    """E[eta f], E[f] and pi, of an indicator f."""
    total = sum(mass for mass, _ in points)
    picked = list(zip(points, chosen, strict=True))
    hits = sum(Fraction(mass * eta, 20 * total) for (mass, eta), one in picked if one)
    return hits, sum(Fraction(mass, total) for (mass, _), one in picked if one), rate(points)


def rate(points):
    return sum(Fraction(mass * eta, 20) for mass, eta in points) / sum(m for m, _ in points)


def f_beta(points, chosen, square):
    hits, predicted, positive = sums(points, chosen)
    return (1 + square) * hits / (square * positive + predicted)


def q(points, theta, b):
    total = sum(mass for mass, _ in points)
    above = sum(mass * max(Fraction(eta, 20) - theta, Fraction(0)) for mass, eta in points)
    return b * rate(points) * theta - above / total


@given(POINTS, st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(4)]))
@settings(max_examples=40)
def test_best_of_all_classifiers(points, square):
    """The best value of all 2^m classifiers gives the root of q, and the threshold attains it."""
    if not rate(points):
        return
    every = list(itertools.product((False, True), repeat=len(points)))

    def jaccard(hits, predicted, positive):
        return hits / (positive + predicted - hits)

    for values, b, root in (
        ({f: f_beta(points, f, square) for f in every}, square, lambda v: v / (1 + square)),
        ({f: jaccard(*sums(points, f)) for f in every}, Fraction(1), lambda v: v / (1 + v)),
    ):
        best = max(values.values())
        theta = root(best)
        assert q(points, theta, b) == 0
        assert 0 <= theta <= 1 / (1 + b)
        assert values[tuple(Fraction(eta, 20) >= theta for _, eta in points)] == best
        for near in (theta - Fraction(1, 1000), theta + Fraction(1, 1000)):
            assert (q(points, near, b) > 0) == (near > theta)  # q increases: the root is one


@given(POINTS, st.integers(0, 20), st.integers(0, 20))
@settings(max_examples=40)
def test_lemmas_1_and_2(points, first, second):
    """q grows at least by pi + P(eta >= 1/2); F* - F(theta) <= 2 max(1, P(eta >= theta*) / pi) d.

    d = |theta - theta*|. Between theta and theta* every point is on the wrong side, which costs
    F* - F(theta) = 2 E[|eta - theta*|; eta between] / (pi + P(eta >= theta)), and that is at most
    the constant of Lemma 2 times d.
    """
    if not rate(points):
        return
    one, other = sorted(Fraction(k, 40) for k in (first, second))

    def above(theta):
        return tuple(Fraction(eta, 20) >= theta for _, eta in points)

    sigma = rate(points) + sums(points, above(Fraction(1, 2)))[1]
    assert q(points, other, 1) - q(points, one, 1) >= sigma * (other - one)
    every = itertools.product((False, True), repeat=len(points))
    best = max(f_beta(points, f, 1) for f in every)
    star, most = best / 2, 2 * max(1, sums(points, above(best / 2))[1] / rate(points))
    for theta in (one, other):
        low, high = min(theta, star), max(theta, star)
        wrong = tuple(low <= Fraction(eta, 20) < high for _, eta in points)
        hits, mass, _ = sums(points, wrong)
        lost = best - f_beta(points, above(theta), 1)
        assert lost == 2 * abs(hits - star * mass) / (rate(points) + sums(points, above(theta))[1])
        assert lost <= most * abs(theta - star)


@pytest.mark.parametrize("options", [{}, {"gamma_scale": "auto"}, {"predict_with": "last"}])
def test_jaccard_has_the_threshold_of_f_one(options):
    """The same objective: the same thresholds and predictions for any beta; J = F / (2 - F)."""
    rows, labels = data(700)
    one, other = FOFOClassifier(**options), FOFOClassifier(measure="jaccard", beta=3.0, **options)
    first = one.predict_then_fit(rows, labels)
    assert np.array_equal(first, other.predict_then_fit(rows, labels))
    assert one.threshold_ == other.threshold_
    assert other.score_ == pytest.approx(one.score_ / (2 - one.score_), rel=1e-12)


@pytest.mark.parametrize(("measure", "beta"), [("f", 0.5), ("f", 1), ("f", 2), ("jaccard", 1)])
def test_threshold_is_best(measure, beta):
    """With eta known it comes near F* / (1 + beta^2) or J* / (1 + J*), over all cuts."""
    random = np.random.default_rng(6)
    eta = random.beta(0.5, 2.0, 40_000)
    labels = (random.random(40_000) < eta).astype(int)

    def value(hits, count):
        if measure == "jaccard":
            return hits / (eta.sum() + count - hits)
        return (1 + beta**2) * hits / (beta**2 * eta.sum() + count)

    ranked = np.sort(eta)[::-1]
    best = np.max(value(np.cumsum(ranked), np.arange(1, len(eta) + 1)))
    options = {"step": 1e-300, "gamma_scale": "auto", "horizon": len(eta)}  # weights hardly move
    learner = FOFOClassifier(measure=measure, beta=beta, **options)
    learner._begin(1, None)
    learner.classes_, learner.n_features_in_ = np.array([0, 1]), 1
    learner.weights_[:] = [[1.0, 0.0]]
    learner.partial_fit(np.log(eta / (1 - eta))[:, None], labels)
    wanted = best / (1 + (best if measure == "jaccard" else beta**2))
    assert learner.threshold_ == pytest.approx(wanted, abs=0.01)
    decided = eta >= learner.threshold_
    assert value(eta[decided].sum(), decided.sum()) == pytest.approx(best, rel=1e-3)
