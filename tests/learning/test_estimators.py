"""Classifiers keep the conventions of scikit-learn, and tell what is wrong with parameters."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, FOFOClassifier, OFOClassifier
from fsmeu.learning.online import OnlineClassifier
from tests.support.examples import data

ESTIMATORS = [
    FOFOClassifier(),
    OFOClassifier(),
    learning.OnlineLogisticClassifier(),
    DTAClassifier(),
    EUMClassifier(random_state=0),
    learning.ExampleWiseClassifier(),
    learning.MaxExpectedFClassifier(restarts=4, random_state=0),
    learning.MaxExpectedUtilityClassifier(restarts=1, max_iter=30, random_state=0),
]
TWICE = "an example given twice is two steps, of which the second begins where the first ended"
DRAWN = "which rows are held out depends on their places"


def failing(made):
    """Checks that cannot hold, with the reason."""
    found = {}
    if isinstance(made, OnlineClassifier | EUMClassifier):
        for form in ("dense", "sparse"):
            check = f"check_sample_weight_equivalence_on_{form}_data"
            found[check] = DRAWN if isinstance(made, EUMClassifier) else TWICE
    if isinstance(made, FOFOClassifier | OFOClassifier | EUMClassifier | DTAClassifier):
        found["check_classifiers_train"] = "a threshold other than 1/2 is what it is for"
    if isinstance(made, DTAClassifier):
        reason = "rows are decided together, so that a part of them may be decided otherwise"
        found["check_methods_subset_invariance"] = reason
    return found


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=failing)
@pytest.mark.thirds
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


CLASSES = [(0, 1), ("0", "1"), (1, 2), (-1, 0), (0, 2), ("no", "yes")]


@pytest.mark.parametrize("made", ESTIMATORS)
def test_which_class_is_positive_is_told_by_their_order(made):
    """Other names learn the same, and so do truth values."""
    rows, labels = data(60, seed=6, features=3)
    wanted = clone(made).fit(rows, labels == 1).predict(rows)
    assert 0 < wanted.sum() < len(rows)
    for classes in CLASSES:
        found = clone(made).fit(rows, np.array(classes)[labels]).predict(rows)
        assert np.array_equal(found == classes[1], wanted)


X, Y = make_classification(40, 3, n_informative=2, n_redundant=0, flip_y=0.2, random_state=3)
TABLE = np.stack([Y, X[:, 0] > 0], axis=1).astype(int)
PLUG_IN = {
    "no such loss": ({"loss": "fscor"}, "'fscore'"),
    "windows": ({"loss": fsmeu.load("pk", k=2)}, "confusion table"),
    "chunks": ({"loss": fsmeu.load("chunk_fscore", types=["X"])}, "two labels"),
    "a number": ({"loss": 3}, "loss is needed"),
    "no estimator": ({"estimator": 3}, "predict_proba"),
    "a class": ({"estimator": LogisticRegression}, "predict_proba"),
    "no probabilities": ({"estimator": LinearSVC()}, "With calibration"),
    "calibration": ({"calibration": "sigmoit"}, "'sigmoid'"),
    "folds": ({"calibration": "sigmoid", "folds": 1}, "folds"),
    "many folds": ({"calibration": "sigmoid", "folds": 150}, "each class"),
}
UTILITY = [
    ({"loss": "fscor"}, "no built-in loss 'fscor'"),
    ({"loss": 3}, "a loss is needed"),
    ({"loss": "cost_matrix", "loss_params": {"cost": np.ones((3, 3))}}, "two labels"),
    ({"loss_params": [1]}, "loss_params must be a dictionary"),
    ({"loss": fsmeu.load("fscore"), "loss_params": {"beta": 2}}, "the name or the path"),
    ({"batch_size": 0}, "batch_size must be a whole number"),
    ({"l2": -1.0}, "l2 must be a finite number"),
    ({"restarts": -1}, "restarts must be a whole number"),
    ({"max_iter": 0}, "max_iter must be a whole number"),
]
RANGES = {
    "alpha": (-0.1, 1.1, math.nan, "1", None, True),
    "gamma": (0, -1, math.inf, "1"),
    "l2": (-1, math.inf, math.nan),
    "restarts": (0, 1.5, "3", "all", None),
    "bound": (0, -1, math.nan),
    "max_iter": (0, 2.5),
    "tol": (0, -1, math.inf),
    "spread": (0,),
}
TAGGER = [
    ({"loss": "chunk_fscor"}, "no built-in loss"),
    ({"c2": -1}, "c2 must be"),
    ({"utility_c2": "much"}, "utility_c2 must be"),
    ({"likelihood_iterations": -1}, "likelihood_iterations must be"),
    ({"utility_iterations": 0.5}, "utility_iterations must be"),
    ({"min_freq": -1}, "min_freq must be"),
    ({"warm_start": "yes"}, "warm_start must be"),
]
MISUSES = [
    *((kind(**given), says) for kind in (DTAClassifier, EUMClassifier)
      for given, says in PLUG_IN.values()),
    *((EUMClassifier(held_out=held), "held_out") for held in (0, 1, -0.5, "half", True, None)),
    *((learning.ExampleWiseClassifier(**PLUG_IN[name][0]), PLUG_IN[name][1])
      for name in ("no such loss", "no estimator", "a class")),
    *((learning.MaxExpectedUtilityClassifier(**given), says) for given, says in UTILITY),
    *((learning.MaxExpectedUtilityTagger(**given), says) for given, says in TAGGER),
    *((learning.MaxExpectedFClassifier(**{name: value}), f"MaxExpectedFClassifier: {name} must be")
      for name, values in RANGES.items() for value in values),
    (FOFOClassifier(gamma_scale=0), "gamma_scale must be a finite number above 0"),
    (FOFOClassifier(gamma_scale="wide"), 'above 0 or "auto"'),
    (FOFOClassifier(horizon=0), "horizon must be a whole number"),
    (FOFOClassifier(predict_with="first"), "predict_with must be one of mean, last"),
    (OFOClassifier(step=-1), "step must be a finite number above 0"),
    (OFOClassifier(step=True), "step must be"),
    (OFOClassifier(beta=np.inf), "beta must be"),
    (OFOClassifier(beta=1e200), "beta must be a number above 0 and at most 1e100"),
    (OFOClassifier(schedule="linear"), "schedule must be one of sqrt, constant"),
    (OFOClassifier(measure="f1"), "measure must be one of f, jaccard"),
    (OFOClassifier(average="no"), "average must be one of False, True, suffix"),
]  # fmt: skip


TOY = [[0.0], [1.0], [2.0], [3.0]], [1, -1, 1, 1]
DATA = [
    (learning.ExampleWiseClassifier(), (X, TABLE + 1), "0 or 1"),
    (learning.ExampleWiseClassifier(), (X, TABLE * 0.5), "0 or 1"),
    (learning.MaxExpectedFClassifier(), (*TOY, [1, 0, 1, 1]), "each class"),
    (learning.MaxExpectedFClassifier(), (*TOY, [0, 1, 0, 0]), "each class"),
    (EUMClassifier(), (X[:5], [0, 0, 0, 0, 1]), "two examples of each class"),
    (DTAClassifier(estimator=KNeighborsClassifier()), (X, Y, np.ones(40)), "sample_weight"),
    *((learning.MaxExpectedUtilityTagger(), given, "MaxExpectedUtilityTagger")
      for given in (("ab", ["O"]), ([["a"]], [["O", "O"]]), ([["a"]], []), ([], []), (3, 3))),
]  # fmt: skip


def examples(made):
    """Those that suit an estimator."""
    return ([[["a"]]], [["O"]]) if isinstance(made, learning.MaxExpectedUtilityTagger) else (X, Y)


@pytest.mark.parametrize(
    ("made", "given", "says"),
    [*((made, examples(made), says) for made, says in MISUSES), *DATA],
    ids=lambda one: str(one)[:60],
)
def test_parameters_and_examples_are_checked(made, given, says):
    with pytest.raises(InputError, match=says):
        made.fit(*given)
