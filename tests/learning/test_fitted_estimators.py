"""Plug-in classifiers around estimators that were fitted before, which keep their own classes."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier, load, save
from tests.support.examples import data

X, Y = data(300, seed=4)
CLASSES = [("ok", "fraud"), ("a", "b"), (True, False), (7, 2), (-1.0, 1.0)]
OUTER = {
    "dta": lambda inner, **how: DTAClassifier("fscore", inner, **how),
    "sigmoid": lambda inner, **how: DTAClassifier("fscore", inner, calibration="sigmoid", **how),
    "isotonic": lambda inner, **how: DTAClassifier("fscore", inner, calibration="isotonic", **how),
    "eum": lambda inner, **how: EUMClassifier("fscore", inner, random_state=0, **how),
    "refit": lambda inner, **how: EUMClassifier("fscore", inner, random_state=0, refit=True, **how),
    "example-wise": lambda inner, **how: ExampleWiseClassifier("fscore", inner, **how),
}


class Reversed(ClassifierMixin, BaseEstimator):
    """Around a fitted estimator, whose columns are in the other order; it is never fitted again."""

    def __init__(self, inner):
        self.inner = inner

    def __sklearn_clone__(self):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.inner.classes_[::-1]

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return self.inner.predict_proba(X)[:, ::-1]


def in_pipeline(fitted):
    return make_pipeline(StandardScaler(with_mean=False, with_std=False), FrozenEstimator(fitted))


WRAPPED = {
    "frozen": FrozenEstimator,
    "reversed": Reversed,
    "in a pipeline": in_pipeline,
    "a pipeline": lambda fitted: FrozenEstimator(make_pipeline(fitted)),
    "not fitted": lambda fitted: LogisticRegression(),
}


@pytest.mark.thirds
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("kind", OUTER)
@pytest.mark.parametrize("names", CLASSES, ids=str)
def test_probabilities_are_those_of_the_named_class(names, kind, wrapped):
    """As with an estimator of 0 and 1, whose second column is that of the positive class."""
    labels = np.array(names)[Y]
    plain = OUTER[kind](WRAPPED[wrapped](LogisticRegression().fit(X, Y))).fit(X, Y)
    inner = WRAPPED[wrapped](LogisticRegression().fit(X, labels))
    made = OUTER[kind](inner, pos_label=names[1]).fit(X, labels)
    assert np.array_equal(made.predict(X) == names[1], plain.predict(X) == 1)
    column = made.classes_.tolist().index(names[1])
    expected = plain.predict_proba(X)[:, 1]
    assert made.predict_proba(X)[:, column] == pytest.approx(expected, abs=1e-6)


def test_a_frozen_estimator_is_not_inverted():
    """Its probabilities are those of scikit-learn, column by column."""
    labels = np.array(["ok", "fraud"])[Y]
    fitted = LogisticRegression().fit(X, labels)
    made = DTAClassifier("fscore", FrozenEstimator(fitted), pos_label="fraud").fit(X, labels)
    np.testing.assert_allclose(made.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)


@pytest.mark.thirds
@pytest.mark.parametrize("kind", OUTER)
def test_class_weights_by_name(kind):
    """The estimator's own parameters name classes as its labels do."""
    labels = np.array(["ok", "fraud"])[Y]
    inner = LogisticRegression(class_weight={"ok": 1, "fraud": 3})
    found = OUTER[kind](inner, pos_label="fraud").fit(X, labels).predict_proba(X)
    other = LogisticRegression(class_weight={0: 1, 1: 3})
    assert found[:, 0] == pytest.approx(OUTER[kind](other).fit(X, Y).predict_proba(X)[:, 1])


@pytest.mark.parametrize("kind", OUTER)
@pytest.mark.parametrize("names", [("no", "yes"), (1, 2), (-1, 1)], ids=str)
def test_other_classes_are_refused(kind, names):
    fitted = LogisticRegression().fit(X, np.array(names)[Y])
    with pytest.raises(InputError, match="estimator must be one of the classes 0 and 1") as caught:
        OUTER[kind](FrozenEstimator(fitted)).fit(X, Y)
    assert f"Got {names[0]!r}, {names[1]!r} instead" in str(caught.value)


def test_one_class_and_three_are_refused():
    three = DecisionTreeClassifier(max_depth=2).fit(X, np.arange(len(X)) % 3)
    one = DecisionTreeClassifier().fit(X, np.zeros(len(X), int))
    for fitted, got in ((three, "0, 1, 2"), (one, "0")):
        with pytest.raises(InputError, match=f"Got {got} instead"):
            DTAClassifier("fscore", FrozenEstimator(fitted)).fit(X, Y)


def test_an_estimator_that_names_no_classes_is_refused():
    class Nameless(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(InputError, match="Got no classes_ instead"):
        DTAClassifier("fscore", Nameless()).fit(X, Y)


def test_truth_values_and_numbers_have_one_name():
    fitted = LogisticRegression().fit(X, Y > 0)
    found = DTAClassifier("fscore", FrozenEstimator(fitted)).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=1e-12)


def test_the_same_after_saving(tmp_path):
    labels = np.array(["ok", "fraud"])[Y]
    fitted = FrozenEstimator(LogisticRegression().fit(X, labels))
    made = DTAClassifier("fscore", fitted, pos_label="fraud").fit(X, labels)
    save(made, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").predict_proba(X)
    np.testing.assert_array_equal(again, made.predict_proba(X))
