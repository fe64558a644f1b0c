"""Long sequences: a test set of 100,000 examples is one sequence of labels."""

import numpy as np
import pytest

import fsmeu
from tests.benchmarks.measure import apart, within
from tests.support.values import CHANCES


def load_loops():
    """Decides and values something long, so that no process that is measured compiles."""
    for model in (np.full(3000, 0.3), chain(3000, 1)):
        fsmeu.expect(fsmeu.load("fscore"), fsmeu.decode(fsmeu.load("fscore"), model).labels, model)


def decided(title, loss, model, seconds, gigabytes=1):
    """The decision in a process of its own: value, number of ones; proven and within the bars."""
    load_loops()

    def ours():
        made = fsmeu.decode(loss, model)
        return made.value, int(np.sum(made.labels)), made.exact

    run = apart(title, ours, seconds, gigabytes)
    value, ones, exact = run.result
    assert exact
    assert within(title, run, seconds, gigabytes)
    return value, ones


@pytest.mark.parametrize("kind", CHANCES)
@pytest.mark.parametrize(("n", "seconds"), [(10**5, 0.06), (10**6, 0.4)])
def test_best_fscore_of_independent_labels(kind, n, seconds):
    p = CHANCES[kind](np.random.default_rng(5), n)
    title = f"decode, F1, {kind}, n = {n:,}"
    value, ones = decided(title, fsmeu.load("fscore"), p, seconds)
    means = 2 * np.cumsum(np.sort(p)[::-1]) / (np.arange(1, n + 1) + p.sum())  # without variance
    assert value == pytest.approx(means.max(), rel=1e-3)
    assert ones == pytest.approx(means.argmax() + 1, rel=0.02)


def test_best_fscore_of_ten_million_labels():
    p = np.random.default_rng(5).beta(2, 5, 10**7)
    decided("decode, F1, Beta(2, 5), n = 10,000,000", fsmeu.load("fscore"), p, 2, 1)


@pytest.mark.parametrize("ones", [0.1, 1, 5, 20, 50, 200])
def test_best_fscore_of_rare_ones(ones):
    p = np.random.default_rng(1).beta(0.05, 5, 10**5)
    p = np.minimum(p * ones / p.sum(), 1.0)
    decided(f"decode, F1, {ones} ones of 100,000 labels", fsmeu.load("fscore"), p, 0.1)


@pytest.mark.parametrize(("n", "seconds"), [(6, 0.5), (100, 1.5), (1000, 10)])
def test_best_fscore_of_ten_thousand_rows(n, seconds):
    rows, loss = np.random.default_rng(2).beta(0.5, 1, (10_000, n)), fsmeu.load("fscore")
    fsmeu.decode_many(loss, rows[:4])
    title = f"decode_many, F1, 10,000 rows of {n:,}"
    run = apart(title, lambda: all(d.exact for d in fsmeu.decode_many(loss, rows)), seconds, 2)
    assert run.result
    assert within(title, run, seconds, 2)


@pytest.mark.parametrize(("n", "seconds"), [(100, 0.5), (300, 1.5), (1000, 4)])
def test_expected_fscore_of_a_thousand_rows(n, seconds):
    """By counts up to 1,000 labels: rules, and lanes, take longer there."""
    random = np.random.default_rng(3)
    rows, loss = random.beta(1, 3, (1000, n)), fsmeu.load("fscore")
    zs = (rows > 0.3).astype(int)
    fsmeu.expect_many(loss, zs[:4], rows[:4])
    title = f"expect_many, F1, 1,000 rows of {n:,}"
    run = apart(title, lambda: fsmeu.expect_many(loss, zs, rows).values, seconds)
    ones = zs.sum(axis=1)
    means = 2 * (rows * zs).sum(axis=1) / (ones + rows.sum(axis=1))  # without variance
    np.testing.assert_allclose(run.result, means, rtol=0.1)
    assert within(title, run, seconds)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("jaccard", {}),
        ("balanced_accuracy", {}),
        ("fscore", {"beta": 2}),
        ("recall", {}),
        ("g_tp_pr", {}),
        ("kappa", {}),
        ("pk", {"k": 10}),
    ],
)
def test_decisions_of_100000_labels(name, params):
    p = np.random.default_rng(5).beta(2, 5, 10**5)
    seconds = 60 if name == "pk" else 1  # sums over positions are as they were
    decided(f"decode, {name}, n = 100,000", fsmeu.load(name, **params), p, seconds, 2)


def chain(n, order):
    """A chain of two labels whose steps are drawn at each position."""
    random = np.random.default_rng(n)
    first = np.full((2,) * order, 0.5**order)
    return fsmeu.models.Markov(first, random.dirichlet([3, 1], (n - order, *first.shape)))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_expected_fscore_of_a_million_labels(order):
    n, loss = 10**6, fsmeu.load("fscore")
    model = chain(n, order) if order else fsmeu.models.Bernoulli(np.random.default_rng(1).random(n))
    z, title = np.arange(n) % 3 // 2, f"E[F1], order {order}, n = {n:,}"
    load_loops()
    run = apart(title, lambda: fsmeu.expect(loss, z, model).value, 1, 2)
    means = model.p if not order else np.full(n, 0.25)
    wanted = 2 * means[z == 1].sum() / (z.sum() + means.sum())
    assert run.result == pytest.approx(wanted, rel=0.01)
    assert within(title, run, 1, 2)


def two(n, up, stay, first=None):
    """A chain of order 1, the same at all positions."""
    first = up if first is None else first
    return fsmeu.models.Markov([1 - first, first], [[1 - up, up], [1 - stay, stay]], n=n)


CHAINS = {
    "order 1": lambda n: chain(n, 1),
    "order 2": lambda n: chain(n, 2),
    "trap": lambda n: two(n, 0.15, 0.7, 0.4),
    "slow": lambda n: two(n, 0.001, 0.999, 0.5),
    "all 1/2": lambda n: two(n, 0.5, 0.5),
    "zeros": lambda n: two(n, 0.3, 0.0, 0.5),
    "0.1 ones": lambda n: two(n, 0.1 / n, 0.3),
    "5 ones": lambda n: two(n, 5 / n, 0.3),
    "50 ones": lambda n: two(n, 50 / n, 0.3),
    "500 ones": lambda n: two(n, 500 / n, 0.3),
}


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize(("n", "seconds"), [(10**5, 0.3), (10**6, 2)])
def test_best_fscore_under_a_chain(kind, n, seconds):
    title = f"decode, F1, chain, {kind}, n = {n:,}"
    decided(title, fsmeu.load("fscore"), CHAINS[kind](n), seconds, 2)


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize(("n", "seconds"), [(10**5, 0.1), (10**6, 0.6)])
def test_expected_fscore_under_a_chain(kind, n, seconds):
    """With bounds that are a part of 1e-12 of the value, or twice that where labels hold long."""
    loss, model, z = fsmeu.load("fscore"), CHAINS[kind](n), np.arange(n) % 3 // 2
    title = f"E[F1], chain, {kind}, n = {n:,}"
    load_loops()

    def ours():
        found = fsmeu.expect(loss, z, model)
        return (found.upper - found.lower) / 2 / found.value

    run = apart(title, ours, seconds, 2)
    assert run.result <= (2e-12 if kind == "slow" else 1e-12)
    assert within(title, run, seconds, 2)


@pytest.mark.parametrize("tolerance", [1, 5, 20])
def test_best_events_of_ten_thousand_positions_of_a_chain(tolerance):
    """Some hundred events, likely ones among many that are not."""
    random = np.random.default_rng(1)
    n = 10_000
    steps = np.empty((n - 1, 2, 2))
    steps[:, 0, 1] = random.beta(0.05, 2, n - 1)
    steps[:, 1, 1] = 0.2 * random.beta(0.05, 2, n - 1)
    steps[:, :, 0] = 1 - steps[:, :, 1]
    model = fsmeu.models.Markov([0.95, 0.05], steps)
    loss = fsmeu.load("event_fscore", tolerance=tolerance)
    fsmeu.decode(loss, model)  # compiles
    title = f"decode, events within {tolerance}, chain, n = {n:,}"
    _, ones = decided(title, loss, model, 1)
    assert 100 < ones < 500
