"""Every model against the list of all its sequences: probability, marginals, best, samples.

Then the edges: long sequences, one label, shapes that could be confused.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu import models as m
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.models import Bernoulli, Independent, Markov, Mixture, NBest, from_potentials, paths
from fsmeu.models.paths import best_first
from tests import brute_force
from tests.label_models import PLAIN_KINDS, plain_model, random_layers, rows
from tests.strategies import cases, listed

EXACT = {"rtol": 1e-12, "atol": 1e-15}


@pytest.mark.parametrize("kind", PLAIN_KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), k=st.sampled_from([1, 2, 3, 7, 10_000]))
def test_every_question_of_every_kind(kind, data, k):
    """Probabilities, marginals, masses along the layers, and the k most probable sequences."""
    case = data.draw(cases([kind]))
    model, layered = case.model, case.model.layered()
    for y, p in case.distribution.items():
        found, log = model.probability(y), model.log_probability(y)
        np.testing.assert_allclose(found, p, **EXACT)
        assert (p == 0) == (found == 0) == (log == -math.inf)
        assert p == 0 or log == pytest.approx(math.log(p), rel=1e-12, abs=1e-13)
    expected = brute_force.marginals(case.distribution, model.labels, model.n)
    np.testing.assert_allclose(model.marginals(), expected, **EXACT)
    assert model.marginals().shape == (model.n, len(model.labels))
    assert abs(model.total_mass() - 1) < 1e-12
    for mass, rest in zip(paths.forward(layered), paths.backward(layered), strict=True):
        np.testing.assert_allclose(mass @ rest, 1.0, rtol=1e-12)
    assert paths.total(layered) == model.total_mass()
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
    assert model.most_probable() == model.most_probable(100)[:1]
    assert len(sequences) == 16
    halves = Mixture([Bernoulli([0.5] * 3)] * 2, [0.5, 0.5])
    assert [y for y, _ in halves.most_probable(5)] == [
        [0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]
    ]  # fmt: skip


def test_near_ties_beyond_single_precision():
    """At 300 label 0 leads by 4e-12 of the probability, at 700 label 1 by 4e-13."""
    p = np.full(1000, 0.75)
    p[300], p[700] = 0.5 - 1e-12, 0.5 + 1e-13
    best = [y for y, _ in Bernoulli(p).most_probable(4)]
    assert [(y[300], y[700]) for y in best] == [(0, 1), (0, 0), (1, 1), (1, 0)]
    assert all(sum(y) - y[300] - y[700] == 998 for y in best)


def test_best_of_a_long_flat_chain_does_not_underflow():
    flat = Markov(np.full(4, 0.25), np.full((4, 4), 0.25), n=3000)
    (sequence, p), *_ = flat.most_probable()
    assert sequence == [0] * 3000
    assert p == 0.0  # 4**-3000 has no double
    np.testing.assert_allclose(flat.log_probability(sequence), -3000 * math.log(4), rtol=1e-14)


def test_a_weak_prefix_with_a_sure_end_wins():
    """State 1 is entered with 1e-280 only, but state 0 spreads over far more than that."""
    steps = np.zeros((1500, 5, 5))
    steps[:, 0, :4] = 0.25
    steps[:, 1:4, :4] = 0.25
    steps[:, 4, 4] = 1.0
    model = Markov([1 - 1e-280, 0, 0, 0, 1e-280], steps)
    assert model.most_probable()[0][0] == [4] * 1501


def test_search_gives_up_with_a_clear_sentence(monkeypatch):
    random = np.random.default_rng(5)
    parts = [Bernoulli(random.random(30)) for _ in range(6)]
    layered = Mixture(parts, np.full(6, 1 / 6)).layered()
    with pytest.raises(SizeLimitError, match="max_prefixes"):
        best_first(layered, 1000, max_prefixes=50)
    monkeypatch.setenv("FSMEU_MAX_ARCS", "5000")
    with pytest.raises(SizeLimitError, match="numbers in its queue"):
        best_first(layered, 10_000)


@pytest.mark.thirds
@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_sample_frequencies(kind):
    """Counts are binomial: 5 standard deviations (plus 2 for tiny ones) fail once in 10**6."""
    case = listed(plain_model(np.random.default_rng(11), kind, (0, 1), 4))
    size = 40_000
    drawn = case.model.sample(size, seed=np.random.default_rng(12))
    counts = Counter(map(tuple, drawn))
    for y, p in case.distribution.items():
        assert abs(counts[y] - size * p) <= 5 * math.sqrt(size * p * (1 - p)) + 2 * (p > 0)


def test_sample_shapes_and_seeds():
    model = Markov([0.3, 0.7], [[0.9, 0.1], [0.5, 0.5]], n=3, labels=("a", "b"))
    assert model.sample(seed=7) in [list(y) for y in brute_force.sequences("ab", 3)]
    assert model.sample(5, seed=7) == model.sample(5, seed=7)
    assert Bernoulli([]).sample(2) == [[], []]


def test_wrong_sequences_and_counts():
    model = Bernoulli([0.5, 0.5])
    for kind, words, ask in (
        (InputError, "2 labels", lambda: model.probability([1])),
        (InputError, "one of 0, 1", lambda: model.probability([1, 2])),
        (InputError, "k", lambda: model.most_probable(-1)),
        (InputError, "sample seed", lambda: model.sample(1, seed="x")),
        (SizeLimitError, "sample", lambda: model.sample(10**12)),
    ):
        with pytest.raises(kind, match=words):
            ask()
    assert model.most_probable(0) == model.sample(0) == []


LONG = 1000


def long_models():
    """Of every kind, and fields of great scores."""
    random = np.random.default_rng(1)
    yield from (plain_model(random, kind, (0, 1), LONG).build() for kind in PLAIN_KINDS)
    yield from_potentials(20 * random.normal(size=(LONG, 5)), random.normal(size=(LONG - 1, 5, 5)))
    yield from_potentials(random.normal(size=(LONG, 5)), 300 * random.normal(size=(5, 5)))
    yield m.Acceptor(random_layers(random, range(3), LONG, scale=2.0))


@pytest.mark.parametrize("model", list(long_models()), ids=repr)
@pytest.mark.thirds
def test_total_mass_of_a_thousand_positions(model):
    assert abs(model.total_mass() - 1) < 1e-12
    np.testing.assert_allclose(model.marginals().sum(axis=1), 1.0, rtol=1e-12)
    assert abs(Mixture([model, model], [0.25, 0.75]).total_mass() - 1) < 1e-12


@pytest.mark.parametrize("kind", ["independent", "markov", "potentials", "hmm", "nbest"])
def test_one_label(kind):
    model = plain_model(np.random.default_rng(1), kind, ["only"], 3).build()
    assert model.most_probable(5) == [(["only"] * 3, 1.0)]
    assert model.sample(seed=0) == ["only"] * 3
    assert (model.marginals() == 1).all()


def test_number_of_axes_decides_not_their_lengths():
    """With n - m = L = 2 both readings would fit by length."""
    random = np.random.default_rng(3)
    initial, tables = rows(random, 2), rows(random, 2, 2, 2)
    first = Markov(initial, tables)
    assert (first.order, first.n, first.homogeneous) == (1, 3, False)
    assert Markov(initial, np.zeros((0, 2, 2))).n == 1
    second = Markov(rows(random, 4).reshape(2, 2), tables, n=5)
    assert (second.order, second.n, second.homogeneous) == (2, 5, True)


def test_what_stands_for_a_model():
    model = Bernoulli([0.5])
    assert m.as_model(model) is model
    assert m.as_model([0.2, 1]).p.tolist() == [0.2, 1.0]
    assert isinstance(m.as_model(np.array([[0.2, 0.3, 0.5]])), Independent)
    assert m.as_model([]).n == 0


def test_parameters_are_copied_and_locked():
    p = np.array([0.1, 0.2])
    model = Bernoulli(p)
    p[0] = 0.9
    assert model.p.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        model.p[0] = 0.5
    with pytest.raises(AttributeError):
        model.p = p


def test_a_list_without_weights_has_equal_ones():
    """A sequence that is listed twice counts twice."""
    for model in (NBest(["01", "10", "01", "11"]), NBest(["01", "10", "01", "11"], log=True)):
        chances = [model.probability(y) for y in ("00", "01", "10", "11")]
        assert chances == pytest.approx([0, 0.5, 0.25, 0.25], rel=1e-15)


def test_ten_thousand_sequences():
    random = np.random.default_rng(7)
    sequences = random.integers(0, 2, (10_000, 12))
    weights = random.random(10_000)
    model = NBest(sequences, weights)
    assert model.indices.shape == np.unique(sequences, axis=0).shape
    expected = weights @ sequences / weights.sum()
    np.testing.assert_allclose(model.marginals()[:, 1], expected, rtol=1e-12)
    again = NBest(sequences.tolist(), np.log(weights), log=True)
    np.testing.assert_allclose(again.probabilities, model.probabilities, rtol=1e-12)
