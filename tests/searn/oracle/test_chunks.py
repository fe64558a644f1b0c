"""The oracle of chunk F1 is the policy that the paper writes by hand, also at full size."""

import random

import pytest

import fsmeu
from fsmeu.searn import CostOracle
from tests.searn.oracle.chunk_policy import optimal, well_formed

TYPES = tuple(f"T{k}" for k in range(11))


def corrupted(rng, y, labels, t, rate=0.3):
    """A prefix of y, some of whose tags are others."""
    return [rng.choice(labels) if rng.random() < rate else tag for tag in y[:t]]


@pytest.mark.parametrize(("types", "n", "cases"), [(TYPES[:2], 7, 40), (TYPES, 25, 25)])
def test_equation_18(types, n, cases):
    """Its label costs nothing, and following it to the end reaches the oracle's value."""
    rng = random.Random(n)
    loss = fsmeu.load("chunk_fscore", types=types)
    for _ in range(cases):
        y = well_formed(rng, types, n)
        oracle = CostOracle(loss, y)
        z = corrupted(rng, y, loss.labels, rng.randrange(n))
        costs = dict(zip(oracle.labels, oracle.costs(z), strict=True))
        assert costs[optimal(y, z)] == 0.0
        value = oracle.value(z)
        while len(z) < n:
            z.append(optimal(y, z))
        assert loss(z, y) == pytest.approx(value, rel=1e-12)


def test_a_worse_label_is_worse_by_what_it_loses():
    """By hand: after a chunk that is missed, one of two is right, hyp = 1 or 2, ref = 2."""
    loss = fsmeu.load("chunk_fscore", types=["X"])
    oracle = CostOracle(loss, ["B-X", "O", "B-X"])
    assert dict(zip(oracle.labels, oracle.costs(["O", "O"]), strict=True)) == pytest.approx(
        {"O": 2 / 3, "B-X": 0.0, "I-X": 0.0}
    )
    assert oracle.best(["O", "O"]) == "B-X"
    assert oracle.value(["O", "O"]) == pytest.approx(2 / 3)


def test_ill_formed_references_have_chunks_too():
    """Gold that opens with I: equation 18 says O, which loses the chunk."""
    loss = fsmeu.load("chunk_fscore", types=["X"])
    oracle = CostOracle(loss, ["I-X", "O"])
    assert optimal(["I-X", "O"], []) == "O"
    assert oracle.best_all([]) == ("B-X", "I-X")
    assert oracle.best([]) == "I-X"
