"""Edges: no position, one position, one label, certain labels, shapes that could be confused."""

import itertools
import math
from itertools import pairwise as pairs

import numpy as np
import pytest

from fsmeu.models import (
    Acceptor,
    Bernoulli,
    Independent,
    Markov,
    Mixture,
    NBest,
    as_model,
    dense_tables,
    from_potentials,
    hmm,
)
from tests import brute_force
from tests.label_models import plain_model, random_layers, rows, scores
from tests.strategies import listed

LONG = 1000


def long_models():
    random = np.random.default_rng(1)
    yield Bernoulli(random.random(LONG))
    yield Independent(rows(random, LONG, 7))
    for order in (1, 2, 3):
        initial = rows(random, 3**order).reshape((3,) * order)
        yield Markov(initial, rows(random, *(3,) * (order + 1)), n=LONG)
        yield Markov(initial, rows(random, LONG - order, *(3,) * (order + 1)))
    yield from_potentials(20 * random.normal(size=(LONG, 5)), random.normal(size=(LONG - 1, 5, 5)))
    yield from_potentials(random.normal(size=(LONG, 5)), 300 * random.normal(size=(5, 5)))
    seen = random.integers(0, 4, LONG)
    yield hmm(np.full(3, 1 / 3), rows(random, 3, 3) * 0.5 + 1 / 6, np.full((3, 4), 0.25), seen)
    yield Acceptor(random_layers(random, range(3), LONG, scale=2.0))
    yield NBest(random.integers(0, 3, (50, LONG)), 5 * random.normal(size=50), log=True)


@pytest.mark.parametrize("model", list(long_models()), ids=repr)
def test_total_mass_of_a_thousand_positions(model):
    assert abs(model.total_mass() - 1) < 1e-12
    np.testing.assert_allclose(model.marginals().sum(axis=1), 1.0, rtol=1e-12)
    both = Mixture([model, model], [0.25, 0.75])
    assert abs(both.total_mass() - 1) < 1e-12


@pytest.mark.parametrize(
    "model",
    [
        Independent(np.ones((3, 1)), ["only"]),
        Markov(np.ones((1, 1)), np.ones((1, 1, 1)), n=3, labels=["only"]),
        from_potentials(np.full((3, 1), 5.0), [[-2.0]], ["only"]),
        hmm([1.0], [[1.0]], [[0.5, 0.5]], [0, 1, 1], ["only"]),
        NBest([["only"] * 3], [0.1]),
    ],
    ids=repr,
)
def test_one_label(model):
    assert model.most_probable(5) == [(["only"] * 3, 1.0)]
    assert model.sample(seed=0) == ["only"] * 3
    assert (model.marginals() == 1).all()


def test_zero_and_one_stay_exact():
    model = Bernoulli([0, 1, 1])
    assert model.most_probable(9) == [([0, 1, 1], 1.0)]
    assert model.probability([1, 1, 1]) == 0.0
    chain = Markov([0.0, 1.0], [[0.1, 0.9], [1.0, 0.0]], n=3)
    assert chain.probability([1, 1, 0]) == 0.0
    assert chain.marginals()[0].tolist() == [0.0, 1.0]
    field = from_potentials([[0, -np.inf], [0, 0]], [[-np.inf, 0], [0, 0]])
    assert field.most_probable(5) == [([0, 1], 1.0)]


def test_number_of_axes_decides_not_their_lengths():
    """With n - m = L = 2 both readings would fit by length."""
    random = np.random.default_rng(3)
    initial, tables = rows(random, 2), rows(random, 2, 2, 2)
    first = Markov(initial, tables)
    assert (first.order, first.n, first.homogeneous) == (1, 3, False)
    second = Markov(rows(random, 4).reshape(2, 2), tables, n=5)
    assert (second.order, second.n, second.homogeneous) == (2, 5, True)
    expected = brute_force.markov(second.initial, tables, (0, 1), 5)
    for y, p in expected.items():
        assert second.probability(y) == pytest.approx(p, rel=1e-12)


def test_shorter_than_the_order():
    initial = rows(np.random.default_rng(4), 8).reshape(2, 2, 2)
    transition = np.full((2, 2, 2, 2), 0.5)
    for n in range(3):
        model = Markov(initial, transition, n=n)
        for y, p in brute_force.markov(initial, transition, (0, 1), n).items():
            assert model.probability(y) == pytest.approx(p, rel=1e-13, abs=1e-16)
    assert Markov(initial, np.zeros((0, 2, 2, 2, 2)), n=2).n == 2
    assert Markov(initial, np.zeros((0, 2, 2, 2, 2))).n == 3


def test_what_stands_for_a_model():
    model = Bernoulli([0.5])
    assert as_model(model) is model
    assert as_model([0.2, 1]).p.tolist() == [0.2, 1.0]
    assert isinstance(as_model(np.array([[0.2, 0.3, 0.5]])), Independent)
    assert as_model([]).n == 0


def test_parameters_are_copied_and_locked():
    p = np.array([0.1, 0.2])
    model = Bernoulli(p)
    p[0] = 0.9
    assert model.p.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        model.p[0] = 0.5
    with pytest.raises(AttributeError):
        model.p = p


def test_dense_tables_hold_every_arc():
    case = listed(plain_model(np.random.default_rng(8), "mixture", range(3), 4))
    layered = case.model.layered()
    tables = dense_tables(layered)
    width = max(layered.widths)
    assert tables.shape == (4, width, 3, width)
    for y, p in case.distribution.items():
        mass = np.pad(layered.start, (0, width - len(layered.start)))
        for i, label in enumerate(y):
            mass = mass @ tables[i, :, label, :]
        final = np.pad(layered.final, (0, width - len(layered.final)))
        assert mass @ final == pytest.approx(p, rel=1e-12, abs=1e-15)
    assert dense_tables(layered, limit=tables.size) is not None
    assert dense_tables(layered, limit=tables.size - 1) is None


def test_log_partition():
    random = np.random.default_rng(6)
    unary, pairwise = scores(random, 4, 3), random.normal(size=(3, 3))
    unary[:, 0] = 0.0
    exact = [
        sum(unary[i, k] for i, k in enumerate(y)) + sum(pairwise[a, b] for a, b in pairs(y))
        for y in itertools.product(range(3), repeat=4)
    ]
    expected = math.log(math.fsum(math.exp(score) for score in exact))
    assert from_potentials(unary, pairwise).log_partition == pytest.approx(expected, rel=1e-13)
    flat = from_potentials(np.full((LONG, 4), 2.0), np.full((4, 4), -1.0))
    expected = LONG * (math.log(4) + 2) - (LONG - 1)
    assert flat.log_partition == pytest.approx(expected, rel=1e-13)
    assert from_potentials(np.zeros((0, 2)), np.zeros((2, 2))).log_partition == 0.0


def test_ten_thousand_sequences():
    random = np.random.default_rng(7)
    listed = random.integers(0, 2, (10_000, 12))
    weights = random.random(10_000)
    model = NBest(listed, weights)
    assert model.indices.shape == np.unique(listed, axis=0).shape
    expected = weights @ listed / weights.sum()
    np.testing.assert_allclose(model.marginals()[:, 1], expected, rtol=1e-12)
    again = NBest(listed.tolist(), np.log(weights), log=True)
    np.testing.assert_allclose(again.probabilities, model.probabilities, rtol=1e-12)
