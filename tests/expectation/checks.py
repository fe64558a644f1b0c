"""What an answer of the package must have in common with a list of (value, probability)."""

import pytest

from tests import brute_force


def close(wanted, scale=1.0):
    """Equality to 1e-12, relative to the greatest number that entered the sum."""
    return pytest.approx(wanted, rel=1e-12, abs=1e-12 * max(1.0, scale))


def scale_of(pairs):
    return max([abs(float(v)) for v, _ in pairs], default=0.0)


def assert_same(answer, pairs):
    """Value, mass, levels and variance are those of the list."""
    scale = scale_of(pairs)
    assert answer.value == close(brute_force.mean(pairs), scale)
    assert answer.kept == close(1.0)
    assert_same_levels(answer, pairs)
    assert answer.variance == close(brute_force.variance(pairs), scale**2)


def assert_same_levels(answer, pairs):
    listed = brute_force.levels(pairs)
    scale = scale_of(pairs)
    assert answer.levels.values.tolist() == [close(v, scale) for v, _ in listed]
    assert answer.levels.probabilities.tolist() == [close(p) for _, p in listed]
