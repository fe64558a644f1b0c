"""Growth: what is measured, and how it is named."""

import math

import pytest

import fsmeu
from fsmeu.checking.growth import growth, order_of
from tests.support.python_losses import Keeper


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        *(
            ([sum((j + 3) * n**j for j in range(degree + 1)) for n in range(1, 15)], name)
            for degree, name in enumerate(("constant", "n", "n^2", "n^3", "n^4"))
        ),
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


def f1_values(n):
    """How many values F1 has: 2 tp / (hyp + ref), with tp <= hyp, ref and hyp + ref - tp <= n."""
    pairs = [(tp, s) for s in range(1, 2 * n + 1) for tp in range(n + 1) if s - tp <= n]
    return len({(2 * tp / s) for tp, s in pairs if 2 * tp <= s} | {1.0})


KEEPER = fsmeu.function_loss(Keeper())


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("loss", "longest", "name", "count", "order"),
    [
        (fsmeu.load("fscore"), 12, "states", lambda n: math.comb(n + 3, 3), "n^3"),
        (fsmeu.load("fscore"), 12, "merged", None, "about n^2"),
        (fsmeu.load("fscore"), 9, "values", f1_values, None),
        *((fsmeu.load("hamming"), 12, x, lambda n: n + 1, "n") for x in ("states", "merged")),
        (fsmeu.load("hamming"), 12, "values", lambda n: n + 1, "n"),
        (fsmeu.load("hamming"), 12, "summed", lambda n: 2, None),
        (fsmeu.load("zero_one"), 12, "states", None, "constant"),
        (KEEPER, 6, "states", lambda n: 2 ** (n + 1) - 1, "about 2^n"),
        (KEEPER, 9, "values", None, "n"),
    ],
)
def test_sizes_are_counted_and_their_growth_is_named(loss, longest, name, count, order):
    """F1 has states (tp, hyp, ref) with hyp + ref - tp <= n; a keeper has whole sequences."""
    found = growth(loss, longest=longest)
    if count is not None:
        sizes = [getattr(size, name) for size in found.sizes]
        assert sizes == [count(n) for n in range(1, longest + 1)]
    assert order is None or str(getattr(found, name)) == order


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
