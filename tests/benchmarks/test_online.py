"""How fast FOFO learns: examples a second, on dense rows with 54 features."""

import numpy as np

from fsmeu.learning.online import FOFOClassifier
from tests.benchmarks.measure import record, seconds

FEATURES = 54


def examples(n):
    random = np.random.default_rng(0)
    rows = random.random((n, FEATURES))
    chances = 1 / (1 + np.exp(-(rows @ random.normal(size=FEATURES) - 3)))
    return rows, (random.random(n) < chances).astype(int)


def learned(rows, labels):
    return FOFOClassifier(horizon=len(labels)).fit(rows, labels)


def test_compiled():
    """Two million a second."""
    rows, labels = examples(400_000)
    learned(rows, labels)
    took = seconds(lambda: learned(rows, labels), repeats=5)
    title = "FOFO, 400,000 examples, compiled: taken | allowed"
    assert record(title, took, len(labels) / 2e6, at_least=1)
