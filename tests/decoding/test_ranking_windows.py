"""Long sequences: counts in windows and bounds on blocks, against the table of all candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.decoding import ranking_fast
from fsmeu.decoding.problem import Problem
from fsmeu.decoding.ranking_windows import windowed_values
from fsmeu.models import Bernoulli

COUNTS = """labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1
count ref when y == 1 """
TEXTS = {
    "positives only": f"utility f {COUNTS} value tp / (n - ref) or 3 when ref == n",
    "an offset": f"utility f {COUNTS} value (3 * tp - hyp + 2 * n) / (5 * n + 2 * hyp + ref - tp)",
    "a loss": f"loss f {COUNTS} value (hyp - tp) / (hyp + ref) or 1 / 3 when hyp + ref == 0",
}
LOSSES = [
    ("fscore", {}),
    ("fscore", {"beta": 2, "empty": 0}),
    ("jaccard", {}),
    ("precision", {}),
    ("recall", {}),
    *((name, {}) for name in TEXTS),
]


def loaded(name, params):
    return fsmeu.loads(TEXTS[name]) if name in TEXTS else fsmeu.load(name, **params)


def chances(seed, n):
    """Probabilities of many kinds, some 0 or 1, some equal."""
    random = np.random.default_rng(seed)
    p = random.beta(*random.choice([0.1, 0.5, 2.0, 20.0], 2), size=n)
    some = random.random(n) < random.choice([0.0, 0.3, 1.0])
    p[some] = random.choice([0.0, 1.0, 0.25], size=int(some.sum()))
    return p


@pytest.mark.parametrize(("name", "params"), LOSSES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 150))
def test_values_are_those_of_the_table(name, params, seed, n):
    """Each candidate that is valued, and no other is better than the bound of its block."""
    loss, p = loaded(name, params), np.sort(chances(seed, n))[::-1]
    problem = Problem(loss, Bernoulli(p))
    assert ranking_fast.RANKING_FAST.fits(problem) is None
    (wanted,), _ = ranking_fast.fast_values(problem, p[None])
    found = windowed_values(problem, p)
    size = np.abs(wanted).max()
    assert (np.abs(found.values - wanted[found.ones]) <= found.errors + 1e-12 * size).all()
    assert found.errors.max() <= 1e-10 * max(1.0, size)
    others = np.delete(wanted, found.ones)
    if len(others):
        assert (problem.sign * others).max() <= found.left.max() + 1e-12 * size
    assert (problem.sign * found.values).max() >= (problem.sign * wanted).max() - 1e-12 * size


def test_decision_of_a_long_sequence(monkeypatch):
    """The same decision both ways, and few candidates are valued."""
    loss, p = fsmeu.load("fscore"), np.random.default_rng(5).beta(0.3, 3, size=3000)
    by_windows = fsmeu.decode(loss, p)
    problem = Problem(loss, Bernoulli(p))
    assert len(windowed_values(problem, np.sort(p)[::-1]).ones) < 1500
    monkeypatch.setattr(ranking_fast, "RANKED_AT_ONCE", 3000)
    by_table = fsmeu.decode(loss, p)
    assert by_windows.labels == by_table.labels
    assert by_windows.value == pytest.approx(by_table.value, rel=1e-12)
    assert by_windows.exact
    assert by_table.exact
    assert "windows" in fsmeu.explain(by_windows)
