"""Other class frequencies than in training: adapted, estimated, and warned of where in doubt."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fsmeu
from fsmeu.learning import DTAClassifier, ShareWarning
from tests.learning.test_plug_in import Known


def made(before, prior="estimate", kind=None):
    """A classifier of rows whose first column is P(positive), and the share of training."""
    labels = np.arange(1000) < round(1000 * before)
    found = DTAClassifier("fscore", Known(), prior=prior, calibration=kind)
    return found.fit(np.arange(1000.0)[:, None] / 1000, labels.astype(int))


def told(call):
    """The warnings of shares that a call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, ShareWarning)]


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


@pytest.mark.parametrize("before", [0.1, 0.5])
def test_estimate_is_the_most_likely_share(before):
    model = made(before)
    for after in (0.02, 0.1, 0.4, 0.9):
        p = shifted(0, 500, before, after)
        assert model.prior_of(column(p)) == pytest.approx(maximisation(p, before), abs=1e-7)


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


# -- estimators of scikit-learn --------------------------------------------------------------------

ROWS, POSITIVE = make_classification(
    8000, n_informative=4, weights=[0.9], class_sep=0.8, flip_y=0, random_state=1
)
TRAIN = ROWS[:2000], POSITIVE[:2000]
BOOSTING = GradientBoostingClassifier(n_estimators=60, max_depth=5, random_state=0)
FOREST = RandomForestClassifier(20, random_state=0)
EACH = [
    GaussianNB(),
    *(pytest.param(one, marks=pytest.mark.nightly) for one in (BOOSTING, FOREST)),
    LogisticRegression(),
]


def drawn(share, size=1500, seed=0):
    """New rows of a share of positives, and their labels."""
    random = np.random.default_rng(seed)
    new = np.arange(2000, 8000)
    count = round(share * size)
    sides = [(new[POSITIVE[new] == c], n) for c, n in ((1, count), (0, size - count))]
    chosen = np.concatenate([random.choice(rows, n, replace=False) for rows, n in sides])
    return ROWS[chosen], POSITIVE[chosen]


@pytest.mark.parametrize("inner", EACH)
def test_shares_are_found_by_calibration(inner):
    """Estimates are near the truth for any classifier, and nothing is said against them."""
    made = DTAClassifier("fscore", inner, prior="estimate").fit(*TRAIN)
    for share in (0.05, 0.1, 0.3):
        rows, _ = drawn(share)
        assert made.prior_of(rows) == pytest.approx(share, abs=0.03 + 0.05 * share)
        assert told(lambda rows=rows: made.predict(rows)) == []


def test_rows_that_look_otherwise_are_told_of():
    made = DTAClassifier("fscore", prior="estimate").fit(*TRAIN)
    (said,) = told(lambda: made.predict(drawn(0.1)[0] * 3.0))
    assert "no share explains them" in said


def test_a_frozen_estimator_that_has_seen_the_rows_is_told_of():
    """Its probabilities for these are more extreme than for any new rows."""
    seen = FrozenEstimator(FOREST.fit(*TRAIN))
    rows, _ = drawn(0.2)
    made = DTAClassifier("fscore", seen, prior="estimate").fit(*TRAIN)
    assert any("no share explains them" in one for one in told(lambda: made.predict(rows)))
    made.fit(ROWS[2000:3500], POSITIVE[2000:3500])
    assert told(lambda: made.predict(rows)) == []
    assert made.prior_of(rows) == pytest.approx(0.2, abs=0.04)


def test_an_estimate_without_calibration_is_told_of_unless_asked_for():
    made = DTAClassifier("fscore").fit(*TRAIN).set_params(prior="estimate")
    rows, _ = drawn(0.2)
    (said,) = told(lambda: made.predict(rows))
    assert 'call it with prior="estimate"' in said
    assert told(lambda: made.set_params(calibration=None).predict(rows)) == []


# -- weights of classes ----------------------------------------------------------------------------

BALANCED = LogisticRegression(class_weight="balanced")
FEW = ROWS[:400], POSITIVE[:400]
WEIGHTS = np.where(TRAIN[1] == 1, 5.0, 1.0)


@pytest.mark.parametrize(
    "inner", [GridSearchCV(make_pipeline(StandardScaler(), BALANCED), {}, cv=2),
              FrozenEstimator(BALANCED.fit(*FEW))], ids=["search", "frozen"],
)  # fmt: skip
def test_class_weights_of_the_estimator_are_told_of(inner):
    (said,) = told(lambda: DTAClassifier("fscore", inner).fit(*FEW))
    assert "class_weight='balanced'" in said
    assert 'calibration="isotonic"' in said
    calibrated = DTAClassifier("fscore", inner, calibration="isotonic", folds=2)
    assert told(lambda: calibrated.fit(*FEW)) == []
    assert told(lambda: calibrated.set_params(prior=0.2).fit(*FEW)) == []


def test_sample_weights_of_classes_are_told_of():
    """The advice restores what decisions without weights come to; other weights are no matter."""
    made = DTAClassifier("fscore")
    (said,) = told(lambda: made.fit(*TRAIN, WEIGHTS))
    share = TRAIN[1].mean()
    assert f"Give prior={share:.3g} if new rows are like these" in said
    rows, truth = drawn(0.1)
    weighted = f1_score(truth, made.predict(rows))
    advised = f1_score(truth, made.set_params(prior=float(share)).predict(rows))
    assert advised > weighted + 0.02
    assert told(lambda: made.fit(*TRAIN, WEIGHTS)) == []
    for some in (np.random.default_rng(0).exponential(size=2000), np.full(2000, 3.0)):
        assert told(lambda some=some: DTAClassifier().fit(*TRAIN, some)) == []
