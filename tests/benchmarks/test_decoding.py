"""How fast decisions are, as ratios within one run; bars in seconds are against one second."""

from unittest import mock

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import ratios
from fsmeu.models import Markov, from_potentials
from tests.benchmarks.measure import compare, in_time, record

F1, CHUNK_F1 = fsmeu.load("fscore"), fsmeu.load("chunk_fscore", types=list("ABCD"))


def uniform(n):
    return np.random.default_rng(n).random(n)


def chain(n, order=1):
    random = np.random.default_rng(n)
    initial = random.dirichlet(np.ones(2**order)).reshape((2,) * order)
    return Markov(initial, random.dirichlet([1, 1], size=(2,) * order), n=n)


@pytest.mark.parametrize(
    ("method", "short", "bar", "model"),
    [("ratios", 500, 5, uniform), ("ranking", 100, 9, uniform), ("counting", 200, 9, chain)],
)
def test_growth(method, short, bar, model):
    """Time from n to 2n."""
    models = model(short), model(2 * short)
    less, more = (lambda one=one: fsmeu.decode(F1, one, method=method) for one in models)
    less(), more()
    times = compare(less, more, repeats=(2, 1))
    assert record(f"{method}, F1: n = {short} | n = {2 * short}", *times, at_most=bar)


def test_growth_of_structures():
    """The first decision of a length, with all that is built for it."""

    def first(n):
        return lambda: fsmeu.decode(fsmeu.load("hamming"), np.full(n, 0.3), method="additive")

    less, more = first(10_000), first(20_000)
    less(), more()
    times = compare(less, more, repeats=(2, 2))
    assert record("first additive decision: n = 10,000 | n = 20,000", *times, at_most=2.6)


def field():
    random = np.random.default_rng(2)
    unary, pairwise = random.normal(size=(30, 9)), random.normal(size=(9, 9))
    return from_potentials(unary, pairwise, labels=CHUNK_F1.labels)


@pytest.mark.parametrize(
    ("title", "limit", "loss", "model"),
    [
        ("counting, F1, order 1, n = 500", 1, F1, chain(500)),
        ("counting, F1, order 2, n = 300", 3, F1, chain(300, 2)),
        ("counting, chunk F1, 4 types, n = 30", 1, CHUNK_F1, field()),
    ],
)
def test_counting(title, limit, loss, model):
    """F1 under chains, the best chunk F1 under a conditional random field."""
    decision = fsmeu.decode(loss, model)
    assert (decision.method, decision.exact) == ("counting", True)
    assert in_time(title, limit, lambda: fsmeu.decode(loss, model))


@pytest.mark.parametrize("name", ["g_mean", "h_mean"])
def test_means_of_rates(name):
    """Values that are no sums of ratios, with what is asked of the loss before."""
    p = uniform(1000)

    def ask():
        return fsmeu.decode(fsmeu.load(name), p)

    assert ask().exact
    assert in_time(f"ranking, {name}, n = 1,000", 8, ask, repeats=2)


def test_many():
    """Twenty thousand sequences within a second."""
    matrix = np.random.default_rng(3).random((20_000, 25))
    title = "decode_many, F1, 20,000 of n = 25"
    assert in_time(title, 1, lambda: fsmeu.decode_many(F1, matrix))


def test_samples():
    """The consensus of 100 samples of 1,000 labels, other ones each time."""
    random = np.random.default_rng(4)
    names = np.array([f"label {k}" for k in range(1000)])
    drawn = iter([random.random((100, 1000)) < random.beta(0.4, 1.6, 1000) for _ in range(8)])
    tables = iter([[set(names[row].tolist()) for row in next(drawn)] for _ in range(4)])
    title = "consensus, F1, 100 samples of 1,000 labels"
    assert in_time(f"{title}, sets", 0.1, lambda: fsmeu.consensus(next(tables), F1))
    assert in_time(f"{title}, rows", 0.1, lambda: fsmeu.consensus(next(drawn), F1))


@pytest.mark.parametrize("n", [6, 24])
def test_short_rows(n):
    """Rows of few labels by tables of all counts, and by the nodes of a rule, as longer ones."""
    rows = np.random.default_rng(n).random((2000, n))

    one, other = fsmeu.load("fscore"), fsmeu.load("fscore")  # each remembers its way

    def by_nodes():
        with mock.patch.object(ratios, "FEWEST_FOR_NODES", 1):
            fsmeu.decode_many(one, rows)

    def by_tables():
        fsmeu.decode_many(other, rows)

    by_nodes(), by_tables()
    times = compare(by_nodes, by_tables, repeats=(3, 3))
    assert record(f"rows of {n} labels, F1: by nodes | by tables", *times, at_most=1 / 1.2)
