"""Expected F1 beside Algorithm 4 of Jansche (2007) in plain Python: the same number."""

import numpy as np

import fsmeu
from tests.benchmarks.measure import versus


def algorithm_4(z, p):
    """The expected F1, the probabilities of the states held in a dictionary layer by layer.

    F1 is a simple function (section 3.3): a state is (true positives, positives of the reference).
    """
    masses = {(0, 0): 1.0}
    for i in range(len(z)):
        after = {}
        for (hits, positives), mass in masses.items():
            for y, probability in ((0, 1.0 - p[i]), (1, p[i])):
                target = (hits + (z[i] == 1 and y == 1), positives + y)
                if target not in after:
                    after[target] = 0.0
                after[target] += mass * probability
        masses = after
    marked = sum(z)
    return sum(2 * hits / (marked + ones or 1) * mass for (hits, ones), mass in masses.items())


def test_algorithm_4():
    """Of a hypothesis with ones, so that there is no 0/0."""
    f1, p = fsmeu.load("fscore"), np.random.default_rng(0).random(200)
    z, listed = (p > 0.5).astype(int).tolist(), p.tolist()
    title = "expected F1, n = 200: lattice | Algorithm 4"
    ours, theirs = (lambda: fsmeu.expect(f1, z, p).value), (lambda: algorithm_4(z, listed))
    versus(title, ours, theirs, repeats=(50, 1), at_least=300)
