"""Plug-in classifiers: decisions by enumeration, thresholds by trying all, rows of any kind."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, hamming_loss
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import fsmeu
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier, load, save
from fsmeu.learning.base import best_threshold
from fsmeu.learning.plug_in import held_out_parts
from tests import brute_force
from tests.support.examples import data

X, Y = make_classification(160, 5, weights=[0.75], flip_y=0.2, random_state=3)


def g_tp_pr(z, y):
    both, product = sum(a * b for a, b in zip(y, z, strict=True)), sum(y) * sum(z)
    return both / math.sqrt(product) if product else float(sum(y) + sum(z) == 0)


MEASURES = {"fscore": brute_force.fscore, "jaccard": brute_force.jaccard, "g_tp_pr": g_tp_pr}


class Known(GaussianNB):
    """Probabilities that stand in the first column."""

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0], X[:, 0]], axis=1)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("p", [[0.9, 0.15, 0.4, 0.35, 0.05], [0.2, 0.2, 0.1]])
def test_test_sets_are_decided_best(name, p):
    """Natarajan 2016, section 5.1; its algorithms skip no positives, best in the second set."""
    p = np.array(p)
    made = DTAClassifier(name, Known()).fit(np.arange(6.0)[:, None] / 6, [0, 1] * 3)
    decision = made.decide(p[:, None])
    of_y = brute_force.bernoulli(p)
    values = {z: brute_force.expected(z, of_y, MEASURES[name]) for z in of_y}
    assert decision.exact
    assert values[tuple(decision.labels)] == pytest.approx(max(values.values()), abs=1e-12)
    assert decision.value == pytest.approx(max(values.values()), abs=1e-12)
    assert made.predict(p[:, None]).tolist() == decision.labels


SCORED = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.integers(0, 1)), min_size=1, max_size=9
)


@given(SCORED, st.sampled_from([*MEASURES, "hamming"]))
@settings(deadline=None, max_examples=60)
def test_thresholds_are_best_of_all(scored, name):
    """No threshold below, between or above the scores is better, and the value is as told."""
    s, y = (np.array(column) for column in zip(*scored, strict=True))
    threshold, value = best_threshold(fsmeu.load(name), s.astype(float), y > 0)
    measure = MEASURES.get(name, hamming_loss)
    at, *tried = (
        measure((s >= cut).astype(int).tolist(), y.tolist()) for cut in (threshold, *s, 0.0, 2.0)
    )
    assert at == pytest.approx(value, abs=1e-12)
    assert value == pytest.approx(max(tried) if name in MEASURES else min(tried), abs=1e-12)


CASE = st.tuples(st.floats(0, 1), st.integers(0, 1), st.integers(0, 3))
POSITIVE = st.tuples(st.floats(0, 1), st.integers(0, 1), st.integers(1, 3))


@given(POSITIVE, st.lists(CASE))
@settings(deadline=None, max_examples=60)
def test_weights_are_repetitions(first, others):
    """At least one of the weights is not 0."""
    s, y, w = (np.array(column) for column in zip(first, *others, strict=True))
    for name in ("balanced_accuracy", "g_tp_pr"):
        loss = fsmeu.load(name)
        once = best_threshold(loss, s.astype(float), y > 0, w.astype(float))
        often = best_threshold(loss, np.repeat(s, w).astype(float), np.repeat(y, w) > 0)
        assert once[1] == pytest.approx(often[1], abs=1e-12)


def test_eum_uses_rows_that_the_estimator_has_not_seen():
    """The value is the best of scikit-learn's metric on these; with refit the threshold stays."""
    made = EUMClassifier("balanced_accuracy", held_out=0.4, random_state=5).fit(X, Y)
    seen, unseen = held_out_parts(Y.astype(float), 0.4, 5)
    assert sorted([*seen, *unseen]) == list(range(len(Y)))
    p = LogisticRegression(max_iter=1000).fit(X[seen], Y[seen]).predict_proba(X[unseen])[:, 1]
    best = max(balanced_accuracy_score(Y[unseen], p >= cut) for cut in (*p, 2.0))
    assert made.value_ == pytest.approx(best, rel=1e-12)
    again = EUMClassifier("balanced_accuracy", held_out=0.4, random_state=5, refit=True).fit(X, Y)
    assert made.threshold_ == again.threshold_
    assert not np.allclose(made.estimator_.coef_, again.estimator_.coef_)
    all_rows = LogisticRegression(max_iter=1000).fit(X, Y)
    assert np.allclose(again.estimator_.coef_, all_rows.coef_)
    assert np.array_equal(made.predict(X), made.predict_proba(X)[:, 1] >= made.threshold_)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB(), LinearSVC()])
@pytest.mark.parametrize("weights", [None, 1 + (np.arange(len(Y)) % 3.0)])
@pytest.mark.thirds
def test_calibration(kind, estimator, weights):
    """A map of scores in cross-validation: isotonic, or a logistic regression on soft labels."""
    made = DTAClassifier(estimator=estimator, calibration=kind, folds=4).fit(X, Y, weights)
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"
    how = {"params": {} if weights is None else {"sample_weight": weights}}
    parts = StratifiedKFold(4, shuffle=True, random_state=0)
    seen = cross_val_predict(estimator, X, Y, cv=parts, method=method, **how)
    fitted = clone(estimator).fit(X, Y, **how["params"])
    new = getattr(fitted, method)(X)
    seen, new = (np.reshape(scores, (len(Y), -1))[:, -1] for scores in (seen, new))
    w = np.ones(len(Y)) if weights is None else weights
    if kind == "isotonic":
        wanted = IsotonicRegression(out_of_bounds="clip").fit(seen, Y, w).predict(new)
    else:
        soft = np.where(Y > 0, 1 - 1 / (w @ Y + 2), 1 / (w @ (1 - Y) + 2))
        twice = np.append(w * soft, w * (1 - soft))  # each is positive by so much, and negative
        line = LogisticRegression(C=np.inf, tol=1e-9, max_iter=1000)
        line.fit(np.tile(seen, 2)[:, None], np.repeat([1, 0], len(Y)), twice)
        wanted = line.predict_proba(new[:, None])[:, 1]
    assert made.predict_proba(X)[:, 1] == pytest.approx(wanted, abs=2e-4)


def test_few_positives_are_in_both_parts():
    """Of three among a thousand and a share of .1, scikit-learn would hold out none."""
    positive = np.arange(1000.0) < 3
    seen, unseen = held_out_parts(positive.astype(float), 0.1, 0)
    assert (positive[seen].sum(), positive[unseen].sum()) == (2, 1)
    _, other = train_test_split(positive, test_size=0.1, stratify=positive, random_state=0)
    assert other.sum() == 0


@pytest.mark.parametrize(
    "made",
    [DTAClassifier(), EUMClassifier(random_state=0), DTAClassifier(calibration="isotonic")],
)
@pytest.mark.filterwarnings("error", "ignore::fsmeu.learning.ShareWarning")
def test_weights_reach_the_estimator_of_a_pipeline(made):
    made.set_params(estimator=make_pipeline(StandardScaler(), LogisticRegression()))
    even = made.fit(X, Y, sample_weight=np.ones(len(Y))).predict_proba(X)
    heavy = made.fit(X, Y, sample_weight=np.where(Y == 1, 9.0, 1.0)).predict_proba(X)
    assert heavy[:, 1].mean() > even[:, 1].mean() + 0.1


RANDOM = np.random.default_rng(7)
R = RANDOM.normal(size=(120, 4))
TABLE = (R @ RANDOM.normal(size=(4, 5)) + RANDOM.normal(size=(120, 5)) > 0.8).astype(int)


@pytest.mark.parametrize("name", ["fscore", "jaccard"])
def test_rows_are_decided_best(name):
    """Against all 32 label sets of five labels, each valued by listing all others."""
    made = ExampleWiseClassifier(name).fit(R[:80], TABLE[:80])
    p, z = made.predict_proba(R[80:90]), made.predict(R[80:90])
    for row, chosen in zip(p, z, strict=True):
        of_y = brute_force.bernoulli(row)
        values = {one: brute_force.expected(one, of_y, MEASURES[name]) for one in of_y}
        assert values[tuple(chosen.tolist())] == pytest.approx(max(values.values()), abs=1e-12)


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
    sparse = clone(made).fit(csr_array(R), csr_array(table)).predict_proba(csr_array(R))
    assert sparse == pytest.approx(p, abs=1e-6)
    heavy = clone(made).fit(R, table, sample_weight=1 + 9 * TABLE[:, 0])
    assert heavy.predict_proba(R)[:, 0].mean() > p[:, 0].mean() + 0.05


def test_a_loss_that_is_no_table():
    made = ExampleWiseClassifier(fsmeu.load("pk", k=2)).fit(R, TABLE)
    assert made.predict(R[:5]).shape == (5, 5)


OUTER = {
    "dta": lambda inner: DTAClassifier("fscore", inner),
    "dta, calibrated": lambda inner: DTAClassifier("fscore", inner, calibration="sigmoid", folds=2),
    "eum": lambda inner: EUMClassifier("fscore", inner, random_state=0),
    "example-wise": lambda inner: ExampleWiseClassifier("fscore", inner),
}
KIND = pytest.mark.parametrize("kind", OUTER)
NAMES = np.array(["no", "yes"])
ASKED = np.tile([True, False, False], 14)
TEXTS = ["a fine offer" if one else "the dog barks" for one in ASKED]
GAPS = np.where(ASKED, 1.0, np.nan)[:, None]
OF_TEXTS = make_pipeline(TfidfVectorizer(), LogisticRegression())


def right(made, rows):
    """Whether it is right for all rows that it has learned, which tell their class."""
    names = NAMES[ASKED.astype(int)]
    return made.fit(rows, names).predict(rows).tolist() == names.tolist()


@KIND
@pytest.mark.parametrize(
    ("rows", "inner"),
    [
        (TEXTS, OF_TEXTS),
        (np.array(TEXTS), OF_TEXTS),
        (np.array(TEXTS, object), OF_TEXTS),
        (GAPS, HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2)),
        (coo_array(np.stack([ASKED, ~ASKED], axis=1).astype(float)), LogisticRegression()),
    ],
    ids=["list", "texts", "objects", "gaps", "no index"],
)
@pytest.mark.thirds
def test_rows_of_any_kind(kind, rows, inner):
    made = OUTER[kind](inner)
    assert right(made, rows)
    assert made.predict_proba(rows).shape == (len(ASKED), 2)


@KIND
def test_faults_are_told_by_scikit_learn(kind):
    with pytest.raises(ValueError, match="NaN"):
        OUTER[kind](LogisticRegression()).fit(GAPS, ASKED)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OUTER[kind](OF_TEXTS).fit(TEXTS, ASKED[:-1])


@KIND
def test_frames(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "size": ASKED + 0.5, "place": ["here"] * len(ASKED)})
    columns = make_column_transformer(
        (TfidfVectorizer(), "text"), (StandardScaler(), ["size"]), (OneHotEncoder(), ["place"])
    )
    made = OUTER[kind](make_pipeline(columns, LogisticRegression()))
    assert right(made, frame)
    assert made.feature_names_in_.tolist() == ["text", "size", "place"]
    assert made.fit(frame, pandas.Series(ASKED)).predict(frame).tolist() == ASKED.tolist()
    with pytest.raises(ValueError, match="columns are missing"):
        made.predict(frame[["text"]])
    plain = OUTER[kind](make_pipeline(StandardScaler(), LogisticRegression()))
    assert right(plain, frame[["size"]])
    save(plain, tmp_path / "frames.skops")
    again = load(tmp_path / "frames.skops").predict(frame[["size"]])
    assert again.tolist() == plain.predict(frame[["size"]]).tolist()


@KIND
def test_within_searches_and_folds(kind):
    made = OUTER[kind](OF_TEXTS)
    grid = GridSearchCV(made, {"estimator__logisticregression__C": [0.1, 10.0]}, cv=2)
    assert grid.fit(TEXTS, ASKED).predict(TEXTS).tolist() == ASKED.tolist()


def test_a_single_row_is_warned_of_once():
    """One by one rows are decided otherwise than together; a threshold does not care."""
    rows, truth = data(80, features=3)
    made = DTAClassifier("fscore").fit(rows, truth)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        together = made.predict(rows)
        assert not told
        alone = np.concatenate([made.predict(row[None]) for row in rows])
        assert not np.array_equal(alone, together)
        made.fit(rows, truth).predict(rows[:1])
    assert [str(one.message) for one in told] == [
        "DTAClassifier decides the rows of a call together, and was given a single one: "
        "use EUMClassifier for rows one by one"
    ]
    fixed = EUMClassifier("fscore", random_state=0).fit(rows, truth)
    assert [fixed.predict(row[None])[0] for row in rows] == fixed.predict(rows).tolist()
