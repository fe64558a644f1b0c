"""What rounding does to values: bounds against the same file in fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.language.read import read
from fsmeu.trellis.value_roundings import machine_errors, register_errors
from tests.losses.meaning import World

COUNTS = """utility f labels 0 1
count a by 1/3 when z == y
count b by 7/10 when z == 1
count g by 10^9/7 when z == 1
count c when y == 1
value """
EXACT = ["c", "c * c - 3", "c / 4", "2^c", "(c - 7) % 3", "10^16 * c", "(1/2)^c", "floor(c / 2)"]
ROUNDED = [
    "a",
    "a + b - c / 3",
    "g - c * 10^9/7 + a",
    "(g + a) - g",
    "(a - b) * (g - 1)",
    "c / 7 * 7 - c",
    "a / (b + 1)",
    "1 / (1 + g - 10^9/7 * c + 10)",
    "(a - b)^3",
    "(a + 1)^2",
    "-abs(a - b) + max(a, b, c / 3)",
    "if a > b then 10 * a else b - 1",
    "if a + b >= c / 3 + 7/10 then 1 else 0",
    "floor(3 * a)",
    "a % 1",
    "min(a, 1/3) * 10^6",
]


def truth_and_error(text, z, y):
    """A value in doubles, the same in fractions, and the bound that the machine of the loss has."""
    loss, n = fsmeu.loads(text), len(z)
    machine = loss.compile(n)
    state = 0
    for a, b in zip(z, y, strict=True):
        state = machine.next[state, a, b]
    value, error = float(machine.values[state]), float(machine_errors(machine)[state])
    return value, World(read(text), (0, 1), n).run(z, y), error


@pytest.mark.thirds
@pytest.mark.parametrize("value", [*EXACT, *ROUNDED])
def test_values_are_within_bounds_of_the_truth(value):
    lost = 0
    for z, y in product(product((0, 1), repeat=3), repeat=2):
        found, wanted, error = truth_and_error(COUNTS + value, z, y)
        assert abs(Fraction(found) - wanted) <= Fraction(error)
        lost = max(lost, error)
    assert (lost == 0.0) == (value in EXACT)
    assert lost < 1e3


@pytest.mark.parametrize(("value", "function"), [("sqrt(a + 1)", math.sqrt), ("exp(a)", math.exp)])
def test_functions_are_within_bounds(value, function):
    for z, y in product(product((0, 1), repeat=3), repeat=2):
        found, _, error = truth_and_error(COUNTS + value, z, y)
        agree = sum(a == b for a, b in zip(z, y, strict=True))
        inside = Fraction(agree, 3) + (1 if "sqrt" in value else 0)
        assert abs(found - function(inside)) <= error + 2.0**-52 * found
        assert error < 1e-14 * found


def test_what_turns_on_rounding_spans_both_branches():
    text = COUNTS + "if 10 * b == 7 * c then 5 else 1"
    pairs = product(product((0, 1), repeat=3), repeat=2)
    found = {truth_and_error(text, z, y) for z, y in pairs}
    assert {round(error, 9) for _, _, error in found} == {0.0, 4.0}
    assert all(abs(Fraction(value) - truth) <= Fraction(error) for value, truth, error in found)


def test_registers_that_are_exact_have_no_error():
    machine = fsmeu.loads(COUNTS + "a + b + g + c").compile(4)
    found = register_errors(machine)
    assert found.keys() == {"a", "b", "g"}
    assert found["a"].max() < 1e-15 < found["g"].max() < 1e-5
    assert all(lost[0] == 0.0 for lost in found.values())  # nothing has been counted there
    halves = fsmeu.loads("loss f labels 0 1 count a by i / 2 when z == y value a").compile(4)
    assert register_errors(halves) == {}
    assert not np.any(machine_errors(halves))
