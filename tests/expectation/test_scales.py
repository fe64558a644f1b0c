"""Values of any size, declared ranges, values that only impossible references lack."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, LossFileError
from tests.expectation.checks import close

ENGINES = ("lattice", "openfst")
PROBS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6)


def binary(body, kind="loss"):
    """A loss over 0 and 1 with these lines."""
    return fsmeu.loads(f"{kind} f labels 0 1 {body}")


def listed(z, probs, value):
    """Mean and variance of a function of the number of positions where z and y are both 1."""
    mean = square = 0.0
    for y in itertools.product((0, 1), repeat=len(z)):
        chance = math.prod(p if b else 1.0 - p for p, b in zip(probs, y, strict=True))
        worth = value(sum(a and b for a, b in zip(z, y, strict=True)))
        mean += chance * worth
        square += chance * worth**2
    return mean, square - mean**2


@settings(max_examples=60, deadline=None)
@given(
    probs=PROBS,
    exponent=st.integers(-200, 140),
    keep=st.integers(1, 8),
    engine=st.sampled_from(ENGINES),
)
def test_the_unit_of_a_value_does_not_matter(probs, exponent, keep, engine):
    """In other units, everything is what it was times the unit; bounds hold the truth."""
    unit = 10.0**exponent
    z = [1, 0, 1, 1, 0, 1][: len(probs)]
    loss = binary(f"count c when z == 1 and y == 1 value c * {unit!r}")
    mean, variance = listed(z, probs, lambda c: c)
    known = fsmeu.expect(loss, z, probs, engine=engine)
    assert known.value == close(mean * unit)
    assert known.variance == pytest.approx(variance * unit * unit, rel=1e-9, abs=1e-12 * unit**2)
    assert np.allclose(known.levels.values / unit, np.round(known.levels.values / unit))
    part = fsmeu.expect(loss, z, probs, engine=engine, keep=keep)
    assert part.lower <= mean * unit <= part.upper


def test_small_values_beside_great_ones_stay_apart():
    loss = binary("count c when y == 1 value if c == 3 then 1e9 else c * 1e-3")
    levels = fsmeu.expect(loss, [1, 1, 1], [0.5] * 3).levels
    assert levels.values.tolist() == [0.0, 1e-3, 2e-3, 1e9]
    assert levels.probabilities.tolist() == [0.125, 0.375, 0.375, 0.125]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("declared", "least", "most"),
    [
        ("0 .. inf", 0.0, 3.0),
        ("-inf .. inf", 0.0, 3.0),
        ("-inf .. 3", 0.0, 3.0),
        ("-1 .. 7", -1, 7),
    ],
)
def test_infinite_sides_of_a_range_are_found(declared, least, most, engine):
    """What the file leaves open is what the machine can do; what it says is taken at its word.

    Bounds are rounded outwards; probabilities that came from logarithms more than others.
    """
    loss = binary(f"count c when z == 1 and y == 1 value c range {declared}")
    truth, _ = listed([1, 0, 1, 1], [0.5] * 4, lambda c: c)
    for keep in (1, 2, 3, 100):
        part = fsmeu.expect(loss, [1, 0, 1, 1], [0.5] * 4, engine=engine, keep=keep)
        lost = 1.0 - part.kept
        assert part.lower == pytest.approx(part.value + lost * least, abs=1e-11)
        assert part.upper == pytest.approx(part.value + lost * most, abs=1e-11)
        assert part.lower <= truth <= part.upper


def test_an_infinite_range_of_a_large_machine_stays_infinite(monkeypatch):
    """Nothing is known of what was left out: the bounds say so, and are no nan."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "500")
    loss = binary(
        "count a when z == 1 count b when y == 1 count c when z == y value a * b * c range 0 .. inf"
    )
    part = fsmeu.expect(loss, [0, 1] * 25, [0.5] * 50, keep=5)
    assert part.lower == pytest.approx(part.value)
    assert part.upper == math.inf


@pytest.mark.parametrize("count", [math.nan, math.inf, 0, -1, 2.5, 2.0, "3", True, [1]])
@pytest.mark.parametrize("name", ["keep", "max_states"])
def test_numbers_of_states_are_whole(name, count):
    with pytest.raises(InputError, match=f"{name} must be a whole number of at least 1"):
        fsmeu.expect(fsmeu.load("hamming"), "10", [0.5, 0.5], **{name: count})


@pytest.mark.parametrize("engine", ENGINES)
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
    assert fsmeu.expect(binary(body), "11", probs, engine=engine).value == close(wanted)
    levels = fsmeu.expect(binary(body), "11", probs, engine=engine).levels
    assert levels.mean == close(wanted)
    with pytest.raises(LossFileError):
        fsmeu.expect(binary(body), "11", [0.5, 0.5], engine=engine).levels  # noqa: B018


@pytest.mark.parametrize("engine", ENGINES)
def test_impossible_references_of_a_chain_are_not_missed(engine):
    """Each label is possible everywhere; two ones in a row are not."""
    model = fsmeu.models.Markov([0.5, 0.5], [[0.5, 0.5], [1.0, 0.0]], n=3)
    loss = binary("memory m of y last 2 count c by 1 / (1 - m[0] * m[1]) when i > 1 value c")
    assert fsmeu.expect(loss, "000", model, engine=engine).value == close(2.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("count c when y == 1 value 5 * c range 0 .. 1", "the declared range is 0 .. 1"),
        ("register c in 0..1 start 0 next c + (y == 1) value c", "c leaves its bounds"),
        ("register c in 0..n start 0 next c + 2 * (y == 1) value c", "c leaves its bounds"),
    ],
)
def test_bounds_hold_also_where_a_register_rides_in_the_weight(body, words, engine):
    for ask in (
        lambda loss: fsmeu.expect(loss, "111", [0.5] * 3, engine=engine).value,
        lambda loss: fsmeu.expect(loss, "111", [0.5] * 3, engine=engine).levels,
        lambda loss: fsmeu.expect_many(loss, ["111"] * 2, [[0.5] * 3] * 2),
    ):
        with pytest.raises(LossFileError, match=words):
            ask(binary(body))


def test_faults_in_constants_name_the_file(tmp_path):
    file = tmp_path / "own.loss"
    file.write_text("loss f(k = 1) labels 0 1\nregister r in 0..1/k start 0 next r\nvalue r")
    with pytest.raises(LossFileError, match=r"own\.loss:2:18: division by zero"):
        fsmeu.load(file, k=0)
