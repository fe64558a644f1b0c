"""How fast FOFO learns: examples a second, on dense rows with 54 features."""

import numpy as np
import pytest

from fsmeu.learning.online import FOFOClassifier, loops
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
    """Two million a second where the extra "fast" is installed."""
    pytest.importorskip("numba", reason="numba is not installed (it is the extra 'fast')")
    rows, labels = examples(400_000)
    learned(rows, labels)
    took = seconds(lambda: learned(rows, labels), repeats=5)
    title = "FOFO, 400,000 examples, compiled: taken | allowed"
    assert record(title, took, len(labels) / 2e6, at_least=1)


def test_plain(monkeypatch):
    """Forty thousand a second without it; the same threshold."""
    rows, labels = examples(40_000)
    fast = learned(rows, labels)
    monkeypatch.setattr(loops, "is_installed", lambda name: False)
    assert learned(rows, labels).threshold_ == pytest.approx(fast.threshold_, rel=1e-9)
    took = seconds(lambda: learned(rows, labels), repeats=3)
    assert record("FOFO, 40,000 examples, numpy: taken | allowed", took, 1.0, at_least=1)
