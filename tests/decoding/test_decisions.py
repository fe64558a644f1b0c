"""What decisions say of the best expected value, held against all sequences, and regrets."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Markov
from tests import brute_force


def hamming(z, y):
    return sum(a != b for a, b in zip(z, y, strict=True)) / len(z)


MEASURES = {
    "fscore": (brute_force.fscore, max),
    "jaccard": (brute_force.jaccard, max),
    "hamming": (hamming, min),
}


def drawn(kind, seed, n=4):
    """A model of n labels 0 and 1, and the distribution of its sequences."""
    random = np.random.default_rng(seed)
    if kind == "independent":
        p = random.random(n)
        return Bernoulli(p), brute_force.bernoulli(p)
    initial = random.dirichlet(np.ones(2))
    transition = random.dirichlet(np.ones(2), size=2)
    return Markov(initial, transition, n=n), brute_force.markov(initial, transition, (0, 1), n)


def best_of(name, of_y, n=4):
    measure, better = MEASURES[name]
    values = (brute_force.expected(z, of_y, measure) for z in product((0, 1), repeat=n))
    return better(values)


@pytest.mark.parametrize("method", ["auto", "marginal", "nbest", "exhaustive"])
@pytest.mark.parametrize("kind", ["independent", "chain"])
@pytest.mark.parametrize("name", MEASURES)
def test_bounds_hold_the_best_value(name, kind, method):
    for seed in range(4):
        model, of_y = drawn(kind, seed)
        decision = fsmeu.decode(name, model, method=method)
        best = best_of(name, of_y)
        assert decision.lower <= best <= decision.upper
        assert decision.gap == decision.upper - decision.lower
        assert decision.gap <= 1e-8 or not decision.exact


def test_bounds_with_few_states_kept_are_those_of_the_file():
    decision = fsmeu.decode("fscore", [0.9, 0.5, 0.3], method="ranking", keep=2)
    assert (decision.lower, decision.upper, decision.exact) == (0.0, 1.0, False)


@pytest.mark.parametrize("name", MEASURES)
def test_rows_decided_together_have_the_bounds_of_single_ones(name):
    rows = np.random.default_rng(5).random((6, 4))
    for row, decision in zip(rows, fsmeu.decode_many(name, rows), strict=True):
        best = best_of(name, brute_force.bernoulli(row))
        assert decision.lower <= best <= decision.upper


@pytest.mark.parametrize("kind", ["independent", "chain"])
@pytest.mark.parametrize("name", MEASURES)
def test_regret(name, kind):
    measure, _ = MEASURES[name]
    for seed in range(4):
        model, of_y = drawn(kind, seed)
        best = best_of(name, of_y)
        for z in product((0, 1), repeat=4):
            found = fsmeu.regret(name, z, model)
            known = abs(best - brute_force.expected(z, of_y, measure))
            assert float(found) == found.value == pytest.approx(known, abs=1e-12)
            assert found.lower <= known + 1e-15
            assert known <= found.upper + 1e-15


def test_decisions_for_a_corpus_have_the_same_fields_and_words():
    one = fsmeu.decode("fscore", [0.9, 0.5])
    corpus = fsmeu.decode_corpus("fscore", [[0.9, 0.5], [0.2]])
    assert one.__dict__.keys() == corpus.__dict__.keys()
    assert "these models" in fsmeu.explain(corpus)
    assert f"Decided by {corpus.method}" in fsmeu.explain(corpus)
    with pytest.raises(fsmeu.InputError, match="decode_corpus"):
        fsmeu.explain("best")


def test_check_is_what_the_command_prints():
    report = fsmeu.check("pk", k=2)
    assert report.holds
    assert report.properties.additive
    assert fsmeu.check(fsmeu.load("pk", k=2)).loss.params["k"] == 2
    assert not fsmeu.check("fscore", n=6).properties.additive
    with pytest.raises(fsmeu.InputError, match="n must be a whole number"):
        fsmeu.check("fscore", n=0)
    with pytest.raises(fsmeu.FsmeuError, match="Did you mean"):
        fsmeu.check("fscor")
