"""Other class frequencies than in training: Bayes' rule in fractions, likelihoods by scipy."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.frozen import FrozenEstimator

import fsmeu
from fsmeu.learning import DTAClassifier, ShareWarning
from tests.learning.test_plug_in import Known
from tests.learning.test_share_warnings import told


def made(before, prior="estimate", kind=None):
    """A classifier of rows whose first column is P(positive), and the share of training."""
    labels = np.arange(1000) < round(1000 * before)
    found = DTAClassifier("fscore", Known(), prior=prior, calibration=kind)
    return found.fit(np.arange(1000.0)[:, None] / 1000, labels.astype(int))


def column(p):
    return np.asarray(p, float)[:, None]


def test_probabilities_are_those_of_bayes():
    """Three kinds of rows, whose probabilities in each class are known; certain ones stay."""
    of_positive = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    of_negative = [Fraction(1, 10), Fraction(2, 5), Fraction(1, 2)]

    def posterior(share):
        pairs = zip(of_positive, of_negative, strict=True)
        return [share * a / (share * a + (1 - share) * b) for a, b in pairs]

    before, after = Fraction(1, 5), Fraction(3, 7)
    given = column([*map(float, posterior(before)), 0.0, 1.0])
    wanted = [*map(float, posterior(after)), 0.0, 1.0]
    found = made(0.2, float(after)).predict_proba(given)[:, 1]
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    same = made(0.2, 0.2).predict_proba(given)[:, 1]
    np.testing.assert_allclose(same, given[:, 0], rtol=1e-15)


def shifted(seed, rows, before, after):
    """Probabilities at a share of positives for rows of another; scores are normal in each class.

    The logarithm of the ratio of densities of N(1.5, 1) and N(0, 1) at x is 1.5 x - 1.125.
    """
    random = np.random.default_rng(seed)
    positive = random.random(rows) < after
    x = random.normal(1.5 * positive)
    return expit(1.5 * x - 1.125 + np.log(before / (1 - before)))


def maximisation(p, before):
    """The share of the greatest likelihood, by scipy."""

    def worse(share):
        return -np.log(share * p / before + (1 - share) * (1 - p) / (1 - before)).sum()

    inside = minimize_scalar(worse, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    with np.errstate(divide="ignore"):
        return min([inside.x, 0.0, 1.0], key=worse)


def expectation_maximisation(p, before, steps):
    """The procedure of the paper, equation 2.9."""
    share = before
    for _ in range(steps):
        positive = share / before * p
        share = np.mean(positive / (positive + (1 - share) / (1 - before) * (1 - p)))
    return share


@pytest.mark.parametrize("before", [0.1, 0.5])
def test_estimate_is_the_most_likely_share(before):
    model = made(before)
    for after in (0.02, 0.1, 0.4, 0.9):
        p = shifted(0, 500, before, after)
        found = model.prior_of(column(p))
        assert found == pytest.approx(maximisation(p, before), abs=1e-7)
        assert found == pytest.approx(expectation_maximisation(p, before, 2000), abs=1e-7)


def interval(p, before):
    """The shares of a grid that are less likely by less than 1.92 than the best."""
    grid = np.linspace(0, 1, 20_001)
    with np.errstate(divide="ignore"):
        heights = np.log(np.outer(grid, p / before) + np.outer(1 - grid, (1 - p) / (1 - before)))
    heights = heights.sum(axis=1)
    kept = grid[heights >= heights.max() - 1.92]
    return kept[0], kept[-1]


def test_doubt_is_told_where_the_odds_of_an_interval_differ_fourfold():
    """The interval is that of the likelihood."""
    doubted = 0
    for seed in range(8):
        p = shifted(seed, 60, 0.4, 0.15 + 0.1 * (seed % 4))
        low, high = interval(p, 0.4)
        said = told(lambda p=p: made(0.4).prior_of(column(p)))
        assert bool(said) == (high * (1 - low) > 4 * low * (1 - high))
        if low > 0 and said:
            found = re.search("any share from ([0-9.e-]+) to ([0-9.]+) will do", said[0])
            assert [float(end) for end in found.groups()] == pytest.approx([low, high], rel=0.06)
            doubted += 1
    assert 2 < doubted < 8


def test_decisions_are_those_of_adapted_probabilities():
    p = shifted(1, 300, 0.2, 0.5)
    model = made(0.2)
    assert model.training_prior_ == pytest.approx(0.2)
    share = maximisation(p, 0.2)
    for prior, after in (("estimate", share), (0.5, 0.5), (None, 0.2)):
        model.set_params(prior=prior)
        assert model.prior_of(column(p)) == pytest.approx(after, abs=1e-7)
        odds = p / (1 - p) * (after / 0.2) * (0.8 / (1 - after))
        wanted = fsmeu.decode("fscore", odds / (1 + odds))
        assert model.predict(column(p)).tolist() == wanted.labels
        assert model.decide(column(p)).value == pytest.approx(wanted.value, abs=1e-7)
        shown = model.predict_proba(column(p))[:, 1]
        np.testing.assert_allclose(shown, odds / (1 + odds), atol=1e-7)


@pytest.mark.parametrize("positive", [False, True])
def test_a_share_of_nothing_is_an_estimate(positive):
    """Rows that all look negative: an F1 of 1 is not claimed, and another share is told of."""
    p = np.linspace(0.001, 0.03, 40)
    before = 0.2
    model = made(1 - before if positive else before)
    rows = column(1 - p if positive else p)
    what = "positives alone are" if positive else "no positives at all are"
    with pytest.warns(ShareWarning, match=f"{what} most likely"):
        found = model.decide(rows)
    with pytest.warns(ShareWarning):
        assert model.prior_of(rows) == float(positive)
    assert found.labels == [int(positive)] * 40
    assert not found.exact
    assert (found.lower, found.upper) == (0.0, 1.0)
    said = re.search(r"at ([0-9.e-]+), which the rows do not exclude.* is ([0-9.]+)", found.why)
    _, wanted = interval(p, before)
    assert float(said[1]) == pytest.approx(1 - wanted if positive else wanted, rel=0.06)
    assert 0 < float(said[2]) < 1


def test_mixtures_fit_and_others_do_not():
    """Drawn from known densities: hardly any is told of, a shift always is."""
    random = np.random.default_rng(3)

    def scores(rows, share, shift=0.0):
        positive = random.random(rows) < share
        p = expit(random.normal(2.0 * positive - 1 + shift))
        return column(p), positive.astype(int)

    seen = FrozenEstimator(Known().fit(*scores(9, 0.5)))
    model = DTAClassifier("fscore", seen, prior="estimate")
    doubts = []
    for k in range(40):
        model.fit(*scores(600, 0.2))
        rows, _ = scores(300, 0.5, shift=1.5 * (k % 2))
        doubts.append(
            any("no share explains" in one for one in told(lambda x=rows: model.decide(x)))
        )
    assert doubts[::2].count(True) <= 1
    assert all(doubts[1::2])
