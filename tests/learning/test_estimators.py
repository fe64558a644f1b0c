"""All estimators: conventions of scikit-learn; classes by name, the positive one by one rule."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier
from fsmeu.searn import Searn
from tests.support.examples import data

TWICE = "an example given twice is two steps, of which the second begins where the first ended"
DRAWN = "which rows are held out depends on their places"
ONLINE = (learning.FOFOClassifier, learning.OFOClassifier, learning.OnlineLogisticClassifier)
CHEAP = [DTAClassifier(estimator=GaussianNB(), prior=0.3), learning.OFOClassifier()]
OTHERS = [
    learning.FOFOClassifier(),
    learning.OnlineLogisticClassifier(),
    DTAClassifier(),
    DTAClassifier(prior=0.3),
    EUMClassifier(random_state=0),
    learning.ExampleWiseClassifier(),
    learning.MaxExpectedFClassifier(restarts=4, random_state=0),
    learning.MaxExpectedUtilityClassifier(restarts=1, max_iter=30, random_state=0),
]


def failing(made):
    """Checks that cannot hold, with the reason."""
    found = {}
    if isinstance(made, DTAClassifier) and made.estimator is not None:
        return found  # so sure of their data that all decide alike
    if isinstance(made, (*ONLINE, EUMClassifier)):
        for form in ("dense", "sparse"):
            check = f"check_sample_weight_equivalence_on_{form}_data"
            found[check] = DRAWN if isinstance(made, EUMClassifier) else TWICE
    if isinstance(made, (*ONLINE[:2], EUMClassifier, DTAClassifier)):
        found["check_classifiers_train"] = "a threshold other than 1/2 is what it is for"
    if isinstance(made, DTAClassifier):
        reason = "rows are decided together, so that a part of them may be decided otherwise"
        found["check_methods_subset_invariance"] = reason
    return found


@parametrize_with_checks(CHEAP, expected_failed_checks=failing)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.nightly
@parametrize_with_checks(OTHERS, expected_failed_checks=failing)
def test_conventions_that_the_others_keep(estimator, check):
    check(estimator)


# -- the positive class ----------------------------------------------------------------------------

X, Y = data(120, seed=4)
assert 0 < Y.sum() < 55
NAMES = np.array(["ok", "fraud"])[Y]
"""The rare class is the smaller one in sorted order."""
MADE = [
    DTAClassifier(),
    EUMClassifier("jaccard", calibration="sigmoid", folds=2, random_state=1),
    ExampleWiseClassifier(),
    learning.FOFOClassifier(),
    learning.OFOClassifier(average="suffix"),
    learning.OnlineLogisticClassifier(beta=2.0),
    learning.MaxExpectedFClassifier(restarts=2, random_state=0),
    learning.MaxExpectedUtilityClassifier(restarts=0, max_iter=20),
]
EACH = pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)


@EACH
def test_any_class_can_be_the_positive_one(made):
    """It decides as for 1 against 0, and columns and signs are those of the sorted classes."""
    plain = clone(made).fit(X, Y)
    for names in (("ok", "fraud"), (1, 0), (False, True)):
        labels = np.array(names)[Y]
        named = clone(made).set_params(pos_label=names[1]).fit(X, labels)
        assert named.pos_label_ == names[1]
        assert named.classes_.tolist() == sorted(names)
        assert np.array_equal(named.predict(X) == names[1], plain.predict(X) == 1)
        sign = 1 if sorted(names)[1] == names[1] else -1
        assert named.predict_proba(X)[:, ::sign] == pytest.approx(plain.predict_proba(X))
        if hasattr(made, "decision_function"):
            assert sign * named.decision_function(X) == pytest.approx(plain.decision_function(X))
            assert sign * named.coef_ == pytest.approx(plain.coef_)
            assert sign * named.intercept_ == pytest.approx(plain.intercept_)
            # scikit-learn takes scores for those of the greater class
            scores = roc_auc_score(labels == sorted(names)[1], named.decision_function(X))
            assert scores == pytest.approx(roc_auc_score(Y, plain.decision_function(X)))


@EACH
def test_without_it_the_rarer_class_is_taken_and_said_once(made):
    with pytest.warns(UserWarning, match="rarer class, 'fraud', is taken") as told:
        found = clone(made).fit(X, NAMES)
    assert len([one for one in told if "pos_label" in str(one.message)]) == 1
    assert "pos_label='ok'" in str(told[0].message)
    assert found.pos_label_ == "fraud"


def test_usual_pairs_have_a_positive_class():
    """However frequent it is, and without a word."""
    for names, positive in (
        *(((0, 1), 1), ((False, True), True), ((-1, 1), 1), ((0.0, 1.0), 1)),
        *((("0", "1"), "1"), (("-1", "1"), "1"), (("False", "True"), "True")),
    ):
        for labels in (Y, 1 - Y):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = DTAClassifier().fit(X, np.array(names)[labels])
            assert found.pos_label_ == positive


def test_weights_count():
    """An example of weight 3 is three; balanced ones leave the rarer class, else the greater."""
    heavy = np.where(Y == 1, 1000.0, 1.0)
    balanced = np.where(Y == 1, 1 / (Y == 1).sum(), 1 / (Y == 0).sum())
    for weights, positive in ((heavy, "ok"), (balanced, "fraud"), (None, "fraud")):
        with pytest.warns(UserWarning, match=f"the rarer class, '{positive}'"):
            assert DTAClassifier().fit(X, NAMES, weights).pos_label_ == positive
    labels = np.array(["b", "a"] * 60)
    with pytest.warns(UserWarning, match="equally frequent classes, 'b', is taken"):
        assert DTAClassifier().fit(X, labels).pos_label_ == "b"


def test_names_are_labels():
    """A label is its name, as everywhere; so the command line can give it as a text."""
    for names, given in (((0, 1), "1"), ((0, 1), "1.0"), ((2.0, 7.0), "7"), ((2, 7), "7e0"),
                         ((False, True), "True"), ((False, True), 1), (("2", "7"), 7)):  # fmt: skip
        found = DTAClassifier(pos_label=given).fit(X, np.array(names)[Y])
        assert found.pos_label_ == names[1]


# -- losses whose labels have names, in any order --------------------------------------------------

F1 = """
utility f1 "F1 of one label"
labels  {labels}
count   tp when z == {one} and y == {one}
count   both when z == {one}
count   ref when y == {one}
value   2 * tp / (both + ref) or 1 when both + ref == 0
"""


@pytest.mark.parametrize("made", [MADE[k] for k in (0, 2, 7)], ids=lambda one: type(one).__name__)
def test_the_positive_class_is_the_label_that_is_counted(made):
    """The greater class, or that of its name, wherever the label is written in the file."""
    plain = clone(made).set_params(loss="fscore").fit(X, Y).predict(X) == 1
    for one, labels, classes in (
        (1, (0, 1), (0, 1)),
        (1, (0, 1), (-1.0, 1.0)),
        ('"spam"', ("ham", "spam"), ("ham", "spam")),
        ('"spam"', ("ham", "spam"), ("z", "spam")),
        ('"ham"', ("ham", "spam"), ("spam", "ham")),
        (0, (0, 1), (1, 0)),
    ):
        for order in (labels, labels[::-1]):
            loss = fsmeu.loads(F1.format(labels="{} {}".format(*order), one=one))
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                given = clone(made).set_params(loss=loss)
                named = given.fit(X, np.array(classes)[Y])
            assert named.pos_label_ == (1 if one == 0 else classes[1])
            if one != 0:  # label 1 is the positive one, and this loss counts the other
                assert np.array_equal(named.predict(X) == classes[1], plain)
    loss = fsmeu.loads(F1.format(labels="ham spam", one='"ham"'))
    with pytest.raises(InputError, match="f1 counts 'ham'"):
        clone(made).set_params(loss=loss, pos_label="spam").fit(X, np.array(["ham", "spam"])[Y])


# -- estimators that were fitted before keep their own classes -------------------------------------

OUTER = {
    "dta": DTAClassifier(),
    "isotonic": DTAClassifier(calibration="isotonic", folds=2),
    "eum": EUMClassifier(random_state=0),
    "example-wise": ExampleWiseClassifier(),
}


def reversed_columns(fitted):
    """The same frozen estimator, which has its classes and columns in the other order."""
    fitted.classes_ = fitted.classes_[::-1]
    fitted.coef_, fitted.intercept_ = -fitted.coef_, -fitted.intercept_
    return FrozenEstimator(fitted)


@pytest.mark.parametrize("kind", OUTER)
@pytest.mark.parametrize(
    "wrapped",
    [
        reversed_columns,
        lambda fitted: make_pipeline(StandardScaler(with_mean=False, with_std=False),
                                     FrozenEstimator(fitted)),
    ],
    ids=["reversed", "pipeline"],
)  # fmt: skip
def test_probabilities_are_those_of_the_named_class(kind, wrapped):
    """As with an estimator of 0 and 1, whose second column is that of the positive class."""
    made = OUTER[kind]
    plain = clone(made).set_params(estimator=wrapped(LogisticRegression().fit(X, Y))).fit(X, Y)
    for names in (("ok", "fraud"), (True, False), (-1.0, 1.0)):
        labels = np.array(names)[Y]
        inner = wrapped(LogisticRegression().fit(X, labels))
        named = clone(made).set_params(estimator=inner, pos_label=names[1]).fit(X, labels)
        assert np.array_equal(named.predict(X) == names[1], plain.predict(X) == 1)
        column = named.classes_.tolist().index(names[1])
        expected = plain.predict_proba(X)[:, 1]
        assert named.predict_proba(X)[:, column] == pytest.approx(expected, abs=1e-6)


# -- sequences: where a loss over 0 and 1 meets tags of other names --------------------------------

WORDS = [[{"word": str(k % 5), "bias": 1.0} for k in range(i, i + 6)] for i in range(9)]
TAGS = [["hit" if k % 5 == 0 else "out" for k in range(i, i + 6)] for i in range(9)]
BITS = [[int(tag == "hit") for tag in line] for line in TAGS]
SEARN = {"iterations": 1, "folds": 2, "bits": 10, "random_state": 0}
SEQUENCES = pytest.mark.parametrize(
    "made",
    [learning.MaxExpectedUtilityTagger("fscore", utility_iterations=2), Searn("fscore", **SEARN)],
    ids=lambda made: type(made).__name__,
)


@SEQUENCES
def test_tags_of_sequences(made):
    """The same rule: the rarer tag is positive, and is said; pos_label names another."""
    wanted = clone(made).fit(WORDS, BITS).predict(WORDS)
    with pytest.warns(UserWarning, match="rarer class, 'hit', is taken"):
        found = clone(made).fit(WORDS, TAGS)
    assert [[int(tag == "hit") for tag in line] for line in found.predict(WORDS)] == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = clone(made).set_params(pos_label="hit").fit(WORDS, TAGS)
        clone(made).set_params(loss="hamming").fit(WORDS, TAGS)
    assert given.predict(WORDS) == found.predict(WORDS)
