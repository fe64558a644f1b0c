"""Every model against the list of all its sequences: questions, files, temperatures, samples.

Then the edges: long sequences, one label, shapes that could be confused.
"""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import models as m
from fsmeu.models import Bernoulli, Markov, NBest, from_potentials
from tests import brute_force
from tests.label_models import PLAIN_KINDS, plain_model, random_layers, rows
from tests.strategies import cases, listed

EXACT = {"rtol": 1e-12, "atol": 1e-15}


@pytest.mark.parametrize("kind", PLAIN_KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), k=st.sampled_from([1, 2, 3, 7, 10_000]))
def test_every_question_of_every_kind(kind, data, k):
    """Probabilities, marginals, the k most probable sequences, and the model in a file."""
    case = data.draw(cases([kind]))
    model = case.model
    text = json.dumps(model.to_json(), allow_nan=False)
    again, machine = m.from_json(text), fsmeu.from_openfst(fsmeu.to_openfst(model)).fst
    assert (type(again), again.labels, again.n) == (type(model), model.labels, model.n)
    assert again.to_json() == json.loads(text)
    read = m.Acceptor(machine, model.labels) if model.n else again
    for y, p in case.distribution.items():
        found, log = model.probability(y), model.log_probability(y)
        np.testing.assert_allclose(found, p, **EXACT)
        assert (p == 0) == (found == 0) == (log == -math.inf)
        assert p == 0 or log == pytest.approx(math.log(p), rel=1e-12, abs=1e-13)
        assert again.probability(y) == found
        np.testing.assert_allclose(read.probability(y), p, rtol=1e-11, atol=1e-15)
    expected = brute_force.marginals(case.distribution, model.labels, model.n)
    np.testing.assert_allclose(model.marginals(), expected, **EXACT)
    assert model.marginals().shape == (model.n, len(model.labels))
    assert abs(model.total_mass() - 1) < 1e-12
    best = model.most_probable(k)
    possible = sorted((p for p in case.distribution.values() if p > 0), reverse=True)
    assert len({tuple(y) for y, _ in best}) == len(best) == min(k, len(possible))
    np.testing.assert_allclose([p for _, p in best], possible[: len(best)], **EXACT)
    assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
    assert model.most_probable() == best[:1]  # one has a sweep of its own: the same bits and ties
    for y, p in best:
        np.testing.assert_allclose(p, case.distribution[tuple(y)], **EXACT)


def test_ties_are_in_the_order_of_the_labels():
    model = Markov(np.full((2, 2), 0.25), np.full((2, 2, 2), 0.5), n=4)
    sequences = [y for y, _ in model.most_probable(100)]
    assert sequences == sorted(sequences)
    assert len(sequences) == 16


def test_near_ties_beyond_single_precision():
    """At 300 label 0 leads by 4e-12 of the probability, at 700 label 1 by 4e-13."""
    p = np.full(1000, 0.75)
    p[300], p[700] = 0.5 - 1e-12, 0.5 + 1e-13
    best = [y for y, _ in Bernoulli(p).most_probable(4)]
    assert [(y[300], y[700]) for y in best] == [(0, 1), (0, 0), (1, 1), (1, 0)]
    assert all(sum(y) - y[300] - y[700] == 998 for y in best)


def test_the_best_of_long_chains():
    """Of one that underflows; and of one whose state 4 is entered with 1e-280 only, but stays."""
    flat = Markov(np.full(4, 0.25), np.full((4, 4), 0.25), n=3000)
    assert flat.most_probable() == [([0] * 3000, 0.0)]  # 4**-3000 has no double
    np.testing.assert_allclose(flat.log_probability([0] * 3000), -3000 * math.log(4), rtol=1e-14)
    steps = np.zeros((1500, 5, 5))
    steps[:, :4, :4] = 0.25
    steps[:, 4, 4] = 1.0
    weak = Markov([1 - 1e-280, 0, 0, 0, 1e-280], steps)
    assert weak.most_probable()[0][0] == [4] * 1501


@pytest.mark.thirds
@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_sample_frequencies(kind):
    """Counts are binomial: 5 standard deviations (plus 2 for tiny ones) fail once in 10**6."""
    case, size = listed(plain_model(np.random.default_rng(11), kind, (0, 1), 4)), 10_000
    counts = Counter(map(tuple, case.model.sample(size, seed=np.random.default_rng(12))))
    for y, p in case.distribution.items():
        assert abs(counts[y] - size * p) <= 5 * math.sqrt(size * p * (1 - p)) + 2 * (p > 0)


LONG = 1000


def long_models():
    """Of every kind, and fields of great scores."""
    random = np.random.default_rng(1)
    yield from (plain_model(random, kind, (0, 1), LONG).build() for kind in PLAIN_KINDS)
    yield from_potentials(random.normal(size=(LONG, 5)), 300 * random.normal(size=(5, 5)))
    yield m.Acceptor(random_layers(random, range(3), LONG, scale=2.0))


@pytest.mark.parametrize("model", list(long_models()), ids=repr)
@pytest.mark.thirds
def test_total_mass_of_a_thousand_positions(model):
    assert abs(model.total_mass() - 1) < 1e-12
    np.testing.assert_allclose(model.marginals().sum(axis=1), 1.0, rtol=1e-12)


def test_number_of_axes_decides_not_their_lengths():
    """With n - m = L = 2 both readings would fit by length."""
    random = np.random.default_rng(3)
    initial, tables = rows(random, 2), rows(random, 2, 2, 2)
    first = Markov(initial, tables)
    assert (first.order, first.n, first.homogeneous) == (1, 3, False)
    assert Markov(initial, np.zeros((0, 2, 2))).n == 1
    second = Markov(rows(random, 4).reshape(2, 2), tables, n=5)
    assert (second.order, second.n, second.homogeneous) == (2, 5, True)


def test_parameters_are_copied_and_locked():
    p = np.array([0.1, 0.2])
    model = Bernoulli(p)
    p[0] = 0.9
    assert model.p.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        model.p[0] = 0.5
    with pytest.raises(AttributeError):
        model.p = p


def test_lists_of_sequences():
    """Without weights each counts once, also one that is there twice; and ten thousand."""
    for model in (NBest(["01", "10", "01", "11"]), NBest(["01", "10", "01", "11"], log=True)):
        chances = [model.probability(y) for y in ("00", "01", "10", "11")]
        assert chances == pytest.approx([0, 0.5, 0.25, 0.25], rel=1e-15)
    random = np.random.default_rng(7)
    sequences, weights = random.integers(0, 2, (10_000, 12)), random.random(10_000)
    model = NBest(sequences.tolist(), np.log(weights), log=True)
    expected = weights @ sequences / weights.sum()
    np.testing.assert_allclose(model.marginals()[:, 1], expected, rtol=1e-12)
