"""Distributions of a count, held two ways: laws that both keep, and numpy's polynomials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.trellis.counts import Coefficients, Roots

KINDS = [Roots, Coefficients]


def rows_of(kind, size, distributions):
    """The rows of some distributions, made of sums of certain counts."""
    counts = kind(size)
    parts = [counts.plus(counts.one()[None], c) for c in range(size)]
    return counts, np.array(distributions) @ np.concatenate(parts)


def probabilities(counts, rows):
    """The probabilities, by both ways to ask for them."""
    found = rows @ counts.expectation(np.eye(counts.size))
    assert counts.probabilities(rows) == pytest.approx(found, abs=1e-14)
    return found


distributions = st.integers(1, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.floats(0, 1), min_size=size, max_size=size), min_size=1, max_size=4
    )
)


@pytest.mark.parametrize("kind", KINDS)
@given(distributions)
def test_probabilities_come_back(kind, given_rows):
    counts, rows = rows_of(kind, len(given_rows[0]), given_rows)
    assert probabilities(counts, rows) == pytest.approx(np.array(given_rows), abs=1e-14)
    assert counts.total(rows) == pytest.approx(np.sum(given_rows, axis=1), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@given(distributions, distributions)
def test_sums_of_independent_counts_are_products_of_polynomials(kind, left, right):
    size = len(left[0]) + len(right[0]) - 1
    pairs = list(zip(left, right, strict=False))
    padded = [
        [row + [0.0] * (size - len(row)) for row in side] for side in zip(*pairs, strict=True)
    ]
    counts, one = rows_of(kind, size, padded[0])
    two = rows_of(kind, size, padded[1])[1]
    expected = [np.polymul(a[::-1], b[::-1])[::-1] for a, b in pairs]
    found = probabilities(counts, counts.times(one, two))
    for row, polynomial in zip(found, expected, strict=True):
        whole = np.zeros(size)
        whole[: len(polynomial)] = polynomial
        assert row == pytest.approx(whole, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@given(distributions, st.integers(0, 3))
def test_a_greater_count_is_moved(kind, given_rows, amount):
    size = len(given_rows[0]) + amount
    padded = [row + [0.0] * amount for row in given_rows]
    counts, rows = rows_of(kind, size, padded)
    moved = probabilities(counts, counts.plus(rows, amount))
    assert moved[:, :amount] == pytest.approx(np.zeros((len(rows), amount)), abs=1e-14)
    assert moved[:, amount:] == pytest.approx(np.array(given_rows), abs=1e-14)


def test_coefficients_keep_small_probabilities():
    """Why there are two: at roots of unity what is small beside 1 is lost."""
    counts, rows = rows_of(Coefficients, 3, [[1.0, 1e-40, 0.0]])
    squared = probabilities(counts, counts.times(rows, rows))
    assert squared == pytest.approx(np.array([[1.0, 2e-40, 1e-80]]), rel=1e-15)
