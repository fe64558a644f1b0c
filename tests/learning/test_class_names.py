"""Classes and labels are matched by name: every order of the labels of a loss learns the same."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score

import fsmeu
from fsmeu.errors import InputError
from fsmeu.learning import (
    DTAClassifier,
    EUMClassifier,
    ExampleWiseClassifier,
    MaxExpectedUtilityClassifier,
    MaxExpectedUtilityTagger,
)
from fsmeu.learning.given_loss import measures
from fsmeu.learning.plug_in import held_out_parts
from fsmeu.searn import CostOracle, CostOracles, Searn
from tests.support.examples import data
from tests.support.python_losses import Mistakes

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
    """The same losses with their labels in this order."""
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
def test_every_order_learns_the_same(name, space):
    """The tagger, whose expected values are those of a list, and Searn in each space."""
    (X, y), fitted = tagged(), []
    for order in ORDERS:
        loss = tagger_losses(order)[name]
        made = MaxExpectedUtilityTagger(loss, likelihood_iterations=10, utility_iterations=2)
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


def test_a_file_with_other_tags_of_its_own_is_refused():
    """Labels of a file are not taken for tags by their places."""
    X, y = tagged()
    file = fsmeu.loads("loss own\nlabels P Q R\ncount bad when z != y\nvalue bad")
    for learner in (MaxExpectedUtilityTagger(file), Searn(file)):
        with pytest.raises(InputError, match="labels"):
            learner.fit(X, y)


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
    """Whether a classifier counts the positive class as one for F1 of label 1 does.

    EUM holds out other rows for other classes: its value is the best F1 of a threshold on them.
    """
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
    "example-wise": lambda loss: ExampleWiseClassifier(loss),
    "utility": lambda loss: MaxExpectedUtilityClassifier(loss, restarts=0, max_iter=8),
}
CLASSES = [(0, 1), (False, True), ("0", "1"), (1, 2), (-1, 0), (0, 2), ("no", "yes")]
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
        made = MaxExpectedUtilityClassifier(loss, restarts=0, max_iter=5)
        found.append(made.fit(X, np.where(truth, *classes)))
    for one in found[1:]:
        assert one.expected_value_ == pytest.approx(found[0].expected_value_, abs=1e-10)
        assert one.coef_ == pytest.approx(found[0].coef_, abs=1e-6)


def test_truth_values_are_classes_of_every_estimator():
    """One rule: False is the label 0, True the label 1."""
    X, y = tagged()
    flags = [[tag != "O" for tag in one] for one in y]
    bits = [[int(flag) for flag in one] for one in flags]
    for made in (MaxExpectedUtilityTagger("fscore"), Searn("fscore", **SEARN), Searn(**SEARN)):
        numbers = made.fit(X, bits).predict(X)
        told = made.fit(X, flags).predict(X)
        assert told == [[bool(one) for one in line] for line in numbers]
        assert all(isinstance(one, bool | np.bool_) for line in told for one in line)


@NAMED
def test_models_of_several_orders_in_one_call(name):
    """Queries of many models match the labels of each."""
    loss, random, plain, mixed = tagger_losses(TAGS)[name], np.random.default_rng(0), [], []
    for order in ORDERS:
        unary, pairwise = random.normal(size=(3, 3)), random.normal(size=(3, 3))
        at = [TAGS.index(tag) for tag in order]
        plain.append(fsmeu.models.from_potentials(unary, pairwise, TAGS))
        moved = unary[:, at], pairwise[np.ix_(at, at)]
        mixed.append(fsmeu.models.from_potentials(*moved, order))
    zs = [("B-X", "I-X", "O")] * len(ORDERS)
    listed = [
        sum(model.probability(y) * loss(z, y) for y in product(TAGS, repeat=3))
        for z, model in zip(zs, plain, strict=True)
    ]
    assert list(fsmeu.expect_many(loss, zs, mixed)) == pytest.approx(listed, abs=1e-12)
    values, slopes = fsmeu.expectation.gradient.value_and_gradient_many(loss, zs, mixed)
    assert values == pytest.approx(listed, abs=1e-12)
    for model, z, slope in zip(mixed, zs, slopes, strict=True):
        alone = fsmeu.gradient(loss, z, model)
        assert slope["unary"] == pytest.approx(alone["unary"], abs=1e-12)
    ours, theirs = (fsmeu.decode_many(loss, models) for models in (mixed, plain))
    assert [one.value for one in ours] == pytest.approx([one.value for one in theirs], abs=1e-12)
    for model, one in zip(plain, ours, strict=True):  # of equally good ones another may be taken
        assert fsmeu.expect(loss, one.labels, model).value == pytest.approx(one.value, abs=1e-12)

    def same(ask, **near):
        assert ask(mixed) == pytest.approx(ask(plain), **near)

    if name != "function":
        same(lambda models: fsmeu.decode_corpus(loss, models).value, abs=1e-9)
        same(lambda models: fsmeu.expect_corpus(loss, zs, models).value, abs=1e-9)
    same(lambda models: fsmeu.calibrate(models, zs).temperature, rel=1e-6)
    formed = fsmeu.constraints.bio()
    same(lambda models: [one.given(formed).probability(zs[0]) for one in models], rel=1e-9)
