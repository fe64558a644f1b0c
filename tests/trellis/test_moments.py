"""Chains by central moments and sums of exponentials: bounds hold what other code computes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.decoding import moments as decisions
from fsmeu.decoding import split
from fsmeu.models.chains import binary_chain
from fsmeu.trellis import moments
from tests.support.ratios import LOSSES, chances, loaded
from tests.support.values import CHANCES

COUNTED = [("balanced_accuracy", {"drop": 0, "empty": 0}), ("mcc", {"empty": 1})]
COUNTED += [(name, {}) for name in ("g_tp_pr", "kappa", "specificity", "mistakes", "of label 0")]


def some_chain(random, n, order, rare=False):
    """A chain of two labels, its steps drawn at each position."""
    first = random.dirichlet(np.ones(2**order)).reshape((2,) * order)
    steps = random.dirichlet([1.0, 0.05] if rare else [2.0, 1.0], (n - order, *first.shape))
    return fsmeu.models.Markov(first, steps)


@pytest.mark.parametrize(("name", "params"), LOSSES)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), order=st.sampled_from([1, 2]), n=st.sampled_from([4, 30]))
def test_values_under_chains_are_within_their_bounds(name, params, seed, order, n):
    """By series, or by exponentials where a one of y makes the denominator greater."""
    loss, random = loaded(name, params), np.random.default_rng(seed)
    model = some_chain(random, n, order, rare=bool(seed % 2))
    z = (random.random(n) < random.choice([0.0, 0.4, 1.0])).astype(np.int64)
    wanted = fsmeu.expect(loss, z.tolist(), model, engine="openfst" if n < 5 else "lattice").value
    chain = moments.chain_of(*binary_chain(model))
    value, error, *_ = moments.chain_value(loss.confusion, z, chain)
    assert abs(value - wanted) <= error + 1e-13


@pytest.mark.parametrize("name", ["fscore", "g_tp_pr", "kappa", "a loss"])
@pytest.mark.parametrize("order", [1, 2])
def test_bounds_under_chains_hold_every_number_of_ones(name, order):
    """Between any two numbers that were tried, against the values of the sequences themselves."""
    loss, n = loaded(name, {}), 40
    random = np.random.default_rng(order)
    chain = moments.chain_of(*binary_chain(some_chain(random, n, order)))
    model = some_chain(np.random.default_rng(order), n, order)
    sign = 1.0 if loss.kind == "utility" else -1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "needed_order", lambda *_: 12)  # its remainder is not small here
        searches = [decisions._search(loss.confusion, chain, sign)]
    if name in ("fscore", "g_tp_pr"):
        searches.append(decisions._rare_search(loss.confusion, chain, sign))
    marginal = np.argsort(-chain.marginals)
    for k in range(2, n - 1, 4):
        z = np.zeros(n, np.int64)
        z[marginal[:k]] = 1
        value = sign * fsmeu.expect(loss, z.tolist(), model).value
        for search, low, high in itertools.product(searches, (1, k - 1, k), (k, k + 1, n - 1)):
            assert search.bounds_at(search, np.array([k]), low, high)[0] >= value - 1e-13


@pytest.mark.parametrize(("name", "params"), COUNTED)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(7, 90))
def test_decisions_by_windows_of_counts(name, params, seed, n):
    """No other ranked sequence is better, by other engines; short ones: see the explorer."""
    loss, p = loaded(name, params), chances(seed, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "COUNTED_AT_ONCE", 0)
        found = fsmeu.decode(loss, p, method="counting")
    assert "windows" in found.why
    assert found.exact
    ones = [sum(found.labels), *np.random.default_rng(seed).integers(0, n + 1, size=4).tolist()]
    own, *others = (fsmeu.expect(loss, [1] * k + [0] * (n - k), p).value for k in ones)
    assert found.value == pytest.approx(own, rel=1e-12, abs=1e-12)
    sign = 1 if loss.kind == "utility" else -1
    assert sign * found.value >= max(sign * value for value in others) - 1e-12


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("name", "order", "rate"),
    [
        *itertools.product(["fscore", "g_tp_pr"], [1], [None, 1e-4, 3e-3]),
        *itertools.product(["fscore", "kappa", "a loss"], [2], [None]),
    ],
)
def test_decisions_under_a_chain_are_those_of_counting(name, order, rate):
    """Rates at which 0.1 and 4 ones are expected: counts are not concentrated."""
    random, n = np.random.default_rng(6), 1000
    loss, model = loaded(name, {}), some_chain(random, n, order)
    if rate is not None:
        up, stay = 2 * rate * random.random(n - 1), 0.6 * random.random(n - 1)
        steps = np.stack([np.stack([1 - up, up], 1), np.stack([1 - stay, stay], 1)], 1)
        model = fsmeu.models.Markov([1 - rate, rate], steps)
    found, wanted = fsmeu.decode(loss, model), fsmeu.decode(loss, model, method="counting")
    assert (found.method, found.exact) == ("moments", True)
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert found.labels == wanted.labels


def test_long_sequences_take_moments():
    """A chain that forgets at once, beside independent labels, of 20,000 labels."""
    n, p = 20_000, 0.3
    chain = fsmeu.models.Markov([1 - p, p], [[1 - p, p]] * 2, n=n)
    z, loss = [1, 0, 0, 1] * (n // 4), fsmeu.load("fscore")
    found, wanted = fsmeu.expect(loss, z, chain), fsmeu.expect(loss, z, np.full(n, p))
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert found.upper - found.lower < 2e-12
    assert wanted.upper - wanted.lower < 2e-13
    decided = fsmeu.decode(loss, chain)
    assert (decided.method, decided.exact, sum(decided.labels)) == ("moments", True, n)


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
