"""Sizes of composed F-score machines: Jansche 2007, footnote 3."""

import itertools

import pytest

import fsmeu
from tests import brute_force

FSCORE = fsmeu.load("fscore")


def stated(n):
    """floor(n^3/12 + 5n^2/8 + 17n/12 + 1), in whole numbers."""
    return (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24


def states(z):
    return fsmeu.compose(FSCORE, z, [0.5] * len(z)).states


def alternating(n):
    return [1 - i % 2 for i in range(n)]


def reached(z):
    """Distinct (position, tp, ref) over all references: what the composition must hold."""
    found = set()
    for y in brute_force.sequences((0, 1), len(z)):
        for i in range(len(z) + 1):
            both = sum(a * b for a, b in zip(z[:i], y[:i], strict=True))
            found.add((i, both, sum(y[:i])))
    return len(found)


def test_alternating_hypothesis_has_the_stated_size():
    for n in range(1, 26):
        assert states(alternating(n)) == stated(n)


@pytest.mark.parametrize("n", [1, 2, 4, 5, pytest.param(8, marks=pytest.mark.nightly)])
def test_alternating_hypothesis_is_the_worst(n):
    sizes = {z: states(z) for z in itertools.product((0, 1), repeat=n)}
    assert max(sizes.values()) == sizes[tuple(alternating(n))] == stated(n)
    assert all(size == reached(z) for z, size in sizes.items())
