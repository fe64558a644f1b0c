"""How fast expectations are, as ratios within one run; both sides must give the same number."""

import numpy as np

import fsmeu
from fsmeu.expectation import expect
from fsmeu.losses.machine import view
from fsmeu.models import Markov
from tests.benchmarks.measure import versus

F1 = fsmeu.load("fscore")


def question(n):
    """The most probable labels as hypothesis, and random probabilities."""
    p = np.random.default_rng(0).random(n)
    return (p > 0.5).astype(int).tolist(), p


def value(loss, z, model, **options):
    return lambda: fsmeu.expect(loss, z, model, **options).value


class FScore:
    """F1 of a fixed hypothesis as a simple function (Jansche 2007, section 3.3).

    A state is (true positives, positives of the reference) so far.
    """

    def __init__(self, z):
        self.hypothesis = sum(z)

    def start(self):
        return (0, 0)

    def transition(self, state, z, y):
        true_positives, positives = state
        return (true_positives + (1 if z == 1 and y == 1 else 0), positives + (1 if y == 1 else 0))

    def value(self, state):
        true_positives, positives = state
        both = self.hypothesis + positives
        return 2 * true_positives / both if both else 1.0


def algorithm_4(function, z, p):
    """The expected value, the probabilities of the states held in a dictionary layer by layer."""
    masses = {function.start(): 1.0}
    for i in range(len(z)):
        after = {}
        for state, mass in masses.items():
            for y, probability in ((0, 1.0 - p[i]), (1, p[i])):
                target = function.transition(state, z[i], y)
                if target not in after:
                    after[target] = 0.0
                after[target] += mass * probability
        masses = after
    return sum(function.value(state) * mass for state, mass in masses.items())


def test_algorithm_4():
    """The streamed engine against the paper's algorithm in plain Python."""
    z, p = question(200)
    ours, listed = value(F1, z, p), p.tolist()
    title = "expected F1, n = 200: lattice | Algorithm 4"
    versus(title, ours, lambda: algorithm_4(FScore(z), z, listed), repeats=(50, 1), at_least=300)


def test_batch():
    """Many short sequences at once, against one after the other."""
    p = np.random.default_rng(2).random((5000, 25))
    zs, title = (p > 0.4).astype(int), "expected F1, 5000 of n = 25: expect_many | expect"

    def together():
        return fsmeu.expect_many(F1, zs, p).values

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


def test_windows_need_not_be_remembered(monkeypatch):
    """WindowDiff by counting in each window, against 4096 contents of a memory."""
    random = np.random.default_rng(1)
    z, p = random.integers(0, 2, 200), random.random(200)
    title = "expected WindowDiff, k = 12, n = 200: windows | memory"
    counted = value(fsmeu.load("windowdiff", k=12), z, p)

    def remembered():
        with monkeypatch.context() as patch:
            patch.setattr(expect, "window_form", lambda asked: None)
            return counted()

    versus(title, counted, remembered, rounds=2, repeats=(20, 1), at_least=4)


def test_ages_that_z_leaves_alike(monkeypatch):
    """The distribution of F1 of chunks, by a walk over the machine of z: states merged, and not."""
    random, loss = np.random.default_rng(2), fsmeu.load("chunk_fscore", types=list("ABCD"))
    then = random.dirichlet(np.ones(9), 9)
    model = Markov(np.full(9, 1 / 9), then, n=50, labels=loss.labels)
    z = [loss.labels[k] for k in random.integers(0, 9, 50)]

    def merged():
        return fsmeu.expect(loss, z, model).levels.mean

    def unmerged():
        with monkeypatch.context() as patch:
            patch.setattr(view, "quotient_given_z", lambda view, copies: None)
            return merged()

    title = "distribution of chunk F1, n = 50: merged | plain"
    versus(title, merged, unmerged, rounds=2, at_least=3)
