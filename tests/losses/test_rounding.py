"""Which values are shown as one: those that differ by rounding, and no others."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.fst.distinct import same_up_to_rounding

SOME = st.floats(-1e308, 1e308)
ROUNDING = Fraction(2, 2**52)


def is_exact(value):
    """A multiple of one eighth."""
    return (8 * Fraction(value)).denominator == 1


def steps_up(value, steps):
    for _ in range(steps):
        value = np.nextafter(value, np.inf)
    return float(value)


@given(st.lists(SOME, max_size=8), st.lists(st.integers(0, 30), max_size=8))
def test_groups_span_rounding_and_no_more(values, steps):
    """All values of a group are its first but for rounding, and at most one is exact."""
    near = [steps_up(v, k) for v, k in zip(values, steps, strict=False)]
    ascending = np.unique([*values, *near])
    numbers = same_up_to_rounding(ascending)
    assert len(numbers) == len(ascending)
    assert set(np.diff(numbers, prepend=-1).tolist()) <= {0, 1}
    for number in set(numbers.tolist()):
        group = ascending[numbers == number]
        first, last = Fraction(group[0]), Fraction(group[-1])
        assert last - first <= ROUNDING * abs(first) * (1 + ROUNDING)
        assert sum(is_exact(v) for v in group) <= 1


def test_two_ways_to_compute_a_value_are_one():
    values = np.unique([0.3, 0.1 + 0.2, 1 / 3, 1 - 2 / 3])
    assert same_up_to_rounding(values).tolist() == [0, 0, 1, 1]


def test_a_row_of_near_values_is_not_one():
    """Each is next to the one before it, and the last is not next to the first."""
    row = [1.0 + 1e-10]
    for _ in range(40):
        row.append(steps_up(row[-1], 1))
    assert same_up_to_rounding(np.array(row)).tolist() == [k // 3 for k in range(41)]


@pytest.mark.parametrize("step", [0.125, 0.25, 0.5, 1.5])
def test_sums_of_eighths_stay_apart(step):
    values = 1e15 + step * np.arange(-5, 6)
    assert same_up_to_rounding(values).tolist() == list(range(11))


def test_none_and_one():
    assert same_up_to_rounding(np.zeros(0)).tolist() == []
    assert same_up_to_rounding(np.zeros(1)).tolist() == [0]
