"""The size of a machine is foreseen before it is built, where it grows as a polynomial does."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.losses.explore import foresee


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 50))
def test_polynomials_are_foreseen(coefficients, more):
    terms = [sum(c * x**k for k, c in enumerate(coefficients)) for x in range(16 + more)]
    assert foresee(terms[:16], more) == sum(terms[16:])


@pytest.mark.parametrize("base", [2, 3])
def test_other_growth_is_not_foreseen(base):
    assert foresee([base**k for k in range(30)], 10) == 0
    assert foresee([k % base for k in range(30)], 10) == 0


@pytest.mark.parametrize("n", [400, 1000, 100_000])
def test_large_machines_are_refused_with_their_size(n):
    """(tp, hyp, ref) with tp at most hyp and ref, all within n positions: (n + 3 over 3) states."""
    with pytest.raises(SizeLimitError, match=f"{math.comb(n + 3, 3):,}"):
        fsmeu.load("fscore").compile(n)


def test_a_machine_that_stops_growing_is_built():
    """Two ages up to 40: new states up to depth 40, none after it."""
    ages = "age a since z == 1 up to 40 age b since y == 1 up to 40"
    loss = fsmeu.loads(f"loss f labels 0 1 {ages} value a + b")
    assert loss.compile(10_000, max_states=41 * 41).states == 41 * 41
