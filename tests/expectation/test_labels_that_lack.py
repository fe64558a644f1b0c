"""Labels that are read from what is given, and labels that a model lacks: probability zero."""

import itertools

import numpy as np
import pytest
from seqeval.metrics import f1_score

import fsmeu
from fsmeu.errors import InputError
from fsmeu.models import Bernoulli, Independent, Markov, NBest, from_potentials

TAGS = ("O", "B-X", "I-X")
WIDE = ("O", "B-X", "I-X", "B-Y", "I-Y")
RANDOM = np.random.default_rng(7)
ROWS = RANDOM.dirichlet(np.ones(3), 3)
MODELS = {
    "independent": Independent(ROWS, TAGS),
    "chain": Markov(ROWS[0], ROWS, n=3, labels=TAGS),
    "second order": Markov(np.outer(ROWS[0], ROWS[1]), np.stack([ROWS] * 3), n=3, labels=TAGS),
    "field": from_potentials(RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 3)), TAGS),
    "n-best": NBest([["O", "B-X", "O"], ["B-X", "I-X", "O"]], [0.25, 0.75], labels=TAGS),
}
Z = ["B-Y", "O", "B-X"]


def expected(loss, zs, model):
    """The expectation of each hypothesis by enumeration of what the model has."""
    ys = list(itertools.product(model.labels, repeat=model.n))
    chances = np.array([model.probability(y) for y in ys])
    codes = np.array([loss.alphabet.encode(y) for y in ys])
    given = (np.tile(loss.alphabet.encode(z), (len(ys), 1)) for z in zs)
    return [float(chances @ loss.pair_values(z, codes)) for z in given]


@pytest.mark.parametrize("types", [None, ["X", "Y"], ["Y", "X"]])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.thirds
def test_expectations_with_a_tag_that_the_model_lacks(name, types):
    loss, model = fsmeu.load("chunk_fscore", types=types), MODELS[name]
    (want,) = expected(fsmeu.load("chunk_fscore", labels=WIDE), [Z], model)
    for engine in ("lattice", "openfst"):
        assert fsmeu.expect(loss, Z, model, engine=engine).value == pytest.approx(want, rel=1e-12)
    plain = fsmeu.expect(loss, ["B-X", "I-X", "O"], model).value
    many = fsmeu.expect_many(loss, [Z, ["B-X", "I-X", "O"]], [model] * 2)
    assert many == pytest.approx([want, plain], rel=1e-12)
    assert fsmeu.expect_corpus(loss, [Z], [model]).value == pytest.approx(want, rel=1e-12)
    certain = NBest([Z], [1.0], labels=WIDE)
    assert fsmeu.expect(loss, certain, model).value == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_decisions_where_the_model_lacks_a_tag(name):
    loss, model = fsmeu.load("chunk_fscore", types=["X", "Y"]), MODELS[name]
    best = max(expected(loss, itertools.product(WIDE, repeat=3), model))
    found = [fsmeu.decode(loss, model), *fsmeu.decode_many(loss, [model] * 2)]
    assert [one.value for one in found] == pytest.approx([best] * 3, rel=1e-12)
    assert all(one.exact for one in found)
    assert fsmeu.decode_corpus(loss, [model]).value == pytest.approx(best, rel=1e-9)


def test_a_label_that_the_model_lacks_may_be_the_best_decision():
    """The decision is among the labels of the loss: here the third is never wrong by much."""
    cost = [[0, 10, 10], [10, 0, 10], [1, 1, 0]]
    loss = fsmeu.load("cost_matrix", labels=(0, 1, 2), cost=cost)
    for model in ([0.5, 0.4], Bernoulli([0.5, 0.4])):
        assert fsmeu.decode(loss, model).labels == [2, 2]
        assert [one.labels for one in fsmeu.decode_many(loss, [model])] == [[2, 2]]
        assert fsmeu.expect_many(loss, [[2, 2]], [model])[0] == pytest.approx(1.0)


def test_models_of_a_corpus_may_have_different_tags():
    models = [MODELS["independent"], Independent([[0.5, 0.25, 0.25]], ("O", "B-Y", "I-Y"))]
    loss, zs = fsmeu.load("chunk_fscore"), [["B-X", "I-X", "O"], ["B-Y"]]
    want = 0.0
    for one in itertools.product(TAGS, repeat=3):
        for two in models[1].labels:
            chance = models[0].probability(one) * models[1].probability([two])
            want += chance * fsmeu.evaluate_corpus(loss, zs, [one, [two]])
    assert fsmeu.expect_corpus(loss, zs, models).value == pytest.approx(want, rel=1e-12)


def test_tags_are_read_from_what_is_evaluated():
    loss = fsmeu.load("chunk_fscore")
    zs = [["B-X", "I-X", "O", "B-Y"], ["O", "B-Z"]]
    ys = [["B-X", "I-X", "O", "O"], ["B-Y", "B-Z"]]
    assert fsmeu.evaluate_corpus(loss, zs, ys) == pytest.approx(f1_score(ys, zs), rel=1e-12)
    for z, y in zip(zs, ys, strict=True):
        assert loss(z, y) == fsmeu.evaluate(loss, z, y) == pytest.approx(f1_score([y], [z]))
    assert loss([], []) == 1
    assert fsmeu.load("hamming")(["N", "V", "N"], np.array(["N", "N", "D"])) == pytest.approx(2 / 3)


def test_the_difference_of_two_sets_of_labels_is_named():
    types = [f"T{k}" for k in range(40)]
    loss = fsmeu.load("chunk_fscore", types=types)
    rows = np.full((2, 5), 0.2)
    model = Independent(rows, ("O", "B-T3", "I-T3", "B-Q", "I-Q"))
    asked = (
        lambda: fsmeu.expect(loss, ["O", "O"], model),
        lambda: fsmeu.decode(loss, model),
        lambda: fsmeu.decode_many(loss, [model]),
        lambda: fsmeu.expect_many(loss, [["O", "O"]], [model]),
        lambda: fsmeu.decode_corpus(loss, [model]),
        lambda: fsmeu.gradient(loss, ["O", "O"], model),
    )
    for ask in asked:
        with pytest.raises(InputError, match=r"in the model alone: \['B-Q', 'I-Q'\]"):
            ask()


def test_derivatives_are_for_labels_that_the_model_has():
    loss = fsmeu.load("chunk_fscore", types=["X", "Y"])
    with pytest.raises(InputError, match="one without B-Y, I-Y"):
        fsmeu.gradient(loss, ["B-X", "O", "O"], MODELS["chain"])


@pytest.mark.parametrize("certain", [[0, 1], [1.0, 0.0], (True, False), np.array([1, 1]), "01"])
def test_exchanged_arguments_are_refused(certain):
    """A list of 0 and 1 could be read as probabilities, and the answer would be another one."""
    f1, model = fsmeu.load("fscore"), Bernoulli([0.9, 0.5])
    asked = (
        lambda: fsmeu.expect(f1, model, certain),
        lambda: fsmeu.expect(f1, model, certain, engine="openfst"),
        lambda: fsmeu.compose(f1, model, certain),
        lambda: fsmeu.gradient(f1, model, certain),
        lambda: fsmeu.value_and_gradient(f1, model, certain),
        lambda: fsmeu.expect_many(f1, [model], [certain]),
        lambda: fsmeu.expect_many(f1, [model], [certain], jobs=2),
        lambda: fsmeu.expect_corpus(f1, [model], [certain]),
        lambda: fsmeu.draw(f1, z=model, model=certain),
    )
    for ask in asked:
        with pytest.raises(InputError, match=r"z comes before the model.*Bernoulli\("):
            ask()


def test_exchanged_tags_are_refused():
    with pytest.raises(InputError, match="z comes before the model"):
        fsmeu.expect(fsmeu.load("chunk_fscore"), MODELS["chain"], ["B-X", "O", "O"])


def test_a_model_beside_probabilities_is_answered():
    """Probabilities that are no labels, and certain ones that are called a model."""
    f1, model = fsmeu.load("fscore"), Bernoulli([0.9, 0.5])
    for other in ([0.25, 1.0], Bernoulli([0, 1]), [[0.0, 1.0], [1.0, 0.0]]):
        pairs = itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
        made = fsmeu.models.as_model(other)
        want = sum(model.probability(z) * made.probability(y) * f1(z, y) for z, y in pairs)
        assert fsmeu.expect(f1, model, other).value == pytest.approx(want, rel=1e-12)
    assert fsmeu.expect(f1, Bernoulli([]), []).value == 1
