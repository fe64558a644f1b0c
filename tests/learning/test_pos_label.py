"""The positive class of binary estimators: given by pos_label, else by one rule for all."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score, roc_auc_score

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning.base import measures
from fsmeu.learning.saving import estimators, load, save
from fsmeu.searn import Searn
from tests.support.examples import data

X, Y = data(200, seed=4)
assert 0 < Y.sum() < 90
NAMES = np.array(["ok", "fraud"])[Y]
"""The rare class is the smaller one in sorted order."""
MADE = [
    learning.DTAClassifier(),
    learning.DTAClassifier("jaccard", calibration="isotonic", folds=3),
    learning.EUMClassifier(random_state=0),
    learning.EUMClassifier(estimator=SGDClassifier(random_state=0), calibration="sigmoid",
                           refit=True, random_state=1),
    learning.ExampleWiseClassifier(),
    learning.FOFOClassifier(),
    learning.OFOClassifier(average="suffix"),
    learning.OnlineLogisticClassifier(beta=2.0),
    learning.MaxExpectedFClassifier(restarts=2, random_state=0),
    learning.MaxExpectedUtilityClassifier(restarts=1, max_iter=20, random_state=0),
]  # fmt: skip
EACH = pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)


def fitted(made, labels, **params):
    return clone(made).set_params(**params).fit(X, labels)


def test_every_binary_classifier_is_here():
    kinds = {type(made).__name__ for made in MADE}
    known = {
        name
        for name, kind in estimators().items()
        if issubclass(kind, learning.base.BinaryClassifier)
    }
    assert known == kinds
    assert all(made.get_params()["pos_label"] is None for made in MADE)


@pytest.mark.thirds
@EACH
@pytest.mark.parametrize("names", [("ok", "fraud"), (1, 0), (True, False), (7.0, -3.0)], ids=str)
def test_any_class_can_be_the_positive_one(made, names):
    """It decides as for 1 against 0, and columns and signs are those of the sorted classes."""
    labels = np.array(names)[Y]
    plain, named = fitted(made, Y), fitted(made, labels, pos_label=names[1])
    assert named.pos_label_ == names[1]
    assert named.classes_.tolist() == sorted(names)
    assert np.array_equal(named.predict(X) == names[1], plain.predict(X) == 1)
    first = sorted(names).index(names[1]) == 0
    assert named.predict_proba(X)[:, :: -1 if first else 1] == pytest.approx(plain.predict_proba(X))
    assert measures(named, labels, named.predict(X)) == pytest.approx(
        measures(plain, Y, plain.predict(X))
    )
    if hasattr(made, "decision_function"):
        sign = -1 if first else 1
        assert sign * named.decision_function(X) == pytest.approx(plain.decision_function(X))
        assert sign * named.coef_ == pytest.approx(plain.coef_)
        assert sign * named.intercept_ == pytest.approx(plain.intercept_)
        # scikit-learn takes scores for those of the greater class
        scores = roc_auc_score(labels == sorted(names)[1], named.decision_function(X))
        assert scores == pytest.approx(roc_auc_score(Y, plain.decision_function(X)))


@EACH
def test_without_it_the_rarer_class_is_taken_and_said_once(made):
    with pytest.warns(UserWarning, match="rarer class, 'fraud', is taken") as told:
        found = fitted(made, NAMES)
    assert len([one for one in told if "pos_label" in str(one.message)]) == 1
    assert "pos_label='ok'" in str(told[0].message)
    assert found.pos_label_ == "fraud"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = fitted(made, NAMES, pos_label="fraud")
    assert np.array_equal(found.predict(X), given.predict(X))


def test_f1_of_a_rare_class_whose_name_comes_first():
    """As good as with labels 0 and 1, by scikit-learn's F1; for the other class it is another."""
    for made in (learning.DTAClassifier(), learning.EUMClassifier(random_state=0)):
        wanted = f1_score(Y, fitted(made, Y).predict(X))
        with pytest.warns(UserWarning, match="fraud"):
            found = fitted(made, NAMES)
        assert f1_score(NAMES, found.predict(X), pos_label="fraud") == pytest.approx(wanted)
        assert wanted > 0.5


@pytest.mark.parametrize(
    ("names", "positive"),
    [((0, 1), 1), ((False, True), True), ((-1, 1), 1), ((0.0, 1.0), 1), (("0", "1"), "1"),
     (("-1", "1"), "1"), (("False", "True"), "True")],
    ids=str,
)  # fmt: skip
def test_usual_pairs_have_a_positive_class(names, positive):
    """However frequent it is, and without a word."""
    for labels in (Y, 1 - Y):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = learning.DTAClassifier().fit(X, np.array(names)[labels])
        assert found.pos_label_ == positive


def test_of_equally_frequent_classes_the_greater_is_taken():
    labels = np.array(["b", "a"] * 100)
    for rows in (X, X[::-1]):
        with pytest.warns(UserWarning, match="equally frequent classes, 'b', is taken"):
            assert learning.DTAClassifier().fit(rows, labels).pos_label_ == "b"


def test_weights_count():
    """An example of weight 3 is three, of weight 0 none; balanced ones leave the rarer class."""
    weights = np.where(Y == 1, 1000.0, 1.0)
    balanced = np.where(Y == 1, 1 / (Y == 1).sum(), 1 / (Y == 0).sum())
    for w, positive in ((weights, "ok"), (balanced, "fraud"), (np.ones(200), "fraud")):
        with pytest.warns(UserWarning, match=f"'{positive}'"):
            found = learning.DTAClassifier().fit(X, NAMES, w)
        assert found.pos_label_ == positive


@EACH
@pytest.mark.parametrize("given", ["frau", 1, b"fraud", ["fraud"], ("ok", "fraud"), np.nan])
def test_a_class_that_is_not_there_is_refused(made, given):
    with pytest.raises(InputError, match=r"pos_label must be one of the classes 'fraud', 'ok'"):
        fitted(made, NAMES, pos_label=given)


def test_names_are_labels():
    """A label is its name, as everywhere; so the command line can give it as a text."""
    for names, given in (((0, 1), "1"), ((0, 1), "1.0"), ((2.0, 7.0), "7"), ((2, 7), "7e0"),
                         ((False, True), "True"), ((False, True), 1), (("2", "7"), 7)):  # fmt: skip
        found = learning.DTAClassifier(pos_label=given).fit(X, np.array(names)[Y])
        assert found.pos_label_ == names[1]


def test_several_labels_have_the_positive_one():
    table = np.stack([Y, X[:, 0] > 0], axis=1).astype(int)
    found = learning.ExampleWiseClassifier(pos_label=1).fit(X, table)
    assert found.pos_label_ == 1
    with pytest.raises(InputError, match=r"several labels.*1 is the positive"):
        learning.ExampleWiseClassifier(pos_label=0).fit(X, table)


def test_three_classes_are_refused_with_what_to_do():
    with pytest.raises(InputError, match=r"two classes.*y == "):
        learning.DTAClassifier(pos_label="a").fit(X, np.array(["a", "b", "c", "c"] * 50))


@EACH
def test_files_keep_it(made, tmp_path):
    found = fitted(made, NAMES, pos_label="fraud")
    save(found, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert (again.pos_label, again.pos_label_) == ("fraud", "fraud")
    assert np.array_equal(again.predict(X), found.predict(X))
    assert np.array_equal(again.predict_proba(X), found.predict_proba(X))
    for wrong in (2, -1, "0", None, 0.0, True, [0], "left out"):
        found.positive_ = wrong
        if wrong == "left out":
            del found.positive_
        save(found, tmp_path / "bad.skops")
        with pytest.raises(InputError, match="the file is damaged"):
            load(tmp_path / "bad.skops")


def test_it_stays_in_partial_fits():
    """The first call decides, the classes may be named in any order."""
    whole = learning.OFOClassifier(pos_label="fraud").partial_fit(X, NAMES)
    parts = learning.OFOClassifier(pos_label="fraud")
    for k in range(0, 200, 7):
        parts.partial_fit(X[k : k + 7], NAMES[k : k + 7], classes=["ok", "fraud"])
    assert parts.pos_label_ == "fraud"
    assert np.array_equal(parts.predict(X), whole.predict(X))
    assert parts.coef_ == pytest.approx(whole.coef_)


F1 = """
utility f1 "F1 of one label"
labels  ham spam
count   tp when z == "{one}" and y == "{one}"
count   both when z == "{one}"
count   ref when y == "{one}"
value   2 * tp / (both + ref) or 1 when both + ref == 0
"""


@pytest.mark.parametrize("one", ["ham", "spam"])
def test_a_loss_that_names_the_class_says_which_is_positive(one):
    """No warning, whatever is rarer; another pos_label contradicts it."""
    loss = fsmeu.loads(F1.format(one=one))
    labels = np.array(["spam", "ham"])[Y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = learning.DTAClassifier(loss).fit(X, labels)
    assert found.pos_label_ == one
    truth = (labels == one).astype(int)
    wanted = learning.DTAClassifier().fit(X, truth).predict(X)
    assert np.array_equal(found.predict(X) == one, wanted == 1)
    other = "ham" if one == "spam" else "spam"
    with pytest.raises(InputError, match=f"f1 counts '{one}'"):
        learning.DTAClassifier(loss, pos_label=other).fit(X, labels)


# -- sequences: where a loss over 0 and 1 meets tags of other names --------------------------------

WORDS = [[{"word": str(k % 5), "bias": 1.0} for k in range(i, i + 6)] for i in range(9)]
TAGS = [["hit" if k % 5 == 0 else "out" for k in range(i, i + 6)] for i in range(9)]
BITS = [[int(tag == "hit") for tag in line] for line in TAGS]
SEQUENCES = [
    learning.MaxExpectedUtilityTagger("fscore", utility_iterations=2),
    Searn("fscore", iterations=1, folds=2, bits=10, random_state=0),
]


@pytest.mark.parametrize("made", SEQUENCES, ids=lambda made: type(made).__name__)
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
    flipped = [[1 - bit for bit in line] for line in BITS]
    other = clone(made).set_params(pos_label="out").fit(WORDS, TAGS)
    told = clone(made).fit(WORDS, flipped).predict(WORDS)
    assert [[int(tag == "out") for tag in line] for line in other.predict(WORDS)] == told
    with pytest.raises(InputError, match="pos_label must be one of the classes 'hit', 'out'"):
        clone(made).set_params(pos_label="miss").fit(WORDS, TAGS)
    three = [["a", "b", "c", "a", "b", "c"]] * 9
    with pytest.raises(InputError, match=r"pos_label.*two classes"):
        clone(made).set_params(pos_label="a", loss="hamming").fit(WORDS, three)


def test_the_inner_estimator_is_given_the_classes():
    found = learning.DTAClassifier(estimator=LogisticRegression(), pos_label="fraud").fit(X, NAMES)
    other = LogisticRegression().fit(X, Y)
    assert found.estimator_.classes_.tolist() == ["fraud", "ok"]
    assert found.predict_proba(X)[:, 0] == pytest.approx(other.predict_proba(X)[:, 1])
