"""Ratios within one run, where both sides must give the same number; learners beside a limit."""

import numpy as np

import fsmeu
from fsmeu.learning.online import FOFOClassifier
from tests.benchmarks.measure import in_time, versus

F1 = fsmeu.load("fscore")


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
    """The engine against the paper's algorithm in plain Python."""
    p = np.random.default_rng(0).random(200)
    z, listed = (p > 0.5).astype(int).tolist(), p.tolist()
    title = "expected F1, n = 200: lattice | Algorithm 4"
    versus(
        title,
        lambda: fsmeu.expect(F1, z, p).value,
        lambda: algorithm_4(FScore(z), z, listed),
        repeats=(50, 1),
        at_least=300,
    )


def test_batch():
    """Many short sequences at once, against one after the other."""
    p = np.random.default_rng(2).random((5000, 25))
    zs, title = (p > 0.4).astype(int), "expected F1, 5000 of n = 25: expect_many | expect"

    def together():
        return fsmeu.expect_many(F1, zs, p).values

    def one_by_one():
        return [fsmeu.expect(F1, z, row).value for z, row in zip(zs, p, strict=True)]

    versus(title, together, one_by_one, rounds=2, repeats=(2, 1), at_least=5)


def test_fofo():
    """Two million examples a second, on dense rows with 54 features."""
    rng, count = np.random.default_rng(0), 400_000
    rows = rng.random((count, 54))
    chances = 1 / (1 + np.exp(-(rows @ rng.normal(size=54) - 3)))
    labels = (rng.random(count) < chances).astype(int)
    fit = FOFOClassifier(horizon=count).fit
    assert in_time("FOFO, 400,000 examples", count / 2e6, lambda: fit(rows, labels), 5, count)
