"""Costs of labels equal those of listing all completions, for every loss."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import FsmeuError
from fsmeu.losses.library import library
from fsmeu.searn import CostOracle
from tests import shelf
from tests.losses.meaning import Undefined
from tests.searn.oracle.enumeration import assert_equal, reachable
from tests.strategies import losses

LONGEST = {1: 7, 2: 7, 3: 5, 4: 4, 5: 3}


def prefixes(labels, n, rng, most=12):
    """Some prefixes shorter than n, the empty one among them."""
    if not n:
        return []
    drawn = [tuple(rng.choices(labels, k=rng.randrange(n))) for _ in range(most)]
    return list(dict.fromkeys([(), *drawn]))


@pytest.mark.parametrize("name", library())
@pytest.mark.parametrize("size", [2, 3])
def test_shelf(name, size):
    case, loss = shelf.case(name, size), shelf.load(name, size)
    rng = random.Random(f"{name} {size}")
    for n in range(LONGEST[len(case.labels)] + 1):
        y = tuple(rng.choices(case.labels, k=n))
        found = reachable(case.world(n), y, loss.kind == "utility")
        oracle = CostOracle(loss, y)
        for prefix in prefixes(case.labels, n, rng):
            assert_equal(oracle, found, prefix, case.labels)
        assert oracle.value(y) == pytest.approx(loss(y, y), rel=1e-12)


@settings(max_examples=150)
@given(case=losses(), seed=st.integers(0, 2**32))
def test_random_losses(case, seed):
    rng = random.Random(seed)
    n = rng.randint(0, LONGEST[len(case.labels)])
    y = tuple(rng.choices(case.labels, k=n))
    loss = case.load()
    found = reachable(case.world(n), y, loss.kind == "utility")
    oracle = CostOracle(loss, y)
    for prefix in prefixes(case.labels, n, rng):
        assert_equal(oracle, found, prefix, case.labels)


@settings(max_examples=60)
@given(case=losses(risky=True), seed=st.integers(0, 2**32))
def test_undefined_completions_are_refused(case, seed):
    """What a completion does not define is an error, as in ``evaluate``; else all is well."""
    rng = random.Random(seed)
    n = rng.randint(0, LONGEST[len(case.labels)] - 1)
    y = tuple(rng.choices(case.labels, k=n))
    try:
        loss = case.load()
    except FsmeuError:
        return
    try:
        found = reachable(case.world(n), y, loss.kind == "utility")
    except Undefined:
        with pytest.raises(FsmeuError):
            CostOracle(loss, y)
        return
    oracle = CostOracle(loss, y)
    for prefix in prefixes(case.labels, n, rng, most=4):
        assert_equal(oracle, found, prefix, case.labels)
