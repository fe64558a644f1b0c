"""Growth: what is measured, and how it is named."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.checking.growth import growth, order_of
from tests.support.python_losses import Keeper


@given(
    degree=st.integers(0, 4),
    coefficients=st.lists(st.integers(0, 9), min_size=5, max_size=5),
    n=st.integers(14, 30),
)
def test_polynomials_are_recognised(degree, coefficients, n):
    """Whole coefficients, the leading one positive: differences vanish after the degree."""
    leading = [*coefficients[:degree], coefficients[degree] + 1]
    counts = [sum(c * k**j for j, c in enumerate(leading)) for k in range(1, n + 1)]
    order = order_of(counts)
    assert str(order) == ["constant", "n", "n^2", "n^3", "n^4"][degree]
    assert not order.about


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ([n * n // 4 for n in range(1, 25)], "n^2"),  # two polynomials, for odd and even n
        ([5 * max(0, n - 4) + 1 for n in range(1, 25)], "n"),  # a beginning that is special
        *(
            ([math.ceil(7 * base**n) for n in range(1, 15)], f"about {base:g}^n")
            for base in (2, 3, 1.5)
        ),
        *(
            ([round(20 * n**power) for n in range(1, 25)], f"about {name}")
            for power, name in ((1.1, "n"), (1.9, "n^2"), (3.2, "n^3"))
        ),
        ([1, 2, 3], "None"),  # too few
    ],
)
def test_orders_of_other_numbers(counts, name):
    order = order_of(counts)
    assert str(order) == name
    assert order is None or order.about == name.startswith("about")


def test_confusion_tables_are_counted():
    """F-score: (tp, hyp, ref) with hyp + ref - tp <= n, that is C(n + 3, 3) states."""
    found = growth(fsmeu.load("fscore"), longest=12)
    assert [size.states for size in found.sizes] == [math.comb(n + 3, 3) for n in range(1, 13)]
    assert str(found.states) == "n^3"
    assert str(found.merged) == "about n^2"


def test_level_sets_are_counted():
    """Values of F1 at length n: 2 tp / (hyp + ref), with tp <= hyp, ref and hyp + ref - tp <= n."""
    found = growth(fsmeu.load("fscore"), longest=9)
    for size in found.sizes:
        n = size.n
        pairs = [(tp, s) for s in range(1, 2 * n + 1) for tp in range(n + 1) if s - tp <= n]
        values = {(2 * tp / s) for tp, s in pairs if 2 * tp <= s} | {1.0}
        assert size.values == len(values)


def test_hamming_grows_with_n():
    found = growth(fsmeu.load("hamming"))
    assert [(size.states, size.merged, size.summed, size.values) for size in found.sizes] == [
        (n + 1, n + 1, 2, n + 1) for n in range(1, found.longest + 1)
    ]
    assert str(found.states) == str(found.merged) == str(found.values) == "n"


def test_zero_one_does_not_grow():
    assert str(growth(fsmeu.load("zero_one")).states) == "constant"


def test_all_that_was_read_doubles():
    """A Python loss that keeps whole sequences."""
    found = growth(fsmeu.function_loss(Keeper()), longest=9)
    assert [size.states for size in found.sizes[:6]] == [2 ** (n + 1) - 1 for n in range(1, 7)]
    assert str(found.states) == "about 2^n"
    assert str(found.values) == "n"


def test_large_machines_are_not_built():
    found = growth(fsmeu.load("fscore"), most_arcs=400)
    assert max(size.states for size in found.sizes) <= 100
    assert found.longest < 10


def test_a_fault_ends_the_measurement():
    """Division by zero at n = 4 is told; what was measured before it stays."""
    found = growth(fsmeu.loads("loss f labels 0 1 count bad when z != y value bad / (4 - n)"))
    assert found.longest == 3
    assert "division by zero" in found.fault
    assert found.states is None


def test_merged_states_never_grow_faster_than_states():
    """Ages up to 10 are still filling up at n = 9; no fit may say that merging makes it worse."""
    order = ["constant", "n", "n^2", "n^3", "n^4"]
    for longest in (9, 16):
        found = growth(fsmeu.load("run_length"), longest)
        ranks = [order.index(x.text) for x in (found.values, found.merged, found.states)]
        assert ranks == sorted(ranks)
    assert (str(found.states), str(found.merged), str(found.values)) == ("n", "n", "n")
