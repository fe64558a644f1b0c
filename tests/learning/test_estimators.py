"""All estimators: conventions of scikit-learn, refusals, classes and labels matched by name."""

import math
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, FOFOClassifier, OFOClassifier
from fsmeu.learning.base import measures
from fsmeu.learning.online import OnlineClassifier
from fsmeu.learning.plug_in import held_out_parts
from fsmeu.searn import CostOracle, CostOracles, Searn
from tests.support.examples import data
from tests.support.python_losses import Mistakes

ESTIMATORS = [
    FOFOClassifier(),
    OFOClassifier(),
    learning.OnlineLogisticClassifier(),
    DTAClassifier(),
    DTAClassifier(prior=0.3),
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


CLASSES = [(0, 1), (False, True), ("0", "1"), (1, 2), (-1, 0), (0, 2), ("no", "yes")]


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


OWN = fsmeu.loads("loss own\nlabels P Q R\ncount bad when z != y\nvalue bad")
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
    # labels of a file are not taken for tags by their places
    *((kind(OWN), ([[["a"]] * 3] * 9, [["B-X", "I-X", "O"]] * 9), "the same labels")
      for kind in (learning.MaxExpectedUtilityTagger, Searn)),
]  # fmt: skip


def examples(made):
    return ([[["a"]]], [["O"]]) if isinstance(made, learning.MaxExpectedUtilityTagger) else (X, Y)


@pytest.mark.parametrize(
    ("made", "given", "says"),
    [*((made, examples(made), says) for made, says in MISUSES), *DATA],
    ids=lambda one: str(one)[:60],
)
def test_parameters_and_examples_are_checked(made, given, says):
    with pytest.raises(InputError, match=says):
        made.fit(*given)


# -- classes and labels: every order of the labels of a loss learns the same -----------------------


TAGS = ("B-X", "I-X", "O")
SEARN = {"iterations": 1, "folds": 2, "bits": 10, "random_state": 0}
NAMED = pytest.mark.parametrize("name", ["chunk_fscore", "cost_matrix", "function"])
ORDERS = [TAGS, TAGS[::-1], ("I-X", "O", "B-X")]
"""Sorted, reversed, shuffled."""
F1 = """
utility f1 "F1 of one label"
labels  {labels}
count   tp when z == {one} and y == {one}
count   both when z == {one}
count   ref when y == {one}
value   2 * tp / (both + ref) or 1 when both + ref == 0
"""
RUNS = """
loss    runs "label 1 after label 1"
labels  {labels}
memory  m of z last 1
count   bad when z != y and m[0] != 1
value   bad / n or 0 when n == 0
"""


class Weighted(Mistakes):
    """A loss in Python: another cost for each pair of tags."""

    def step(self, state, z, y):
        return state + (0 if z == y else 1 + TAGS.index(z) + 4 * TAGS.index(y))


def tagged(seed=1, count=6):
    """Sentences of up to four words, and their tags."""
    random = np.random.default_rng(seed)
    lines = [["B-X", "I-X", "O", "B-X"][: random.integers(2, 5)] for _ in range(count)]
    told = [[str(random.choice(TAGS)) if random.random() < 0.2 else t for t in y] for y in lines]
    return [[{"word": word, "bias": 1.0} for word in one] for one in told], lines


def tagger_losses(order):
    cost = np.arange(9.0).reshape(3, 3) * (1 - np.eye(3))
    place = [TAGS.index(tag) for tag in order]
    return {
        "chunk_fscore": fsmeu.load("chunk_fscore", labels=order),
        "cost_matrix": fsmeu.load("cost_matrix", labels=order, cost=cost[np.ix_(place, place)]),
        "function": fsmeu.function_loss(Weighted(), order),
    }


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("chunk_fscore", None),
        ("cost_matrix", None),
        ("function", None),
        ("chunk_fscore", "left-to-right"),
        ("cost_matrix", "right-to-left"),
        ("function", "word-at-a-time"),
        ("chunk_fscore", "chunk-at-a-time"),
    ],
)
@pytest.mark.thirds
def test_every_order_learns_the_same(name, space):
    """The tagger, whose expected values are those of a list, and Searn in each space."""
    (X, y), fitted = tagged(), []
    for order in ORDERS:
        loss = tagger_losses(order)[name]
        made = learning.MaxExpectedUtilityTagger(
            loss, likelihood_iterations=10, utility_iterations=2
        )
        fitted.append((Searn(loss, space=space, **SEARN) if space else made).fit(X, y))
    first, *others = fitted
    for one in others:
        assert one.predict(X) == first.predict(X)
        if space:
            losses = [[report["loss"] for report in made.reports_] for made in (one, first)]
            assert losses[0] == pytest.approx(losses[1])
        else:
            assert one.expected_values_ == pytest.approx(first.expected_values_, abs=1e-9)
            assert one.state_weights_ == pytest.approx(first.state_weights_, abs=1e-6)
    if not space:
        loss = tagger_losses(TAGS)[name]
        listed = [
            sum(model.probability(z) * loss(z, tags) for z in product(TAGS, repeat=len(tags)))
            for model, tags in zip(first.models(X), y, strict=True)
        ]
        assert first.expected_values_[-1] == pytest.approx(np.mean(listed), abs=1e-9)


@NAMED
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("asked", [TAGS, TAGS[::-1]])
@pytest.mark.thirds
def test_oracles_of_every_order(name, order, asked):
    """Costs stand in the order that is asked for; each is that of a list of all completions."""
    loss, y = tagger_losses(order)[name], ("B-X", "I-X", "O")
    oracle = CostOracle(loss, y, labels=asked)
    assert oracle.labels == asked
    sign = 1 if loss.kind == "utility" else -1
    for prefix in ((), ("O",), ("B-X", "O")):
        rest = 2 - len(prefix)
        best = [
            max(sign * loss((*prefix, a, *z), y) for z in product(TAGS, repeat=rest)) for a in asked
        ]
        assert oracle.costs(prefix) == pytest.approx(max(best) - np.array(best), abs=1e-12)
    many = CostOracles(loss, [y, y[::-1]], labels=asked)
    costs = many.costs_at([0], many.start([0]))[0]
    assert costs == pytest.approx(oracle.costs(()), abs=1e-12)


def rare(n):
    rows, labels = data(n, seed=6, features=3)
    return rows, labels == 1


def as_good(made, kind, X, truth, positive):
    """Whether it decides as one for label 1; EUM has the best F1 of rows that it held out."""
    if kind == "eum":
        index = made.classes_.tolist().index(positive)
        _, held = held_out_parts((truth == bool(index)).astype(float), 0.3, 0)
        p = made.predict_proba(X)[held, index]
        best = max(f1_score(truth[held], p >= cut) for cut in (*p, 2.0))
        return made.value_ == pytest.approx(best)
    wanted = f1_score(truth, BINARY[kind]("fscore").fit(X, truth.astype(int)).predict(X))
    return f1_score(truth, made.predict(X) == positive) == pytest.approx(wanted, abs=0.01)


BINARY = {
    "dta": lambda loss: DTAClassifier(loss),
    "eum": lambda loss: EUMClassifier(loss, random_state=0),
    "example-wise": lambda loss: learning.ExampleWiseClassifier(loss),
    "utility": lambda loss: learning.MaxExpectedUtilityClassifier(loss, restarts=0, max_iter=8),
}
COUNTED = [
    *((1, (0, 1), classes) for classes in CLASSES),
    *(('"spam"', ("ham", "spam"), two) for two in (("ham", "spam"), ("no", "yes"), ("z", "spam"))),
    (0, (0, 1), (1, 0)),
]
"""The label that a loss counts, its labels, and classes of which that stands for the last."""


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(("one", "labels", "classes"), COUNTED, ids=str)
@pytest.mark.thirds
def test_the_positive_class_is_the_label_that_is_counted(kind, one, labels, classes):
    """The greater class, as in scikit-learn, or that of its name, wherever the label is written."""
    X, truth = rare(60)
    found = []
    for order in (labels, labels[::-1]):
        loss = fsmeu.loads(F1.format(labels="{} {}".format(*order), one=one))
        made = BINARY[kind](loss).fit(X, np.array(classes)[truth.astype(int)])
        assert made.classes_.tolist() == sorted(classes)
        assert as_good(made, kind, X, truth, classes[1])
        found.append(made.predict(X).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("labels", ["0 1", "1 0"])
def test_the_measured_loss_is_that_of_the_positive_class(labels):
    """Whatever the order of the labels in the file, as scikit-learn measures it."""
    X, truth = rare(60)
    made = DTAClassifier(fsmeu.loads(F1.format(labels=labels, one=1))).fit(X, truth.astype(int))
    predicted = made.predict(X)
    found = measures(made, truth.astype(int), predicted)
    assert found["f1"] == pytest.approx(f1_score(truth, predicted)) == found["F1"]


def test_losses_that_read_the_order_of_rows():
    """Beyond the confusion table: the expected value is that of the labels by name."""
    X, truth = rare(12)
    found = []
    for labels, classes in product(("0 1", "1 0"), ((1, 0), ("yes", "no"))):
        loss = fsmeu.loads(RUNS.format(labels=labels))
        made = learning.MaxExpectedUtilityClassifier(loss, restarts=0, max_iter=5)
        found.append(made.fit(X, np.where(truth, *classes)))
    for one in found[1:]:
        assert one.expected_value_ == pytest.approx(found[0].expected_value_, abs=1e-10)
        assert one.coef_ == pytest.approx(found[0].coef_, abs=1e-6)


def test_truth_values_are_classes_of_every_estimator():
    """One rule: False is the label 0, True the label 1."""
    X, y = tagged()
    flags = [[tag != "O" for tag in one] for one in y]
    bits = [[int(flag) for flag in one] for one in flags]
    for made in (
        learning.MaxExpectedUtilityTagger("fscore"),
        Searn("fscore", **SEARN),
        Searn(**SEARN),
    ):
        numbers = made.fit(X, bits).predict(X)
        told = made.fit(X, flags).predict(X)
        assert told == [[bool(one) for one in line] for line in numbers]
        assert all(isinstance(one, bool | np.bool_) for line in told for one in line)


@NAMED
def test_models_of_several_orders_in_one_call(name):
    loss, random, plain, mixed = tagger_losses(TAGS)[name], np.random.default_rng(0), [], []
    for order in ORDERS:
        unary, pairwise = random.normal(size=(3, 3)), random.normal(size=(3, 3))
        at = [TAGS.index(tag) for tag in order]
        plain.append(fsmeu.models.from_potentials(unary, pairwise, TAGS))
        moved = unary[:, at], pairwise[np.ix_(at, at)]
        mixed.append(fsmeu.models.from_potentials(*moved, order))
    zs = [("B-X", "I-X", "O")] * len(ORDERS)

    def same(ask, **near):
        assert ask(mixed) == pytest.approx(ask(plain), **near)

    same(lambda models: fsmeu.expect_many(loss, zs, models).values, abs=1e-12)
    values, slopes = fsmeu.expectation.expect.value_and_gradient_many(loss, zs, mixed)
    assert values == pytest.approx(fsmeu.expect_many(loss, zs, plain).values, abs=1e-12)
    for model, z, slope in zip(mixed, zs, slopes, strict=True):
        alone = fsmeu.gradient(loss, z, model)
        assert slope["unary"] == pytest.approx(alone["unary"], abs=1e-12)
    same(lambda models: [one.value for one in fsmeu.decode_many(loss, models)], abs=1e-12)
    for model, one in zip(plain, fsmeu.decode_many(loss, mixed), strict=True):
        assert fsmeu.expect(loss, one.labels, model).value == pytest.approx(one.value, abs=1e-12)
    if name != "function":
        same(lambda models: fsmeu.decode_corpus(loss, models).value, abs=1e-9)
        same(lambda models: fsmeu.expect_corpus(loss, zs, models).value, abs=1e-9)
    same(lambda models: fsmeu.calibrate(models, zs).temperature, rel=1e-6)
    formed = fsmeu.constraints.bio()
    same(lambda models: [one.given(formed).probability(zs[0]) for one in models], rel=1e-9)
