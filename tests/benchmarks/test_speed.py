"""How fast expectations are, as ratios within one run; both sides must give the same number."""

import numpy as np

import fsmeu
from fsmeu.expectation import expect
from fsmeu.models import Bernoulli, Markov
from fsmeu.trellis import walk
from tests.benchmarks import plain
from tests.benchmarks.measure import compare, record, versus

F1 = fsmeu.load("fscore")


def question(n):
    """The most probable labels as hypothesis, and random probabilities."""
    p = np.random.default_rng(0).random(n)
    return (p > 0.5).astype(int).tolist(), p


def value(loss, z, model, **options):
    return lambda: fsmeu.expect(loss, z, model, **options).value


def test_algorithm_4():
    """The streamed engine against the paper's algorithm in plain Python."""
    z, p = question(200)
    title, listed = "expected F1, n = 200: lattice | Algorithm 4", p.tolist()

    def ours():
        return fsmeu.expect(F1, z, Bernoulli(p)).value

    def theirs():
        return plain.algorithm_4(plain.FScore(z), z, listed)

    versus(title, ours, theirs, repeats=(50, 1), at_least=300)


def test_chain():
    """A chain of order 1 doubles the states of the model; it must not cost ten times as much."""
    (z, p), random = question(1000), np.random.default_rng(1)
    first, steps = random.dirichlet([1, 1]), random.dirichlet([1, 1], size=2)
    sides = (
        lambda: fsmeu.expect(F1, z, Bernoulli(p)).value,
        lambda: fsmeu.expect(F1, z, Markov(first, steps, n=1000)).value,
    )
    compare(*sides, rounds=1)
    times = compare(*sides, repeats=(5, 5))
    assert record("expected F1, n = 1000: independent | order-1 chain", *times, at_most=10)


def test_arc_by_arc():
    """Machines made of arrays and read as arrays, against pynini's objects arc by arc."""
    z, p = question(100)
    built, compiled = plain.loss_machine(plain.FScore(z), z), F1.compile(100, z)
    assert built.num_states() == compiled.states
    assert sum(built.num_arcs(s) for s in built.states()) == compiled.arcs
    title, listed = "expected F1, n = 100: openfst | arc by arc", p.tolist()
    ours = value(F1, z, Bernoulli(p), engine="openfst")
    # pynini reads distances with nine digits
    versus(title, ours, lambda: plain.arc_by_arc(z, listed), rel=1e-8, at_least=2)


def test_batch():
    """Many short sequences at once, against one after the other."""
    p = np.random.default_rng(2).random((5000, 25))
    zs, title = (p > 0.4).astype(int), "expected F1, 5000 of n = 25: expect_many | expect"

    def together():
        return fsmeu.expect_many(F1, zs, p)

    def one_by_one():
        return [fsmeu.expect(F1, z, row).value for z, row in zip(zs, p, strict=True)]

    versus(title, together, one_by_one, rounds=2, repeats=(2, 1), at_least=5)


# -- what merging saves: a clumsy file against a clever one ----------------------------------------

MEMORIES = """
loss memories(k: int)
labels 0 1
memory mz of z last k
memory my of y last k
count  bad when i >= k and (tally(mz, 1) > 0) != (tally(my, 1) > 0)
value  bad / (n - k + 1)
"""


def test_clumsy_files():
    """Pk with the last 12 labels of each tape, of 2^24 pairs of windows, costs what ages cost."""
    random = np.random.default_rng(0)
    z, p = (random.random(60) < 0.2).astype(int).tolist(), random.random(60)
    clever, clumsy = fsmeu.load("pk", k=12), fsmeu.loads(MEMORIES, k=12)
    title, sides = "expected Pk, k = 12, n = 60: ages | memories", (clever, clumsy)
    versus(title, *(value(loss, z, p) for loss in sides), rounds=5, repeats=(5, 5), at_most=2)
    title = "minimised Pk, k = 12, n = 60: ages | memories"
    states = [lambda loss=loss: loss.compile(60, minimize=True).states for loss in sides]
    versus(title, *states, rounds=2, at_most=2)


def test_windows_need_not_be_remembered():
    """WindowDiff by counting in each window, against 4096 contents of a memory."""
    random = np.random.default_rng(1)
    z, p = random.integers(0, 2, 200), random.random(200)
    counted, remembered = (fsmeu.load("windowdiff", k=12) for _ in range(2))
    remembered.memo(("windows", 200))["form"] = None
    title, sides = "expected WindowDiff, k = 12, n = 200: windows | memory", (counted, remembered)
    versus(title, *(value(loss, z, p) for loss in sides), rounds=2, repeats=(20, 1), at_least=4)


def test_ages_that_z_leaves_alike(monkeypatch):
    """Expected F1 of chunks by walking the machine of a given z: states merged, and not.

    The trellis that serves all z is set aside, because it does not walk that machine.
    """
    monkeypatch.setattr(expect, "by_structure", lambda *given: None)
    random, loss = np.random.default_rng(2), fsmeu.load("chunk_fscore", types=list("ABCD"))
    then = random.dirichlet(np.ones(9), 9)
    model = Markov(np.full(9, 1 / 9), then, n=60, labels=loss.labels)
    merged = value(loss, [loss.labels[k] for k in random.integers(0, 9, 60)], model)

    def unmerged():
        with monkeypatch.context() as patch:
            patch.setattr(walk, "quotient_given_z", lambda view, copies: None)
            return merged()

    versus("expected chunk F1, n = 60: merged | plain", merged, unmerged, rounds=2, at_least=1.5)
