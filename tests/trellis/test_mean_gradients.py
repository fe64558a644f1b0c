"""Gradients by the split trellis, against OpenFst's composition and against differences."""

import numpy as np
import pytest

import fsmeu
from fsmeu.expectation.gradient import value_and_gradient, value_and_gradient_many
from fsmeu.models import Independent, Markov, from_potentials
from tests.support.nightly import every_third
from tests.trellis.test_corpora import LENGTHS, LOSSES, TAGS


def field(n, random):
    """A random field in which one tag is impossible after another."""
    pairwise = random.normal(size=(5, 5))
    pairwise[0, 2] = -np.inf
    return from_potentials(random.normal(size=(n, 5)), pairwise, TAGS)


def independent(n, random):
    rows = random.dirichlet(np.ones(5), size=n)
    rows[:1, 1] = 0.0
    return Independent(rows / rows.sum(axis=1, keepdims=True) if n else [], TAGS)


def chain(n, random):
    steps = random.dirichlet(np.ones(5), size=5)
    return Markov(random.dirichlet(np.ones(5)), steps, n=n, labels=TAGS)


KINDS = {"potentials": field, "independent": independent, "markov": chain}


def parts(gradient):
    """The arrays of a gradient."""
    return list(gradient.values()) if isinstance(gradient, dict) else [gradient]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", every_third(LOSSES))
def test_gradients_of_a_ragged_corpus(name, kind, swapped):
    random = np.random.default_rng(5)
    loss, explicit = LOSSES[name](), LOSSES[name]()
    if swapped:
        loss, explicit = loss.swapped, explicit.swapped
    models = [KINDS[kind](n, random) for n in LENGTHS]
    zs = [[TAGS[k] for k in random.integers(0, 5, n)] for n in LENGTHS]
    values, found = value_and_gradient_many(loss, zs, models)
    for k, (z, model) in enumerate(zip(zs, models, strict=True)):
        value, slopes = value_and_gradient(explicit, z, model, engine="openfst")
        assert values[k] == pytest.approx(value, rel=1e-11, abs=1e-13)
        alone, again = value_and_gradient(loss, z, model)
        assert alone == pytest.approx(value, rel=1e-11, abs=1e-13)
        for one, two, three in zip(parts(slopes), parts(found[k]), parts(again), strict=True):
            assert two == pytest.approx(one, rel=1e-9, abs=1e-12)
            assert three == pytest.approx(one, rel=1e-9, abs=1e-12)


def test_gradients_of_long_sentences_equal_differences():
    """Long enough for counts beyond the room that sweeps begin with."""
    random, loss = np.random.default_rng(6), LOSSES["chunk_fscore"]().swapped
    unary, pairwise = random.normal(size=(30, 5)), random.normal(size=(5, 5))
    z = [TAGS[k] for k in random.integers(0, 5, 30)]
    slopes = fsmeu.gradient(loss, z, from_potentials(unary, pairwise, TAGS))
    towards, ahead = random.normal(size=unary.shape), random.normal(size=pairwise.shape)

    def moved(step):
        model = from_potentials(unary + step * towards, pairwise + step * ahead, TAGS)
        return fsmeu.expect(loss, z, model).value

    expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
    found = (slopes["unary"] * towards).sum() + (slopes["pairwise"] * ahead).sum()
    assert found == pytest.approx(expected, rel=1e-6)
