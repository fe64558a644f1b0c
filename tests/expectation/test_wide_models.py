"""Models with many states, of which few are connected by arcs."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from tests import brute_force
from tests.expectation.checks import assert_same, close
from tests.label_models import plain_model
from tests.strategies import listed


@pytest.mark.parametrize("n", [3, 4])
def test_two_chains_of_order_three(n):
    """Both tapes follow a chain: 4096 pairs of histories, each seen with 16 pairs of labels."""
    rng = np.random.default_rng(n)
    z, y = (listed(plain_model(rng, "markov", (0, 1, 2, 3), n, order=3)) for _ in range(2))
    for name in ("hamming", "zero_one"):
        value = getattr(brute_force, name)
        values = {both: value(*both) for both in product(z.distribution, y.distribution)}
        pairs = brute_force.joint_of_both(values, z.distribution, y.distribution)
        assert_same(fsmeu.expect(fsmeu.load(name), z.model, y.model), pairs)


def test_many_sequences_of_many_labels():
    """Two thousand sequences over 45 tags; the mean number of mistakes is that of the list."""
    rng = np.random.default_rng(3)
    tags = [f"T{k}" for k in range(45)]
    rows = rng.integers(0, 45, (2000, 12))
    weights = rng.dirichlet(np.ones(2000))
    model = fsmeu.models.NBest([[tags[k] for k in row] for row in rows], weights, labels=tags)
    wanted = weights @ (rows != rows[0]).mean(axis=1)
    z = [tags[k] for k in rows[0]]
    assert fsmeu.expect(fsmeu.load("hamming"), z, model).value == close(wanted)
    assert fsmeu.expect(fsmeu.load("zero_one"), z, model).value == close(
        weights @ (rows != rows[0]).any(axis=1)
    )
