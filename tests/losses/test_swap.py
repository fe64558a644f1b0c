"""Losses with their tapes exchanged."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from tests.strategies import losses


@given(losses(), st.integers(0, 2**32 - 1))
def test_the_value_of_a_pair_is_that_of_the_pair_exchanged(case, seed):
    loss = case.load()
    random, size = np.random.default_rng(seed), len(loss.alphabet)
    n = int(random.integers(0, 5))
    z, y = random.integers(0, size, (2, 6, n))
    try:
        expected = loss.pair_values(z, y)
    except fsmeu.FsmeuError:
        return
    assert np.array_equal(loss.swapped.pair_values(y, z), expected)
    assert loss.swapped.swapped.spec.registers == loss.spec.registers


def test_gradients_with_respect_to_a_model_of_the_hypothesis():
    """With y given and a distribution on z: the derivative of a sum over all z."""
    loss, y, p = fsmeu.load("fscore", beta=2), [1, 0, 1], np.array([0.3, 0.6, 0.8])
    found = fsmeu.gradient(loss.swapped, y, p)
    for i in range(3):
        total = 0.0
        for z in itertools.product((0, 1), repeat=3):
            others = np.prod([p[k] if z[k] else 1 - p[k] for k in range(3) if k != i])
            total += (1 if z[i] else -1) * others * loss(z, y)
        assert found[i] == pytest.approx(total, rel=1e-13)


def test_a_loss_in_python():
    class Misses:
        def start(self):
            return 0

        def step(self, state, z, y):
            return state + (z == 0 and y == 1)

        def value(self, state):
            return state

    loss = fsmeu.function_loss(Misses())
    assert loss([0, 1, 0], [1, 1, 0]) == 1
    assert loss.swapped([0, 1, 0], [1, 1, 0]) == 0
    assert loss.swapped([1, 1, 0], [0, 1, 0]) == 1
    assert fsmeu.expect(loss.swapped, [1, 1], [0.25, 0.5]).value == 1.25
