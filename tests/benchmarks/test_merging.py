"""What merging saves, as ratios within one run: a clumsy file against a clever one."""

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.minimize import minimize
from tests.benchmarks.measure import compare, record

MEMORIES = """
loss memories(k: int)
labels 0 1
memory mz of z last k
memory my of y last k
count  bad when i >= k and (tally(mz, 1) > 0) != (tally(my, 1) > 0)
value  bad / (n - k + 1)
"""
K, N = 12, 60


def question():
    random = np.random.default_rng(0)
    return (random.random(N) < 0.2).astype(int).tolist(), random.random(N)


def test_expectation_of_a_clumsy_file():
    """Pk with the last 12 labels of each tape costs what Pk with ages costs."""
    z, p = question()
    clumsy, clever = fsmeu.loads(MEMORIES, k=K), fsmeu.load("pk", k=K)

    def of(loss):
        return lambda: fsmeu.expect(loss, z, p).value

    assert of(clumsy)() == pytest.approx(of(clever)(), rel=1e-12)
    fast, slow = compare(of(clever), of(clumsy), rounds=5, repeats=(5, 5))
    assert record(f"expected Pk, k = {K}, n = {N}: ages | memories", fast, slow, at_most=2)


def test_machine_of_a_clumsy_file():
    """The machine with the hypothesis free, of 2^24 pairs of windows, is never built."""
    clumsy, clever = fsmeu.loads(MEMORIES, k=K), fsmeu.load("pk", k=K)

    def of(loss):
        return lambda: loss.compile(N, minimize=True).states

    assert of(clumsy)() == of(clever)()
    fast, slow = compare(of(clever), of(clumsy), rounds=2)
    assert record(f"minimised Pk, k = {K}, n = {N}: ages | memories", fast, slow, at_most=2)


def test_refinement_on_arrays():
    """Why states are not merged by OpenFst, which finds the same."""
    machine = fsmeu.load("kappa").compile(25)

    def arrays():
        return minimize(machine, layered=True).states

    def openfst():
        return minimize(machine, layered=True, engine="openfst").states

    assert arrays() == openfst()
    fast, slow = compare(arrays, openfst, rounds=2)
    assert record("least machine of kappa, n = 25: arrays | OpenFst", fast, slow, at_least=5)
