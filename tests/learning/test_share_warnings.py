"""What is said of an estimated share, and of weights: where it is in doubt, and where it is not."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fsmeu.learning import DTAClassifier, ShareWarning

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


def told(call):
    """The warnings of shares that a call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, ShareWarning)]


@pytest.mark.parametrize("inner", EACH)
def test_shares_are_found_by_calibration(inner):
    """Estimates are near the truth for any classifier, and nothing is said against them."""
    made = DTAClassifier("fscore", inner, prior="estimate").fit(*TRAIN)
    for share in (0.05, 0.1, 0.3):
        rows, _ = drawn(share)
        assert made.prior_of(rows) == pytest.approx(share, abs=0.03 + 0.05 * share)
        assert told(lambda rows=rows: made.predict(rows)) == []
    (said,) = told(lambda: made.predict(rows * 3.0))
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
WEIGHTS = np.where(TRAIN[1] == 1, 5.0, 1.0)


@pytest.mark.parametrize(
    "inner",
    [
        BALANCED,
        make_pipeline(StandardScaler(), BALANCED),
        GridSearchCV(BALANCED, {"C": [1.0]}, cv=2),
        FrozenEstimator(BALANCED.fit(*TRAIN)),
    ],
    ids=["plain", "pipeline", "search", "frozen"],
)
def test_class_weights_of_the_estimator_are_told_of(inner):
    (said,) = told(lambda: DTAClassifier("fscore", inner).fit(*TRAIN))
    assert "class_weight='balanced'" in said
    assert 'calibration="isotonic"' in said
    calibrated = DTAClassifier("fscore", inner, calibration="isotonic", folds=2)
    assert told(lambda: calibrated.fit(*TRAIN)) == []
    assert told(lambda: calibrated.set_params(prior=0.2).fit(*TRAIN)) == []


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
