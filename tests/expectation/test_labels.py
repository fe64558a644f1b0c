"""Labels: in another order, renamed, read from what is given, or lacking in a model."""

from itertools import permutations, product

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov, NBest, from_potentials
from tests.expectation.checks import ENGINES, engines
from tests.support.values import value_table

TABLE = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.25, 0.35, 0.4]])
COST = [[0, 1, 5], [2, 0, 1], [7, 1, 0.5]]
NAMES = ("a", "b", "c")
TAGS = ("O", "B-X", "I-X")
WIDE = ("O", "B-X", "I-X", "B-Y", "I-Y")
RANDOM = np.random.default_rng(7)
ROWS = RANDOM.dirichlet(np.ones(3), 3)
MODELS = {
    "independent": Independent(ROWS, TAGS),
    "second order": Markov(np.outer(ROWS[0], ROWS[1]), np.stack([ROWS] * 3), n=3, labels=TAGS),
    "field": from_potentials(RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 3)), TAGS),
    "n-best": NBest([["O", "B-X", "O"], ["B-X", "I-X", "O"]], [0.25, 0.75], labels=TAGS),
}
Z = ["B-Y", "O", "B-X"]


def listed(loss, zs, model):
    """The expectation of each hypothesis by enumeration of what the model has."""
    ys = list(product(model.labels, repeat=model.n))
    return value_table(loss, list(zs), ys) @ [model.probability(y) for y in ys]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_tables_follow_the_labels(order):
    loss, zs = fsmeu.load("cost_matrix", labels=NAMES, cost=COST), list(product(NAMES, repeat=3))
    model = Independent(TABLE[:, order], [NAMES[k] for k in order])
    want = listed(loss, zs, model)
    assert [fsmeu.expect(loss, z, model).value for z in zs] == pytest.approx(want, rel=1e-12)
    assert fsmeu.expect_many(loss, zs, [model] * 27).values == pytest.approx(want, rel=1e-12)
    other = Independent(TABLE[::-1, ::-1], NAMES[::-1])  # as hypothesis, in an order of its own
    want = want @ [other.probability(z) for z in zs]
    assert fsmeu.expect(loss, other, model).value == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", ["fscore", "recall", "jaccard", "precision"])
@pytest.mark.parametrize("labels", [(0, 1), (1, 0)])
def test_decisions_know_which_label_is_positive(name, labels):
    p = np.array([0.45, 0.1, 0.35, 0.6])
    rows = np.stack((1 - p, p) if labels == (0, 1) else (p, 1 - p), axis=1)
    loss, model, zs = fsmeu.load(name), Independent(rows, labels), list(product((0, 1), repeat=4))
    values = dict(zip(zs, listed(loss, zs, model), strict=True))
    for decided in (fsmeu.decode(loss, model), *fsmeu.decode_many(loss, [model])):
        assert decided.value == pytest.approx(max(values.values()), rel=1e-12)
        assert values[tuple(decided.labels)] == pytest.approx(decided.value, rel=1e-12)


@pytest.mark.parametrize("labels", [("n", "Y"), (5, 7), (1, 0), "ab"])
@engines
def test_renamed_labels_change_nothing(labels, engine):
    """New names stand for the file's own; the same names in another order are just reordered."""
    plain, p = fsmeu.load("fscore"), [0.2, 0.9, 0.4]
    renamed = fsmeu.load("fscore", labels=labels)
    zero, one = labels[::-1] if labels == (1, 0) else labels
    for order in (labels, labels[::-1]):
        rows = [[x if label == one else 1 - x for label in order] for x in p]
        model = Independent(rows, tuple(order))
        for z in ("110", "001"):
            wanted = fsmeu.expect(plain, z, p, engine=engine).value
            named = [one if x == "1" else zero for x in z]
            found = fsmeu.expect(renamed, named, model, engine=engine).value
            assert found == pytest.approx(wanted, rel=1e-14)


def test_open_labels_are_those_of_the_model():
    labels = ("DT", "NN", "VB")
    model = Independent([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], labels)
    for engine in ENGINES:
        known = fsmeu.expect(fsmeu.load("hamming"), ["DT", "VB"], model, engine=engine)
        assert known.value == pytest.approx((0.5 + 0.3) / 2, rel=1e-14)
    assert fsmeu.compose(fsmeu.load("zero_one"), ["DT", "VB"], model).total == pytest.approx(0.65)


# -- lacking in a model: probability zero ----------------------------------------------------------


@pytest.mark.parametrize("types", [None, ["Y", "X"]])
@pytest.mark.parametrize("name", MODELS)
def test_a_tag_that_the_model_lacks(name, types):
    loss, model = fsmeu.load("chunk_fscore", types=types), MODELS[name]
    wide = fsmeu.load("chunk_fscore", labels=WIDE)
    (want,) = listed(wide, [Z], model)
    found = [fsmeu.expect(loss, Z, model, engine=engine).value for engine in ENGINES]
    found.append(fsmeu.expect_many(loss, [["O"] * 3, Z], [model] * 2).values[1])
    found.append(fsmeu.expect_corpus(loss, [Z], [model]).value)
    found.append(fsmeu.expect(loss, NBest([Z], [1.0], labels=WIDE), model).value)
    assert found == pytest.approx([want] * 5, rel=1e-12)
    if types:
        best = max(listed(wide, product(WIDE, repeat=3), model))
        decided = [fsmeu.decode(loss, model), *fsmeu.decode_many(loss, [model] * 2)]
        assert [one.value for one in decided] == pytest.approx([best] * 3, rel=1e-12)


def test_a_label_that_the_model_lacks_may_be_the_best_decision():
    """The decision is among the labels of the loss: here the third is never wrong by much."""
    cost = [[0, 10, 10], [10, 0, 10], [1, 1, 0]]
    loss = fsmeu.load("cost_matrix", labels=(0, 1, 2), cost=cost)
    for model in ([0.5, 0.4], Bernoulli([0.5, 0.4])):
        assert fsmeu.decode(loss, model).labels == [2, 2]
        assert fsmeu.expect_many(loss, [[2, 2]], [model]).values[0] == pytest.approx(1.0)


def test_models_of_a_corpus_may_have_different_tags():
    models = [MODELS["independent"], Independent([[0.25, 0.25, 0.5]], ("I-Y", "B-Y", "O"))]
    loss, zs = fsmeu.load("chunk_fscore"), [["B-X", "I-X", "O"], ["B-Y"]]
    want = 0.0
    for one, two in product(product(TAGS, repeat=3), models[1].labels):
        chance = models[0].probability(one) * models[1].probability([two])
        want += chance * fsmeu.evaluate_corpus(loss, zs, [one, [two]])
    assert fsmeu.expect_corpus(loss, zs, models).value == pytest.approx(want, rel=1e-12)


def test_a_model_beside_probabilities_is_answered():
    """Probabilities that are no labels, and certain ones that are called a model."""
    f1, model = fsmeu.load("fscore"), Bernoulli([0.9, 0.5])
    for other in ([0.25, 1.0], Bernoulli([0, 1]), [[0.0, 1.0], [1.0, 0.0]]):
        pairs = product(product((0, 1), repeat=2), repeat=2)
        made = fsmeu.models.as_model(other)
        want = sum(model.probability(z) * made.probability(y) * f1(z, y) for z, y in pairs)
        assert fsmeu.expect(f1, model, other).value == pytest.approx(want, rel=1e-12)
    assert fsmeu.expect(f1, Bernoulli([]), []).value == 1
