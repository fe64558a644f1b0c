"""Great amounts that cancel do not swallow small ones, or the oracle says how much they may."""

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.expectation.expect import ENGINES
from fsmeu.losses.language.read import read
from fsmeu.searn import CostOracle, CostOracles
from tests import shelf
from tests.losses.meaning import World
from tests.searn.stubs import reachable

SUMS = """{kind} f labels 0 1
count a by {great} when z == 1
count b by {great} when z == 0
count e by {small} when z != y
value {value}"""

LENT = """{kind} f labels 0 1
memory m of z last 1
count a by {great} when z == 1
count b by {great} when i > 1 and old m[0] == 1
count c by {great} when i == n and z == 1
count e by {small} when z != y and y == 1
count f by {small} when z == 1 and m[0] != z
value {value}"""

VALUES = {
    SUMS: ("a + b - {great} * n + e", "e + a + b - {great} * n", "b + e - {great} * n + a"),
    LENT: ("a - b - c + e + f", "e + a - c + f - b"),
}


def oracles(loss, y):
    """An oracle of one reference, and one of many with a table of labels that may follow."""
    return [CostOracle(loss, y), CostOracles(loss, [[0], y], meanings=[[0, 1]] * 3).oracle(1)]


@st.composite
def cases(draw, great, small):
    text = draw(st.sampled_from(list(VALUES)))
    words = {
        "kind": draw(st.sampled_from(["loss", "utility"])),
        "great": draw(st.sampled_from(great)),
        "small": draw(st.sampled_from(small)),
    }
    value = draw(st.sampled_from(VALUES[text]))
    text = text.format(**words, value=value.format(**words))
    return text, draw(st.lists(st.integers(0, 1), min_size=1, max_size=6)), draw(st.integers(0, 99))


def answers(case):
    """Oracles of a case, after some prefixes: the true costs, the oracle's, and both values."""
    (text, y, seed) = case
    rng = random.Random(seed)
    loss = fsmeu.loads(text)
    found = reachable(World(read(text), (0, 1), len(y)), tuple(y), loss.kind == "utility")
    drawn = [tuple(rng.choices((0, 1), k=rng.randrange(len(y)))) for _ in range(8)]
    for oracle in oracles(loss, y):
        for prefix in {(), *drawn}:
            truth = [abs(found[prefix] - found[(*prefix, a)]) for a in (0, 1)]
            values = (oracle.value(prefix), float(found[prefix]))
            yield oracle, truth, oracle.costs(prefix).tolist(), values


def test_labels_that_differ_by_one_beside_ten_to_the_sixteenth():
    text = SUMS.format(kind="loss", great="10^16", small="1", value=VALUES[SUMS][0])
    loss = fsmeu.loads(text.format(great="10^16"))
    for oracle in [*oracles(loss, [1, 0, 1]), CostOracle(loss, [1, 0, 1], engine="openfst")]:
        assert oracle.costs([]).tolist() == [1.0, 0.0]
        assert oracle.costs([0]).tolist() == [0.0, 1.0]
        assert oracle.value([0]) == 1.0
        assert 0.0 <= oracle.rounding < 1e-12


@settings(max_examples=40)
@given(case=cases(["1", "10^8", "10^16", "2^70", "3 * 10^17"], ["1", "3", "1/8", "2^20"]))
def test_whole_amounts_are_exact(case):
    """Additive losses of every core: costs are those of fractions, bit for bit."""
    for _, truth, costs, (value, want) in answers(case):
        assert costs == truth
        assert abs(value - want) <= 1e-12 * abs(want)


@settings(max_examples=40)
@given(case=cases(["1/3", "10^9/7", "10^16/3", "10^200/3"], ["1", "1/3", "1/10"]))
def test_rounding_bounds_what_is_lost(case):
    """Amounts that doubles do not hold: costs are right up to what the oracle says."""
    for oracle, truth, costs, _ in answers(case):
        bound = Fraction(oracle.rounding)
        for cost, answer in zip(truth, costs, strict=True):
            if answer == 0.0:
                assert cost <= 2 * bound
            else:
                assert answer > oracle.rounding
                assert abs(Fraction(answer) - cost) <= bound + cost / 2**52


@pytest.mark.parametrize("name", ["fscore", "zero_one", "hamming"])
@pytest.mark.parametrize("engine", ENGINES)
def test_ordinary_values_are_hardly_rounded(name, engine):
    loss = shelf.load(name)
    oracle = CostOracle(loss, [*loss.labels] * 2, engine=engine)
    assert 0.0 <= oracle.rounding < 1e-15


def test_nothing_gained_is_worth_nothing():
    """What the best sequence gains is lost again, to the last digit."""
    rng = random.Random(1)
    for _ in range(30):
        gains = [[0.0] * 3, *([-round(rng.random(), 2) for _ in range(3)] for _ in range(2))]
        y = rng.choices("abc", k=rng.randint(1, 9))
        loss = fsmeu.load("cost_matrix", labels="abc", cost=gains)
        assert CostOracle(loss, y).value("a" * len(y)) == 0.0
