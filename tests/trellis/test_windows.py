"""Independent labels by windows of counts, and long ones beside sums in extended precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from tests.support.ratios import chances, loaded
from tests.support.values import CHANCES

COUNTED = [("balanced_accuracy", {"drop": 0, "empty": 0}), ("mcc", {"empty": 1})]
COUNTED += [(name, {}) for name in ("g_tp_pr", "kappa", "specificity", "mistakes", "of label 0")]


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), COUNTED)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(7, 90))
def test_decisions_by_windows_of_counts(name, params, seed, n):
    """No other ranked sequence is better, by other engines; short ones: see the explorer."""
    loss, p = loaded(name, params), chances(seed, n)
    with limits.lowered(COUNTED_AT_ONCE=0):
        found = fsmeu.decode(loss, p, method="counting")
    assert "windows" in found.why
    assert found.exact
    ones = [sum(found.labels), *np.random.default_rng(seed).integers(0, n + 1, size=4).tolist()]
    own, *others = (fsmeu.expect(loss, [1] * k + [0] * (n - k), p).value for k in ones)
    assert found.value == pytest.approx(own, rel=1e-12, abs=1e-12)
    sign = 1 if loss.kind == "utility" else -1
    assert sign * found.value >= max(sign * value for value in others) - 1e-12


# -- a sum in extended precision, which shares no formula -----------------------------------------
#
# 1 / (k + s) is the integral of t^(k + s - 1) dt from 0 to 1, so that E[tp / (k + ref)] is one of
# generating functions: products of matrices over positions. With t = exp(-s / c), c = k + E[ref],
# the integrand is exp(-s) times a function that is nearly a polynomial, and Gauss and Laguerre's
# rule with 32 nodes sums it to the last digits.

N = 5_000


def expected_f1(z, first, steps):
    """E[2 tp / (k + ref)] under a chain of order 1: ``both`` holds sums times tp."""
    first, steps = first.astype(np.longdouble), steps.astype(np.longdouble)
    k, mean, now = z.sum(), 0.0, first
    for step in steps:
        mean, now = mean + now[1], now @ step
    s, weights = (x.astype(np.longdouble) for x in np.polynomial.laguerre.laggauss(32))
    c = k + mean + now[1]
    t = np.exp(-s / c)
    label = np.stack([np.ones_like(t), t])  # (2, nodes)
    mass = first[:, None] * label
    both = mass * np.array([0, z[0]], np.longdouble)[:, None]
    for one, step in zip(z[1:], steps, strict=True):
        mass, both = (step.T @ mass) * label, (step.T @ both) * label
        if one:
            both[1] += mass[1]
    return float(2 * (weights * np.exp(s) / c * t**k * both.sum(axis=0)).sum())


@pytest.mark.parametrize("kind", [*CHANCES, "chain"])
@pytest.mark.thirds
def test_the_best_of_long_sequences(kind):
    """Steps of the chain are 64ths, which sum to 1 exactly."""
    random, f1 = np.random.default_rng(8), fsmeu.load("fscore")
    p = CHANCES[kind](random, N) if kind in CHANCES else random.integers(4, 60, (N, 2)) / 64
    high = (p if p.ndim == 2 else np.stack([p, p], axis=1)).astype(np.longdouble)
    steps = np.stack([1 - high, high], axis=2)
    model = (
        p if kind in CHANCES else fsmeu.models.Markov(*map(np.float64, (steps[0, 0], steps[1:])))
    )
    found = fsmeu.decode(f1, model)
    assert found.exact
    want = expected_f1(np.array(found.labels), steps[0, 0], steps[1:])
    assert found.value == pytest.approx(want, rel=1e-13)
    asked = fsmeu.expect(f1, found.labels, model)
    assert asked.lower <= want <= asked.upper
