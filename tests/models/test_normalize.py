"""Pushing weights: any layers become conditional probabilities of the same sequences."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import EmptyError
from fsmeu.models import Acceptor, backward, forward, log_total, normalize, total
from tests import brute_force
from tests.label_models import random_layers


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 3), n=st.integers(0, 4))
def test_same_sequences_total_one_every_step_conditional(seed, size, n):
    layered = random_layers(np.random.default_rng(seed), range(size), n)
    pushed = normalize(layered)
    before, after = brute_force.path_distribution(layered), brute_force.path_distribution(pushed)
    whole = math.fsum(before.values())
    np.testing.assert_allclose(total(layered), whole, rtol=1e-13)
    np.testing.assert_allclose(log_total(layered), math.log(whole), rtol=1e-13, atol=1e-14)
    for y, w in before.items():
        np.testing.assert_allclose(after[y], w / whole, rtol=1e-12, atol=1e-16)
    for mass, rest in zip(forward(pushed), backward(pushed), strict=True):
        np.testing.assert_allclose(rest[mass > 0], 1.0, rtol=1e-12)
        np.testing.assert_allclose(mass.sum(), 1.0, rtol=1e-12)


def test_any_scale():
    """Weights of 1e+-150 per arc over 300 positions, far beyond what a double can hold."""
    random = np.random.default_rng(2)
    layered = random_layers(random, (0, 1), 300)
    scale = 10.0 ** random.integers(-150, 151, 300)
    scaled = dataclasses.replace(
        layered,
        layers=tuple(
            dataclasses.replace(layer, weight=layer.weight * factor)
            for layer, factor in zip(layered.layers, scale, strict=True)
        ),
    )
    assert abs(total(normalize(scaled)) - 1) < 1e-12
    for layer, other in zip(normalize(layered).layers, normalize(scaled).layers, strict=True):
        np.testing.assert_allclose(layer.weight, other.weight, rtol=1e-11, atol=1e-300)
    expected = log_total(layered) + np.log(scale).sum()
    np.testing.assert_allclose(log_total(scaled), expected, rtol=1e-12)


def test_acceptor_keeps_the_total():
    layered = random_layers(np.random.default_rng(3), (0, 1), 3)
    listed = brute_force.path_distribution(layered)
    model = Acceptor(layered)
    assert model.total == pytest.approx(math.fsum(listed.values()), rel=1e-13)
    raw = Acceptor(layered, normalize=False)
    for y, w in listed.items():
        assert raw.probability(y) == pytest.approx(w, rel=1e-13, abs=1e-300)
        assert model.probability(y) == pytest.approx(w / model.total, rel=1e-12, abs=1e-300)
    np.testing.assert_allclose(raw.marginals(), model.marginals(), rtol=1e-12, atol=1e-15)
    assert raw.sample(20, seed=5) == model.sample(20, seed=5)


def test_nothing_possible():
    layered = random_layers(np.random.default_rng(4), (0, 1), 2)
    dead = dataclasses.replace(layered, final=np.zeros_like(layered.final))
    with pytest.raises(EmptyError, match="positive weight"):
        normalize(dead)
    with pytest.raises(EmptyError, match="Acceptor fst"):
        Acceptor(dead)
    assert log_total(dead) == -math.inf
