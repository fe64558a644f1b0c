"""How fast expectations are, as ratios within one run.

Every function is called once before it is measured; both sides must give the same number.
"""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Markov
from tests.benchmarks import plain
from tests.benchmarks.measure import compare, record, seconds


def question(n, seed=0):
    """Random probabilities, and the most probable labels as hypothesis."""
    p = np.random.default_rng(seed).random(n)
    return (p > 0.5).astype(int).tolist(), p


def chain(n):
    random = np.random.default_rng(1)
    return Markov(random.dirichlet([1, 1]), random.dirichlet([1, 1], size=2), n=n)


def test_algorithm_4():
    """The streamed engine against the paper's algorithm in plain Python."""
    n, loss = 200, fsmeu.load("fscore")
    z, p = question(n)
    listed = p.tolist()

    def ours():
        return fsmeu.expect(loss, z, Bernoulli(p)).value

    def theirs():
        return plain.algorithm_4(plain.FScore(z), z, listed)

    assert ours() == pytest.approx(theirs(), rel=1e-12)
    fast, slow = compare(ours, theirs, rounds=3, repeats=(50, 1))
    assert record(f"expected F1, n = {n}: lattice | Algorithm 4", fast, slow, at_least=300)


def test_chain():
    """A chain of order 1 doubles the states of the model; it must not cost ten times as much."""
    n, loss = 1000, fsmeu.load("fscore")
    z, p = question(n)

    def independent():
        return fsmeu.expect(loss, z, Bernoulli(p)).value

    def dependent():
        return fsmeu.expect(loss, z, chain(n)).value

    independent(), dependent()
    fast, slow = compare(independent, dependent, rounds=3, repeats=(5, 5))
    assert record(f"expected F1, n = {n}: independent | order-1 chain", fast, slow, at_most=10)


def test_arc_by_arc():
    """Machines made of arrays and read as arrays, against pynini's objects arc by arc."""
    n, loss = 100, fsmeu.load("fscore")
    z, p = question(n)
    listed = p.tolist()
    built, compiled = plain.loss_machine(plain.FScore(z), z), loss.compile(n, z)
    assert built.num_states() == compiled.states
    assert sum(built.num_arcs(s) for s in built.states()) == compiled.arcs

    def ours():
        return fsmeu.expect(loss, z, Bernoulli(p), engine="openfst").value

    def theirs():
        return plain.arc_by_arc(z, listed)

    assert ours() == pytest.approx(theirs(), rel=1e-8)  # pynini reads distances with nine digits
    fast, slow = compare(ours, theirs, rounds=3)
    assert record(f"expected F1, n = {n}: openfst | arc by arc", fast, slow, at_least=2)


def test_batch():
    """Many short sequences at once, against one after the other."""
    count, n, loss = 5000, 25, fsmeu.load("fscore")
    p = np.random.default_rng(2).random((count, n))
    zs = (p > 0.4).astype(int)

    def together():
        return fsmeu.expect_many(loss, zs, p)

    def one_by_one():
        return [fsmeu.expect(loss, z, row).value for z, row in zip(zs, p, strict=True)]

    np.testing.assert_allclose(together(), one_by_one(), rtol=1e-12, atol=1e-15)
    fast, slow = compare(together, one_by_one, rounds=2, repeats=(2, 1))
    title = f"expected F1, {count} of n = {n}: expect_many | expect"
    assert record(title, fast, slow, at_least=5)


def test_growth():
    """With true positives in the weight, twice the length costs about four times as much."""
    loss, lengths, times = fsmeu.load("fscore"), (100, 200, 400, 800), []
    for n in lengths:
        z, p = question(n)
        fsmeu.expect(loss, z, p)
        times.append(seconds(lambda z=z, p=p: fsmeu.expect(loss, z, p), 20))
    held = []
    for k in range(1, len(lengths)):
        title = f"expected F1: n = {lengths[k - 1]} | n = {lengths[k]}"
        held.append(record(title, times[k - 1], times[k], at_most=5))
    assert all(held)
