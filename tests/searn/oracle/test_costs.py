"""Costs of labels equal those of listing all completions, for every loss."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import FsmeuError
from fsmeu.expectation.expect import ENGINES
from fsmeu.losses.library import library
from fsmeu.searn import CostOracle
from tests import shelf
from tests.losses.meaning import Undefined
from tests.searn.oracle.enumeration import assert_equal, reachable
from tests.strategies import losses
from tests.support.nightly import every_third

LONGEST = {1: 7, 2: 7, 3: 5, 4: 4, 5: 3, 9: 2}

OPEN = [(name, 3) for name in library() if len(shelf.load(name, 3).labels) == 3]
"""Losses that leave their labels open, once more with three."""


def prefixes(labels, n, rng, most=8):
    """Some prefixes shorter than n, the empty one among them."""
    if not n:
        return []
    drawn = [tuple(rng.choices(labels, k=rng.randrange(n))) for _ in range(most)]
    return list(dict.fromkeys([(), *drawn]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "size"), every_third([*((name, 2) for name in library()), *OPEN]))
def test_shelf(name, size, engine):
    case, loss = shelf.case(name, size), shelf.load(name, size)
    rng = random.Random(f"{name} {size}")
    longest = LONGEST[len(case.labels)]
    for n in (0, 1, longest - 1, longest):
        y = tuple(rng.choices(case.labels, k=n))
        found = reachable(case.world(n), y, loss.kind == "utility")
        oracle = CostOracle(loss, y, engine=engine)
        for prefix in prefixes(case.labels, n, rng):
            assert_equal(oracle, found, prefix, case.labels)
        assert oracle.value(y) == pytest.approx(loss(y, y), rel=1e-12)


@settings(max_examples=70)
@given(case=losses(), seed=st.integers(0, 2**32))
def test_random_losses(case, seed):
    rng = random.Random(seed)
    n = rng.randint(0, LONGEST[len(case.labels)])
    y = tuple(rng.choices(case.labels, k=n))
    loss = case.load()
    found = reachable(case.world(n), y, loss.kind == "utility")
    oracles = [CostOracle(loss, y, engine=engine) for engine in ENGINES]
    for prefix in prefixes(case.labels, n, rng):
        for oracle in oracles:
            assert_equal(oracle, found, prefix, case.labels)


@settings(max_examples=40)
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
        for engine in ENGINES:
            with pytest.raises(FsmeuError):
                CostOracle(loss, y, engine=engine)
        return
    oracles = [CostOracle(loss, y, engine=engine) for engine in ENGINES]
    for prefix in prefixes(case.labels, n, rng, most=4):
        for oracle in oracles:
            assert_equal(oracle, found, prefix, case.labels)


@pytest.mark.parametrize("name", every_third(library()))
def test_values_are_attained_in_long_sequences(name):
    """Labels that cost nothing lead to the value; no other completion that is tried does better."""
    loss, rng = shelf.load(name, 3), random.Random(name)
    sign = 1.0 if loss.kind == "utility" else -1.0
    for n in (20, 9, 40 if name == "chunk_fscore" else 12):
        y = rng.choices(loss.labels, k=n)
        oracle = CostOracle(loss, y)
        prefix = [rng.choice(loss.labels) if rng.random() < 0.4 else a for a in y[: n // 2]]
        value, z = oracle.value(prefix), list(prefix)
        while len(z) < n:
            z.append(rng.choice(oracle.best_all(z)))
        assert loss(z, y) == pytest.approx(value, rel=1e-12, abs=1e-15)
        for _ in range(5):
            other = prefix + [rng.choice((a, rng.choice(loss.labels))) for a in y[len(prefix) :]]
            assert sign * loss(other, y) <= sign * value + 1e-12
