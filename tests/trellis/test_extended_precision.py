"""Expected F1 of long sequences against sums in extended precision, which share no formula.

1 / (k + s) is the integral of t^(k + s - 1) dt from 0 to 1, so that E[tp / (k + ref)] is one of
generating functions: products over positions of numbers, or of matrices under a chain. With
t = exp(-s / c), c = k + E[ref], the integrand is exp(-s) times a function that is nearly a
polynomial, and Gauss and Laguerre's rule with 32 nodes sums it to the last digits.
"""

import numpy as np
import pytest

import fsmeu

N = 100_000
KINDS = {
    "uniform": lambda random: random.random(N),
    "Beta(2,5)": lambda random: random.beta(2, 5, N),
    "all .3": lambda random: np.full(N, 0.3),
    "two values": lambda random: np.where(random.random(N) < 0.5, 0.1, 0.7),
    "Beta(.1,1)": lambda random: random.beta(0.1, 1, N),
    "Beta(.05,5)": lambda random: random.beta(0.05, 5, N),
}


def nodes(c):
    """Places t, and weights to sum with, of the integral over t."""
    s, weights = np.polynomial.laguerre.laggauss(32)
    s, weights = s.astype(np.longdouble), weights.astype(np.longdouble)
    return np.exp(-s / c), weights * np.exp(s) / c


def expected_f1(ones, p):
    """E[2 tp / (k + ref)] of a hypothesis, from P(y_i = 1)."""
    k, p = ones.sum(), p.astype(np.longdouble)
    t, weights = nodes(k + p.sum())
    total = np.zeros_like(t)
    for begin in range(0, N, 4096):  # sum over ones of p_i / (1 - p_i + p_i t)
        part = p[begin : begin + 4096, None]
        total += np.where(ones[begin : begin + 4096, None], part / (1 - part + part * t), 0).sum(0)
    factors = 1 - p[:, None] + p[:, None] * t
    while len(factors) > 1:  # in pairs, so that few roundings follow each other
        factors = np.concatenate([factors[:-1:2] * factors[1::2], factors[len(factors) & ~1 :]])
    return 2 * (weights * t ** (k + 1) * factors[0] * total).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.thirds
def test_the_best_of_independent_labels(kind):
    p = KINDS[kind](np.random.default_rng(8))
    found = fsmeu.decode(fsmeu.load("fscore"), p)
    assert found.exact
    ones = np.array(found.labels) == 1
    want = float(expected_f1(ones, p))
    assert found.value == pytest.approx(want, rel=1e-13)
    asked = fsmeu.expect(fsmeu.load("fscore"), found.labels, p)
    assert asked.lower <= want <= asked.upper


def chain_f1(z, first, steps):
    """The same under a chain of order 1: a pair of each vector holds sums times tp."""
    k, n = z.sum(), len(z)
    mean, now = 0.0, first
    for step in steps:
        mean, now = mean + now[1], now @ step
    t, weights = nodes(np.longdouble(k + mean + now[1]))
    label = np.stack([np.ones_like(t), t])  # (2, nodes)
    mass = first.astype(np.longdouble)[:, None] * label
    both = mass * np.array([0, z[0]], np.longdouble)[:, None]
    for i in range(1, n):
        step = steps[i - 1].T.astype(np.longdouble)
        mass, both = (step @ mass) * label, (step @ both) * label
        if z[i]:
            both[1] += mass[1]
    return 2 * (weights * t**k * both.sum(axis=0)).sum()


def test_the_best_under_a_chain():
    """Rows of 64ths sum to 1 exactly."""
    random, n = np.random.default_rng(3), 20_000
    steps = random.integers(4, 60, (n - 1, 2)) / 64
    steps = np.stack([1 - steps, steps], axis=2)
    first = np.array([0.75, 0.25])
    found = fsmeu.decode(fsmeu.load("fscore"), fsmeu.models.Markov(first, steps))
    assert found.exact
    want = float(chain_f1(np.array(found.labels), first, steps))
    assert found.value == pytest.approx(want, rel=1e-13)
