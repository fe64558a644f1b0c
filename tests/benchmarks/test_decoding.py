"""How fast decisions are, as ratios within one run; bars in seconds are against one second."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov, from_potentials
from tests.benchmarks.measure import compare, record, seconds


def bare_f1(p):
    """The quadratic recurrence for F1 in numpy, with nothing around it (sorted p, 0/0 is 1)."""
    n = len(p)
    table = np.zeros((n + 1, n + 1))
    table[0, 0] = 1.0
    for k in range(n):
        table[k + 1, : k + 2] = table[k, : k + 2] * (1 - p[k])
        table[k + 1, 1 : k + 2] += table[k, : k + 1] * p[k]
    inverse = np.zeros(2 * n + 1)
    inverse[1:] = 1.0 / np.arange(1, 2 * n + 1)
    values = np.empty(n + 1)
    hits = np.arange(n + 1)
    for k in range(n, -1, -1):
        values[k] = 2 * (table[k, : k + 1] * hits[: k + 1]) @ inverse[k : 2 * k + 1]
        if k:
            inverse[:-1] = (1 - p[k - 1]) * inverse[:-1] + p[k - 1] * inverse[1:]
    values[0] += np.prod(1 - p)
    return values


def test_ranking_fast():
    """All that surrounds the recurrence may cost twice what it costs."""
    n, loss = 4000, fsmeu.load("fscore")
    p = np.sort(np.random.default_rng(0).random(n))[::-1].copy()

    def bare():
        return bare_f1(p)

    def ours():
        return fsmeu.decode(loss, p, method="ranking_fast")

    assert abs(ours().value - bare().max()) < 1e-12
    slow, fast = compare(bare, ours, rounds=3)
    assert record(f"ranking_fast, F1, n = {n}: bare numpy | ours", slow, fast, at_most=3)


def uniform(n):
    return np.random.default_rng(n).random(n)


def chain(n, order=1):
    random = np.random.default_rng(1)
    initial = random.dirichlet(np.ones(2**order)).reshape((2,) * order)
    return Markov(initial, random.dirichlet([1, 1], size=(2,) * order), n=n)


@pytest.mark.parametrize(
    ("method", "short", "bar", "model"),
    [("ranking_fast", 2000, 5, uniform), ("ranking", 100, 9, uniform), ("counting", 200, 9, chain)],
)
def test_growth(method, short, bar, model):
    """Time from n to 2n."""
    loss, models = fsmeu.load("fscore"), (model(short), model(2 * short))

    def once(k):
        return lambda: fsmeu.decode(loss, models[k], method=method)

    once(0)(), once(1)()
    less, more = compare(once(0), once(1), repeats=(2, 1))
    assert record(f"{method}, F1: n = {short} | n = {2 * short}", less, more, at_most=bar)


def in_time(title, limit, function, rounds=3):
    """A call takes at most so many seconds; the row shows the limit against them."""
    function()
    return record(f"{title}: the limit | ours", limit, seconds(function, rounds), at_most=1)


def test_chains():
    """F1 under chains of order 1 and 2."""
    loss = fsmeu.load("fscore")
    first, second = chain(500), chain(300, 2)
    held = [
        in_time("counting, F1, order 1, n = 500", 1, lambda: fsmeu.decode(loss, first)),
        in_time("counting, F1, order 2, n = 300", 3, lambda: fsmeu.decode(loss, second)),
    ]
    assert fsmeu.decode(loss, first).method == "counting"
    assert all(held)


def test_chunks():
    """The best chunk F1 under a conditional random field."""
    loss, random, n = fsmeu.load("chunk_fscore", types=list("ABCD")), np.random.default_rng(2), 30
    field = from_potentials(
        random.normal(size=(n, 9)), random.normal(size=(9, 9)), labels=loss.labels
    )
    assert fsmeu.decode(loss, field).exact
    title = f"counting, chunk F1, 4 types, n = {n}"
    assert in_time(title, 1, lambda: fsmeu.decode(loss, field))


def test_many():
    """Twenty thousand sequences within a second."""
    loss, matrix = fsmeu.load("fscore"), np.random.default_rng(3).random((20_000, 25))
    held = in_time("decode_many, F1, 20,000 of n = 25", 1, lambda: fsmeu.decode_many(loss, matrix))
    assert held
