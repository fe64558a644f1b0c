"""Values whose digits matter: many orders of magnitude, differences below 15 digits, rare events.

The truth is a list of all references with exact numbers; every double is a fraction.
"""

import itertools
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError
from tests.expectation.checks import ENGINES, close, engines, exact_pairs

BODIES = (
    "count c when z != y value -(2 ^ (5 * c))",
    "count c when z != y value {unit} * 3 ^ (c * c)",
    "count c when z != y value if c == 2 then {great} else {unit} * (c - 1)",
    "count c by {unit} when z == y count d when y == 1 value c * d - {unit}",
    "count c by if i == 1 then {whole} else z + 2 * y value (c - {whole}) ^ 2",
    "count c by if z == y then {unit} else 3 * {unit} value c * c / {unit}",
    "count c by if i == 1 then 10^6 else 2^-30 * y value (c - 10^6) * 2^30 * (c > 1)",
    "count c by 1000000.5 when z != y value c * c",
)
UNITS = st.integers(-480, 450).map(lambda k: 2.0**k) | st.integers(-60, 60).map(lambda k: 2.0**k)
WHOLES = st.sampled_from([10**6, 10**12, 10**15, 2**52, 2**53 - 20])
PROBS = st.lists(st.integers(0, 64).map(lambda k: k / 64), min_size=1, max_size=5)


def binary(body):
    """A loss over 0 and 1 with these lines."""
    return fsmeu.loads(f"loss f labels 0 1 {body}")


def near(wanted, scale):
    return pytest.approx(float(wanted), rel=1e-12, abs=1e-12 * float(scale))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(BODIES), UNITS, WHOLES, PROBS, st.integers(1, 6))
def test_values_of_any_size_are_those_of_the_list(data, body, unit, whole, probs, keep):
    """Value, levels, variance, quantiles and what ``keep`` bounds, also from a pickle."""
    great = data.draw(st.sampled_from([1e3, -1e18, 1e100]))
    text = "loss f labels 0 1 " + body.format(unit=unit, great=great, whole=whole)
    z = data.draw(st.tuples(*[st.integers(0, 1)] * len(probs)))
    pairs, loss = exact_pairs(text, z, probs), fsmeu.loads(text)
    mean, size = sum(v * p for v, p in pairs), sum(abs(v) * p for v, p in pairs)
    variance = sum((v - mean) ** 2 * p for v, p in pairs)
    for engine in ENGINES:
        known = pickle.loads(pickle.dumps(fsmeu.expect(loss, z, probs, engine=engine)))
        assert known.value == near(mean, size)
        assert known.levels.mean == near(mean, size)
        assert known.variance == near(variance, variance)
        distinct = sorted({v for v, p in pairs if p})
        assert known.levels.values.tolist() == [near(v, 0) for v in distinct]
        chances = [sum(p for v, p in pairs if v == level) for level in distinct]
        assert known.levels.probabilities.tolist() == [near(p, 1) for p in chances]
        for q in (0.0, 0.013, 0.5003, 0.97, 1.0):
            up_to = zip(distinct, itertools.accumulate(chances), strict=True)
            assert known.quantile(q) == near(next(v for v, p in up_to if p >= Fraction(q)), 0)
        part, room = fsmeu.expect(loss, z, probs, engine=engine, keep=keep), size * Fraction(1e-12)
        assert Fraction(part.lower) - room <= mean <= Fraction(part.upper) + room


@engines
def test_great_and_rare_values_leave_small_ones_apart(engine):
    """E[-(2^bad)] = -1.02^60 for 60 positions that are each wrong with probability .02."""
    loss = fsmeu.loads("utility u labels 0 1 count bad when z != y value -(2^bad)")
    p = Fraction(0.02)
    mean, square = -((1 + p) ** 60), (1 + 3 * p) ** 60
    known = fsmeu.expect(loss, [0] * 60, [0.02] * 60, engine=engine)
    assert known.value == near(mean, 0)
    assert known.variance == near(square - mean**2, 0)
    assert known.levels.values.tolist() == [-(2.0**k) for k in range(60, -1, -1)]
    assert fsmeu.compose(loss, [0] * 60, [0.02] * 60).total == near(mean, 0)


@pytest.mark.parametrize(
    ("q", "value"),
    [(1.0, 50), (1.0 - 2.0**-51, 50), (1.0 - 2.0**-49, 49), (2.0**-51, 0), (2.0**-49, 1)],
)
def test_quantiles_see_the_tails(q, value):
    """The greatest value has probability 2^-50: more than 1 - q at the end, less before."""
    known = fsmeu.expect(binary("count c when y == 1 value c"), [0] * 50, [0.5] * 50)
    assert known.quantile(q) == value


def test_whole_numbers_past_2_53_are_told_apart():
    """2^53 + 2 is a double, and so are all that follow by twos."""
    loss = binary("count c by if i == 1 then 2^53 else 2 * z value (c - 2^53)^2")
    assert fsmeu.expect(loss, [1] * 3, [0.5] * 3).value == 16


@engines
def test_what_cancels_is_summed_again(engine):
    """Great terms of a pair add up to 0: with counts as states nothing is lost."""
    text = """utility cancels labels 0 1 count a when y == 1 count b when y == 0
    count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1
    value 10^12 * (a + b - n) + 2 * tp / (hyp + ref + 1)"""
    p, z = [0.1, 0.3, 0.7, 0.2, 0.9, 0.5, 0.35, 0.6], (0, 1, 1, 0, 1, 1, 0, 1)
    mean = sum(v * chance for v, chance in exact_pairs(text, z, p))
    assert fsmeu.expect(fsmeu.loads(text), z, p, engine=engine).value == near(mean, 0)
    assert fsmeu.expect_many(fsmeu.loads(text), [z] * 2, [p] * 2).values[1] == near(mean, 0)


# -- declared ranges, and values that only impossible references lack ------------------------------


@engines
@pytest.mark.parametrize(
    ("declared", "least", "most"),
    [("0 .. inf", 0, 3), ("-inf .. inf", 0, 3), ("-inf .. 3", 0, 3), ("-1 .. 7", -1, 7)],
)
def test_infinite_sides_of_a_range_are_found(declared, least, most, engine):
    """What the file leaves open is what the machine can do; what it says is taken at its word."""
    loss = binary(f"count c when z == 1 and y == 1 value c range {declared}")
    for keep in (1, 2, 3, 100):
        part = fsmeu.expect(loss, [1, 0, 1, 1], [0.5] * 4, engine=engine, keep=keep)
        lost = 1.0 - part.kept
        assert part.lower == pytest.approx(part.value + lost * least, abs=1e-8)
        assert part.upper == pytest.approx(part.value + lost * most, abs=1e-8)


def test_an_infinite_range_of_a_large_machine_stays_infinite(monkeypatch):
    """Nothing is known of what was left out: the bounds say so, and are no nan."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "500")
    counts = "count a when z == 1 count b when y == 1 count c when z == y"
    loss = binary(f"{counts} value a * b * c range 0 .. inf")
    part = fsmeu.expect(loss, [0, 1] * 25, [0.5] * 50, keep=5)
    assert (part.lower, part.upper) == (pytest.approx(part.value), math.inf)


@engines
@pytest.mark.parametrize(
    ("body", "probs", "wanted"),
    [
        ("count c when y == 1 value 1 / (c - 1)", [0.0, 0.0], -1.0),
        ("count c when y == 1 value 1 / (c - 2)", [0.5, 0.0], -0.75),
        ("count c by 1 / (1 - y) value c", [0.0, 0.0], 2.0),
        ("register r in 0..1 start 0 next r + y value r", [0.5, 0.0], 0.5),
        ("state a b arc a -> a when y == 0 arc b -> b value at a", [0.0, 0.0], 1.0),
    ],
)
def test_what_only_impossible_references_lack_is_not_missed(body, probs, wanted, engine):
    found = fsmeu.expect(binary(body), "11", probs, engine=engine)
    assert (found.value, found.levels.mean) == (close(wanted), close(wanted))
    with pytest.raises(LossFileError):
        fsmeu.expect(binary(body), "11", [0.5, 0.5], engine=engine).levels  # noqa: B018
