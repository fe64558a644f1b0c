"""Labels: in another order, or lacking in a model."""

from itertools import permutations, product

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov, NBest, from_potentials
from tests.expectation.checks import ENGINES
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
