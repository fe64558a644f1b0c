"""What merging saves, as ratios within one run: a clumsy file against a clever one."""

import numpy as np
import pytest

import fsmeu
from fsmeu.expectation import expect
from fsmeu.trellis import walk
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


def test_windows_need_not_be_remembered():
    """WindowDiff by counting in each window, against 4096 contents of a memory."""
    random = np.random.default_rng(1)
    z, p = random.integers(0, 2, 200), random.random(200)
    counted = fsmeu.load("windowdiff", k=K)
    remembered = fsmeu.load("windowdiff", k=K)
    remembered.memo(("windows", 200))["form"] = None

    def of(loss):
        return lambda: fsmeu.expect(loss, z, p).value

    assert of(counted)() == pytest.approx(of(remembered)(), rel=1e-12)
    fast, slow = compare(of(counted), of(remembered), rounds=2, repeats=(20, 1))
    assert record(
        f"expected WindowDiff, k = {K}, n = 200: windows | memory", fast, slow, at_least=4
    )


def test_ages_that_z_leaves_alike(monkeypatch):
    """Expected F1 of chunks by walking the machine of a given z: states merged, and not.

    The trellis that serves all z is set aside, because it does not walk that machine.
    """
    monkeypatch.setattr(expect, "by_structure", lambda *given: None)
    random = np.random.default_rng(2)
    loss = fsmeu.load("chunk_fscore", types=["A", "B", "C", "D"])
    then = random.dirichlet(np.ones(9), 9)
    model = fsmeu.models.Markov(np.full(9, 1 / 9), then, n=60, labels=loss.labels)
    z = [loss.labels[k] for k in random.integers(0, 9, 60)]

    def merged():
        return fsmeu.expect(loss, z, model).value

    def plain():
        with monkeypatch.context() as patch:
            patch.setattr(walk, "quotient_given_z", lambda view, copies: None)
            return fsmeu.expect(loss, z, model).value

    assert merged() == pytest.approx(plain(), rel=1e-12)
    fast, slow = compare(merged, plain, rounds=2)
    assert record("expected chunk F1, n = 60: merged | plain", fast, slow, at_least=1.5)
