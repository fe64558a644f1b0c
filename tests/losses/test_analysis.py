"""What is derived from a file holds for the file: tapes, amounts, linear registers."""

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.language.dependencies import (
    increment,
    is_affine,
    linear_registers,
    names_read,
    reads_clock,
    tapes,
)
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Binary, Name
from fsmeu.losses.library import read_spec
from tests import shelf
from tests.strategies import losses

SHELF = [shelf.case(name) for name in fsmeu.library()]
CASES = st.one_of(losses(), st.sampled_from(SHELF))


def test_only_the_reference_count_is_a_state_of_fscore():
    spec = read_spec("fscore")
    assert {k: set(v) for k, v in tapes(spec).items()} == {
        "tp": {"z", "y"},
        "hyp": {"z"},
        "ref": {"y"},
    }
    assert linear_registers(spec) == fsmeu.load("fscore").linear(True) == ("tp",)
    assert not reads_clock(spec)


def step_pairs(case, seed, n=3):
    """A random walk through one file: states before each step, with what was read."""
    rng, world = random.Random(seed), case.world(n)
    state = world.start()
    for i in range(1, n + 1):
        z, y = rng.choice(case.labels), rng.choice(case.labels)
        yield world, i, z, y, state
        state = world.step(state, z, y, i)


@settings(max_examples=100, deadline=None)
@given(CASES, st.integers(0, 2**32))
def test_registers_depend_on_their_tapes_alone(case, seed):
    """Changing the labels of a tape that a register does not reach leaves its course as it is."""
    spec, rng, n = read(case.text), random.Random(seed), 4
    reach, world = tapes(spec), case.world(n)
    z, y, other = ([rng.choice(case.labels) for _ in range(n)] for _ in range(3))
    course = walk(world, z, y)
    for tape, changed in (("z", walk(world, other, y)), ("y", walk(world, z, other))):
        for register in spec.registers:
            if tape not in reach[register.name]:
                name = register.name
                assert [s[name] for s in course] == [s[name] for s in changed]


def walk(world, z, y):
    states = [world.start()]
    for i, (a, b) in enumerate(zip(z, y, strict=True), start=1):
        states.append(world.step(states[-1], a, b, i))
    return states


@settings(max_examples=100, deadline=None)
@given(CASES, st.integers(0, 2**32))
def test_amounts_are_what_is_added(case, seed):
    spec = read(case.text)
    for world, i, z, y, state in step_pairs(case, seed):
        names = {**world.fixed(), **state, "z": world.label(z), "y": world.label(y)}
        names["i"] = Fraction(i)
        for register in spec.registers:
            amount = increment(register)
            before = names[register.name]
            names[register.name] = world.look(register.update, names, state)
            if amount is not None:
                assert register.name not in names_read(amount)
                visible = {k: v for k, v in names.items() if k != register.name}
                assert names[register.name] == before + world.look(amount, visible, state)


@settings(max_examples=150, deadline=None)
@given(CASES, st.integers(0, 2**32))
def test_value_is_affine_in_linear_registers(case, seed):
    """Any two of them may be moved anywhere: equal moves change the value by equal amounts."""
    spec, rng, n = read(case.text), random.Random(seed), 4
    linear = linear_registers(spec)
    for register in spec.registers:
        assert not names_read(register.update) - {register.name} & set(linear)
    world = case.world(n)
    z, y = ([rng.choice(case.labels) for _ in range(n)] for _ in range(2))
    end = walk(world, z, y)[-1]
    for one, two in itertools.product(linear, repeat=2):
        moves = [{one: a, two: b} for a, b in ((0, 0), (1, 0), (0, 1), (1, 1), (-3, 7))]
        base, first, second, both, far = (
            world.value({**end, **{k: end[k] + d for k, d in move.items()}}) for move in moves
        )
        if one == two:
            assert float(second - base) * 7 == pytest.approx(float(far - base), abs=1e-9)
            continue
        by_one, by_two = float(first - base), float(second - base)
        assert float(both - base) == pytest.approx(by_one + by_two, abs=1e-9)
        assert float(far - base) == pytest.approx(-3 * by_one + 7 * by_two, abs=1e-9)


@pytest.mark.parametrize(
    ("value", "linear"),
    [
        ("a + b", ("a", "b")),
        ("3 * a - b / n or 0 when n == 0", ("a", "b")),
        ("a / b or 1 when b == 0", ("a",)),
        ("a * b", ("a",)),
        ("a * c + b", ("a", "b")),
        ("a * a", ()),
        ("a ^ 2", ()),
        ("(a > 1)", ()),
        ("min(a, 1) + b", ("b",)),
        ("if a > 1 then b else c", ("b",)),
        ("if c > 1 then a else b", ("a", "b")),
        ("-(a + 1) * (2 + c)", ("a",)),
        ("abs(a) + 1 / (1 + b)", ()),
        ("a % 2 + b", ("b",)),
        ("0 * a + b", ("a", "b")),
    ],
)
def test_linear_registers_of_a_value(value, linear):
    counts = "count a when z == 1 and y == 1 count b when y == 1"
    spec = read(f"loss f {counts} age c since z == y up to 3 value {value}")
    used = names_read(spec.value)
    assert tuple(name for name in linear_registers(spec) if name in used) == linear


def test_clock():
    assert reads_clock(read("loss f count a when i > 2 value a"))
    assert not reads_clock(read("loss f count a when n > 2 value a"))


@pytest.mark.parametrize(
    "reader", ["count d when a > 1", "flag d when old a == 0", "age d since a == 1 up to 2"]
)
def test_registers_that_others_read_stay_states(reader):
    spec = read(f"loss f count a when z == y {reader} value a + d")
    assert "a" not in linear_registers(spec)


@pytest.mark.parametrize(
    ("register", "amount"),
    [
        ("count r when z == 1", True),
        ("count r by -2.5 when z == 1", True),
        ("count r by 1 + 2 - 1 when z == 1", True),
        ("register r in 0..n start 0 next r + 1", True),
        ("register r in 0..n start 0 next if z == 1 then r else r + (z == y)", True),
        ("register r in -1..n + 2 start 2 next r + (not z == y)", True),
        ("register r in 0..n start 0 next r + 2", False),
        ("register r in 0..n start 0 next r - 1", False),
        ("register r in 0..n start 1 next r + 1", False),
        ("register r in 1..n start 0 next r + 1", False),
        ("register r in 0..9 start 0 next r + 1", False),
        ("register r in 0..9 start 0 next if z == 1 then r else r + 1", False),
        ("register r in 0..9 start 0 next min(r + 1, 9)", False),
        ("register r in 0..9 start 0 next 2 * r", False),
        ("register r in 0..9 start 0 next r + r", False),
        ("register r in 0..9 start 0 next r + (r < 3)", False),
        ("register r in 0..9 start 0 next 5 - r", False),
        ("register r in 0..9 start 0 next old r + 1", False),
        ("register r in 0..9 start 0 next if r > 3 then r else r + 1", False),
        ("age r since z == 1 up to 3", False),
        ("flag r when z == 1", False),
    ],
)
def test_accumulators(register, amount):
    spec = read(f"loss f {register} value r")
    assert (increment(spec.registers[0]) is not None) == amount


def test_affine_needs_names():
    names = frozenset({"a", "b"})
    assert is_affine(Binary("*", Name("c"), Name("d")), names)
    assert not is_affine(Binary("*", Name("a"), Name("b")), names)
