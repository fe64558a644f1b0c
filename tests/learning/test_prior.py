"""Other class frequencies than in training: Bayes' rule in fractions, likelihoods by scipy."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fsmeu
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, load, save
from fsmeu.learning.prior import adapted, estimated_prior


def test_probabilities_are_those_of_bayes():
    """Three kinds of rows, whose probabilities in each class are known."""
    of_positive = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    of_negative = [Fraction(1, 10), Fraction(2, 5), Fraction(1, 2)]

    def posterior(share):
        pairs = zip(of_positive, of_negative, strict=True)
        return [share * a / (share * a + (1 - share) * b) for a, b in pairs]

    before, after = Fraction(1, 5), Fraction(3, 7)
    given = np.array([float(p) for p in posterior(before)])
    wanted = [float(p) for p in posterior(after)]
    found = adapted(given, float(before), float(after))
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.testing.assert_allclose(adapted(given, 0.2, 0.2), given, rtol=1e-15)


def test_certain_probabilities_stay():
    assert adapted(np.array([0.0, 1.0]), 0.2, 0.7).tolist() == [0.0, 1.0]
    assert adapted(np.array([0.3, 1.0]), 0.2, 0.0).tolist() == [0.0, 1.0]


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


@pytest.mark.parametrize("after", [0.02, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("before", [0.1, 0.5])
def test_estimate_is_the_most_likely_share(before, after):
    p = shifted(0, 500, before, after)
    found = estimated_prior(p, before, "here").share
    assert found == pytest.approx(maximisation(p, before), abs=1e-7)
    assert found == pytest.approx(expectation_maximisation(p, before, 4000), abs=1e-7)


def test_estimate_of_many_rows_is_the_truth():
    """Within four standard errors, by the information that the rows have."""
    for seed, after in enumerate((0.025, 0.05, 0.2, 0.4)):
        p = shifted(seed, 50_000, 0.1, after)
        a, b = p / 0.1, (1 - p) / 0.9
        information = np.sum(((a - b) / (after * a + (1 - after) * b)) ** 2)
        assert abs(estimated_prior(p, 0.1, "here").share - after) < 4 / np.sqrt(information)


def test_estimates_at_the_ends():
    """No row of a class: the limit of the paper's procedure is 0 or 1."""
    low = np.linspace(0.01, 0.09, 200)
    assert estimated_prior(low, 0.1, "here").share == maximisation(low, 0.1) == 0.0
    assert estimated_prior(1 - low, 0.9, "here").share == maximisation(1 - low, 0.9) == 1.0
    sure = np.array([0.0] * 30 + [1.0] * 10)
    assert estimated_prior(sure, 0.5, "here").share == pytest.approx(0.25, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "part"),
    [
        ([], "no rows"),
        ([0.2] * 9, "the probability 0.2 for each of 9"),
        ([0.2, 0.3], "2 rows, fewer than 10"),
        ([0.001, 0.999], "2 rows, fewer than 10"),
        ([0.19] * 10 + [0.21] * 10, "20 rows, for which any share from 0 to 1 will do"),
    ],
)
def test_shares_that_rows_do_not_tell_are_refused(p, part):
    with pytest.raises(InputError, match="here: the rows must tell") as caught:
        estimated_prior(np.array(p, np.float64), 0.2, "here")
    assert part in str(caught.value)
    assert "Give prior=VALUE" in str(caught.value)


# -- the classifier --------------------------------------------------------------------------------


class Known(GaussianNB):
    """Probabilities that stand in the first column."""

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0], X[:, 0]], axis=1)


TRAIN = np.arange(10.0)[:, None] / 10
LABELS = [0] * 8 + [1] * 2


def test_decisions_are_those_of_adapted_probabilities():
    p = shifted(1, 300, 0.2, 0.5)
    made = DTAClassifier("fscore", Known(), prior="estimate", calibration=None).fit(TRAIN, LABELS)
    assert made.training_prior_ == pytest.approx(0.2)
    share = maximisation(p, 0.2)
    assert made.prior_of(p[:, None]) == pytest.approx(share, abs=1e-7)
    for prior, after in (("estimate", share), (0.5, 0.5), (None, 0.2)):
        made.set_params(prior=prior)
        odds = p / (1 - p) * (after / 0.2) * (0.8 / (1 - after))
        wanted = fsmeu.decode("fscore", odds / (1 + odds))
        assert made.predict(p[:, None]).tolist() == wanted.labels
        assert made.decide(p[:, None]).value == pytest.approx(wanted.value, abs=1e-7)
        shown = made.predict_proba(p[:, None])[:, 1]
        np.testing.assert_allclose(shown, odds / (1 + odds), atol=1e-7)


def test_weights_count_in_the_share_of_training():
    made = DTAClassifier(prior=0.5).fit(TRAIN, LABELS, sample_weight=[1] * 8 + [4] * 2)
    assert made.training_prior_ == pytest.approx(0.5)


def test_prior_is_copied_and_saved(tmp_path):
    made = clone(DTAClassifier(prior="estimate", calibration=None)).fit(TRAIN, LABELS)
    save(made, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.prior == "estimate"
    assert again.training_prior_ == made.training_prior_


BALANCED = LogisticRegression(class_weight="balanced")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"prior": "estimat"}, "Did you mean 'estimate'?"),
        ({"prior": 0}, "prior must be a number between 0 and 1"),
        ({"prior": 1.0}, "prior must be a number between 0 and 1"),
        ({"prior": float("nan")}, "prior must be a number between 0 and 1"),
        ({"prior": True}, "prior must be a number between 0 and 1"),
        ({"prior": 0.1, "estimator": BALANCED}, "class_weight='balanced'"),
        ({"prior": 0.1, "estimator": make_pipeline(StandardScaler(), BALANCED)}, "class_weight"),
    ],
)
def test_refused_priors(settings, part):
    with pytest.raises(InputError) as caught:
        DTAClassifier(**settings).fit(TRAIN, LABELS)
    assert part in str(caught.value)
    later = DTAClassifier(estimator=settings.get("estimator")).fit(TRAIN, LABELS)
    later.set_params(prior=settings["prior"])
    with pytest.raises(InputError) as caught:
        later.predict(TRAIN)
    assert part in str(caught.value)


def test_class_without_weight_is_refused():
    with pytest.raises(InputError, match="both classes must have weight"):
        DTAClassifier(prior=0.1, estimator=Known()).fit(
            TRAIN, LABELS, sample_weight=[1] * 8 + [0] * 2
        )


def test_calibration_makes_up_for_class_weights():
    x = np.arange(60.0)[:, None] % 10 / 10
    y = (x[:, 0] > 0.65).astype(int)
    y[::7] = 1
    made = DTAClassifier(estimator=BALANCED, calibration="sigmoid", prior=0.2).fit(x, y)
    assert made.predict(x).sum() > 0


@pytest.mark.parametrize("positive", [False, True])
def test_a_share_of_nothing_is_an_estimate(positive):
    """Rows that all look negative: an F1 of 1 is not claimed, and another share is told of."""
    p = np.linspace(0.001, 0.03, 40)
    before = 0.2
    made = DTAClassifier("fscore", Known(), prior="estimate", calibration=None).fit(TRAIN, LABELS)
    rows = (1 - p if positive else p)[:, None]
    made.training_prior_ = 1 - before if positive else before
    assert made.prior_of(rows) == float(positive)
    found = made.decide(rows)
    assert found.labels == [int(positive)] * 40
    assert not found.exact
    assert (found.lower, found.upper) == (0.0, 1.0)
    told = re.search(r"at ([0-9.e-]+), which the rows do not exclude.* is ([0-9.]+)", found.why)
    far = float(told[1])
    ratios = p / before - (1 - p) / (1 - before)
    shares = np.linspace(0, 0.5, 50_001)  # of what the rows do not look like
    heights = np.log(shares[:, None] * ratios + (1 - p) / (1 - before)).sum(axis=1)
    wanted = shares[heights >= heights[0] - 1.92].max()
    assert far == pytest.approx(1 - wanted if positive else wanted, rel=0.06)
    assert 0 < float(told[2]) < 1
