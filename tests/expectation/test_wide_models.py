"""Models with many states, of which few are connected by arcs."""

import itertools

import numpy as np
import pytest

import fsmeu
from tests import brute_force
from tests.expectation.checks import assert_same, close

LABELS = (0, 1, 2, 3)


def chain(rng, order, n):
    """A chain over four labels and the probability of every sequence."""
    initial = rng.dirichlet(np.ones(4**order)).reshape((4,) * order)
    transition = rng.dirichlet(np.ones(4), (4,) * order)
    model = fsmeu.models.Markov(initial, transition, n=n, labels=LABELS)
    return model, brute_force.markov(initial, transition, LABELS, n)


@pytest.mark.parametrize("n", [3, 4])
def test_two_chains_of_order_three(n):
    """Both tapes follow a chain: 4096 pairs of histories, each seen with 16 pairs of labels."""
    rng = np.random.default_rng(n)
    (ours, of_z), (theirs, of_y) = chain(rng, 3, n), chain(rng, 3, n)
    mistakes = {
        (z, y): sum(a != b for a, b in zip(z, y, strict=True))
        for z, y in itertools.product(of_z, of_y)
    }
    pairs = brute_force.joint_of_both({k: v / n for k, v in mistakes.items()}, of_z, of_y)
    assert_same(fsmeu.expect(fsmeu.load("hamming"), ours, theirs), pairs)
    missed = brute_force.joint_of_both({k: float(v > 0) for k, v in mistakes.items()}, of_z, of_y)
    assert_same(fsmeu.expect(fsmeu.load("zero_one"), ours, theirs), missed)


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
