"""Plug-in classifiers: thresholds by trying all, calibration, rows of any kind."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, jaccard_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fsmeu
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier
from tests.support.examples import data

X, Y = make_classification(160, 5, weights=[0.75], flip_y=0.2, random_state=3)
WEIGHTS = 1 + (np.arange(len(Y)) % 3.0)


class Known(GaussianNB):
    """Probabilities that stand in the first column, and the numbers of rows in the last one."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X[:, -1].astype(int)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0], X[:, 0]], axis=1)


SCORED = st.lists(
    st.tuples(
        st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.integers(0, 1), st.sampled_from([1, 2, 0.5])
    ),
    min_size=4,
    max_size=20,
)
SCORES = {
    "fscore": f1_score,
    "jaccard": jaccard_score,
    "balanced_accuracy": balanced_accuracy_score,
    "hamming": accuracy_score,
}


@given(SCORED, st.sampled_from([*SCORES]), st.booleans(), st.sampled_from([0.3, 0.5, 0.9]))
@settings(max_examples=120)
def test_thresholds_are_best_of_all(scored, name, weighted, share):
    """On the rows that are held out, no other is better, as scikit-learn measures them."""
    p, y, w = (np.array(column, float) for column in zip(*scored, strict=True))
    y[:4] = 0, 1, 0, 1
    weights = {"sample_weight": w} if weighted else {}
    made = EUMClassifier(name, Known(), held_out=share, random_state=0)
    made.fit(np.stack([p, np.arange(len(p))], axis=1), y, **weights)
    held = np.setdiff1d(np.arange(len(p)), made.estimator_.seen_)
    for label in (0, 1):
        size = (y == label).sum()
        assert (y[held] == label).sum() == min(max(1, round(share * size)), size - 1)

    def value(cut):
        how = {"sample_weight": w[held]} if weighted else {}
        return SCORES[name](y[held], p[held] >= cut, **how)

    sign = -1 if name == "hamming" else 1
    assert (1 if name == "hamming" else 0) + sign * made.value_ == pytest.approx(
        value(made.threshold_), abs=1e-12
    )
    assert value(made.threshold_) == pytest.approx(max(map(value, [*p, 0.0, 2.0])), abs=1e-12)
    assert not np.isin(made.threshold_, p[held])  # it is between two scores


def test_refit_keeps_the_threshold():
    made = EUMClassifier("balanced_accuracy", held_out=0.4, random_state=5).fit(X, Y)
    threshold, first = made.threshold_, made.estimator_.coef_
    assert made.set_params(refit=True).fit(X, Y).threshold_ == threshold
    assert not np.allclose(made.estimator_.coef_, first)
    assert np.allclose(made.estimator_.coef_, LogisticRegression(max_iter=1000).fit(X, Y).coef_)
    assert np.array_equal(made.predict(X), made.predict_proba(X)[:, 1] >= threshold)


@pytest.mark.parametrize(
    ("kind", "estimator", "weights"),
    [
        ("sigmoid", LogisticRegression(), WEIGHTS),
        ("sigmoid", LinearSVC(), None),
        ("isotonic", GaussianNB(), WEIGHTS),
        ("isotonic", LinearSVC(), None),
    ],
)
def test_calibration(kind, estimator, weights):
    """That of scikit-learn, by scores of rows that are held out, on the same folds."""
    made = DTAClassifier(estimator=estimator, calibration=kind, folds=4).fit(X, Y, weights)
    parts = StratifiedKFold(4, shuffle=True, random_state=0)
    theirs = CalibratedClassifierCV(estimator, method=kind, cv=parts, ensemble=False)
    wanted = theirs.fit(X, Y, weights).predict_proba(X)
    assert made.predict_proba(X) == pytest.approx(wanted, abs=2e-4)


def test_weights_reach_the_estimator_of_a_pipeline():
    for made in (EUMClassifier(random_state=0), DTAClassifier(calibration="isotonic")):
        made.set_params(estimator=make_pipeline(StandardScaler(), LogisticRegression()))
        even = made.fit(X, Y, sample_weight=np.ones(len(Y))).predict_proba(X)
        heavy = made.fit(X, Y, sample_weight=np.where(Y == 1, 9.0, 1.0)).predict_proba(X)
        assert heavy[:, 1].mean() > even[:, 1].mean() + 0.1


# -- several labels for each row -------------------------------------------------------------------

RANDOM = np.random.default_rng(7)
R = RANDOM.normal(size=(120, 4))
TABLE = (R @ RANDOM.normal(size=(4, 5)) + RANDOM.normal(size=(120, 5)) > 0.8).astype(int)


def test_probabilities_are_those_of_an_estimator_for_each_label():
    """Sparse rows and tables too; a label that never changes is certain."""
    table = np.concatenate([TABLE, np.ones((120, 1), int), np.zeros((120, 1), int)], axis=1)
    made = ExampleWiseClassifier(estimator=LogisticRegression(C=0.3)).fit(R, table)
    p = made.predict_proba(R)
    for k in range(5):
        other = LogisticRegression(C=0.3).fit(R, TABLE[:, k])
        assert p[:, k] == pytest.approx(other.predict_proba(R)[:, 1])
    assert (p[:, 5:] == [1.0, 0.0]).all()
    assert (made.predict(R)[:, 5:] == [1, 0]).all()
    best = [fsmeu.decode("fscore", row).labels for row in p]
    assert made.predict(R).tolist() == best
    sparse = clone(made).fit(csr_array(R), csr_array(table)).predict_proba(csr_array(R))
    assert sparse == pytest.approx(p, abs=1e-6)
    heavy = clone(made).fit(R, table, sample_weight=1 + 9 * TABLE[:, 0])
    assert heavy.predict_proba(R)[:, 0].mean() > p[:, 0].mean() + 0.05
    windows = clone(made).set_params(loss=fsmeu.load("pk", k=2)).fit(R, TABLE)
    assert windows.predict(R[:5]).shape == (5, 5)


# -- rows of any kind, other losses, single rows ---------------------------------------------------

OUTER = [
    DTAClassifier(pos_label="yes"),
    EUMClassifier(pos_label="yes", random_state=0, calibration="sigmoid", folds=2),
    ExampleWiseClassifier(pos_label="yes"),
]
EACH = pytest.mark.parametrize("made", OUTER, ids=lambda made: type(made).__name__)
ASKED = np.tile([True, False, False], 14)
NAMES = np.where(ASKED, "yes", "no")
TEXTS = ["a fine offer" if one else "the dog barks" for one in ASKED]
GAPS = np.where(ASKED, 1.0, np.nan)[:, None]
OF_TEXTS = make_pipeline(TfidfVectorizer(), LogisticRegression())
BOOSTED = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2)


@EACH
def test_rows_of_any_kind(made):
    """Rows tell their class; the estimator is given them as they are."""
    for rows, inner in (
        (TEXTS, OF_TEXTS),
        (np.array(TEXTS, object), OF_TEXTS),
        (GAPS, BOOSTED),
        (coo_array(np.stack([ASKED, ~ASKED], axis=1).astype(float)), LogisticRegression()),
    ):
        found = clone(made).set_params(estimator=inner).fit(rows, NAMES)
        assert found.predict(rows).tolist() == NAMES.tolist()
        assert found.predict_proba(rows).shape == (len(ASKED), 2)
    with pytest.raises(ValueError, match="NaN"):
        clone(made).set_params(estimator=LogisticRegression()).fit(GAPS, NAMES)


def test_frames_and_searches():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "size": ASKED + 0.5})
    columns = make_column_transformer((TfidfVectorizer(), "text"), (StandardScaler(), ["size"]))
    made = DTAClassifier(estimator=make_pipeline(columns, LogisticRegression()), pos_label="yes")
    grid = GridSearchCV(made, {"estimator__logisticregression__C": [0.1, 10.0]}, cv=2)
    assert grid.fit(frame, pandas.Series(NAMES)).predict(frame).tolist() == NAMES.tolist()
    assert grid.best_estimator_.feature_names_in_.tolist() == ["text", "size"]


@pytest.mark.parametrize("kind", [DTAClassifier, ExampleWiseClassifier])
def test_another_loss_after_fit_is_heeded(kind):
    made = kind("fscore").fit(X, Y)
    before = made.predict(X)
    for changed in (
        {"loss": "hamming"},
        {"loss_params": {"beta": 3}},
        {"loss": "cost_matrix", "loss_params": {"cost": [[0, 9], [1, 0]]}},
    ):
        made.set_params(**{"loss": "fscore", "loss_params": None, **changed})
        assert made.predict(X).tolist() == kind(**changed).fit(X, Y).predict(X).tolist()
    assert made.predict(X).tolist() != before.tolist()
    made.loss, made.loss_params = "fscore", None
    assert made.predict(X).tolist() == before.tolist()


def test_a_single_row_is_warned_of_once():
    """One by one rows are decided otherwise than together; a threshold does not care."""
    rows, truth = data(80, features=3)
    made = DTAClassifier("fscore").fit(rows, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = made.predict(rows)
        with pytest.raises(UserWarning, match="use EUMClassifier for rows one by one"):
            made.predict(rows[:1])
        assert not np.array_equal([made.predict(row[None])[0] for row in rows], together)
    fixed = EUMClassifier("fscore", random_state=0).fit(rows, truth)
    assert [fixed.predict(row[None])[0] for row in rows] == fixed.predict(rows).tolist()
