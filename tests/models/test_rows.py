"""Probabilities are divided by their sums once, where a model takes them in."""

import json
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import fsmeu
from fsmeu import load, models
from fsmeu.models.base import Model

OFF = (1.0 - 9e-10, 1.0, 1.0 + 9e-10)


def rows_off(rng, *shape):
    """Random distributions over the last axis, their sums off 1 by up to the tolerance."""
    array = rng.random(shape) ** 3 + 1e-3
    array /= array.sum(axis=-1, keepdims=True)
    return array * rng.choice(OFF, (*shape[:-1], 1))


def exact_rows(array):
    """The rows divided by their sums, in fractions."""
    rows = [[Fraction(x) for x in row] for row in np.asarray(array).tolist()]
    return [[x / sum(row) for x in row] for row in rows]


def counts(chances):
    """P(number of events) of independent events, as decimals."""
    table = [Decimal(1)]
    for chance in chances:
        p = Decimal(chance.numerator) / Decimal(chance.denominator)
        longer = [*(x * (1 - p) for x in table), Decimal(0)]
        for k, x in enumerate(table):
            longer[k + 1] += x * p
        table = longer
    return table


def exact_fscore(z, rows):
    """The expected F1 by the distributions of true positives and of other positives."""
    tp = counts([row[1] for row, label in zip(rows, z, strict=True) if label])
    fn = counts([row[1] for row, label in zip(rows, z, strict=True) if not label])
    hyp, total = sum(z), Decimal(0)
    for a, left in enumerate(tp):
        for b, right in enumerate(fn):
            total += left * right * (Decimal(2 * a) / (hyp + a + b) if hyp + a + b else 1)
    return total


@pytest.mark.thirds
@pytest.mark.parametrize("n", [999, 1000])
@pytest.mark.parametrize("rare", [0.05, 1e-9], ids=["rare", "very rare"])
def test_long_sequences_hold_the_exact_value(n, rare):
    rng = np.random.default_rng(n)
    p = rng.random(n) * rare
    given = np.stack([1.0 - p, p], axis=1) * rng.choice(OFF[:2], (n, 1))
    if rare < 1e-3:
        given = given[:, ::-1]  # what is rare is known well, and 1 - P(the other) is not
    rows, z = exact_rows(given), [0] * n
    for i in np.argsort(-given[:, 1])[:12].tolist():
        z[i] = 1
    model = models.Independent(given)
    with localcontext() as context:
        context.prec = 60
        wrong = sum(1 - row[label] for row, label in zip(rows, z, strict=True)) / n
        hamming = Decimal(wrong.numerator) / Decimal(wrong.denominator)
        for name, truth in (("hamming", hamming), ("fscore", exact_fscore(z, rows))):
            found = fsmeu.expect(load(name), z, model)
            assert Decimal(found.lower) <= truth <= Decimal(found.upper), name


@pytest.mark.parametrize("n", [3, 8])
def test_decisions_and_engines_hold_the_exact_value(n):
    rng = np.random.default_rng(n)
    given = rows_off(rng, n, 2)
    rows = exact_rows(given)
    for name in ("fscore", "hamming", "zero_one", "jaccard"):
        loss, model = load(name), models.Independent(given)
        best = fsmeu.decode(loss, model)
        truth = Fraction(0)
        for code in range(2**n):
            y = [code >> i & 1 for i in range(n)]
            chance = Fraction(1)
            for row, label in zip(rows, y, strict=True):
                chance *= row[label]
            truth += chance * Fraction(loss(best.labels, y))
        assert abs(Fraction(best.value) - truth) <= Fraction(1, 10**14)
        for engine in ("auto", "openfst"):
            found = fsmeu.expect(loss, best.labels, model, engine=engine)
            assert Fraction(found.lower) <= truth + Fraction(1, 10**16)
            assert truth - Fraction(1, 10**16) <= Fraction(found.upper)


def made(rng):
    """A model of each kind that takes probabilities, from rows whose sums are off."""
    rows = rows_off(rng, 4, 3)
    table = rows_off(rng, 3, 3)
    pairs = rows_off(rng, 9).reshape(3, 3)
    yield models.Independent(rows)
    yield models.Markov(rows[0], table, n=4)
    yield models.Markov(rows[0], rows_off(rng, 3, 3, 3))
    yield models.Markov(pairs, rows_off(rng, 3, 3, 3), n=4)
    parts = [models.Independent(rows), models.Markov(rows[0], table, n=4)]
    yield models.Mixture(parts, rows_off(rng, 2))


def arrays_of(model):
    """The arrays of probabilities of a model and its parts, with the number of axes of a row."""
    if isinstance(model, models.Independent):
        return [(model.probabilities, 1)]
    if isinstance(model, models.Markov):
        return [(model.initial, model.order), (model.transition, 1)]
    assert isinstance(model, models.Mixture)
    return [(model.weights, 1), *(pair for part in model.models for pair in arrays_of(part))]


def same_bits(left: Model, right: Model) -> bool:
    """Whether two models have the same arrays, bit for bit."""
    pairs = zip(arrays_of(left), arrays_of(right), strict=True)
    return all((a == b).all() for (a, _), (b, _) in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_rows_sum_to_one_and_stay(seed):
    for model in made(np.random.default_rng(seed)):
        for array, axes in arrays_of(model):
            for row in array.reshape(-1, 3**axes if array.shape[-1] == 3 else 2).tolist():
                assert abs(sum(map(Fraction, row)) - 1) <= Fraction(2.01 * 2.0**-53)
        again = models.from_json(json.dumps(model.to_json()))
        assert same_bits(model, again)
        assert same_bits(again, models.from_json(again.to_json()))
        weights = model.arc_weights()
        assert (weights.joined() == again.arc_weights().joined()).all()
        assert model.total_mass() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("size", [2, 3, 7, 100, 1001])
def test_rows_that_sum_to_one_by_rounding_are_left_alone(size):
    rng = random.Random(size)
    for _ in range(20):
        row = [rng.random() for _ in range(size)]
        once = models.Independent([[x / sum(row) for x in row]]).probabilities
        assert (models.Independent(once).probabilities == once).all()
    assert (models.Independent([[1 / size] * size]).probabilities == 1 / size).all()


def test_weights_are_those_that_are_exported():
    rng = np.random.default_rng(5)
    model = models.Independent(rows_off(rng, 3, 2))
    assert (model.arc_weights().arcs[0] == model.probabilities.ravel()).all()
    assert (model.marginals() == model.probabilities).all()
    chain = models.Markov(rows_off(rng, 2), rows_off(rng, 2, 2), n=3)
    assert (chain.arc_weights().arcs[0][:2] == chain.initial).all()
    assert (chain.arc_weights().arcs[0][2:6] == chain.transition.ravel()).all()


@pytest.mark.parametrize("kind", ["decode", "decode_many", "Bernoulli", "a row", "from_logits"])
def test_columns_of_probabilities_are_those_of_ones(kind):
    """As predict_proba(X)[:, [1]], or a frame of one column, has them."""
    column = np.float32([[0.9], [1.0], [0.3]])
    logits = np.log([[0.9], [0.5], [0.3]]) - np.log([[0.1], [0.5], [0.7]])
    found, p = {
        "decode": lambda: (fsmeu.decode("fscore", column), column),
        "decode_many": lambda: (fsmeu.decode_many("fscore", [column])[0], column),
        "Bernoulli": lambda: (fsmeu.decode("fscore", models.Bernoulli(column)), column),
        "a row": lambda: (fsmeu.decode("fscore", models.Bernoulli(column.T)), column),
        "from_logits": lambda: (
            fsmeu.decode("fscore", models.from_logits(logits)),
            [0.9, 0.5, 0.3],
        ),
    }[kind]()
    wanted = fsmeu.decode("fscore", models.Bernoulli(np.ravel(p)))
    assert found.labels == wanted.labels
    assert found.value == pytest.approx(wanted.value, rel=1e-14)


def test_a_column_of_certain_ones_is_no_table_of_one_label():
    assert fsmeu.decode("fscore", np.ones((3, 1))).labels == [1, 1, 1]
