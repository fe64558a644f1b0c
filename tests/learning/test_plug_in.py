"""Plug-in classifiers: decisions by enumeration, thresholds by trying all, rows for themselves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fsmeu
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier
from fsmeu.learning.given_loss import best_threshold, table_value
from fsmeu.learning.plug_in import held_out_parts
from tests import brute_force

X, Y = make_classification(160, 5, weights=[0.75], flip_y=0.2, random_state=3)


# -- measures that share no code with the losses --------------------------------------------------


def g_tp_pr(z, y):
    both, product = sum(a * b for a, b in zip(y, z, strict=True)), sum(y) * sum(z)
    return both / math.sqrt(product) if product else float(sum(y) + sum(z) == 0)


MEASURES = {"fscore": brute_force.fscore, "jaccard": brute_force.jaccard, "g_tp_pr": g_tp_pr}


class Known(GaussianNB):
    """Probabilities that stand in the first column."""

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0], X[:, 0]], axis=1)


def expected(measure, z, p):
    """The expected value of z by listing."""
    return sum(chance * measure(z, y) for y, chance in brute_force.bernoulli(p).items())


@pytest.mark.parametrize("name", MEASURES)
def test_test_sets_are_decided_best(name):
    """Natarajan 2016, section 5.1: equal to an exhaustive search over all label vectors."""
    p = np.array([0.9, 0.15, 0.4, 0.35, 0.05])
    made = DTAClassifier(name, Known()).fit(np.arange(6.0)[:, None] / 6, [0, 1] * 3)
    decision = made.decide(p[:, None])
    every = brute_force.sequences((0, 1), len(p))
    values = {z: expected(MEASURES[name], z, p) for z in every}
    assert decision.exact
    assert values[tuple(decision.labels)] == pytest.approx(max(values.values()), abs=1e-12)
    assert decision.value == pytest.approx(max(values.values()), abs=1e-12)
    assert made.predict(p[:, None]).tolist() == decision.labels


def test_no_positives_may_be_best():
    """Algorithms 1 and 2 of the paper leave this candidate out."""
    rows = np.array([[0.2], [0.2], [0.1]])
    made = DTAClassifier("fscore", Known()).fit([[0.1], [0.9]] * 2, [0, 1] * 2)
    assert made.predict(rows).tolist() == [0, 0, 0]
    made.set_params(loss=fsmeu.load("fscore", empty=0)).fit([[0.1], [0.9]] * 2, [0, 1] * 2)
    assert made.predict(rows).tolist() == [1, 1, 0]


SCORED = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.integers(0, 1)), min_size=1, max_size=9
)


@given(SCORED, st.sampled_from([*MEASURES, "hamming"]))
@settings(deadline=None, max_examples=60)
def test_thresholds_are_best_of_all(scored, name):
    """No threshold below, between or above the scores is better, and the value is as told."""
    s, y = (np.array(column) for column in zip(*scored, strict=True))
    threshold, value = best_threshold(fsmeu.load(name), s.astype(float), y > 0)
    measure = MEASURES.get(name, brute_force.hamming)
    at, *tried = (
        measure((s >= cut).astype(int).tolist(), y.tolist()) for cut in (threshold, *s, 0.0, 2.0)
    )
    assert at == pytest.approx(value, abs=1e-12)
    assert value == pytest.approx(max(tried) if name in MEASURES else min(tried), abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1))
@settings(deadline=None, max_examples=60)
def test_weights_are_repetitions(cases):
    s, y, w = (np.array(column) for column in zip(*cases, strict=True))
    if not w.sum():
        return
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


def test_values_of_tables_are_those_of_scikit_learn():
    z = DTAClassifier("balanced_accuracy", GaussianNB()).fit(X, Y).predict(X)
    found = table_value(fsmeu.load("balanced_accuracy"), z == 1, Y == 1)
    assert found == pytest.approx(balanced_accuracy_score(Y, z), rel=1e-12)


# -- calibration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()], ids=["LR", "NB"])
def test_calibration_is_that_of_scikit_learn(kind, estimator):
    parts = StratifiedKFold(4, shuffle=True, random_state=0)
    other = CalibratedClassifierCV(estimator, method=kind, cv=parts, ensemble=False).fit(X, Y)
    made = DTAClassifier(estimator=estimator, calibration=kind, folds=4).fit(X, Y)
    assert made.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=2e-4)


def test_calibration_of_rows_sorted_by_kind():
    """Kinds of negative examples that come one after another are in every fold."""
    random = np.random.default_rng(0)
    kinds = np.repeat(np.arange(6), 60)
    rows = np.eye(6)[kinds] * 3 + random.normal(size=(360, 6))
    fresh = np.eye(6)[kinds] * 3 + random.normal(size=(360, 6))
    order = random.permutation(360)
    made = DTAClassifier(calibration="sigmoid", folds=5)
    lost = [
        log_loss(kinds == 0, made.fit(rows[o], kinds[o] == 0).predict_proba(fresh)[:, 1])
        for o in (order, np.arange(360))
    ]
    assert lost[1] == pytest.approx(lost[0], rel=0.1)


def test_calibration_of_an_estimator_without_probabilities():
    made = DTAClassifier(estimator=LinearSVC(), calibration="sigmoid").fit(X, Y)
    p = made.predict_proba(X)[:, 1]
    order = np.argsort(made.estimator_.decision_function(X))
    assert (np.diff(p[order]) >= 0).all()
    assert abs(p.mean() - Y.mean()) < 0.05


# -- rows, classes, files -------------------------------------------------------------------------


@pytest.mark.parametrize("made", [DTAClassifier(), EUMClassifier(random_state=0)])
def test_weights_reach_the_estimator_of_a_pipeline(made):
    made.set_params(estimator=make_pipeline(StandardScaler(), LogisticRegression()))
    even = made.fit(X, Y, sample_weight=np.ones(len(Y))).predict_proba(X)
    heavy = made.fit(X, Y, sample_weight=np.where(Y == 1, 9.0, 1.0)).predict_proba(X)
    assert heavy[:, 1].mean() > even[:, 1].mean() + 0.1


def test_examples_that_do_not_suffice():
    with pytest.raises(InputError, match="two examples of each class"):
        EUMClassifier().fit(X[:5], [0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="two classes"):
        DTAClassifier().fit(X[:5], [1] * 5)
    neighbours = pytest.importorskip("sklearn.neighbors").KNeighborsClassifier()
    with pytest.raises(InputError, match="sample_weight"):
        DTAClassifier(estimator=neighbours).fit(X, Y, sample_weight=np.ones(len(Y)))


# -- rows that are decided for themselves ---------------------------------------------------------

RANDOM = np.random.default_rng(7)
R = RANDOM.normal(size=(120, 4))
TABLE = (R @ RANDOM.normal(size=(4, 5)) + RANDOM.normal(size=(120, 5)) > 0.8).astype(int)


@pytest.mark.parametrize("name", ["fscore", "jaccard"])
def test_rows_are_decided_best(name):
    """Against all 32 label sets of five labels, each valued by listing all others."""
    made = ExampleWiseClassifier(name).fit(R[:80], TABLE[:80])
    p, z = made.predict_proba(R[80:90]), made.predict(R[80:90])
    for row, chosen in zip(p, z, strict=True):
        every = brute_force.sequences((0, 1), 5)
        best = max(expected(MEASURES[name], one, row) for one in every)
        assert expected(MEASURES[name], chosen.tolist(), row) == pytest.approx(best, abs=1e-12)


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
    """Any loss over two labels will do: here windows of labels in a row."""
    made = ExampleWiseClassifier(fsmeu.load("pk", k=2)).fit(R, TABLE)
    assert made.predict(R[:5]).shape == (5, 5)
